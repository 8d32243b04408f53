"""All C++ files have one format: that of .clang-format, and no line of a comment is longer than 120 columns."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
COLUMNS = 120
FOLDERS = ["include", "src", "kernels", "components", "apps", "benchmarks", "tests"]
SOURCES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.[ch]pp"))
COMMENT = re.compile(r"\s*//")


def clang_format(*arguments: str) -> subprocess.CompletedProcess[str]:
    found = pytest.importorskip("clang_format", reason="python -m pip install clang-format")
    program = Path(found.__file__).parent / "data" / "bin" / "clang-format"
    return subprocess.run([program, *arguments], capture_output=True, text=True, cwd=ROOT, check=False)


def test_there_are_sources() -> None:
    assert len(SOURCES) > 500


def test_all_files_have_the_one_format() -> None:
    told = clang_format("--dry-run", "--Werror", "--ferror-limit=1", *map(str, SOURCES))
    wrong = sorted(set(re.findall(r"^(\S+?):\d+:\d+: error", told.stderr, re.MULTILINE)))
    assert told.returncode == 0, f"run clang-format -i on: {' '.join(wrong)}"


def test_no_comment_is_wider_than_the_code() -> None:
    wide = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in SOURCES
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > COLUMNS and COMMENT.match(line)
    ]
    assert wide == []


def test_another_format_is_found(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.cpp"
    wrong.write_text("int  main( ){return 0;}\n")
    told = clang_format("--dry-run", "--Werror", f"--style=file:{ROOT / '.clang-format'}", str(wrong))
    assert told.returncode != 0
