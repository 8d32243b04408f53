"""Applications that commands run: on which machine, how they end, and what is seen of them meanwhile."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any, Literal

from penstock import _core
from penstock.applications import Application, ApplicationRun
from penstock.cluster import Cluster
from penstock.errors import UsageError
from penstock.interruptions import Interruptions
from penstock.live import Shown, View
from penstock.target_classes import TargetClass
from penstock.terminal import console

Where = Literal["thread", "process"]


def prepare(isolation: Where | None) -> None:
    """Before libraries are loaded and an application is read: these, and packages of its classes, may start threads, which worker processes must
    come before."""
    if isolation == "process":
        _core.launch()


def machine_for(application: Application, targets: int | None, isolation: Where | None, classes: list[TargetClass] | None = None) -> "_core.Machine":
    """A machine whose targets are what is asked for, or else what the application needs. Raises UsageError where the two do not agree."""
    if classes:
        if targets is not None or isolation is not None:
            raise UsageError("--class says which targets there are: leave --targets and --isolation out")
        return _core.Machine(classes=classes)
    if isolation == "thread" and application.needs_processes:
        raise UsageError(f"{application.name} has components that are to live in worker processes: leave --isolation out, or say process")
    if isolation != "process" and not application.needs_processes:
        return _core.Machine(targets=targets)
    if targets == 0:
        raise UsageError("worker processes are targets, and --targets 0 asks for none")
    try:
        _core.launch()
    except UsageError as late:
        raise UsageError(
            f"{application.name} needs worker processes, which must come before anything starts threads ({late}): say --isolation process"
        ) from late
    return _core.Machine(targets=targets, isolation="process")


@contextmanager
def where_to_run(
    application: Application, machine: "_core.Machine", engine: str | None, listen: str = "", libraries: Sequence[Path] = ()
) -> Iterator["_core.Machine | Cluster"]:
    """The machine, or a cluster around it with the nodes that the application asks for, whose agents this engine starts. libraries: that agents of
    the engine 'local' load, too. Raises UsageError where the application asks for none, and what Cluster raises."""
    if engine is None:
        yield machine
        return
    nodes: dict[str, Any] = {**application.nodes()}
    if not nodes:
        raise UsageError(f"{application.name} asks for no nodes, so that nothing of it would run elsewhere: give it <nodes name=... count=.../>, or leave --cluster out")
    agent = [sys.executable, "-m", "penstock.cli", "agent", *(word for path in libraries for word in ("--library", str(path.resolve())))]
    with Cluster(engine, machine=machine, listen=listen, agent=agent, **nodes) as cluster:
        yield cluster


def run_to_end(
    application: Application, machine: "_core.Machine | Cluster", look: Callable[[ApplicationRun], None] | None = None, every: float = 0.05
) -> tuple[ApplicationRun, bool]:
    """Runs an application and waits for its end. True: it was interrupted: its sources were asked to end, and what was under way went through. A second
    interruption ends the process. look: called again and again meanwhile, every so many seconds."""
    begun = Event()
    run: ApplicationRun | None = None
    view = View()

    def first() -> None:
        begun.wait()
        if run is not None:
            run.run.close()
            view.say("penstock: the sources end, and what is under way goes through; Ctrl-C again stops at once")

    def last() -> None:
        view.leave()
        View().say("penstock: stopped")

    with Interruptions(first, last) as interruptions:  # from before the start on: none goes astray
        try:
            run = application.start(machine)
            view = Shown(application, run) if console.is_terminal and sys.stdout.isatty() else View()
        finally:
            begun.set()
        with view:
            while not run.wait(every):
                view.look()
                if look is not None:
                    look(run)
        return run, interruptions.count > 0


def write_file(path: Path, content: str | bytes) -> None:
    """With the folders that are missing. Raises OSError with the file's name, also where there is no room for it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def refuse_unwritable(*paths: Path | None) -> None:
    """Makes the folders of files that are to be written. Raises OSError for what cannot be written; leaves no new files."""
    for path in paths:
        if path is None:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = not path.exists()
        with path.open("a", encoding="utf-8"):
            pass
        if fresh:
            path.unlink()
