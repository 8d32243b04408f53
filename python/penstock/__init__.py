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
which store into one another's memory (Region, Remote), wait for flags and barriers, and exchange messages of arrays. `Graph` joins
filters by streams of arrays.
`penstock.errors` lists what is raised.
"""

# Threading takes the thread that imports it first for Python's main thread; that must not be a rank's.
import threading as _threading  # noqa: F401

from penstock import free_threading as _free_threading

_lock_was_off = _free_threading.lock_is_off()

from penstock._core import (
    Barrier, Body, Buffer, Chain, Condition, Counter, Dependences, Flag, Handle, In, InOut, Machine, Membership,
    Messenger, Multicast, Mutex, Out, Rank, Recording, Region, Remote, RemoteCounter, RemoteFlag, Request, Resident,
    SharedMutex, Snapshot, Status, Target, TeamHost, any_source, distance, gallery, join, launch, run_app, topology,
    version as _version, wait_all, wait_any,
)  # fmt: skip
from penstock.applications import Application, ApplicationRun
from penstock.body import compiled
from penstock.builder import AUTOMATIC
from penstock.cluster import Assignment, Cluster, Nodes, become_agent
from penstock.component_classes import load_components, register_component
from penstock.errors import *  # noqa: F403 - each of them is raised
from penstock.executor import Executor
from penstock.filters import Event, Filter, Port, Setting, Tagged, Tags, filter, tags  # noqa: A004 - the word of C++
from penstock.nodes import Node, Reader, Writer
from penstock.passes import register_pass, transform
from penstock.runs import Edit, Run
from penstock.streams import Graph
from penstock.target_classes import TargetClass
from penstock.team import spmd

__version__ = _version()
_free_threading.tell_if_it_came_back(_lock_was_off)

__all__ = [
    "AUTOMATIC", "Application", "ApplicationRun", "ArgumentError", "Assignment", "Barrier", "Body", "BodyError", "Buffer", "BufferOverrun",
    "CannotCarryOver", "Chain", "Cluster", "ComponentWarning", "Condition", "Counter", "Dependences", "Edit", "ElementError", "Error",
    "Event", "Executor", "Filter", "FilterFailed", "Flag", "GrantMissing", "Graph", "GraphError", "Handle", "HostMissing", "In", "InOut",
    "InvalidGrant", "InvalidMessage", "JoinRefused", "LibraryRefused", "Machine", "MachineGone", "MembersMissing", "Membership",
    "MessageTooLong", "Messenger", "MessengerClosed", "Multicast", "Mutex", "NestingTooDeep", "NoPlacement", "NoSuchRank", "Node", "NodeDied",
    "Nodes", "NotOverNodes", "OpenSslMissing", "Out",
    "OutOfBounds", "PmixMissing", "Port", "PredecessorFailed", "QueueFull", "Rank", "RankDied", "RankEnded", "RankFailed", "RankLeft",
    "RankLost", "Reader", "Recording", "Region", "Remote", "RemoteCounter", "RemoteException", "RemoteFlag", "Request",
    "Resident", "Run", "RunEnded", "Setting", "SettingError", "SharedMutex", "Snapshot", "StateLost", "Status", "StreamFull",
    "StreamStalled", "SystemError", "Tagged", "Tags", "Target", "TargetClass", "TaskCancelled", "TaskFailed", "TeamHost", "TeamNameTaken",
    "TimeLimitExceeded", "Truncated", "UnreadableRemote", "UsageError", "WorkerDied", "WorkersLost", "WouldDeadlock", "Writer",
    "WrongHost", "any_source", "become_agent", "compiled", "distance", "filter", "gallery", "join", "launch", "load_components",
    "register_component", "register_pass", "run_app", "spmd", "tags", "topology", "transform", "wait_all", "wait_any",
]  # fmt: skip
