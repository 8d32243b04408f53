"""Compiled bodies in the order of their tags, recorded and replayed."""

import gc
import threading

import numpy as np
import pytest

import penstock as ps


class Order:
    """A machine, an order, and the gate that holds up its first task."""

    def __init__(self, machine, gate):
        self.machine, self.order = machine, ps.Dependences(machine)
        self.open = np.zeros(1, np.int64)
        self.gate = gate

    def hold(self):
        return self.order.call(self.gate, ps.In(self.open))

    def release(self):
        self.open[0] = 1


@pytest.fixture
def held(machine, gate):
    made = Order(machine, gate)
    yield made
    made.release()


def test_a_reader_waits_for_the_writer_and_a_writer_for_the_readers(native, held):
    count = native.body("count", "void (int64_t *x, intptr_t n)")
    wait_and_sum = native.body("wait_and_sum", "void (const int64_t *open, intptr_t, const double *x, intptr_t n, double *sum, intptr_t)")
    add_one = native.body("add_one", "void (double *x, intptr_t rows, intptr_t columns, intptr_t pitch)")
    x, total, other = np.ones(100), np.zeros(1), np.zeros(1, np.int64)
    reads = held.order.call(wait_and_sum, ps.In(held.open), ps.In(x), ps.Out(total))
    writes = held.order.call(add_one, ps.InOut(x))
    after = held.machine.call(count, ps.InOut(other))
    assert not writes.ready() and not reads.ready()
    held.release()
    held.order.wait()
    after.wait()
    assert total[0] == 100 and x.tolist() == [2.0] * 100 and held.order.blocks == 3


def test_many_tasks_give_what_they_would_give_in_turn(native, machine, scale_body):
    order = ps.Dependences(machine)
    rng = np.random.default_rng(5)
    arrays = [rng.random(64).astype(np.float32) for _ in range(6)]
    expected = [array.copy() for array in arrays]
    for _ in range(2000):
        a, b = rng.choice(6, 2, replace=False)
        factor = np.float32(rng.choice([0.5, 2, -1]))
        order.call(scale_body, ps.In(arrays[a]), ps.Out(arrays[b]), factor)
        expected[b][:] = factor * expected[a]
    order.wait()
    assert all(np.array_equal(a, b) for a, b in zip(arrays, expected, strict=True))


def test_parts_that_share_no_byte_do_not_wait_and_rows_that_do_wait(native, machine, gate):
    add_one = native.body("add_one", "void (double *x, intptr_t rows, intptr_t columns, intptr_t pitch)")
    order, opened, grid = ps.Dependences(machine), np.zeros(1), np.zeros((8, 8))
    hold = native.body("gate", "void (void *open, intptr_t n)")
    blocked = order.call(hold, ps.InOut(opened))
    order.call(add_one, ps.InOut(grid[:, :4]))
    order.call(add_one, ps.InOut(grid[:, 4:]))
    order.call(add_one, ps.InOut(grid[2:4]))
    opened.view(np.int64)[0] = 1
    blocked.wait()
    order.wait()
    assert grid.sum() == 64 + 16
    assert order.blocks == 4


def test_void_pointers_are_known_with_the_size_of_their_elements(native, machine):
    count = native.body("count", "void (int64_t *x, intptr_t n)")
    slow = native.body("gate", "void (const void *open, intptr_t n)")
    order, memory = ps.Dependences(machine), np.zeros(4, np.int64)
    held = order.call(slow, ps.In(memory))
    after = order.call(count, ps.InOut(memory[3:]))
    assert not after.ready()
    memory[0] = 1
    held.wait()
    order.wait()
    assert memory.tolist() == [1, 0, 0, 1]


def test_what_comes_after_a_failed_task_does_not_run(native, machine, fail):
    throws = native.body("fail_at", "void (intptr_t begin, intptr_t end, intptr_t where)")
    bad = native.body("go", "void (int32_t how, int64_t *out, intptr_t n)")
    order = ps.Dependences(machine)
    out = np.zeros(1, np.int64)
    order.call(bad, 5, ps.Out(out))
    order.wait()
    assert out[0] == 5
    order.call(throws, 0, 10, 3)
    with pytest.raises(ps.TaskFailed, match="fail_at"):
        order.wait()


def test_a_recording_is_run_again_and_bound_to_other_memory(native, machine):
    count = native.body("count", "void (int64_t *x, intptr_t n)")
    add = native.body("add_one", "void (double *x, intptr_t rows, intptr_t columns, intptr_t pitch)")
    order, x, y = ps.Dependences(machine), np.zeros(16, np.int64), np.zeros((4, 4))

    def body():
        order.call(count, ps.InOut(x))
        order.call(add, ps.InOut(y[:, 1:3]))
        order.call(count, ps.InOut(x[:8]))

    recording = order.record(body)
    gc.collect()
    assert (x[0], x[8], y[0, 1], y[0, 0]) == (2, 1, 1, 0) and recording.tasks == 3
    for _ in range(10):
        recording.replay()
    assert (x[0], x[8], y[0, 1], y[0, 0]) == (22, 11, 11, 0)
    other = np.zeros(16, np.int64)
    assert recording.rebind(x, other) == 2
    recording.replay()
    assert (x[0], other[0], other[8], y[0, 2]) == (22, 2, 1, 12)
    with pytest.raises(ps.UsageError, match="size"):
        recording.rebind(other, np.zeros(3, np.int64))
    with pytest.raises(ps.ArgumentError, match="float64"):
        recording.rebind(other, np.zeros(16))


def test_a_recording_keeps_what_its_calls_need(native, machine):
    order = ps.Dependences(machine)

    def body():
        count = ps.compiled(native.address("count"), "void (int64_t *x, intptr_t n)")
        order.call(count, ps.InOut(np.zeros(1000, np.int64)))

    recording = order.record(body)
    gc.collect()
    noise = [np.full(1000, 7, np.int64) for _ in range(20)]
    for _ in range(20):
        recording.replay()
    assert all((array == 7).all() for array in noise)


def test_what_cannot_be_recorded_or_ordered_is_refused(native, machine, count):
    order = ps.Dependences(machine)
    with pytest.raises(ps.UsageError, match="compiled"):
        order.call(lambda: None)
    with pytest.raises(ps.UsageError, match="target 5|numbered"):
        order.call(count, ps.InOut(np.zeros(1, np.int64)), target=5)
    with pytest.raises(ValueError, match="mine"):
        order.record(lambda: (_ for _ in ()).throw(ValueError("mine")))
    with pytest.raises(ps.UsageError, match="recording already"):
        order.record(lambda: order.record(lambda: None))
    with pytest.raises(ps.UsageError, match="resident"):
        order.call(count, ps.In(machine.resident(np.zeros(1, np.int64))))
    x = np.zeros(1, np.int64)
    assert order.record(lambda: order.call(count, ps.InOut(x), target=0)).tasks == 1  # usable after all of that


def test_another_thread_is_refused_and_may_drop_the_object(machine, count):
    held = [ps.Dependences(machine)]
    x = np.zeros(1, np.int64)
    held[0].call(count, ps.InOut(x))
    seen = []

    def other():
        with pytest.raises(ps.UsageError, match="thread"):
            held[0].call(count, ps.InOut(x))
        held.clear()
        seen.append(True)

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    machine.barrier()
    assert seen and x[0] == 1


def test_an_order_and_a_recording_outlive_their_machine(count):
    x = np.zeros(1, np.int64)
    with ps.Machine(targets=1) as machine:
        order = ps.Dependences(machine)
        recording = order.record(lambda: order.call(count, ps.InOut(x)))
        order.call(count, ps.InOut(x))
    assert x[0] == 2
    for use in (lambda: order.call(count, ps.InOut(x)), order.wait, recording.replay, lambda: ps.Dependences(machine)):
        with pytest.raises(ps.MachineGone):
            use()
