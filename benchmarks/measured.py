"""Measures what the README quotes, by full runs of the benchmarks, and writes its table.

./bench measured --json FILE [--readme README.md] [--only NAME ...] [--quick]

FILE keeps what each benchmark wrote and is taken up again: only what it does not hold is run. The table stands between two marks in the
README; a run that was void, or failed, is said to be so and is no figure. Where the processors were near and far in turn the worse of
the two is quoted, as the goals judge it.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
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
    Row("a message of 8 B, one way, over F2 / times faster than Open MPI", "messages", ("messages/latency-8", "messages/latency-over-openmpi")),
    Row("messages of 1 MiB, rate over memcpy / over Open MPI, the worse of threads and processes", "messages",
        ("messages/bandwidth", "messages/bandwidth-over-openmpi")),
    Row("barrier of two, times faster than std::barrier", "barrier", ("barrier/over-std",)),
    Row("lock of two, times faster than pthread's", "lock", ("lock/over-pthread",)),
    Row("a job of 11 us on 32 KB, what the runtime adds / with 10 times the work", "jobs", ("jobs/overhead-1", "jobs/overhead-10")),
    Row("a chain of 16 null tasks, in round trips of one", "jobs", ("jobs/chain-16",)),
    Row("null task in a worker process, over one on a thread / throughput with a crash in 1,000 tasks", "isolation",
        ("isolation/null-task", "isolation/crash-throughput")),
    Row("task of inferred order / replayed, over the bare ring", "dependences", ("dependences/cost", "dependences/replay")),
    Row("task of inferred order, times faster than OpenMP with `depend` / than StarPU", "dependences",
        ("dependences/over-openmp", "dependences/over-starpu")),
    Row("Python: null task of a compiled body, times faster than ThreadPoolExecutor", "python", ("python/compiled-over-threadpool",)),
    Row("Python: null task of a Python body, times faster than ProcessPoolExecutor", "python", ("python/body-over-processpool",)),
    Row("image kernels, the worst of them, time over the fastest library", "kernels", ("kernels/worst",)),
    Row("2-D FFT, 1024 x 1024, stores, times faster than shared memory", "fft2d", ("fft2d/push-over-shared",)),
    Row("a buffer through a stream, fused / to the next filter of the same target, over the bare ring", "hop", ("hop/fused", "hop/same-target")),
    Row("a buffer to another target and back, over F2", "hop", ("hop/other-target",)),
    Row("a chain of 32 filters, rate over oneTBB's flow graph", "hop", ("hop/chain-over-onetbb",)),
    Row("10,000 edits of a running graph under load: buffers lost, repeated or reordered", "reconfigure", ("reconfigure/lost",)),
    Row("tissue analysis on two processors, over one thread", "tissue", ("tissue/speedup-2",)),
    Row("picture in picture (JPiP), the same", "jpip", ("jpip/speedup-2",)),
    Row("edges over 36 angles, the same", "edge", ("edge/speedup-2",)),
    Row("colour conversion, the same", "colour", ("colour/speedup-2",)),
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


def measured(goal: str, report: dict[str, Any], unit: str) -> str:
    if "error" in report:
        return "failed"
    if report.get("noise", {}).get("void"):
        return "void"
    found = next((one for one in report["goals"] if one["name"] == goal), None)
    if found is None or found["value"] is None:
        return "not measured"
    return f"{found['value']:.3g}{unit} ({found['low']:.3g} to {found['high']:.3g})"


def wanted(goal: str, report: dict[str, Any], unit: str) -> str:
    found = next((one for one in report.get("goals", ()) if one["name"] == goal), None)
    return "" if found is None else f"{'at most' if found['direction'] == '<=' else 'at least'} {found['goal']:g}{unit}"


def table(reports: dict[str, dict[str, Any]]) -> str:
    lines = ["| what | measured (95 % interval) | goal | command |", "|---|---|---|---|"]
    for row in ROWS:
        if (report := reports.get(row.bench)) is not None:
            figures = " / ".join(measured(goal, report, row.unit) for goal in row.goals)
            goals = " / ".join(wanted(goal, report, row.unit) for goal in row.goals)
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
    parser.add_argument("--only", metavar="NAME", nargs="+", help="these benchmarks alone, and anew")
    parser.add_argument("--quick", action="store_true", help="fewer rounds: to see that it runs; never for the README")
    options = parser.parse_args()
    if options.quick and options.readme:
        parser.error("quick runs are no figures: leave out --readme or --quick")
    names = list(dict.fromkeys(row.bench for row in ROWS))
    if unknown := set(options.only or ()) - set(names):
        parser.error(f"the README quotes nothing of {', '.join(sorted(unknown))}; it quotes {', '.join(names)}")
    document = json.loads(options.json.read_text()) if options.json.exists() else {"quick": options.quick, "reports": {}}
    if document["quick"] != options.quick:
        parser.error(f"{options.json} holds {'quick' if document['quick'] else 'full'} runs; name another file")
    for bench in options.only or (name for name in names if "error" in document["reports"].get(name, {"error": ""})):
        print(f"{bench} ...", file=sys.stderr, flush=True)
        document["reports"][bench] = run(bench, options.quick)
        options.json.write_text(json.dumps(document, indent=1) + "\n")
    lines = table(document["reports"])
    print(lines)
    if options.readme:
        write_into(options.readme, lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
