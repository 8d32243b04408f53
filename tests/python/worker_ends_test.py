"""Python bodies: what holds what alive, machines of all kinds, and workers that die or cannot start."""

import gc
import os
import random
import signal
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import penstock as ps
from worker_parts import Gated, fails, fill, process


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
