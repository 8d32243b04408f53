"""Few places outside the seam's own folders ask where work runs.

Where the tasks of a machine run is said by its Backend (src/task/backend, with threads in it; src/task/isolated is another).
Where the filters of a run fire is said by its FilterBackend (src/stream/run/filter_backend.hpp; src/stream/isolated is another).
Everybody else asks a backend for what it can do, and never which one it is.
"""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SEAM = ["src/task/backend", "src/task/isolated", "src/stream/isolated", "src/stream/run/filter_backend"]
#: The option is compared with a value, or a pointer is asked for or tested that is null where threads run the work.
ASKS = re.compile(r"[!=]=\s*Isolation::\w+|\bisolated\(\)|\b(?:host_|isolated_|call_side_|seen_by)\s*[!=]=\s*nullptr")
LEFT_OUT = re.compile(r'//[^\n]*|"(?:[^"\\]|\\.)*"')
MOST = 5


def places() -> list[str]:
    found = []
    for folder in ("src", "include"):
        for path in sorted((ROOT / folder).rglob("*.[ch]pp")):
            name = str(path.relative_to(ROOT))
            if name.startswith(tuple(SEAM)):
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                found += [f"{name}:{number}: {line.strip()}"] * len(ASKS.findall(LEFT_OUT.sub("", line)))
    return found


def test_few_places_ask_where_work_runs() -> None:
    found = places()
    assert len(found) <= MOST, "\n".join(found)
