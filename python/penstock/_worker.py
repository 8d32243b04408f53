"""The main program of a worker process of spmd (see workers.py)."""

import os
import pickle
import signal
from multiprocessing import process, spawn
from multiprocessing.connection import Connection
from typing import Any

import cloudpickle

from penstock import _core
from penstock._interpreter import come_to_an_end
from penstock.errors import RankLost
from penstock.interpreters import printable, text_of, traceback_of

End = tuple[bool, bytes, str, str, bool, bool]  # the fields of workers.End


def main(descriptor: int, parent: int) -> None:
    """Joins the team, runs the function as one rank, tells the parent how it ended, and ends."""
    _core.end_with_parent(parent)
    os.set_inheritable(descriptor, False)
    with Connection(descriptor) as to_parent:
        end = work(to_parent)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is over
        come_to_an_end()
        to_parent.send_bytes(pickle.dumps(end))
    os._exit(1 if end[0] else 0)  # threads that the function left behind do not keep the process


def work(to_parent: Connection) -> End:
    try:
        team, rank, accept_within, pin, surroundings = pickle.loads(to_parent.recv_bytes())  # noqa: S301 - from the process that started this one
        become_like_parent(surroundings)
        membership = _core.join(team, rank=rank, accept_within=accept_within, pin=pin)
    except BaseException as error:  # noqa: BLE001 - told to the parent
        return failure(error, joined=False)
    try:
        function, arguments = pickle.loads(to_parent.recv_bytes())  # noqa: S301 - from the process that started this one
        result = cloudpickle.dumps(function(membership.rank, *arguments))
    except BaseException as error:  # noqa: BLE001 - told to the parent
        end = failure(error, joined=True)
        membership.fail(end[2], end[4])
        return end
    membership.leave()
    return False, result, "", "", False, True


def become_like_parent(surroundings: dict[str, Any]) -> None:
    """Paths, arguments and main module, as multiprocessing gives them to the processes that it spawns."""
    here = process.current_process()
    here._inheriting = True  # noqa: SLF001 - makes a main module refuse to start teams where its guard is missing
    try:
        spawn.prepare(surroundings)
    finally:
        del here._inheriting  # noqa: SLF001


def failure(error: BaseException, *, joined: bool) -> End:
    what = text_of(error)
    text = printable(f"{type(error).__name__}: {what}" if what else type(error).__name__)
    try:
        value = cloudpickle.dumps(error)
    except Exception:  # noqa: BLE001 - its text must do
        value = b""
    return True, value, text, traceback_of(error), isinstance(error, RankLost), joined
