"""Python bodies: plain functions that run in the worker interpreters of a machine; what travels there and back."""

import functools
import os
import sys
import threading
import time
import traceback

import numpy as np
import pytest

import penstock as ps
from worker_parts import fails, fill, process


def test_a_function_runs_in_another_process_and_its_result_comes_back(shared):
    assert shared.call(process).result() == shared.worker_pids[0] != os.getpid()
    assert [shared.call(lambda x: x, value).result() for value in (1, -1, 2**80, 1.5, "ä\udc80", b"x\0", None, True, (1, [2]), {3: {4}})] == [
        1, -1, 2**80, 1.5, "ä\udc80", b"x\0", None, True, (1, [2]), {3: {4}},
    ]  # fmt: skip


def test_closures_partials_methods_and_classes_are_bodies(shared):
    factor = 7

    class Scale:
        def __init__(self, by):
            self.by = by

        def apply(self, x):
            return self.by * x

    assert shared.call(lambda x: factor * x, 3).result() == 21
    assert shared.call(functools.partial(pow, 2), 10).result() == 1024
    assert shared.call(Scale(5).apply, 4).result() == 20
    assert shared.call(Scale, 6).result().apply(2) == 12
    assert isinstance(shared.call(Scale, 6).result(), Scale)


def test_a_function_is_carried_over_once(shared, counts_pickles):
    def body():
        return type(counts_pickles).__name__

    assert {shared.call(body).result() for _ in range(5)} == {"int"}
    assert type(counts_pickles).pickles == 1


def test_arrays_of_the_machine_are_used_in_place(shared):
    x, y = shared.array((3, 4), np.float32), shared.array(12, "int64")
    assert x.shape == (3, 4) and x.dtype == np.float32 and not x.any()
    x[...] = np.arange(12).reshape(3, 4)
    started = shared.array(2, np.int64)

    def look(x, y, started):
        y[:] = x.ravel() * 10
        started[0] = 1
        while not started[1]:
            pass

    handle = shared.call(look, ps.In(x), ps.Out(y), ps.InOut(started))
    while not started[0]:
        time.sleep(0)
    assert y.tolist() == [10 * i for i in range(12)]  # while the task still runs
    started[1] = 1
    handle.wait()


def test_parts_of_an_array_of_the_machine_are_used_in_place(shared):
    x = shared.array((6, 8), np.int32)
    shared.call(fill, ps.Out(x[1::2, ::-2]), 5).wait()
    expected = np.zeros((6, 8), np.int32)
    expected[1::2, ::-2] = 5
    assert np.array_equal(x, expected)


@pytest.mark.parametrize("layout", ["contiguous", "strided", "reversed", "transposed", "empty", "scalar"])
def test_other_arrays_are_copied_there_and_back(shared, layout):
    base = np.arange(60, dtype=np.float64).reshape(6, 10)
    x = {
        "contiguous": base, "strided": base[::2, 1::3], "reversed": base[::-1, ::-1], "transposed": base.T, "empty": base[:0],
        "scalar": base[2:3, 3:4].reshape(()),
    }[layout]  # fmt: skip
    y = np.full(x.shape, -1.0)

    def double(x, y, z):
        y[...] = 2 * x
        z += 1

    expected = 2 * x
    z = np.ones(x.shape)
    shared.call(double, ps.In(x), ps.Out(y), ps.InOut(z)).wait()
    assert np.array_equal(y, expected) and np.array_equal(z, np.full(x.shape, 2.0)) and base.sum() == 59 * 30
    shared.call(fill, ps.Out(x), -3.0).wait()
    assert (x == -3).all() and (base == -3).sum() == x.size


def test_what_is_only_read_cannot_be_written(shared):
    for x in (shared.array(4), np.zeros(4)):
        with pytest.raises(ps.TaskFailed, match="read-only"):
            shared.call(fill, ps.In(x), 1).wait()
        assert not x.any()


def test_structures_and_bytearrays_are_arrays_too(shared):
    kind = np.dtype([("a", "<i4"), ("b", "<f8", 2)])
    x = np.zeros(3, kind)

    def body(x, raw):
        x["b"] = 2.5
        raw[1] = 7

    raw = bytearray(3)
    shared.call(body, ps.InOut(x), ps.InOut(raw)).wait()
    assert (x["b"] == 2.5).all() and raw == b"\0\7\0"


def test_overlapping_arrays_are_refused(shared):
    x = np.zeros(10)
    with pytest.raises(ps.ArgumentError, match="overlaps"):
        shared.call(fill, ps.Out(x[:6]), ps.In(x[5:]))
    shared.call(lambda a, b: None, ps.In(x[:6]), ps.In(x[5:])).wait()


def test_large_arguments_and_results_travel_too(shared):
    text = "x" * 300_000
    assert shared.call(len, text).result() == 300_000
    assert shared.call(lambda n: "y" * n, 5_000_000).result() == "y" * 5_000_000
    for n in (10, 191, 192, 193, 1000, 70_000, 100):
        assert len(shared.call(lambda n: b"z" * n, n).result()) == n
    assert shared.call(lambda *numbers: sum(numbers), *range(1000)).result() == sum(range(1000))


def test_an_exception_comes_back_with_its_type_and_its_traceback(shared):
    handle = shared.call(fails, "seven")
    with pytest.raises(ps.TaskFailed, match="ValueError: seven") as caught:
        handle.wait()
    assert caught.value.task == "fails" and caught.value.target == 0
    cause = caught.value.__cause__
    assert type(cause) is ValueError and cause.args == ("seven",)
    text = "".join(traceback.format_exception(caught.value))
    assert "in fails" in text and 'raise ValueError(what)' in text
    assert isinstance(handle.exception(), ps.TaskFailed)
    with pytest.raises(ps.TaskFailed):
        handle.result()
    shared.barrier()  # it was told of


def test_exceptions_that_cannot_be_pickled_come_back_as_text(shared):
    def body():
        class Odd(Exception):
            def __init__(self, a, b):
                super().__init__(f"{a}{b}")
                self.lock = threading.Lock()

        raise Odd("o", "dd")

    with pytest.raises(ps.TaskFailed, match="odd") as caught:
        shared.call(body).wait()
    assert "Odd" in str(caught.value.__cause__)


def test_sys_exit_and_keyboard_interrupt_fail_the_task_and_not_the_worker(shared):
    pid = shared.call(process).result()
    for body in (sys.exit, lambda: (_ for _ in ()).throw(KeyboardInterrupt())):
        with pytest.raises(ps.TaskFailed, match="SystemExit|KeyboardInterrupt"):
            shared.call(body).wait()
    assert shared.call(process).result() == pid
