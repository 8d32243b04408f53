# What a task costs from Python, with a compiled body and with a Python body, against ThreadPoolExecutor, ProcessPoolExecutor, loky, joblib, Dask and Ray.
#
# Each contestant does one short batch a round, in an order that is shuffled anew each round, and only ratios of the same round
# count. What our side of the goals stands on is there twice, a null task and an array of 1 MiB, and the worse of their ratios to
# themselves is the noise; so is ThreadPoolExecutor's null task, which two threads hand the interpreter's lock to one another for: a
# note says how far it is from itself on a quiet machine. The floor is a plain call of Python. Peers that are not installed are
# named and left out. Options: --quick, --json FILE.
"""The benchmark `./bench python`."""

import argparse
import concurrent.futures
import ctypes
import importlib.util
import json
import math
import multiprocessing
import os
import random
import re
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from harness.ratios import LARGEST_NOISE, ROUNDS_OF_AN_INTERVAL, machine_facts, moved, noise_of, ratio, without_nan

import penstock as ps

ELEMENTS = 1 << 17  # of float64: 1 MiB
TILES = 16  # in a map
OUTSTANDING = 10_000
SETTLE = 3e-3  # seconds of quiet before each batch

GOALS = [  # name, what, over what, at least
    ("python/compiled-over-threadpool", "null task: compiled body", "null task: ThreadPoolExecutor", 20.0),
    ("python/body-over-processpool", "null task: Python body", "null task: ProcessPoolExecutor", 15.0),
    ("python/outstanding-over-processpool", "10,000 outstanding: Python body", "10,000 outstanding: ProcessPoolExecutor", 15.0),
    ("python/map-over-call", "map over tiles of 1 MiB: machine.map", "map over tiles of 1 MiB: call(In)", 1 / 1.3),
    *(
        (f"python/{what}-over-{peer.lower()}", f"{ours}: Python body{how}", f"{ours}: {peer}", 1.0)
        for what, ours, how in (("null", "null task", ""), ("array", "1 MiB array", ", copied"))
        for peer in ("loky", "joblib", "Dask", "Ray")
    ),
]


TWICE = ("null task: Python body", "1 MiB array: Python body, copied", "null task: ThreadPoolExecutor")
FLOOR = "no task: a call"


def nothing() -> None:
    """A task that does nothing."""


def negate(x: np.ndarray) -> np.ndarray:
    """What peers do with an array: it travels there and back."""
    return -x


def first(x: np.ndarray) -> float:
    """So little that it is the way of the tile that counts."""
    return float(x[0])


def negate_in_place(x: np.ndarray) -> None:
    """The same in memory that both sides have."""
    np.negative(x, out=x)


class Contestant:
    """`operation(count)` does so many operations; `count` of them are a batch."""

    def __init__(self, name: str, count: int, operation: Callable[[int], None]) -> None:
        self.name, self.count, self.operation = name, count, operation
        self.times: list[float] = []

    def run(self) -> None:
        time.sleep(SETTLE)
        self.operation(max(1, self.count // 8))
        begin = time.perf_counter()
        self.operation(self.count)
        self.times.append((time.perf_counter() - begin) / self.count * 1e9)


def one_after_another(submit: Callable[[], Any], finish: Callable[[Any], Any]) -> Callable[[int], None]:
    def operation(count: int) -> None:
        for _ in range(count):
            finish(submit())

    return operation


def all_outstanding(submit: Callable[[], Any], finish: Callable[[list[Any]], Any]) -> Callable[[int], None]:
    def operation(count: int) -> None:
        finish([submit() for _ in range(count)])

    return operation


def of_executor(name: str, pool: concurrent.futures.Executor, few: int, many: int) -> list[Contestant]:
    x = np.ones(ELEMENTS)
    return [
        Contestant(f"null task: {name}", few, one_after_another(lambda: pool.submit(nothing), lambda future: future.result())),
        Contestant(f"1 MiB array: {name}", few, one_after_another(lambda: pool.submit(negate, x), lambda future: future.result())),
        Contestant(f"10,000 outstanding: {name}", many, all_outstanding(lambda: pool.submit(nothing), lambda all_: [f.result() for f in all_])),
    ]


def of_machine(machine: ps.Machine, scale: float) -> list[Contestant]:
    library = ctypes.CDLL(None)
    compiled = ps.compiled(ctypes.cast(library.getpagesize, ctypes.c_void_p).value, "void (void)", "getpagesize")  # as good as nothing
    shared, outside = machine.array(ELEMENTS), np.ones(ELEMENTS)
    in_place, copied = ps.InOut(shared), ps.InOut(outside)
    barrier = machine.barrier

    def null(body: Any) -> Callable[[int], None]:
        return one_after_another(lambda: machine.call(body), lambda handle: handle.wait())

    def many(body: Any) -> Callable[[int], None]:
        return all_outstanding(lambda: machine.call(body), lambda _: barrier())

    few, lot = int(400 * scale), int(OUTSTANDING * min(1, scale))
    tiles = [np.ones(ELEMENTS) for _ in range(TILES)]

    def mapped(count: int) -> None:
        for _ in range(count):
            for _ in machine.map(first, tiles, chunksize=1):
                pass

    def called(count: int) -> None:
        for _ in range(count):
            for handle in [machine.call(first, ps.In(tile)) for tile in tiles]:
                handle.result()

    return [
        Contestant("map over tiles of 1 MiB: machine.map", max(2, few // 40), mapped),
        Contestant("map over tiles of 1 MiB: call(In)", max(2, few // 40), called),
        Contestant("null task: compiled body", few, null(compiled)),
        Contestant("null task: Python body", few, null(nothing)),
        Contestant("1 MiB array: Python body, in place", few, one_after_another(lambda: machine.call(negate_in_place, in_place), lambda h: h.wait())),
        Contestant("1 MiB array: Python body, tagged", few, one_after_another(lambda: machine.call(negate_in_place, copied), lambda h: h.wait())),
        Contestant("1 MiB array: Python body, copied", few // 4, one_after_another(lambda: machine.call(negate, outside), lambda h: h.result())),
        Contestant("10,000 outstanding: compiled body", lot, many(compiled)),
        Contestant("10,000 outstanding: Python body", lot, many(nothing)),
        *of_executor("machine.executor()", machine.executor(), few // 4, lot // 4),
    ]


def of_loky(few: int) -> list[Contestant]:
    from joblib.externals.loky import ProcessPoolExecutor  # one of its own: joblib takes the reusable one for itself

    return of_executor("loky", ProcessPoolExecutor(max_workers=1), few, 200)


def of_joblib(few: int) -> list[Contestant]:
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=2)
    x = np.ones(ELEMENTS)
    parallel.__enter__()
    return [
        Contestant("null task: joblib", few, lambda count: [parallel([delayed(nothing)()]) for _ in range(count)] and None),
        Contestant("1 MiB array: joblib", few, lambda count: [parallel([delayed(negate)(x)]) for _ in range(count)] and None),
        Contestant("10,000 outstanding: joblib", 500, lambda count: parallel(delayed(nothing)() for _ in range(count)) and None),
    ]


def of_dask(few: int) -> list[Contestant]:
    from distributed import Client

    client = Client(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None)
    return of_executor("Dask", client.get_executor(pure=False), few, 200)


def of_ray(few: int) -> list[Contestant]:
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    null, twice, x = ray.remote(nothing), ray.remote(negate), np.ones(ELEMENTS)
    return [
        Contestant("null task: Ray", few, one_after_another(null.remote, ray.get)),
        Contestant("1 MiB array: Ray", few, one_after_another(lambda: twice.remote(x), ray.get)),
        Contestant("10,000 outstanding: Ray", 500, all_outstanding(null.remote, ray.get)),
    ]


def leave_processor_of_target(machine: ps.Machine) -> None:
    """Pins this thread, and none of the pools' that run already, beside the machine's target, which has a processor of its own."""
    taken = re.search(r"on processors (\d+)", machine.description)
    others = sorted(os.sched_getaffinity(0) - {int(taken[1])}) if taken else []
    if others:
        os.sched_setaffinity(0, {others[0]})


def measure(machine: ps.Machine, contestants: list[Contestant], rounds: int) -> None:
    rng = random.Random(1)
    for contestant in contestants:  # workers start, functions travel
        contestant.operation(2)
    leave_processor_of_target(machine)
    for _ in range(rounds):
        rng.shuffle(contestants)
        for contestant in contestants:
            contestant.run()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds: to see that it runs")
    parser.add_argument("--json", metavar="FILE", help="also writes what was measured")
    options = parser.parse_args()
    scale, rounds = (0.1, 3) if options.quick else (1.0, 61)
    few = max(2, int(40 * scale))
    notes = []
    context = multiprocessing.get_context("forkserver")
    with ps.Machine(targets=1) as machine, concurrent.futures.ThreadPoolExecutor(1) as threads, concurrent.futures.ProcessPoolExecutor(
        1, mp_context=context
    ) as processes:
        contestants = of_machine(machine, scale)
        contestants += of_executor("ThreadPoolExecutor", threads, int(1000 * scale), int(2000 * scale))
        contestants += of_executor("ProcessPoolExecutor", processes, few, int(1000 * scale))
        contestants.append(Contestant(FLOOR, int(10_000 * scale), lambda count: [nothing() for _ in range(count)] and None))
        for module, name, make in (("joblib", "loky", of_loky), ("joblib", "joblib", of_joblib), ("distributed", "Dask", of_dask), ("ray", "Ray", of_ray)):
            if importlib.util.find_spec(module) is None:
                notes.append(f"{name} is not installed")
            else:
                contestants += make(max(2, few // 8))
        again = {c.name: Contestant(f"{c.name} again", c.count, c.operation) for c in contestants if c.name in TWICE}
        measure(machine, [*contestants, *again.values()], rounds)
    report(contestants, again, notes, options)
    return 0


def report(contestants: list[Contestant], again: dict[str, Contestant], notes: list[str], options: argparse.Namespace) -> None:
    times = {contestant.name: contestant.times for contestant in contestants}
    notes.append("near and far are not told apart")
    notes.append("times in ns; 10,000 outstanding: each; slower peers do fewer in a batch")
    *of_ours, of_threads = (ratio(again[name].times, times[name]) for name in TWICE)
    noise = max(of_ours, key=noise_of)
    notes.append("ThreadPoolExecutor's null task over itself: {:.3g} [{:.3g}, {:.3g}]".format(*of_threads))
    facts = machine_facts()
    print("python: null task, 1 MiB array, map and 10,000 outstanding from Python")
    print(", ".join(facts.values()), end="\n\n")
    rows = []
    for name in sorted(times, key=lambda name: (name.partition(":")[0], statistics.median(times[name]))):
        over, low, high = ratio(times[name], times["null task: ThreadPoolExecutor"])
        rows.append({"name": name, "median_ns": statistics.median(times[name]), "over_threadpool_null": over, "low": low, "high": high})
        print(f"{name:48}{rows[-1]['median_ns'] / 1e3:12.2f} us{over:12.3g} [{low:.3g}, {high:.3g}] times the null task of ThreadPoolExecutor")
    floor_moved = moved(times[FLOOR])
    void = noise_of(noise) > LARGEST_NOISE
    print(
        f"\nnoise (A/A) {noise[0]:.3g} [{noise[1]:.3g}, {noise[2]:.3g}]; the floor moved by {100 * floor_moved:.0f} %"
        + ("; VOID: the machine was not quiet, run it again" if void else "")
    )
    for note in notes:
        print(f"note: {note}")
    goals = []
    for name, ours, theirs, wanted in GOALS:
        if theirs not in times:
            continue  # its library is not installed, as a note says
        value, low, high = ratio(times[theirs], times[ours])
        met = high >= wanted
        goals.append({"name": name, "value": value, "low": low, "high": high, "goal": wanted, "direction": ">=", "met": met})
        if few := math.isnan(low):
            goals[-1]["why"] = f"fewer than {ROUNDS_OF_AN_INTERVAL} rounds"
        print(
            f"{'unsure' if few else 'met   ' if met else 'MISSED'} {name}: {value:.3g} [{low:.3g}, {high:.3g}], goal >= {wanted:g}"
            + (f": not judged, {goals[-1]['why']}" if few else "")
        )
    if options.json:
        document = {
            "bench": "python", "machine": facts, "quick": options.quick, "noise": {
                "value": noise[0], "low": noise[1], "high": noise[2], "floor_moved": floor_moved, "runs_thrown_away": 0, "void": void,
            },
            "rows": rows, "goals": goals, "notes": [{"text": note} for note in notes],
        }  # fmt: skip
        Path(options.json).write_text(json.dumps(without_nan(document), indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(main())
