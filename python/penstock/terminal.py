"""Tables and progress bars for the terminal."""

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Column, Table
from rich.text import Text

from penstock.errors import ComponentWarning


def paper(**options: Any) -> Console:
    """A console for texts that others wrote (names, paths, messages): nothing in them is markup."""
    return Console(markup=False, emoji=False, highlight=False, **options)


console = paper()


def show_warning(message: Warning | str, category: type[Warning], filename: str, lineno: int, file: TextIO | None = None, line: str | None = None) -> None:
    """Those that whoever runs a command can do something about, in one line; others as Python does."""
    if issubclass(category, ComponentWarning):
        paper(file=file or sys.stderr).print(Text.assemble(("warning:", "bold yellow"), f" {message}"), soft_wrap=True)
    else:
        print(warnings.formatwarning(message, category, filename, lineno, line), end="", file=file or sys.stderr)


@contextmanager
def progress_bar(what: str, patience: float = 1.0) -> Iterator[Callable[[float], None]]:
    """A function to call with the fraction done; a bar appears for what takes longer than `patience` seconds."""
    begin = time.monotonic()
    bar: Progress | None = None
    task: Any = None

    def show(fraction: float) -> None:
        nonlocal bar, task
        if bar is None:
            if time.monotonic() - begin < patience:
                return
            columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
            bar = Progress(*columns, console=console, transient=True)
            bar.start()
            task = bar.add_task(what, total=1.0)
        bar.update(task, completed=fraction)

    try:
        yield show
    finally:
        if bar is not None:
            bar.stop()


def duration(seconds: float) -> str:
    """A time with a unit that suits it."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def size(byte_count: int) -> str:
    """Bytes with a binary unit."""
    for unit, scale in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if byte_count >> scale:
            return f"{byte_count / (1 << scale):.4g} {unit}"
    return f"{byte_count} B"


def figure(value: float) -> str:
    """A figure of a check: as many digits as tell something."""
    return f"{value:.10g}" if value == 0 or abs(value) >= 1e-2 else f"{value:.3g}"


def print_timings(seconds: dict[str, float], workers: int, tasks: int) -> None:
    """The time of each way, and how many times faster than the serial one it is."""
    figures = (Column(each, justify="right") for each in ("median", "speed-up"))
    table = Table("way", *figures, title=f"{tasks:,} tasks, {workers} workers", title_justify="left")
    for way, median in seconds.items():
        table.add_row(way, duration(median), f"{seconds['serial'] / median:.2f}" if median > 0 else "")
    console.print(table)


def print_checks(checks: list[dict[str, Any]], every: bool = False) -> None:
    """One line where all hold; else a line for each that does not: expected and actual figures, the tolerance, and who says so. `every`: a line for each."""
    wrong = [row for row in checks if not row["ok"]]
    sources = list(dict.fromkeys(row["source"] for row in checks))
    if not wrong:
        told = Text.assemble((f"all {len(checks)} checks hold", "green"), ", by " + "; ".join(sources))
        if not every and len(told) > console.width:
            told = Text.assemble((f"all {len(checks)} checks hold", "green"), f", by {len(sources)} references (--checks lists them)")
        console.print(told, overflow="ellipsis", no_wrap=True)
    for row in checks if every else wrong:
        verdict = Text("ok    ", "green") if row["ok"] else Text("WRONG ", "bold red")
        figures = f"{figure(row['actual'])}, expected {figure(row['expected'])} within {figure(row['tolerance'])}"
        console.print(Text.assemble(verdict, f"{row['name']}: {figures} ", (row["source"], "dim")), overflow="ellipsis", no_wrap=not wrong, soft_wrap=bool(wrong))


def print_rivals(title: str, seconds: dict[str, float], calls: int) -> None:
    """What the same calls took by different means, the first one ours."""
    figures = (Column(each, justify="right") for each in ("in all", "each", "times ours"))
    table = Table("means", *figures, title=title, title_justify="left")
    ours = next(iter(seconds.values()))
    for name, taken in seconds.items():
        table.add_row(name, duration(taken), duration(taken / calls), f"{taken / ours:.2f}")
    console.print(table)
