"""docs/papers.md: whatever it names is there, and no figure or table of a paper is left out."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

from paper import EXPERIMENTS  # noqa: E402

HEAD = ["in the paper", "here", "test", "command", "what differs"]
FIGURES = {"Tagged Procedure Calls": 5, "Cell-Space": 7, "DataCutter-Lite": 21, "Remote Store Programming": 5}
TABLES = {"Tagged Procedure Calls": 1, "Cell-Space": 1, "DataCutter-Lite": 2, "Remote Store Programming": 0}


def chapters(page: str) -> dict[str, list[list[str]]]:
    """The rows of the table below each heading, without its head."""
    found = {}
    for part in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        name, _, body = part.partition("\n")
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in body.splitlines() if line.startswith("|")]
        assert rows[0] == HEAD, name
        found[name] = rows[2:]
    return found


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def sub_commands() -> set[str]:
    """Of `penstock`."""
    text = (ROOT / "python" / "penstock" / "cli.py").read_text()
    named = re.findall(r'app\.command\("(\w+)"\)', text)
    return {*named, *re.findall(r"app\.command\(\)\((?:\w+\.)?(\w+)\)", text), *re.findall(r"@app\.command\(\)\ndef (\w+)", text)}


def wrong_with_command(command: str) -> str | None:
    """None where somebody could type it."""
    program, *words = command.split()
    if program == "penstock":
        if words[0] not in sub_commands():
            return f"penstock has no command {words[0]}"
        applications = words[1:] if words[0] == "run" else []
    elif program == "./bench":
        source = ROOT / "benchmarks" / words[0].replace("-", "_")
        if not (source.with_suffix(".cpp").exists() or source.with_suffix(".py").exists()):
            return f"there is no benchmark {words[0]}"
        if words[0] == "paper":
            missing = [word for word in words[1:] if word not in {each.name for each in EXPERIMENTS}]
            return f"there is no experiment {missing[0]}" if missing else None
        applications = words[1:2] if words[0] == "gallery" else []
    else:
        return f"{program} is no program of ours"
    return next((f"there is no application {app}" for app in applications if not (ROOT / "apps" / app).is_dir()), None)


def wrong_with_tests(cell: str) -> list[str]:
    """Names of tests stand behind the file that has them."""
    wrong, text = [], ""
    for word in quoted(cell):
        path = ROOT / word
        if "/" in word:
            text = path.read_text() if path.is_file() else ""
            if not path.exists() or not word.startswith("tests/"):
                wrong.append(f"there is no {word}")
        elif not re.search(rf"\b(?:TEST|TEST_P|TEST_F|TYPED_TEST)\(\w+, {word}\)|\bdef {word}\(", text):
            wrong.append(f"there is no test {word}")
    return wrong


def wrong_with_row(row: list[str]) -> list[str]:
    if len(row) != len(HEAD):
        return [f"{len(row)} cells"]
    _, here, test, command, _ = row
    wrong = [f"there is no {path}" for path in quoted(here) if not (ROOT / path).exists()]
    wrong += [f"nothing stands in '{name}'" for name, cell in zip(HEAD[1:4], row[1:4], strict=True) if not quoted(cell)]
    wrong += wrong_with_tests(test)
    return wrong + [why for each in quoted(command) if (why := wrong_with_command(each))]


PAGE = (ROOT / "docs" / "papers.md").read_text()


def test_every_path_test_and_command_of_the_page_exists():
    wrong = [f"{row[0]}: {why}" for rows in chapters(PAGE).values() for row in rows for why in wrong_with_row(row)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("paper", FIGURES)
def test_no_figure_or_table_of_a_paper_is_left_out(paper):
    said = " ".join(row[0].lower() for row in chapters(PAGE)[paper])
    for word, last in (("figure", FIGURES[paper]), ("table", TABLES[paper])):
        assert {int(number) for number in re.findall(rf"\b{word} (\d+)", said)} == set(range(1, last + 1))


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (["a", "`include/penstock/nothing.hpp`", "`tests/task/calls_test.cpp`", "`./bench jobs`", ""], "nothing.hpp"),
        (["a", "`docs/papers.md`", "`tests/task/calls_test.cpp` `no_such_test`", "`./bench jobs`", ""], "no_such_test"),
        (["a", "`docs/papers.md`", "`src/trace/text.cpp`", "`./bench jobs`", ""], "src/trace/text.cpp"),
        (["a", "`docs/papers.md`", "`tests/task/calls_test.cpp`", "`./bench nonsense`", ""], "nonsense"),
        (["a", "`docs/papers.md`", "`tests/task/calls_test.cpp`", "`./bench paper tpc-nonsense`", ""], "tpc-nonsense"),
        (["a", "`docs/papers.md`", "`tests/task/calls_test.cpp`", "`./bench gallery nonsense`", ""], "nonsense"),
        (["a", "`docs/papers.md`", "`tests/task/calls_test.cpp`", "`penstock nonsense`", ""], "nonsense"),
        (["a", "`docs/papers.md`", "", "`./bench jobs`", "because"], "'test'"),
    ],
)
def test_what_is_not_there_is_found(row, said):
    (why,) = wrong_with_row(row)
    assert said in why
