"""The figures that runs wrote, for experiments to read by name."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from paper.parts import Cell, Run, Table


class Missing(LookupError):
    """A run failed, has not been made, or does not hold what is asked for."""


@contextmanager
def reading() -> Iterator[None]:
    """Figures that are not of the kind that an experiment expects (null where a number should be) are Missing, too: one experiment's must not
    lose the others'."""
    try:
        yield
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise Missing(f"its figures cannot be read: {type(error).__name__} {error}") from error


class Figures:
    """The results of one machine: `document` as Results keeps it."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self.quick: bool = document["quick"]

    def report(self, run: Run) -> dict[str, Any]:
        """What the benchmark wrote. Raises Missing."""
        result = self.document["runs"].get(run.name(self.quick))
        if result is None:
            raise Missing(f"{run.command(self.quick)} has not been run")
        if "report" not in result:
            raise Missing(f"{run.command(self.quick)} failed: {result['error']}")
        return result["report"]

    def rows(self, run: Run) -> list[dict[str, Any]]:
        """Of what was measured with the processors near one another and far apart, that which was measured near."""
        rows = self.report(run)["rows"]
        return [row | {"name": row["name"].removesuffix(", near")} for row in rows if not row["name"].endswith(", far")]

    def quotable(self) -> "Figures":
        """The same without runs that nobody should quote: void ones, and those of an older ruler."""
        return Quotable(self.document)

    def select(self, run: Run, pattern: str) -> list[tuple[re.Match[str], dict[str, Any]]]:
        """The rows whose whole name fits, with what fitted. Raises Missing when there is none."""
        found = [(match, row) for row in self.rows(run) if (match := re.fullmatch(pattern, row["name"]))]
        if not found:
            raise Missing(f"{run.command(self.quick)} wrote no row like '{pattern}'")
        return found

    def row(self, run: Run, name: str) -> dict[str, Any]:
        """The row of this name."""
        return self.select(run, re.escape(name))[0][1]

    def value(self, run: Run, name: str, column: str) -> float:
        """One figure. Raises Missing where it is not a number, too."""
        value = self.row(run, name).get(column)
        if not isinstance(value, int | float):
            raise Missing(f"{run.command(self.quick)} wrote no {column} for '{name}'")
        return float(value)

    def has(self, run: Run, name: str) -> bool:
        return any(row["name"] == name for row in self.rows(run))

    def may_quote(self, run: Run) -> bool:
        """Whether there is a report of it."""
        try:
            self.report(run)
        except Missing:
            return False
        return True

    def table(self, run: Run, title: str, pattern: str, columns: dict[str, str], first: str = "") -> Table:
        """The rows that fit, named by the pattern's first group (or their whole name), with these columns under other names."""
        rows = [
            [match[1] if match.re.groups else match[0], *(cell(row, column) for column in columns)]
            for match, row in self.select(run, pattern)
        ]
        return Table(title, (first, *columns.values()), rows)

    def grid(self, run: Run, title: str, pattern: str, column: str, first: str = "") -> Table:
        """One figure of rows whose names say two things: the pattern's first group down, its second across."""
        found = self.select(run, pattern)
        down, across = (list(dict.fromkeys(match[group] for match, _ in found)) for group in (1, 2))
        values = {(match[1], match[2]): row.get(column) for match, row in found}
        return Table(
            title, (first, *across), [[name, *(values.get((name, other)) for other in across)] for name in down]
        )


def what_there_is(*makers: Callable[[], list[Table]]) -> list[Table]:
    """The tables of an experiment of several runs: a run that is missing loses its own only. Raises Missing when there are none."""
    tables: list[Table] = []
    why: Missing | None = None
    for make in makers:
        try:
            with reading():
                tables += make()
        except Missing as missing:  # the conditions below the tables say so
            why = missing
    if not tables and why is not None:
        raise why
    return tables


def cell(row: dict[str, Any], column: str) -> Cell:
    """The figure in this column; for "a..b|c" the figure c with its interval a to b."""
    if "|" not in column:
        return row.get(column)
    interval, _, name = column.partition("|")
    low, _, high = interval.partition("..")
    return with_interval(row.get(name), row.get(low), row.get(high))


def with_interval(value: float | None, low: float | None, high: float | None) -> str | None:
    """1.46 (1.39 to 1.51)."""
    if value is None:
        return None
    if low is None or high is None:
        return shown(value)
    return f"{shown(value)} ({shown(low)} to {shown(high)})"


def shown(value: Cell) -> str:
    """A figure in a table: three digits, thousands in groups."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.3g}"


def numbers(
    rows: list[tuple[re.Match[str], dict[str, Any]]], column: str, scale: float = 1
) -> Iterator[tuple[float, float]]:
    """(the pattern's first group, the figure) of rows whose names hold a number."""
    for match, row in rows:
        if isinstance(row.get(column), int | float):
            yield float(match[1].replace(",", "")), row[column] * scale


UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20}


def in_bytes(words: str) -> float:
    """'64 KiB' as a number."""
    number, _, unit = words.partition(" ")
    return float(number) * UNITS[unit]


RULER = "2026-11-23"  # since this day F1 and F2 are timed without a division, and a run is void by its A/A interval


def unquotable(result: dict[str, Any]) -> str:
    """Why nobody should quote a run that did not fail; empty where nothing speaks against it."""
    if result["date"] < RULER:
        return f"measured with an older ruler (before {RULER})"
    return "void by its own rule" if (result["report"].get("noise") or {}).get("void") else ""


class Quotable(Figures):
    """Raises Missing for a run that is void or that an older ruler measured."""

    def report(self, run: Run) -> dict[str, Any]:
        report = super().report(run)
        if why := unquotable(self.document["runs"][run.name(self.quick)]):
            raise Missing(f"{run.command(self.quick)} is {why}")
        return report
