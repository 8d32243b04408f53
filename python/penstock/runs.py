"""Graphs that run, and how they are changed meanwhile."""

import atexit
import logging
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal, Unpack

from penstock import _core
from penstock.builder import Builder, StreamOptions, Value, carry_out, known
from penstock.descriptions import Description
from penstock.errors import UsageError
from penstock.filters import Event, Filter, Isolation
from penstock.nodes import Node
from penstock.notebooks import drawn, table

logger = logging.getLogger("penstock")
Removal = Literal["finish", "hand_over", "discard"]


class Edit(Builder):
    """Changes of a running graph, described; they are checked and made together when the description is complete."""

    def __init__(self) -> None:
        super().__init__()
        self._steps: list[tuple[str, tuple[Any, ...], Node | None]] = []

    def _do(self, what: str, *arguments: Any, made: Node | None = None) -> None:
        self._steps.append((what, arguments, made))

    def _make(self, machine: "_core.Machine", builder: "_core.StreamEdit") -> None:
        self._bind(machine)
        for step in self._steps:
            carry_out(builder, *step)

    def remove(self, filter: str | Node, removal: Removal = "finish") -> None:  # noqa: A002 - the word of C++
        """Takes a filter out, with its streams. What waits there is worked off, handed back to its writers, or discarded."""
        self._do("remove", self._named(filter), removal)

    def remove_group(self, group: str, removal: Removal = "finish") -> None:
        """Takes out all filters of a group."""
        self._do("remove_group", self._prefix + group, removal)

    def replace(
        self,
        old: str | Node,
        filter: Filter,  # noqa: A002 - the word of C++
        /,
        *arguments: Any,
        removal: Removal = "hand_over",
        settings: Mapping[str, Value] | None = None,
        isolation: Isolation | None = None,
        time_limit: float | None = None,
    ) -> Node:
        """Another filter in the place of one, with the same name, options and streams.

        An object of a class with take_over() is given the old one (its first copy), which has fired for the last time.
        """
        kind = filter._kind(arguments, isolation, time_limit, settings)  # noqa: SLF001 - the package's own
        node = Node(self._named(old), filter.inputs, filter.outputs)
        self._do("replace", node.name, kind, removal, made=node)
        self._kinds.append(kind)
        return node

    def disconnect(self, source: str | Node, sink: str | Node, /) -> None:
        """Takes one stream away."""
        self._do("disconnect", *self._ports(source, sink))

    def change(self, source: str | Node, sink: str | Node, /, **options: Unpack[StreamOptions]) -> None:
        """Other options for a stream: all of them. `feedback` and `ordered` cannot be changed."""
        self._do("change", *self._ports(source, sink), known(options))

    def copies(self, filter: str | Node, count: int) -> None:  # noqa: A002 - the word of C++
        """Another number of copies. What waited at a copy that is taken away goes to the others."""
        self._do("copies", self._named(filter), count)

    def targets(self, filter: str | Node, targets: Sequence[int]) -> None:  # noqa: A002 - the word of C++
        """Other targets; none: any."""
        self._do("place", self._named(filter), list(targets))


class Run(_core.StreamRun):
    """A graph that runs. `with graph.start(machine) as run:` waits for its end; an exception that leaves the block stops it."""

    def __init__(self, run: "_core.StreamRun") -> None:
        super().__init__(run)
        _running.add(self)

    def __repr__(self) -> str:
        name = f"{self.name!r}, " if self.name else ""
        return f"penstock.Run({name}{'ended' if self.ended else 'running'})"

    def _repr_html_(self) -> str:
        return drawn(self.draw(), repr(self)) + table(self.statistics())

    def edit(self, describe: Callable[[Edit], Any] | None = None) -> Any:
        """Changes the graph while it runs: run.edit(function), called with an Edit, or `with run.edit() as edit:`.

        Everything is checked before anything changes: raises GraphError, and nothing has happened then. Returns when the edit is made.
        Inside a filter it returns at once, and the edit is made later; what is wrong with it is raised by finish(). Raises RunEnded.
        """
        if describe is None:
            return self._open_edit()
        with self._open_edit() as edit:
            describe(edit)
        return None

    @contextmanager
    def _open_edit(self) -> Iterator[Edit]:
        """Made at the end of the block, unless that raises."""
        edit = Edit()
        yield edit
        self._edit(partial(edit._make, self._machine))  # noqa: SLF001 - of this module
        logger.info("%s was edited: %d steps", repr(self), len(edit._steps))  # noqa: SLF001

    def send(self, event: Event | str, to: str | Node = "") -> None:
        """Sends an event to a filter, to all filters of a group ("group/"), or to all (""), for their on_event().

        Raises UsageError when nobody of that name handles events, RunEnded.
        """
        name, value = event_of(event)
        self._send(name, value, to.name if isinstance(to, Node) else to)

    def send_after(self, delay: float, event: Event | str, to: str | Node = "", *, period: float = 0) -> None:
        """The same after so many seconds, and again at every `period` (0: once), until the run ends."""
        name, value = event_of(event)
        self._send_after(delay, name, value, to.name if isinstance(to, Node) else to, period)

    def description(self) -> Description:
        """The graph as it is now."""
        return Description._of(self._description())


def event_of(given: Event | str) -> tuple[str, Value]:
    if isinstance(given, str):
        return given, False
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], str):
        return given
    raise UsageError(f"{given!r} is no event: give its name, or penstock.Event(name, value)")


_running: "weakref.WeakSet[Run]" = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    """No filter may need the interpreter when it ends."""
    for run in list(_running):
        run.stop()
