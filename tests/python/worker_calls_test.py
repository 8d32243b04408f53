"""Python bodies among others: order, options, handles and call-backs."""

import os
import sys
import threading
import time

import numpy as np
import pytest

import penstock as ps
from worker_parts import Gated, fails, fill, process


def test_a_barrier_raises_the_first_failure_and_counts_the_rest(shared):
    for i in range(5):
        shared.call(fails, i)
    with pytest.raises(ps.TaskFailed, match="ValueError: 0") as caught:
        shared.barrier()
    assert caught.value.others == 4
    shared.barrier()


def test_a_barrier_waits_for_compiled_and_python_bodies(shared, count):
    x, y = np.zeros(4, np.int64), np.zeros(4)
    shared.call(count, ps.InOut(x))
    shared.call(lambda y: (time.sleep(0.05), y.fill(3))[1], ps.Out(y))
    shared.barrier()
    assert x.tolist() == [1] * 4 and y.tolist() == [3] * 4


def test_thousands_may_be_outstanding(shared):
    x = shared.array(40_000, np.int32)

    def mark(x, i):
        x[i] += i

    tag = ps.InOut(x)
    for i in range(len(x)):
        shared.call(mark, tag, i)
    shared.barrier()
    assert np.array_equal(x, np.arange(len(x)))


def test_tasks_of_several_workers_each_run_once():
    with ps.Machine(targets=3, pin=False) as machine:
        x = machine.array((3000,), np.int32)

        def mark(x, i):
            x[i] += 1
            return os.getpid()

        tag = ps.InOut(x)
        handles = [machine.call(mark, tag, i) for i in range(len(x))]
        pids = {handle.result() for handle in handles}
        assert (x == 1).all() and pids <= set(machine.worker_pids)
        for target in range(3):
            assert machine.on(target).call(process).result() == machine.worker_pids[target]


def test_many_threads_issue_python_bodies_at_once(shared):
    errors = []

    def issue(base):
        try:
            handles = [shared.call(lambda x: x + 1, base + i) for i in range(300)]
            assert [handle.result() for handle in handles] == [base + i + 1 for i in range(300)]
        except BaseException as error:  # noqa: BLE001 - told by the main thread
            errors.append(error)

    threads = [threading.Thread(target=issue, args=(1000 * t,)) for t in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_a_handle_times_out_and_other_threads_run_while_it_waits(shared):
    gated = Gated(shared)
    with pytest.raises(TimeoutError):
        gated.handle.result(timeout=0.05)
    assert not gated.handle.done()
    timer = threading.Timer(0.05, gated.open)
    timer.start()
    gated.handle.wait()
    timer.join()
    assert gated.handle.done()


def test_a_task_that_has_not_started_can_be_cancelled(shared):
    first = Gated(shared)
    second = shared.call(fails, 1)
    while not (first.handle.ready() or second.ready()) and not second.cancel():
        pass
    assert second.ready()
    with pytest.raises(ps.TaskCancelled):
        second.wait()
    first.open()
    assert not first.handle.cancel()
    shared.barrier()


def test_wait_all_and_wait_any_take_both_kinds_of_bodies(shared, count):
    x = np.zeros(1, np.int64)
    slow = Gated(shared)
    assert ps.wait_any([slow.handle, shared.call(count, ps.InOut(x))]) == 1
    slow.open()
    assert ps.wait_any([slow.handle, shared.call(process)]) in (0, 1)
    ps.wait_all([slow.handle, shared.call(count, ps.InOut(x)), shared.call(process)])
    assert slow.handle.ready() and x[0] == 2
    with pytest.raises(ps.TaskFailed):
        ps.wait_all([shared.call(fails, 1), shared.call(process)])


def test_a_task_comes_after_others_also_in_long_rows(shared):
    gated = Gated(shared)
    x = shared.array(1, np.int64)

    def step(x, i):
        assert x[0] == i
        x[0] = i + 1

    last = gated.handle
    for i in range(200):
        last = shared.call(step, ps.InOut(x), i, after=[last])
    assert not last.ready() and x[0] == 0
    gated.open()
    last.wait()
    assert x[0] == 200
    shared.barrier()


def test_a_task_that_comes_after_a_failure_does_not_run(shared):
    seen = shared.array(1, np.int8)
    first = shared.call(fails, 4)
    second = shared.call(fill, ps.Out(seen), 1, after=[first])
    third = shared.call(fill, ps.Out(seen), 1, after=[second])
    with pytest.raises(ps.PredecessorFailed, match="fails") as caught:
        second.wait()
    assert isinstance(caught.value.__cause__, ValueError) and caught.value.predecessor == "fails"
    with pytest.raises(ps.PredecessorFailed):
        third.result()
    with pytest.raises(ps.TaskFailed, match="ValueError: 4") as caught:
        shared.barrier()  # the failure itself, once
    assert caught.value.others == 0 and seen[0] == 0


def test_high_priority_goes_before_what_waits(shared):
    gated = Gated(shared)
    order = shared.array(20, np.int64)

    def note(order, i):
        order[np.count_nonzero(order)] = i

    tag = ps.InOut(order)
    for i in range(1, 11):
        shared.call(note, tag, i)
    for i in range(11, 21):
        shared.call(note, tag, i, priority="high")
    started = bool(gated.handle.ready())
    gated.open()
    shared.barrier()
    assert not started and order.tolist() == [*range(11, 21), *range(1, 11)]
    with pytest.raises(ps.UsageError, match="normal, high"):
        shared.call(process, priority="urgent")


def test_then_is_called_with_the_handle_for_both_kinds_of_bodies(shared, count):
    x, seen = np.zeros(1, np.int64), []
    handle = shared.call(lambda: 3, then=lambda done: seen.append(done.result()))
    handle.wait()
    assert seen == [3]
    shared.call(count, ps.InOut(x), then=lambda done: seen.append(done.ready()))
    shared.barrier()
    assert seen == [3, True] and x[0] == 1


def test_compiled_bodies_come_after_others_and_have_options(shared, gate, count, native):
    opened, x = np.zeros(1, np.int64), np.zeros(1, np.int64)
    first = shared.call(gate, ps.In(opened))
    second = shared.call(count, ps.InOut(x), after=[first])
    assert not second.ready() and x[0] == 0
    opened[0] = 1
    second.wait()
    assert x[0] == 1
    shared.call(count, ps.InOut(x), priority="high", deadline=10.0, affine=True).wait()
    assert x[0] == 2
    failed = shared.call(native.body("fail", "void (int32_t code)"), 3)
    after = shared.call(count, ps.InOut(x), after=[failed])
    with pytest.raises(ps.PredecessorFailed):
        after.wait()
    with pytest.raises(ps.TaskFailed, match="code 3"):
        shared.barrier()
    assert x[0] == 2
    with pytest.raises(ps.UsageError, match="Python"):
        shared.call(count, ps.InOut(x), after=[shared.call(process)])
    with pytest.raises(ps.UsageError, match="time limit"):
        shared.call(count, ps.InOut(x), time_limit=1)
    with pytest.raises(ps.UsageError, match="compiled"):
        shared.call(process, affine=True)


def test_callbacks_run_when_the_task_is_found_complete(shared):
    seen = []
    handle = shared.call(lambda: 5)
    handle.add_done_callback(lambda done: seen.append((done.result(), threading.current_thread())))
    shared.barrier()
    assert seen == [(5, threading.current_thread())]
    handle.add_done_callback(lambda done: seen.append(done))
    assert seen[1] == handle


def test_a_callback_that_raises_harms_nobody_and_may_issue_more(shared, monkeypatch):
    reported, more = [], []
    monkeypatch.setattr(sys, "unraisablehook", lambda report: reported.append(report.exc_type))
    first = shared.call(process)
    first.add_done_callback(lambda _: 1 // 0)
    first.add_done_callback(lambda _: more.append(shared.call(lambda: 9)))
    first.wait()
    assert reported == [ZeroDivisionError] and more[0].result() == 9
