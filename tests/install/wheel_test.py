"""The wheel: built, put into a virtual environment that knows nothing of this working tree, and used there."""

import os
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    if "PENSTOCK_LONG" in os.environ:
        # Not optimised: this is about what a wheel brings along, and the compiler is most of its cost.
        command = [ROOT / "tools" / "wheel", folder, "--config-settings=cmake.define.CMAKE_CXX_FLAGS_RELEASE=-O0"]
    else:
        command = [ROOT / "tools" / "wheel", "--built", folder]
    subprocess.run(command, check=True)
    (found,) = folder.glob("penstock-*.whl")
    return found


@pytest.fixture(scope="module")
def elsewhere(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel in it; what the wheel depends on comes from the one that runs the tests."""
    folder = tmp_path_factory.mktemp("elsewhere")
    venv.create(folder)
    pip = [sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install"]
    subprocess.run([*pip, "--quiet", "--no-index", "--no-deps", "--no-compile", wheel], check=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    neighbour = folder / "lib" / version / "site-packages" / "dependencies.pth"
    neighbour.write_text(sysconfig.get_path("purelib") + "\n")
    return folder


def test_the_wheel_carries_module_stubs_and_type_marker_and_the_libraries_it_needs(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    modules = [name for name in names if name.startswith("penstock/_core") and name.endswith(".so")]
    assert len(modules) == 1
    assert "penstock/_core.pyi" in names
    assert "penstock/py.typed" in names
    assert any("libhwloc" in name for name in names)


def test_the_installed_wheel_is_what_is_imported_and_it_runs_a_task(elsewhere: Path, tmp_path: Path) -> None:
    program = """
import ctypes, sys
import numpy as np
import penstock as ps

assert ps.__file__.startswith(sys.prefix), ps.__file__
assert ps._core.__file__.startswith(sys.prefix), ps._core.__file__

@ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_double), ctypes.c_ssize_t)
def double(values, count):
    for i in range(count):
        values[i] *= 2

numbers = np.arange(4.0)
with ps.Machine() as machine:
    machine.call(double, ps.InOut(numbers))
    machine.barrier()
print(numbers.tolist())
"""
    done = subprocess.run([elsewhere / "bin" / "python", "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[0.0, 2.0, 4.0, 6.0]\n"


def test_the_installed_command_lists_what_it_can_do(elsewhere: Path, tmp_path: Path) -> None:
    done = subprocess.run([elsewhere / "bin" / "penstock", "--help"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "demo" in done.stdout and "gallery" in done.stdout


def test_the_wheel_has_the_licence_of_each_library_that_it_brings(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    brought = {re.sub(r"-[0-9a-f]{8}\..*", "", Path(name).name) for name in names if name.startswith("penstock.libs/") and not name.endswith("/")}
    told = {Path(name).stem for name in names if "/licenses/bundled/" in name and not name.endswith("/")}
    assert "libhwloc" in brought and told == brought


def test_a_program_in_cpp_builds_against_what_the_wheel_carries(elsewhere: Path, tmp_path: Path) -> None:
    said = subprocess.run([elsewhere / "bin" / "penstock", "--cmake-dir"], capture_output=True, text=True, check=True).stdout.strip()
    assert Path(said).is_relative_to(elsewhere)
    (tmp_path / "application.xml").write_text(
        '<application xmlns="urn:penstock:application:1" name="counts"><component name="numbers" class="numbers"><set name="count" value="7"/></component>'
        '<component name="count" class="count"/><component name="print" class="print-integers"/><stream from="numbers.out" to="count.in"/>'
        '<stream from="count.out" to="print.in"/><component name="total" class="total"/><component name="whole" class="print"/>'
        '<stream from="numbers.out" to="total.values"/><stream from="total.total" to="whole.in"/></application>'
    )
    for command in (
        [elsewhere / "bin" / "penstock", "compile", "application.xml", "--output", "source"],
        ["cmake", "-S", "source", "-B", "build", f"-DCMAKE_PREFIX_PATH={said}", "-DCMAKE_BUILD_TYPE=Debug"],
        ["cmake", "--build", "build"],
    ):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    done = subprocess.run([tmp_path / "build" / "counts"], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "") and "7" in done.stdout


def test_what_an_answer_needs_and_is_not_installed_is_named_with_its_extra(elsewhere: Path) -> None:
    for package, extra in (("typer", "cli"), ("rich", "cli")):
        program = f"import sys; sys.modules[{package!r}] = None; sys.argv = ['penstock', 'gallery']; from penstock.command import main; main()"
        done = subprocess.run([elsewhere / "bin" / "python", "-c", program], capture_output=True, text=True, check=False)
        assert done.returncode == 1 and f"pip install 'penstock[{extra}]'" in done.stderr, done.stderr
