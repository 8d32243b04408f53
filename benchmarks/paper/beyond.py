"""Beyond the papers: prefetching, isolation, reconfiguration, the smallest task that pays."""

from paper.experiment import Experiment
from paper.figures import Figures, cell, shown, what_there_is
from paper.parts import Bars, Picture, Run, Table

PREFETCH_RUN, ISOLATION_RUN, EDIT_RUN, GRAIN_RUN, PEERS_RUN = (
    Run("prefetch"),
    Run("isolation"),
    Run("reconfigure"),
    Run("granularity"),
    Run("peers"),
)
GAIN = "low..high|gain"
CASE = r"((?!METG).*, (?:from memory|in cache), (?:sums|chains|written).*)"


def prefetch_tables(figures: Figures) -> list[Table]:
    columns = {
        "without_ns": "ns without",
        GAIN: "times faster with",
        "always": "times faster if always",
        "always_four": "times faster if always, 4 in flight",
        "first_cache": "a loop by hand: first cache",
        "second_cache": "second cache",
        "of_by_hand": "of what a loop by hand gains",
        "over_onetbb": "times faster than oneTBB",
        "noise": "A/A",
    }
    return [
        figures.table(
            PREFETCH_RUN, "Tiles in random order, with the next task's tile fetched ahead", CASE, columns, "tile"
        )
    ]


def prefetch_pictures(figures: Figures) -> list[Picture]:
    rows = figures.select(PREFETCH_RUN, r"(.*, from memory|.*, in cache), sums of words")
    bars = [(match[1], row["gain"], row["low"], row["high"]) for match, row in rows]
    return [Bars("Prefetch as it is measured while tasks run", "times faster than without", bars, (1.0, "without"))]


def prefetch_shows(figures: Figures) -> str:
    rows = figures.select(PREFETCH_RUN, CASE)
    whole = min((each for each in rows if each[1].get("always") is not None), key=lambda each: each[1]["always"])
    best, worst = (choose(rows, key=lambda each: each[1]["gain"]) for choose in (max, min))
    least = min((each for each in rows if each[1].get("of_by_hand") is not None), key=lambda each: each[1]["of_by_hand"], default=None)

    four = [row["always_four"] / row["always"] for _, row in rows if row.get("always_four") is not None]
    more = f" Four jobs in flight instead of two are {shown(min(four))} to {shown(max(four))} times as fast." if four else ""
    hand = f" Of what a loop gains that fetches by hand it has least with {least[0][1]}: {shown(least[1]['of_by_hand'])}." if least else ""
    return (
        f"It gains most with {best[0][1]}: {cell(best[1], GAIN)} times, and least with {worst[0][1]}: {cell(worst[1], GAIN)}. "
        f"To fetch always would make {whole[0][1]}, {shown(whole[1]['always'])} times as fast.{more}{hand}"
    )


PREFETCH = Experiment(
    name="prefetch",
    title="Beyond: prefetch of declared arguments",
    question="What does it gain to fetch the next task's arguments while the current one runs, by shape and size?",
    published=(),
    runs=(PREFETCH_RUN,),
    tables=prefetch_tables,
    pictures=prefetch_pictures,
    shows=prefetch_shows,
)


ROUND_TRIP = r"round trip: (.*)"


def isolation_tables(figures: Figures) -> list[Table]:
    trips = figures.select(ISOLATION_RUN, ROUND_TRIP)
    rows = [[match[1], row["median_ns"], row.get("p99.9_ns")] for match, row in trips]
    crashes = figures.select(ISOLATION_RUN, r"throughput: (.*)")
    return [
        Table("There and back", ("", "ns", "99.9th percentile, ns"), rows),
        Table("1,000 tasks of 100 us", ("", "ns a task"), [[match[1], row["median_ns"]] for match, row in crashes]),
    ]


def isolation_pictures(figures: Figures) -> list[Picture]:
    bars = [(match[1], row["median_ns"] / 1000, None, None) for match, row in figures.select(ISOLATION_RUN, ROUND_TRIP)]
    return [Bars("There and back", "us", bars)]


def isolation_shows(figures: Figures) -> str:
    def time(name: str) -> float:
        return figures.value(ISOLATION_RUN, f"round trip: {name}", "median_ns")

    thread, copied, shared = (
        time(f"64 KiB{name}")
        for name in (", thread target", " copied in and out, process target", " in the shared heap, process target")
    )
    calm, crash = (
        figures.value(ISOLATION_RUN, f"throughput: tasks of 100 us, {name}", "median_ns")
        for name in ("none crashes", "one in 1,000 crashes")
    )
    return (
        f"A task on 64 KiB in a worker process takes {shown(shared / thread)} times as long as on a thread where its "
        f"data lie in the shared heap, and "
        f"{shown(copied / thread)} times where they are copied in and out. One crash in 1,000 tasks of 100 us leaves "
        f"{shown(100 * calm / crash)} % of the throughput."
    )


ISOLATION = Experiment(
    name="isolation",
    title="Beyond: isolated targets",
    question="What does it cost to run tasks in worker processes, and what do crashes cost those that do not crash?",
    published=(),
    runs=(ISOLATION_RUN,),
    tables=isolation_tables,
    pictures=isolation_pictures,
    shows=isolation_shows,
)


EDIT = r"((?:request|longest).*)"


def edit_tables(figures: Figures) -> list[Table]:
    columns = {"median_us": "median, us", "p99_us": "99th percentile, us", "most_us": "longest, us"}
    return [figures.table(EDIT_RUN, "Edits of a running graph", EDIT, columns)]


def edit_pictures(figures: Figures) -> list[Picture]:
    rows = figures.select(EDIT_RUN, EDIT)
    return [Bars("Edits of a running graph, 99th percentile", "us", [(match[1], row["p99_us"], None, None) for match, row in rows])]


def edit_shows(figures: Figures) -> str:
    def time(name: str, column: str) -> str:
        return shown(figures.value(EDIT_RUN, name, column))

    return (
        f"From the request to the first firing of the new filter an edit takes "
        f"{time('request to first firing of the new filter', 'median_us')} us in the middle, and the "
        f"filters that it touches pause for {time('longest pause of a touched filter', 'median_us')}. One that it does "
        f"not touch pauses for "
        f"{time('longest pause of an untouched filter', 'p99_us')} us at the 99th percentile and "
        f"{time('longest pause of an untouched filter', 'most_us')} at most, without any edit for "
        f"{time('longest pause of an untouched filter, without an edit', 'p99_us')} and "
        f"{time('longest pause of an untouched filter, without an edit', 'most_us')}, and a loop that only reads the clock for "
        f"{time('longest pause of a loop that only reads the clock', 'p99_us')} and "
        f"{time('longest pause of a loop that only reads the clock', 'most_us')}."
    )


RECONFIGURE = Experiment(
    name="reconfiguration",
    title="Beyond: reconfiguration while running",
    question="How long does an edit of a running graph take, and how long do filters pause that it touches, and that "
    "it does not?",
    published=(),
    runs=(EDIT_RUN,),
    tables=edit_tables,
    pictures=edit_pictures,
    shows=edit_shows,
)

METG = r"METG (\w+, width \d+): (\S+)"


def grain_tables(figures: Figures) -> list[Table]:
    columns = {"median_ns": "ns", "over_F1": "over F1"}
    issued = {"median_ns": "ns", "over_ring": "over the bare ring"}
    return what_there_is(
        lambda: [figures.grid(GRAIN_RUN, "Smallest task at 50 % efficiency (METG), us", METG, "us", "pattern")],
        lambda: [
            figures.table(PEERS_RUN, "A null task handed to another processor and back", r"hand-off: (.*)", columns, "by"),
            figures.table(PEERS_RUN, "Null tasks issued by one thread, each", r"throughput: (.*)", issued, "by"),
        ],
    )


def grain_pictures(figures: Figures) -> list[Picture]:
    bars = [
        (f"{match[1]}: {match[2]}", row["us"], row["low"], row["high"])
        for match, row in figures.select(GRAIN_RUN, METG)
        if row["us"] is not None
    ]
    return [Bars("Smallest task at 50 % efficiency", "us", bars)]


def grain_shows(figures: Figures) -> str:
    rows = figures.select(GRAIN_RUN, r"METG (stencil, width \d+): (\S+)")
    narrow = min((match[1] for match, _ in rows), key=lambda pattern: int(pattern.rsplit(" ", 1)[1]))
    said = ", ".join(f"{match[2]} {shown(row['us'])}" for match, row in rows if match[1] == narrow)
    ours, theirs, floor = (figures.value(PEERS_RUN, f"hand-off: {name}", "median_ns") for name in ("penstock", "onetbb", "F1"))
    return (
        f"With a barrier a step ({narrow}) half of the time is work from tasks of these sizes on, in us: {said}. A "
        f"task handed to another processor and back takes {shown(ours)} ns, by oneTBB {shown(theirs)}, in a run in which one line "
        f"there and back (F1) took {shown(floor)}."
    )


GRAIN = Experiment(
    name="smallest-task",
    title="Beyond: the smallest task that pays",
    question="From which size on is half of the time work, for Penstock and for its peers?",
    published=(),
    runs=(GRAIN_RUN, PEERS_RUN),
    tables=grain_tables,
    pictures=grain_pictures,
    shows=grain_shows,
)

EXPERIMENTS = (PREFETCH, ISOLATION, RECONFIGURE, GRAIN)
