"""spmd: one function, n ranks, as threads of this process, as processes of their own, or on the nodes of a cluster."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from penstock import _core
from penstock.errors import UsageError

if TYPE_CHECKING:
    from penstock.cluster import Cluster


def spmd(
    size: int,
    function: Callable[..., Any],
    *arguments: Any,
    substrate: Literal["threads", "processes"] = "threads",
    accept_within: float = 10.0,
    pin: bool = True,
    cluster: "Cluster | None" = None,
    nodes: str | None = None,
) -> list[Any]:
    """Runs `function(rank, *arguments)` in `size` ranks (1 to 256); returns what they returned, in their order, when all ended.

    substrate: threads of this interpreter, which take turns with Python code and run at the same time in NumPy, in compiled code
        and while they wait; or worker processes, each an interpreter of its own. Those get function and arguments by
        cloudpickle, and give their results back by it; a script starts its team under `if __name__ == "__main__"`, because each
        worker imports it.
    accept_within: how many seconds accept() waits for a grant unless it is told otherwise.
    pin: each rank to a processor of its own, where there are enough of them.
    cluster: on whose nodes the ranks run, each a thread of the agent's interpreter, in blocks: of m nodes, number i has the ranks from
        size * i // m on. Function and arguments go there by cloudpickle, to interpreters of the same version; results come back by it.
    nodes: the group of nodes of the cluster; None: all of them.

    Raises RankFailed, with the exception of the rank as its cause; RankDied when a worker process died, or a node was lost; NodeDied
        when a node died before the team began; UsageError; on Ctrl-C
    KeyboardInterrupt, which ends the waits of all ranks within about 0.1 s (a rank that does not wait gets it in its code).
    Costs about 0.1 ms for each thread, and the start of an interpreter that imports NumPy for each process.
    """
    if cluster is not None:
        if substrate == "processes":
            raise UsageError("ranks are worker processes of this machine or run on a cluster, and both were asked for")
        from penstock.node_ranks import run as run_on_nodes  # what it imports is not needed otherwise

        return run_on_nodes(cluster, size, function, arguments, accept_within, pin, nodes)
    if nodes is not None:
        raise UsageError(f"nodes={nodes!r} names a group of nodes, but there is no cluster: say cluster=")
    if substrate == "threads":
        return _core.spmd_threads(size, function, arguments, accept_within, pin)
    if substrate == "processes":
        from penstock.workers import run  # what it imports is not needed otherwise

        return run(size, function, arguments, accept_within, pin)
    raise UsageError(f"substrate is 'threads' or 'processes', not {substrate!r}")
