"""Single keys from the terminal."""

import os
import select
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

Pressed = Callable[[float], str]
END_OF_INPUT = "\x04"


@contextmanager
def keys(descriptor: int | None = None) -> Iterator[Pressed]:
    """A function that waits so many seconds for a key, and returns it, or "" when none was pressed; the end of the input is END_OF_INPUT."""
    terminal = sys.stdin.fileno() if descriptor is None else descriptor
    settings = termios.tcgetattr(terminal)

    def pressed(patience: float) -> str:
        until = time.monotonic() + patience
        while True:
            if select.select([terminal], [], [], max(0.0, until - time.monotonic()))[0]:
                return os.read(terminal, 1).decode(errors="replace") or END_OF_INPUT
            if time.monotonic() >= until:
                return ""

    try:
        tty.setcbreak(terminal)
        yield pressed
    finally:
        # In the background this would stop the program.
        with suppress(OSError, termios.error):
            if os.tcgetpgrp(terminal) == os.getpgrp():
                termios.tcsetattr(terminal, termios.TCSADRAIN, settings)
