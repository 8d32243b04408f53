"""Benchmarks that fork their ranks run at all: a thread of the harness's own would keep them from it."""

import subprocess
from pathlib import Path

import pytest

BUILT = Path(__file__).resolve().parents[1] / "build" / "release" / "benchmarks"


@pytest.mark.parametrize("name", ["jacobi", "radix"])
def test_a_benchmark_over_ranks_runs(name: str) -> None:
    program = BUILT / f"bench_{name}"
    if not program.exists():
        pytest.skip("the benchmarks are not built")
    done = subprocess.run([program, "--quick"], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "2 processes, " in done.stdout
