"""Measures what the documentation quotes, by full runs of the benchmarks, and writes its table.

./bench measured --json FILE [--readme docs/performance/measured.md] [--runs N] [--only NAME ...] [--quick]

FILE keeps what each benchmark wrote, and of which commit. It is taken up again: only what it does not hold is run, and figures of another
commit are refused. A run that was void, or failed, is run again, three times at most; what stays so is said to be so and is no figure. Of
N runs each goal's worst is quoted, and of a run the worst standing of the processors, as the goals judge it. The table stands between two
marks in that page.
"""

import argparse
import hashlib
import json
import math
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ATTEMPTS = 3  # of each run that was void or failed, in one call
MARKS = ("<!-- measured: written by ./bench measured -->", "<!-- /measured -->")


@dataclass(frozen=True)
class Row:
    what: str
    bench: str
    goals: tuple[str, ...]
    unit: str = ""


ROWS = (
    Row("null task there and back, no arguments / 4 spans, over F1, the bounce of one cache line", "null-task",
        ("null-task/round-trip-0", "null-task/round-trip-4")),
    Row("null tasks, one initiator to one target, over the bare ring", "null-task", ("null-task/throughput-1",)),
    Row("what the trace costs a null task, in null tasks", "null-task", ("trace/cost",)),
    Row("null tasks, times faster than oneTBB / than OpenMP with `depend`", "peers",
        ("peers/throughput-over-onetbb", "peers/throughput-over-openmp-depend")),
    Row("a task handed to another core and back, times faster than oneTBB", "peers", ("peers/handoff-over-onetbb",)),
    Row("smallest task at 50 % efficiency (METG, stencil, 2 processors)", "granularity", ("granularity/stencil-metg",), " us"),
    Row("strided tiles of 64 x 256 B, prefetch over none", "prefetch", ("prefetch/strided",)),
    Row("LU, n=512, B=16, time over threads by hand", "lu", ("lu/over-hand",)),
    Row("the same by calls ordered by their tags / by these replayed", "lu", ("lu/dependent-over-hand", "lu/replayed-over-hand")),
    Row("LU by tagged calls, times faster than OpenMP", "lu", ("lu/over-openmp",)),
    Row("pieces of 0.5 to 50 us / of more, up to 1 ms, in a loop, a pipeline and a graph: times faster than the best rival, the worst of them",
        "grain", ("grain/below-50us", "grain/above-50us")),
    Row("applications whose bodies sleep, on up to 32 workers: the bound over the time, the worst of them", "scale", ("scale/of-bound",)),
    Row("a message of 8 B, one way, over F2 / times faster than Open MPI", "messages", ("messages/latency-8", "messages/latency-over-openmpi")),
    Row("messages of 1 MiB, rate over memcpy / over Open MPI, the worse of threads and processes", "messages",
        ("messages/bandwidth", "messages/bandwidth-over-openmpi")),
    Row("messages between processes, the worst size of 1 B to 16 MiB, times faster than Open MPI", "messages", ("messages/over-openmpi",)),
    Row("barrier of two, times faster than std::barrier", "barrier", ("barrier/over-std",)),
    Row("lock of two, times faster than pthread's", "lock", ("lock/over-pthread",)),
    Row("a job of 11 us on 32 KB, what the runtime adds / with 10 times the work", "jobs", ("jobs/overhead-1", "jobs/overhead-10")),
    Row("a chain of 16 null tasks, in round trips of one", "jobs", ("jobs/chain-16",)),
    Row("null task in a worker process, over one on a thread / throughput with a crash in 1,000 tasks", "isolation",
        ("isolation/null-task", "isolation/crash-throughput")),
    Row("task of inferred order / replayed, over the bare ring", "dependences", ("dependences/cost", "dependences/replay")),
    Row("task of inferred order, times faster than OpenMP with `depend` / than StarPU", "dependences",
        ("dependences/over-openmp", "dependences/over-starpu")),
    Row("smallest task at 50 % efficiency in inferred order, times smaller than OpenMP's with `depend`", "dependences",
        ("dependences/stencil-metg-over-openmp-depend",)),
    Row("Python: null task of a compiled body, times faster than ThreadPoolExecutor", "python", ("python/compiled-over-threadpool",)),
    Row("Python: null task of a Python body, times faster than ProcessPoolExecutor", "python", ("python/body-over-processpool",)),
    Row("image kernels, the worst of them, time over the fastest library", "kernels", ("kernels/worst",)),
    Row("2-D FFT, 1024 x 1024, stores, times faster than shared memory", "fft2d", ("fft2d/push-over-shared",)),
    Row("a buffer through a stream, fused / to the next filter of the same target, over the bare ring", "hop", ("hop/fused", "hop/same-target")),
    Row("a buffer to another target and back, over F2", "hop", ("hop/other-target",)),
    Row("a chain of 32 filters, rate over oneTBB's flow graph", "hop", ("hop/chain-over-onetbb",)),
    Row("10,000 edits of a running graph under load: buffers lost, repeated or reordered", "reconfigure", ("reconfigure/lost",)),
    Row("tissue analysis, times as fast as one thread on two processors / as the best rival (oneTBB, OpenMP) on all", "tissue",
        ("tissue/speedup-2", "tissue/over-best")),
    Row("picture in picture (JPiP), the same", "jpip", ("jpip/speedup-2", "jpip/over-best")),
    Row("edges over 36 angles, the same", "edge", ("edge/speedup-2", "edge/over-best")),
    Row("colour conversion, the same", "colour", ("colour/speedup-2", "colour/over-best")),
    Row("tissue analysis in tiles of 32 x 32, rate over the best rival's", "tissue", ("tissue/over-best-small",)),
    Row("colour conversion in tiles of 32 x 32, rate over the best rival's", "colour", ("colour/over-best-small",)),
    Row("sum of two matrices through streams, rate over the best rival's / in buffers of 4 KiB", "matrix-add",
        ("matrix-add/over-best", "matrix-add/over-best-small")),
    Row("applications from XML / compiled from XML, throughput over the same graph in C++: the worst", "language",
        ("language/throughput", "language/compiled")),
    Row("from a file of 1,000 components to the running graph", "language", ("language/load-1000",), " ms"),
)  # fmt: skip


def run(bench: str, quick: bool) -> dict[str, Any]:
    """What the benchmark wrote, or why it wrote nothing."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        command = [ROOT / "bench", bench, "--json", result, *(["--quick"] if quick else [])]
        try:
            done = subprocess.run(command, cwd=ROOT, timeout=3600, capture_output=True, text=True)
        except subprocess.TimeoutExpired:
            return {"error": "it did not end within an hour"}
        if done.returncode != 0 or not result.exists():
            return {"error": (done.stderr.strip() or f"it ended with {done.returncode}")[-300:]}
        return json.loads(result.read_text())


def usable(report: dict[str, Any]) -> bool:
    return "error" not in report and not report.get("noise", {}).get("void")


def run_often(bench: str, quick: bool, reports: list[dict[str, Any]], runs: int) -> list[dict[str, Any]]:
    """The usable of these reports and new ones, so that there are `runs`; the last that was none where no run was usable."""
    kept, last = [report for report in reports if usable(report)], None
    for _ in range(runs - len(kept)):
        for _ in range(ATTEMPTS):
            start = time.monotonic()
            last = run(bench, quick)
            last["seconds"] = round(time.monotonic() - start)
            how = last.get("error") or ("void" if not usable(last) else "measured")
            print(f"{bench}: {how}, after {last['seconds']} s", file=sys.stderr, flush=True)
            if usable(last):
                kept.append(last)
                break
        else:
            break  # the next run would be no better
    return kept or ([last] if last else reports)


def commit() -> str:
    """The program that is measured: its commit, and what was changed since. The README and the docs are not the program."""
    def git(*words: str) -> str:
        return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=True).stdout

    try:
        head, changed = git("rev-parse", "HEAD").strip(), git("diff", "HEAD", "--", ".", ":(exclude)*.md")
    except (OSError, subprocess.CalledProcessError):
        return "unknown: not under git"
    return head + (f" with changes {hashlib.sha256(changed.encode()).hexdigest()[:12]}" if changed else "")


def goal_in(report: dict[str, Any], goal: str) -> dict[str, Any] | None:
    return next((one for one in report.get("goals", ()) if one["name"] == goal), None)


def measured(goal: str, reports: list[dict[str, Any]], unit: str) -> str:
    good = [report for report in reports if usable(report)]
    if not good:
        return "not measured" if not reports else "failed" if "error" in reports[-1] else "void"
    found = [one for report in good if (one := goal_in(report, goal)) is not None]
    if not found or any(one["value"] is None for one in found):
        return "not measured"
    if any(one["low"] is None for one in found):
        return "too few rounds"
    worst = (max if found[0]["direction"] == "<=" else min)(found, key=lambda one: one["value"])
    high = math.inf if worst["high"] is None else worst["high"]
    return f"{worst['value']:.3g}{unit} ({worst['low']:.3g} to {high:.3g})" + ("" if all(one["met"] for one in found) else ", missed")


def wanted(goal: str, reports: list[dict[str, Any]], unit: str) -> str:
    found = next((one for report in reports if (one := goal_in(report, goal)) is not None), None)
    return "" if found is None else f"{'at most' if found['direction'] == '<=' else 'at least'} {found['goal']:g}{unit}"


def table(document: dict[str, Any]) -> str:
    reports = {name: some for name, some in document["reports"].items() if some}
    machines = sorted({f"{m['processor']}, {m['processors']} processors" for some in reports.values() for one in some if (m := one.get("machine"))})
    runs = sorted({sum(map(usable, some)) for some in reports.values()} - {0}) or [0]
    often = f"{runs[0]}" if len(runs) == 1 else f"{runs[0]} to {runs[-1]}"
    kind = "quick" if document["quick"] else "full"
    lines = [
        f"Commit {document['commit']}; {'; '.join(machines) or 'no machine'}; the worst of {often} {kind} run{'' if runs == [1] else 's'} of each.", "",
        "| what | measured (95 % interval) | goal | command |", "|---|---|---|---|",
    ]  # fmt: skip
    for row in ROWS:
        some = reports.get(row.bench, [])
        figures = " / ".join(measured(goal, some, row.unit) for goal in row.goals)
        goals = " / ".join(wanted(goal, some, row.unit) for goal in row.goals)
        lines.append(f"| {row.what} | {figures} | {goals} | `./bench {row.bench}` |")
    return "\n".join(lines)


def write_into(path: Path, lines: str) -> None:
    text = path.read_text()
    before, opening, rest = text.partition(MARKS[0])
    _, closing, after = rest.partition(MARKS[1])
    if not opening or not closing:
        sys.exit(f"{path} has no marks for the table: {MARKS[0]} and {MARKS[1]}")
    path.write_text(f"{before}{opening}\n{lines}\n{closing}{after}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="./bench measured", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE", type=Path, required=True, help="what was measured; taken up again")
    parser.add_argument("--readme", metavar="FILE", type=Path, help="write the table into it, between the marks")
    parser.add_argument("--runs", metavar="N", type=int, default=1, help="runs of each benchmark, of which the worst counts (1)")
    parser.add_argument("--only", metavar="NAME", nargs="+", help="these benchmarks alone, and anew")
    parser.add_argument("--quick", action="store_true", help="fewer rounds: to see that it runs; never for the documentation")
    options = parser.parse_args()
    if options.quick and options.readme:
        parser.error("quick runs are no figures: leave out --readme or --quick")
    names = list(dict.fromkeys(row.bench for row in ROWS))
    if unknown := set(options.only or ()) - set(names):
        parser.error(f"the documentation quotes nothing of {', '.join(sorted(unknown))}; it quotes {', '.join(names)}")
    if options.runs < 1:
        parser.error("--runs is at least 1")
    program = commit()
    document = json.loads(options.json.read_text()) if options.json.exists() else {"quick": options.quick, "commit": program, "reports": {}}
    if document["quick"] != options.quick:
        parser.error(f"{options.json} holds {'quick' if document['quick'] else 'full'} runs; name another file")
    if document.get("commit") != program:
        parser.error(f"{options.json} holds figures of {document.get('commit', 'an unknown commit')}, and this is {program}; name another file")
    for bench in options.only or names:
        before = [] if options.only else document["reports"].get(bench, [])
        if sum(map(usable, before)) >= options.runs:
            continue
        print(f"{bench} ...", file=sys.stderr, flush=True)
        document["reports"][bench] = run_often(bench, options.quick, before, options.runs)
        options.json.write_text(json.dumps(document, indent=1) + "\n")
    if bad := [name for name, some in document["reports"].items() if not any(map(usable, some))]:
        print(f"void or failed {ATTEMPTS} times: {', '.join(bad)}; the same command runs them again", file=sys.stderr)
    lines = table(document)
    print(lines)
    if options.readme:
        write_into(options.readme, lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
