"""What the benchmarks in Python share: ratios of what was measured in turn, and under which conditions."""

import os
import platform
import random
import statistics
from pathlib import Path


def ratio(a: list[float], b: list[float], rng: random.Random) -> tuple[float, float, float]:
    """Median of a/b round by round, with its 95 % interval by the bootstrap."""
    ratios = [x / y for x, y in zip(a, b, strict=True)]
    draws = sorted(statistics.median(rng.choices(ratios, k=len(ratios))) for _ in range(1000))
    return statistics.median(ratios), draws[25], draws[974]


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
