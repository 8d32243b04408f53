"""Applications that are written down (docs/language.md), read and run from Python.

application = penstock.Application.read("sums.xml", settings={"count": 1000})
with penstock.Machine() as machine, application.start(machine) as run:
    run.send("inset")
"""

from collections.abc import Iterable, Mapping
from os import PathLike, fspath
from typing import Self

from penstock import _core
from penstock.builder import Value
from penstock.cluster import Cluster, Nodes, profile_text, where
from penstock.errors import UsageError
from penstock.filters import Event
from penstock.runs import Run, event_of

Settings = Mapping[str, Value]
Folders = Iterable[str | PathLike[str]]


def settings_as_text(settings: Settings | None) -> list[tuple[str, str]]:
    """As files write them."""
    if settings is not None and not isinstance(settings, Mapping):
        raise UsageError(f"settings are names with values, as in {{'count': 1000}}, not a {type(settings).__name__}")
    return [
        (whole(name), whole(str(value).lower() if isinstance(value, bool) else str(value), f"the value of the setting '{name}'"))
        for name, value in (settings or {}).items()
    ]


def whole(text: str, what: str = "the name of a setting") -> str:
    """The same text. Refuses what is none, or has no encoding, as names of files may have it (surrogateescape)."""
    if not isinstance(text, str):
        raise UsageError(f"{what} is a text, not a {type(text).__name__}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"{what} has a lone surrogate ({text[error.start]!a}) at character {error.start}, which no encoding can write") from None
    return text


def named(path: str | PathLike[str]) -> str:
    """The name of a file or folder. Raises UsageError for one that is no text."""
    return whole(fspath(path), "the name of a file")


def names_of(folders: Folders | None) -> list[str]:
    return [named(folder) for folder in folders or ()]


class Application(_core.Application):
    """Read, checked, and with its parameters filled in."""

    @classmethod
    def read(cls, path: str | PathLike[str], *, settings: Settings | None = None, folders: Folders = ()) -> Self:
        """The application of a file; where there is none, the one of the gallery that is called so ("tissue.xml").

        settings: values of parameters
        folders: beside the application's own, from which files may be included

        Raises UsageError with everything that is wrong, SystemError when the file cannot be read.
        """
        return cls(_core.Application.read(named(path), settings_as_text(settings), names_of(folders)))

    @classmethod
    def parse(cls, text: str, file: str = "application.xml", *, settings: Settings | None = None, folders: Folders = ()) -> Self:
        """The same of a text. file: its name in messages, and its folder the one from which files may be included."""
        text, file = whole(text, "the text of an application"), whole(file, "the name of an application's file")
        return cls(_core.Application.parse(text, file, settings_as_text(settings), names_of(folders)))

    def options(self) -> dict[str, bool]:
        """Options, and whether each is on in the beginning."""
        return dict(self._options())

    def warnings(self) -> list[str]:
        """What is legal and probably wrong, with its place."""
        return [each["text"] for each in self._warnings()]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Application) and self._equals(other)

    __hash__ = None  # type: ignore[assignment]

    def nodes(self) -> "dict[str, Nodes]":
        """The groups of nodes that it asks for: Cluster(..., **application.nodes())."""
        return {name: Nodes(count, cpus=cpus, memory=memory) for name, count, cpus, memory in self._nodes()}

    def start(self, machine: "_core.Machine | Cluster", *, name: str = "", profile: "str | _core.RunStatistics" = "") -> "ApplicationRun":
        """Runs it on the machine's targets, or over the nodes of a cluster. Returns at once. name, profile: as for Graph.start(). Raises what that
        raises."""
        machine, cluster = where(machine)
        return ApplicationRun(self._start(machine, name, profile_text(profile), cluster))


class ApplicationRun(_core.ApplicationRun):
    """An application that runs. `with application.start(machine) as run:` waits for its end; an exception that leaves the block stops it."""

    def __init__(self, run: "_core.ApplicationRun") -> None:
        super().__init__(run)
        self.run = Run(self._run)  # the graph of now: statistics(), close(), stop()...

    def send(self, event: Event | str) -> None:
        """Returns at once; what it changes is changed soon, in the order of the events. Raises UsageError for what is none, RunEnded."""
        self._send(*event_of(event))
