"""How runs end, fail, wait and change."""

import threading
import time

import pytest
from stream_parts import Collect, chain, numbers, scale

import penstock as ps


def test_a_filter_that_raises_is_named_with_its_exception(both):
    @ps.filter(inputs="int64")
    def fails_at_three(x):
        if x[0] == 3:
            raise LookupError("three")

    graph, _ = chain((numbers, 10), fails_at_three)
    with pytest.raises(ps.FilterFailed, match="'b' .copy 0. threw in its firing 3: .*three") as error:
        graph.start(both).finish()
    failure = error.value
    assert (failure.filter, failure.copy, failure.firing, failure.others) == ("b", 0, 3, 0)
    assert isinstance(failure.__cause__, LookupError) and failure.__cause__.__traceback__ is not None
    graph = ps.Graph()
    graph.add("a", numbers, 10)
    graph.add("b", fails_at_three, on_failure="go_on")
    graph.connect("a.out", "b.in")
    run = graph.start(both)
    with pytest.raises(ps.FilterFailed):
        run.finish()
    by_name = {each.name: each for each in run.statistics().filters}
    assert (by_name["b"].firings, by_name["b"].failures) == (10, 1)
    run.finish()  # told once


def test_a_run_that_cannot_go_on_or_is_full_says_so(both):
    graph, _ = chain((numbers, 100))
    reader = graph.add_reader("reader", "int64")
    graph.connect("a.out", reader, capacity=2)
    run = graph.start(both)
    with pytest.raises(ps.StreamStalled, match="'reader' is the program's own end"):
        run.finish()
    run.stop()
    assert run.ended
    graph = ps.Graph()
    writer, reader = graph.add_writer("writer", "int64"), graph.add_reader("reader", "int64")
    graph.connect(writer, reader, capacity=2, when_full="fail")
    with graph.start(both) as run:
        writer.write([1])
        writer.write([2])
        with pytest.raises(ps.StreamFull):
            writer.write([3])
        run.stop()
    with pytest.raises(ps.RunEnded):
        run.edit(lambda edit: None)


def test_sources_are_asked_to_end_and_a_graph_runs_once_at_a_time(both):
    forever = ps.filter(lambda: [1], outputs="int64")
    graph, (_, sink) = chain(forever, Collect)
    run = graph.start(both)
    with pytest.raises(ps.UsageError, match="runs already"):
        graph.start(both)
    while len(sink.filter.got) < 5:
        time.sleep(0.001)
    run.close()
    run.finish()
    assert run.ended and set(sink.filter.got) == {1}
    graph, _ = chain(forever, Collect)
    with pytest.raises(ZeroDivisionError), graph.start(both) as run:
        1 / 0  # noqa: B018
    assert run.ended


def test_closing_the_machine_stops_what_runs_on_it():
    forever = ps.filter(lambda: [1], outputs="int64")
    with ps.Machine(targets=1) as machine:
        graph, _ = chain(forever, Collect)
        run = graph.start(machine)
    assert run.ended
    with pytest.raises(ps.MachineGone):
        graph.start(machine)


def test_a_filter_may_not_wait_for_the_run_but_may_send_ask_and_edit(both):
    found = []

    @ps.filter(inputs="int64")
    class Curious:
        def __call__(self, x):
            for forbidden in (run.finish, reader.read):
                with pytest.raises(ps.UsageError):
                    forbidden()
            run.send(ps.Event("hello", True))
            found.append(run.statistics().filters[0].name)
            if x[0] == 2:
                run.edit(lambda edit: edit.set("c", "factor", 3))

        def on_event(self, event):
            found.append(event.name)

    graph = ps.Graph()
    writer = graph.add_writer("a", "int64")
    graph.connect(writer, graph.add("b", Curious))
    graph.add("c", scale)
    feed = graph.add_writer("d", "int64")  # as long as it is open, there is a filter to be changed
    reader = graph.add_reader("reader", "int64")
    graph.connect(feed, "c.in")
    graph.connect("c.out", reader)
    run = graph.start(both)
    for n in range(5):
        writer.write([n])

    def factor():
        (value,) = (each.settings["factor"].value for each in run.description().filters if each.name == "c")
        return value

    deadline = time.monotonic() + 10
    while factor() != 3 and time.monotonic() < deadline:
        time.sleep(0.001)
    assert factor() == 3
    feed.close()
    while reader.read() is not None:
        pass
    run.finish()
    assert found.count("a") == 5 and found.count("hello") >= 1


def test_waiting_lets_other_threads_of_python_run(both):
    graph = ps.Graph()
    writer, reader = graph.add_writer("writer", "int64"), graph.add_reader("reader", "int64")
    graph.connect(writer, reader)
    with graph.start(both):
        got = []
        waits = threading.Thread(target=lambda: got.extend(int(x[0]) for x in reader))
        waits.start()
        for n in range(20):
            writer.write([n])
        writer.close()
        waits.join(30)
        assert got == list(range(20))


def test_edits_under_load_lose_repeat_and_reorder_nothing(both):
    @ps.filter(outputs="int64")
    class Counter:
        def __init__(self):
            self.next, self.stop = 0, False

        def __call__(self):
            if self.stop:
                raise StopIteration
            self.next += 1
            return [self.next - 1]

        def on_event(self, event):
            self.stop = True

    pass_on = ps.filter(lambda x: x, inputs="int64", outputs="int64")
    graph = ps.Graph()
    source = graph.add("source", Counter)
    graph.add("stage", pass_on)
    sink = graph.add("sink", Collect)
    graph.connect(source, "stage.in")
    graph.connect("stage.out", sink)
    run = graph.start(both)
    for turn in range(12):
        seen = len(sink.filter.got)
        while len(sink.filter.got) < seen + 20:
            time.sleep(0.0005)
        if turn % 3 == 0:
            with run.edit() as edit:
                more = edit.add(f"more{turn}", pass_on)
                edit.disconnect("stage.out", sink)
                edit.connect("stage.out", more)
                edit.connect(more, sink)
        elif turn % 3 == 1:
            run.edit(lambda edit: edit.replace("stage", scale, settings={"factor": 1}))

            def taken_out(edit, name=f"more{turn - 1}"):
                edit.remove(name)
                edit.connect("stage.out", sink)

            run.edit(taken_out)
        else:
            with run.edit() as edit:
                edit.replace("stage", pass_on)
                edit.change(source.out, "stage.in", capacity=3)
                edit.targets("stage", [turn % 2])
    with pytest.raises(ps.GraphError, match="no filter 'nobody'"):
        run.edit(lambda edit: edit.remove("nobody"))
    with pytest.raises(ZeroDivisionError), run.edit() as edit:
        edit.remove("stage")
        1 / 0  # noqa: B018
    run.send("stop")
    run.finish()
    assert sink.filter.got == list(range(source.filter.next)) and source.filter.next >= 240


def test_what_describes_an_edit_is_refused_when_the_edit_is_over(both):
    graph = ps.Graph()
    writer, reader = graph.add_writer("writer", "int64"), graph.add_reader("reader", "int64")
    graph.connect(writer, reader)
    shown = []

    def describe(builder):
        shown.append(builder)
        raise LookupError("not this one")

    with graph.start(both) as run:
        run._edit(shown.append)
        with pytest.raises(LookupError):
            run._edit(describe)
        for builder in shown:
            for refused in (
                lambda of: of.remove("reader", "finish"),
                lambda of: of.remove_group("group/", "finish"),
                lambda of: of.connect("writer.out", "reader.in", {}),
                lambda of: of.disconnect("writer.out", "reader.in"),
                lambda of: of.change("writer.out", "reader.in", {}),
                lambda of: of.set("reader", "factor", 1),
                lambda of: of.copies("reader", 1),
                lambda of: of.place("reader", []),
            ):
                with pytest.raises(ps.UsageError, match="this edit is over"):
                    refused(builder)
        writer.write([7])
        assert list(reader.read()) == [7]
    assert len(shown) == 2


def test_an_edit_changes_copies_and_a_successor_takes_over(both):
    @ps.filter(inputs="int64", outputs="int64")
    class Sum:
        def __init__(self):
            self.sum = 0

        def __call__(self, x):
            self.sum += int(x[0])
            return [self.sum]

    @ps.filter(inputs="int64", outputs="int64")
    class Negative:
        def take_over(self, predecessor):
            self.sum = predecessor.sum

        def __call__(self, x):
            self.sum += int(x[0])
            return [-self.sum]

    graph = ps.Graph()
    writer, sums = graph.add_writer("writer", "int64"), graph.add("sum", Sum)
    graph.add("scale", scale, settings={"factor": 1})
    reader = graph.add_reader("reader", "int64")
    graph.connect(writer, sums)
    graph.connect(sums, "scale.in")
    graph.connect("scale.out", reader)
    with graph.start(both) as run:
        writer.write([5])
        assert reader.read() == [5]
        with run.edit() as edit:
            made = edit.replace(sums, Negative)
            edit.copies("scale", 3)
        assert made.filter.sum == 5
        writer.write([2])
        assert reader.read() == [-7]
        assert {each.name: each.copies for each in run.statistics().filters} == {"writer": 1, "sum": 1, "scale": 3, "reader": 1}
        extra = None
        with run.edit() as edit:
            extra = edit.add_reader("extra", "int64")
            edit.connect("sum.out", extra)
        writer.write([1])
        assert extra.read() == [-8] and reader.read() == [-8]
