"""Adds up test results: summary.py FOLDER... prints one line, "N passed, M failed", and fails when any did or none ran.

Each folder holds the JUnit files of one run. A folder without any counts as one failure: that run broke before its tests.
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


def count(folder: Path) -> Counter[str]:
    """The outcomes of all tests of one run; failed ones are named on the way."""
    outcomes: Counter[str] = Counter()
    files = sorted(folder.glob("*.xml"))
    if not files:
        print(f"failed: nothing ran in {folder}")
        outcomes["failed"] += 1
    for file in files:
        for case in xml.parse(file).getroot().iter("testcase"):
            result = outcome(case)
            outcomes[result] += 1
            if result == "failed":
                print(f"failed: {folder.parent.name}: {case.get('classname', '')} {case.get('name', '')}")
    return outcomes


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
