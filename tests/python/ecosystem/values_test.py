"""Arrays that are arguments and results without a tag: values, which travel beside the pickled bytes."""

import gc
import os
import time
from pathlib import Path

import numpy as np
import pytest

import penstock as ps

MEGABYTE = 1 << 17  # float64


def where(array):
    """Its memory's owner, and whether it may be written to."""
    base = array
    while isinstance(base, np.ndarray) and base.base is not None:
        base = base.base
    return type(base).__name__, array.flags.writeable


def total(*arrays):
    return float(sum(array.sum() for array in arrays))


def doubled(array):
    array *= 2  # a value is the body's own
    return array


def test_large_arrays_come_and_go_unchanged_in_any_order_and_type(shared):
    rng = np.random.default_rng(1)
    values = rng.random((64, 3000))
    for array in (values, values.T, values[::2, 1:7], np.asfortranarray(values), values.astype("float32"), values > 0.5, values.view("complex128")):
        back = shared.call(np.negative if array.dtype != bool else np.logical_not, array).result()
        assert np.array_equal(back, ~array if array.dtype == bool else -array) and back.dtype == array.dtype
        assert back.flags.writeable


def test_what_a_body_does_to_a_value_stays_with_it(shared):
    array = np.arange(float(MEGABYTE))
    assert np.array_equal(shared.call(doubled, array).result(), 2 * array)
    assert array[3] == 3


def test_a_read_only_array_stays_read_only(shared):
    array = np.zeros(MEGABYTE)
    array.flags.writeable = False
    assert shared.call(where, array).result()[1] is False


def test_an_array_of_the_machine_is_used_in_place_and_cannot_be_written_to(shared):
    mine, others = shared.array(MEGABYTE), np.zeros(MEGABYTE)
    assert shared.call(where, mine).result() == ("memoryview", False)
    assert shared.call(where, others).result() == ("memoryview", True)
    assert list(shared.map(where, [mine[: MEGABYTE // 2], others])) == [("memoryview", False), ("memoryview", True)]


def test_an_array_of_the_machine_that_the_caller_lets_go_of_lives_as_long_as_its_task(shared):
    first, given = shared.call(time.sleep, 0.2), {"x": shared.array(MEGABYTE)}
    given["x"][:] = 7
    handle = shared.call(lambda given: float(given["x"].sum()), given)
    given.clear()
    others = [shared.array(MEGABYTE) for _ in range(4)]
    for other in others:
        other[:] = 9
    first.wait()
    assert handle.result() == 7 * MEGABYTE


def test_arrays_inside_lists_dicts_and_dataframes_travel_too(shared):
    pandas = pytest.importorskip("pandas")
    array = np.arange(float(MEGABYTE))
    frame = pandas.DataFrame({"a": array, "b": array + 1})
    assert shared.call(lambda given: float(given["x"][0].sum()), {"x": [array]}).result() == array.sum()
    back = shared.call(lambda given: given * 2, frame).result()
    pandas.testing.assert_frame_equal(back, frame * 2)
    # A column is an array without a copy, so a tag takes it.
    column = frame["a"].to_numpy()
    assert np.shares_memory(column, frame["a"].array.to_numpy())
    assert shared.call(total, ps.In(column)).result() == array.sum()


kept = []


def keep(array):
    """A body with a cache: what it has kept has to stay what it was."""
    kept.append(array)
    return [float(each[0]) for each in kept]


def forget():
    kept.clear()
    gc.collect()


def test_what_a_body_keeps_stays_as_it_was_and_its_memory_comes_back():
    with ps.Machine(targets=1) as machine:
        keep_and_forget(machine)


def keep_and_forget(shared):
    before = shared_bytes(shared)
    for n in range(20):
        assert shared.call(keep, np.full(MEGABYTE, float(n))).result() == [float(each) for each in range(n + 1)]
        shared.call(total, np.full(MEGABYTE, -1.0)).result()  # what is given back would be given to this one
    assert shared_bytes(shared) - before > 19 << 20
    shared.call(forget).result()
    for _ in range(40):  # a worker tells of some with each task
        shared.call(total, np.zeros(MEGABYTE)).result()
    assert shared_bytes(shared) - before < 40 << 20  # the last 32 MiB are kept for the next


def shared_bytes(machine):
    """How much memory the machine's shared heap has taken from the system."""
    total = 0
    for entry in Path("/proc/self/fd").iterdir():
        try:
            if "memfd:" in os.readlink(entry):
                total += os.stat(entry).st_blocks * 512
        except OSError:
            continue
    return total


def test_a_worker_that_dies_with_memory_of_its_own_gives_it_back(shared):
    before = shared_bytes(shared)
    for _ in range(40):
        shared.call(keep, np.zeros(MEGABYTE)).result()
    with pytest.raises(ps.TaskFailed):
        shared.call(os._exit, 1).result()
    assert shared.call(keep, np.zeros(1)).result() == [0.0]  # another worker, which has kept nothing
    assert shared_bytes(shared) - before < 40 << 20


def raises_with(array):
    raise ValueError(array)


def test_an_exception_brings_its_array(shared):
    failed = shared.call(raises_with, np.arange(float(MEGABYTE))).exception()
    assert np.array_equal(failed.__cause__.args[0], np.arange(float(MEGABYTE)))


def test_two_arrays_of_one_result_and_one_array_twice(shared):
    array = np.arange(float(MEGABYTE))
    first, second, third = shared.call(lambda x: (x, x, x + 1), array).result()
    assert first is second and np.array_equal(first, array) and np.array_equal(third, array + 1)


def first(tile):
    return float(tile[0])


@pytest.mark.skipif(not os.environ.get("PENSTOCK_LONG"), reason="times are for a machine that does nothing else: PENSTOCK_LONG=1, or ./bench python")
def test_a_map_over_tiles_costs_about_what_calls_with_tags_cost(shared):
    tiles = [np.ones(MEGABYTE) for _ in range(16)]

    def seconds(operation):
        begin = time.perf_counter()
        operation()
        return time.perf_counter() - begin

    ratios = []
    for _ in range(60):
        mapped = seconds(lambda: list(shared.map(first, tiles, chunksize=1)))
        called = seconds(lambda: [handle.result() for handle in [shared.call(first, ps.In(tile)) for tile in tiles]])
        ratios.append(mapped / called)
    assert sorted(ratios)[len(ratios) // 2] <= 1.3
