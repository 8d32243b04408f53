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

Bodies are compiled functions; arrays are used in place. `penstock.errors` lists what is raised.
"""

from penstock._core import Body, Handle, In, InOut, Machine, Out, Snapshot, Target, distance, gallery, run_app, topology, wait_all, wait_any
from penstock.body import compiled
from penstock.errors import (
    ArgumentError,
    BodyError,
    Error,
    MachineGone,
    NestingTooDeep,
    QueueFull,
    SettingError,
    SystemError,  # noqa: A004 - the name of its counterpart in C++
    TaskCancelled,
    TaskFailed,
    UsageError,
    WouldDeadlock,
)

__version__ = "0.1.0"

__all__ = [
    "ArgumentError", "Body", "BodyError", "Error", "Handle", "In", "InOut", "Machine", "MachineGone", "NestingTooDeep", "Out", "QueueFull",
    "SettingError", "Snapshot", "SystemError", "Target", "TaskCancelled", "TaskFailed", "UsageError", "WouldDeadlock", "compiled",
    "distance", "gallery", "run_app", "topology", "wait_all", "wait_any",
]  # fmt: skip
