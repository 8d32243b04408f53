"""Python bodies: plain functions that run in the worker interpreters of a machine."""

import functools
import gc
import os
import random
import signal
import sys
import threading
import time
import traceback
import weakref

import numpy as np
import pytest

import penstock as ps


@pytest.fixture(scope="module")
def shared():
    """One machine for most tests, so that its workers start once."""
    with ps.Machine(targets=1) as made:
        yield made


def fill(out, value):
    out[...] = value


def process():
    return os.getpid()


def pass_gate(gate):
    while not gate[0]:
        time.sleep(0.001)


class Gated:
    """A task that runs until the gate is opened."""

    def __init__(self, machine):
        self.gate = machine.array(1, np.int8)
        self.handle = machine.call(pass_gate, ps.In(self.gate))

    def open(self):
        self.gate[0] = 1
        self.handle.wait()


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


def test_a_function_is_carried_over_once(shared):
    class Counted:
        pickles = 0

        def __reduce__(self):
            Counted.pickles += 1
            return int, ()

    held = Counted()

    def body():
        return type(held).__name__

    assert {shared.call(body).result() for _ in range(5)} == {"int"}
    assert Counted.pickles == 1


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


def fails(what):
    raise ValueError(what)


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


def test_arguments_are_held_until_the_task_has_completed_and_no_longer(shared):
    class Watched(np.ndarray):
        pass

    x = np.zeros(1000).view(Watched)
    alive = weakref.ref(x)
    handle = shared.call(lambda x: (time.sleep(0.05), x.fill(1))[1], ps.Out(x))
    del x
    gc.collect()
    assert alive() is not None
    handle.wait()
    gc.collect()
    assert alive() is None


def test_arrays_outlive_their_machine():
    with ps.Machine(targets=1) as machine:
        x = machine.array(1000)
        machine.call(fill, ps.Out(x), 2.0)
    gc.collect()
    assert (x == 2).all()
    with pytest.raises(ps.MachineGone):
        machine.array(3)


def test_shapes_and_types_of_arrays_are_checked(shared):
    assert shared.array(0).shape == (0,) and shared.array((), "u1").shape == ()
    with pytest.raises(ps.ElementError):
        shared.array(3, object)
    with pytest.raises(ps.UsageError):
        shared.array(-1)
    with pytest.raises(ps.SystemError):
        shared.array(1 << 60)


def test_a_machine_without_targets_runs_python_bodies_inside_their_call():
    with ps.Machine(targets=0) as machine:
        x = np.zeros(3)
        handle = machine.call(fill, ps.Out(x), 4)
        assert handle.ready() and x.tolist() == [4] * 3
        assert machine.call(process).result() == os.getpid()
        failed = machine.call(fails, 1)
        with pytest.raises(ps.TaskFailed, match="ValueError: 1"):
            failed.wait()
        machine.call(fails, 2)
        with pytest.raises(ps.TaskFailed, match="ValueError: 2"):
            machine.barrier()


def test_what_cannot_be_carried_over_is_refused(shared):
    lock = threading.Lock()
    with pytest.raises(ps.UsageError, match="carried over"):
        shared.call(lambda: lock)
    with pytest.raises(TypeError, match="pickle"):
        shared.call(process, lock)


def test_a_full_machine_refuses_python_bodies_where_that_was_chosen():
    with ps.Machine(targets=1, depth=4, when_full="refuse") as machine:
        slow = Gated(machine)
        with pytest.raises(ps.QueueFull):
            for _ in range(5):
                machine.call(process)
        slow.open()
        machine.barrier()


def test_what_a_body_prints_reaches_the_user(capfd):
    with ps.Machine(targets=1) as machine:  # its worker starts here, so it has the descriptors that are read below
        machine.call(print, "from the worker").wait()
        machine.call(lambda: print("and its errors", file=sys.stderr)).wait()
    told = capfd.readouterr()
    assert told.out == "from the worker\n" and told.err == "and its errors\n"


@pytest.mark.parametrize("how", ["segv", "abort", "exit", "kill"])
def test_a_worker_that_dies_fails_its_own_task_and_no_other(how):
    def die():
        if how == "exit":
            os._exit(3)
        os.kill(os.getpid(), {"segv": signal.SIGSEGV, "abort": signal.SIGABRT, "kill": signal.SIGKILL}[how])
        time.sleep(10)

    with ps.Machine(targets=2, pin=False) as machine:
        handles = [machine.call(die if i == 10 else lambda i: i, *(() if i == 10 else (i,))) for i in range(200)]
        with pytest.raises(ps.TaskFailed, match="died") as caught:
            handles[10].wait()
        cause = caught.value.__cause__
        assert isinstance(cause, ps.WorkerDied) and cause.pid > 0 and cause.task.endswith("die")
        expected = {"segv": signal.SIGSEGV, "abort": signal.SIGABRT, "kill": signal.SIGKILL}.get(how)
        assert cause.signal == expected and cause.exit_code == (3 if how == "exit" else None)
        assert [handle.result() for i, handle in enumerate(handles) if i != 10] == [i for i in range(200) if i != 10]
        for target in range(2):  # both serve again
            assert machine.on(target).call(process, ).result() > 0


def test_an_idle_worker_that_is_killed_is_replaced():
    with ps.Machine(targets=1) as machine:
        pid = machine.call(process).result()
        os.kill(pid, signal.SIGKILL)
        for _ in range(5):
            try:
                other = machine.call(process).result()
            except ps.TaskFailed as error:  # it had claimed the task already
                assert isinstance(error.__cause__, ps.WorkerDied)
        assert other != pid


def test_random_kills_lose_only_what_ran():
    with ps.Machine(targets=2, pin=False) as machine:
        x = machine.array(1000, np.int32)

        def mark(x, i):
            time.sleep(0.001)
            x[i] += 1

        tag = ps.InOut(x)
        stop = threading.Event()

        def kill():
            while not stop.wait(0.2):
                if pid := random.choice(machine.worker_pids):
                    os.kill(pid, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        handles = [machine.call(mark, tag, i) for i in range(len(x))]
        killer.start()
        died = 0
        try:
            for handle in handles:
                try:
                    handle.wait()
                except ps.TaskFailed as error:
                    assert isinstance(error.__cause__, ps.WorkerDied)
                    died += 1
        finally:
            stop.set()
            killer.join()
        assert (x <= 1).all() and (x == 0).sum() <= died


def test_a_task_beyond_its_time_limit_is_ended_and_others_are_not(shared):
    late = shared.call(time.sleep, 30, time_limit=0.2)
    after = [shared.call(lambda i: i, i, time_limit=20) for i in range(50)]
    with pytest.raises(ps.TaskFailed, match="longer than its time limit of 0.2 s") as caught:
        late.wait()
    assert isinstance(caught.value.__cause__, ps.TimeLimitExceeded) and caught.value.__cause__.limit == 0.2
    assert [handle.result() for handle in after] == list(range(50))
    with pytest.raises(ps.UsageError):
        shared.call(process, time_limit=0)


def test_closing_waits_for_python_bodies_and_ends_the_workers(tmp_path):
    with pytest.raises(ps.TaskFailed, match="ValueError"), ps.Machine(targets=1) as machine:
        pid = machine.call(process).result()
        done = machine.call(lambda: (time.sleep(0.1), 4)[1])
        machine.call(fails, 1)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert done.ready() and done.result() == 4
    assert "complete" in repr(done)


def test_a_machine_that_is_dropped_finishes_its_python_bodies(tmp_path):
    path = tmp_path / "done"
    machine = ps.Machine(targets=1)
    machine.call(path.write_text, "x")
    del machine
    gc.collect()
    assert path.read_text() == "x"


def test_workers_that_cannot_start_are_told_of_and_nothing_hangs(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with ps.Machine(targets=1) as machine:
        with pytest.raises(ps.Error):  # TaskFailed, or what the next call raises where that is known by now
            machine.call(process).wait()
        with pytest.raises(ps.Error, match="serve"):
            machine.call(process)


def test_a_child_of_fork_is_told_that_the_machine_stayed_behind(shared):
    shared.call(process).wait()
    pid = os.fork()
    if pid == 0:
        try:
            shared.call(process)
            os._exit(1)
        except ps.MachineGone:
            os._exit(0)
        except BaseException:  # noqa: BLE001 - a child of fork must not go on
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
