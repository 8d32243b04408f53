"""Running graphs of other processes: which there are, what they do, events for them.

A graph that was started under a name (RunOptions::name, or PENSTOCK_NAME in its environment) answers on a Unix socket of that name, to processes of
the same user only. It speaks HTTP and JSON (docs/door.md).
"""

import contextlib
import http.client
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from penstock.builder import Value
from penstock.errors import Error, UsageError

PREFIX = "penstock-run"
LONGEST = 1 << 20


class RunGone(UsageError):
    """No graph runs under this name, or it ended while it was asked."""


def running() -> list[str]:
    """The names under which graphs of this user run on this machine, sorted."""
    begin = f"@{PREFIX}/{os.geteuid()}/"
    names = set()
    for line in Path("/proc/net/unix").read_text(encoding="utf-8", errors="surrogateescape").splitlines()[1:]:
        columns = line.split(maxsplit=7)
        if len(columns) == 8 and columns[7].startswith(begin) and int(columns[3], 16) & 0x10000:  # it listens
            names.add(columns[7][len(begin) :])
    return sorted(names)


class _Connection(http.client.HTTPConnection):
    """HTTP over the Unix socket of a run."""

    def __init__(self, name: str, patience: float) -> None:
        super().__init__("localhost", timeout=patience)
        self._address = f"\0{PREFIX}/{os.geteuid()}/".encode() + os.fsencode(name)

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._address)


@contextlib.contextmanager
def _speaking(name: str) -> Iterator[None]:
    """Turns what goes wrong on the way into errors that say what to do."""
    try:
        yield
    except ConnectionRefusedError:
        raise RunGone(
            f"no graph runs under the name '{name}'{_others(name)}; start its program with PENSTOCK_NAME={name} in the environment, or look at those "
            "that run with: penstock top"
        ) from None
    except TimeoutError:
        raise Error(f"the run '{name}' does not answer") from None
    except (http.client.HTTPException, ConnectionError):
        raise RunGone(f"the run '{name}' ended while it was asked") from None
    except OSError as error:
        raise RunGone(f"no graph runs under the name '{name}'{_others(name)} ({error.strerror or error})") from None


class Refused(UsageError):
    """What the run refuses. problems: everything that is wrong with an edit."""

    def __init__(self, message: str, problems: list[str]) -> None:
        super().__init__(message)
        self.problems = problems


def ask(name: str, path: str, said: Any = None, *, patience: float = 10.0) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """What the run answers to GET of a path ("graph"), or to POST where something is said with it (docs/door.md). Raises RunGone where there is none, Refused
    for what it refuses, Error when it says nothing for `patience` seconds."""
    body = None if said is None else json.dumps(said)
    if body is not None and len(body) > LONGEST:
        raise UsageError(f"{len(body):,} characters are too long to be sent; {LONGEST:,} is the most")
    with _speaking(name), contextlib.closing(_Connection(name, patience)) as connection:
        connection.request("GET" if body is None else "POST", f"/v1/{path}", body)
        answer: dict[str, Any] = json.loads(connection.getresponse().read())
    if "error" in answer:
        raise Refused(answer["error"], answer.get("problems", []))
    return answer


def watch(name: str, every: float, *, patience: float = 10.0) -> Iterator[dict[str, Any]]:
    """What the run does, again and again, until it has ended. Raises what ask() raises."""
    with _speaking(name), contextlib.closing(_Connection(name, every + patience)) as connection:
        connection.request("GET", f"/v1/watch?every={every}")
        for line in connection.getresponse():
            if not line.endswith(b"\n"):
                return
            yield json.loads(line)


def send(name: str, event: str, value: Value = False, to: str = "") -> int:
    """Sends an event to a filter, to a group ("group/"), or to all (""). How many filters got it. Raises what ask() raises."""
    return int(ask(name, "events", {"name": event, "value": value, "to": to})["reached"])


def _others(name: str) -> str:
    others = [other for other in running() if other != name]
    return f"; there are {', '.join(others)}" if others else ""
