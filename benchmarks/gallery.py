# An application of the gallery on 1 to N processors: its ways against one thread, and where the time of tagged calls went.
#
# ./bench gallery NAME [--set rows=512 ...]. The ways take turns, run by run; the noise is the ratio of the serial way's even runs to its odd
# ones. Options: --set, as `penstock run` takes it, --quick, --json FILE.
"""The benchmark `./bench gallery`."""

import argparse
import json
import os
import statistics
import sys
from pathlib import Path
from typing import Any

from harness.ratios import LARGEST_NOISE, machine_facts, moved, noise_of, ratio, without_nan

import penstock as ps
from penstock._core import app_ways
from penstock.recording import record_app

WORTH_TIMING = 2e-6  # seconds of a task, of which two looks at the clock take some hundredths


def widths() -> list[int]:
    """1, 2, 4 ... and all processors."""
    most = max(2, len(os.sched_getaffinity(0)))
    return sorted({*(1 << i for i in range(most.bit_length()) if 1 << i < most), most})


def shares(breakdowns: list[dict[str, Any]], role: str) -> dict[str, float]:
    """Percent of the time of all threads in this role and all periods, by what it went for."""
    tracks = [track for breakdown in breakdowns for track in breakdown["tracks"] if track["role"] == role]
    wall = sum(track["wall_seconds"] for track in tracks)
    parts = {part for track in tracks for part in track["shares"]}
    if not wall:
        return {}
    seconds = {part: sum(track["shares"].get(part, {"seconds": 0.0})["seconds"] for track in tracks) for part in sorted(parts)}
    return {f"{part}_percent": 100 * spent / wall for part, spent in seconds.items()}


def counterpart(way: str, timings: dict[str, list[float]]) -> list[float]:
    """What one thread takes for the same: of the way "tagged rows" it is "serial rows", where there is such a way."""
    part = way.partition(" ")[2]
    return timings.get(f"serial {part}", timings["serial"])


def measure(
    name: str, settings: dict[str, int], workers: int
) -> tuple[list[dict[str, Any]], tuple[float, float, float], float]:
    """The rows of so many workers, the noise, and by how much the serial way moved."""
    tagged = "tagged" if "tagged" in app_ways(name) else None
    with ps.Machine(targets=workers - 1) as machine:
        # Samples do for many short tasks, which timing would lengthen. There are too few of long ones, which it does not.
        once = record_app(machine, name, settings | {"repetitions": 1}, events=0, way=tagged)
        long = once.tagged and once.seconds("serial") / once.result["tasks"] >= WORTH_TIMING
        recorded = record_app(machine, name, settings, events=int(long), way=tagged, every_run=long)
    result = recorded.result
    if not result["ok"]:
        raise RuntimeError(
            f"{name}: a check does not hold: "
            + ", ".join(check["name"] for check in result["checks"] if not check["ok"])
        )
    rows: list[dict[str, Any]] = []
    serial = result["timings"]["serial"]
    for way, seconds in result["timings"].items():
        faster, low, high = ratio(counterpart(way, result["timings"]), seconds)
        row = {
            "name": f"{workers} workers, {way}",
            "median_us": statistics.median(seconds) * 1e6,
            "speed_up": faster,
            "low": low,
            "high": high,
        }
        rows.append(row | {"tasks": result["tasks"]})
    if recorded.tagged:
        breakdowns = [period.breakdown() for period in recorded.periods]
        for role, words in (("initiator", "initiator"), ("target", "targets")):
            if found := shares(breakdowns, role):
                rows.append({"name": f"{workers} workers, {words}", **found})
    half = len(serial) // 2 * 2
    return rows, ratio(serial[0:half:2], serial[1:half:2]), moved(serial)


def settings_of(given: list[str], parser: argparse.ArgumentParser) -> dict[str, int]:
    settings = {}
    for setting in given:
        name, _, value = setting.partition("=")
        if not value.isdecimal():
            parser.error(f"--set {setting}: write it as rows=512")
        settings[name] = int(value)
    return settings


def main() -> int:
    names = [name for name, _ in ps.gallery()]
    parser = argparse.ArgumentParser(prog="./bench gallery", description=__doc__)
    parser.add_argument("name", nargs="?", help="one of " + ", ".join(names))
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        dest="settings",
        help="rows, columns, block_rows, block_columns, seed, repetitions",
    )
    parser.add_argument("--quick", action="store_true", help="fewer runs")
    parser.add_argument("--json", metavar="FILE", help="also writes what was measured")
    parser.add_argument("--list", action="store_true", help="name the applications")
    options = parser.parse_args()
    if options.list:
        print("\n".join(names))
        return 0
    if options.name not in names:
        parser.error(f"name an application: {', '.join(names)}")
    settings = {"repetitions": 6 if options.quick else 20} | settings_of(options.settings, parser)
    rows, noises, moves = [], [], []
    for workers in widths():
        measured, noise, move = measure(options.name, settings, workers)
        rows += measured
        noises.append(noise)
        moves.append(move)
        for row in measured:
            print(
                f"{row['name']:32}" + "  ".join(f"{key} {value:.4g}" for key, value in row.items() if key != "name"),
                flush=True,
            )
    noise = max(noises, key=noise_of)
    void = noise_of(noise) > LARGEST_NOISE
    print(
        f"\nnoise (A/A) {noise[0]:.3g} [{noise[1]:.3g}, {noise[2]:.3g}]; the serial way moved by {100 * max(moves):.0f} %"
        + ("; VOID" if void else "")
    )
    if options.json:
        document = {
            "bench": "gallery", "machine": machine_facts(), "quick": options.quick, "noise": {
                "value": noise[0], "low": noise[1], "high": noise[2], "floor_moved": max(moves), "runs_thrown_away": 0, "void": void,
            },
            "rows": rows, "goals": [], "notes": [{"text": f"{options.name}, {settings}; every way's result was checked"}],
        }  # fmt: skip
        Path(options.json).write_text(json.dumps(without_nan(document), indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
