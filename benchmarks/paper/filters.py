"""Applications of filters: units a second and speed-up over processors, as bench::measure_speed_up writes them."""

import re
from collections.abc import Sequence

from paper.figures import Figures, with_interval
from paper.parts import Chart, Line, Picture, Run, Table


def rows_of(figures: Figures, run: Run, prefix: str, way: str) -> list[tuple[int, dict[str, float]]]:
    return [(int(match[1]), row) for match, row in figures.select(run, rf"{re.escape(prefix)}(\d+) processors, {way}")]


def on_all(figures: Figures, run: Run, prefix: str, way: str) -> str:
    """The speed-up on all processors with its interval, in words."""
    _, row = max(rows_of(figures, run, prefix, way), key=lambda each: each[0])
    return with_interval(row["speed_up"], row["low"], row["high"]) or "?"


def filter_tables(figures: Figures, run: Run, unit: str, prefixes: Sequence[str]) -> list[Table]:
    columns = {f"{unit}_a_second": f"{unit} a second", "low..high|speed_up": "times one thread"}
    return [figures.table(run, prefix.removesuffix(": "), rf"{re.escape(prefix)}(.*)", columns) for prefix in prefixes]


def filter_pictures(figures: Figures, run: Run, title: str, prefixes: Sequence[str]) -> list[Picture]:
    lines = []
    for prefix in prefixes:
        points = [
            (float(n), row["speed_up"], row["low"], row["high"]) for n, row in rows_of(figures, run, prefix, "streamed")
        ]
        lines.append(Line(f"{prefix}filters", points))
    return [Chart(f"{title}: speed-up", "processors", "times one thread", lines)]
