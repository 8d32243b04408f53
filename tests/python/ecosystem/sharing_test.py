"""Memory that other libraries made is used in place: DLPack with its versions, __array_interface__, pandas' columns."""

import numpy as np
import pytest

import penstock as ps


class Exported:
    """DLPack alone, as NumPy exports it; what is asked for is kept."""

    def __init__(self, array):
        self.array, self.asked = array, []

    def __dlpack__(self, **options):
        self.asked.append(options.get("max_version"))
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Described:
    """__array_interface__ alone."""

    def __init__(self, array):
        self.array, self.__array_interface__ = array, array.__array_interface__


class Made:
    """What NumPy can only copy."""

    def __array__(self, dtype=None, copy=None):
        return np.zeros(3, np.int64)


def test_dlpack_is_asked_for_its_versions_and_read_only_memory_is_told(machine, count):
    exported = Exported(np.zeros(5, np.int64))
    machine.call(count, ps.InOut(exported)).wait()
    assert exported.array.tolist() == [1] * 5
    assert max(version or (0, 0) for version in exported.asked) >= (1, 0)
    exported.array.flags.writeable = False
    with pytest.raises(ps.ArgumentError, match="read-only"):
        ps.InOut(exported)
    assert repr(ps.In(exported)) == "penstock.In(int64, 5)"


def test_an_array_interface_is_used_in_place(machine, count):
    described = Described(np.zeros((4, 2), np.int64))
    machine.call(count, ps.InOut(described)).wait()
    assert described.array.sum() == 8
    assert machine.call(lambda x: int(x.sum()), ps.In(described)).result() == 8
    described.array.flags.writeable = False
    with pytest.raises(ps.ArgumentError, match="read-only"):
        ps.Out(Described(described.array))


def test_what_numpy_copies_each_time_has_no_memory_to_share():
    with pytest.raises(ps.ArgumentError, match="Made, which has no memory to share"):
        ps.In(Made())


def test_columns_of_pandas_are_not_copied(machine):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": np.arange(5.0), "b": np.ones(5), "name": list("abcde")})
    seen = {}

    def look(x):
        seen["x"] = x

    for column in ("a", "b"):
        with ps.Machine(targets=0) as here:  # in this process, where the memory can be compared
            here.call(look, ps.In(frame[column])).wait()
        assert np.shares_memory(seen["x"], frame[column].to_numpy())
        assert machine.call(np.sum, ps.In(frame[column])).result() == frame[column].sum()
    with pytest.raises(ps.ArgumentError, match="has no memory to share|holds Python objects"):
        ps.In(frame["name"])
