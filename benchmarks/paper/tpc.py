"""Tagged Procedure Calls: what a task costs, and where the time of initiator and targets goes."""

from functools import partial

from paper.breakdown import breakdown_pictures, breakdown_tables, gallery, label, most_workers, speed_up
from paper.experiment import Experiment
from paper.figures import Figures, cell, in_bytes, numbers, shown, what_there_is
from paper.parts import NOT_STATED, Bars, Cell, Chart, Line, Picture, Published, Run, Table

NULL_TASK, QUEUE_RUN = Run("null-task"), Run("queue")


STAGES = {
    "issue": "the call",
    "to_target": "there",
    "run": "unpacked and run",
    "back": "completed and back",
    "collect": "collected",
}


def has_rows(figures: Figures, prefix: str) -> bool:
    """Older files lack some."""
    return any(row["name"].startswith(prefix) for row in figures.rows(NULL_TASK))


def null_task_tables(figures: Figures) -> list[Table]:
    columns = {"median_ns": "ns", "low..high|over_F1": "over F1", "p99.9_ns": "99.9th percentile, ns"}
    tables = [
        figures.table(
            NULL_TASK,
            "There and back, by the number of arguments (F1: one cache line there and back)",
            r"round trip: (\d arguments)",
            columns,
            "arguments",
        ),
        figures.table(
            NULL_TASK,
            "Initiation (the initiator pushes, or the target pulls), completion (in the task's slot, or in a line)",
            r"round trip: (pu\w+, .*)",
            columns,
            "mechanism",
        ),
    ]
    if has_rows(figures, "stages: "):
        columns = {f"{name}_ns": words for name, words in STAGES.items()}
        columns |= {"sum_ns": "sum", "whole_ns": "the trip without stamps", "low..high|sum_over_whole": "sum over trip"}
        title = "The trip in its stages, in ns, each without what the stamps in it take (the tasks are handed their arguments)"
        tables.insert(1, figures.table(NULL_TASK, title, r"stages: (\d arguments)", columns, "arguments"))
    if has_rows(figures, "asleep: "):  # not on one processor
        columns = {"median_ns": "ns", "low..high|over_a thread": "over a thread"}
        tables.append(figures.table(NULL_TASK, "There and back to whoever sleeps (a thread: woken by the kernel alone)", r"asleep: (.*)", columns))
    return tables


def null_task_pictures(figures: Figures) -> list[Picture]:
    points = list(numbers(figures.select(NULL_TASK, r"round trip: (\d) arguments"), "median_ns"))
    floor = figures.value(NULL_TASK, "round trip: F1", "median_ns")
    lines = [Line("median", points), Line("F1, the floor", [(x, floor) for x, _ in points])]
    bars = [
        (match[1], row["over_F1"], row["low"], row["high"])
        for match, row in figures.select(NULL_TASK, r"round trip: (pu\w+, .*)")
    ]
    stages = []
    if has_rows(figures, "stages: "):
        rows = figures.select(NULL_TASK, r"stages: (\d) arguments")
        lines_of_stages = [Line(words, list(numbers(rows, f"{name}_ns"))) for name, words in STAGES.items()]
        stages = [Chart("A null task in its stages", "arguments", "ns", lines_of_stages)]
    return [
        Chart("A null task there and back", "arguments", "ns", lines),
        *stages,
        Bars("Initiation and completion", "times F1", bars, (1.0, "F1")),
    ]


def stages_show(figures: Figures) -> str:
    if not has_rows(figures, "stages: "):
        return ""
    rows = [row for _, row in figures.select(NULL_TASK, r"stages: (\d) arguments")]

    def grows(name: str) -> str:
        return f"{shown(rows[0][f'{name}_ns'])} to {shown(rows[-1][f'{name}_ns'])} ns"

    over = [row["sum_over_whole"] for row in rows]
    return (
        f" Of its stages, from none to eight arguments, the call grows from {grows('issue')}, the way to the target from {grows('to_target')}, "
        f"unpacking and running from {grows('run')}; the completion and its way back take {grows('back')}. The stages add up to "
        f"{shown(min(over))} to {shown(max(over))} times the same trip without stamps, by the number of arguments."
    )


def null_task_shows(figures: Figures) -> str:
    def over(name: str) -> float:
        return figures.value(NULL_TASK, f"round trip: {name}", "over_F1")

    def over_F1(mechanism: str) -> str:
        return str(cell(figures.row(NULL_TASK, f"round trip: {mechanism}, 0 arguments"), "low..high|over_F1"))

    lone = figures.value(NULL_TASK, "round trip: 0 arguments", "median_ns")
    floor = figures.value(NULL_TASK, "round trip: F1", "median_ns")
    return (
        f"A null task takes {shown(lone)} ns, {shown(over('0 arguments'))} times the {shown(floor)} ns of one cache "
        f"line there and back, and {shown(over('8 arguments'))} times with eight arguments. Of the four mechanisms the default for a lone "
        f"call, pushed and completed in its slot, takes {over_F1('push, slot')} times the floor, pushed and completed in a line of its own "
        f"{over_F1('push, line')}, pulled {over_F1('pull, slot')} and {over_F1('pull, line')}.{stages_show(figures)}"
    )


NULL = Experiment(
    name="tpc-null-task",
    title="TPC: the null task",
    question="What does a task cost that does nothing, by each mechanism of initiation and completion and for 0 to 8 "
    "arguments?",
    published=(
        Published(
            "null task with zero-byte arguments, there and back, at least",
            "about 1,230 cycles or 385 ns; the ideal DMA round trip is just under 312 ns",
            "TPC, sections 1 and 4.1, figure 1(b)",
        ),
        Published("initiation by DMA in place of remote stores (MMIO)", "about 1,000 cycles more", "TPC, figure 1(b)"),
        Published("completion by plain DMA in place of the atomic one (ACU)", "about 200 cycles more", "TPC, figure 1(b)"),
        Published(
            "of the trip by MMIO and ACU: the initiator builds the descriptor and stores it, by the number of arguments",
            "180 to 380 cycles",
            "TPC, figure 1(c)",
        ),
        Published("of the trip by MMIO and ACU: there and back on the bus", "about 800 cycles", "TPC, figure 1(c)"),
        Published(
            "of the trip by MMIO and ACU: the target builds the list of transfers, for one argument and for eight",
            "650 and 1,450 cycles",
            "TPC, figure 1(c)",
        ),
        Published(
            "of the trip by MMIO and ACU: the target finds the task, allocates and issues the completion, whatever the number of arguments",
            "about 280 cycles",
            "TPC, figure 1(c)",
        ),
    ),
    runs=(NULL_TASK,),
    tables=null_task_tables,
    pictures=null_task_pictures,
    shows=null_task_shows,
    differs="The paper's queue has one slot here, so that nothing overlaps; a lone call here goes through one slot as well. Its DMA engines "
    "have no like on these processors: 'pull' is a target that reads the record out of the initiator's memory. Nor has the list of transfers that "
    "the paper's target builds: here it unpacks addresses, and the arguments' lines travel when they are read. The stages are told by stamps of the clock in a "
    "run of their own; one stamp takes about 10 ns, which is taken off each stage but the way there, during which the issuer makes its own.",
    cause="The floor is one line bounced. A record has to be written and read besides, and a call makes its instructions between the "
    "completion that is seen and the next store, and between the record that is seen and its completion "
    "(docs/performance/2-vcpu-epyc.md has the parts).",
)

SIZE = r"(\d+ (?:B|KiB))"


def most_targets(figures: Figures) -> int:
    return max(int(match[1]) for match, _ in figures.select(QUEUE_RUN, r"(\d+) targets, 0 B, lanes of 64"))


def queue_tables(figures: Figures) -> list[Table]:
    columns = {"median_ns": "ns", "low..high|over_F1": "over F1", "p99.9_ns": "99.9th percentile, ns"}
    tables = [
        figures.table(
            QUEUE_RUN,
            "There and back, with an argument that the initiator has just written",
            rf"latency, {SIZE}",
            columns,
            "argument",
        ),
        figures.table(
            QUEUE_RUN, "A null task there and back, to each target in turn", r"latency, (\d+ targets) in turn", columns
        ),
    ]
    for targets in (match[1] for match, _ in figures.select(QUEUE_RUN, r"(\d+) targets, 0 B, lanes of 64")):
        for column, unit in (("ns_a_task", "ns a task"), ("GB_a_second", "GB/s")):
            tables.append(
                figures.grid(
                    QUEUE_RUN,
                    f"{targets} targets: {unit}",
                    rf"{targets} targets, {SIZE}, lanes of (\d+)",
                    column,
                    "argument, slots of a lane",
                )
            )
    return tables


def queue_pictures(figures: Figures) -> list[Picture]:
    rows = figures.select(QUEUE_RUN, rf"{most_targets(figures)} targets, {SIZE}, lanes of (\d+)")
    lines = [
        Line(size, [(float(match[2]), row["ns_a_task"]) for match, row in rows if match[1] == size])
        for size in dict.fromkeys(match[1] for match, _ in rows)
    ]
    trips = [
        (in_bytes(match[1]), row["median_ns"])
        for match, row in figures.select(QUEUE_RUN, rf"latency, {SIZE}")
        if match[1] != "0 B"
    ]
    return [
        Chart("Tasks at once", "slots of a lane", "ns a task", lines, 2, 10),
        Chart("There and back", "bytes of the argument", "ns", [Line("just written by the initiator", trips)], 2, 10),
    ]


def queue_shows(figures: Figures) -> str:
    def task(size: str, depth: int) -> str:
        return shown(
            figures.value(QUEUE_RUN, f"{most_targets(figures)} targets, {size}, lanes of {depth}", "ns_a_task")
        )

    trips = [shown(figures.value(QUEUE_RUN, f"latency, {size}", "median_ns")) for size in ("0 B", "1 KiB", "64 KiB")]
    return (
        f"A null task costs {task('0 B', 1)} ns through a lane of one slot and {task('0 B', 64)} through one of 64; a "
        f"task that reads 16 KiB {task('16 KiB', 1)} and "
        f"{task('16 KiB', 64)}, where the reading itself is what takes the time. There and back takes {trips[0]} ns "
        f"without an argument, {trips[1]} with 1 KiB and "
        f"{trips[2]} with 64 KiB that the initiator has just written."
    )


QUEUE = Experiment(
    name="tpc-queue",
    title="TPC: queue length, size of the argument, targets",
    question="What do 1 to 64 slots of a queue and arguments of up to 64 KiB make of latency and throughput, over 1..N "
    "targets?",
    published=(
        Published(
            "least average latency of a null task with a zero-byte argument (queues of 2 or 4, more than two targets)",
            "about 900 to 1,000 cycles",
            "TPC, figure 2",
        ),
        Published("the same with longer queues and more than one target", "about 1,100 cycles", "TPC, figure 2"),
        Published(
            "maximum throughput with one argument (queues of 2 or more, three or more targets)",
            "from 8 KB on",
            "TPC, figure 2",
        ),
        Published("the same with a queue of one", "only on all six targets", "TPC, figure 2"),
        Published(
            "throughput with an argument of 4 KB (two targets, a queue of 4)",
            "approaches half of the maximum",
            "TPC, figure 2",
        ),
        Published(
            "most throughput with an argument of 1 KB (four targets, queues of 2 or 4)",
            "about 3 GB/s, 12 % of the theoretical 25.6",
            "TPC, figure 2",
        ),
        Published("a queue that is expected to suffice for all possible overlap", "up to four", "TPC, section 4.2"),
    ),
    runs=(QUEUE_RUN,),
    tables=queue_tables,
    pictures=queue_pictures,
    shows=queue_shows,
)

FLOAT = 4  # bytes of a real number, which is what the paper factored


def lu_run(rows: int, block: int, bytes_of_a_number: int = FLOAT, **more: int) -> Run:
    size = {"block_rows": block, "block_columns": bytes_of_a_number}
    return gallery("lu", {"rows": rows, **size, **more}, {"rows": min(rows, 1024), **size})


LU_RUNS = (
    lu_run(4096, 64, repetitions=5),
    lu_run(4096, 16, repetitions=5),
    lu_run(512, 16),
    lu_run(512, 16, 8),
)


LU_CALLS, FFT_CALLS = Run("lu-calls"), Run("fft-calls")


def calls_table(figures: Figures, run: Run, what: str) -> Table:
    columns = {
        "median_us": "us",
        "low..high|speed_up": "times one thread",
        "calls": "calls",
        "queue_stall_percent": "% of the issuer stalled",
        "idle_percent": "% of the targets idle",
    }
    title = f"{what}, dealt out in turn, the caller only issuing; below them the caller helping"
    return figures.table(run, title, r"(.*: .*targets.*)", columns)


def best_of_calls(figures: Figures, run: Run, size: str, pattern: str) -> str:
    """The fastest of the ways that fit, and which it is."""
    match, row = max(figures.select(run, rf"{size}: (\d+ targets, {pattern})"), key=lambda each: each[1]["speed_up"])
    return f"{cell(row, 'low..high|speed_up')} ({match[1]})"


def lu_tables(figures: Figures) -> list[Table]:
    return what_there_is(
        lambda: [calls_table(figures, LU_CALLS, "Every block a call")],
        lambda: breakdown_tables(figures, LU_RUNS),
    )


def share(figures: Figures, run: Run, role: str, part: str) -> str:
    """'8.3 %' of the time of tagged calls of a role on all processors."""
    return f"{shown(figures.row(run, f'{most_workers(figures, run)} workers, {role}')[f'{part}_percent'])} %"


def issuing(figures: Figures, coarse: Run, fine: Run) -> str:
    return (
        f" With these small blocks issuing takes {share(figures, fine, 'initiator', 'runtime')} of the initiator's time and "
        f"{share(figures, fine, 'targets', 'library')} of the targets' goes to the library and to lines on their way; with the "
        f"largest blocks {share(figures, coarse, 'initiator', 'runtime')} and {share(figures, coarse, 'targets', 'library')}."
    )


def every_call(figures: Figures) -> str:
    """The best of the lanes, and what the caller's help makes of it."""

    def best(block: int, pattern: str) -> str:
        return best_of_calls(figures, LU_CALLS, rf"\d+ in blocks of {block}", pattern)

    return (
        f"Where every block is a call and the caller only issues, the best of the lanes are {best(64, 'lanes.*')} times one thread with blocks of 64 and "
        f"{best(16, 'lanes.*')} with blocks of 16, and where the caller helps {best(64, 'balanced.*')} and {best(16, 'balanced.*')}."
    )


def lu_shows(figures: Figures) -> str:
    coarse, _, fine, double = LU_RUNS
    return (
        f"{every_call(figures)} With the caller's share computed by itself, in float, tagged calls are {speed_up(figures, coarse, 'tagged')} times one thread with the largest blocks and "
        f"{speed_up(figures, fine, 'tagged')} with 512 x 512 in blocks of 16 (in double {speed_up(figures, double, 'tagged')}), where threads by "
        f"hand reach {speed_up(figures, coarse, 'hand')} and {speed_up(figures, fine, 'hand')} ({speed_up(figures, double, 'hand')})."
        + (issuing(figures, coarse, fine) if most_workers(figures, fine) > 1 else "")
    )


LU = Experiment(
    name="tpc-lu",
    title="TPC: LU, and where the time goes",
    question="How do tagged calls speed up LU in blocks, coarse and fine, and what do initiator and targets spend "
    "their time on?",
    published=(
        Published("speed-up of LU, 4K x 4K, float, blocks of 16 x 16, on six targets", "5.98", "TPC, section 4.3, figure 3"),
        Published("the same with blocks of 64 x 64", "5.87", "TPC, section 4.3, figure 3"),
        Published(
            "time with blocks of 16 x 16 over that with 64 x 64, on one target",
            "about 105 % slower",
            "TPC, section 4.3",
        ),
        Published("breakdown of initiator and targets", NOT_STATED, "TPC, figure 3"),
    ),
    runs=(LU_CALLS, *LU_RUNS),
    tables=lu_tables,
    pictures=lambda figures: breakdown_pictures(figures, LU_RUNS, "LU", ("hand", "tagged")),
    shows=lu_shows,
    differs="By their size the paper's speed-ups are over one target, though it does not say so, and the processor that issues is one more; here they are over "
    "one thread that calls the functions.",
    cause="With blocks of 64 a task takes some 20 us, so that issuing is next to nothing; what the targets still spend beside computing is "
    "lines that travel, the blocks that the other processor wrote among them. With blocks of 16 a task takes a third of a microsecond in "
    "float, and to issue it and to take it from its lane are a tenth and more of that: the lines of the record and of its extension travel, "
    "which threads by hand do not have (lanes fetch records ahead since the program fdadbdb). Dependent calls find out by themselves what "
    "waits for what, which costs more than the barriers that it saves here.",
)

FFT_RUNS = tuple(
    gallery(
        "fft6",
        {"rows": points, "block_columns": width} | ({"repetitions": 8} if points > 1 << 16 else {}),
        {"rows": min(points, 1 << 20), "block_columns": width},
    )
    for points in (1 << 16, 1 << 22)
    for width in (4, 8)
)
PARTS = ("transposes", "rows")


FFT_WAYS = {
    "tagged": "Tagged calls, times one thread",
    "called": "Tagged calls as in the paper, a row a task and transposes in place, times one thread",
}


def fft_halves(figures: Figures, way: str) -> list[Table]:
    rows: list[list[Cell]] = [
        [
            label(run, figures.quick),
            *(speed_up(figures, run, f"{way} {part}") for part in PARTS),
            speed_up(figures, run, way),
        ]
        for run in FFT_RUNS
    ]
    return [Table(FFT_WAYS[way], ("", *PARTS, "all"), rows)]


def fft_tables(figures: Figures) -> list[Table]:
    return what_there_is(
        *(partial(fft_halves, figures, way) for way in FFT_WAYS),
        lambda: [calls_table(figures, FFT_CALLS, "A row a call, transposes in place")],
        lambda: breakdown_tables(figures, FFT_RUNS),
    )


def fft_as_published(figures: Figures) -> str:
    points = list(dict.fromkeys(match[1] for match, _ in figures.select(FFT_CALLS, r"(\d+) points: one thread")))

    def best(pattern: str) -> str:
        return " and ".join(best_of_calls(figures, FFT_CALLS, f"{number} points", pattern) for number in points)

    return (
        f"As in the paper, in place and with a call a row, in float: where the caller only issues, the best of the lanes are {best('lanes.*')} times one "
        f"thread with {' and '.join(points)} points, and where it helps {best('balanced.*')}."
    )


def fft_shows(figures: Figures) -> str:
    workers = most_workers(figures, FFT_RUNS[0])

    def compared(run: Run) -> str:
        moved, computed = (figures.row(run, f"{workers} workers, tagged {part}") for part in PARTS)
        return (
            "less than"
            if moved["high"] < computed["low"]
            else "more than"
            if moved["low"] > computed["high"]
            else "within the noise as much as"
        )

    def said(small: Run, large: Run) -> str:
        parts = [[speed_up(figures, run, f"tagged {part}") for part in PARTS] for run in (small, large)]
        return (
            f"transposes are {parts[0][0]} times as fast as on one thread with 64K points and {parts[1][0]} with the larger number, "
            f"rows {parts[0][1]} and {parts[1][1]}; what only moves memory gains {compared(small)} what computes with 64K points, and "
            f"{compared(large)} it with the larger number"
        )

    return (
        f"On {workers} processors, in double: {said(FFT_RUNS[1], FFT_RUNS[3])}. In float: {said(FFT_RUNS[0], FFT_RUNS[2])}. "
        f"{fft_as_published(figures)}"
    )


FFT = Experiment(
    name="tpc-fft",
    title="TPC: the six-step FFT, transposes and computation apart",
    question="How do the two halves of a six-step FFT speed up: transposes, which only move memory, and rows, which "
    "only compute?",
    published=(
        Published("speed-up of 4M points, complex float, on six targets", "5.05", "TPC, section 4.3, figure 3"),
        Published("the same of 64K points", "5.1", "TPC, section 4.3, figure 3"),
        Published("speed-up of the computation alone, 4M points", "5.98", "TPC, table 1"),
        Published("speed-up of the transposes alone, 4M points", "1.93", "TPC, table 1"),
        Published("the transposes' part of the time", "8.8 to 23 %", "TPC, section 4.3"),
        Published(
            "the targets' transfers of arguments, of 64K points and of 4M",
            "less than 4 % and 7 %",
            "TPC, section 4.3",
        ),
    ),
    runs=(FFT_CALLS, *FFT_RUNS),
    tables=fft_tables,
    pictures=lambda figures: breakdown_pictures(
        figures, FFT_RUNS, "the six-step FFT", ("tagged transposes", "tagged rows")
    ),
    shows=fft_shows,
    differs="The paper does not say how large the tiles of its transposes are; here their sides are 32. One thread, by which all is measured, transposes from "
    "one matrix into another.",
    cause="With 64K points everything lies in the caches, and what a phase "
    "reads was mostly written by the other processor in the phase before, so that its lines travel, which on one thread none do. From "
    "memory both processors share its bandwidth.",
)

KERNEL_RUNS = (
    gallery("saxpy", {}, {}),
    gallery("sgemv", {}, {}),
    gallery(
        "conv2d",
        {"rows": 4096, "columns": 4096, "block_rows": 32, "block_columns": 64},
        {"block_rows": 32, "block_columns": 64},
    ),
)


def kernels_shows(figures: Figures) -> str:
    said = ", ".join(
        f"{run.arguments[0].upper()} {speed_up(figures, run, 'tagged')} (by hand {speed_up(figures, run, 'hand')})"
        for run in KERNEL_RUNS
    )
    return (
        f"Tagged calls over one thread: {said}. SAXPY and SGEMV do one or two operations for each word that they load, "
        "CONV2D many."
    )


KERNELS = Experiment(
    name="tpc-kernels",
    title="TPC: SAXPY, SGEMV and CONV2D",
    question="What do tagged calls make of kernels with little work for each byte, and of a convolution in blocks of "
    "32 x 64?",
    published=(
        Published("targets that saturate the memory with SAXPY and SGEMV", "more than two or three", "TPC, section 4.4"),
        Published(
            "difference to Sequoia with SAXPY and SGEMV, on more than one target",
            "about 3 %",
            "TPC, section 4.4, figure 5",
        ),
        Published(
            "faster than Sequoia with CONV2D, 4K x 4K in blocks of 32 x 64",
            "about 5 %",
            "TPC, section 4.4, figure 4(c)",
        ),
        Published("speed-ups and breakdowns", NOT_STATED, "TPC, figures 4(c) and 5"),
    ),
    runs=KERNEL_RUNS,
    tables=lambda figures: breakdown_tables(figures, KERNEL_RUNS),
    pictures=lambda figures: breakdown_pictures(figures, KERNEL_RUNS, "kernels", ("hand", "tagged")),
    shows=kernels_shows,
    differs="Sequoia, a language whose programs distribute tasks and data statically, does not run here; threads by hand with equal parts stand for that. "
    "The paper ascribes its lead with CONV2D to transfers that overlap better; dynamic execution it names for PBPI alone.",
    cause="SAXPY's tasks of 32 x 64 elements take 0.5 to 0.6 us, so that issuing them is a good part of the initiator's time, and each begins "
    "where the processor's own prefetcher has to begin anew. Its runs are so short that waking the targets, 60 to 80 us, took a seventh of "
    "them until the program 142069e; now targets are awake when a run begins, as the threads by hand and the paper's processors are (what waking takes "
    "stands in tpc-null-task).",
)

LIKELIHOOD_RUN, ENCODER_RUN = Run("likelihood"), Run("h264")
OVER_ONE = {"median_us": "us", "low..high|speed_up": "times one thread"}


def likelihood_tables(figures: Figures) -> list[Table]:
    sizes = dict.fromkeys(match[1] for match, _ in figures.select(LIKELIHOOD_RUN, r"(\d+) patterns, one thread"))
    return [figures.table(LIKELIHOOD_RUN, f"{size} patterns", rf"{size} patterns, (.*)", OVER_ONE) for size in sizes]


def likelihood_pictures(figures: Figures) -> list[Picture]:
    lines = []
    for way in ("tagged", "tagged, 64 patterns a task", "hand"):
        rows = figures.select(LIKELIHOOD_RUN, rf"(\d+) patterns, {way}")
        lines.append(Line(way, [(float(match[1]), row["speed_up"], row["low"], row["high"]) for match, row in rows]))
    return [Chart("Likelihood of a tree, two processors", "patterns", "times one thread", lines, 10)]


def likelihood_shows(figures: Figures) -> str:
    sizes = sorted({int(match[1]) for match, _ in figures.select(LIKELIHOOD_RUN, r"(\d+) patterns, loops with barriers")})

    def said(size: int, way: str) -> str:
        return str(cell(figures.row(LIKELIHOOD_RUN, f"{size} patterns, {way}"), "low..high|speed_up"))

    size = sizes[-1]
    return (
        f"On two processors, with {size} patterns, the paper's form, three loops with barriers at each node, is {said(size, 'loops with barriers')} times one "
        f"thread that goes through the tree range by range, tagged calls of that kind {said(size, 'tagged')}, and {said(size, 'tagged, 64 patterns a task')} "
        f"where each has 64 patterns. With {sizes[0]} patterns they are {said(sizes[0], 'loops with barriers')}, {said(sizes[0], 'tagged')} and "
        f"{said(sizes[0], 'tagged, 64 patterns a task')}."
    )


LIKELIHOOD = Experiment(
    name="tpc-likelihood",
    title="TPC: PBPI, the likelihood of trees",
    question="How do tagged calls speed up the likelihood of a phylogenetic tree, by the size of a task?",
    published=(
        Published("most speed-up of PBPI on six targets; with Sequoia", "5.6; 4.2", "TPC, section 4.4, figure 4(d)"),
        Published("arguments of a task with which nearly the most is reached", "larger than 4 KB, with queues of 4 or more", "TPC, section 4.4"),
    ),
    runs=(LIKELIHOOD_RUN,),
    tables=likelihood_tables,
    pictures=likelihood_pictures,
    shows=likelihood_shows,
    differs="PBPI itself is not repeated: its likelihood is written anew from the literature (docs/likelihood.md). The paper says neither how large its "
    "alignments are nor what its three loops hold. Sequoia does not run here; BEAGLE, where it is installed, is the rival.",
)


def encoder_tables(figures: Figures) -> list[Table]:
    columns = {"pictures_a_second": "pictures a second", "low..high|speed_up": "times one thread"}
    return [
        figures.table(ENCODER_RUN, f"{kind} settings, 1280 x 720", rf"{kind}, (\d+ processors, .*)", columns)
        for kind in dict.fromkeys(match[1] for match, _ in figures.select(ENCODER_RUN, r"(\w+), 2 processors, serial"))
    ]


def encoder_pictures(figures: Figures) -> list[Picture]:
    rows = figures.select(ENCODER_RUN, r"(\w+), 2 processors, (wavefront|dependent|hand|two encoders at once)")
    return [Bars("The encoder on two processors", "times one thread", [(f"{m[1]}, {m[2]}", row["speed_up"], row["low"], row["high"]) for m, row in rows])]


def encoder_shows(figures: Figures) -> str:
    def said(way: str) -> str:
        return str(cell(figures.row(ENCODER_RUN, f"fast, 2 processors, {way}"), "low..high|speed_up"))

    return (
        f"On two processors a call a macroblock along antidiagonals, the paper's form, is {said('wavefront')} times one thread, calls whose order follows "
        f"from their tags {said('dependent')}, threads by hand {said('hand')}; two encoders that have nothing to do with one another reach "
        f"{said('two encoders at once')}."
    )


ENCODER = Experiment(
    name="tpc-h264",
    title="TPC: the H.264 encoder",
    question="How do tagged calls of one macroblock speed up a video encoder?",
    published=(
        Published("speed-up on six targets over the encoder on the PPE, by the film", "up to 5.0", "TPC, section 4.3, figure 4(a), (b)"),
        Published("part of the serial time that is parallel", "about 85 %", "TPC, section 3"),
        Published("slots of a queue, for want of memory", "two", "TPC, section 4.3"),
        Published("breakdown of initiator and targets", NOT_STATED, "TPC, figure 4(a), (b)"),
    ),
    runs=(ENCODER_RUN,),
    tables=encoder_tables,
    pictures=encoder_pictures,
    shows=encoder_shows,
    differs="The paper ports x264, takes films of 1920 x 1088 from HD-VideoBench, and has one reference and three B pictures with a search of 128 x 128; ours is an "
    "encoder of its own (docs/h264.md), on a made film of 1280 x 720 without B pictures. Where the time goes is not measured.",
)

EXPERIMENTS = (NULL, QUEUE, LU, FFT, KERNELS, LIKELIHOOD, ENCODER)
