"""Python bodies where things meet: results and rooms, forks, deaths, destructors, threads that wait for the same task."""

import asyncio
import contextlib
import gc
import os
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import penstock as ps
from worker_parts import fails, pass_gate


class Gate:
    def __init__(self, machine):
        self.array = machine.array(1, np.int8)
        self.argument = ps.In(self.array)

    def open(self):
        self.array[0] = 1


def in_child(function):
    """The exit code of a child of fork that calls the function: 0 where it returns True."""
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(0 if function() is True else 1)
        except BaseException:  # noqa: BLE001 - a child of fork must not go on
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_large_results_that_nobody_has_taken_yet_are_kept(shared):
    handles = [shared.call(lambda i: bytes([i]) * 1000, i) for i in range(20)]
    time.sleep(0.5)
    assert [handle.result(20) for handle in handles] == [bytes([i]) * 1000 for i in range(20)]


def test_a_child_of_fork_leaves_the_tasks_of_its_parent_alone(shared):
    gate = Gate(shared)
    first = shared.call(pass_gate, gate.argument)
    waiting = [shared.call(bytes, 100_000 + i) for i in range(3)]
    done = shared.call(lambda x: x, bytes(100_000))  # its blocks are the parent's to free

    def child():
        nonlocal done
        refused = 0
        for call in (shared.barrier, shared.poll, shared.notification_descriptor, waiting[0].wait, waiting[0].result):
            with contextlib.suppress(ps.MachineGone):
                call()
                return False
            refused += 1
        del done
        gc.collect()
        return refused == 5 and not any(handle.cancel() for handle in waiting) and waiting[0].ready()

    assert in_child(child) == 0
    gate.open()
    first.wait()
    assert [len(handle.result(20)) for handle in waiting] == [100_000 + i for i in range(3)]
    assert done.result(20) == bytes(100_000)


class Witness:
    """Tells which thread lets it go."""

    seen: list = []  # noqa: RUF012 - one list for all is meant

    def __del__(self):
        Witness.seen.append(threading.get_ident())


def test_a_predecessor_is_let_go_by_a_thread_that_has_the_interpreter():
    with ps.Machine(targets=2, pin=False) as machine:
        gate = Gate(machine)
        first = machine.call(Witness)
        last = machine.call(int, after=[first, machine.call(pass_gate, gate.argument)])
        first.result()
        Witness.seen.clear()
        del first
        time.sleep(0.1)  # the thread that feeds workers looks at what `last` waits for
        machine.poll()
        assert set(Witness.seen) == {threading.get_ident()}
        gate.open()
        assert last.result(20) == 0


def test_an_event_loop_is_told_when_a_predecessor_has_failed(shared):
    async def main():
        gate = Gate(shared)
        gated = shared.call(pass_gate, gate.argument)
        failed = shared.call(fails, 1, after=[gated])
        second = shared.call(int, after=[failed])
        third = shared.call(int, after=[second], priority="high")  # looked at first, so it settles by a later look
        asyncio.get_running_loop().call_later(0.1, gate.open)
        with pytest.raises(ps.PredecessorFailed):
            await asyncio.wait_for(third, 20)

    asyncio.run(main())
    with pytest.raises(ps.TaskFailed):
        shared.barrier()


def test_an_event_loop_is_told_when_no_worker_can_be_started(tmp_path, monkeypatch):
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\nsleep 0.2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))

    async def main(machine):
        with pytest.raises(ps.TaskFailed):
            await asyncio.wait_for(machine.call(int), 20)

    with ps.Machine(targets=1) as machine:
        asyncio.run(main(machine))


class Stopping:
    """An argument whose destructor stops until it may go on."""

    reached, go_on = threading.Event(), threading.Event()

    def __reduce__(self):
        return int, ()

    def __del__(self):
        Stopping.reached.set()
        Stopping.go_on.wait(20)


def test_what_a_wait_returns_for_is_copied_back_whatever_destructors_do(shared):
    x = np.zeros(10)
    shared.call(lambda _: None, Stopping())
    handle = shared.call(lambda x: x.fill(1), ps.Out(x))
    flag = shared.array(1)
    shared.call(lambda flag: flag.fill(1), ps.Out(flag))
    while not flag[0]:
        time.sleep(0.001)  # both have completed before it, and nobody has looked
    other = threading.Thread(target=shared.poll)
    other.start()
    assert Stopping.reached.wait(20)
    handle.wait()
    copied = x.tolist()
    Stopping.go_on.set()
    other.join()
    assert copied == [1] * 10


def test_a_body_that_gives_its_array_another_shape_does_so_for_itself(shared):
    x = shared.array(10)

    def reshape(x):
        x.shape = (2, 5)
        x[1, 0] = 1

    def shape(x):
        return x.shape

    for _ in range(2):
        shared.call(reshape, ps.InOut(x)).wait()
        assert shared.call(shape, ps.InOut(x)).result() == (10,)
    assert x.tolist() == [0] * 5 + [1] + [0] * 4


def test_threads_whose_first_calls_meet_share_the_workers(monkeypatch):
    from penstock import interpreters

    command = interpreters.command

    def slow():
        time.sleep(0.1)
        return command()

    monkeypatch.setattr(interpreters, "command", slow)
    pids = []
    with ps.Machine(targets=1) as machine:
        threads = [threading.Thread(target=lambda: pids.append(machine.call(os.getpid).result())) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert pids == machine.worker_pids * 4


class Rebuilt:
    """Where it is unpickled by the first thread, that thread stops until another has done the same."""

    first, second = threading.Event(), threading.Event()

    def __reduce__(self):
        return rebuild, (bytes(2000),)


def rebuild(filling):
    if threading.current_thread() is threading.main_thread():
        Rebuilt.second.set()
    elif not Rebuilt.first.is_set():
        Rebuilt.first.set()
        Rebuilt.second.wait(20)
        time.sleep(0.3)
    return filling


class Pair:
    """Two values of which the first is made while other threads run; the second lies behind it among the bytes."""

    def __reduce__(self):
        return tuple, ([Rebuilt(), bytes([7]) * 2000],)


def test_two_threads_may_ask_for_the_same_result(shared):
    handle = shared.call(Pair)
    handle.wait()
    results = []
    other = threading.Thread(target=lambda: results.append(handle.result(20)))
    other.start()
    assert Rebuilt.first.wait(20)
    results.append(handle.result(20))
    for i in range(50):
        shared.call(bytes, bytes([i]) * 4500).wait()  # into memory that was let go
    other.join()
    assert results == [(bytes(2000), bytes([7]) * 2000)] * 2
    assert results[0] is results[1]


class Large:
    def __init__(self):
        self.content = os.urandom(1 << 20)

    def size(self):
        return len(self.content)


def test_functions_that_are_made_anew_for_each_call_do_not_pile_up(shared):
    alive = weakref.WeakSet()
    for _ in range(40):
        large = Large()
        alive.add(large)
        assert shared.call(large.size).result() == 1 << 20
    del large
    gc.collect()
    assert len(alive) <= 16


def test_failures_that_were_told_of_do_not_pile_up(shared):
    class Fault(Exception):
        pass

    alive = weakref.WeakSet()

    def fail():
        raise Fault

    for _ in range(300):
        error = shared.call(fail).exception(20).__cause__
        alive.add(error)
    del error
    shared.poll()
    gc.collect()
    assert len(alive) <= 150
    shared.barrier()
