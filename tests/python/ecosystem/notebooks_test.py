"""How things look in a notebook, a log and a progress bar."""

import logging
import operator
import shutil

import numpy as np
import pytest

import penstock as ps


@ps.filter(outputs="float64")
def numbers():
    for n in range(5):
        yield np.full(3, float(n))


def square(n):
    return n * n


def test_graphs_runs_and_statistics_have_words_drawings_and_tables(caplog):
    graph = ps.Graph()
    graph.add("numbers", numbers)
    reader = graph.add_reader("reader", "float64")
    graph.connect("numbers.out", reader)
    assert repr(graph) == "penstock.Graph(2 filters, 1 streams)"
    html = graph._repr_html_()
    assert (html.startswith("<svg") and "numbers" in html) if shutil.which("dot") else html.startswith("<pre>")
    with caplog.at_level(logging.INFO, "penstock"), ps.Machine(targets=1) as machine, graph.start(machine, name="shown") as run:
        assert repr(run) == "penstock.Run('shown', running)"
        assert sum(float(array.sum()) for array in reader) == 30
    assert repr(run) == "penstock.Run('shown', ended)"
    assert "penstock.Run('shown', running) runs" in caplog.messages
    statistics = run.statistics()
    assert "numbers" in repr(statistics)
    assert "<td>numbers</td><td>1</td><td>" in statistics._repr_html_() and statistics._repr_html_() in run._repr_html_()


def test_handles_and_machines_say_what_they_are():
    with ps.Machine(targets=1) as machine:
        handle = machine.call(square, 3)
        handle.wait()
        assert repr(handle) == "penstock.Handle(square, complete)"
        assert repr(machine).startswith("penstock.Machine(1 targets: ")
    assert repr(machine) == "penstock.Machine(closed)"


def test_a_map_tells_progress_bars_how_much_is_left():
    with ps.Machine(targets=1) as machine:
        results = machine.map(square, range(10))
        assert operator.length_hint(results) == 10 and next(results) == 0 and operator.length_hint(results) == 9
        results.close()
        endless = machine.map(square, iter(range(3)))
        assert operator.length_hint(endless, -1) == -1 and list(endless) == [0, 1, 4]


def test_rich_shows_a_bar_over_a_map():
    progress = pytest.importorskip("rich.progress")
    with ps.Machine(targets=1) as machine:
        assert list(progress.track(machine.map(square, range(3)), disable=True)) == [0, 1, 4]
