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


class Place(NamedTuple):
    """Where a filter is to run."""

    filter: str
    nodes: str  # the group; empty: the program
    why: str  # it could be nowhere else; empty: it was chosen
    load: float  # processors that it kept busy, all copies together


class Share(NamedTuple):
    """What a group of nodes has to do."""

    nodes: str  # the group, or "program"
    load: float  # processors that its filters kept busy
    cpus: float  # processors that it has
    ratio: float  # its busiest node's work over its share of all work: 1 is even
    memory: float  # bytes of buffers that may wait at each node's filters
    of_memory: int  # bytes that each node has; 0: not said


class Cut(NamedTuple):
    """A stream between nodes."""

    source: str
    sink: str
    bytes_rate: float  # bytes a second, by the profile


@dataclass(frozen=True)
class Assignment:
    """Where the runtime would have filters run, by a profile (Cluster.place).

    filters, shares, cut: of the whole graph; the program's share first
    bytes_rate: bytes a second that go between nodes
    balance: the highest ratio of the shares
    best: fewer bytes cannot be had; else: none was found with fewer
    text: all of it for people
    """

    filters: list[Place]
    shares: list[Share]
    cut: list[Cut]
    bytes_rate: float
    balance: float
    best: bool
    text: str

    def __str__(self) -> str:
        return self.text

    def apply(self, graph: Any) -> None:
        """The filters of a penstock.Graph get their `nodes`. Raises UsageError where it has none of such a name, or runs."""
        graph._graph.apply([(place.filter, place.nodes) for place in self.filters])


def profile_text(profile: "str | _core.RunStatistics") -> str:
    """A profile as `penstock profile` writes it."""
    return profile if isinstance(profile, str) else _core.profile_text(profile)


def become_agent(engine: str = "pmix") -> None:
    """Under `mpirun -n N` or `srun --mpi=pmix -n N`: each process but the first becomes an agent of the first one's Cluster("pmix", ...), and ends
    here when that ends. In the first process, and outside such a job, nothing happens. To be called early, behind the imports that
    register components. Raises PmixMissing, and UsageError for other engines."""
    if engine != "pmix":
        raise UsageError(f"processes become agents by themselves with the engine 'pmix', not with {engine!r}")
    invitation = _core.invitation_of_job()
    if invitation is not None:
        sys.exit(_core.run_agent(invitation) if invitation else 0)


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
            printed; 'ray://ADDRESS' or 'ray://auto': Ray does; 'pmix': the other processes of a job of mpirun or srun, which call become_agent()
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

        Raises NodeDied, UsageError, SystemError, OpenSslMissing, PmixMissing.
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

    def start_timeline(self, events: int = 65_536) -> None:
        """Starts the full timeline here and on all nodes: each task and firing with begin and end, `events` a thread."""
        self._cluster.start_timeline(events)

    def stop_timeline(self) -> None:
        """Ends the recording."""
        self._cluster.stop_timeline()

    def timeline_json(self) -> str:
        """What was recorded, as JSON for Perfetto: a group of tracks for each node, on the program's clock; a node's label says within what."""
        return self._cluster.timeline_json()

    def snapshot(self) -> "_core.ClusterSnapshot":
        """All counters now, of the program and of each node, as its agent has measured them: `after - before` is where the time of threads went
        (table(), breakdown()). Waits for the nodes' answers, `patience` at most; a node that is lost or does not answer is there with a note."""
        return self._cluster.snapshot()

    def split(self, graph: Any) -> dict[str, Any]:
        """What would go where of a penstock.Graph: 'parts' (node, its filters), 'cut' (streams between nodes), 'text'. Raises GraphError."""
        return graph._graph.split(self._cluster)

    def place(self, graph: Any, profile: "str | _core.RunStatistics", *, balance: float = 0, program_cpus: float = 0) -> Assignment:
        """Where filters with nodes='auto' should run, so that the fewest bytes go between nodes and no group has more than its share of the work.

        graph: a penstock.Graph or Application
        profile: run.statistics() of an earlier run, or what `penstock profile` wrote
        balance: no group may have more than this many times its share; 0: a tenth more than the least that can be had
        program_cpus: processors of the program's own part; 0: one for each target of its machine, and one

        Milliseconds; up to a second for the best answer on about 20 filters. Raises GraphError, UsageError, NoPlacement.
        """
        options = {"balance": float(balance), "program_cpus": float(program_cpus)}
        place = graph._graph.place if hasattr(graph, "_graph") else graph._place
        made = place(self._cluster, profile_text(profile), options)
        return Assignment(
            [Place(*each) for each in made["filters"]], [Share(*each) for each in made["shares"]], [Cut(*each) for each in made["cut"]],
            made["bytes_rate"], made["balance"], made["best"], made["text"],
        )  # fmt: skip


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
