"""Penstock: fine-grained tasks, pushed to the core that will run them.

    import numba, numpy as np, penstock as ps

    @numba.cfunc("void(CPointer(float32), intp, CPointer(float32), intp, float32)")
    def scale(x, n, y, m, a):
        for i in range(n):
            y[i] = a * x[i]

    with ps.Machine() as machine:
        done = machine.call(scale, ps.In(x), ps.Out(y), 2.0)   # returns at once
        done.wait()                                            # this one, or
        machine.barrier()                                      # all that this thread issued

Bodies are compiled functions; arrays are used in place. `spmd` runs one Python function in several ranks, threads or processes,
which store into one another's memory (Region, Remote), wait for flags and barriers, and exchange messages of arrays.
`penstock.errors` lists what is raised.
"""

# Threading takes the thread that imports it first for Python's main thread; that must not be a rank's.
import threading as _threading  # noqa: F401

from penstock._core import (
    Barrier,
    Body,
    Condition,
    Counter,
    Flag,
    Handle,
    In,
    InOut,
    Machine,
    Membership,
    Messenger,
    Multicast,
    Mutex,
    Out,
    Rank,
    Region,
    Remote,
    RemoteCounter,
    RemoteFlag,
    Request,
    SharedMutex,
    Snapshot,
    Status,
    Target,
    TeamHost,
    any_source,
    distance,
    gallery,
    join,
    run_app,
    topology,
    wait_all,
    wait_any,
)
from penstock.body import compiled
from penstock.errors import (
    ArgumentError,
    BodyError,
    ElementError,
    Error,
    GrantMissing,
    HostMissing,
    InvalidGrant,
    InvalidMessage,
    JoinRefused,
    MachineGone,
    MembersMissing,
    MessageTooLong,
    MessengerClosed,
    NestingTooDeep,
    NoSuchRank,
    OutOfBounds,
    PredecessorFailed,
    QueueFull,
    RankDied,
    RankEnded,
    RankFailed,
    RankLeft,
    RankLost,
    SettingError,
    SystemError,  # noqa: A004 - the name of its counterpart in C++
    TaskCancelled,
    TaskFailed,
    TeamNameTaken,
    TimeLimitExceeded,
    Truncated,
    UnreadableRemote,
    UsageError,
    WorkerDied,
    WouldDeadlock,
    WrongHost,
)
from penstock.team import spmd

__version__ = "0.1.0"

__all__ = [
    "ArgumentError", "Barrier", "Body", "BodyError", "Condition", "Counter", "ElementError", "Error", "Flag", "GrantMissing",
    "Handle", "HostMissing", "In", "InOut", "InvalidGrant", "InvalidMessage", "JoinRefused", "Machine", "MachineGone",
    "MembersMissing", "Membership", "MessageTooLong", "Messenger", "MessengerClosed", "Multicast", "Mutex", "NestingTooDeep",
    "NoSuchRank", "Out", "OutOfBounds", "PredecessorFailed", "QueueFull", "Rank", "RankDied", "RankEnded", "RankFailed", "RankLeft", "RankLost",
    "Region", "Remote", "RemoteCounter", "RemoteFlag", "Request", "SettingError", "SharedMutex", "Snapshot", "Status",
    "SystemError", "Target", "TaskCancelled", "TaskFailed", "TeamHost", "TeamNameTaken", "TimeLimitExceeded", "Truncated", "UnreadableRemote",
    "UsageError", "WorkerDied", "WouldDeadlock", "WrongHost", "any_source", "compiled", "distance", "gallery", "join", "run_app", "spmd",
    "topology", "wait_all", "wait_any",
]  # fmt: skip
