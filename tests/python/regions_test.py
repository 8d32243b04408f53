"""Regions and remotes from Python: what NumPy would assign is what arrives, and nothing is read."""

import ctypes
import gc
import threading
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
import rank_programs

POINT = np.dtype([("x", "<f4"), ("y", "<f8"), ("tag", "u1")])


def stored(shape, dtype, store, start=None):
    """What lies in rank 0's region after rank 1 has run `store(remote)`."""

    def program(me):
        if me.index == 0:
            region = ps.Region(me, "inbox", shape, dtype)
            if start is not None:
                region.array[...] = start
            ready = ps.Flag(me, "ready")
            region.grant(1)
            ready.grant(1)
            ready.wait()
            return region.array
        remote = ps.Remote.accept(me, 0, "inbox")
        ready = ps.RemoteFlag.accept(me, 0, "ready")
        try:
            store(remote)
        finally:
            remote.publish(ready)
        return None

    return ps.spmd(2, program)[0]


def test_elements_slices_and_whole_arrays_arrive():
    values = np.arange(16, dtype=np.float32)

    def store(remote):
        remote[...] = np.full(64, -1.0)
        remote[3] = 1.5
        remote[-1] = 7
        remote[16:32] = values
        remote[40:60:5] = [9, 8, 7, 6]
        remote[np.int64(5)] = np.float32(2.5)

    expected = np.full(64, -1, np.float32)
    expected[3], expected[-1], expected[16:32], expected[40:60:5], expected[5] = 1.5, 7, values, [9, 8, 7, 6], 2.5
    assert np.array_equal(stored(64, np.float32, store), expected)


@pytest.mark.parametrize(
    "dtype",
    [
        "bool",
        "int8",
        "uint16",
        "int64",
        "float16",
        "float32",
        "float64",
        "complex64",
        "complex128",
        "S5",
        "U3",
        ">i4",
        "M8[s]",
        POINT,
    ],
)
def test_elements_of_every_fixed_type_arrive(dtype):
    rng = np.random.default_rng(1)
    shape = (70, 90)
    raw = rng.integers(0, 2, shape)
    source = np.zeros(shape, dtype)
    if dtype is POINT:
        source["x"], source["y"], source["tag"] = raw, raw * 2, raw * 3
    else:
        source[...] = raw.astype(dtype)
    seen = stored(shape, dtype, lambda remote: remote.__setitem__(..., source))
    assert seen.dtype == np.dtype(dtype) and np.array_equal(seen, source)


def test_the_fields_of_a_structure_can_be_stored_one_by_one():
    def store(remote):
        remote["y"] = np.arange(6).reshape(2, 3)
        remote[1, 2] = (5, 6, 7)
        remote[0, :, "x"] = 3  # refused below: a field is a key of its own

    with pytest.raises(ps.RankFailed) as caught:
        stored((2, 3), POINT, store)
    assert isinstance(caught.value.__cause__, IndexError)

    def store_allowed(remote):
        remote["y"] = np.arange(6).reshape(2, 3)
        remote[1, 2] = (5, 6, 7)

    expected = np.zeros((2, 3), POINT)
    expected["y"] = np.arange(6).reshape(2, 3)
    expected[1, 2] = (5, 6, 7)
    assert np.array_equal(stored((2, 3), POINT, store_allowed), expected)


def test_a_region_of_no_dimensions_is_one_element():
    assert stored((), "int32", lambda remote: remote.__setitem__((), 5)) == 5
    assert stored((), "int32", lambda remote: remote.fill(6)) == 6


@pytest.mark.parametrize("way", ["plain", "demote", "stream", None])
def test_every_way_stores_the_same(way):
    rng = np.random.default_rng(2)
    image = rng.random((200, 301))

    def store(remote):
        remote.set_way(way)
        remote[...] = image
        remote[10:150, 20:290] = image[:140, :270]
        remote[5, 7:300] = 3.0
        remote[160:170] = image[0]
        remote[180:190, ::3] = image[:10, ::3]
        remote[199, 300] = 9

    expected = image.copy()
    expected[10:150, 20:290] = image[:140, :270]
    expected[5, 7:300] = 3.0
    expected[160:170] = image[0]
    expected[180:190, ::3] = image[:10, ::3]
    expected[199, 300] = 9
    assert np.array_equal(stored(image.shape, np.float64, store), expected)


def a_slice(extent):
    bound = st.none() | st.integers(-extent - 2, extent + 2)
    return st.builds(slice, bound, bound, st.none() | st.integers(-4, 4).filter(bool))


@st.composite
def assignments(draw):
    """A shape, keys, and for each a value whose shape NumPy can broadcast to the part."""
    shape = tuple(draw(st.lists(st.integers(1, 40), min_size=1, max_size=3)))
    template = np.zeros(shape, np.int32)
    steps = []
    for _ in range(draw(st.integers(1, 6))):
        front = draw(st.integers(0, len(shape)))
        back = draw(st.integers(0, len(shape) - front))
        axes = [*shape[:front], *shape[len(shape) - back :]]
        parts = [draw(st.integers(-extent, extent - 1) | a_slice(extent)) for extent in axes]
        if back or draw(st.booleans()):
            parts.insert(front, ...)
        key = parts[0] if len(parts) == 1 and draw(st.booleans()) else tuple(parts)
        part = template[(*parts, ...) if ... not in parts else tuple(parts)].shape
        keep = draw(st.integers(0, len(part)))
        value_shape = [1 if draw(st.integers(0, 3)) == 0 else extent for extent in part[len(part) - keep :]]
        value = np.arange(int(np.prod(value_shape)), dtype=draw(st.sampled_from(["int32", "float64", "int8"]))).reshape(
            value_shape
        ) + draw(st.integers(1, 9))
        if draw(st.booleans()) and value.ndim > 1:
            value = np.asfortranarray(value)
        steps.append((key, value))
    return shape, steps


@settings(max_examples=60, deadline=None)
@given(assignments(), st.sampled_from([None, "plain", "stream"]))
def test_whatever_numpy_assigns_arrives(made, way):
    shape, steps = made
    expected = np.zeros(shape, np.int32)
    for key, value in steps:
        expected[key] = value

    def store(remote):
        remote.set_way(way)
        for key, value in steps:
            remote[key] = value

    assert np.array_equal(stored(shape, np.int32, store), expected)


@pytest.mark.parametrize("key", [10, -11, (3, 0), np.int32(10)])
def test_an_index_beyond_the_end_is_refused_and_names_the_region(key):
    def store(remote):
        with pytest.raises(ps.OutOfBounds, match="inbox") as caught:
            remote[key] = 1
        assert caught.value.region == "inbox" and isinstance(caught.value, IndexError)

    shape = (3, 4) if isinstance(key, tuple) else 10
    assert not stored(shape, np.int32, store).any()


@pytest.mark.parametrize("key", [None, True, [1, 2], np.array([1, 2]), np.ones(10, bool), 1.5, (1, None), b"x"])
def test_keys_that_are_no_numbers_or_slices_are_refused(key):
    def store(remote):
        with pytest.raises(ps.UsageError, match="indexed by"):
            remote[key] = 1

    assert not stored(10, np.int32, store).any()


def test_values_that_do_not_fit_are_refused_and_nothing_is_stored():
    def store(remote):
        for key, value in (
            (slice(0, 5), np.ones(4)),
            (..., np.ones((2, 2000))),
            (slice(0, 3000), np.ones(2)),
            (0, "word"),
            (0, [1, 2]),
        ):
            with pytest.raises(ValueError):  # noqa: PT011 - NumPy's own words
                remote[key] = value
        with pytest.raises(ps.UsageError):
            remote.set_way("fast")

    assert not stored(2000, np.float64, store).any()


def test_reading_a_remote_raises():
    def store(remote):
        remote[0] = 5
        for read in (
            lambda: remote[0],
            lambda: remote[...],
            lambda: list(remote),
            lambda: np.asarray(remote),
            lambda: np.add(remote, 1),
        ):
            with pytest.raises(ps.UnreadableRemote):
                read()
        with pytest.raises(ps.UnreadableRemote):
            remote[0] += 1
        with pytest.raises(TypeError):
            memoryview(remote)
        with pytest.raises(TypeError):
            float(remote)
        assert (
            len(remote) == remote.size == 4
            and remote.nbytes == 16
            and remote.shape == (4,)
            and remote.owner == 0
            and "inbox" in repr(remote)
        )

    assert stored(4, np.int32, store).tolist() == [5, 0, 0, 0]


def test_a_remote_gets_type_and_shape_from_its_owner_or_from_who_accepts():
    def program(me):
        barrier = ps.Barrier(me, "accepted")
        if me.index == 0:
            regions = [ps.Region(me, f"r{i}", (4, 6), POINT if i == 0 else "float32") for i in range(5)]
            for region in regions:
                region.grant(1)
            barrier.arrive_and_wait()
            return regions[2].array, regions[3].array
        first = ps.Remote.accept(me, 0, "r0")
        assert first.dtype == POINT and first.shape == (4, 6)
        with pytest.raises(ps.InvalidGrant, match="4 bytes"):
            ps.Remote.accept(me, 0, "r1", dtype="float64")
        ps.Remote.accept(me, 0, "r2", dtype="uint32", shape=24)[...] = 0x3F800000
        ps.Remote.accept(me, 0, "r3", shape=(8, 3))[7, 2] = 5
        with pytest.raises(ps.InvalidGrant, match="96 bytes") as caught:
            ps.Remote.accept(me, 0, "r4", shape=(5, 5))
        assert caught.value.owner == 0 and caught.value.name == "r4"
        barrier.arrive_and_wait()
        return None

    ones, last = ps.spmd(2, program)[0]
    assert (ones == 1).all() and last[3, 5] == 5 and last.sum() == 5


def test_a_type_too_long_to_describe_is_given_by_who_accepts():
    wide = np.dtype([(f"a_rather_long_name_of_a_field_{i}", "f8") for i in range(40)])

    def program(me):
        barrier = ps.Barrier(me, "accepted")
        if me.index == 0:
            regions = [ps.Region(me, name, 3, wide) for name in ("a", "b")]
            for region in regions:
                region.grant(1)
        else:
            with pytest.raises(ps.UsageError, match="dtype"):
                ps.Remote.accept(me, 0, "a")
            assert ps.Remote.accept(me, 0, "b", dtype=wide).shape == (3,)
        barrier.arrive_and_wait()

    ps.spmd(2, program)


def test_a_multicast_stores_everywhere():
    def program(me):
        if me.index > 0:
            region, ready = ps.Region(me, "inbox", (50, 60), "float32"), ps.Flag(me, "ready")
            region.grant(0)
            ready.grant(0)
            ready.wait()
            return region.array
        remotes = [ps.Remote.accept(me, rank, "inbox") for rank in (1, 2)]
        everybody = ps.Multicast(remotes)
        everybody[...] = np.ones((50, 60))
        everybody[3, 4] = 7
        everybody[10:20] = np.arange(60)
        with pytest.raises(ps.OutOfBounds):
            everybody[50] = 1
        with pytest.raises(ps.UsageError):
            ps.Multicast([])
        everybody.publish(ps.RemoteFlag.accept(me, rank, "ready") for rank in (1, 2))
        return None

    expected = np.ones((50, 60), np.float32)
    expected[3, 4], expected[10:20] = 7, np.arange(60)
    _, first, second = ps.spmd(3, program)
    assert np.array_equal(first, expected) and np.array_equal(second, expected)


@pytest.mark.parametrize(
    ("shape", "dtype", "error"),
    [
        (0, "f4", ps.UsageError),
        ((3, 0), "f4", ps.UsageError),
        (-1, "f4", ps.UsageError),
        (1.5, "f4", ps.UsageError),
        ("x", "f4", ps.UsageError),
        (4, object, ps.ElementError),
        (4, [("a", "f4"), ("b", "O")], ps.ElementError),
        (4, "S", ps.ElementError),
        (4, ("f4", (2,)), ps.ElementError),
        (4, "no type", ps.ElementError),
        (2**62, "f8", ps.SystemError),
        ((2**40, 2**40), "f8", ps.SystemError),
        (2**50, "i1", ps.SystemError),
    ],
)
def test_regions_that_cannot_be_are_refused(shape, dtype, error):
    def program(me):
        with pytest.raises(error):
            ps.Region(me, "r", shape, dtype)

    ps.spmd(1, program)


def test_names_and_grants_are_checked():
    def program(me):
        with pytest.raises(ps.UsageError):
            ps.Region(me, "", 4)
        with pytest.raises(ps.UsageError):
            ps.Region(me, "x" * 64, 4)
        region = ps.Region(me, "r", 4)
        assert region.dtype == np.float64
        with pytest.raises(ps.UsageError):
            region.grant(2)
        region.grant(1 - me.index)
        with pytest.raises(ps.UsageError):
            region.grant(1 - me.index)
        ps.Remote.accept(me, 1 - me.index, "r")
        region.freeze()
        with pytest.raises(ps.UsageError):
            region.grant(me.index)
        with pytest.raises(ps.GrantMissing) as caught:
            ps.Remote.accept(me, 1 - me.index, "nothing", within=0.02)
        assert caught.value.owner == 1 - me.index and caught.value.name == "nothing" and caught.value.waited == 0.02
        ps.Barrier(me, "end").arrive_and_wait()

    ps.spmd(2, program)


def test_the_array_keeps_the_memory_alive_when_region_rank_and_team_are_gone():
    arrays = ps.spmd(2, lambda me: ps.Region(me, "r", 100_000, "int64").array)
    gc.collect()
    junk = [np.full(100_000, 9) for _ in range(20)]
    for array in arrays:
        assert not array.any() and array.flags.writeable
        array += 1
    assert sum(int(array.sum()) for array in arrays) == 200_000
    del junk


def test_the_array_is_the_memory_itself_and_other_threads_may_use_it():
    def program(me):
        region = ps.Region(me, "r", (3, 4), "int32")
        assert region.array is region.array and region.array.ctypes.data % 4096 == 0
        helper = threading.Thread(target=region.array.fill, args=(6,))
        helper.start()
        helper.join()
        return ctypes.c_int32.from_address(region.array.ctypes.data).value

    assert ps.spmd(1, program) == [6]


def test_a_value_is_not_held_after_it_was_stored():
    class Watched(np.ndarray):
        pass

    def store(remote):
        value = np.ones(4096).view(Watched)
        alive = weakref.ref(value)
        remote[...] = value
        del value
        assert alive() is None

    stored(4096, np.float64, store)


def test_storing_a_region_into_itself_moves_it_as_numpy_would():
    def program(me):
        region = ps.Region(me, "r", 5000, "int64")
        region.grant(0)
        remote = ps.Remote.accept(me, 0, "r")
        region.array[...] = np.arange(5000)
        remote[1:] = region.array[:-1]
        return region.array

    assert np.array_equal(ps.spmd(1, program)[0], np.concatenate([[0], np.arange(4999)]))


def test_a_constant_in_columns_that_lie_apart_goes_into_these_and_no_others():
    # One element a row, rows as far apart as one whole row is long: the two strides are equal and mean different things.
    for dtype, value in (("S100", "x"), ("U32", "y")):
        expected = np.zeros((200, 3), dtype)
        expected[:, ::3] = value
        got = stored((200, 3), dtype, lambda remote: remote.__setitem__((slice(None), slice(None, None, 3)), value))  # noqa: B023
        assert (got == expected).all()


@pytest.mark.parametrize("substrate", ["threads", "processes"])
def test_a_rank_that_stores_into_its_own_region_moves_what_overlaps(substrate):
    assert ps.spmd(1, rank_programs.move_within_own_region, 100_000, substrate=substrate) == [True]


@pytest.mark.parametrize("offsets", [[0, 0], [4, 0]])
def test_structures_that_have_no_description_are_accepted_with_their_type(offsets):
    dtype = np.dtype({"names": ["a", "b"], "formats": ["i4", "i4"], "offsets": offsets})

    def program(me):
        region = ps.Region(me, "r", 4, dtype)
        region.grant(0)
        with pytest.raises(ps.UsageError, match="dtype"):
            ps.Remote.accept(me, 0, "r")
        with pytest.raises(ps.InvalidGrant):
            ps.Remote.accept(me, 0, "r", dtype="f2")
        remote = ps.Remote.accept(me, 0, "r", dtype=dtype)
        remote["b"] = 3
        ps.Barrier(me, "stored").arrive_and_wait()
        return region.array["b"].tolist()

    assert ps.spmd(1, program) == [[3] * 4]
