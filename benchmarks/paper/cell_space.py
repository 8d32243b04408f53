"""Cell-Space: kernels, jobs and the runtime around them, chains, applications of components."""

from dataclasses import replace

from paper.breakdown import gallery, most_workers, speed_up
from paper.experiment import Experiment
from paper.figures import Figures, shown, what_there_is, with_interval
from paper.filters import filter_pictures, filter_tables, on_all
from paper.parts import NOT_STATED, Bars, Chart, Line, Picture, Published, Run, Table

KERNELS_RUN, JOBS, JPIP, EDGE = Run("kernels"), Run("jobs"), Run("jpip"), Run("edge")
CACHED = r"(.*), 128 x 256 \(in cache\)"


def kernel_tables(figures: Figures) -> list[Table]:
    columns = {
        "cycles_a_byte_moved": "cycles a byte that moves",
        "cycles_a_byte": "cycles a byte that is read",
        "cycles_a_pixel": "cycles a pixel",
        "us": "us",
        "low..high|over_best": "over the fastest library",
    }
    tables = [figures.table(KERNELS_RUN, "Images of 128 x 256, in cache", CACHED, columns, "kernel")]
    if any("from memory" in row["name"] for row in figures.rows(KERNELS_RUN)):
        tables.append(
            figures.table(
                KERNELS_RUN,
                "Images of 1080 x 1920, from memory",
                r"(.*), 1080 x 1920 \(from memory\)",
                columns,
                "kernel",
            )
        )
    return tables


def kernel_pictures(figures: Figures) -> list[Picture]:
    return [
        Bars(
            "In cache",
            "cycles a byte that moves",
            [(match[1], row["cycles_a_byte_moved"], None, None) for match, row in figures.select(KERNELS_RUN, CACHED)],
        )
    ]


def kernel_shows(figures: Figures) -> str:
    rows = figures.select(KERNELS_RUN, CACHED)
    least, most = (choose(rows, key=lambda each: each[1]["cycles_a_byte_moved"]) for choose in (min, max))
    known = [row["high"] for _, row in rows if row["over_best"] is not None]
    faster = sum(high < 1 for high in known)
    return (
        f"From {shown(least[1]['cycles_a_byte_moved'])} cycles a byte that is read or written ({least[0][1]}) to "
        f"{shown(most[1]['cycles_a_byte_moved'])} ({most[0][1]}), cycles being those of the time stamp counter. Of {len(known)} cases in cache that a library has too, "
        f"{faster} are faster than the fastest library that is installed, their whole interval being below 1."
    )


KERNELS = Experiment(
    name="cell-kernels",
    title="Cell-Space: cycles a byte of each kernel",
    question="How many cycles does each kernel of images take for a byte that it reads or writes?",
    published=tuple(
        Published(f"cycles a byte of input and output: {kernel}", figure, "Cell-Space, table 1")
        for kernel, figure in (
            ("maximum", "0.670"),
            ("yuv2rgb", "0.740"),
            ("IDCT 8 x 8", "1.507"),
            ("5 x 1 convolution", "7.250"),
            ("3 x 3 convolution", "8.518"),
            ("geometric transformation", "19.763"),
        )
    ),
    runs=(KERNELS_RUN,),
    tables=kernel_tables,
    pictures=kernel_pictures,
    shows=kernel_shows,
    differs="The paper's functions work on one byte a colour and a quarter of a local store (64 KB) at a time, its convolutions with borders of 8 pixels left "
    "and right. Here an image of 128 x 256 stands for that; the rows of float and those of other kernels are ours.",
)

NOTIFIED, CELL_JOBS = Run("notification"), Run("cell-jobs")
KIND = "(polled|mailbox|interrupt)"
NOTIFIED_COLUMNS = {
    "TET_ns_a_job": "ns a job",
    "speed_up_low..speed_up_high|speed_up": "times one thread",
    "low..high|overhead": "overhead (TET / AEET - 1)",
}


def notification_tables(figures: Figures) -> list[Table]:
    return [
        figures.table(
            NOTIFIED, "Jobs of 32,400 bytes in and out", rf"(\d+ targets, 32400 B, .*, {KIND})", NOTIFIED_COLUMNS
        )
    ]


def notification_pictures(figures: Figures) -> list[Picture]:
    rows = figures.select(NOTIFIED, rf"(\d+) targets, 32400 B, (\d+) cycles a byte, {KIND}")
    lines = [
        Line(
            f"{kind}, {cycles} cycles a byte",
            [
                (float(m[1]), row["speed_up"], row["speed_up_low"], row["speed_up_high"])
                for m, row in rows
                if (m[2], m[3]) == (cycles, kind)
            ],
        )
        for cycles, kind in dict.fromkeys((match[2], match[3]) for match, _ in rows)
    ]
    return [Chart("Jobs by kind of notification", "targets, and the thread that waits", "times one thread", lines)]


def notification_shows(figures: Figures) -> str:
    rows = figures.select(NOTIFIED, rf"(\d+) targets, 32400 B, (\d+) cycles a byte, {KIND}")
    most = max(int(match[1]) for match, _ in rows)

    def said(cycles: int) -> str:
        return ", ".join(
            f"{match[3]} {shown(100 * row['overhead'])}"
            for match, row in rows
            if (match[1], match[2]) == (str(most), str(cycles))
        )

    return (
        f"Overhead in percent of the work on {most + 1} processors at 1 cycle a byte: {said(1)}; at 10 cycles a byte: "
        f"{said(10)}. "
        "Polling, the default, adds nothing to a task; the other two post each completed task into one mailbox."
    )


NOTIFICATION = Experiment(
    name="cell-notification",
    title="Cell-Space: kinds of notification",
    question="How should an initiator learn that jobs have ended: by polling, through a mailbox, or by an interrupt?",
    published=(
        Published(
            "order of the kinds, 16,384 jobs of 32,400 B in and out, by their overhead",
            "DMA (the main processor polls its memory) clearly least, interrupts next, mailboxes most",
            "Cell-Space, section 4.2, figure 4",
        ),
        Published("overheads over 1 to 16 targets, at 1 and 10 cycles a byte", NOT_STATED, "Cell-Space, figure 4"),
    ),
    runs=(NOTIFIED,),
    tables=notification_tables,
    pictures=notification_pictures,
    shows=notification_shows,
    differs="A mailbox of the Cell holds one word and is read through the operating system, and an interrupt is a signal of the hardware. Here "
    "'mailbox' is a shared list of completions, and 'interrupt' wakes a sleeper by the kernel: the order of the paper is not to be expected. "
    "Cycles are for each byte that a job reads, which is half of what it moves; effective is the time inside the jobs, stalls and all.",
)

CYCLES = ("1 cycle", "10 cycles")
CELL_COLUMNS = {"ns_a_job": "ns a job", "low..high|overhead": "overhead (TET / AEET - 1)"}
FLIGHT = r"\d+ targets, (\d+) B, 1 cycles a byte, (\d) in flight"


def percent(figures: Figures, name: str) -> str:
    return shown(100 * figures.value(CELL_JOBS, name, "overhead"))


def flight_tables(figures: Figures) -> list[Table]:
    rows = r"(.* a byte: (?:basic|\d at a target))"
    return what_there_is(
        lambda: [figures.table(CELL_JOBS, "Jobs of 64,800 bytes in all, by the paper's measures", rows, CELL_COLUMNS, "jobs")],
        lambda: _sizes(figures),
    )


def _sizes(figures: Figures) -> list[Table]:
    return [
        figures.grid(
            NOTIFIED,
            f"1 cycle for each byte that is read, by the size of a job: {words}",
            r"\d+ targets, (\d+ B), 1 cycles a byte, (by default|\d in flight)",
            column,
            "bytes of a job",
        )
        for column, words in (("speed_up", "times one thread"), ("overhead", "overhead (TET / AEET - 1)"))
    ]


def flight_pictures(figures: Figures) -> list[Picture]:
    rows = figures.select(NOTIFIED, FLIGHT)
    lines = [
        Line(
            f"{count} in flight",
            [
                (float(match[1]), row["speed_up"], row["speed_up_low"], row["speed_up_high"])
                for match, row in rows
                if match[2] == count
            ],
        )
        for count in dict.fromkeys(match[2] for match, _ in rows)
    ]
    return [Chart("Jobs whose data are under way", "bytes of a job", "times one thread", lines, 2)]


def flight_shows(figures: Figures) -> str:
    def faster(size: int, count: int) -> str:
        ((_, row),) = figures.select(NOTIFIED, rf"\d+ targets, {size} B, 1 cycles a byte, {count} in flight")
        return with_interval(row["speed_up"], row["speed_up_low"], row["speed_up_high"]) or "?"

    held = "; ".join(
        f"at {cycles} a byte {', '.join(percent(figures, f'{cycles} a byte: {count} at a target') for count in range(1, 5))} %" for cycles in CYCLES
    )
    return (
        f"Overhead with one to four jobs at a target, all fetched ahead: {held}. Jobs of 2,048 B are {faster(2048, 1)} times as fast as on "
        f"one thread with one in flight and {faster(2048, 4)} with four, jobs of 131,072 B {faster(131072, 1)} and {faster(131072, 4)}. These data "
        "lie in one piece, which a processor of today fetches ahead by itself: by default Penstock leaves them to it, and keeps two jobs in "
        "flight only where data are strided (the experiment prefetch has two and four)."
    )


IN_FLIGHT = Experiment(
    name="cell-in-flight",
    title="Cell-Space: jobs in flight",
    question="How many jobs' data should be under way to a target at once, by the size of a job?",
    published=(
        Published(
            "overhead with one job and with several at a target, 10 cycles a byte, up to 13 targets",
            "13 % falls to 7.5 %",
            "Cell-Space, section 4.3, figure 5",
        ),
        Published(
            "several jobs at a target at 1 cycle a byte, small jobs",
            "more overhead: the bus is overloaded",
            "Cell-Space, section 4.3, figure 5",
        ),
        Published("jobs of 64 KB of data that a target can hold", "three", "Cell-Space, section 4.3"),
    ),
    runs=(CELL_JOBS, NOTIFIED),
    tables=flight_tables,
    pictures=flight_pictures,
    shows=flight_shows,
    differs="Fetching ahead is by prefetch instructions into the cache, and results go back to memory when the cache needs room. The tables by the size "
    "of a job take the time inside the jobs for effective, stalls and all.",
)

JOB_COLUMNS = {
    "TET_ns_a_job": "ns a job",
    "ns_inside_a_job": "ns inside a job",
    "low..high|overhead": "overhead (TET / AEET - 1)",
}


def chain_tables(figures: Figures) -> list[Table]:
    def papers(cycles: str) -> Table:
        return figures.table(CELL_JOBS, f"{cycles} a byte that moves", rf"{cycles} a byte: ((?!\d at a target|a job alone).*)", CELL_COLUMNS, "jobs")

    def ours(cycles: str) -> Table:
        title = f"{cycles} a byte that is read, effective being the time inside the jobs; chains pass their data on in the local store"
        return figures.table(JOBS, title, rf"{cycles} a byte: ((?!notified|\d in flight).*)", JOB_COLUMNS, "jobs")

    return what_there_is(lambda: [papers(cycles) for cycles in CYCLES], lambda: [ours(cycles) for cycles in CYCLES])


def chain_pictures(figures: Figures) -> list[Picture]:
    pictures: list[Picture] = []
    for cycles in CYCLES:
        rows = figures.select(CELL_JOBS, rf"{cycles} a byte: ((?!\d at a target|a job alone).*)")
        bars = [(match[1], row["overhead"], row["low"], row["high"]) for match, row in rows]
        pictures.append(Bars(f"Overhead at {cycles} a byte that moves", "TET / AEET - 1", bars))
    return pictures


def chain_shows(figures: Figures) -> str:
    def said(cycles: str) -> str:
        names = ("basic", "chains of 4", "chains of 16", "chains of 16, 20 % persistent", "chains of 16, 50 % persistent", "staged")
        alone, four, sixteen, fifth, half, staged = (percent(figures, f"{cycles} a byte: {name}") for name in names)
        return (
            f"at {cycles} a byte {alone} % alone, {four} and {sixteen} % in chains of 4 and 16, {fifth} and {half} % with a fifth and half of all data "
            f"resident, {staged} % where each job is copied into the local store and back"
        )

    return f"What is added to the time of a job on data in the cache, stalls for memory included: {said(CYCLES[0])}; {said(CYCLES[1])}."


CHAINS = Experiment(
    name="cell-chains",
    title="Cell-Space: chains and resident data",
    question="What does the runtime add to jobs of 32,400 bytes in and out, in chains of 4 and 16, and with 20 % and "
    "50 % of their data resident?",
    published=(
        Published("overhead at 10 cycles a byte without chains, on 16 targets", "40 %", "Cell-Space, section 4.4, figure 6"),
        Published("overhead at 10 cycles a byte with chains", "less than 6 %", "Cell-Space, section 4.4, figure 6"),
        Published(
            "what persistent data gain beyond chains: 20 % of all data, and 50 %",
            "little (managing one more buffer costs); more",
            "Cell-Space, section 4.4, figure 6",
        ),
    ),
    runs=(CELL_JOBS, JOBS),
    tables=chain_tables,
    pictures=chain_pictures,
    shows=chain_shows,
    differs="The paper sends persistent data with the first job of each chain, and jobs may change them; here each target has them once, to be read. The paper's "
    "numbers of cycles are for each byte that moves, in or out, and its effective time has no stalls, for lack of a cache: the first two tables are of "
    "that kind. The other two are our own measure, beside oneTBB and OpenMP.",
)

EDGES = ("turned pictures: ", "turned kernels: ")
SYNTHETIC = gallery("synthetic", {}, {})


def application_tables(figures: Figures) -> list[Table]:
    columns = {"median_us": "us", "low..high|speed_up": "times one thread"}
    return what_there_is(
        lambda: [replace(table, title="JPiP") for table in filter_tables(figures, JPIP, "frames", ("",))],
        lambda: filter_tables(figures, EDGE, "pictures", EDGES),
        lambda: [figures.table(SYNTHETIC, "synthetic", r"(\d+ workers, (?!initiator|targets).*)", columns)],
    )


def application_pictures(figures: Figures) -> list[Picture]:
    lines = [
        line
        for run, prefixes in ((JPIP, ("",)), (EDGE, EDGES))
        for picture in filter_pictures(figures, run, "", prefixes)
        for line in picture.lines
    ]
    names = ["JPiP", "Edge-Rot", "Edge-2D"]
    named = [Line(name, line.points) for name, line in zip(names, lines, strict=True)]
    rows = figures.select(SYNTHETIC, r"(\d+) workers, both")
    named.append(
        Line("synthetic", [(float(match[1]), row["speed_up"], row["low"], row["high"]) for match, row in rows])
    )
    return [Chart("Speed-up of the applications", "processors", "times one thread", named)]


def application_shows(figures: Figures) -> str:
    return (
        f"On {most_workers(figures, SYNTHETIC)} processors JPiP is {on_all(figures, JPIP, '', 'streamed')} times as "
        f"fast as one thread, Edge-Rot "
        f"{on_all(figures, EDGE, EDGES[0], 'streamed')}, Edge-2D {on_all(figures, EDGE, EDGES[1], 'streamed')} and the "
        f"synthetic benchmark with chains and resident data "
        f"{speed_up(figures, SYNTHETIC, 'both')}. Making the graph, starting and ending it is included."
    )


APPLICATIONS = Experiment(
    name="cell-applications",
    title="Cell-Space: speed-up of its applications",
    question="How do pictures in a picture, edge detection by two algorithms and the synthetic benchmark speed up over "
    "processors?",
    published=(
        Published("speed-up of JPiP (16 films of 1280 x 720) on 16 targets", "limited to 11", "Cell-Space, section 4.5, figure 7"),
        Published("speed-up of Edge-2D on 16 targets", "9", "Cell-Space, section 4.5, figure 7"),
        Published("speed-up of Edge-Rot on 16 targets", "12", "Cell-Space, section 4.5, figure 7"),
        Published("which of the two is said to do better, two sentences after these figures", "Edge-2D", "Cell-Space, section 4.5"),
        Published(
            "speed-up of the synthetic benchmark, 1,024 chains of 16 jobs without persistent data, at 1 and 10 cycles a byte",
            "limited to 5; linear",
            "Cell-Space, section 4.5, figure 7",
        ),
    ),
    runs=(JPIP, EDGE, SYNTHETIC),
    tables=application_tables,
    pictures=application_pictures,
    shows=application_shows,
    differs="In figure 7 the paper's synthetic jobs run in chains without persistent data, as in our row 'chains'; 'both' has resident data besides.",
    cause="A quick run of JPiP has one picture of each film, sixteen in all, so that its end, when one processor has "
    "nothing left to decode, is a good part of it: a full one has 128. The mosaic is copied into and out of, which the serial program "
    "does not do. Until the program eccdc15 each run touched the memory of its frames for the first time, and until 0eb0190 rows were "
    "copied byte by byte (docs/performance/2-vcpu-epyc.md has both).",
)

EXPERIMENTS = (KERNELS, NOTIFICATION, IN_FLIGHT, CHAINS, APPLICATIONS)
