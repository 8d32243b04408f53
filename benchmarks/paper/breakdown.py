"""Applications of the gallery: speed-up over workers, and where the time of tagged calls went."""

from collections.abc import Mapping, Sequence
from functools import partial

from paper.figures import Figures, what_there_is, with_interval
from paper.parts import Chart, Line, Picture, Run, Table

PARTS = {
    "application_percent": "program", "runtime_percent": "runtime", "queue_stall_percent": "queue stall", "synchronisation_wait_percent": "waiting",
    "helping_percent": "helping", "compute_percent": "compute", "transfer_percent": "transfer", "library_percent": "library", "idle_percent": "idle",
}  # fmt: skip


def gallery(app: str, settings: Mapping[str, int], quick: Mapping[str, int]) -> Run:
    """An application with its settings, in a full run and in a quick one."""

    def words(chosen: Mapping[str, int]) -> tuple[str, ...]:
        return (app, *(word for name, value in chosen.items() for word in ("--set", f"{name}={value}")))

    return Run("gallery", words(settings), words(quick))


PRECISIONS = {"block_columns=4": "float", "block_columns=8": "double"}  # what LU and the six-step FFT make of this setting


def label(run: Run, quick: bool) -> str:
    """'lu, rows=512, float'."""
    app, *words = run.words(quick)[1:]
    settings = [word for word in words if word != "--set" and not word.startswith("repetitions=")]
    if app in ("lu", "fft6"):
        settings = [PRECISIONS.get(word, word) for word in settings]
    return ", ".join((app, *settings))


def most_workers(figures: Figures, run: Run) -> int:
    return max(int(match[1]) for match, _ in figures.select(run, r"(\d+) workers, serial"))


def speed_up(figures: Figures, run: Run, way: str) -> str:
    """Of a way on all processors, with its interval, in words."""
    row = figures.row(run, f"{most_workers(figures, run)} workers, {way}")
    return with_interval(row["speed_up"], row["low"], row["high"]) or "?"


def breakdown_tables(figures: Figures, runs: Sequence[Run]) -> list[Table]:
    """Speed-up of each way, and shares of each role, for all processors and for one."""
    return what_there_is(*(partial(_breakdown, figures, run) for run in runs))


def _breakdown(figures: Figures, run: Run) -> list[Table]:
    name = label(run, figures.quick)
    columns = {"median_us": "us", "low..high|speed_up": "times one thread"}
    roles = figures.select(run, r"(\d+ workers, (?:initiator|targets))")
    used = [part for part in PARTS if any(part in row for _, row in roles)]
    rows = [[match[1], *(row.get(part) for part in used)] for match, row in roles]
    return [
        figures.table(run, name, r"(\d+ workers, (?!initiator|targets).*)", columns),
        Table(f"{name}: percent of the time of tagged calls", ("", *(PARTS[part] for part in used)), rows),
    ]


def breakdown_pictures(figures: Figures, runs: Sequence[Run], what: str, ways: Sequence[str]) -> list[Picture]:
    """Speed-up over workers."""
    lines = []
    for run in runs:
        for way in ways:
            rows = figures.select(run, rf"(\d+) workers, {way}")
            lines.append(
                Line(
                    f"{label(run, figures.quick)}: {way}",
                    [(float(match[1]), row["speed_up"], row["low"], row["high"]) for match, row in rows],
                )
            )
    return [Chart(f"Speed-up of {what}", "workers", "times one thread", lines)]
