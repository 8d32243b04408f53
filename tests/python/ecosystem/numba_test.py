"""Functions of numba's @njit: compiled bodies by themselves where they return nothing."""

import numpy as np
import pytest

import penstock as ps

numba = pytest.importorskip("numba")


@numba.njit
def scale(x, y, factor):
    for i in range(x.size):
        y[i] = factor * x[i]


@numba.njit
def transpose(x, y):
    y[:] = x.T


@numba.njit
def add_one(x):
    for r in range(x.shape[0]):
        for c in range(x.shape[1]):
            x[r, c] += 1


@numba.njit
def total(x):
    return x.sum()


@numba.njit
def picks(x, y, at):
    if at >= x.size:
        raise IndexError("too far")
    y[0] = x[at]


@numba.njit("void(float64[:], float64[:])")
def declared(x, y):
    y[:] = x


@numba.njit
def writes(x):
    x[0] = 1


def test_arrays_are_used_in_place_and_no_worker_is_asked():
    with ps.Machine(targets=1) as machine:
        x, y = np.arange(10, dtype="float32"), np.empty(10, "float32")
        machine.call(scale, ps.In(x), ps.Out(y), 2).wait()
        machine.call(scale, ps.In(x), ps.InOut(y[::-1][::-1]), np.float32(3)).wait()
        assert np.array_equal(y, 3 * x) and machine.worker_pids == []


def test_extents_and_distances_of_rows_arrive(shared):
    x, y = np.random.default_rng(1).random((5, 7)), np.empty((7, 5))
    shared.call(transpose, ps.In(x), ps.Out(y)).wait()
    assert np.array_equal(y, x.T)
    image = np.zeros((6, 10))
    shared.call(add_one, ps.InOut(image[1:4, 2:5])).wait()
    assert image.sum() == 9 and (image[1:4, 2:5] == 1).all()
    volume = np.zeros((2, 3, 4))
    shared.call(numba.njit(lambda v: v.fill(v.shape[2])), ps.Out(volume)).wait()
    assert (volume == 4).all()


def test_read_only_arrays_are_read(shared):
    x, y = np.arange(4.0), np.empty(4)
    x.flags.writeable = False
    shared.call(scale, ps.In(x), ps.Out(y), 2.0).wait()
    shared.call(declared, ps.In(x), ps.Out(y)).wait()
    assert np.array_equal(y, x)


def test_one_that_returns_something_is_a_python_body(shared):
    assert shared.call(total, ps.In(np.arange(5.0))).result() == 10
    assert list(shared.map(total, [np.arange(3.0), np.arange(4.0)])) == [3, 6]


def test_one_that_raises_fails_its_task(shared):
    x, y = np.arange(4.0), np.zeros(1)
    with pytest.raises(ps.TaskFailed, match=r"picks.*numba raised"):
        shared.call(picks, ps.In(x), ps.Out(y), 7).wait()
    shared.call(picks, ps.In(x), ps.Out(y), 3).wait()
    assert y[0] == 3


def test_one_that_writes_to_what_is_only_read_is_refused_by_numba(shared):
    x = np.zeros(4)
    with pytest.raises(ps.TaskFailed, match="(?i)read.?only"):
        shared.call(writes, ps.In(x)).wait()
    assert x[0] == 0
