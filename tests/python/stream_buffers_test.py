"""Arrays over buffers, their tags, and how the program reads and writes them."""

import gc
import pickle

import numpy as np
import pytest
from stream_parts import Collect, chain, numbers, scale

import penstock as ps


def test_arrays_view_their_buffers_and_keep_them(both):
    graph, _ = chain((numbers, 50), scale)
    reader = graph.add_reader("reader", "int64")
    graph.connect("b.out", reader, capacity=4)
    with graph.start(both) as run:
        kept = list(reader)
        views = [array[1:] for array in kept[::2]]
    tails = [int(array[2]) for array in kept]
    with pytest.raises(ValueError, match="read-only"):
        kept[0][0] = 1
    assert isinstance(kept[0].base, ps.Buffer)
    del kept, reader, run, graph
    gc.collect()
    assert tails == [2 * n for n in range(50)] and [view.tolist() for view in views] == [[4 * n, 4 * n] for n in range(25)]


def test_an_array_that_is_returned_is_handed_on_without_a_copy(both):
    seen = []

    @ps.filter(inputs="int64", outputs="int64")
    def look(x):
        seen.append(x.ctypes.data)
        return x.reshape(1, 3)

    graph, _ = chain((numbers, 20), look, look)
    reader = graph.add_reader("reader", "int64")
    graph.connect("c.out", reader)
    with graph.start(both):
        arrived = [(x.ctypes.data, x.shape) for x in reader]
    assert len(arrived) == 20 and {shape for _, shape in arrived} == {(1, 3)}
    assert {address for address, _ in arrived} == set(seen)


def test_an_array_that_somebody_keeps_is_shared_and_not_written_any_more(both):
    kept = []

    @ps.filter(inputs="int64", outputs="int64", in_place=True)
    def keep(x):
        kept.append(x)

    @ps.filter(inputs="int64", outputs="int64", in_place=True)
    def add(x):
        x += 100

    graph, _ = chain((numbers, 3), keep, add)
    reader = graph.add_reader("reader", "int64")
    graph.connect("c.out", reader)
    with graph.start(both):
        assert [int(x[0]) for x in reader] == [100, 101, 102]
    assert [int(x[0]) for x in kept] == [0, 1, 2] and not kept[0].flags.writeable


def test_tags_travel_and_can_be_set(both):
    @ps.filter(outputs="int64")
    def tagged():
        yield np.zeros(1)[:0].astype(int)  # without values, but with a sequence number
        yield ps.Tagged([1], sequence=7, time=9, user=(1, 2))
        yield [2]

    seen = []
    look = ps.filter(lambda x: (seen.append(ps.tags(x) if x.size else None), x * 2)[1], inputs="int64", outputs="int64")
    graph, _ = chain(tagged, look)
    reader = graph.add_reader("reader", "int64")
    graph.connect("b.out", reader)
    writer, echo = graph.add_writer("writer", "int64"), graph.add_reader("echo", "int64")
    graph.connect(writer, echo)
    with graph.start(both):
        arrived = list(reader)
        assert [ps.tags(x) for x in arrived[1:]] == [(7, 9, (1, 2)), (2, 0, (0, 0))] and seen[1:] == [(7, 9, (1, 2)), (2, 0, (0, 0))]
        writer.write([5], sequence=3, user=(8, 9))
        assert ps.tags(echo.read()) == ps.Tags(3, 0, (8, 9))
        with pytest.raises(ps.UsageError, match="two whole numbers"):
            writer.write([5], user=3)
    with pytest.raises(ps.UsageError, match="no tags"):
        ps.tags(np.zeros(3))


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_tagged_values_can_be_pickled(protocol):
    copied = pickle.loads(pickle.dumps(ps.Tagged([1, 2], sequence=3, user=(4, 5)), protocol))
    assert type(copied) is ps.Tagged
    assert (copied.values, copied.sequence, copied.time, copied.user) == ([1, 2], 3, None, (4, 5))


def test_tagged_values_cannot_be_set_and_those_of_a_subclass_are_tagged(both):
    class Stamped(ps.Tagged):
        pass

    made = ps.Tagged([1], sequence=7)
    with pytest.raises(AttributeError):
        made.sequence = 8
    with pytest.raises(AttributeError):
        made.values = [2]

    @ps.filter(outputs="int64")
    def tagged():
        yield made
        yield Stamped([2], sequence=9)

    graph = ps.Graph()
    graph.add("tagged", tagged)
    reader = graph.add_reader("reader", "int64")
    graph.connect("tagged.out", reader)
    with graph.start(both):
        assert [(list(x), ps.tags(x).sequence) for x in reader] == [([1], 7), ([2], 9)]
    assert made.values == [1]


def test_keys_choose_the_sink(both):
    graph = ps.Graph()
    graph.add("a", numbers, 12)
    sinks = [graph.add(f"sink{i}", Collect) for i in range(3)]
    for sink in sinks:
        graph.connect("a.out", sink, policy="chosen", key=lambda tags: tags.sequence % 3, name="shared")
    graph.start(both).finish()
    assert [sink.filter.got for sink in sinks] == [[i, i + 3, i + 6, i + 9] for i in range(3)]


def test_the_program_writes_arrays_of_buffers_without_a_copy_and_any_values(both):
    graph = ps.Graph()
    writer, reader = graph.add_writer("writer", "float32"), graph.add_reader("reader", "float32")
    graph.connect(writer, reader, capacity=8)
    with pytest.raises(ps.RunEnded):
        writer.make(3)
    with pytest.raises(ps.RunEnded):
        reader.read()
    with graph.start(both) as run:
        assert reader.read_if_any() is None
        made = writer.make((2, 2))
        made[:] = 5
        writer.write(made)
        assert not made.flags.writeable
        writer.write(range(3))
        first = reader.read()
        assert first.ctypes.data == made.ctypes.data and first.tolist() == [[5, 5], [5, 5]]
        assert reader.read_if_any().tolist() == [0, 1, 2]
        writer.close()
        with pytest.raises(ps.UsageError):
            writer.write([1])
        assert reader.read() is None and list(reader) == []
        run.finish()
    with pytest.raises(ps.UsageError, match="number or a tuple"):
        writer.make("three")
