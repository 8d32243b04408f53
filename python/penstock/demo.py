"""The main job on real input: a tissue analysed by filters, a photograph put out of focus and an LU factorisation, all checked, and one report."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from PIL import Image

from penstock._core import Machine, gallery, run_app
from penstock.errors import UsageError
from penstock.pictures import inputs_of
from penstock.recording import Recorded, record_app
from penstock.references import check_against_lapack, check_factors, check_filter, check_tissue
from penstock.report import Picture, Scale, Section

Bar = Callable[[str], AbstractContextManager[Callable[[float], None]]]


def photograph(path: Path | None) -> tuple[str, np.ndarray]:
    """Name and pixels (rows x columns x 3, 0 to 1, float32) of a photograph: the one at `path`, or one that scikit-image ships.

    Raises UsageError where there is none.
    """
    if path is None:
        try:
            import skimage
        except ImportError:
            raise UsageError("scikit-image is not installed, whose photographs are the input; give one with --photo FILE") from None
        path = Path(skimage.__file__).parent / "data" / "coffee.png"
    try:
        with Image.open(path) as image:
            pixels = np.asarray(image.convert("RGB"), dtype=np.float32) / np.float32(255)
    except OSError as error:
        raise UsageError(f"{path} cannot be read as a photograph: {error}") from None
    return path.name, pixels


def disc(diameter: int) -> np.ndarray:
    """The filter of a lens out of focus: a disc with soft edges, of weights that add up to 1, float32."""
    middle = (diameter - 1) / 2
    rows, columns = np.mgrid[:diameter, :diameter] - middle
    weights = np.clip(diameter / 2 - np.hypot(rows, columns), 0, 1)
    return (weights / weights.sum()).astype(np.float32)


def filter_photograph(machine: Machine, name: str, pixels: np.ndarray, bar: Bar, repetitions: int = 15) -> Section:
    """Puts the photograph out of focus by CONV2D, in tiles of 64 x 64, each colour a plane."""
    weights = disc(11)
    planes = np.ascontiguousarray(pixels.transpose(2, 0, 1))
    with bar("filtering the photograph") as progress:
        recorded = record_app(machine, "conv2d", {"repetitions": repetitions}, {"image": planes, "filter": weights}, True, progress)
    result = recorded.result["arrays"]["result"]
    others, missing = check_filter(planes, weights, result)
    rows, columns = pixels.shape[:2]
    return Section(
        title="A photograph, out of focus",
        lead=f"{name}, {columns} x {rows} pixels, filtered with a disc of {len(weights)} x {len(weights)} weights in tiles of 64 x 64. Each task "
        "reads a strided window of the padded image and writes one tile of the result.",
        recorded=recorded,
        checks=recorded.result["checks"] + others,
        pictures=[Picture("Before", pixels), Picture("After", result.transpose(1, 2, 0))],
        notes=[f"{reference} is not installed, so it was not asked." for reference in missing],
    )


def analyse_tissue(machine: Machine, bar: Bar, repetitions: int = 15) -> list[Section]:
    """The tissue that scikit-image ships, mirrored to 2048 x 2048, in 1,024 JPEG tiles: a section, or none where there is no such picture or no
    libjpeg-turbo to decode with."""
    inputs = inputs_of("tissue")
    if not inputs or "tissue" not in dict(gallery()):
        return []
    settings = {"rows": 2048, "columns": 2048, "block_rows": 64, "block_columns": 64, "repetitions": min(repetitions, 5)}
    with bar("analysing the tissue") as progress:
        recorded = record_app(machine, "tissue", settings, inputs, True, progress)
    with bar("analysing it with fewer workers") as progress:
        scaling = [*scale_app(machine.targets, "tissue", settings | {"repetitions": min(repetitions, 3)}, inputs, progress), scale_of(recorded.result)]
    arrays = recorded.result["arrays"]
    others, missing = check_tissue(arrays)
    background, stroma, stained = (int((arrays["result"] == kind).sum()) for kind in range(3))
    return [Section(
        title="A stained tissue, tile by tile",
        lead="ihc.png of scikit-image (a colon under the microscope, brown where it is stained), mirrored to 2048 x 2048 pixels in JPEG tiles of "
        "64 x 64. Filters in copies decode the tiles, convert them to CIELAB, measure colours and local binary patterns, classify each tile, "
        "and draw the overview: in C++ (streamed), and as it is written down in tissue.xml (written). Then that graph changes while it runs, by its "
        "events: the overview is taken out and put in again, the filter before it is exchanged for a fresh one, and every verdict is checked.",
        recorded=recorded,
        checks=recorded.result["checks"] + others,
        pictures=[
            Picture("The tissue, a quarter of it", arrays["image"][:1024, :1024] / 255.0),
            Picture("Overview: grey is background, blue stroma, orange stained", arrays["overview"] / 255.0),
        ],
        scaling=scaling,
        notes=[f"{background} tiles are background, {stroma} stroma, {stained} stained."]
        + [f"{reference} is not installed, so it was not asked." for reference in missing],
    )]  # fmt: skip


def scale_of(result: dict[str, Any]) -> Scale:
    """The application's last way against one thread."""
    times = result["timings"]
    return Scale(result["workers"], median(times[list(times)[-1]]), median(times["serial"]))


def scale_app(targets: int, name: str, settings: dict[str, int], inputs: dict[str, np.ndarray], progress: Callable[[float], None]) -> Iterator[Scale]:
    """The application on machines with 0, 1, 3, 7 ... targets, but fewer than `targets`."""
    fewer = [count for count in (0, 1, 3, 7, 15, 31, 63, 127) if count < targets]
    for step, count in enumerate(fewer):
        with Machine(targets=count) as machine:

            def show(fraction: float, step: int = step) -> None:
                progress((step + fraction) / len(fewer))

            yield scale_of(run_app(machine, name, settings, inputs, False, show))


def factor_matrix(machine: Machine, bar: Bar, repetitions: int = 15) -> Section:
    """LU of order 512 in blocks of 16: 11,440 tasks of about a microsecond, checked against published figures and LAPACK."""
    with bar("factoring the matrix") as progress:
        recorded = record_app(machine, "lu", {"repetitions": repetitions}, None, True, progress, events=1 << 13)
    arrays = recorded.result["arrays"]
    dominant = np.random.default_rng(1).random((512, 512)) + 512 * np.eye(512)
    again: Recorded = record_app(machine, "lu", {"repetitions": 1}, {"A": dominant}, True)
    others, missing = check_against_lapack(dominant, again.result["arrays"]["LU"])
    return Section(
        title="LU factorisation, n = 512, blocks of 16 x 16",
        lead="SPLASH-2's matrix and algorithm, without pivoting. Tasks this small are where the cost of a task shows. The same code also "
        "factors a diagonally dominant matrix, where LAPACK does not pivot either and every factor can be compared.",
        recorded=recorded,
        checks=recorded.result["checks"] + check_factors(arrays["A"], arrays["LU"]) + others,
        notes=["The timeline holds the last tasks of each thread."] + [f"{reference} is not installed, so it was not asked." for reference in missing],
    )


CALLS = 2000  # of each means


@dataclass(frozen=True)
class Rivals:
    """What the same calls took by different means, in seconds: the median of three."""

    workers: int
    seconds: dict[str, float]


def little_work(n: int) -> int:
    """About 20 us."""
    return sum(range(n, n + 800))


def compare_executors(machine: Machine, progress: Callable[[float], None]) -> Rivals:
    """machine.map against what a newcomer would use instead, with as many workers, in turn. Raises AssertionError where results differ."""
    workers = max(machine.targets, 1)
    items = range(CALLS)
    with ProcessPoolExecutor(workers, get_context("forkserver")) as processes, ThreadPoolExecutor(workers) as threads:
        means: dict[str, Callable[[], list[int]]] = {
            "machine.map": lambda: list(machine.map(little_work, items)),
            "ProcessPoolExecutor": lambda: list(processes.map(little_work, items)),
            "ProcessPoolExecutor, chunksize=64": lambda: list(processes.map(little_work, items, chunksize=64)),
            "ThreadPoolExecutor": lambda: list(threads.map(little_work, items)),
        }
        expected = [little_work(n) for n in items]
        for act in means.values():  # workers start, and functions travel, before anything is timed
            assert act() == expected
        taken: dict[str, list[float]] = {name: [] for name in means}
        for turn in range(3):
            for name, act in means.items():
                begin = time.perf_counter()
                act()
                taken[name].append(time.perf_counter() - begin)
            progress((turn + 1) / 3)
    return Rivals(workers, {name: median(times) for name, times in taken.items()})
