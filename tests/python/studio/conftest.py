"""A graph that runs, a studio that shows it, and a browser, where there is one."""

import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import penstock as ps
import pytest
from penstock.studio.files import Workbench
from penstock.studio.server import Studio

class Pipeline:
    """Numbers in order through a filter that multiplies, to one that checks that none is missing."""

    def __init__(self, name: str) -> None:
        self.stop = False
        self.last = 0.0  # the value that came last, over its number
        self.missing = 0
        self.count = 0
        graph = ps.Graph()
        graph.add("numbers", ps.filter(self._numbers, outputs="float64"))
        graph.add("scale", ps.filter(scale, inputs="float64", outputs="float64", settings={"factor": ps.Setting(1.0, unit="times")}))
        graph.connect("numbers.out", "scale.in", capacity=8)
        graph.add("check", ps.filter(self._check, inputs="float64"))
        graph.connect("scale.out", "check.in", capacity=8)
        self.machine = ps.Machine(targets=1)
        self.run = graph.start(self.machine, name=name)
        self.name = name

    def _numbers(self) -> Iterator[np.ndarray]:
        number = 0
        while not self.stop:
            number += 1
            yield np.array([1.0, number])

    def _check(self, pair: np.ndarray) -> None:
        self.count += 1
        self.missing += int(pair[1]) - self.count
        self.count = int(pair[1])
        self.last = float(pair[0])

    def end(self) -> None:
        self.stop = True
        self.run.finish()
        self.machine.close()


def scale(pair: np.ndarray, *, factor: float) -> np.ndarray:
    return np.array([pair[0] * factor, pair[1]])


@ps.filter(inputs="float64", outputs="float64", settings={"by": ps.Setting(10.0)})
def raise_first(pair: np.ndarray, *, by: float) -> np.ndarray:
    """Adds to the first of two."""
    return np.array([pair[0] + by, pair[1]])


@pytest.fixture(scope="session", autouse=True)
def component() -> None:
    ps.register_component("raise", raise_first)


@pytest.fixture
def pipeline() -> Iterator[Pipeline]:
    made = Pipeline(f"studio-test-{os.getpid()}")
    yield made
    made.end()


@pytest.fixture
def studio(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Studio]:
    """For a run, or, where the test is marked `file`, for a file."""
    marked = request.node.get_closest_marker("file")
    bench = Workbench(tmp_path / "application.xml", [], []) if marked else None
    if bench is not None:
        bench.path.write_text(marked.args[0])
    run = "" if marked else request.getfixturevalue("pipeline").name
    with Studio("127.0.0.1", 0, run, bench) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server
        if bench is not None:
            bench.halt()
        server.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    webdriver = pytest.importorskip("selenium.webdriver", reason="python -m pip install selenium")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("no browser: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1400,900", "--force-color-profile=srgb"):
        options.add_argument(argument)
    made = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=driver))
    made.set_script_timeout(60)
    yield made
    made.quit()
