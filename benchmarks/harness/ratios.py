"""What the benchmarks in Python share: ratios of what was measured in turn, and under which conditions."""

import math
import os
import platform
import statistics
from pathlib import Path
from typing import Any

ROUNDS_OF_AN_INTERVAL = 6


def ratio(a: list[float], b: list[float]) -> tuple[float, float, float]:
    """Median of a/b round by round, with its 95 % interval by the sign test, which assumes nothing of how the ratios are spread.

    Below ROUNDS_OF_AN_INTERVAL there is none: its ends are not numbers.
    """
    ratios = sorted(x / y for x, y in zip(a, b, strict=True))
    n = len(ratios)
    if n < ROUNDS_OF_AN_INTERVAL:
        return statistics.median(ratios), math.nan, math.nan
    outside, below = 0, 1 + n
    while below / 2**n <= 0.025:
        outside += 1
        below += math.comb(n, outside + 1)
    return statistics.median(ratios), ratios[outside], ratios[n - 1 - outside]


def without_nan(value: Any) -> Any:
    """The same for JSON, which has no NaN: null."""
    if isinstance(value, dict):
        return {key: without_nan(one) for key, one in value.items()}
    if isinstance(value, list):
        return [without_nan(one) for one in value]
    return None if isinstance(value, float) and math.isnan(value) else value


LARGEST_NOISE = 0.15  # of a thing over itself, beyond which a run is void (as benchmarks/harness/measure.hpp has it)


def noise_of(over_itself: tuple[float, float, float]) -> float:
    """How far from 1 a thing over itself may be, by its interval."""
    _, low, high = over_itself
    return max(abs(low - 1), abs(high - 1))


def moved(times: list[float]) -> float:
    """By how much the medians of five parts of a run differ: the floor's says whether the machine was quiet."""
    parts = (
        [statistics.median(times[i * len(times) // 5 : (i + 1) * len(times) // 5]) for i in range(5)]
        if len(times) >= 5
        else [1.0]
    )
    return max(parts) / min(parts) - 1


PROCESSORS = len(os.sched_getaffinity(0))  # before a benchmark pins itself


def machine_facts() -> dict[str, str]:
    name = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        "?",
    )
    return {
        "processor": name, "processors": str(PROCESSORS), "system": f"{platform.system()} {platform.release()}",
        "interpreter": f"{platform.python_implementation()} {platform.python_version()}",
    }  # fmt: skip
