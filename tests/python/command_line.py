"""What the tests of applications on the command line share: the command, and the examples of docs/language.md."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = [part.split("```")[0] for part in (ROOT / "docs" / "language.md").read_text(encoding="utf-8").split("```xml\n")[1:]]
FIRST = EXAMPLES[0]


def example(name: str) -> str:
    """The first example whose application is called so."""
    return next(each for each in EXAMPLES if f'name="{name}"' in each)


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "penstock.cli", *map(str, arguments)]


def penstock(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*arguments), capture_output=True, text=True, timeout=240, check=False)
