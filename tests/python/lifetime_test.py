"""Arrays and bodies live until their task has completed, and no longer (contract 6)."""

import ctypes
import gc
import time
import weakref

import numpy as np
import pytest

import penstock as ps

WAIT_AND_SUM = "void (const int64_t *open, intptr_t, const double *x, intptr_t n, double *sum, intptr_t)"


class Watched(np.ndarray):
    """An array that can be watched."""


def watched(n, value):
    array = np.full(n, float(value)).view(Watched)
    return array, weakref.ref(array)


def test_an_array_that_nobody_else_holds_lives_until_its_task_has_run(native):
    opened, total = np.zeros(1, np.int64), np.zeros(1)
    with ps.Machine(targets=1) as machine:
        x, alive = watched(100_000, 2)
        handle = machine.call(native.address("wait_and_sum"), ps.In(opened), ps.In(x), ps.Out(total), signature=WAIT_AND_SUM)
        del x
        gc.collect()
        junk = [np.full(100_000, 9.0) for _ in range(20)]  # would lie where the array was
        assert alive() is not None and machine.held >= 1
        opened[0] = 1
        handle.wait()
        del junk
        assert total[0] == 200_000
        gc.collect()
        assert alive() is None and machine.held == 0


@pytest.mark.parametrize("end", ["barrier", "finish", "close"])
def test_a_dropped_handle_frees_nothing_early_and_the_end_frees_all(end, native):
    opened, total = np.zeros(1, np.int64), np.zeros(1)
    machine = ps.Machine(targets=1)
    x, alive = watched(1000, 3)
    machine.on(0).call(native.address("wait_and_sum"), ps.In(opened), ps.In(x), ps.Out(total), signature=WAIT_AND_SUM)
    del x
    gc.collect()
    assert alive() is not None
    opened[0] = 1
    getattr(machine, end)()
    gc.collect()
    assert total[0] == 3000 and alive() is None
    machine.close()


def test_what_completed_is_dropped_while_calls_go_on(machine, count):
    x = np.zeros(1, np.int64)
    for _ in range(20_000):
        machine.on(0).call(count, ps.InOut(x))
    machine.barrier()
    assert x[0] == 20_000
    assert machine.held == 0


def test_a_body_that_nobody_else_holds_lives_until_it_has_run(gate):
    opened, seen = np.zeros(1, np.int64), []
    with ps.Machine(targets=1) as machine:
        machine.on(0).call(gate, ps.In(opened))
        callback = ctypes.CFUNCTYPE(None, ctypes.c_int)(seen.append)
        machine.on(0).call(ps.compiled(callback), 5)
        del callback
        gc.collect()
        opened[0] = 1
        machine.finish()
    assert seen == [5]


def test_an_exported_bytearray_cannot_shrink_under_its_task(machine, gate):
    opened, data = np.zeros(1, np.int64), bytearray(64)
    handle = machine.call(gate, ps.In(opened))
    tag = ps.In(data)
    with pytest.raises(BufferError):
        data.clear()
    del tag
    opened[0] = 1
    handle.wait()
    data.clear()


def test_a_machine_that_is_dropped_finishes_its_tasks(count):
    x = np.zeros(4, np.int64)
    machine = ps.Machine(targets=1)
    for _ in range(100):
        machine.on(0).call(count, ps.InOut(x))
    del machine
    gc.collect()
    deadline = time.monotonic() + 10
    while x[0] != 100 and time.monotonic() < deadline:
        time.sleep(0.001)
    assert x.tolist() == [100] * 4
