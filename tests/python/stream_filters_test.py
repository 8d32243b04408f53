"""What filters may do: functions, objects and compiled bodies."""

import ctypes
import time

import numpy as np
import pytest
from stream_parts import chain, numbers, scale

import penstock as ps
from penstock import kernels


def test_several_inputs_and_outputs_by_tuple_by_dict_and_by_generator(both):
    @ps.filter(inputs={"left": "int64", "right": "int64"}, outputs={"sum": "int64", "difference": "float64"})
    def both_of(left, right):
        return left + right, None if left[0] == 1 else (left - right).astype(np.float64)

    @ps.filter(inputs="int64", outputs={"even": "int64", "odd": "int64"})
    def sort(x):
        for value in x:
            yield {"odd" if value % 2 else "even": [value]}

    graph = ps.Graph()
    graph.add("a", numbers, 3)
    graph.add("b", numbers, 3)
    graph.add("both", both_of)
    graph.add("sort", sort)
    graph.connect("a.out", "both.left")
    graph.connect("b.out", "both.right")
    graph.connect("both.sum", "sort.in")
    readers = {name: graph.add_reader(name, dtype) for name, dtype in (("even", "int64"), ("odd", "int64"), ("rest", "float64"))}
    graph.connect("sort.even", readers["even"], capacity=50)
    graph.connect("sort.odd", readers["odd"], capacity=50)
    graph.connect("both.difference", readers["rest"])
    with graph.start(both):
        assert [int(x[0]) for x in readers["even"]] == [0, 0, 0, 2, 2, 2, 4, 4, 4]
        assert list(readers["odd"]) == []
        assert [x.tolist() for x in readers["rest"]] == [[0, 0, 0]] * 2


def test_an_object_has_its_state_settings_events_and_ends(both):
    @ps.filter(inputs="int64", outputs="int64", settings={"more": 1, "word": "x", "quick": True, "rate": 1.5})
    class Sums:
        def __init__(self, begin):
            self.sum, self.events = begin, []

        def start(self):
            self.begun = (self.more, self.word, self.quick, self.rate)
            return np.array([self.sum])

        def __call__(self, x):
            self.sum += int(x[0]) + self.more
            if self.sum > 1000:
                raise StopIteration
            return [self.sum]

        def on_event(self, event):
            self.events.append(event)
            return np.array([-1])

        def finish(self):
            return np.array([self.sum])

    graph = ps.Graph()
    writer, sums, reader = graph.add_writer("writer", "int64"), graph.add("sums", Sums, 10, settings={"word": "y", "rate": 2}), graph.add_reader("reader", "int64")
    graph.connect(writer, sums)
    graph.connect(sums, reader)
    graph.set(sums, "more", 5)
    with graph.start(both) as run:
        assert reader.read() == [10] and sums.filter.begun == (5, "y", True, 2.0)
        writer.write([1])
        assert reader.read() == [16]
        run.send(ps.Event("pause", 2.5), sums)
        assert reader.read() == [-1]
        run.send_after(0.001, "again", period=0.001)
        assert reader.read() == [-1] and reader.read() == [-1]
        assert sums.filter.events[:3] == [("pause", 2.5), ("again", False), ("again", False)]
        with pytest.raises(ps.UsageError, match="reaches nobody"):
            run.send("pause", "writer")
        writer.write([10000])
        values = [int(x[0]) for x in reader]
        assert [value for value in values if value != -1] == [10021]
    with pytest.raises(ps.RunEnded):
        run.send("pause")


def test_inputs_may_be_optional_any_or_several_at_a_time(both):
    @ps.filter(inputs={"x": "int64", "extra": ps.Port("int64", required=False)}, outputs="int64")
    def add_extra(x, extra):
        return x if extra is None else x + extra

    @ps.filter(inputs={"in": ps.Port("int64", at_least=3)}, outputs="int64")
    def sums(several):
        return np.array([len(several), sum(int(x[0]) for x in several)])

    @ps.filter(inputs={"a": "int64", "b": "int64"}, outputs="int64", on_any_input=True)
    def merge(a, b):
        if a is not None:
            yield a
        if b is not None:
            yield b

    graph = ps.Graph()
    graph.add("first", numbers, 4)
    graph.add("second", numbers, 3)
    graph.add("merge", merge)
    graph.add("extra", add_extra)
    graph.add("sums", sums)
    reader = graph.add_reader("reader", "int64")
    graph.connect("first.out", "merge.a")
    graph.connect("second.out", "merge.b")
    graph.connect("merge.out", "extra.x")
    graph.connect("extra.out", "sums.in")
    graph.connect("sums.out", reader)
    with graph.start(both):
        got = [x.tolist() for x in reader]
    assert [count for count, _ in got] == [3, 3, 1] and sum(total for _, total in got) == 9


def test_arrays_are_filled_or_written_in_place(both):
    @ps.filter(inputs="int64", outputs={"out": ps.Port("int64", shape="in"), "sum": ps.Port("float64", shape=(1, 2))}, fill=True)
    def double(x, out, total):
        np.multiply(x, 2, out=out)
        total[:] = x.sum()

    @ps.filter(inputs="int64", outputs="int64", in_place=True, settings={"more": 1})
    def add(x, *, more):
        x += more

    graph = ps.Graph()
    graph.add("a", numbers, 3)
    graph.add("add", add)
    graph.add("b", double)
    graph.connect("a.out", "add.in")
    graph.connect("add.out", "b.in")
    out, total, plain = graph.add_reader("r", "int64"), graph.add_reader("s", "float64"), graph.add_reader("t", "int64")
    graph.connect("b.out", out)
    graph.connect("b.sum", total)
    graph.connect("a.out", plain)  # what others read too is not changed in place
    with graph.start(both):
        assert [x.tolist() for x in out] == [[2, 2, 2], [4, 4, 4], [6, 6, 6]]
        assert [x.tolist() for x in total] == [[[3, 3]], [[6, 6]], [[9, 9]]]
        assert [x.tolist() for x in plain] == [[0] * 3, [1] * 3, [2] * 3]


def test_results_are_converted_as_numpy_converts_same_kinds_and_refused_otherwise(both):
    values = [np.arange(3, dtype=np.float64), np.arange(4)[::2], np.float32(3), [[1.5, 2.5]], np.ones((2, 3, 4), np.float32)]
    graph, _ = chain(ps.filter(lambda it=iter(values): next(it), outputs="float32"))
    reader = graph.add_reader("reader", "float32")
    graph.connect("a.out", reader)
    with graph.start(both):
        got = list(reader)
    assert [x.shape for x in got] == [(3,), (2,), (1,), (1, 2), (2, 3, 4)] and all(x.dtype == np.float32 for x in got)
    for array, value in zip(got, values, strict=True):
        np.testing.assert_array_equal(array, np.asarray(value).reshape(array.shape))
    for wrong, kind in ((np.array([1j]), TypeError), (np.array(["a"]), TypeError), (np.ones((1, 1, 1, 1)), ps.UsageError)):
        graph, _ = chain(ps.filter(lambda value=wrong: value, outputs="float32"), ps.filter(lambda x: None, inputs="float32"))
        with pytest.raises(ps.FilterFailed) as error:
            graph.start(both).finish()
        assert isinstance(error.value.__cause__, kind)


def test_values_for_outputs_that_are_not_there_are_refused(both):
    for function, ports in ((lambda x: x, {}), (lambda x: {"other": x}, {"outputs": "int64"}), (lambda x: x, {"outputs": {"a": "int64", "b": "int64"}})):
        graph, _ = chain((numbers, 1), ps.filter(function, inputs="int64", **ports))
        with pytest.raises(ps.FilterFailed) as error:
            graph.start(both).finish()
        assert isinstance(error.value.__cause__, ps.UsageError), error.value


def test_a_compiled_body_is_a_filter(both, scale_body, native):
    add_one = native.body("add_one", "void (double *x, intptr_t rows, intptr_t columns, intptr_t pitch)")

    @ps.filter(outputs="float32")
    def images():
        for n in range(4):
            yield np.full((2, 3), n, np.float32)

    body = ps.filter(scale_body, inputs="float32", outputs="float32", settings={"factor": ps.Setting(2.0, most=50)}, may_be_copied=True)
    graph = ps.Graph()
    graph.add("images", images)
    graph.add("scale", body, copies=2)
    graph.add("convert", ps.filter(lambda x: x.astype(np.float64), inputs="float32", outputs="float64"))
    graph.add("add", ps.filter(add_one, inputs="float64", outputs="float64", in_place=True))
    reader = graph.add_reader("reader", "float64")
    graph.connect("images.out", "scale.in")
    graph.connect("scale.out", "convert.in", ordered=True)
    graph.connect("convert.out", "add.in")
    graph.connect("add.out", reader)
    graph.set("scale", "factor", 10)
    with graph.start(both):
        got = list(reader)
    assert [x.shape for x in got] == [(2, 3)] * 4 and [x[1, 2] for x in got] == [1, 11, 21, 31]


def test_a_body_whose_parameters_are_not_those_of_the_ports_is_refused(scale_body):
    graph = ps.Graph()
    with pytest.raises(ps.ArgumentError, match="port of float64, but the body takes float32") as error:
        graph.add("a", ps.filter(scale_body, inputs="float64", outputs="float32", settings={"factor": 2.0}))
    assert error.value.argument == 1
    with pytest.raises(ps.ArgumentError, match="is a setting"):
        graph.add("a", ps.filter(scale_body, inputs="float32", outputs="float32", settings={"factor": "much"}))
    with pytest.raises(ps.UsageError):
        graph.add("a", ps.filter(scale_body, inputs="float32", outputs="float32"))
    with pytest.raises(ps.UsageError, match="without an input"):
        ps.filter(scale_body, outputs="float32")


def test_the_kernels_of_the_package_are_filters(both):
    images = [np.arange(12, dtype=np.uint8).reshape(3, 4) + n for n in range(3)]
    graph = ps.Graph()
    graph.add("a", ps.filter(lambda it=iter(images): next(it), outputs="uint8"))
    graph.add("b", ps.filter(lambda it=iter(images): 20 - next(it), outputs="uint8"))
    graph.add("maximum", ps.filter(kernels.maximum_uint8, inputs={"a": "uint8", "b": "uint8"}, outputs="uint8"))
    reader = graph.add_reader("reader", "uint8")
    graph.connect("a.out", "maximum.a")
    graph.connect("b.out", "maximum.b")
    graph.connect("maximum.out", reader)
    with graph.start(both):
        for got, image in zip(reader, images, strict=True):
            np.testing.assert_array_equal(got, np.maximum(image, 20 - image))


def test_compiled_bodies_run_while_this_thread_has_the_interpreter(both, native):
    signature = "void (const int64_t *open, intptr_t n, const double *x, intptr_t m, double *sum, intptr_t k)"
    wait_and_sum = native.body("wait_and_sum", signature)
    graph = ps.Graph()
    writer, values = graph.add_writer("gate", "int64"), graph.add_writer("values", "float64")
    body = ps.filter(wait_and_sum, inputs={"gate": "int64", "x": "float64"}, outputs={"sum": ps.Port("float64", shape=1)})
    graph.add("body", body)
    reader = graph.add_reader("reader", "float64")
    graph.connect(writer, "body.gate")
    graph.connect(values, "body.x")
    graph.connect("body.sum", reader)
    with graph.start(both) as run:
        gate = writer.make(1)
        gate[0] = 0
        writer.write(gate)
        values.write(np.arange(5.0))
        while "'body' fires" not in run.report():
            time.sleep(0.001)
        ctypes.c_int64.from_address(gate.ctypes.data).value = 1  # the array itself is not written any more
        assert reader.read() == [10.0]
