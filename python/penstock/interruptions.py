"""Ctrl-C while a command works: the first one is answered, the second one ends the process at once."""

import os
import signal
from collections.abc import Callable
from threading import Thread, Timer
from types import TracebackType
from typing import Any, Self

INTERRUPTED = 130  # the exit status that shells expect
LAST_WORDS = 1.0  # seconds that `last` may take


class Interruptions:
    """A context in which the first Ctrl-C calls `first`, in a thread of its own, and the second calls `last` and ends the process, wherever it is.

    For the main thread. The system's signal handler writes into a pipe that the thread reads: the main thread may be waiting in compiled code.
    """

    def __init__(self, first: Callable[[], None], last: Callable[[], None]) -> None:
        self.count = 0
        self._first, self._last = first, last
        self._answer: Thread | None = None

    def __enter__(self) -> Self:
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        self._others = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        self._handler: Any = signal.signal(signal.SIGINT, lambda *_: None)
        self._thread = Thread(target=self._serve, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        signal.signal(signal.SIGINT, self._handler)
        signal.set_wakeup_fd(self._others)
        os.write(self._write, b"\0")
        self._thread.join()
        if self._answer is not None:
            self._answer.join()
        os.close(self._write)
        os.close(self._read)

    def _serve(self) -> None:
        while (number := os.read(self._read, 1)[0]) != 0:
            if number != signal.SIGINT:
                continue
            self.count += 1
            if self.count == 1:  # in a thread of its own: it may have to wait, and the second one must not
                self._answer = Thread(target=self._first, daemon=True)
                self._answer.start()
            else:
                end = Timer(LAST_WORDS, os._exit, (INTERRUPTED,))
                end.daemon = True
                end.start()
                try:
                    self._last()
                finally:
                    os._exit(INTERRUPTED)
