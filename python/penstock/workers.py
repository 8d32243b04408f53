"""spmd with worker processes: fresh interpreters, never forks of this one, that join a team which this process brings together.

Each worker has one connection to its parent. Down it come what an interpreter needs to be like this one (as multiprocessing's
spawned processes get it), then the function with its arguments; up it goes one message, how the rank has ended. The ranks
themselves need neither: they have one another.
"""

import contextlib
import os
import pickle
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from multiprocessing import Pipe, connection, spawn
from typing import Any, NamedTuple, Protocol, TypeVar

import cloudpickle

from penstock import _core
from penstock.errors import Error, RankDied, RankFailed, UsageError
from penstock.interpreters import interpreter

START_WITHIN = 60.0  # seconds until all workers have joined
INTERRUPTED_WITHIN = 2.0  # seconds that an interrupted worker has to end by itself


class End(NamedTuple):
    """How a rank ended, as its worker tells it."""

    failed: bool
    value: bytes  # pickled: the result, or the exception
    text: str = ""  # of the exception
    traceback: str = ""
    consequence: bool = False  # it failed because another rank was gone
    joined: bool = True


class Worker:
    """One rank's process, as its parent has it."""

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.end: End | None = None
        self.order = 0
        self.connection, theirs = Pipe()
        with theirs:
            # A process group of its own: Ctrl-C at the terminal reaches the workers through the parent, once.
            self.process = subprocess.Popen(
                interpreter(f"from penstock._worker import main; main({theirs.fileno()}, {os.getpid()})"),
                pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, process_group=0,
            )  # fmt: skip
        self.watch = os.pidfd_open(self.process.pid)

    def give(self, what: bytes) -> None:
        """A worker that is gone already is noticed later."""
        with contextlib.suppress(OSError):
            self.connection.send_bytes(what)

    def take(self, order: int) -> None:
        """Takes how the rank ended; leaves `end` empty when its process has died, be it while it told."""
        self.order = order
        with contextlib.suppress(EOFError, OSError):
            if self.connection.poll():
                self.end = End(*pickle.loads(self.connection.recv_bytes()))  # noqa: S301 - from a process that was started here
        self.process.wait()

    def close(self) -> None:
        """Nobody gives it anything any more."""
        self.process.kill()
        self.process.wait()
        self.connection.close()
        os.close(self.watch)


def run(size: int, function: Callable[..., Any], arguments: tuple[Any, ...], accept_within: float, pin: bool) -> list[Any]:
    """What spmd does with substrate="processes"."""
    if accept_within <= 0:
        raise UsageError("accept_within is a time in seconds, more than 0")
    job = pickled_job(function, arguments)
    name = f"spmd-{os.getpid()}-{time.monotonic_ns()}"
    workers: list[Worker] = []

    def give_all() -> None:
        for worker in workers:
            worker.give(job)

    # A worker reads its job, however long that is, when all have joined; whether they come is watched meanwhile.
    giver = threading.Thread(target=give_all)
    with _core.TeamHost(name, size, within=START_WITHIN, pin=pin) as host:
        try:
            for rank in range(size):
                workers.append(Worker(rank))
            for worker in workers:
                worker.give(preparation(name, worker.rank, accept_within, pin))
            giver.start()
            await_ends(workers, host)
        except KeyboardInterrupt:
            interrupt(workers)
            raise
        finally:
            for worker in workers:
                worker.process.kill()  # which ends what is being given
            if giver.ident is not None:
                giver.join()
            for worker in workers:
                worker.close()
    conclude(workers, death_of)
    return [unpickled(worker) for worker in workers]


def pickled_job(function: Callable[..., Any], arguments: tuple[Any, ...], whereto: str = "worker processes") -> bytes:
    try:
        return cloudpickle.dumps((function, arguments))
    except Exception as error:
        raise UsageError(
            f"{function!r} or its arguments cannot be sent to {whereto}: {error}; give the ranks what they can make such a thing "
            "from, and let them make it themselves"
        ) from error


def preparation(team: str, rank: int, accept_within: float, pin: bool) -> bytes:
    """The place in the team, and what makes the worker's interpreter like this one: its paths, arguments and main module."""
    surroundings = spawn.get_preparation_data(f"rank {rank}")
    surroundings.pop("authkey", None)  # not for others
    surroundings.pop("start_method", None)
    return pickle.dumps((team, rank, accept_within, pin, surroundings))


def await_ends(workers: list[Worker], host: _core.TeamHost) -> None:
    """Returns when all have ended. When one ends before the team is complete, the others are not kept waiting for it."""
    left = list(workers)
    while left:
        ready = connection.wait([end for worker in left for end in (worker.connection, worker.watch)])
        for worker in [worker for worker in left if worker.connection in ready or worker.watch in ready]:
            left.remove(worker)
            worker.take(len(workers) - len(left))
            if worker.end.joined if worker.end is not None else host.complete:
                continue
            for other in left:
                other.process.kill()
                other.end = End(failed=True, value=b"", text="it waited for a worker that could not join", consequence=True)
            return


def interrupt(workers: list[Worker]) -> None:
    """Gives the workers the Ctrl-C that came, and some time."""
    running = [worker for worker in workers if worker.end is None]
    for worker in running:
        worker.process.send_signal(signal.SIGINT)
    deadline = time.monotonic() + INTERRUPTED_WITHIN
    for worker in running:
        with contextlib.suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
            worker.process.wait(max(0.0, deadline - time.monotonic()))


class Ended(Protocol):
    """A rank in another process, when it has ended; without an `end` it has died."""

    rank: int
    end: End | None
    order: int


EndedRank = TypeVar("EndedRank", bound=Ended)


def conclude(workers: list[EndedRank], death_of: Callable[[EndedRank], RankDied]) -> None:
    """Raises what the ends amount to: a death before a failure, a cause before its consequences, the first before later ones."""
    bad = [worker for worker in workers if worker.end is None or worker.end.failed]
    if not bad:
        return

    def weight(worker: EndedRank) -> tuple[bool, bool, int]:
        return worker.end is not None, worker.end is not None and worker.end.consequence, worker.order or len(workers) + 1

    first = min(bad, key=weight)
    if first.end is None:
        raise death_of(first)
    more = f" (and {len(bad) - 1} more failed)" if len(bad) > 1 else ""
    error = RankFailed(f"rank {first.rank} failed: {first.end.text}{more}", rank=first.rank, others=len(bad) - 1)
    cause = cause_of(first.end)
    cause.add_note(f"\nIn the process of rank {first.rank}:\n{first.end.traceback}")
    raise error from cause


def death_of(worker: Worker) -> RankDied:
    code = worker.process.returncode
    how = f"of signal {-code}" if code < 0 else f"with exit code {code}"
    told = f"rank {worker.rank}, process {worker.process.pid}, has died {how} before the end of its function"
    ending = {"signal": -code} if code < 0 else {"exit_code": code}
    return RankDied(told, rank=worker.rank, pid=worker.process.pid, **ending)


def cause_of(end: End) -> BaseException:
    """The exception itself where it can be sent, or else an Error with its text."""
    try:
        cause = pickle.loads(end.value)  # noqa: S301 - from a process that was started here
    except Exception:  # noqa: BLE001 - a class of its own may raise anything
        return Error(end.text)
    return cause if isinstance(cause, BaseException) else Error(end.text)


def unpickled(worker: Ended) -> Any:
    try:
        return pickle.loads(worker.end.value)  # noqa: S301 - from a process that was started here
    except Exception as error:
        raise UsageError(f"what rank {worker.rank} returned cannot be unpickled here: {error}") from error
