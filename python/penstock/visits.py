"""Running graphs of other processes: which there are, what they do, events for them.

A graph that was started under a name (RunOptions::name, or PENSTOCK_NAME in its environment) answers on a Unix socket of that name, to processes of
the same user only.
"""

import json
import os
import socket
from pathlib import Path
from typing import Any
from urllib.parse import quote

from penstock.builder import Value
from penstock.errors import Error, UsageError

PREFIX = "penstock-run"
LONGEST = 1 << 16


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


def ask(name: str, *words: str, patience: float = 10.0) -> dict[str, Any]:
    """What the run answers. Raises RunGone where there is none, UsageError for what it refuses, Error when it says nothing for `patience` seconds."""
    address = f"\0{PREFIX}/{os.geteuid()}/".encode() + os.fsencode(name)
    line = "\t".join(quote(os.fsencode(word), safe="/:") for word in words) + "\n"
    if len(line) > LONGEST:
        raise UsageError(f"an event of {len(line):,} characters is too long to be sent; {LONGEST:,} is the most")
    answer = bytearray()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(patience)
        try:
            connection.connect(address)
            connection.sendall(line.encode())
            while part := connection.recv(1 << 16):
                answer += part
        except ConnectionRefusedError:
            raise RunGone(
                f"no graph runs under the name '{name}'{_others(name)}; start its program with PENSTOCK_NAME={name} in the environment, or look at those "
                "that run with: penstock top"
            ) from None
        except TimeoutError:
            raise Error(f"the run '{name}' does not answer") from None
        except OSError as error:
            raise RunGone(f"no graph runs under the name '{name}'{_others(name)} ({error.strerror or error})") from None
    if not answer.endswith(b"\n"):
        raise RunGone(f"the run '{name}' ended while it was asked")
    said: dict[str, Any] = json.loads(answer)
    if "error" in said:
        raise UsageError(said["error"])
    return said


def send(name: str, event: str, value: Value = False, to: str = "") -> int:
    """Sends an event to a filter, to a group ("group/"), or to all (""). How many filters got it. Raises what ask() raises."""
    if isinstance(value, bool):
        text = f"b:{str(value).lower()}"
    elif isinstance(value, int):
        text = f"i:{value}"
    else:
        text = f"d:{value!r}" if isinstance(value, float) else f"s:{value}"
    return int(ask(name, "send", event, text, to)["reached"])


def _others(name: str) -> str:
    others = [other for other in running() if other != name]
    return f"; there are {', '.join(others)}" if others else ""
