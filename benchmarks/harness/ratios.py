"""What the benchmarks in Python share: ratios of what was measured in turn, and under which conditions."""

import math
import os
import platform
import statistics
from pathlib import Path


def ratio(a: list[float], b: list[float]) -> tuple[float, float, float]:
    """Median of a/b round by round, with its 95 % interval by the sign test, which assumes nothing of how the ratios are spread."""
    ratios = sorted(x / y for x, y in zip(a, b, strict=True))
    n = len(ratios)
    outside, below = 0, 1 + n
    while below / 2**n <= 0.025:
        outside += 1
        below += math.comb(n, outside + 1)
    return statistics.median(ratios), ratios[outside], ratios[n - 1 - outside]


def moved(times: list[float]) -> float:
    """By how much the medians of five parts of a run differ: the floor's says whether the machine was quiet."""
    parts = (
        [statistics.median(times[i * len(times) // 5 : (i + 1) * len(times) // 5]) for i in range(5)]
        if len(times) >= 5
        else [1.0]
    )
    return max(parts) / min(parts) - 1


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
        "processor": name, "processors": str(len(os.sched_getaffinity(0))), "system": f"{platform.system()} {platform.release()}",
        "interpreter": f"{platform.python_implementation()} {platform.python_version()}",
    }  # fmt: skip
