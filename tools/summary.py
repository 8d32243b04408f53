"""Adds up test results: summary.py FOLDER... prints one line, "N passed, M failed", and fails when any did or none ran.

Each folder holds the results of one run of ./test: for each runner its JUnit file and a file NAME.status with its exit
status. A runner that ended badly although no test of its failed (it crashed, or could not start) counts as one failure, and
so does a folder without any results: that run broke before its tests.
"""

import sys
import xml.etree.ElementTree as xml
from collections import Counter
from pathlib import Path


def outcome(case: xml.Element) -> str:
    """What became of one test: ctest says it in an attribute, pytest in child elements."""
    if case.get("status") in ("fail", "notrun") and case.find("skipped") is None:
        return "failed"
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    if case.get("status") == "disabled" or case.find("skipped") is not None:
        return "skipped"
    return "passed"


def count_runner(status: Path) -> Counter[str]:
    """The outcomes of the tests of one runner; failed ones are named on the way."""
    outcomes: Counter[str] = Counter()
    results = status.with_suffix(".xml")
    for case in xml.parse(results).getroot().iter("testcase") if results.exists() else ():
        result = outcome(case)
        outcomes[result] += 1
        if result == "failed":
            names = dict.fromkeys((case.get('classname', ''), case.get('name', '')))  # ctest gives one name twice
            print("failed:", *names)
    code = int(status.read_text())
    if (code != 0 or not results.exists()) and not outcomes["failed"]:
        print(f"failed: {status.stem} itself, which ended with status {code}")
        outcomes["failed"] += 1
    return outcomes


def count(folder: Path) -> Counter[str]:
    """The outcomes of all tests of one run."""
    runners = sorted(folder.glob("*.status"))
    if not runners:
        print(f"failed: nothing ran for {folder}")
        return Counter(failed=1)
    return sum((count_runner(status) for status in runners), Counter())


def main(folders: list[str]) -> int:
    total: Counter[str] = Counter()
    for folder in folders:
        total += count(Path(folder))
    if total["skipped"]:
        print(f"{total['skipped']} skipped")
    print(f"{total['passed']} passed, {total['failed']} failed")
    return 0 if total["passed"] and not total["failed"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
