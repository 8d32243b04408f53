"""The commands for applications that are written down: check, components, and run for files."""

import math
import os
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from penstock import _core
from penstock.applications import Application
from penstock.errors import UsageError
from penstock.running import Where, machine_for, refuse_unwritable, run_to_end
from penstock.terminal import console

Set = Annotated[list[str] | None, typer.Option("--set", help="A parameter's value, name=value; may be repeated.")]
Allow = Annotated[list[Path] | None, typer.Option("--allow", help="Another folder from which files may be included; may be repeated.")]


IsolationOption = Annotated[
    str | None,
    typer.Option("--isolation", help="Where filters live: 'thread', or 'process', in worker processes; by default in threads, unless a component asks for a process."),
]


def where_of(given: str | None) -> Where | None:
    """Raises typer.BadParameter."""
    if given not in (None, "thread", "process"):
        raise typer.BadParameter(f"'{given}' is neither thread nor process", param_hint="--isolation")
    return given  # type: ignore[return-value]


def settings_of(given: list[str] | None) -> list[tuple[str, str]]:
    """['count=7', ...] as pairs. Raises typer.BadParameter."""
    pairs = []
    for item in given or []:
        name, equals, value = item.partition("=")
        if not equals:
            raise typer.BadParameter(f"'{item}' is not of the form name=value", param_hint="--set")
        pairs.append((name.strip(), value))
    return pairs


def is_file(name: str) -> bool:
    """Does the argument of `penstock run` mean a file, and no application of the gallery?"""
    return name.endswith(".xml") or os.sep in name


def check(file: Annotated[Path, typer.Argument(help="An application.")], setting: Set = None, allow: Allow = None) -> None:
    """Tells everything that is wrong with an application, with lines and columns. Exits with 1 when there are errors; warnings do not count."""
    findings = _core.check_application(str(file), settings_of(setting), [str(folder) for folder in allow or []])
    for finding in findings:
        console.print(finding["text"], highlight=False, markup=False, soft_wrap=True)
    errors = sum(finding["kind"] == "error" for finding in findings)
    if errors:
        raise typer.Exit(1)
    console.print(f"{file}: no errors" + (f", {len(findings)} warnings" if findings else ""), highlight=False, soft_wrap=True)


def components(name: Annotated[str | None, typer.Argument(help="A class; without one, all are listed.")] = None) -> None:
    """What applications can be made of: component classes with their ports and settings."""
    known = {each["name"]: each for each in _core.components()}
    if name is None:
        table = Table(title="penstock components NAME", title_justify="left")
        table.add_column("class", style="bold")
        table.add_column("what it does")
        for each in known.values():
            table.add_row(each["name"], each["documentation"])
        console.print(table)
        return
    if name not in known:
        raise UsageError(f"there is no component class '{name}'; there are {', '.join(known)}")
    one = known[name]
    console.print(f"[bold]{name}[/]  {one['documentation']}" + ("  May have several copies." if one["may_be_copied"] else ""), highlight=False)
    table = Table()
    for column in ("", "name", "type or value", "unit", "range"):
        table.add_column(column)
    for kind in ("inputs", "outputs"):
        for port, element, required in one[kind]:
            table.add_row(kind[:-1], port, element, "", "" if required else "optional")
    for setting, value, unit, least, most in one["settings"]:
        table.add_row("setting", setting, repr(value), unit, _range(least, most))
    console.print(table)


def _range(least: float, most: float) -> str:
    return " ".join([*([f"from {least:g}"] if math.isfinite(least) else []), *([f"to {most:g}"] if math.isfinite(most) else [])])


def application_of(file: Path | str, setting: list[str] | None, allow: list[Path] | None) -> Application:
    """The application of a command's file, or the one of the gallery that is called so. Raises UsageError with all that is wrong."""
    return Application(_core.Application.read(str(file), settings_of(setting), [str(folder) for folder in allow or []]))


def run_file(
    file: str,
    setting: list[str] | None,
    allow: list[Path] | None,
    targets: int | None,
    isolation: Where | None,
    graph: Path | None,
    trace: Path | None,
    report: Path | None,
) -> bool:
    """`penstock run` of a file; True when it was interrupted. What is to be written is refused before the run where it cannot be."""
    application = application_of(file, setting, allow)
    refuse_unwritable(graph, trace, report)
    with machine_for(application, targets, isolation) as machine:
        if trace is not None or report is not None:
            machine.start_timeline()
        run, interrupted = run_to_end(application, machine)
        if graph is not None:
            run.run.save(graph)
        if trace is not None or report is not None:
            machine.stop_timeline()
        if trace is not None:
            trace.write_text(machine.timeline_json(), encoding="utf-8")
        if report is not None:
            from penstock.report.application import write_application

            write_application(report, application, run, settings_of(setting), interrupted, machine.timeline_json(), machine.description)
            console.print(f"report: {report}", soft_wrap=True, highlight=False)
    return interrupted
