"""Streams: graphs of filters joined by streams, which run on a machine's targets and may change while they run.

@penstock.filter(outputs="float32")
def numbers():
    for n in range(100):
        yield numpy.full(1000, n, "float32")

graph = penstock.Graph()
graph.add("numbers", numbers)
...
graph.connect("numbers.out", "scale.in", capacity=8)
with graph.start(machine) as run:
    run.finish()
"""

import logging
from os import PathLike, fspath
from typing import Any, Self

from penstock import _core
from penstock.applications import Folders, Settings, settings_as_text
from penstock.builder import Builder, carry_out
from penstock.cluster import Cluster, profile_text, where
from penstock.descriptions import Description
from penstock.nodes import Node
from penstock.notebooks import drawn
from penstock.runs import Run


logger = logging.getLogger("penstock")


class Graph(Builder):
    """Filters and streams, described; start() makes them run."""

    def __init__(self) -> None:
        super().__init__()
        self._graph = _core.StreamGraph()

    def _do(self, what: str, *arguments: Any, made: Node | None = None) -> None:
        carry_out(self._graph, what, arguments, made)

    def check(self) -> list[str]:
        """Everything that is wrong, in words; empty when the graph could start."""
        return self._graph.check()

    def description(self) -> Description:
        return Description._of(self._graph.description())

    def draw(self) -> str:
        """The graph in the language of graphviz (`dot -Tsvg`)."""
        return self._graph.drawing()

    def __repr__(self) -> str:
        described = self.description()
        return f"penstock.Graph({len(described.filters)} filters, {len(described.streams)} streams)"

    def _repr_html_(self) -> str:
        return drawn(self.draw(), repr(self))

    def to_xml(self, name: str = "graph") -> str:
        """As an application that is written down: one component a filter, all settings. Raises UsageError for what a file cannot hold: filters whose
        class has no name, such as functions of Python, the program's own ends, functions as keys."""
        return self._graph.to_xml(name)

    @classmethod
    def from_xml(cls, text: str, *, settings: Settings | None = None, folders: Folders = ()) -> Self:
        """The components and streams of an application, as they are in the beginning. Raises UsageError with everything that is wrong."""
        graph = cls()
        graph._graph.from_xml(text, settings_as_text(settings), [fspath(folder) for folder in folders])
        return graph

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the graph to a file, for `penstock draw`. Raises SystemError."""
        self._graph.save(fspath(path))

    def start(self, machine: "_core.Machine | Cluster", *, name: str = "", profile: "str | _core.RunStatistics" = "") -> Run:
        """Checks everything, then runs it on the machine's targets, or over the nodes of a cluster. Returns at once.

        name: under which `penstock top`, `draw` and `send` of the same user find the run; empty: what PENSTOCK_NAME in the environment
            says, and when that is not set, they do not
        profile: run.statistics() of an earlier run, or what `penstock profile` wrote: by it a cluster places filters with nodes='auto', as
            Cluster.place() does

        Raises GraphError, with everything that is wrong, and nothing has started then; UsageError when the graph runs already, or the
        name is taken.
        """
        machine, cluster = where(machine)
        if not self._graph.running():  # else it is refused, and the filters stay on the machine where they run
            self._bind(machine)
        run = Run(self._graph.start(machine, name, profile_text(profile), cluster))
        logger.info("%s runs", repr(run))
        return run
