"""Types: what a user writes passes `mypy --strict`, wrong things do not; the stubs of the extension module are what it has."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")
ROOT = Path(__file__).resolve().parents[3]

RIGHT = """
import asyncio
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import penstock as ps

Array = npt.NDArray[np.float64]


def square(n: int) -> int:
    return n * n


def smooth(tile: Array) -> None:
    tile[1:-1] = (tile[:-2] + tile[1:-1] + tile[2:]) / 3


@ps.filter(outputs="float64")
def numbers() -> Iterator[Array]:
    yield np.zeros(3)


async def later(machine: ps.Machine) -> int:
    return await machine.call(square, 3)


with ps.Machine(targets=1) as machine:
    results: list[int] = list(machine.map(square, range(3)))
    handle = machine.call(smooth, ps.InOut(np.zeros(5)), time_limit=1.0)
    handle.wait()
    squared: int = machine.call(square, 3).result()
    print(squared, results, handle.ready(), asyncio.run(later(machine)))
    graph = ps.Graph()
    graph.add("numbers", numbers)
    reader = graph.add_reader("reader", "float64")
    graph.connect("numbers.out", reader)
    with graph.start(machine) as run:
        for array in reader:
            print(float(array.sum()))
with ps.Executor(2) as executor:
    print(executor.submit(square, 2).result() + 1)
"""

WRONG = {
    "ps.Machine(target=1)": "call-arg",
    "ps.Machine(targets='1')": "arg-type",
    "ps.Machine().call(print, priority='highest')": "call-overload",
    "ps.Machine().map(str, [1]).__next__() + 1": "operator",
    "ps.Machine().call(str, 1).result() + 1": "operator",
    "ps.filter(input='float64')(len)": "call-overload",
    "ps.Executor(initializer=7)": "arg-type",
    "ps.Graph().start(1)": "arg-type",
}


# Functions and methods of nanobind are objects of its own kinds, and so are its classes; those that cannot be made have an __init__ that says so.
OF_NANOBIND = (
    "__nb_signature__", "__class_getitem__", "is not a function", "but runtime is not", "metaclass differs", '.__init__ is inconsistent, stub does not have *args parameter "args"',
)


def mypy(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "MYPYPATH": str(ROOT / "python")}
    return subprocess.run([sys.executable, "-m", *arguments], env=environment, cwd=ROOT / "build", capture_output=True, text=True, check=False)


def test_a_program_passes_mypy_in_its_strict_form_and_mistakes_do_not(tmp_path):
    lines = ["import penstock as ps", *WRONG]
    right, wrong = tmp_path / "right.py", tmp_path / "wrong.py"
    right.write_text(RIGHT)
    wrong.write_text("\n".join(lines) + "\n")
    done = mypy("mypy", "--strict", "--follow-imports=silent", "--no-error-summary", f"--cache-dir={tmp_path}", str(right), str(wrong))
    found = done.stdout.splitlines()
    assert [line for line in found if "right.py" in line] == [], done.stdout + done.stderr
    for number, (text, code) in enumerate(WRONG.items(), start=2):
        assert any(f"wrong.py:{number}:" in line and f"[{code}]" in line for line in found), (text, done.stdout)


def test_the_stubs_are_what_the_extension_module_has(tmp_path):
    done = mypy("mypy.stubtest", "penstock._core", "--concise", "--ignore-disjoint-bases", "--mypy-config-file", str(config(tmp_path)))
    assert "error: " not in done.stdout + done.stderr, done.stdout + done.stderr
    assert [line for line in done.stdout.splitlines() if not any(what in line for what in OF_NANOBIND)] == []


def config(folder: Path) -> Path:
    made = folder / "mypy.ini"
    made.write_text(f"[mypy]\ncache_dir = {folder}\nfollow_imports = silent\nignore_errors = False\n")
    return made
