"""Clusters: graphs over several machines (docs/nodes.md).

    with ps.Cluster("local", decoders=ps.Nodes(4)) as cluster, graph.start(cluster) as run:
        run.finish()
"""

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, NamedTuple, Self

from penstock import _core
from penstock.errors import UsageError

INVITATION = "PENSTOCK_INVITATION"


@dataclass(frozen=True)
class Nodes:
    """A group of nodes, to which filters go by `nodes=`.

    count: how many
    cpus, memory (bytes), resources: what each must have, for engines that manage resources
    """

    count: int = 1
    cpus: float = 0
    memory: int = 0
    resources: Mapping[str, float] = field(default_factory=dict)


class Agent(NamedTuple):
    """One node's process, on its machine."""

    node: str
    host: str
    process: int
    generation: int


class Cluster:
    """Agents on nodes, and the wires to them. Several graphs may run on it."""

    def __init__(
        self,
        engine: str = "local",
        /,
        *,
        machine: "_core.Machine | None" = None,
        listen: str = "",
        encryption: Literal["tls", "none"] = "tls",
        patience: float = 15,
        time_to_start: float = 60,
        spares: int = 0,
        deaths_of_a_buffer: int = 2,
        targets: int | None = None,
        agent: Sequence[str] = (),
        log: Callable[[str], object] | None = None,
        **nodes: Nodes | int,
    ) -> None:
        """Starts the nodes, and waits for them.

        engine: 'local': agents are processes of this machine; 'hand': people start them with `penstock agent`, each with the invitation that is
            printed; 'ray://ADDRESS' or 'ray://auto': Ray does
        machine: on which the program's own part runs; None: one of its own
        listen: where agents find the program: 'tcp:HOST:PORT' (port 0: any), or 'unix'; empty: 'unix' for 'local', else an address of this machine
        encryption: 'none': both ends are authenticated when they connect, and nothing is protected after that
        patience: seconds that a node which does not answer is waited for, before it counts as dead
        time_to_start: seconds that nodes may take to be there
        spares: agents beside the nodes, each of which takes the place of one that has died at once
        deaths_of_a_buffer: a buffer that a filter had in hand when so many nodes died is dropped
        targets: of each agent's machine; None: one for each of its processors but one
        agent: the command that starts an agent, with the engine 'local'
        log: is given what agents print, a line each, behind the name of its node; None: stderr
        nodes: the groups, by name: decoders=Nodes(4), or their number

        Raises NodeDied, UsageError, SystemError, OpenSslMissing.
        """
        groups = []
        for name, group in nodes.items():
            made = Nodes(group) if isinstance(group, int) else group
            if not isinstance(made, Nodes):
                raise UsageError(f"{name}={group!r} is no group of nodes: say {name}=penstock.Nodes(2), or a number")
            groups.append((name, made.count, float(made.cpus), int(made.memory), dict(made.resources)))
        self._own = machine is None
        self.machine = _core.Machine() if machine is None else machine
        self._engine: Any = None
        kind = engine
        if engine.startswith("ray://"):
            from penstock.ray_engine import RayEngine

            self._engine, kind = RayEngine(engine, INVITATION, self._died), "local"
        options = {
            "engine": kind, "own_engine": self._engine, "agent": list(agent) or [sys.executable, "-m", "penstock.cli", "agent"], "listen": listen,
            "encryption": encryption, "patience": patience, "time_to_start": time_to_start, "spares": spares,
            "deaths_of_a_buffer": deaths_of_a_buffer, "targets": targets, "log": log, "nodes": groups,
        }  # fmt: skip
        self._early: list[tuple[int, int, str]] = []  # deaths before there is somebody to tell
        self._lock = threading.Lock()
        self._cluster: Any = None
        try:
            made = _core.Cluster.of(self.machine, options)
        except BaseException:
            self.close()
            raise
        with self._lock:
            self._cluster = made
        for death in self._early:
            made.died(*death)

    def _died(self, site: int, generation: int, how: str) -> None:
        """For engines: an agent has ended."""
        with self._lock:
            if self._cluster is None:
                self._early.append((site, generation, how))
                return
        self._cluster.died(site, generation, how)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Ends the agents, and the runs that still go on."""
        if self._cluster is not None:
            self._cluster.close()
        if self._engine is not None:
            self._engine.close()
        if self._own:
            self.machine.close()

    def agents(self) -> list[Agent]:
        """Who is there now."""
        return [Agent(*each) for each in self._cluster.agents()]

    def refused(self) -> dict[str, int]:
        """Connections to this program that were refused: 'wrong_secret', 'old_generation', 'others'."""
        return self._cluster.refused()

    def replaced(self) -> int:
        """Times that an agent took the place of one that had died."""
        return self._cluster.replaced()

    def split(self, graph: Any) -> dict[str, Any]:
        """What would go where of a penstock.Graph: 'parts' (node, its filters), 'cut' (streams between nodes), 'text'. Raises GraphError."""
        return graph._graph.split(self._cluster)


def where(given: "_core.Machine | Cluster") -> "tuple[_core.Machine, Any]":
    """A machine, and the cluster around it or None."""
    if isinstance(given, Cluster):
        return given.machine, given._cluster
    return given, None


def _kind_from(version: str, pickled: bytes) -> "_core.FilterKind":
    """For the compiled part: a filter that another interpreter has pickled."""
    import pickle

    from penstock.filters import python_version

    if version != python_version():
        raise UsageError(f"it comes from {version}, and this node has {python_version()}: interpreters must be of one version")
    made, arguments, settings = pickle.loads(pickled)  # noqa: S301 - from a program that has the cluster's secret
    return made._kind(arguments, None, None, settings)
