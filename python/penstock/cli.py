"""The command line: penstock machine, gallery, run, check, components, transform, profile, compile, top, draw, send, studio, demo."""

import os
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Column, Table
from rich.text import Text

from penstock import __version__, _core, component_classes, watching, written
from penstock.applications import whole
from penstock.errors import Error, UsageError
from penstock.interruptions import INTERRUPTED
from penstock.running import refuse_unwritable, write_file
from penstock.studio.command import studio
from penstock.terminal import console, duration, paper, print_checks, print_timings, print_rivals, progress_bar, show_warning, size

app = typer.Typer(
    help="Fine-grained tasks, pushed to the core that will run them.", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
)

Targets = Annotated[int | None, typer.Option(min=0, max=256, help="Targets besides this thread; by default one for each processor but one.")]


NUMBERS = ("rows", "columns", "block_rows", "block_columns", "seed", "repetitions")  # settings of every application


@app.callback(invoke_without_command=True)
def options(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
    cmake_dir: Annotated[bool, typer.Option("--cmake-dir", help="Print where CMake finds the library that this wheel carries, and exit.")] = False,
) -> None:
    if cmake_dir:
        raise typer.BadParameter("it stands alone: penstock --cmake-dir", param_hint="--cmake-dir")
    if version:
        console.print(f"penstock {__version__}")
        raise typer.Exit


@app.command()
def machine() -> None:
    """What Penstock sees of this machine: processors, caches, targets, and what it calibrated."""
    here = _core.topology()
    console.print(here["description"])
    columns = (Column(each, justify="right") for each in ("processor", "core", "package", "node", "L1d", "L2", "L3"))
    table = Table(*columns, title="processors that this process may use", title_justify="left")
    for processor in here["processors"]:
        caches = (size(cache["bytes"]) if (cache := processor[level]) else "?" for level in ("l1d", "l2", "l3"))
        table.add_row(*(str(processor[key]) for key in ("index", "core", "package", "node")), *caches)
    console.print(table)
    with _core.Machine() as targets:
        count, description = targets.targets, targets.description
    facts = [
        ("threads at once", str(here["usable"])),
        ("processor quota", "none" if here["quota"] is None else f"{here['quota']:.3g} processors"),
        ("cache line", f"{here['line_size']} B"),
        ("clock", f"{here['clock']}, {here['nanoseconds_per_tick']:.4g} ns a tick (calibrated)"),
        ("waits by", "spinning, then sleeping" if here["monitor_wait"] == "none" else f"spinning, {here['monitor_wait']}, then sleeping"),
        ("demotes lines (CLDEMOTE)", "yes" if here["cldemote"] else "no"),
        ("stores travel", f"{_core.store_ways()} (calibrated)"),
        ("targets by default", f"{count}, and the caller while it waits"),
        ("placement", description.rsplit("; ", 1)[-1]),
        ("prefetching", "measured while tasks run, for each procedure and shape"),
    ]
    if here["flat"]:
        facts.append(("topology", "unknown (hwloc or sysfs said nothing): taken as flat"))
    table = Table(show_header=False)
    for fact in facts:
        table.add_row(*fact)
    console.print(table)


@app.command()
def agent(
    library: written.Library = None,
    load: Annotated[list[str] | None, typer.Option(help="A Python module that registers components; may be repeated.")] = None,
    pmix: Annotated[bool, typer.Option("--pmix", help="As a process of a job of mpirun or srun, whose first process makes the cluster.")] = False,
) -> None:
    """Runs as one node of a cluster (docs/nodes.md), until the program that made the cluster ends it. Reads the invitation that the program has
    printed; a program that starts agents itself gives it in the environment."""
    import importlib
    import signal
    import sys

    import cloudpickle  # noqa: F401 - now: a spare that takes a node's place is waited for
    import numpy as np  # noqa: F401

    from penstock.cluster import INVITATION

    invitation = os.environ.pop(INVITATION, None)
    if pmix:
        invitation = _core.invitation_of_job()
        if invitation is None:
            raise UsageError("--pmix is for processes of `mpirun` or `srun --mpi=pmix` other than the first, which makes the cluster")
        if not invitation:  # there is no cluster
            raise typer.Exit(0)
    if invitation is not None:  # Ctrl-C is for the program that has started it, which ends it
        signal.signal(signal.SIGINT, lambda *_: None)
    else:
        if sys.stdin.isatty():
            console.print("The invitation, which the program has printed as one line:")
        invitation = sys.stdin.readline()
    for path in library or []:
        component_classes.load_components(path)
    for module in load or []:
        importlib.import_module(module)
    raise typer.Exit(_core.run_agent(invitation.strip()))


@app.command()
def gallery(name: Annotated[str | None, typer.Argument(help="An application; without one, all are listed.")] = None) -> None:
    """The applications, in the order in which to read them; or the ways and settings of one."""
    if name is not None:
        console.print(Text.assemble((name, "bold"), f"  {dict(_core.gallery()).get(name, '')}"), soft_wrap=True)
        console.print("ways: " + ", ".join(_core.app_ways(name)), soft_wrap=True)
        table = Table("setting", "what it means", title=f"penstock run {name} --set SETTING=VALUE", title_justify="left")
        for each in _core.app_settings(name).items():
            table.add_row(*each)
        table.add_row(", ".join(NUMBERS), "numbers; what the sizes mean, its header says")
        console.print(table)
        return
    table = Table(Column("name", style="bold"), "what it is", title="penstock run NAME", title_justify="left")
    for name, summary in _core.gallery():
        table.add_row(name, summary)
    console.print(table)


def parse_settings(given: list[str]) -> dict[str, int | str]:
    """['rows=512', 'input=clip.y4m', ...] as a dict. Raises typer.BadParameter."""
    settings: dict[str, int | str] = {}
    for name, value in written.settings_of(given):
        if name in NUMBERS and not value.removeprefix("-").isdecimal():
            raise typer.BadParameter(f"'{name}={value}' is not of the form name=number", param_hint="--set")
        settings[name] = int(value) if name in NUMBERS else value
    return settings


@app.command()
def run(
    name: Annotated[str, typer.Argument(help="An application of the gallery, or a file: application.xml.")],
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="rows=512, columns=, block_rows=, block_columns=, seed=, repetitions=, one of the application's own (penstock gallery NAME), or a parameter of a file; may be repeated.")
    ] = None,
    targets: Targets = None,
    report: Annotated[Path | None, typer.Option(help="Write an HTML report to this file.")] = None,
    trace: Annotated[Path | None, typer.Option(help="Write the timeline of the last run to this file, for ui.perfetto.dev.")] = None,
    graph: Annotated[Path | None, typer.Option(help="Write the graph of its filters, with the figures of a run, to this file, for `penstock draw`.")] = None,
    run_name: Annotated[
        str | None, typer.Option("--name", help="Let `penstock top NAME` and others look at its graphs while they run, under this name.")
    ] = None,
    allow: written.Allow = None,
    isolation: written.IsolationOption = None,
    library: written.Library = None,
    cluster: Annotated[
        str | None, typer.Option(help="Run a file over the nodes that it asks for, whose agents are started by this engine: local, hand, pmix, ray://ADDRESS.")
    ] = None,
    listen: Annotated[str, typer.Option(help="Of --cluster: where agents find this program, tcp:HOST:PORT; by default an address of this machine.")] = "",
    checks: Annotated[bool, typer.Option("--checks", help="Print every check, also where all hold.")] = False,
    target_class: written.Classes = None,
) -> None:
    """Runs one application in all its ways (one thread, threads by hand, tagged calls, filters; or ranks), and checks it. Exits with 1 when a check
    fails. Of a file: runs it once (docs/language.md), with figures on a terminal and keys that send its events; Ctrl-C ends its sources, and a second
    one ends it at once."""
    name = whole(name, "the name of an application")
    if run_name is not None:
        os.environ["PENSTOCK_NAME"] = run_name
    if written.is_file(name):
        of_file = name, setting, allow, library, targets, written.where_of(isolation), target_class, graph, trace, report, cluster, listen
        if written.run_file(*of_file):
            raise typer.Exit(INTERRUPTED)
        return
    if isolation is not None:
        raise typer.BadParameter("the gallery's own ways run on threads; --isolation is for files", param_hint="--isolation")
    if target_class is not None:
        raise typer.BadParameter("the gallery's own ways run on one class of targets; --class is for files", param_hint="--class")
    if cluster is not None:
        raise typer.BadParameter("the gallery's own ways run on one machine; --cluster is for files", param_hint="--cluster")
    if library is not None:
        raise typer.BadParameter("the gallery's own ways have all that they need; --library is for files", param_hint="--library")
    from penstock.pictures import inputs_of
    from penstock.recording import record_app

    settings = parse_settings(setting or [])
    refuse_unwritable(report, trace, graph)
    with _core.Machine(targets=targets) as pool, progress_bar(name) as progress:
        recorded = record_app(pool, name, settings, inputs_of(name), progress=progress)
        description = pool.description
    result = recorded.result
    console.print(Text.assemble((name, "bold"), "  ", ", ".join(f"{key}={value}" for key, value in result["settings"].items())))
    print_timings({way: recorded.seconds(way) for way in result["timings"]}, result["workers"], result["tasks"])
    if recorded.tagged:
        console.print(recorded.period.table())
    for finding, text in result["findings"].items():
        console.print(f"{finding}: {text}", soft_wrap=True)
    print_checks(result["checks"], checks)
    if trace is not None:
        write_file(trace, recorded.timeline)
        console.print(f"timeline: {trace}", soft_wrap=True)
    if graph is not None:
        if not result["graph"]:
            raise UsageError(f"{name} is no graph of filters, so --graph has nothing to write")
        write_file(graph, result["graph"] + "\n")
        console.print(f"graph: {graph}", soft_wrap=True)
    if report is not None:
        from penstock.report import Section, write_page

        summary = dict(_core.gallery())[name]
        write_page(report, f"Penstock: {name}", [Section(name, summary, recorded, result["checks"])], description)
        console.print(f"report: {report}", soft_wrap=True)
    if not result["ok"]:
        raise typer.Exit(1)


app.command()(written.check)
app.command()(written.components)
app.command("transform")(written.transform_file)
app.command("profile")(written.profile_file)
app.command("compile")(written.compile_file)
app.command()(watching.top)
app.command()(watching.draw)
app.command()(watching.send)
app.command()(studio)


@app.command()
def demo(
    output: Annotated[Path, typer.Option(help="Folder of the report.")] = Path("report"),
    photo: Annotated[Path | None, typer.Option(help="A photograph to filter; by default one that scikit-image ships.")] = None,
    targets: Targets = None,
    repetitions: Annotated[int, typer.Option(min=1, help="Timed runs of each way.")] = 15,
    every: Annotated[bool, typer.Option("--checks", help="Print every check, also where all hold.")] = False,
) -> None:
    """Analyses a real tissue, filters a photograph and factors a matrix, checks all, and writes one HTML report. Exits with 1 when a check fails."""
    from penstock import demo as job
    from penstock.report import write_page

    name, pixels = job.photograph(photo)
    with _core.Machine(targets=targets) as pool:
        sections = [
            *job.analyse_tissue(pool, progress_bar, repetitions),
            job.filter_photograph(pool, name, pixels, progress_bar, repetitions),
            job.factor_matrix(pool, progress_bar, repetitions),
        ]
        description = pool.description
        with progress_bar("calling Python functions") as progress:
            rivals = job.compare_executors(pool, progress)
    checks: list[dict[str, Any]] = []
    for section in sections:
        console.print(Text(f"\n{section.title}", "bold"))
        result = section.recorded.result
        print_timings({way: section.recorded.seconds(way) for way in result["timings"]}, result["workers"], result["tasks"])
        print_checks(section.checks, every)
        checks += section.checks
        for note in section.notes:
            console.print(note, style="dim")
    console.print(Text("\nPython functions", "bold"))
    print_rivals(f"{job.CALLS:,} calls of about 20 us, {rivals.workers} workers", rivals.seconds, job.CALLS)
    path = output / "index.html"
    write_page(path, "Penstock at work", sections, description)
    work = sections[-1].recorded
    per_task = duration(work.seconds("tagged") / work.result["tasks"])
    console.print("\nWhat to look at:", style="bold")
    console.print(f"- LU took {per_task} a task, all included; `hand` is the same with bare threads and flags.")
    console.print("- The timeline in the report: what each core did, and where it waited.")
    console.print("- `penstock gallery` lists more; `./bench lu` compares with threads by hand, OpenMP and SciPy.")
    console.print(f"Report: {path.resolve()}", soft_wrap=True)
    if not all(row["ok"] for row in checks):
        raise typer.Exit(1)


def main() -> None:
    """Entry point of the command `penstock`. Errors of Penstock are told in one line, with exit status 2."""
    warnings.showwarning = show_warning
    try:
        app()
    except (Error, OSError) as error:
        paper(stderr=True).print(Text.assemble(("penstock:", "bold red"), f" {error}"), soft_wrap=True)  # what runs may write to stdout
        sys.exit(2)


if __name__ == "__main__":
    main()
