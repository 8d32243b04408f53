"""Flags, counters, barriers and locks from Python, in teams of threads and of processes."""

import time

import numpy as np
import pytest
import rank_programs as programs

import penstock as ps

SUBSTRATES = ("threads", "processes")


@pytest.mark.parametrize("substrate", SUBSTRATES)
def test_flags_and_counters_do_what_they_say(substrate):
    assert ps.spmd(2, programs.words, substrate=substrate) == ["owner", "other"]


@pytest.mark.parametrize("substrate", SUBSTRATES)
def test_a_mutex_lets_one_in_at_a_time_and_a_barrier_waits_for_all(substrate):
    ranks, rounds = 3, 40
    assert ps.spmd(ranks, programs.count_under_mutex, rounds, substrate=substrate) == [ranks * rounds] * ranks


@pytest.mark.parametrize("substrate", SUBSTRATES)
def test_readers_never_see_half_a_write(substrate):
    assert ps.spmd(3, programs.read_and_write, 60, substrate=substrate) == [True] * 3


@pytest.mark.parametrize("substrate", SUBSTRATES)
def test_a_condition_hands_work_over(substrate):
    assert ps.spmd(2, programs.hand_over, 20, substrate=substrate) == [list(range(20)), None]


def test_waits_give_up_when_their_time_is_over():
    def program(me):
        flag, counter = ps.Flag(me, "f"), ps.Counter(me, "c")
        begin = time.monotonic()
        assert not flag.wait(0.05, awaited=me.index) and not counter.wait_until(1, timeout=0.05, awaited=me.index)
        assert not flag.wait(0.0, awaited=me.index)
        assert time.monotonic() - begin >= 0.1
        flag.set()
        assert flag.wait(0.0) and flag.is_set()
        with pytest.raises(ps.UsageError):
            flag.clear() or flag.wait(-1.0)
        for awaited in (-3, "nobody", 1.5):
            with pytest.raises(ps.UsageError):
                flag.wait(awaited=awaited)
        with pytest.raises(ps.UsageError):
            ps.Flag(me, "g").wait(awaited=7)

    ps.spmd(2, program)


def test_a_rank_that_is_alone_is_told_that_it_would_wait_for_ever():
    with pytest.raises(ps.RankFailed) as caught:
        ps.spmd(1, lambda me: ps.Flag(me, "f").wait())
    assert isinstance(caught.value.__cause__, ps.WouldDeadlock)


def test_misuse_of_locks_is_refused():
    def program(me):
        mutex, shared, condition = ps.Mutex(me, "m"), ps.SharedMutex(me, "s"), ps.Condition(me, "c")
        for misuse in (mutex.unlock, shared.unlock, shared.unlock_shared, lambda: condition.wait(mutex)):
            with pytest.raises(ps.UsageError):
                misuse()
        with mutex:
            with pytest.raises(ps.UsageError):
                mutex.lock()
            with pytest.raises(ps.UsageError):
                mutex.try_lock()
        assert mutex.try_lock()
        mutex.unlock()
        with shared.shared(), pytest.raises(ps.UsageError):
            shared.lock()
        with shared, pytest.raises(ps.UsageError):
            shared.lock_shared()
        with pytest.raises(KeyError), mutex:
            raise KeyError
        mutex.lock()
        mutex.unlock()

    ps.spmd(1, program)


def test_a_mutex_is_broken_by_a_rank_that_ends_with_it():
    def program(me):
        mutex, barrier = ps.Mutex(me, "m"), ps.Barrier(me, "b")
        if me.index == 0:
            mutex.lock()
            barrier.arrive_and_wait()
            return
        barrier.arrive_and_wait()
        with pytest.raises(ps.RankLeft) as caught:
            mutex.lock()
        assert caught.value.rank == 0 and not mutex.try_lock()

    ps.spmd(2, program)


def test_a_condition_tells_of_a_rank_that_failed_and_the_block_ends_without_the_mutex():
    def program(me):
        mutex, condition, barrier = ps.Mutex(me, "m"), ps.Condition(me, "c"), ps.Barrier(me, "b")
        barrier.arrive_and_wait()
        if me.index == 0:
            raise ZeroDivisionError
        with pytest.raises(ps.RankLeft), mutex:
            condition.wait(mutex, lambda: False)

    with pytest.raises(ps.RankFailed) as caught:
        ps.spmd(2, program)
    assert caught.value.others == 0 and isinstance(caught.value.__cause__, ZeroDivisionError)


def test_values_of_a_counter_are_64_bits():
    def program(me):
        counter = ps.Counter(me, "c")
        counter.store(2**64 - 1)
        assert counter.fetch_add(2) == 2**64 - 1 and counter.load() == 1
        assert counter.fetch_add(-1) == 1 and counter.load() == 0
        for value in (-1, 2**64):
            with pytest.raises(TypeError):
                counter.store(value)
        return np.uint64(counter.load())

    assert ps.spmd(1, program) == [0]
