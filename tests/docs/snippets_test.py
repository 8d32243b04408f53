"""Every program in Python that the documentation shows runs, and prints what its page says."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
specification = importlib.util.spec_from_file_location("pages", Path(__file__).with_name("pages.py"))
pages = importlib.util.module_from_spec(specification)
sys.modules["pages"] = pages
specification.loader.exec_module(pages)
PROGRAMS = [snippet for snippet in pages.snippets("python") if not snippet.fragment]
TUTORIALS = ROOT / "docs" / "tutorials" / "programs"


def start(folder: Path, name: str, text: str, *arguments: str) -> subprocess.Popen[str]:
    (folder / name).write_text(text)
    return subprocess.Popen([sys.executable, name, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder)


@pytest.mark.parametrize("snippet", PROGRAMS, ids=lambda snippet: snippet.name)
def test_a_program_of_the_documentation_prints_what_its_page_says(snippet: "pages.Snippet", tmp_path: Path) -> None:
    said, complained = start(tmp_path, "program.py", snippet.text).communicate(timeout=100)
    assert complained == ""
    if snippet.output is not None:
        assert said == snippet.output


def test_there_are_programs() -> None:
    assert len(PROGRAMS) > 20


def test_fragments_are_no_secret() -> None:
    assert {snippet.page for snippet in pages.snippets("python") if snippet.fragment} == {"docs/python/streams.md"}


def test_the_two_programs_of_the_tutorial_meet(tmp_path: Path) -> None:
    name = f"tutorial-{tmp_path.name}"
    texts = [(TUTORIALS / file).read_text().replace("tutorial", name) for file in ("host.py", "member.py")]
    programs = [start(tmp_path, "host.py", texts[0]), start(tmp_path, "one.py", texts[1], "1"), start(tmp_path, "zero.py", texts[1], "0")]
    said = [program.communicate(timeout=60) for program in programs]
    assert [text for text, _ in said] == ["", "", "rank 1 says [7]\n"], said


def test_the_library_of_the_tutorial_is_built_and_used_from_python(tmp_path: Path) -> None:
    for name in ("gain.c", "use_gain.py"):
        shutil.copy(TUTORIALS / name, tmp_path)
    build = ["cc", "-std=c11", "-Wall", "-Wextra", "-shared", "-fPIC", "-O2", f"-I{ROOT / 'include'}", "gain.c", "-o", "libgain.so"]
    subprocess.run(build, check=True, cwd=tmp_path)
    done = subprocess.run([sys.executable, "use_gain.py"], capture_output=True, text=True, cwd=tmp_path, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("0\n3\n6\n", "")
