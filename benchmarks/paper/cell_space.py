"""Cell-Space: kernels, jobs and the runtime around them, chains, applications of components."""

from paper.breakdown import gallery, most_workers, speed_up
from paper.experiment import Bars, Chart, Experiment, Line, Picture, Published, Run, Table
from paper.figures import Figures, shown
from paper.filters import filter_pictures, filter_tables, on_all

KERNELS_RUN, JOBS, JPIP, EDGE = Run("kernels"), Run("jobs"), Run("jpip"), Run("edge")
CACHED = r"(.*), 128 x 256 \(in cache\)"


def kernel_tables(figures: Figures) -> list[Table]:
    columns = {"cycles_a_byte": "cycles a byte", "cycles_a_pixel": "cycles a pixel", "us": "us", "low..high|over_best": "over the fastest library"}
    tables = [figures.table(KERNELS_RUN, "Images of 128 x 256, in cache", CACHED, columns, "kernel")]
    if any("from memory" in row["name"] for row in figures.rows(KERNELS_RUN)):
        tables.append(figures.table(KERNELS_RUN, "Images of 1080 x 1920, from memory", r"(.*), 1080 x 1920 \(from memory\)", columns, "kernel"))
    return tables


def kernel_pictures(figures: Figures) -> list[Picture]:
    return [Bars("In cache", "cycles a byte", [(match[1], row["cycles_a_byte"], None, None) for match, row in figures.select(KERNELS_RUN, CACHED)])]


def kernel_shows(figures: Figures) -> str:
    rows = figures.select(KERNELS_RUN, CACHED)
    least, most = (choose(rows, key=lambda each: each[1]["cycles_a_byte"]) for choose in (min, max))
    known = [row["over_best"] for _, row in rows if row["over_best"] is not None]
    faster = sum(over < 1 for over in known)
    return (
        f"From {shown(least[1]['cycles_a_byte'])} cycles a byte ({least[0][1]}) to {shown(most[1]['cycles_a_byte'])} ({most[0][1]}), cycles being those of the time "
        f"stamp counter. {faster} of {len(known)} cases are faster than the fastest library that is installed."
    )


KERNELS = Experiment(
    name="cell-kernels",
    title="Cell-Space: cycles a byte of each kernel",
    question="How many cycles does each kernel of images take for a byte that it reads?",
    published=(Published("cycles a byte of each kernel", "not stated here", "Cell-Space, table 1"),),
    runs=(KERNELS_RUN,),
    tables=kernel_tables,
    pictures=kernel_pictures,
    shows=kernel_shows,
)

JOB_COLUMNS = {"TET_ns_a_job": "ns a job", "ns_inside_a_job": "ns inside a job", "low..high|overhead": "overhead (TET / AEET - 1)"}


def chain_tables(figures: Figures) -> list[Table]:
    return [
        figures.table(JOBS, f"{cycles} a byte", rf"{cycles} a byte: ((?!notified|\d in flight).*)", JOB_COLUMNS, "jobs") for cycles in ("1 cycle", "10 cycles")
    ]


def chain_pictures(figures: Figures) -> list[Picture]:
    pictures: list[Picture] = []
    for cycles in ("1 cycle", "10 cycles"):
        rows = figures.select(JOBS, rf"{cycles} a byte: ((?!notified|\d in flight|one thread).*)")
        pictures.append(Bars(f"Overhead at {cycles} a byte", "TET / AEET - 1", [(match[1], row["overhead"], row["low"], row["high"]) for match, row in rows]))
    return pictures


def chain_shows(figures: Figures) -> str:
    def percent(name: str) -> str:
        return shown(100 * figures.value(JOBS, name, "overhead"))

    return (
        f"At 1 cycle a byte the runtime adds {percent('1 cycle a byte: no chains')} % without chains, {percent('1 cycle a byte: chains of 4')} % with chains of 4, "
        f"{percent('1 cycle a byte: chains of 16')} % with chains of 16, {percent('1 cycle a byte: 20 % resident')} % with a fifth of the data resident and "
        f"{percent('1 cycle a byte: 50 % resident')} % with half. At 10 cycles a byte it is {percent('10 cycles a byte: no chains')} % without and "
        f"{percent('10 cycles a byte: chains of 16')} % with chains of 16: a task costs so little that chains have nothing left to save, and leave more idle at the end."
    )


CHAINS = Experiment(
    name="cell-chains",
    title="Cell-Space: chains and resident data",
    question="What does the runtime add to jobs of 32,400 bytes in and out, in chains of 4 and 16, and with 20 % and 50 % of their data resident?",
    published=(
        Published("overhead at 10 cycles a byte without chains", "up to 40 %", "Cell-RTL, figure 6"),
        Published("overhead at 10 cycles a byte with chains", "under 6 %", "Cell-RTL, figure 6"),
    ),
    runs=(JOBS,),
    tables=chain_tables,
    pictures=chain_pictures,
    shows=chain_shows,
)

EDGES = ("turned pictures: ", "turned kernels: ")
SYNTHETIC = gallery("synthetic", {}, {})


def application_tables(figures: Figures) -> list[Table]:
    columns = {"median_us": "us", "low..high|speed_up": "times one thread"}
    return [
        *filter_tables(figures, JPIP, "frames", ("",)),
        *filter_tables(figures, EDGE, "pictures", EDGES),
        figures.table(SYNTHETIC, "synthetic", r"(\d+ workers, (?!initiator|targets).*)", columns),
    ]


def application_pictures(figures: Figures) -> list[Picture]:
    lines = [line for run, prefixes in ((JPIP, ("",)), (EDGE, EDGES)) for picture in filter_pictures(figures, run, "", prefixes) for line in picture.lines]
    names = ["JPiP", "Edge-Rot", "Edge-2D"]
    named = [Line(name, line.points) for name, line in zip(names, lines, strict=True)]
    rows = figures.select(SYNTHETIC, r"(\d+) workers, both")
    named.append(Line("synthetic", [(float(match[1]), row["speed_up"], row["low"], row["high"]) for match, row in rows]))
    return [Chart("Speed-up of the applications", "processors", "times one thread", named)]


def application_shows(figures: Figures) -> str:
    return (
        f"On {most_workers(figures, SYNTHETIC)} processors JPiP is {on_all(figures, JPIP, '', 'streamed')} times as fast as one thread, Edge-Rot "
        f"{on_all(figures, EDGE, EDGES[0], 'streamed')}, Edge-2D {on_all(figures, EDGE, EDGES[1], 'streamed')} and the synthetic benchmark with chains and resident data "
        f"{speed_up(figures, SYNTHETIC, 'both')}. Making the graph, starting and ending it is included."
    )


APPLICATIONS = Experiment(
    name="cell-applications",
    title="Cell-Space: speed-up of its applications",
    question="How do pictures in a picture, edge detection by two algorithms and the synthetic benchmark speed up over processors?",
    published=(Published("speed-up of JPiP, Edge-Rot, Edge-2D and the synthetic benchmark", "not stated here", "Cell-Space, figure 7"),),
    runs=(JPIP, EDGE, SYNTHETIC),
    tables=application_tables,
    pictures=application_pictures,
    shows=application_shows,
)

EXPERIMENTS = (KERNELS, CHAINS, APPLICATIONS)
