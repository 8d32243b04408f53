"""Python bodies where things meet: results and rooms, forks, deaths, destructors, threads that wait for the same task."""

import asyncio
import contextlib
import gc
import os
import sys
import threading
import time

import numpy as np
import pytest

import penstock as ps


@pytest.fixture(scope="module")
def shared():
    with ps.Machine(targets=1) as made:
        yield made


def fails(x):
    raise ValueError(x)


def pass_gate(gate):
    while not gate[0]:
        time.sleep(0.001)


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
