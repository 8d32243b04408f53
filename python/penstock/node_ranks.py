"""spmd over the nodes of a cluster: ranks are threads of the agents' interpreters.

An agent gets the function with its arguments pickled, as worker processes do (workers.py), and tells how each rank has ended.
"""

import pickle
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import cloudpickle

from penstock import _core
from penstock._worker import failure
from penstock.errors import RankDied, UsageError
from penstock.filters import python_version
from penstock.workers import End, conclude, pickled_job, unpickled

if TYPE_CHECKING:
    from penstock.cluster import Cluster


class NodeRank:
    """A rank, as whoever called spmd has it when it has ended."""

    def __init__(self, rank: int, died: bool, failed: bool, consequence: bool, order: int, text: str, value: bytes, node: str, how: str, process: int) -> None:
        self.rank, self.order = rank, order
        self.node, self.how, self.process = node, how, process
        self.end: End | None = None
        if not died:
            # What ended before it could tell more has its text.
            told = pickle.loads(value) if value else (failed, b"", text, text, consequence)  # noqa: S301 - from a node that has the cluster's secret
            self.end = End(*told)

    def death(self) -> RankDied:
        text = f"rank {self.rank} on node '{self.node}', process {self.process}, has died: {self.how}"
        return RankDied(text, rank=self.rank, pid=self.process, node=self.node)


def run(
    cluster: "Cluster", size: int, function: Callable[..., Any], arguments: tuple[Any, ...], accept_within: float, pin: bool, nodes: str | None
) -> list[Any]:
    """What spmd does with a cluster."""
    job = pickled_job(function, arguments, "the nodes of a cluster")
    ranks = [NodeRank(*end) for end in _core.run_team(cluster._cluster, size, nodes or "", python_version(), job, accept_within, pin)]  # noqa: SLF001
    conclude(ranks, NodeRank.death)
    return [unpickled(rank) for rank in ranks]


def _program_from(version: str, pickled: bytes) -> Callable[[Any], tuple[bool, bool, str, bytes]]:
    """For the compiled part: what a rank of this interpreter calls."""
    if version != python_version():
        raise UsageError(f"the function comes from {version}, and this node has {python_version()}: interpreters must be of one version")
    function, arguments = pickle.loads(pickled)  # noqa: S301 - from a program that has the cluster's secret
    return partial(_run, function, arguments)


def _run(function: Callable[..., Any], arguments: tuple[Any, ...], rank: Any) -> tuple[bool, bool, str, bytes]:
    """Whether it failed, whether that was a consequence, the text, and all of it pickled."""
    try:
        end = End(failed=False, value=cloudpickle.dumps(function(rank, *arguments)))
    except BaseException as error:  # noqa: BLE001 - told to the program
        end = End(*failure(error, joined=True))
    sys.stdout.flush()
    sys.stderr.flush()
    return end.failed, end.consequence, end.text, pickle.dumps(tuple(end))
