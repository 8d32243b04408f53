"""concurrent.futures over a machine: Executor, machine.executor() and machine.map()."""

import collections
import concurrent.futures
import contextlib
import itertools
import os
import select
import threading
import time
import uuid
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from penstock import _core
from penstock.errors import Error, MachineGone, TaskCancelled, TaskFailed, UsageError

T = TypeVar("T")

# A map with chunksize=None makes pieces of about so many seconds, and of no more items: results keep coming.
CHUNK_SECONDS, LARGEST_CHUNK = 1e-3, 1024
COMPILED_LOOK = 2e-4  # seconds between looks at compiled bodies
CHUNKS_A_WORKER = 8  # that map keeps under way


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0))


class Executor(concurrent.futures.Executor):
    """Runs functions in worker interpreters (or compiled bodies on a machine's targets), by the rules of concurrent.futures.

    max_workers: by default one for each processor
    initializer, initargs: called in each worker before its first task; where that raises, tasks there fail with BrokenProcessPool
    machine: whose workers these are (what machine.executor() gives); without it, of a machine of its own, which shutdown() closes

    A thread of its own gives the futures their results. Closing the machine closes it. One that is dropped without shutdown ends its
    thread when the last future has its result.
    """

    def __init__(
        self,
        max_workers: int | None = None,
        initializer: Callable[..., Any] | None = None,
        initargs: tuple[Any, ...] = (),
        *,
        machine: "_core.Machine | None" = None,
    ) -> None:
        if max_workers is not None and max_workers < 1:
            raise ValueError("max_workers must be greater than 0")
        if machine is not None and max_workers is not None:
            raise UsageError("the machine has its workers already: leave out max_workers")
        if initializer is not None and not callable(initializer):
            raise TypeError("initializer must be a callable")
        self._own = machine is None
        self._machine = _core.Machine(targets=max_workers) if machine is None else machine
        self._beginning = None if initializer is None else Beginning(initializer, initargs)
        self._carried: dict[tuple[Any, ...], Callable[..., Any]] = {}
        self._max_workers = self._machine.workers  # by the name that the library's own have it, for those who look
        self._lock = threading.Lock()
        self._futures: set[_Future] = set()
        self._closed = False
        self._compiled: collections.deque[_Future] = collections.deque()
        self._collector: threading.Thread | None = None
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._collecting = threading.Event()
        weakref.finalize(self, _leave, self._wake, self._collecting)

    def submit(self, function: Callable[..., T], /, *arguments: Any, **keywords: Any) -> concurrent.futures.Future[T]:
        """A future for `function(*arguments, **keywords)`. Raises RuntimeError after shutdown, and what machine.call raises."""
        return self._submit(self._carry(function), arguments, keywords)

    def _submit(self, function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> concurrent.futures.Future:
        future = _Future()
        with self._lock:
            if self._closed:
                raise RuntimeError("cannot schedule new futures after shutdown")
            self._futures.add(future)
        try:  # not under the lock: call-backs of other tasks may run in there
            handle = self._machine._submit(function, arguments, keywords)  # noqa: SLF001 - the package's own
        except BaseException:
            with self._lock:
                self._futures.discard(future)
            raise
        future._handle = handle  # noqa: SLF001
        with self._lock:
            if self._collector is None and not handle.ready():
                self._collecting.set()
                self._collector = threading.Thread(target=_collect, args=(weakref.ref(self), self._wake), name="penstock-executor", daemon=True)
                self._collector.start()
        if self._machine._is_compiled(function):  # noqa: SLF001 - the package's own
            if handle.ready():
                self._settle(future, handle)
            else:
                future._executor = self  # noqa: SLF001 - nobody else holds it on the task's behalf
                self._compiled.append(future)
                self._stir()
        else:
            handle.add_done_callback(lambda done: self._settle(future, done))
        return future

    def map(self, function: Callable[..., T], *iterables: Iterable[Any], timeout: float | None = None, chunksize: int | None = None) -> Iterator[T]:
        """As concurrent.futures.Executor.map: all items are taken and their tasks issued at once, whoever asks for results.

        A task has `chunksize` items; None: few in the first tasks and more in the later ones of many.
        """
        if chunksize is not None and chunksize < 1:
            raise ValueError("chunksize must be >= 1.")
        end = None if timeout is None else time.monotonic() + timeout
        items = list(zip(*iterables, strict=False))
        body = self._carry(function, Chunks)
        futures: list[concurrent.futures.Future] = []
        try:
            for chunk in _chunks(items, chunksize, max(self._machine.workers, 1)):
                futures.append(self._submit(body, (chunk,), {}))  # noqa: PERF401 - those issued are cancelled when one is not
        except BaseException:
            for future in futures:
                future.cancel()
            raise
        return _results_of(futures[::-1], end)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002 - as the base has it
        """As concurrent.futures.Executor.shutdown."""
        with self._lock:
            self._closed = True
            left = list(self._futures)
        if cancel_futures:
            for future in left:
                future.cancel()
        if wait:
            concurrent.futures.wait(left)
        self._stir()
        if wait and self._collector is not threading.current_thread():
            if self._collector is not None:
                self._collector.join()
            if self._own:
                self._machine.close()

    def _carry(self, function: Callable[..., Any], *around: Callable[..., Any]) -> Callable[..., Any]:
        """What is carried over for a function: itself, or an object around it, the same one each time, and behind the initializer."""
        if not around and self._beginning is None:
            return function
        if len(self._carried) > LARGEST_CHUNK:
            self._carried.clear()
        key = id(function), *around  # of an object that the one below holds
        if key not in self._carried:
            made = around[0](function) if around else function
            self._carried[key] = made if self._beginning is None else AfterBeginning(self._beginning, made)
        return self._carried[key]

    def _stir(self) -> None:
        os.eventfd_write(self._wake, 1)

    def _settle(self, future: "_Future", handle: "_core.Handle") -> None:
        """The task has ended; whoever found out is here."""
        future._executor = None  # noqa: SLF001
        with self._lock:
            self._futures.discard(future)
            last = not self._futures
        _tell(future, handle)
        if last and threading.current_thread() is not self._collector:  # which may sleep, and hold this executor
            self._stir()

    def _over(self) -> bool:
        with self._lock:
            return self._closed and not self._futures

    def _busy(self) -> bool:
        with self._lock:
            return bool(self._futures)

    def _look_at_compiled(self) -> None:
        for _ in range(len(self._compiled)):
            future = self._compiled.popleft()
            if future._handle.ready():  # noqa: SLF001
                self._settle(future, future._handle)  # noqa: SLF001
            else:
                self._compiled.append(future)


class Beginning:
    """What a worker does once, before the first task of an executor."""

    def __init__(self, initializer: Callable[..., Any], initargs: tuple[Any, ...]) -> None:
        self.initializer, self.initargs, self.key = initializer, initargs, uuid.uuid4().hex


_begun: dict[tuple[str, int], str] = {}  # in a worker: what the initializer raised, empty for nothing


class Around:
    """A function with something around it, which is carried over together with it. It has the function's name."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__qualname__ = getattr(function, "__qualname__", repr(function))


class AfterBeginning(Around):
    """A function that is called when the worker has begun."""

    def __init__(self, beginning: Beginning, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self.beginning = beginning

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        begin(self.beginning)
        return self.function(*arguments, **keywords)


class Chunks(Around):
    """One piece of an executor's map after the other."""

    def __call__(self, chunk: list[tuple[Any, ...]]) -> list[Any]:
        return [self.function(*arguments) for arguments in chunk]


class TimedChunks(Around):
    """One piece of a map after the other, and the seconds that each took."""

    def __call__(self, chunk: list[tuple[Any, ...]]) -> tuple[float, list[Any]]:
        begin = time.perf_counter()
        results = [self.function(*arguments) for arguments in chunk]
        return time.perf_counter() - begin, results


# Those that a machine still knows, by the identity of the function, which each holds: the next map of the same function sends nothing anew.
_timed: weakref.WeakValueDictionary[int, TimedChunks] = weakref.WeakValueDictionary()


def begin(beginning: Beginning) -> None:
    """Functions of the main program come with the variables that they refer to, each with its own; so there is a beginning for each such set."""
    key = beginning.key, id(getattr(beginning.initializer, "__globals__", None))
    if key not in _begun:
        try:
            beginning.initializer(*beginning.initargs)
            _begun[key] = ""
        except BaseException as error:
            _begun[key] = f"{type(error).__name__}: {error}"
            raise BrokenProcessPool(f"the initializer of this worker raised {_begun[key]}") from error
    if _begun[key]:
        raise BrokenProcessPool(f"the initializer of this worker raised {_begun[key]}")


def _leave(wake: int, collecting: threading.Event) -> None:
    """The executor is gone: its thread, if there is one, closes the descriptor."""
    if collecting.is_set():
        os.eventfd_write(wake, 1)
    else:
        os.close(wake)


def _collect(reference: "weakref.ref[Executor]", wake: int) -> None:
    """An executor's thread: finishes tasks as they complete, so that their call-backs settle the futures.

    It holds the executor, and by it the machine, only while futures are open.
    """
    notice = -1
    try:
        while (executor := reference()) is not None:
            try:
                if notice < 0 and not executor._over():  # noqa: SLF001
                    notice = os.dup(executor._machine.notification_descriptor())  # noqa: SLF001 - its number may be another's later
                if not executor._over():  # noqa: SLF001
                    executor._machine.poll()  # noqa: SLF001
                    executor._look_at_compiled()  # noqa: SLF001
                over = executor._over()  # noqa: SLF001
            except MachineGone:
                executor._look_at_compiled()  # noqa: SLF001 - all have ended
                over = True
            if over:
                executor._collecting.clear()  # noqa: SLF001 - from here on the executor closes its descriptor
                return
            look = COMPILED_LOOK if executor._compiled else None  # noqa: SLF001
            if not executor._busy():  # noqa: SLF001
                executor = None
            ready, _, _ = select.select([notice, wake], [], [], look)
            if wake in ready:
                os.eventfd_read(wake)
        os.close(wake)
    finally:
        if notice >= 0:
            os.close(notice)


class _Future(concurrent.futures.Future):
    """A future whose task may be cancelled as long as it has not started."""

    _handle: "_core.Handle | None" = None
    _executor: Executor | None = None

    def cancel(self) -> bool:
        if self.cancelled():
            return True
        return not self.done() and self._handle is not None and self._handle.cancel() and super().cancel()


def _tell(future: concurrent.futures.Future, handle: "_core.Handle") -> None:
    if future.cancelled():
        return
    try:
        result = handle.result()
    except TaskCancelled:
        if concurrent.futures.Future.cancel(future):
            future.set_running_or_notify_cancel()
    except TaskFailed as error:
        future.set_exception(error.__cause__ or error)
    except BaseException as error:  # noqa: BLE001 - told to whoever waits
        future.set_exception(error)
    else:
        future.set_result(result)


def _chunks(items: list[Any], chunksize: int | None, workers: int) -> Iterator[list[Any]]:
    """Of None: sizes that double from 1 on, so that results come early, up to what leaves CHUNKS_A_WORKER for each worker."""
    largest = chunksize or max(1, min(LARGEST_CHUNK, len(items) // (CHUNKS_A_WORKER * workers)))
    size, begin, made = chunksize or 1, 0, 0
    while begin < len(items):
        yield items[begin : begin + size]
        begin, made = begin + size, made + 1
        if made % workers == 0:
            size = min(2 * size, largest)


def _results_of(futures: list[concurrent.futures.Future], end: float | None) -> Iterator[Any]:
    """The last first. Whatever is left when nobody asks any more is cancelled."""
    try:
        while futures:
            future = futures.pop()
            try:
                results = future.result(None if end is None else end - time.monotonic())
            except BaseException:
                future.cancel()
                raise
            yield from results
    finally:
        for future in futures:
            future.cancel()


def mapped(machine: "_core.Machine", function: Callable[..., Any], iterables: tuple[Iterable[Any], ...], chunksize: int | None) -> Iterator[Any]:
    """What machine.map returns; see there."""
    if chunksize is not None and chunksize < 1:
        raise UsageError(f"chunksize is 1 or more, or None for what suits, not {chunksize}")
    if not callable(function):
        raise TypeError(f"map(): the function comes first, and {type(function).__name__} is no type of functions: machine.map(function, items)")
    if not iterables:
        raise TypeError("map(): there is nothing to give to the function: machine.map(function, items)")
    items = zip(*[_items(each, place) for place, each in enumerate(iterables, 2)], strict=False)
    sizes = [len(each) for each in iterables if isinstance(each, Sized)]
    name = getattr(function, "__qualname__", repr(function))
    return Map(_mapped(machine, function, items, chunksize), min(sizes) if sizes and len(sizes) == len(iterables) else None, name)


def _items(given: Any, place: int) -> Iterator[Any]:
    try:
        return iter(given)
    except TypeError:
        raise TypeError(f"map(): argument {place} is of the type {type(given).__name__}, which has no items") from None


class Map:
    """The results of a map, which several threads may take.

    count: how many there are, where that is known; progress bars ask for what is left (operator.length_hint)
    name: of the function; a map that is dropped before anybody took a result is a mistake, and told as one
    """

    def __init__(self, results: Iterator[Any], count: int | None, name: str) -> None:
        self._results, self._lock, self._left, self._name = results, threading.RLock(), count, name
        self._taken = True  # until there is something to take
        next(results)
        self._taken = count == 0

    def __del__(self) -> None:
        if not self._taken:
            warnings.warn(
                f"nobody took the results of map({self._name}, ...), so most of its items were not worked on, and failures were not told: "
                "go through them, as in list(machine.map(...))",
                RuntimeWarning,
                stacklevel=2,
            )

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        self._taken = True
        with self._lock:
            result = next(self._results)
            if self._left is not None:
                self._left -= 1
            return result

    def __length_hint__(self) -> int:
        return NotImplemented if self._left is None else max(self._left, 0)

    def close(self) -> None:
        """Cancels what has not started; nobody will ask for the rest."""
        self._taken = True
        with self._lock:
            self._results.close()


def _mapped(machine: "_core.Machine", function: Callable[..., Any], items: Iterator[Any], chunksize: int | None) -> Iterator[Any]:
    """None when the first tasks are under way; then the results, in the order of the items, taken as results are.

    What is raised for an item that cannot be had or issued comes behind the results of those before it. What has not started
    when nobody asks for the rest is cancelled.
    """
    body = _timed.get(id(function))
    if body is None:
        body = _timed[id(function)] = TimedChunks(function)
    size = chunksize or 1
    most = CHUNKS_A_WORKER * max(machine.workers, 1)
    under_way: collections.deque[_core.Handle] = collections.deque()
    failure: Exception | None = None

    def fill() -> None:
        nonlocal failure
        try:
            while failure is None and len(under_way) < most:
                chunk: list[Any] = []
                try:
                    chunk.extend(itertools.islice(items, size))
                finally:  # also those in front of one that could not be had
                    if chunk:
                        under_way.append(machine._submit(body, (chunk,), {}))  # noqa: SLF001 - the package's own
                if not chunk:
                    return
        except Exception as error:  # noqa: BLE001 - raised where its result would come
            failure = error

    try:
        fill()
        if under_way or failure is None:
            yield None
        while under_way:
            seconds, results = under_way[0].result()
            under_way.popleft()
            if chunksize is None and results:
                wished = CHUNK_SECONDS / max(seconds / len(results), 1e-9)
                size = max(1, min(LARGEST_CHUNK, 2 * size, int(wished)))
            fill()
            yield from results
        if failure is not None:
            raise failure
    finally:
        for handle in under_way:
            if not handle.cancel():
                with contextlib.suppress(Error):
                    handle.add_done_callback(_seen)


def _seen(handle: "_core.Handle") -> None:
    with contextlib.suppress(Error):
        handle.exception()
