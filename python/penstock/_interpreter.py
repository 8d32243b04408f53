"""The main program of a worker interpreter (see interpreters.py)."""

import atexit
import contextlib
import os
import sys

from penstock import _core


def main(board: int, heap: int, index: int, keeper: int, notice: int, processor: int, parent: int) -> None:
    """Serves the machine's tasks until it closes, and ends."""
    _core.end_with_parent(parent)
    for descriptor in (board, heap, keeper, notice):
        os.set_inheritable(descriptor, False)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(line_buffering=True)  # so that nothing is held back until the worker ends
    _core.serve_tasks(board, heap, index, keeper, notice, processor)
    come_to_an_end()
    os._exit(0)


def come_to_an_end() -> None:
    """What Python does before a process ends, for one that ends by os._exit()."""
    with contextlib.suppress(Exception):
        atexit._run_exitfuncs()  # noqa: SLF001 - it has no public name
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
