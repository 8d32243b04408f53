"""Filters in worker interpreters: functions, objects, failures and deaths."""

import os
import signal
import time

import numpy as np
import pytest
from stream_parts import Collect, numbers

import penstock as ps


def twice(x, *, factor=2):
    return x * factor, np.array([os.getpid()])


twice_there = ps.filter(
    twice, inputs="int64", outputs={"out": "int64", "pid": "int64"}, settings={"factor": 2}, may_be_copied=True, isolation="process"
)


@pytest.fixture(scope="module")
def machine():
    with ps.Machine(targets=2) as made:
        yield made


def test_a_function_runs_in_other_processes_in_order_though_it_has_copies(machine):
    graph = ps.Graph()
    graph.add("numbers", numbers, 60)
    graph.add("twice", twice_there, copies=3)
    sink, pids = graph.add("sink", Collect), graph.add("pids", Collect)
    graph.connect("numbers.out", "twice.in")
    graph.connect("twice.out", sink, ordered=True)
    graph.connect("twice.pid", pids)
    with graph.start(machine) as run:
        run.finish()
    assert sink.filter.got == [2 * n for n in range(60)]
    assert set(pids.filter.got) <= set(machine.worker_pids) and os.getpid() not in pids.filter.got
    assert {each.name: each.firings for each in run.statistics().filters}["twice"] == 60


def test_what_a_function_fills_and_yields_and_its_settings_travel(machine):
    @ps.filter(inputs="int64", outputs={"out": ps.Port("float64", shape=(2, 2))}, fill=True, settings={"more": 0.5}, isolation="process")
    def fills(x, out, *, more):
        out[:] = x[0] + more

    @ps.filter(inputs="float64", outputs="float64", isolation="process")
    def parts(x):
        for row in x:
            yield ps.Tagged(row, user=(4, 5))

    graph = ps.Graph()
    graph.add("numbers", numbers, 3)
    graph.add("fills", fills, settings={"more": 0.25})
    graph.add("parts", parts)
    reader = graph.add_reader("reader", "float64")
    graph.connect("numbers.out", "fills.in")
    graph.connect("fills.out", "parts.in")
    graph.connect("parts.out", reader)
    with graph.start(machine):
        got = [(x.tolist(), ps.tags(x).user) for x in reader]
    assert got == [([n + 0.25] * 2, (4, 5)) for n in range(3) for _ in range(2)]


def test_an_object_keeps_its_state_in_one_worker(machine):
    @ps.filter(inputs="int64", outputs="int64", settings={"more": 1}, isolation="process")
    class Sums:
        def __init__(self, begin):
            self.sum = begin

        def start(self):
            self.sum += self.more

        def __call__(self, x):
            self.sum += int(x[0])
            return np.array([self.sum, os.getpid()])

        def on_event(self, event):
            return np.array([event.value, 0])

        def finish(self):
            return np.array([-self.sum, os.getpid()])

    graph = ps.Graph()
    writer, sums, reader = graph.add_writer("writer", "int64"), graph.add("sums", Sums, 100), graph.add_reader("reader", "int64")
    assert sums.filter is None
    graph.connect(writer, sums)
    graph.connect(sums, reader)
    with graph.start(machine) as run:
        got = []
        for n in range(5):
            writer.write([n])
            got.append(reader.read().tolist())
        run.send(ps.Event("value", 7), sums)
        assert reader.read().tolist() == [7, 0]
        writer.close()
        got += [x.tolist() for x in reader]
    assert [value for value, _ in got] == [101, 102, 104, 107, 111, -111] and len({pid for _, pid in got}) == 1


def test_a_generator_may_be_a_source_there(machine):
    graph = ps.Graph()
    graph.add("numbers", numbers, 5, isolation="process")
    sink = graph.add("sink", Collect)
    graph.connect("numbers.out", sink)
    graph.start(machine).finish()
    assert sink.filter.got == list(range(5))


def test_an_exception_comes_back_with_the_traceback_of_the_worker(machine):
    @ps.filter(inputs="int64", outputs="int64", isolation="process")
    def fails_at_three(x):
        if x[0] == 3:
            raise LookupError("three")
        return x

    graph = ps.Graph()
    graph.add("numbers", numbers, 10)
    graph.add("fails", fails_at_three, on_failure="go_on")
    sink = graph.add("sink", Collect)
    graph.connect("numbers.out", "fails.in")
    graph.connect("fails.out", sink)
    run = graph.start(machine)
    with pytest.raises(ps.FilterFailed, match="'fails' .copy 0. threw in its firing 3: LookupError: .*three") as error:
        run.finish()
    assert isinstance(error.value.__cause__, LookupError) and "fails_at_three" in str(error.value.__cause__.__cause__)
    assert error.value.firing == 3 and sink.filter.got == [0, 1, 2, 4, 5, 6, 7, 8, 9]
    machine.barrier()  # the failure was told already


def test_a_worker_that_dies_fails_its_firing_and_no_other():
    @ps.filter(inputs="int64", outputs="int64", may_be_copied=True, isolation="process")
    def dies_at_three(x):
        if x[0] == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return x

    with ps.Machine(targets=2) as machine:
        for on_failure in ("go_on", "stop"):
            graph = ps.Graph()
            graph.add("numbers", numbers, 20)
            graph.add("dies", dies_at_three, copies=2, on_failure=on_failure)
            sink = graph.add("sink", Collect)
            graph.connect("numbers.out", "dies.in")
            graph.connect("dies.out", sink, ordered=True)
            run = graph.start(machine)
            with pytest.raises(ps.FilterFailed, match="'dies'.*WorkerDied.*signal 9") as error:
                run.finish()
            assert isinstance(error.value.__cause__, ps.WorkerDied) and error.value.__cause__.signal == signal.SIGKILL
            if on_failure == "go_on":
                assert sink.filter.got == [n for n in range(20) if n != 3]
                assert {each.name: each.failures for each in run.statistics().filters}["dies"] == 1


def test_a_state_that_died_with_its_worker_is_said_to_be_lost_and_made_anew():
    @ps.filter(inputs="int64", outputs="int64", isolation="process")
    class Counts:
        def __init__(self):
            self.count = 0

        def __call__(self, x):
            self.count += 1
            return np.array([self.count, os.getpid()])

    @ps.filter(inputs="int64", outputs="int64", isolation="process")
    class Dies:
        def __call__(self, x):
            os._exit(5)

    with ps.Machine(targets=1) as machine:
        graph = ps.Graph()
        writer, counts, reader = graph.add_writer("writer", "int64"), graph.add("counts", Counts, on_failure="go_on"), graph.add_reader("reader", "int64")
        graph.connect(writer, counts)
        graph.connect(counts, reader)
        kill, dies = graph.add_writer("kill", "int64"), graph.add("dies", Dies, on_failure="go_on")
        graph.add("sink", Collect)
        graph.connect(kill, dies)
        graph.connect(dies, "sink.in")
        run = graph.start(machine)
        writer.write([0])
        writer.write([0])
        assert [reader.read()[0], reader.read()[0]] == [1, 2]
        kill.write([0])  # ends the worker in which both live
        failures = 0
        while failures == 0:
            failures = {each.name: each.failures for each in run.statistics().filters}["dies"]
            time.sleep(0.001)
        writer.write([0])  # lost, with the state
        writer.write([0])
        assert reader.read()[0] == 1
        with pytest.raises(ps.FilterFailed) as error:
            run.finish()
        assert error.value.filter == "dies" and error.value.__cause__.exit_code == 5 and error.value.others == 1
        by_name = {each.name: each for each in run.statistics().filters}
        assert (by_name["counts"].failures, by_name["counts"].firings) == (1, 4)


def test_a_firing_that_takes_too_long_is_ended(machine):
    @ps.filter(inputs="int64", isolation="process")
    def sleeps(x):
        time.sleep(100)

    graph = ps.Graph()
    graph.add("numbers", numbers, 1)
    graph.add("sleeps", sleeps, time_limit=0.1)
    graph.connect("numbers.out", "sleeps.in")
    with pytest.raises(ps.FilterFailed) as error:
        graph.start(machine).finish()
    assert isinstance(error.value.__cause__, ps.TimeLimitExceeded)


def test_an_edit_brings_in_a_filter_of_another_process(machine):
    graph = ps.Graph()
    writer, reader = graph.add_writer("writer", "int64"), graph.add_reader("reader", "int64")
    graph.add("stage", ps.filter(lambda x: x, inputs="int64", outputs="int64"))
    graph.connect(writer, "stage.in")
    graph.connect("stage.out", reader)
    there = ps.filter(lambda x: x * 0 + os.getpid(), inputs="int64", outputs="int64", isolation="process")
    with graph.start(machine) as run:
        writer.write([1])
        assert reader.read() == [1]
        run.edit(lambda edit: edit.replace("stage", there))
        writer.write([1])
        assert int(reader.read()[0]) in machine.worker_pids


def test_what_cannot_be_there_is_refused(machine, scale_body):
    graph = ps.Graph()
    with pytest.raises(ps.UsageError, match="run in threads"):
        graph.add("a", ps.filter(scale_body, inputs="float32", outputs="float32", settings={"factor": 2.0}, isolation="process"))
    with pytest.raises(ps.UsageError, match="say fill=True"):
        graph.add("a", ps.filter(lambda x: None, inputs="int8", outputs="int8", in_place=True), isolation="process")
    with pytest.raises(ps.UsageError, match="isolation='process'"):
        graph.add("a", numbers, 3, time_limit=1)
    with pytest.raises(ps.UsageError, match="take_over"):
        graph.add("a", ps.filter(type("Takes", (), {"__call__": print, "take_over": print}), inputs="int8"), isolation="process")
    graph.add("numbers", numbers, 1)
    graph.add("twice", twice_there)
    graph.connect("numbers.out", "twice.in")
    with ps.Machine(targets=0) as alone, pytest.raises(ps.UsageError, match="no worker interpreters"):
        graph.start(alone)


def test_a_filter_that_could_not_be_added_needs_no_worker_interpreters():
    graph = ps.Graph()
    with pytest.raises(ps.UsageError, match="pool"):
        graph.add("twice", twice_there, pool=-1)
    graph.add("numbers", numbers, 3)
    sink = graph.add("sink", Collect)
    graph.connect("numbers.out", sink)
    with ps.Machine(targets=0) as alone, graph.start(alone) as run:
        run.finish()
    assert sink.filter.got == [0, 1, 2]


def test_a_second_start_that_is_refused_leaves_filters_on_the_machine_where_they_run(machine):
    graph = ps.Graph()
    writer, reader = graph.add_writer("writer", "int64"), graph.add_reader("reader", "int64")
    graph.add("same", ps.filter(lambda x: x, inputs="int64", outputs="int64"), isolation="process")
    graph.connect(writer, "same.in")
    graph.connect("same.out", reader)
    with graph.start(machine) as run:
        with ps.Machine(targets=1) as other, pytest.raises(ps.UsageError, match="runs already"):
            graph.start(other)
        writer.write([5])
        assert list(reader.read()) == [5]
    del run
    with ps.Machine(targets=1) as other, graph.start(other):
        writer.write([6])
        assert list(reader.read()) == [6]
