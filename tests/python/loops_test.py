"""Loops in pieces, and resident data, with compiled bodies."""

import numpy as np
import pytest

import penstock as ps


@pytest.fixture(scope="session")
def fill(native):
    return native.body("fill", "void (intptr_t begin, intptr_t end, int64_t *x, intptr_t n, int64_t value)")


@pytest.fixture(scope="session")
def look_up(native):
    return native.body("look_up", "void (const int32_t *table, intptr_t, const int64_t *at, intptr_t n, int32_t *out, intptr_t)")


@pytest.mark.parametrize("targets", [0, 1, 3])
@pytest.mark.parametrize("n, grain", [(0, None), (1, None), (100_000, None), (100_000, 1000), (1001, 10), (5, 100)])
def test_every_item_is_visited_once(targets, n, grain, fill):
    x = np.zeros(n + 1, np.int64)
    with ps.Machine(targets=targets) as machine:
        machine.for_each(n, fill, ps.InOut(x), 7, grain=grain)
    assert np.array_equal(x[:n], np.arange(n) + 7) and x[n] == 0


def test_the_failure_of_a_piece_is_raised_with_its_items(native, machine):
    fail_at = native.body("fail_at", "void (intptr_t begin, intptr_t end, intptr_t where)")
    with pytest.raises(ps.TaskFailed, match="fail_at .items 40 to 49 of a loop over 100") as error:
        machine.for_each(100, fail_at, 43, grain=10)
    assert "at it" in str(error.value.__cause__)


def test_short_loops_that_come_again_give_each_target_its_part(machine, fill):
    x = np.zeros(64, np.int64)
    for value in range(200):
        x[:] = 0
        machine.for_each(x.size, fill, ps.InOut(x), value, grain=8)
        assert np.array_equal(x, np.arange(x.size) + value)


def test_what_is_no_loop_is_refused(machine, fill, count):
    x = np.zeros(4, np.int64)
    for wrong in ({"n": -1}, {"n": 4, "grain": 0}):
        with pytest.raises(ps.UsageError, match="0 or more|1 or more"):
            machine.for_each(wrong["n"], fill, ps.InOut(x), 0, grain=wrong.get("grain"))
    with pytest.raises(ps.BodyError, match=r"machine\.map"):
        machine.for_each(4, lambda i: None)
    with pytest.raises(ps.UsageError, match="pointer"):
        machine.for_each(4, count, ps.InOut(x))
    with pytest.raises(ps.BodyError, match="begins with"):
        machine.for_each(4, ps.compiled(fill.address, "void (double begin, double end)"))
    with pytest.raises(ps.ArgumentError, match="resident"):
        machine.for_each(4, fill, ps.In(machine.resident(x)), 0)


def test_resident_data_are_read_as_they_were_when_the_call_was_issued(machine, look_up, gate):
    first, at = np.arange(100, dtype=np.int32), np.array([3, 99, 0])
    table = machine.resident(first)
    first[:] = -1  # it was copied
    closed, out = np.zeros(1, np.int64), np.zeros((3, 3), np.int32)
    machine.call(gate, ps.In(closed))
    machine.call(look_up, ps.In(table), ps.In(at), ps.Out(out[0]))
    table.update(np.arange(100, 200, dtype=np.int32))
    machine.on(0).call(look_up, ps.In(table), ps.In(at), ps.Out(out[1]))
    machine.call(look_up, ps.In(table), ps.In(at), ps.Out(out[2]), priority="high").cancel()
    closed[0] = 1
    machine.barrier()
    assert out[:2].tolist() == [[3, 99, 0], [103, 199, 100]] and table.version == 2 and table.size == 100


@pytest.mark.parametrize("targets", [0, 2])
def test_resident_data_are_used_by_every_target_many_times(targets, look_up):
    with ps.Machine(targets=targets) as machine:
        table, at = machine.resident(np.arange(1000, dtype=np.int32)), np.arange(0, 1000, 10)
        outs = [np.zeros(100, np.int32) for _ in range(300)]
        for out in outs:
            machine.call(look_up, ps.In(table), ps.In(at), ps.Out(out))
        machine.barrier()
        assert all(np.array_equal(out, at) for out in outs)


def test_a_failing_body_with_resident_data_is_named(native, machine):
    body = native.body("fail_with", "void (const int32_t *x, intptr_t n)")
    with pytest.raises(ps.TaskFailed, match="fail_with") as error:
        machine.call(body, ps.In(machine.resident(np.zeros(3, np.int32)))).wait()
    assert error.value.task == "fail_with" and str(error.value.__cause__) == "with 3"


def test_resident_data_that_do_not_fit_are_refused(machine, count, look_up):
    table = machine.resident(np.zeros(10, np.int32))
    with pytest.raises(ps.UsageError, match="size stays"):
        table.update(np.zeros(11, np.int32))
    with pytest.raises(ps.ArgumentError, match="int64"):
        table.update(np.zeros(10, np.int64))
    with pytest.raises(ps.ArgumentError, match="only read"):
        ps.InOut(table)
    with pytest.raises(ps.ArgumentError, match="contiguous"):
        machine.resident(np.zeros(10)[::2])
    with pytest.raises(ps.UsageError, match="local store"):
        machine.resident(np.zeros(1 << 28, np.int8))
    with ps.Machine(targets=1) as other, pytest.raises(ps.UsageError, match="another machine"):
        other.call(look_up, ps.In(table), ps.In(np.zeros(1, np.int64)), ps.Out(np.zeros(1, np.int32)))
