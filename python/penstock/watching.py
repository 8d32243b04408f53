"""The commands that look at graphs which other programs run: top, draw, send."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from penstock import visits
from penstock.builder import Value
from penstock.drawing import render
from penstock.errors import Error, UsageError
from penstock.keys import END_OF_INPUT, keys
from penstock.looks import SORTS, Look, amount, look, tables
from penstock.running import write_file
from penstock.terminal import console, duration, paper
from penstock.written import Library, Set, application_of, load_libraries

HELP = "q quits, s sorts by something else"


def top(
    name: Annotated[str | None, typer.Argument(help="Of a running graph; without one, those that run are listed.")] = None,
    once: Annotated[bool, typer.Option("--once", help="Print one table, of the time since the run began, and exit; so it is without a terminal.")] = False,
    every: Annotated[float, typer.Option(min=0.05, max=1e6, help="Seconds between two looks.")] = 1.0,
    sort: Annotated[str, typer.Option(help="By what filters are sorted: load, rate, queue or name.")] = "load",
    waits: Annotated[bool, typer.Option("--waits", help="Print what each filter does and what it waits for, and exit.")] = False,
) -> None:
    """Shows what a running graph does: filters, streams, the bottleneck. The program was started with PENSTOCK_NAME=NAME, or names its run itself.
    Exits with 2 when nothing runs under the name."""
    if sort not in SORTS:
        raise typer.BadParameter(f"'{sort}' is none of {', '.join(SORTS)}", param_hint="--sort")
    if name is None:
        list_runs()
    elif waits:
        console.print(visits.ask(name, "report")["report"].rstrip(), soft_wrap=True)
    elif once or not (console.is_terminal and sys.stdin.isatty()):
        said = visits.ask(name, "graph")
        seen = look(said)
        console.print(title(said, seen))
        wide = console if console.is_terminal else paper(width=400)  # programs want whole names
        wide.print(tables(seen, sort))
    else:
        watch(name, every, sort)


def list_runs() -> None:
    """The graphs that run under names."""
    table = Table(title_justify="left")
    for column in ("name", "process", "running for", "filters", "firings/s", "bottleneck"):
        table.add_column(column, justify="left" if column in ("name", "bottleneck") else "right")
    for name in visits.running():
        try:
            seen = visits.ask(name, "graph", patience=2)
        except visits.RunGone:
            continue  # it has just ended
        except Error:
            table.add_row(name, "", "", "", "", "does not answer")
            continue
        figures = look(seen)
        rate = amount(sum(each.rate for each in figures.filters))
        table.add_row(name, str(seen["process"]), duration(figures.seconds), str(len(figures.filters)), rate, figures.bottleneck)
    if table.row_count == 0:
        console.print("No graph runs under a name. Start its program with PENSTOCK_NAME=NAME in the environment (auto: the program's name).")
    else:
        console.print(table)


def watch(name: str, every: float, sort: str) -> None:
    """The live view. Returns when the run has ended or `q` is pressed."""
    before: dict[str, Any] | None = None
    now = visits.ask(name, "graph")
    with keys() as pressed, Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            seen = look(now, before)
            room = max(3, (console.height - 8) // 2)
            live.update(Group(title(now, seen), tables(seen, sort, room), Text(f"\nsorted by {sort}; {HELP}", style="dim")), refresh=True)
            key = pressed(every)
            if key in ("q", END_OF_INPUT):
                return
            if key == "s":
                sort = SORTS[(SORTS.index(sort) + 1) % len(SORTS)]
                continue
            try:
                before, now = now, visits.ask(name, "graph")
            except visits.RunGone:
                break
    seen = look(now)
    console.print(Group(title(now, seen), tables(seen, sort)))
    console.print(f"The run '{name}' has ended; this was the last look at it.")


def draw(
    what: Annotated[str, typer.Argument(help="The name of a running graph, a file that `penstock run --graph` or Run::save wrote, or an application.xml.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A file: .svg (the default), .png, .pdf or .dot.")] = None,
    setting: Set = None,
    library: Library = None,
) -> None:
    """Draws a graph with its figures, by graphviz; or an application: groups, options (dashed when off), copies and placement."""
    load_libraries(library)
    path = Path(what)
    if path.suffix == ".xml":
        seen = {"drawing": application_of(path, setting, None).draw()}
    else:
        seen = _read(path) if path.is_file() else visits.ask(what, "graph")
    if output is None:
        output = Path(f"{path.stem if path.is_file() else what.replace('/', '-')}.svg")
    kind = output.suffix.removeprefix(".")
    if not kind:
        raise typer.BadParameter(f"'{output}' does not say which kind of picture it is to be: end it in .svg, .png, .pdf or .dot", param_hint="--output")
    picture = seen["drawing"].encode() if kind == "dot" else render(seen["drawing"], kind)
    write_file(output, picture)
    console.print(f"drawing: {output}", soft_wrap=True)


def send(
    name: Annotated[str, typer.Argument(help="Of a running graph.")],
    event: Annotated[str, typer.Argument(help="The event's name.")],
    value: Annotated[str, typer.Argument(help="true, false, a number, or a text.")] = "false",
    to: Annotated[str, typer.Option(help="A filter, or a group as 'group/'; by default, all.")] = "",
    text: Annotated[bool, typer.Option("--text", help="The value is a text, whatever it looks like.")] = False,
) -> None:
    """Sends an event to filters of a running graph. Exits with 2 when nobody gets it."""
    reached = visits.send(name, event, value if text else parse_value(value), to)
    console.print(f"{reached} {'copy' if reached == 1 else 'copies'} of filters got it")


def parse_value(text: str) -> Value:
    """'true' and 'false', integers and other numbers as such; everything else is a text."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def title(said: dict[str, Any], seen: Look) -> Text:
    window = "since then" if seen.window >= seen.seconds else f"figures of the last {duration(seen.window)}"
    return Text(f"{said['name']}, process {said['process']}, began {duration(seen.seconds)} ago; {window}\n", style="bold")


def _read(path: Path) -> dict[str, Any]:
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, UnicodeDecodeError):
        said = None
    if not isinstance(said, dict) or not isinstance(said.get("drawing"), str):
        raise UsageError(f"{path} is not a graph as `penstock run --graph` and Run::save write them")
    return said
