"""Runs an application of the gallery and records where the time of one of its ways went."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from penstock._core import Machine, Snapshot, app_ways, run_app
from penstock.errors import UsageError


@dataclass
class Recorded:
    """What run_app returned, with the trace of one of its ways."""

    result: dict[str, Any]
    way: str  # that was recorded
    periods: list[Snapshot]  # of each of its timed runs
    timeline: str  # of the last of them, JSON for Perfetto; empty without one

    @property
    def period(self) -> Snapshot:
        """The last timed run: with a timeline, that in which every task was timed."""
        return self.periods[-1]

    def seconds(self, way: str) -> float:
        """The median time of one way, in seconds."""
        return median(self.result["timings"][way])

    @property
    def tagged(self) -> bool:
        """Whether it is tasks, of which the trace knows where each thread's time went."""
        return not self.by_filters and "tagged" in self.result["timings"] and self.way.partition(" ")[0] not in ("serial", "hand")

    @property
    def by_filters(self) -> bool:
        """Whether it is filters, of which the timeline shows the firings."""
        return self.way.startswith(("stream", "written"))


def record_app(
    machine: Machine,
    name: str,
    settings: Mapping[str, Any] | None = None,
    inputs: Mapping[str, np.ndarray] | None = None,
    keep_arrays: bool = False,
    progress: Callable[[float], None] | None = None,
    events: int = 1 << 15,
    way: str | None = None,
    every_run: bool = False,
) -> Recorded:
    """run_app with a recording of one way's timed runs, of nothing before them and nothing after.

    events: tasks, the newest of each thread, that the timeline of the last run keeps; 0: no timeline, which costs every task two looks at the
        clock and lets the last run take longer
    progress: called with the fraction done, between timed runs
    way: the one to record, of app_ways(name); by default the last, which the application is there to show
    every_run: the timeline is on in all runs and not in the last alone, so that each of their tasks is timed and not one in 128

    Raises what run_app raises, and UsageError for an unknown way.
    """
    settings = dict(settings or {})
    ways = app_ways(name)
    if way is None:
        way = ways[-1]
    if way not in ways:
        raise UsageError(f"{name} has no way called '{way}' to record; it has {', '.join(ways)}")
    runs = settings.get("repetitions", 5)
    starts: list[Snapshot] = []
    ends: list[Snapshot] = []

    def timed(name: str, over: bool) -> None:
        if name != way:
            return
        if over:
            ends.append(machine.snapshot())
            machine.stop_timeline()
            return
        if events and (every_run or len(starts) == runs - 1):
            machine.start_timeline(events)
        starts.append(machine.snapshot())

    try:
        result = run_app(machine, name, settings, dict(inputs or {}), keep_arrays, progress, timed)
    finally:
        machine.stop_timeline()
    periods = [end - start for start, end in zip(starts, ends, strict=True)]
    return Recorded(result, way, periods, machine.timeline_json() if events else "")
