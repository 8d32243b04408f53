"""Runs benchmarks and keeps what they wrote, in one JSON document that is saved after each run and can be taken up again."""

import contextlib
import datetime
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from paper.experiment import Experiment
from paper.parts import Run

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "bench"
LONGEST = {True: 290, False: 3600}  # seconds that a quick and a full run may take
ATTEMPTS = {True: 1, False: 3}  # of a run that is void: a quick one shows sizes only


class Results:
    """{"machine", "quick", "runs": {name: {"command", "date", "program", "seconds", "report" or "error"}}}."""

    def __init__(
        self, quick: bool, machine: str, path: Path | None = None, document: dict[str, Any] | None = None
    ) -> None:
        self.path = path
        self.document: dict[str, Any] = document or {"quick": quick, "runs": {}}
        self.document["machine"] = machine or self.document.get("machine", "")

    def done(self, run: Run) -> bool:
        """Whether it has been run and did not fail."""
        return "report" in self.document["runs"].get(run.name(self.document["quick"]), {})

    def add(self, run: Run, result: dict[str, Any]) -> None:
        """Keeps what one run gave, also on the disk."""
        self.document["runs"][run.name(self.document["quick"])] = result
        if not self.document["machine"] and "report" in result:
            facts = result["report"]["machine"]
            self.document["machine"] = f"{facts['processor']}, {facts['processors']} processors"
        if self.path is not None:
            beside = self.path.with_name(self.path.name + ".new")  # whoever is killed while writing keeps the old file
            beside.write_text(json.dumps(self.document, indent=1) + "\n", encoding="utf-8")
            beside.replace(self.path)


def runs_of(experiments: Iterable[Experiment], quick: bool) -> list[Run]:
    """Each run once, in the order in which it is needed."""
    runs: dict[str, Run] = {}
    for experiment in experiments:
        for run in experiment.runs:
            runs.setdefault(run.name(quick), run)
    return list(runs.values())


def run_all(experiments: Iterable[Experiment], results: Results, say: Callable[[str], None]) -> None:
    """Makes every run that `results` does not hold yet. What fails is kept as a failure, and the rest goes on."""
    quick = results.document["quick"]
    runs = runs_of(experiments, quick)
    for number, run in enumerate(runs, 1):
        if results.done(run):
            say(f"{number}/{len(runs)} {run.command(quick)}: taken from {results.path}")
            continue
        for attempt in range(1, ATTEMPTS[quick] + 1):
            say(f"{number}/{len(runs)} {run.command(quick)} ...")
            result = perform(run, quick)
            results.add(run, result)
            said = f", FAILED: {result['error']}" if "error" in result else ", void" if is_void(result) else ""
            say(f"    {result['seconds']:.0f} s{said}")
            if not is_void(result) or attempt == ATTEMPTS[quick]:
                break


def is_void(result: dict[str, Any]) -> bool:
    """Whether a run did not fail, and judged itself too noisy."""
    return bool((result.get("report", {}).get("noise") or {}).get("void"))


def perform(run: Run, quick: bool) -> dict[str, Any]:
    """Builds and runs one benchmark; never raises for what becomes of it."""
    result: dict[str, Any] = {"command": run.command(quick), "date": datetime.date.today().isoformat(), "program": program()}
    ready = _call(
        [str(BENCH), run.benchmark, "--list"], 3600
    )  # builds: compiling is no part of the time that it may take
    begin = time.monotonic()
    if ready is None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "report.json"
            failed = _call(
                [str(BENCH), *run.words(quick), *(["--quick"] if quick else []), "--json", str(file)], LONGEST[quick]
            )
            result |= {"error": failed} if failed else _read(file)
    else:
        result["error"] = ready
    return result | {"seconds": round(time.monotonic() - begin, 1)}


def program() -> str | None:
    """The commit that is measured, "-dirty" behind it where files were changed since; None outside a working tree."""
    try:
        asked = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=7", "--exclude=*"],
            cwd=ROOT, capture_output=True, text=True, timeout=30, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return asked.stdout.strip() or None


def _read(file: Path) -> dict[str, Any]:
    try:
        return {"report": json.loads(file.read_text(encoding="utf-8"))}
    except (OSError, ValueError) as error:
        return {"error": f"it wrote no figures ({error})"}


def _call(command: list[str], longest: float) -> str | None:
    """Runs a command in a group of its own. What went wrong, or None."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            status = process.wait(longest)
        except BaseException as error:  # also an interruption: nothing that was started stays behind
            _end(process)
            if isinstance(error, subprocess.TimeoutExpired):
                return f"it took more than {longest:.0f} s"
            raise
        if status == 0:
            return None
        output.seek(0)
        last = output.read().decode(errors="replace").strip().splitlines()[-1:] or ["it said nothing"]
        return f"it ended with {status}: {last[0][:300]}"


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends whatever is left of the group: also what a benchmark that was given up had started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
