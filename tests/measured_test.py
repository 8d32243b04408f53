"""What ./bench measured takes for a figure, and what it refuses (benchmarks/measured.py)."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = "before\n<!-- measured: written by ./bench measured -->\nold\n<!-- /measured -->\nafter\n"


def report(value: float, void: bool = False, goal: float = 1.05, low: float | None = 0.5) -> dict[str, Any]:
    return {
        "machine": {"processor": "P", "processors": "2"}, "noise": {"void": void}, "goals": [
            {"name": "lu/over-hand", "value": value, "low": low, "high": value, "goal": goal, "direction": "<=", "met": value <= goal}
        ],
    }  # fmt: skip


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, with one row, and runs that give what the test lays in `outcomes`."""
    spec = importlib.util.spec_from_file_location("measured", ROOT / "benchmarks" / "measured.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "measured", module)
    spec.loader.exec_module(module)
    module.ROWS = tuple(row for row in module.ROWS if row.goals == ("lu/over-hand",))
    module.outcomes = []
    module.run = lambda bench, quick: module.outcomes.pop(0)
    module.commit = lambda: "one"
    return module


def call(measured: ModuleType, monkeypatch: pytest.MonkeyPatch, *arguments: object) -> None:
    monkeypatch.setattr(sys, "argv", ["measured", *map(str, arguments)])
    assert measured.main() == 0


def test_a_void_or_failed_run_is_run_again_and_not_without_end(measured, monkeypatch, tmp_path, capsys) -> None:
    file = tmp_path / "file.json"
    measured.outcomes[:] = [report(0.1, void=True), {"error": "no"}, report(1.2), report(9)]
    call(measured, monkeypatch, "--json", file)
    assert "| 1.2 (0.5 to 1.2), missed | at most 1.05 |" in capsys.readouterr().out
    assert len(measured.outcomes) == 1
    call(measured, monkeypatch, "--json", file)  # there is nothing left to run
    assert len(measured.outcomes) == 1

    other = tmp_path / "other.json"
    measured.outcomes[:] = [report(1, void=True)] * 5
    call(measured, monkeypatch, "--json", other)
    assert "| void |" in capsys.readouterr().out
    assert len(measured.outcomes) == 2
    measured.outcomes[:] = [report(1)]
    call(measured, monkeypatch, "--json", other)  # what was void is taken up again
    assert "| 1 (0.5 to 1) |" in capsys.readouterr().out


def test_the_worst_of_the_runs_is_quoted_and_stands_in_the_readme(measured, monkeypatch, tmp_path) -> None:
    file, readme = tmp_path / "file.json", tmp_path / "README.md"
    readme.write_text(README)
    measured.outcomes[:] = [report(1.01), report(1.04), report(1.02)]
    call(measured, monkeypatch, "--json", file, "--runs", 3, "--readme", readme)
    text = readme.read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text
    assert "| 1.04 (0.5 to 1.04) | at most 1.05 |" in text
    assert "Commit one; P, 2 processors; the worst of 3 full runs of each." in text


def test_figures_of_another_commit_are_refused(measured, monkeypatch, tmp_path, capsys) -> None:
    file = tmp_path / "file.json"
    measured.outcomes[:] = [report(1)]
    call(measured, monkeypatch, "--json", file)
    kept = file.read_text()
    measured.commit = lambda: "two"
    with pytest.raises(SystemExit):
        call(measured, monkeypatch, "--json", file)
    assert "holds figures of one, and this is two" in capsys.readouterr().err
    assert file.read_text() == kept and json.loads(kept)["commit"] == "one"


def test_what_the_file_does_not_hold_stays_in_the_table(measured) -> None:
    assert "| not measured |" in measured.table({"quick": False, "commit": "one", "reports": {}})


def test_a_goal_of_too_few_rounds_is_no_figure(measured, monkeypatch, tmp_path, capsys) -> None:
    measured.outcomes[:] = [report(1, low=None)]
    call(measured, monkeypatch, "--json", tmp_path / "file.json")
    assert "| too few rounds |" in capsys.readouterr().out


def test_every_goal_of_the_table_is_one_that_a_benchmark_judges() -> None:
    spec = importlib.util.spec_from_file_location("measured", ROOT / "benchmarks" / "measured.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["measured"] = module
    spec.loader.exec_module(module)
    sources = "".join(path.read_text() for path in (ROOT / "benchmarks").rglob("*") if path.suffix in (".cpp", ".hpp", ".py") and path.name != "measured.py")
    for row in module.ROWS:
        for goal in row.goals:
            assert f'"{goal}"' in sources, goal
