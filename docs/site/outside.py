"""outside.py FOLDER: fails when a page of the site loads anything from another address. (Links that a reader may follow are no loads.)"""

import re
import sys
from pathlib import Path

LOADS = re.compile(r"""(?:src|data-src|poster)\s*=\s*["'](?:https?:)?//[^"']+|<link[^>]*?href\s*=\s*["'](?:https?:)?//[^"']+|url\(\s*["']?(?:https?:)?//[^)]+|@import\s+["'](?:https?:)?//""")


def loads(folder: Path) -> list[str]:
    found = []
    for path in sorted(folder.rglob("*")):
        if path.suffix in {".html", ".css", ".svg"}:
            found += [f"{path.relative_to(folder)}: {hit}" for hit in LOADS.findall(path.read_text(errors="replace"))]
    return found


if __name__ == "__main__":
    wrong = loads(Path(sys.argv[1]))
    print(*wrong, sep="\n", end="\n" if wrong else "")
    sys.exit(bool(wrong))
