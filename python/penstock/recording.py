"""Runs an application of the gallery and records where the time of its last run went."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from penstock._core import Machine, Snapshot, app_ways, run_app


@dataclass
class Recorded:
    """What run_app returned, with the trace of the last run of the last way."""

    result: dict[str, Any]
    period: Snapshot
    timeline: str  # JSON for Perfetto

    def seconds(self, way: str) -> float:
        """The median time of one way, in seconds."""
        return median(self.result["timings"][way])

    @property
    def last_way(self) -> str:
        """The way that the application is there to show: tagged calls, filters, or remote stores."""
        return list(self.result["timings"])[-1]

    @property
    def tagged(self) -> bool:
        """Whether the last way is tagged calls, of which the trace knows where each thread's time went."""
        return not self.by_filters and "tagged" in self.result["timings"]

    @property
    def by_filters(self) -> bool:
        """Whether the last way is filters, of which the timeline shows the firings."""
        return self.last_way.startswith(("stream", "written"))

    @property
    def ok(self) -> bool:
        return all(check["ok"] for check in self.result["checks"])


def record_app(
    machine: Machine,
    name: str,
    settings: Mapping[str, int] | None = None,
    inputs: Mapping[str, np.ndarray] | None = None,
    keep_arrays: bool = False,
    progress: Callable[[float], None] | None = None,
    events: int = 1 << 15,
) -> Recorded:
    """run_app with a recording of the last run of the last way.

    events: tasks, the newest of each thread, that the timeline keeps
    progress: called with the fraction done, between timed runs

    Raises what run_app raises.
    """
    settings = dict(settings or {})
    steps = len(app_ways(name)) * (settings.get("repetitions", 5) + 1)
    done = 0
    before = machine.snapshot()
    after = None

    def between_runs(fraction: float) -> None:
        nonlocal done, before, after
        done += 1
        if done == steps - 1:
            machine.start_timeline(events)
            before = machine.snapshot()
        elif done == steps:
            after = machine.snapshot()
            machine.stop_timeline()
        if progress is not None:
            progress(fraction)

    result = run_app(machine, name, settings, dict(inputs or {}), keep_arrays, between_runs)
    return Recorded(result, (after or machine.snapshot()) - before, machine.timeline_json())
