"""What is seen of an application while it runs on a terminal: figures at the bottom, what it prints above them, keys that send its events."""

import contextlib
import ctypes
import errno
import json
import os
import sys
import termios
import time
from collections.abc import Callable
from threading import Lock, Thread
from typing import Any, Self

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from penstock.applications import Application, ApplicationRun
from penstock.errors import Error
from penstock.keys import END_OF_INPUT, keys
from penstock.looks import look, tables
from penstock.terminal import console, duration, paper

PATIENCE = 1.0  # seconds that an application may take before anything is shown
EVERY = 0.5  # seconds between two looks


class View(contextlib.ExitStack):
    """What is told of a run while it lasts. This one shows and reads nothing, as without a terminal; what must be said goes to stderr."""

    def look(self) -> None:
        """Called again and again, in the thread that waits."""

    def say(self, text: str) -> None:
        """Any thread."""
        paper(stderr=True).print(text, soft_wrap=True)

    def leave(self) -> None:
        """The process ends now: gives the terminal back as it was. Any thread."""


class Shown(View):
    """On a terminal. Figures come up when the run takes longer than PATIENCE. What the application prints then goes through a terminal of its
    own, so that it comes out above them, line by line."""

    def __init__(self, application: Application, run: ApplicationRun) -> None:
        super().__init__()
        self._run = run
        self._events = application.events()[:9]
        self._name = application.name
        self._begin = time.monotonic()
        self._next = self._begin + PATIENCE
        self._before: dict[str, Any] | None = None
        self._now: dict[str, Any] | None = None
        self._live: Live | None = None
        self._saying = Lock()
        self._pressed: Callable[[float], str] | None = None
        self._said = ""
        self._settings: Any = None

    def __enter__(self) -> Self:
        if _in_foreground():  # in the background a look at the terminal's settings would stop the program
            self._settings = termios.tcgetattr(sys.stdin.fileno())
            self._pressed = self.enter_context(keys())
        return self

    def look(self) -> None:
        self._read_keys()
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + EVERY
        self._before, self._now = self._now, json.loads(self._run.run.json())
        if self._live is None:
            self._live = self.enter_context(_live_above_which_is_printed())
            self.callback(self._hide)  # before its console closes, to which another thread may say something just then
        self._live.update(self._figures(self._live.console.height), refresh=True)

    def say(self, text: str) -> None:
        with self._saying:
            (paper(stderr=True) if self._live is None else self._live.console).print(text, soft_wrap=True)

    def _hide(self) -> None:
        with self._saying:
            self._live = None

    def leave(self) -> None:
        if self._live is not None:
            with contextlib.suppress(Exception):
                self._live.console.show_cursor(True)
        if self._settings is not None and _in_foreground():
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, self._settings)

    def _read_keys(self) -> None:
        try:
            while self._pressed is not None and _in_foreground() and (key := self._pressed(0)):
                if key == END_OF_INPUT:
                    self._pressed = None
                else:
                    self._send(key)
        except OSError:  # the terminal has gone
            self._pressed = None

    def _send(self, key: str) -> None:
        if not (key.isdecimal() and 1 <= int(key) <= len(self._events)):
            return
        event = self._events[int(key) - 1]
        try:
            self._run.send(event)
            self._said = f"{event} was sent"
        except Error as error:
            self._said = str(error)
        self._next = min(self._next, max(time.monotonic(), self._begin + PATIENCE))

    def _figures(self, height: int) -> Group:
        assert self._now is not None
        seen = look(self._now, self._before)
        writers = {each["from"].rpartition(".")[0] for each in self._now["streams"]}
        arrived = sum(each.firings for each in seen.filters if each.name not in writers)
        title = Text(f"\n{self._name}, {duration(seen.seconds)}: {arrived:,} firings at its ends", style="bold")
        events = "  ".join(f"{number} {event}" for number, event in enumerate(self._events, 1)) if self._pressed is not None else ""
        keys_line = Text((f"keys: {events}; " if events else "") + "Ctrl-C ends it" + (f"; {self._said}" if self._said else ""), style="dim")
        return Group(title, tables(seen, "load", max(2, (height - 12) // 3)), keys_line)


def _in_foreground() -> bool:
    try:
        return sys.stdin.isatty() and os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except OSError as error:  # ENOTTY: a terminal that stops nobody, because it is not this session's
        return error.errno == errno.ENOTTY


@contextlib.contextmanager
def _live_above_which_is_printed() -> Any:
    """A live display on the terminal. stdout becomes another terminal meanwhile, from which lines come out above the display."""
    libc = ctypes.CDLL(None)
    libc.fflush(None)
    sys.stdout.flush()
    outside = os.dup(1)
    above, inside = os.openpty()
    os.dup2(inside, 1)
    os.close(inside)
    try:
        with os.fdopen(outside, "w", encoding="utf-8", closefd=False) as terminal:
            outer = paper(file=terminal, force_terminal=True, width=console.width, height=console.height)
            with Live(console=outer, auto_refresh=False, transient=True) as live:
                reader = Thread(target=_copy, args=(above, outer), daemon=True)
                reader.start()
                try:
                    yield live
                finally:
                    libc.fflush(None)
                    sys.stdout.flush()
                    os.dup2(outside, 1)  # the last that had the other terminal open, so that its reader comes to an end
                    reader.join(1.0)
                    if not reader.is_alive():  # else a program that a filter has started still writes there
                        os.close(above)
    finally:
        os.close(outside)


def _copy(source: int, outer: Console) -> None:
    """Lines, as they come, until the other side is closed; those that come together are printed together, because each print draws all anew."""
    rest = b""
    while True:
        try:
            part = os.read(source, 1 << 16)
        except OSError:  # of a terminal whose other side was closed
            part = b""
        *lines, rest = (rest + part).replace(b"\r\n", b"\n").split(b"\n")
        if not part and rest:
            lines.append(rest)
        if lines:
            outer.print(Text.from_ansi(b"\n".join(lines).decode(errors="replace")), soft_wrap=True)
        if not part:
            return
