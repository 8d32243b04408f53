"""DataCutter-Lite: messages, streams against calls, and applications of filters."""

import re

from paper.experiment import Experiment
from paper.figures import Figures, cell, in_bytes, shown, what_there_is, with_interval
from paper.filters import filter_pictures, filter_tables, on_all
from paper.parts import NOT_STATED, Bars, Chart, Line, Picture, Published, Run, Table

MESSAGES = Run("messages")
PROTOCOLS = ("automatic", "ring", "pull", "push", "pure pull", "Open MPI")
SIZE = r"(\d+ (?:B|KiB|MiB))"


def over_sizes(figures: Figures, pattern: str, name: str, column: str) -> Line:
    """A line over bytes; the pattern's first group is the size."""
    return Line(name, [(in_bytes(match[1]), row[column]) for match, row in figures.select(MESSAGES, pattern)])


def all_protocols(figures: Figures, substrate: str, kind: str, column: str) -> list[Line]:
    lines = []
    for protocol in PROTOCOLS:
        pattern = rf"{kind} of {SIZE}, {substrate}, {re.escape(protocol)}"
        if any(re.fullmatch(pattern, row["name"]) for row in figures.rows(MESSAGES)):
            lines.append(over_sizes(figures, pattern, protocol, column))
    return lines


def message_tables(figures: Figures) -> list[Table]:
    return [
        figures.table(
            MESSAGES,
            "Half a round trip of 8 B",
            r"half a round trip of 8 B, (.*)",
            {"median_ns": "ns", "low..high|over_F2": "over F2"},
        ),
        figures.table(
            MESSAGES,
            "One source, several destinations; several sources, one destination; several pairs at once",
            r"((?:from one to \d+|from \d+ to one|\d+ pairs), .*, (?:automatic|Open MPI))",
            {"us": "us for all", "GB_a_second": "GB/s"},
        ),
    ]


def message_pictures(figures: Figures) -> list[Picture]:
    charts: list[Picture] = []
    for substrate in ("threads", "processes"):
        latency = [
            line
            for line in all_protocols(figures, substrate, "half a round trip", "median_ns")
            if line.name in ("automatic", "Open MPI")
        ]
        bandwidth = [
            line
            for line in all_protocols(figures, substrate, "stream", "GB_a_second")
            if line.name in ("automatic", "Open MPI")
        ]
        charts.append(Chart(f"Half a round trip, {substrate}", "bytes", "ns", latency, 2, 10))
        charts.append(Chart(f"Streams of messages, {substrate}", "bytes", "GB/s", bandwidth, 2))
    return charts


def message_shows(figures: Figures) -> str:
    def over(substrate: str) -> str:
        row = figures.row(MESSAGES, f"half a round trip of 8 B, {substrate}, automatic")
        return f"{shown(row['median_ns'])} ns, {with_interval(row['over_F2'], row['low'], row['high'])} of two lines bounced"

    def rate(who: str) -> str:
        crowded = _crowded(figures, who)
        rate = shown(figures.value(MESSAGES, f"{who}, 64 KiB{crowded}, threads, automatic", "GB_a_second"))
        return f"{rate} ({crowded.removeprefix(', ')})" if crowded else rate

    one, two, back = (rate(who) for who in ("from one to 1", "from one to 2", "from 2 to one"))
    return (
        f"Eight bytes take {over('threads')}, between threads and {over('processes')}, between processes. In messages of 64 KiB, in GB/s, "
        f"a source sends {one} to one destination and {two} to two together, and takes from two {back}."
    )


def _crowded(figures: Figures, who: str) -> str:
    """What such rows are called where there are fewer processors than ranks."""
    crowded = ", more ranks than processors"
    return crowded if figures.has(MESSAGES, f"{who}, 64 KiB{crowded}, threads, automatic") else ""


LATENCY = Experiment(
    name="dcl-messages",
    title="DataCutter-Lite: messages",
    question="What are latency and bandwidth of messages from one source to one and several destinations, and back?",
    published=(
        Published(
            "share of the possible bandwidth (25 GB/s) that one pair of SPEs reaches with messages of 4 KB",
            "over 80 %",
            "DataCutter-Lite, section 3, figure 8",
        ),
        Published("the same with messages of 8 KB", "over 90 %", "DataCutter-Lite, section 3, figure 8"),
        Published(
            "maximum bandwidth from one source to more than one destination",
            "reached with shorter messages",
            "DataCutter-Lite, section 3, figure 8",
        ),
        Published("latency from one source to several destinations", NOT_STATED, "DataCutter-Lite, figure 9"),
        Published(
            "bandwidth and latency between main processor and SPEs",
            f"{NOT_STATED}, but a large decrease of bandwidth against SPE to SPE",
            "DataCutter-Lite, figures 10 to 12",
        ),
    ),
    runs=(MESSAGES,),
    tables=message_tables,
    pictures=message_pictures,
    shows=message_shows,
)


def protocol_tables(figures: Figures) -> list[Table]:
    return [
        figures.grid(
            MESSAGES,
            f"{kind.capitalize()}, {substrate}: {unit}",
            rf"{kind} of {SIZE}, {substrate}, ((?!F2|automatic$|Open MPI).*)",
            column,
            "message",
        )
        for substrate in ("threads", "processes")
        for kind, column, unit in (("half a round trip", "median_ns", "ns"), ("stream", "GB_a_second", "GB/s"))
    ]


def protocol_pictures(figures: Figures) -> list[Picture]:
    ours = ("ring", "pull", "push", "pure pull")
    charts: list[Picture] = []
    for substrate in ("threads", "processes"):
        for kind, y, column, base in (
            ("half a round trip", "ns", "median_ns", 10),
            ("stream", "GB/s", "GB_a_second", 0),
        ):
            lines = [line for line in all_protocols(figures, substrate, kind, column) if line.name in ours]
            charts.append(Chart(f"{kind.capitalize()}, {substrate}", "bytes", y, lines, 2, base))
    return charts


def protocol_shows(figures: Figures) -> str:
    def rate(protocol: str, substrate: str) -> float:
        return figures.value(MESSAGES, f"stream of 1 MiB, {substrate}, {protocol}", "GB_a_second")

    parts = [
        f"pull {shown(rate('pull', substrate))}, push {shown(rate('push', substrate))}, pure pull "
        f"{shown(rate('pure pull', substrate))} and the ring "
        f"{shown(rate('ring', substrate))} GB/s between {substrate}"
        for substrate in ("threads", "processes")
    ]
    short = [
        figures.value(MESSAGES, f"half a round trip of 8 B, threads, {protocol}", "median_ns")
        for protocol in ("push", "pure pull")
    ]
    return (
        f"Messages of 1 MiB: {'; '.join(parts)}. Eight bytes take {shown(short[0])} ns by push and {shown(short[1])} ns by "
        "pure pull, whose headers are fetched."
    )


PROTOCOL = Experiment(
    name="dcl-protocols",
    title="DataCutter-Lite: pull against push",
    question="Which protocol carries messages of which size: pushed, pulled, or pulled with the headers fetched "
    "together?",
    published=(
        Published(
            "sender-initiated pull against sender-initiated push, SPE to SPE",
            f"{NOT_STATED}; pull was chosen",
            "DataCutter-Lite, figure 13",
        ),
        Published(
            "pure pull with headers fetched together against the above, main processor and SPE",
            f"{NOT_STATED}; pure pull was chosen",
            "DataCutter-Lite, figures 14 and 15",
        ),
        Published(
            "bandwidth that bare DMA reaches from an SPE to the main memory",
            "half of 25 GB/s",
            "DataCutter-Lite, section 4.2",
        ),
    ),
    runs=(MESSAGES,),
    tables=protocol_tables,
    pictures=protocol_pictures,
    shows=protocol_shows,
)

ADDITION_RUN = Run("matrix-add")


def addition_tables(figures: Figures) -> list[Table]:
    columns = {
        "median_us": "us",
        "over_direct": "over direct calls",
        "low..high|over_copied": "over the same copying on one thread",
        "ns_a_buffer": "ns a buffer",
    }
    return [figures.table(ADDITION_RUN, "Sum of two matrices of 1024 x 512", r"(\d+ processors, .*)", columns)]


def addition_pictures(figures: Figures) -> list[Picture]:
    rows = figures.select(ADDITION_RUN, r"(\d+) processors, (\d+) KiB, (streamed in a row|copied)")
    most = max(int(match[1]) for match, _ in rows)
    bars = [
        (f"{match[2]} KiB, {match[3]}", row["over_direct"], None, None) for match, row in rows if int(match[1]) == most
    ]
    return [Bars(f"Over direct calls, {most} processors", "times direct calls", bars, (1.0, "direct calls"))]


def addition_shows(figures: Figures) -> str:
    def slower(way: str, than: str) -> str:
        """In percent: by rows on one processor and on two, by 64 KiB on one and on two."""
        rows = [figures.row(ADDITION_RUN, f"{count} processors, {size} KiB, {way}") for size in (2, 64) for count in (1, 2)]
        cells = [shown(100 * (row[f"over_{than}"] - 1)) for row in rows]
        return f"{cells[0]} and {cells[1]} % (buffers of a row of 2 KiB), {cells[2]} and {cells[3]} % (of 64 KiB)"

    return (
        f"On one processor and on two, the stream is slower than direct calls by {slower('streamed', 'direct')} where each sum makes, starts "
        f"and ends a graph ('streamed'), and by {slower('streamed in a row', 'direct')} where one graph makes 16 sums ('streamed in a row'). "
        f"Over the same copying on one thread without a stream the latter is slower by {slower('streamed in a row', 'copied')} (below 0: faster)."
    )


ADDITION = Experiment(
    name="dcl-addition",
    title="DataCutter-Lite: matrix addition through streams",
    question="What does it cost to send a computation with next to no work through streams, in row-sized and in large "
    "buffers?",
    published=(
        Published(
            "time of matrix addition, 1024 x 512, a row a buffer, over that by IBM's ALF: on six SPEs and on one",
            "8 % and 91 % more",
            "DataCutter-Lite, section 5, figure 16",
        ),
    ),
    runs=(ADDITION_RUN,),
    tables=addition_tables,
    pictures=addition_pictures,
    shows=addition_shows,
    differs="ALF, IBM's framework for the Cell, does not run here: direct calls of the same kernel on the matrices where they lie are a harder "
    "rival, as they copy nothing. The paper's ALF moves 16 KB at once, its DataCutter-Lite a row.",
    cause="Direct calls copy nothing; the stream reads both matrices into buffers and places the sum. Today's core "
    "adds as fast as it reads, so copies and sum together (the rows 'copied') take one and a half to three times as long as the sum. Beyond "
    "them a buffer costs four firings and three hand-overs, which a row of 2 KiB is too small for, and on two processors the way of its "
    "lines to another cache and back. Until the program eccdc15 each graph touched fresh memory, and until 468aecf a source filled its "
    "stream before the first buffer was read.",
)

COLOUR_RUN = Run("colour")


def colour_shows(figures: Figures) -> str:
    many, one = (
        on_all(figures, COLOUR_RUN, "32 in a row: ", "streamed"),
        on_all(figures, COLOUR_RUN, "one photograph: ", "streamed"),
    )
    return (
        f"Filters convert {many} times as many tiles a second as one thread where 32 photographs follow one another, "
        f"and {one} times where the graph is "
        "made, started and ended for every 32 tiles. oneTBB's parallel_pipeline stands beside both in the table."
    )


COLOUR = Experiment(
    name="dcl-colour",
    title="DataCutter-Lite: colour transformation",
    question="How does the conversion of 32 tiles to CIELAB speed up as filters in copies?",
    published=(
        Published(
            "speed-up of the colour transformation of 32 tiles on eight SPEs, without reading the images",
            "7.7; the baseline written by hand 7.9",
            "DataCutter-Lite, section 5, figure 17",
        ),
    ),
    runs=(COLOUR_RUN,),
    tables=lambda figures: filter_tables(figures, COLOUR_RUN, "tiles", ("one photograph: ", "32 in a row: ")),
    pictures=lambda figures: filter_pictures(
        figures, COLOUR_RUN, "Colour transformation", ("one photograph: ", "32 in a row: ")
    ),
    shows=colour_shows,
)

TISSUE_RUN = Run("tissue")


def tissue_prefixes(figures: Figures) -> tuple[str, ...]:
    """'32 tiles: ', '1024 tiles, decoded: ' and the like, as the run has them."""
    return tuple(dict.fromkeys(match[1] for match, _ in figures.select(TISSUE_RUN, r"(\d+ tiles(?:, decoded)?: ).*")))


def tissue_as_published(figures: Figures) -> list[Table]:
    columns = {
        "tiles_a_second": "tiles a second",
        "low..high|speed_up": "times one thread",
        "least..most|times_decoupled": "times decoupled",
        "right_behind_percent": "% handed on by pointer, right behind",
    }
    title = "As in the paper: CIELAB and the pattern of its luminance on the targets, one behind the other or decoupled; the caller does the rest"
    return [figures.table(TISSUE_RUN, title, r"(\d+ tiles, TIFF.*)", columns)]


def tissue_shows_published(figures: Figures) -> str:
    rows = figures.select(TISSUE_RUN, r"(\d+ tiles, TIFF.*): (\d+) targets, published")
    most = max(int(match[2]) for match, _ in rows)
    said = "; ".join(f"{match[1]} {cell(row, 'least..most|times_decoupled')}" for match, row in rows if int(match[2]) == most)
    return f" As in the paper, on {most} target{'s' if most > 1 else ''} and the caller, times what schedules the two stages apart: {said}."


def tissue_shows(figures: Figures) -> str:
    said = "; ".join(
        f"{prefix.removesuffix(': ')} {on_all(figures, TISSUE_RUN, prefix, 'streamed')}"
        for prefix in tissue_prefixes(figures)
    )
    return (
        f"Times one thread: {said}. 'Decoded' tiles are so before the run; otherwise decoding is a filter like the others."
        f"{tissue_shows_published(figures)}"
    )


TISSUE = Experiment(
    name="dcl-tissue",
    title="DataCutter-Lite: tissue analysis",
    question="How does the analysis of a tissue speed up, of 32 tiles and of 1,024, with and without decoding?",
    published=(
        Published(
            "best speed-up with TIFF decoding, 32 tiles",
            "2.2; the baseline 2.7",
            "DataCutter-Lite, section 5, figure 18",
        ),
        Published(
            "speed-up without these overheads, 32 tiles",
            "near-linear; the baseline suffers above five SPEs",
            "DataCutter-Lite, section 5, figure 19",
        ),
    ),
    runs=(TISSUE_RUN,),
    tables=lambda figures: what_there_is(
        lambda: filter_tables(figures, TISSUE_RUN, "tiles", tissue_prefixes(figures)),
        lambda: tissue_as_published(figures),
    ),
    pictures=lambda figures: filter_pictures(figures, TISSUE_RUN, "Tissue analysis", tissue_prefixes(figures)),
    shows=tissue_shows,
    differs="Ours first: JPEG tiles, whose colour "
    "and whose pattern, of the grey tile, two filters find that each read the tile. Below it the way of the paper, from TIFF tiles, and its baseline. "
    "Here a filter of the graph decodes a tile; in the paper the thread that calls the library does, and its baseline gets tiles by a socket. One thread does the "
    "same as each.",
)

NODES_RUN = Run("nodes", ("--case", "figure-21"))


def nodes_tables(figures: Figures) -> list[Table]:
    columns = {"tiles_a_second": "tiles a second", "low..high|speed_up": "times one node"}
    title = "Tiles decoded on nodes of a quarter of a processor each, analysed by the program"
    return [figures.table(NODES_RUN, title, r"(\d+ tiles, TIFF: .*)", columns)]


def nodes_pictures(figures: Figures) -> list[Picture]:
    bars = [
        (f"{match[1]} nodes", row["speed_up"], row["low"], row["high"])
        for match, row in figures.select(NODES_RUN, r"\d+ tiles, TIFF: decoded on (\d+) nodes?")
    ]
    return [Bars("Decoding on several nodes", "times one node", bars, (1.0, "one node"))]


def nodes_shows(figures: Figures) -> str:
    rows = figures.select(NODES_RUN, r"\d+ tiles, TIFF: decoded on (\d+) nodes")
    said = "; ".join(f"{match[1]} nodes {cell(row, 'low..high|speed_up')}" for match, row in rows)
    return (
        f"Times one node: {said}. The program's one thread analyses the tiles, and cannot be faster than it is without "
        "decoding: from there on more nodes do not help."
    )


NODES = Experiment(
    name="dcl-nodes",
    title="DataCutter-Lite: DataCutter between nodes",
    question="How does the analysis of a tissue speed up when other nodes decode the tiles?",
    published=(
        Published(
            "1,024 tiles, decoded on several nodes by DataCutter, analysed on one Cell",
            NOT_STATED,
            "DataCutter-Lite, figures 20 and 21",
        ),
    ),
    runs=(NODES_RUN,),
    tables=nodes_tables,
    pictures=nodes_pictures,
    shows=nodes_shows,
    differs="Nodes are processes of this machine, each in a group of control that gives it a quarter of a processor, joined by TCP on the loopback device; the "
    "paper's are machines on Gigabit Ethernet, and its analysis has the 8 SPEs of a Cell. The program writes the TIFF tiles to the nodes; in the "
    "paper they read them from their disks.",
)

EXPERIMENTS = (LATENCY, PROTOCOL, ADDITION, COLOUR, TISSUE, NODES)
