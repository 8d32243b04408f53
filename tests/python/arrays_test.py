"""Arrays are used in place, with their strides, and checked at the call."""

import ctypes
from array import array

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps

DESCRIBE = "void (const void *x, intptr_t rows, intptr_t columns, intptr_t pitch, int64_t *out, intptr_t n)"
ADD_ONE = "void (double *x, intptr_t rows, intptr_t columns, intptr_t pitch)"


class OnlyDlpack:
    """What a tensor of another library looks like: no buffer protocol."""

    def __init__(self, held):
        self.held = held

    def __dlpack__(self, **options):
        return self.held.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.held.__dlpack_device__()


def seen(native, machine, x):
    """address, rows, columns, pitch as the body got them."""
    out = np.zeros(4, np.int64)
    machine.call(native.address("describe"), ps.In(x), ps.Out(out), signature=DESCRIBE).wait()
    return out.tolist()


def test_a_strided_body_sees_address_rows_columns_and_pitch(native, machine):
    x = np.zeros((10, 20), np.float32)
    assert seen(native, machine, x) == [x.ctypes.data, 10, 20, 20]
    tile = x[2:5, 3:9]
    assert seen(native, machine, tile) == [tile.ctypes.data, 3, 6, 20]
    assert seen(native, machine, x[::-2]) == [x[::-2].ctypes.data, 5, 20, -40]
    line = x[0]
    assert seen(native, machine, line) == [line.ctypes.data, 1, 20, 20]
    assert seen(native, machine, x[:, 4]) == [x[:, 4].ctypes.data, 10, 1, 20]
    assert seen(native, machine, np.broadcast_to(line, (7, 20))) == [line.ctypes.data, 7, 20, 0]


def test_a_written_array_needs_no_copy(native, machine):
    x = np.zeros((6, 8))
    machine.call(native.address("add_one"), ps.InOut(x[1:3, 2:5]), signature=ADD_ONE).wait()
    expected = np.zeros((6, 8))
    expected[1:3, 2:5] = 1
    assert np.array_equal(x, expected)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_tile_of_a_matrix_is_written_and_nothing_else(native, data):
    rows, columns = data.draw(st.integers(1, 20)), data.draw(st.integers(1, 20))
    r0, c0 = data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, columns - 1))
    r1, c1 = data.draw(st.integers(r0, rows)), data.draw(st.integers(c0, columns))
    step = data.draw(st.sampled_from([1, 2, 3, -1, -2]))
    x = np.random.default_rng(0).random((rows, columns))
    expected = x.copy()
    expected[r0:r1, c0:c1][::step] += 1
    machine = shared_machine()
    machine.call(native.address("add_one"), ps.InOut(x[r0:r1, c0:c1][::step]), signature=ADD_ONE).wait()
    assert np.array_equal(x, expected)


def shared_machine():
    if not hasattr(shared_machine, "machine"):
        shared_machine.machine = ps.Machine(targets=1)
    return shared_machine.machine


@pytest.fixture(scope="module", autouse=True)
def close_shared_machine():
    yield
    if hasattr(shared_machine, "machine"):
        shared_machine.machine.close()


@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (2, 3, 4), (1,) * 12, (0,), (3, 0, 2)])
def test_contiguous_arrays_of_any_number_of_dimensions_are_one_run_of_elements(shape, native, machine, count):
    x = np.zeros(shape, np.int64)
    machine.call(count, ps.InOut(x)).wait()
    assert np.array_equal(x, np.ones(shape))


@pytest.mark.parametrize(
    "make",
    [
        lambda: array("q", [0] * 5),
        lambda: (ctypes.c_int64 * 5)(),
        lambda: memoryview(bytearray(40)).cast("q"),
        lambda: OnlyDlpack(np.zeros(5, np.int64)),
    ],
    ids=["array", "ctypes", "memoryview", "dlpack"],
)
def test_whatever_shares_its_memory_is_used_in_place(make, machine, count):
    x = make()
    machine.call(count, ps.InOut(x)).wait()
    plain = x.held if isinstance(x, OnlyDlpack) else x
    assert list(plain) == [1] * 5


def test_a_tag_may_be_used_for_many_calls(machine, count):
    x = np.zeros(3, np.int64)
    tag = ps.InOut(x)
    for _ in range(10):
        machine.call(count, tag).wait()
    assert x.tolist() == [10] * 3 and tag.array is x


@pytest.mark.parametrize("tag", [ps.Out, ps.InOut])
def test_read_only_memory_is_refused_for_writing(tag):
    x = np.zeros(4)
    x.flags.writeable = False
    for memory in (x, b"bytes", OnlyDlpack(x)):
        with pytest.raises(ps.ArgumentError):
            tag(memory)
    ps.In(x)
    ps.In(b"bytes")


@pytest.mark.parametrize("wrong", [3, "text", None, [1, 2], np.array([object()])])
def test_what_has_no_memory_to_share_is_refused(wrong):
    with pytest.raises(ps.ArgumentError):
        ps.In(wrong)


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.uint64, np.complex64, ">f4", np.float16, "f4,f4"])
def test_another_element_type_is_refused(dtype, machine, scale_body):
    good = np.zeros(4, np.float32)
    with pytest.raises(ps.ArgumentError, match="float32") as caught:
        machine.call(scale_body, ps.In(good), ps.Out(np.zeros(4, dtype)), 1.0)
    assert caught.value.argument == 2 and caught.value.task == "scale"


def test_memory_that_is_not_contiguous_is_refused_where_the_body_has_one_size(machine, scale_body):
    x, y = np.zeros(8, np.float32), np.zeros(4, np.float32)
    with pytest.raises(ps.ArgumentError, match="not contiguous"):
        machine.call(scale_body, ps.In(x[::2]), ps.Out(y), 1.0)
    with pytest.raises(ps.ArgumentError, match="not contiguous"):
        machine.call(scale_body, ps.In(np.zeros((4, 2), np.float32).T), ps.Out(y), 1.0)


def test_layouts_that_rows_and_pitch_cannot_say_are_refused(native, machine):
    for wrong in (np.zeros((4, 6)).T, np.zeros((4, 6))[:, ::2], np.zeros((2, 3, 4))):
        with pytest.raises(ps.ArgumentError):
            machine.call(native.address("add_one"), ps.InOut(wrong), signature=ADD_ONE)


def test_what_is_written_may_not_overlap_another_argument(machine, scale_body):
    x = np.zeros(100, np.float32)
    with pytest.raises(ps.ArgumentError, match="overlaps") as caught:
        machine.call(scale_body, ps.In(x[:60]), ps.Out(x[50:]), 1.0)
    assert caught.value.argument == 2
    machine.call(scale_body, ps.In(x[:50]), ps.Out(x[50:]), 1.0).wait()


def test_columns_side_by_side_do_not_overlap(native, machine):
    x = np.zeros((8, 10))
    signature = "void (const double *, intptr_t, intptr_t, intptr_t, double *, intptr_t, intptr_t, intptr_t)"
    machine.call(native.address("nothing"), ps.In(x[:, :5]), ps.Out(x[:, 5:]), signature=signature).wait()
    with pytest.raises(ps.ArgumentError, match="overlaps"):
        machine.call(native.address("nothing"), ps.In(x[:, :6]), ps.Out(x[:, 5:]), signature=signature)


def test_memory_written_through_two_indices_is_refused(native, machine):
    x = np.zeros(8)
    windows = np.lib.stride_tricks.as_strided(x, (4, 4), (8, 8))
    with pytest.raises(ps.ArgumentError, match="more than one index"):
        machine.call(native.address("add_one"), ps.InOut(windows), signature=ADD_ONE)


def test_misaligned_memory_is_refused(machine, count):
    x = np.frombuffer(bytearray(33), np.uint8)[1:33].view(np.int64)
    with pytest.raises(ps.ArgumentError, match="aligned"):
        machine.call(count, ps.InOut(x))


def test_the_number_and_kind_of_arguments_are_checked(machine, scale_body):
    x, y = ps.In(np.zeros(4, np.float32)), ps.Out(np.zeros(4, np.float32))
    for wrong in ((), (x,), (x, y), (x, y, 1.0, 2.0), (1.0, x, y), (x, 1.0, y), (x, y, x)):
        with pytest.raises(ps.UsageError):
            machine.call(scale_body, *wrong)
    with pytest.raises(ps.ArgumentError, match="const"):
        machine.call(scale_body, ps.Out(np.zeros(4, np.float32)), y, 1.0)
    with pytest.raises(ps.ArgumentError, match="In"):
        machine.call(scale_body, np.zeros(4, np.float32), y, 1.0)
    machine.barrier()
