"""The last line of ./test tells the truth, also when a runner crashes (tools/summary.py)."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

CTEST = """<testsuite>
<testcase name="a" status="run"/><testcase name="b" status="run"/>
<testcase name="c" status="fail"><failure message="1"/></testcase>
<testcase name="d" status="notrun"><failure message="unable to find it"/></testcase>
<testcase name="e" status="notrun"><skipped message="SKIP"/></testcase>
<testcase name="f" status="disabled"/>
</testsuite>"""
PYTEST = """<testsuites><testsuite>
<testcase name="a"/><testcase name="b"><failure/></testcase><testcase name="c"><error/></testcase><testcase name="d"><skipped/></testcase>
</testsuite></testsuites>"""
GREEN = '<testsuite><testcase name="a" status="run"/></testsuite>'


def summary(*folders: Path) -> tuple[int, list[str]]:
    done = subprocess.run([sys.executable, ROOT / "tools" / "summary.py", *folders], capture_output=True, text=True)
    return done.returncode, done.stdout.splitlines()


def runner(folder: Path, name: str, status: int, results: str | None) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.status").write_text(f"{status}\n")
    if results is not None:
        (folder / f"{name}.xml").write_text(results)


def test_results_of_both_runners_are_added_up_and_skipped_tests_count_for_neither(tmp_path: Path) -> None:
    runner(tmp_path, "ctest", 8, CTEST)
    runner(tmp_path, "pytest", 1, PYTEST)
    status, lines = summary(tmp_path)
    assert lines[-2:] == ["3 skipped", "3 passed, 4 failed"]
    assert status == 1


def test_success_needs_a_test_that_passed(tmp_path: Path) -> None:
    runner(tmp_path, "ctest", 0, GREEN)
    assert summary(tmp_path) == (0, ["1 passed, 0 failed"])
    runner(tmp_path, "ctest", 0, "<testsuite/>")
    assert summary(tmp_path) == (1, ["0 passed, 0 failed"])


def test_a_runner_that_crashed_is_a_failure(tmp_path: Path) -> None:
    runner(tmp_path, "ctest", 0, GREEN)
    runner(tmp_path, "pytest", 139, None)
    status, lines = summary(tmp_path)
    assert lines == ["failed: pytest itself, which ended with status 139", "1 passed, 1 failed"]
    assert status == 1


def test_a_run_that_broke_before_its_tests_is_a_failure(tmp_path: Path) -> None:
    runner(tmp_path / "good", "ctest", 0, GREEN)
    (tmp_path / "broken").mkdir()
    status, lines = summary(tmp_path / "good", tmp_path / "broken")
    assert lines[-1] == "1 passed, 1 failed"
    assert status == 1
