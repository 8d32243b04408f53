"""The commands for written applications: check, components, transform, profile, compile; and run for files."""

import math
import os
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Column, Table
from rich.text import Text

from penstock import _core
from penstock.applications import Application, named, names_of, whole
from penstock.component_classes import load_components
from penstock.errors import UsageError
from penstock.interruptions import INTERRUPTED
from penstock.running import Where, machine_for, prepare, refuse_unwritable, run_to_end, where_to_run, write_file
from penstock.target_classes import classes_of
from penstock.terminal import console

Set = Annotated[list[str] | None, typer.Option("--set", help="A parameter's value, name=value; may be repeated.")]
Allow = Annotated[list[Path] | None, typer.Option("--allow", help="Another folder from which files may be included; may be repeated.")]
Library = Annotated[list[Path] | None, typer.Option("--library", help="A shared library with component classes; may be repeated.")]
File = Annotated[Path, typer.Argument(help="An application.")]
IsolationOption = Annotated[
    str | None,
    typer.Option(
        "--isolation", help="Where filters live: 'thread', or 'process', in worker processes; by default in threads, unless a component asks for a process."
    ),
]


Classes = Annotated[
    list[str] | None,
    typer.Option("--class", help="A class of targets: NAME=TARGETS, NAME=TARGETS@SPEED (slowed down), or NAME=TARGETS@process; may be repeated."),
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
        pairs.append((whole(name.strip()), whole(value, f"the value of the setting '{name.strip()}'")))
    return pairs


def load_libraries(given: list[Path] | None) -> None:
    """Before an application is read. Raises LibraryRefused."""
    for path in given or []:
        load_components(path)


def is_file(name: str) -> bool:
    """Does the argument of `penstock run` mean a file, and no application of the gallery?"""
    return name.endswith(".xml") or os.sep in name


def check(file: File, setting: Set = None, allow: Allow = None, library: Library = None) -> None:
    """Tells everything that is wrong with an application, with lines and columns. Exits with 1 when there are errors; warnings do not count."""
    load_libraries(library)
    findings = _core.check_application(named(file), settings_of(setting), names_of(allow))
    for finding in findings:
        console.print(finding["text"], soft_wrap=True)
    errors = sum(finding["kind"] == "error" for finding in findings)
    if errors:
        raise typer.Exit(1)
    console.print(f"{file}: no errors" + (f", {len(findings)} warnings" if findings else ""), soft_wrap=True)


def components(name: Annotated[str | None, typer.Argument(help="A class; without one, all are listed.")] = None, library: Library = None) -> None:
    """What applications can be made of: component classes with their ports and settings, and where they come from."""
    load_libraries(library)
    known = {each["name"]: each for each in _core.components()}
    if name is None:
        columns = Column("class", style="bold"), "what it does", Column("from", overflow="fold")
        table = Table(*columns, title="penstock components NAME", title_justify="left")
        for each in known.values():
            table.add_row(each["name"], each["documentation"], each["origin"])
        console.print(table)
        return
    if name not in known:
        raise UsageError(f"there is no component class '{name}'; there are {', '.join(known)}")
    one = known[name]
    facts = [one["documentation"], *(["May have several copies."] if one["may_be_copied"] else []), f"({one['origin']})"]
    console.print(Text.assemble((name, "bold"), "  ", "  ".join(facts)), soft_wrap=True)
    table = Table("", "name", "type or value", "unit", "range", "for")
    for kind in ("inputs", "outputs"):
        for port, element, required in one[kind]:
            table.add_row(kind[:-1], port, element, "", "" if required else "optional", "")
    for event, value in one["events"]:
        table.add_row("event", event, value, "", "", "")
    for setting, value, unit, least, most, choices, doc in one["settings"]:
        table.add_row("setting", setting, repr(value), unit, ", ".join(choices) or _range(least, most), doc)
    console.print(table)


def _range(least: float, most: float) -> str:
    return " ".join([*([f"from {least:g}"] if math.isfinite(least) else []), *([f"to {most:g}"] if math.isfinite(most) else [])])


def application_of(file: Path | str, setting: list[str] | None, allow: list[Path] | None) -> Application:
    """The application of a command's file, or the one of the gallery that is called so. Raises UsageError with all that is wrong."""
    return Application(_core.Application.read(named(file), settings_of(setting), names_of(allow)))


def run_file(
    file: str,
    setting: list[str] | None,
    allow: list[Path] | None,
    library: list[Path] | None,
    targets: int | None,
    isolation: Where | None,
    classes: list[str] | None,
    graph: Path | None,
    trace: Path | None,
    report: Path | None,
    cluster: str | None = None,
    listen: str = "",
) -> bool:
    """`penstock run` of a file; True when it was interrupted. What is to be written is refused before the run where it cannot be."""
    of_targets = classes_of(classes)
    prepare("process" if any(each.isolation == "process" for each in of_targets) else isolation)
    load_libraries(library)
    application = application_of(file, setting, allow)
    refuse_unwritable(graph, trace, report)
    if listen and cluster is None:
        raise typer.BadParameter("it is where agents of a --cluster find this program", param_hint="--listen")
    timed = trace is not None or report is not None
    with (
        machine_for(application, targets, isolation, of_targets) as machine,
        where_to_run(application, machine, cluster, listen, library or []) as where,
    ):
        if timed:
            where.start_timeline()
        before: Any = where.snapshot()  # of the machine, or of the cluster
        run, interrupted = run_to_end(application, where)
        if graph is not None:
            run.run.save(graph)
        if timed:
            where.stop_timeline()
        if trace is not None:
            write_file(trace, where.timeline_json())
        if report is not None:
            from penstock.report.application import write_application

            write_application(report, application, run, settings_of(setting), interrupted, where.timeline_json(), where.snapshot() - before, machine.description)
            console.print(f"report: {report}", soft_wrap=True)
    return interrupted


def transform_file(
    file: Annotated[Path | None, typer.Argument(help="An application.")] = None,
    passes: Annotated[list[str] | None, typer.Option("--pass", help="A pass, NAME or NAME=NUMBER; may be repeated, and is done in this order.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A file; by default the application is printed.")] = None,
    profile: Annotated[Path | None, typer.Option(help="What `penstock profile` wrote; for place and size.")] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the passes, in the order in which they are of use.")] = False,
    setting: Set = None,
    allow: Allow = None,
    library: Library = None,
) -> None:
    """Rewrites an application by passes. What it computes stays the same, and the same input gives the same bytes."""
    if listed:
        columns = Column("pass", style="bold", no_wrap=True), "what it does"
        table = Table(*columns, title="penstock transform FILE --pass NAME ... -o OUT", title_justify="left")
        for name, purpose, argument in _core.passes():
            table.add_row(name, purpose + (f" {name}=N: {argument}." if argument else ""))
        console.print(table)
        return
    if file is None:
        raise typer.BadParameter("which application is to be transformed?", param_hint="FILE")
    load_libraries(library)
    seen = "" if profile is None else profile.read_text(encoding="utf-8")
    text = _core.transform_application(named(file), passes or [], settings_of(setting), names_of(allow), seen)
    if output is None:
        typer.echo(text, nl=False)
    else:
        write_file(output, text)
        console.print(f"application: {output}", soft_wrap=True)


def profile_file(
    file: File,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file of the profile.")],
    targets: Annotated[int | None, typer.Option(help="Targets besides this thread; by default one for each processor but one.")] = None,
    isolation: IsolationOption = None,
    setting: Set = None,
    allow: Allow = None,
    library: Library = None,
) -> None:
    """Runs an application and writes what each component did: firings, service time, queue lengths, waits; and the rates of its streams."""
    prepare(where_of(isolation))
    load_libraries(library)
    application = application_of(file, setting, allow)
    refuse_unwritable(output)
    with machine_for(application, targets, where_of(isolation)) as machine:
        profile = _core.ApplicationProfile(application.name, machine.targets)
        run, interrupted = run_to_end(application, machine, lambda run: profile.look(run.run), every=0.002)
        profile.look(run.run)
    write_file(output, profile.text())
    console.print(f"profile: {output}", soft_wrap=True)
    if interrupted:
        raise typer.Exit(INTERRUPTED)


def compile_file(
    file: File,
    output: Annotated[Path, typer.Option("--output", "-o", help="A folder; main.cpp and CMakeLists.txt go there.")],
    types: Annotated[
        list[str] | None, typer.Option("--type", help="Make components of a class directly of a type: CLASS=HEADER:TYPE; may be repeated.")
    ] = None,
    setting: Set = None,
    allow: Allow = None,
    library: Library = None,
) -> None:
    """Writes an application as a C++ program, to be built against an installed penstock. It takes the options of `penstock run`."""
    load_libraries(library)
    known = []
    for item in types or []:
        name, equals, where = item.partition("=")
        if not equals:
            raise typer.BadParameter(f"'{item}' is not of the form CLASS=HEADER:TYPE", param_hint="--type")
        known.append((name, where))
    program, build, fixed = _core.compile_application(named(file), settings_of(setting), names_of(allow), known)
    write_file(output / "main.cpp", program)
    write_file(output / "CMakeLists.txt", build)
    console.print(f"program: {output / 'main.cpp'}, {output / 'CMakeLists.txt'}", soft_wrap=True)
    if fixed:
        console.print(f"fixed, because it depends on them which parts there are: {', '.join(fixed)}", soft_wrap=True)
