"""The commands that make something of an application that is written down: transform, profile, compile, draw."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from penstock import _core
from penstock.applications import named
from penstock.interruptions import INTERRUPTED
from penstock.running import machine_for, prepare, refuse_unwritable, run_to_end, write_file
from penstock.terminal import console
from penstock.written import Allow, IsolationOption, Library, Set, application_of, load_libraries, settings_of, where_of

File = Annotated[Path, typer.Argument(help="An application.")]


def _folders(allow: list[Path] | None) -> list[str]:
    return [named(folder) for folder in allow or []]


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
        table = Table(title="penstock transform FILE --pass NAME ... -o OUT", title_justify="left")
        table.add_column("pass", style="bold", no_wrap=True)
        table.add_column("what it does")
        for name, purpose, argument in _core.passes():
            table.add_row(name, purpose + (f" {name}=N: {argument}." if argument else ""))
        console.print(table)
        return
    if file is None:
        raise typer.BadParameter("which application is to be transformed?", param_hint="FILE")
    load_libraries(library)
    seen = "" if profile is None else profile.read_text(encoding="utf-8")
    text = _core.transform_application(named(file), passes or [], settings_of(setting), _folders(allow), seen)
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
        run, interrupted = run_to_end(application, machine, lambda run: profile.look(run.run.compiled), every=0.002)
        profile.look(run.run.compiled)
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
    program, build, fixed = _core.compile_application(named(file), settings_of(setting), _folders(allow), known)
    write_file(output / "main.cpp", program)
    write_file(output / "CMakeLists.txt", build)
    console.print(f"program: {output / 'main.cpp'}, {output / 'CMakeLists.txt'}", soft_wrap=True)
    if fixed:
        console.print(f"fixed, because it depends on them which parts there are: {', '.join(fixed)}", soft_wrap=True)


def drawing(path: Path) -> dict[str, str]:
    """An application as `penstock draw` takes it."""
    return {"drawing": application_of(path, None, None).draw()}
