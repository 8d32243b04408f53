"""The wheel: built, put into a virtual environment that knows nothing of this working tree, and used there."""

import os
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
