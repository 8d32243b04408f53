"""`await handle` in asyncio: the loop watches the descriptor that a machine's workers write to."""

import asyncio
import contextlib
from collections.abc import Generator
from typing import Any

from penstock import _core

_watched: dict[tuple[int, int], int] = {}  # loop and descriptor: how many handles are awaited


def awaited(handle: "_core.Handle") -> Generator[Any, None, Any]:
    """What Handle.__await__ returns."""
    return _result(handle).__await__()


async def _result(handle: "_core.Handle") -> Any:
    if not handle.ready():
        await _completion(handle)
    return handle.result()


async def _completion(handle: "_core.Handle") -> None:
    loop = asyncio.get_running_loop()
    notice = handle._notice()  # noqa: SLF001 - the package's own
    if notice < 0:  # a compiled body: a thread waits for it
        await loop.run_in_executor(None, handle.exception)
        return
    future = loop.create_future()
    handle.add_done_callback(lambda _: _tell(loop, future))
    key = id(loop), notice
    _watched[key] = _watched.get(key, 0) + 1
    if _watched[key] == 1:
        loop.add_reader(notice, handle._rearm)  # noqa: SLF001
    try:
        handle._rearm()  # noqa: SLF001
        await future
    except asyncio.CancelledError:
        handle.cancel()
        raise
    finally:
        _watched[key] -= 1
        if _watched[key] == 0:
            del _watched[key]
            loop.remove_reader(notice)


def _tell(loop: asyncio.AbstractEventLoop, future: asyncio.Future) -> None:
    """From whichever thread finds the task complete; nobody may be waiting any more."""
    with contextlib.suppress(RuntimeError):  # the loop is closed
        loop.call_soon_threadsafe(_done, future)


def _done(future: asyncio.Future) -> None:
    if not future.done():
        future.set_result(None)
