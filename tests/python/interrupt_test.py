"""`await` of compiled bodies that signal a descriptor when they complete."""

import asyncio
import threading

import numpy as np
import pytest

import penstock as ps


def threads_of_loops():
    return [thread for thread in threading.enumerate() if "asyncio" in thread.name]


def test_awaiting_a_body_that_interrupts_takes_no_thread(machine, count, gate):
    async def program():
        closed, x = np.zeros(1, np.int64), np.zeros(8, np.int64)
        held = machine.call(gate, ps.In(closed), notification="interrupt")
        others = [machine.call(count, ps.InOut(x[i : i + 1]), notification="interrupt") for i in range(8)]
        ticks = 0

        async def tick():
            nonlocal ticks
            while not closed[0]:
                ticks += 1
                await asyncio.sleep(0.001)
                if ticks == 5:
                    closed[0] = 1

        await asyncio.gather(tick(), held, *others)
        assert not threads_of_loops()
        return ticks, x.tolist()

    ticks, x = asyncio.run(asyncio.wait_for(program(), 30))
    assert ticks == 5 and x == [1] * 8


def test_failures_and_many_in_turn_reach_whoever_awaits(machine, count, fail):
    async def program():
        x = np.zeros(1, np.int64)
        for _ in range(200):
            await machine.call(count, ps.InOut(x), notification="interrupt")
        with pytest.raises(ps.TaskFailed, match="fail"):
            await machine.call(fail, 3, notification="interrupt")
        assert not threads_of_loops()
        return x[0]

    assert asyncio.run(asyncio.wait_for(program(), 30)) == 200


def test_bodies_that_do_not_ask_for_it_and_other_threads_are_awaited_too(machine, count):
    x = np.zeros(2, np.int64)
    foreign = machine.call(count, ps.InOut(x[:1]), notification="interrupt")

    async def program():
        await foreign
        await machine.call(count, ps.InOut(x[1:]))
        seen.append(await machine.call(lambda: 3))

    seen = []
    thread = threading.Thread(target=lambda: asyncio.run(asyncio.wait_for(program(), 30)))
    thread.start()
    thread.join()
    assert seen == [3] and x.tolist() == [1, 1]


def test_unknown_notifications_are_refused(machine, count):
    with pytest.raises(ps.UsageError, match="polled, mailbox, interrupt"):
        machine.call(count, ps.InOut(np.zeros(1, np.int64)), notification="pigeon")
    with pytest.raises(ps.UsageError, match="compiled"):
        machine.call(lambda: 1, notification="interrupt")
    machine.call(count, ps.InOut(np.zeros(1, np.int64)), notification="mailbox").wait()
