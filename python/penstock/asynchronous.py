"""asyncio: `await handle`, `async with Machine()`, `async for array in reader`.

For `await handle` the loop watches the descriptor that a machine's workers write to.

Python bodies all have one. Compiled bodies have one where the call asked for it (notification="interrupt") and the loop runs
in the thread that called, which is the one that polls; for others a thread of the loop waits.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine, Generator
from typing import TYPE_CHECKING, Any

from penstock import _core
from penstock.errors import Error

if TYPE_CHECKING:
    import numpy as np


# Loop and descriptor: futures of those who await, with the handle of a compiled body.
_watched: dict[tuple[int, int], "dict[asyncio.Future, _core.Handle | None]"] = {}


def awaited(handle: "_core.Handle") -> Generator[Any, None, Any]:
    """What Handle.__await__ returns."""
    return _result(handle).__await__()


def coroutine(handle: "_core.Handle") -> Coroutine[Any, Any, Any]:
    """What Handle.as_coroutine() returns."""
    return _result(handle)


async def _result(handle: "_core.Handle") -> Any:
    if not handle.ready():
        await _completion(handle)
    return handle.result()


async def enter(machine: "_core.Machine") -> "_core.Machine":
    """The beginning of `async with Machine() as machine`."""
    return machine


async def leave(machine: "_core.Machine", error: BaseException | None) -> None:
    """The end of `async with Machine() as machine`: other coroutines run while its tasks finish."""
    try:
        await asyncio.get_running_loop().run_in_executor(None, machine.finish)
    except Error:
        if error is None:
            raise  # else the error that ends the block comes first
    finally:
        machine.close()


async def arrays_of(reader: Any) -> AsyncIterator["np.ndarray"]:
    """What Reader.__aiter__ returns. While nothing is there, a thread of the loop waits."""
    loop = asyncio.get_running_loop()
    while True:
        array = reader.read_if_any()
        if array is None:
            array = await loop.run_in_executor(None, reader.read)
        if array is None:
            return
        yield array


async def _completion(handle: "_core.Handle") -> None:
    loop = asyncio.get_running_loop()
    notice = handle._notice()  # noqa: SLF001 - the package's own
    if notice < 0:  # a compiled body that tells nobody: a thread waits for it
        await loop.run_in_executor(None, handle.exception)
        return
    future = loop.create_future()
    compiled = handle._is_compiled()  # noqa: SLF001
    if not compiled:
        handle.add_done_callback(lambda _: _tell(loop, future))
    key = id(loop), notice
    watched = _watched.setdefault(key, {})
    watched[future] = handle if compiled else None
    if len(watched) == 1:
        loop.add_reader(notice, _look, key, handle)
    try:
        _look(key, handle)
        await future
    except asyncio.CancelledError:
        handle.cancel()
        raise
    finally:
        del watched[future]
        if not watched:
            del _watched[key]
            loop.remove_reader(notice)


def _look(key: tuple[int, int], handle: "_core.Handle") -> None:
    """Asks to be told of more, then looks who has completed: whoever completes after that tells."""
    handle._rearm()  # noqa: SLF001
    for future, awaited_handle in list(_watched[key].items()):
        if awaited_handle is not None and awaited_handle.ready():
            _done(future)


def _tell(loop: asyncio.AbstractEventLoop, future: asyncio.Future) -> None:
    """From whichever thread finds the task complete; nobody may be waiting any more."""
    with contextlib.suppress(RuntimeError):  # the loop is closed
        loop.call_soon_threadsafe(_done, future)


def _done(future: asyncio.Future) -> None:
    if not future.done():
        future.set_result(None)
