# The papers' experiments, repeated here: one by name, or all into one page with plots.
#
# ./bench paper lists them. Each runs other benchmarks and sets what they print beside what the paper published. A run that fails is
# named in the page and does not lose the others; with --json FILE what was measured is kept run by run, and --resume goes on from there.
"""The benchmark `./bench paper`."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from paper import EXPERIMENTS
from paper.experiment import Experiment
from paper.figures import Figures
from paper.page import write_page
from paper.running import Results, run_all
from paper.told import markdown, print_experiment, print_list
from rich.console import Console


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./bench paper", description="Repeats the papers' experiments.")
    parser.add_argument("name", nargs="?", help="an experiment, or 'all'; without it they are listed")
    parser.add_argument("--quick", action="store_true", help="less of everything: shows sizes, not values")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep what was measured in FILE, run by run")
    parser.add_argument("--resume", action="store_true", help="leave out the runs that --json FILE already holds")
    parser.add_argument("--report", type=Path, metavar="FILE.html", help="write a page with plots")
    parser.add_argument(
        "--markdown",
        type=Path,
        metavar="FILE.md",
        help="write the tables and sentences as Markdown: docs/experiments.md",
    )
    parser.add_argument(
        "--from", type=Path, metavar="FILE", dest="source", help="measure nothing: take the figures of --json FILE"
    )
    parser.add_argument(
        "--beside",
        type=Path,
        metavar="FILE",
        action="append",
        default=[],
        help="show another machine's --json FILE too",
    )
    parser.add_argument("--machine", default="", metavar="NAME", help="what this machine is called in what is written")
    chosen = parser.parse_args(given)
    if chosen.name is None and any(
        (chosen.quick, chosen.resume, chosen.json, chosen.report, chosen.markdown, chosen.source, chosen.beside, chosen.machine)
    ):
        parser.error("say which experiment, or 'all': without a name they are only listed")
    if chosen.resume and chosen.json is None:
        parser.error("--resume goes on from a file: give --json FILE")
    if chosen.source is not None and (chosen.quick or chosen.json is not None):
        parser.error("--from measures nothing: leave out --quick and --json")
    return chosen


def chosen_experiments(name: str) -> list[Experiment]:
    """The experiment of this name, or all. Raises ValueError that lists the names."""
    found = [each for each in EXPERIMENTS if name in ("all", each.name)]
    if not found:
        raise ValueError(
            f"there is no experiment called '{name}'; there are all, " + ", ".join(each.name for each in EXPERIMENTS)
        )
    return found


def check_writable(path: Path | None) -> None:
    """Before anything is measured: raises OSError where the file could not be written afterwards."""
    if path is None:
        return
    new = not path.exists()
    path.open("a").close()
    if new:
        path.unlink()


def read(path: Path) -> Figures:
    """Figures that --json wrote. Raises OSError, ValueError."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if (
            not isinstance(document["runs"], dict)
            or not isinstance(document["quick"], bool)
            or not isinstance(document["machine"], str)
        ):
            raise TypeError
    except (KeyError, TypeError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} does not hold what ./bench paper --json wrote") from error
    return Figures(document)


def begun(chosen: argparse.Namespace) -> Results:
    """Where results go: a file that is taken up again, or a new one. Raises OSError, ValueError."""
    document = None
    if chosen.resume and chosen.json.exists():
        document = read(chosen.json).document
        if document["quick"] != chosen.quick:
            words = ("quick", "with") if document["quick"] else ("full", "without")
            raise ValueError(f"{chosen.json} holds {words[0]} runs: go on {words[1]} --quick")
    return Results(chosen.quick, chosen.machine, chosen.json, document)


def main(given: Sequence[str] | None = None) -> int:
    chosen = arguments(given)
    console = Console(width=None if sys.stdout.isatty() else 150)  # tables in a file are not squeezed
    if chosen.name is None:
        print_list(EXPERIMENTS, console)
        return 0
    try:
        experiments = chosen_experiments(chosen.name)
        for path in (chosen.json, chosen.report, chosen.markdown):
            check_writable(path)
        others = [read(path) for path in chosen.beside]
        results = Results(False, chosen.machine, None, read(chosen.source).document) if chosen.source else begun(chosen)
    except (OSError, ValueError) as error:
        print(f"paper: {error}", file=sys.stderr)
        return 2
    if chosen.source is None:
        try:
            run_all(experiments, results, lambda line: console.print(line, highlight=False, markup=False))
        except KeyboardInterrupt:
            kept = f"; --resume goes on from {chosen.json}" if chosen.json else ""
            print(f"paper: interrupted{kept}", file=sys.stderr)
            return 130
    machines = [Figures(results.document), *others]
    for each in experiments:
        print_experiment(each, machines, console)
    if chosen.report is not None:
        write_page(chosen.report, experiments, machines)
        console.print(f"\npage: {chosen.report}", soft_wrap=True, highlight=False)
    if chosen.markdown is not None:
        chosen.markdown.write_text(markdown(experiments, machines), encoding="utf-8")
    return 0 if all(results.done(run) for each in experiments for run in each.runs) else 1


if __name__ == "__main__":
    sys.exit(main())
