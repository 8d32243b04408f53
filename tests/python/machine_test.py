"""Machine and handles from Python: options, ends, failures, threads."""

import threading
import time

import numpy as np
import pytest

import penstock as ps

FAIL = "void (int32_t code)"


def test_options_have_the_names_of_cpp_and_are_checked():
    with ps.Machine(targets=2, depth=8, distribution="round_robin", initiation="pull", completion="line", when_full="wait", pending_limit=0,
                    prefetch="never", pin=False, budget="", spin=1e-3, local_store=4096, buffer_bytes=1 << 20, nesting_limit=10) as machine:  # fmt: skip
        assert machine.targets == 2
        assert "2 target" in machine.description
    for wrong in ({"targets": -1}, {"targets": 257}, {"depth": 0}, {"depth": 2000}, {"distribution": "random"}, {"when_full": ""}, {"spin": -1.0},
                  {"nesting_limit": 0}, {"budget": "no/slash"}):  # fmt: skip
        with pytest.raises(ps.UsageError):
            ps.Machine(**wrong)


@pytest.mark.parametrize("distribution", ["balanced", "round_robin", "least_loaded"])
@pytest.mark.parametrize("initiation", ["push", "pull"])
def test_every_way_to_issue_runs_every_task_once(distribution, initiation, native, count):
    x = np.zeros((500, 3), np.int64)
    with ps.Machine(targets=2, distribution=distribution, initiation=initiation) as machine:
        for row in x:
            machine.call(count, ps.InOut(row))
        machine.barrier()
        assert np.array_equal(x, np.ones((500, 3)))


def test_a_machine_without_targets_runs_tasks_inside_their_call(count):
    x = np.zeros(3, np.int64)
    with ps.Machine(targets=0) as machine:
        assert machine.call(count, ps.InOut(x)).ready()
        assert x.tolist() == [1] * 3


def test_a_named_target_must_exist(machine, count):
    with pytest.raises(ps.UsageError):
        machine.on(1)
    with pytest.raises(ps.UsageError):
        machine.on(-1)
    x = np.zeros(1, np.int64)
    machine.on(0).call(count, ps.InOut(x)).wait()
    assert x[0] == 1


def test_a_closed_machine_says_so(count):
    machine = ps.Machine(targets=1)
    handle = machine.call(count, ps.InOut(np.zeros(1, np.int64)))
    machine.close()
    machine.close()
    assert machine.closed and handle.ready()
    with pytest.raises(ps.MachineGone):
        handle.wait()
    for use in (machine.barrier, machine.finish, machine.snapshot, lambda: machine.call(count), lambda: machine.targets):
        with pytest.raises(ps.MachineGone):
            use()


def test_handles_wait_with_and_without_helping(machine, count):
    x = np.zeros((4, 1), np.int64)
    handles = [machine.call(count, ps.InOut(row)) for row in x]
    handles[3].wait(help=True)
    handles[0].wait()
    handles[0].wait()
    ps.wait_all(handles)
    assert ps.wait_any(handles) in range(4)
    assert all(handle.ready() for handle in handles) and x.sum() == 4
    assert handles[0] == handles[0] and handles[0] != handles[1] and handles[0] != 3


def test_waiting_for_no_handle_or_no_handles_is_refused():
    with pytest.raises(ps.UsageError):
        ps.wait_any([])
    with pytest.raises(ps.UsageError):
        ps.wait_all([3])
    ps.wait_all([])


def test_other_python_threads_run_while_one_waits(machine, gate):
    opened = np.zeros(1, np.int64)
    handle = machine.call(gate, ps.In(opened))

    def open_gate():
        time.sleep(0.05)
        opened[0] = 1

    thread = threading.Thread(target=open_gate)
    thread.start()
    handle.wait()
    thread.join()


def test_a_task_that_has_not_started_can_be_cancelled(machine, gate, count):
    opened, x = np.zeros(1, np.int64), np.zeros(1, np.int64)
    first = machine.on(0).call(gate, ps.In(opened))
    second = machine.on(0).call(count, ps.InOut(x))
    assert second.cancel()
    opened[0] = 1
    first.wait()
    with pytest.raises(ps.TaskCancelled):
        second.wait()
    assert x[0] == 0 and not first.cancel()


def test_a_full_machine_refuses_where_that_was_chosen(gate, count):
    opened, x = np.zeros(1, np.int64), np.zeros((100, 1), np.int64)
    with ps.Machine(targets=1, depth=4, when_full="refuse", distribution="round_robin") as machine:
        machine.call(gate, ps.In(opened))
        with pytest.raises(ps.QueueFull):
            for row in x:
                machine.call(count, ps.InOut(row))
        opened[0] = 1
        machine.barrier()


def test_a_call_that_waits_for_room_lets_python_run(gate, count):
    opened, x = np.zeros(1, np.int64), np.zeros((100, 1), np.int64)
    with ps.Machine(targets=1, depth=2, when_full="wait", distribution="round_robin") as machine:
        threading.Timer(0.05, lambda: opened.fill(1)).start()
        machine.call(gate, ps.In(opened))
        for row in x:
            machine.call(count, ps.InOut(row))
        machine.barrier()
    assert x.sum() == 100


def test_an_exception_in_a_body_reaches_who_waits_and_the_machine_goes_on(machine, native, count):
    fail = native.body("fail", FAIL)
    handle = machine.call(fail, 42)
    with pytest.raises(ps.TaskFailed, match="code 42") as caught:
        handle.wait()
    assert caught.value.task == "fail" and "code 42" in str(caught.value.__cause__)
    assert caught.value.target in (-1, 0) and caught.value.others == 0
    x = np.zeros(2, np.int64)
    machine.call(count, ps.InOut(x)).wait()
    assert x.tolist() == [1, 1]


def test_a_barrier_raises_the_first_failure_and_counts_the_rest(machine, native):
    fail = native.body("fail", FAIL)
    for code in range(5):
        machine.on(0).call(fail, code)
    with pytest.raises(ps.TaskFailed, match="code 0") as caught:
        machine.barrier()
    assert caught.value.others == 4
    machine.barrier()


def test_leaving_the_block_raises_what_nobody_saw_unless_it_ends_by_an_error(native):
    fail = native.body("fail", FAIL)
    with pytest.raises(ps.TaskFailed), ps.Machine(targets=1) as machine:
        machine.call(fail, 1)
    assert machine.closed
    with pytest.raises(KeyError), ps.Machine(targets=1) as machine:
        machine.call(fail, 1)
        raise KeyError
    assert machine.closed


def test_many_threads_issue_at_once(count):
    threads, calls = 16, 300
    x = np.zeros((threads, calls, 2), np.int64)
    errors = []
    with ps.Machine(targets=2) as machine:

        def issue(rows):
            try:
                for row in rows:
                    machine.call(count, ps.InOut(row))
                machine.barrier()
                assert (rows == 1).all()
            except BaseException as error:  # noqa: BLE001 - told by the main thread
                errors.append(error)

        workers = [threading.Thread(target=issue, args=(rows,)) for rows in x]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        machine.finish()
        assert machine.held == 0
    assert not errors and (x == 1).all()


def test_errors_have_the_family_tree_of_cpp():
    for kind in (ps.ArgumentError, ps.BodyError, ps.SettingError, ps.NestingTooDeep, ps.WouldDeadlock, ps.MachineGone):
        assert issubclass(kind, ps.UsageError)
    for kind in (ps.UsageError, ps.TaskFailed, ps.TaskCancelled, ps.QueueFull, ps.SystemError):
        assert issubclass(kind, ps.Error)
