"""Machines with classes of targets: threads, threads that are slowed down, worker processes."""

import textwrap

import numpy as np
import pytest

import penstock as ps
from command_line import penstock
from isolation_test import run as run_with_workers

THREADS = [ps.TargetClass("fast", 2), ps.TargetClass("slow", speed=0.25)]


@ps.filter(outputs="int64")
def numbers(count):
    yield from (np.array([n]) for n in range(count))


class Collect:
    def __init__(self):
        self.got = []

    def __call__(self, x):
        self.got.append(int(x[0]))


def graph_of(count, **where):
    graph = ps.Graph()
    graph.add("numbers", numbers, count)
    graph.add("twice", ps.filter(lambda x: 2 * x, inputs="int64", outputs="int64", may_be_copied=True), copies=ps.AUTOMATIC, **where)
    collect = graph.add("collect", ps.filter(Collect, inputs="int64"))
    graph.connect("numbers.out", "twice.in")
    graph.connect("twice.out", collect, ordered=True)
    return graph, collect


def test_copies_of_a_filter_run_on_the_targets_of_the_classes_that_it_names():
    graph, collect = graph_of(200, target_classes=["fast", "slow"])
    assert graph.description().filters[1].target_classes == ["fast", "slow"]
    with ps.Machine(classes=THREADS) as machine:
        assert (machine.targets, machine.all_targets) == (3, 3)
        assert machine.targets_of("fast") == [0, 1] and machine.targets_of("slow") == [2]
        with graph.start(machine) as run:
            run.finish()
            assert run.description().filters[1].copies == 3
    assert collect.filter.got == list(range(0, 400, 2))


def test_an_edit_may_place_such_a_filter_by_numbers():
    graph, collect = graph_of(10**7, target_classes=["fast", "slow"])
    with ps.Machine(classes=THREADS) as machine, graph.start(machine) as run:
        with run.edit() as edit:
            edit.targets("twice", [1])
        twice = run.description().filters[1]
        assert (twice.targets, twice.target_classes) == ([1], [])
        run.close()
    assert collect.filter.got == list(range(0, 2 * len(collect.filter.got), 2))


def test_a_class_that_there_is_not_is_named_and_so_is_what_it_cannot_be():
    graph, _ = graph_of(1, target_classes=["gpu"])
    with ps.Machine(classes=THREADS) as machine:
        with pytest.raises(ps.GraphError, match="no class of targets 'gpu'; it has fast, slow"):
            graph.start(machine)
        with pytest.raises(ps.UsageError, match="no class of targets 'gpu'"):
            machine.on("gpu")
        with pytest.raises(ps.UsageError, match="no target 3"):
            machine.on(3)
        with pytest.raises(ps.UsageError, match="by its number, or by the name of its class"):
            machine.on(0.5)
    with pytest.raises(ps.UsageError, match="list of names of classes"):
        graph_of(1, target_classes=[3])
    with pytest.raises(ps.UsageError, match="'fast' is there twice"):
        ps.Machine(classes=[ps.TargetClass("fast"), ps.TargetClass("fast")])
    with pytest.raises(ps.UsageError, match="penstock.launch"):
        ps.Machine(classes=[ps.TargetClass("workers", 1, "process")])


def test_compiled_bodies_go_to_a_class_and_a_crash_there_fails_its_own_task(native):
    assert run_with_workers(native, """
        import os
        library.where.restype, library.where.argtypes = None, [ctypes.POINTER(ctypes.c_int64), ctypes.c_ssize_t]
        classes = [ps.TargetClass("threads", 1), ps.TargetClass("workers", 2, "process")]
        with ps.Machine(classes=classes) as machine:
            places = np.zeros(4, np.int64)
            machine.on("threads").call(library.where, ps.Out(places[:1]))
            for n in 1, 2:
                machine.on("workers").call(library.where, ps.Out(places[n : n + 1]))
            machine.call(library.where, ps.Out(places[3:]))
            machine.barrier()
            print(places[0] == places[3] == os.getpid(), len({*places.tolist()}))
            crash = machine.on("workers").call(go, 2, ps.Out(np.zeros(1, np.int64)))
            try:
                crash.wait()
            except ps.TaskFailed as error:
                print(type(error.__cause__).__name__)
            x, y = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
            machine.on(2).call(scale, ps.In(x), ps.Out(y), 2.0).wait()
            print(np.array_equal(y, 2 * x))
            for body in ps.Chain("float64"), abs:
                try:
                    machine.on("workers").call(body, 1)
                except ps.Error as error:
                    print(type(error).__name__)
    """) == ["True 3", "WorkerDied", "True", "CannotCarryOver", "UsageError"]


def test_an_application_runs_its_components_on_both_kinds_of_targets(native):
    assert run_with_workers(native, textwrap.dedent('''
        text = """<application xmlns="urn:penstock:application:1" name="mixed">
        <component name="numbers" class="numbers"><set name="count" value="300"/></component>
        <component name="twice" class="scale" copies="automatic" target-classes="threads workers"/>
        <component name="sum" class="sum"/><component name="print" class="print"/>
        <stream from="numbers.out" to="twice.in"/><stream from="twice.out" to="sum.in"/><stream from="sum.out" to="print.in"/></application>"""
        with ps.Machine(classes=[ps.TargetClass("threads"), ps.TargetClass("workers", 1, "process")]) as machine:
            with ps.Application.parse(text).start(machine) as run:
                run.finish()
    ''')) == ["89700"]  # fmt: skip


XML = """<application xmlns="urn:penstock:application:1" name="mixed">
<component name="numbers" class="numbers"/><component name="twice" class="scale" copies="automatic" target-classes="a b"/>
<component name="sum" class="sum"/><component name="print" class="print"/>
<stream from="numbers.out" to="twice.in"/><stream from="twice.out" to="sum.in"/><stream from="sum.out" to="print.in"/></application>"""


@pytest.mark.parametrize("classes", [("a=1", "b=1@0.5"), ("a=1", "b=2@process")])
def test_the_command_line_makes_such_machines(tmp_path, classes):
    (tmp_path / "a.xml").write_text(XML)
    done = penstock("run", tmp_path / "a.xml", *[word for each in classes for word in ("--class", each)])
    assert (done.returncode, done.stdout) == (0, "9900\n"), done.stderr


@pytest.mark.parametrize("wrong", ["a", "a=", "=2", "a=x", "a=1@quick", "a=1@"])
def test_a_class_that_is_written_wrong_is_shown_how_it_goes(tmp_path, wrong):
    (tmp_path / "a.xml").write_text(XML)
    done = penstock("run", tmp_path / "a.xml", "--class", wrong)
    assert done.returncode == 2 and "say NAME=TARGETS, NAME=TARGETS@SPEED or NAME=TARGETS@process" in " ".join(done.stderr.split())
