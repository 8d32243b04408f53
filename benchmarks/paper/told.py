"""The experiments in words: for a terminal, and as Markdown for docs/experiments.md."""

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table as RichTable

from paper.experiment import Experiment
from paper.figures import Figures, Missing, reading, shown, unquotable
from paper.parts import Table


def conditions(experiment: Experiment, figures: Figures) -> Iterator[str]:
    """A line for each run: the command, when, how long, how noisy; or what became of it."""
    for run in experiment.runs:
        result = figures.document["runs"].get(run.name(figures.quick))
        if result is None:
            yield f"{run.command(figures.quick)}: not run"
        elif "report" not in result:
            yield f"{run.command(figures.quick)}, {result['date']}: failed, {result['error']}"
        else:
            program = f", program {result['program']}" if result.get("program") else ""
            noise = _noise(result["report"].get("noise"))
            why = unquotable(result)
            yield f"{result['command']}, {result['date']}{program}, {result['seconds']:.0f} s: {noise}{f'; {why}' if why else ''}"


def remarks(experiment: Experiment) -> list[tuple[str, str]]:
    """What stands below an experiment's figures: headings and texts."""
    return [(word, text) for word, text in (("What differs", experiment.differs), ("Where ours is worse", experiment.cause)) if text]


def _noise(noise: dict[str, Any] | None) -> str:
    if noise is None:
        return "noise not measured"
    return (
        f"noise (A/A) {shown(noise['value'])} ({shown(noise['low'])} to {shown(noise['high'])}), "
        f"the floor moved by {100 * noise['floor_moved']:.0f} %"
    )


def print_list(experiments: Sequence[Experiment], console: Console) -> None:
    table = RichTable(title="./bench paper NAME [--quick], or all", title_justify="left")
    table.add_column("name", style="bold", no_wrap=True)
    table.add_column("experiment")
    table.add_column("runs")
    for each in experiments:
        table.add_row(each.name, each.title, ", ".join(dict.fromkeys(run.benchmark for run in each.runs)))
    console.print(table)


def print_experiment(experiment: Experiment, machines: Sequence[Figures], console: Console) -> None:
    console.print(f"\n[bold]{experiment.title}[/]  {experiment.question}", highlight=False)
    for each in experiment.published:
        console.print(f"  published: {each.what}: {each.figure} ({each.source})", highlight=False, markup=False)
    for figures in machines:
        if len(machines) > 1:
            console.print(f"\n{figures.document['machine'] or 'this machine'}", style="bold", highlight=False, markup=False)
        try:
            with reading():
                for table in experiment.tables(figures):
                    console.print(_rich(table))
                console.print(experiment.shows(figures), highlight=False, markup=False)
        except Missing as why:
            console.print(str(why), style="red", highlight=False, markup=False)
        for line in conditions(experiment, figures):
            console.print(line, style="dim", highlight=False, markup=False)
    for word, text in remarks(experiment):
        console.print(f"{word}: {text}", style="dim", highlight=False, markup=False)


def _rich(table: Table) -> RichTable:
    made = RichTable(title=table.title, title_justify="left")
    for number, column in enumerate(table.columns):
        made.add_column(column, justify="left" if number == 0 else "right")
    for row in table.rows:
        made.add_row(*(shown(value) for value in row))
    return made


READING = (
    "The papers: Tagged Procedure Calls (TPC), calls with tagged arguments as tasks, on the Cell; Cell-Space, components as streaming graphs, "
    "and Cell-RTL, the runtime of jobs below it, on the Cell, too; DataCutter-Lite, filters and streams on the Cell; Remote Store Programming "
    "(RSP), on the TILEPro64. What is cited is what their texts say; nothing is read off their pictures, so that a curve is 'not stated in words'. "
    "docs/papers.md says where each of their mechanisms stands in the code.",
    "How to read the figures: a ratio is the median over the batches of a run, which need not be the quotient of two medians, and in brackets "
    "stands its 95 % interval. F1 is one cache line bounced between two processors, there and back, F2 the same with two lines in turn. Where the "
    "processors of a virtual machine stood near one another and far apart by turns (docs/measuring.md), the figures are those of near. "
    "Average effective execution time (AEET) is what the jobs take by themselves, over the number of workers (each table says how that is measured), total "
    "execution time (TET) the time from the first issue until all is complete. 'hand' is the same work threaded by hand, 'tagged' are tagged calls with barriers, 'dependent' calls "
    "find their order by their arguments, 'staged' ones work on copies in the target's local store.",
    "Below every experiment stand the commands that made its figures, the day, the program (its commit), how long it took and how noisy it was: "
    "A/A is the ratio of a thing to itself. Quick runs show sizes, not values. In a void run a thing may differ from itself by more than 15 %: what "
    "is said of it holds as far as its intervals do. One machine's figures may be of an older program than another's. The page in the documentation leaves out "
    "the figures of void runs and of those by an older ruler, and says so below the experiment.",
)

HEAD = """# The papers' experiments, repeated

Each of the four papers that Penstock unites made claims with figures; this page repeats them with Penstock's own mechanisms. `./bench paper`
lists the experiments, `./bench paper NAME [--quick]` runs one, `./bench paper all --quick --json FILE --report FILE.html` all of them into one
page with plots. This file is written by `./bench paper all --from FILE --beside FILE --markdown docs/experiments.md`, from what `--json FILE`
kept on each machine; the words are those of `benchmarks/paper/`.

"""


def markdown(experiments: Sequence[Experiment], machines: Sequence[Figures]) -> str:
    """docs/experiments.md."""
    quotable = [figures.quotable() for figures in machines]
    return HEAD + "\n\n".join(READING) + "\n" + "".join(_chapter(each, quotable) for each in experiments)


def _chapter(experiment: Experiment, machines: Sequence[Figures]) -> str:
    lines = ["", f"## {experiment.title}", "", f"`./bench paper {experiment.name}`. {experiment.question}", ""]
    if experiment.published:
        lines += _rows(
            Table(
                "",
                ("published", "figure", "source"),
                [[each.what, each.figure, each.source] for each in experiment.published],
            )
        )
    else:
        lines += ["No paper asked this.", ""]
    known = [figures for figures in machines if any(run.name(figures.quick) in figures.document["runs"] for run in experiment.runs)]
    for figures in known or machines[:1]:
        lines += _ours(experiment, figures)
    lines += [line for word, text in remarks(experiment) for line in (f"*{word}.* {text}", "")]
    return "\n".join(lines)


def _ours(experiment: Experiment, figures: Figures) -> list[str]:
    tables: list[Table] = []
    try:
        with reading():
            tables = experiment.tables(figures)
            said = experiment.shows(figures)
    except Missing as why:
        said = f"Not told: {why}." if tables else f"Not measured: {why}."
    lines = [f"**{figures.document['machine'] or 'This machine'}.** {said}", "", *(line for table in tables for line in _rows(table))]
    return [*lines, *(f"- {line}" for line in conditions(experiment, figures)), ""]


def _rows(table: Table) -> list[str]:
    def line(cells: Sequence[object]) -> str:
        return "| " + " | ".join(str(each).replace("|", "\\|") for each in cells) + " |"

    title = [f"*{table.title}*", ""] if table.title else []
    rows = [line([shown(value) for value in row]) for row in table.rows]
    return [*title, line(table.columns), "|" + "---|" * len(table.columns), *rows, ""]
