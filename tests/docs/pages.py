"""What the pages of the documentation show: their programs and fragments, with where they stand and what they print.

`python pages.py FOLDER` writes every C++ program and fragment into FOLDER, for CMake to build.
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"(?P<mark><!-- fragment -->\n)?^```(?P<language>cpp|python)\n(?P<text>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```\n)?", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Snippet:
    page: str  # from the top of the tree
    number: int  # on its page, among those of its language, from 1
    language: str
    text: str
    output: str | None  # the block ```text right behind it
    fragment: bool  # a part of a program; in C++, whatever has no main

    @property
    def name(self) -> str:
        return f"{self.page.removeprefix('docs/').removesuffix('.md').replace('/', '_').lower()}_{self.number}"


def snippets(language: str) -> list[Snippet]:
    found = []
    pages = [ROOT / "README.md", *sorted(path for path in (ROOT / "docs").rglob("*.md") if "reference/cpp" not in str(path))]
    for page in pages:
        number = 0
        for block in BLOCK.finditer(page.read_text()):
            if block["language"] != language:
                continue
            number += 1
            fragment = bool(block["mark"]) or (language == "cpp" and "int main(" not in block["text"])
            found.append(Snippet(str(page.relative_to(ROOT)), number, language, block["text"], block["output"], fragment))
    return found


def program_of(snippet: Snippet) -> str:
    """What is compiled: a program as it stands; a fragment inside what tests/docs/fragments says of it."""
    if not snippet.fragment:
        return snippet.text
    frame = ROOT / "tests" / "docs" / "fragments" / f"{snippet.name}.frame"
    if not frame.exists():
        raise SystemExit(f"{snippet.page}: fragment {snippet.number} needs {frame.relative_to(ROOT)}, with FRAGMENT where it stands")
    before, mark, after = frame.read_text().partition("FRAGMENT\n")
    if not mark:
        raise SystemExit(f"{frame} has no line FRAGMENT")
    return f"{before}{snippet.text}{after}"


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {}
    for snippet in snippets("cpp"):
        kind = "fragment" if snippet.fragment else "program"
        wanted[f"{kind}_{snippet.name}.cpp"] = program_of(snippet)
        if snippet.output is not None:
            wanted[f"program_{snippet.name}.txt"] = snippet.output
    for old in folder.iterdir():
        if old.name not in wanted:
            old.unlink()
    for name, text in wanted.items():
        path = folder / name
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
