"""Graphs of filters: what they are made of, and how they say what is wrong."""

import json

import numpy as np
import pytest
from stream_parts import Collect, chain, numbers, scale

import penstock as ps


def test_three_stages_give_what_numpy_gives(both):
    graph = ps.Graph()
    graph.add("numbers", numbers, 100)
    graph.add("scale", scale, copies=2)
    sink = graph.add("sink", Collect)
    graph.connect("numbers.out", "scale.in")
    graph.connect("scale.out", sink, ordered=True)
    with graph.start(both) as run:
        run.finish()
    assert sink.filter.got == [2 * n for n in range(100)]
    assert run.ended
    by_name = {each.name: each for each in run.statistics().filters}
    assert by_name["scale"].firings == 100 and by_name["scale"].copies == 2
    assert "scale" in run.statistics().text() and [stream.buffers for stream in run.statistics().streams] == [100, 100]


def test_ports_are_named_in_three_ways_and_what_is_not_there_is_said(both):
    graph = ps.Graph()
    a, b, c = graph.add("a", numbers, 4), graph.add("b", scale), graph.add("c", Collect)
    assert a.out == "a.out" and b["in"] == "b.in" and isinstance(a.out, str)
    with pytest.raises(AttributeError, match="no port called 'nothing'; it has in, out"):
        b.nothing  # noqa: B018
    with pytest.raises(ps.UsageError, match="filter 'c' has 0 outputs"):
        graph.connect(c, b)
    graph.connect(a.out, b["in"])
    graph.connect("b.out", c)
    graph.start(both).finish()
    assert c.filter.got == [0, 2, 4, 6]


def test_a_graph_error_says_all_problems(both):
    graph = ps.Graph()
    a, b = graph.add("a", numbers, 4), graph.add("b", scale, copies=-1)
    graph.add("b", Collect, copies=2, targets=[7])
    graph.connect(a, "nobody.in")
    graph.connect("b.out", "a.in")
    graph.set("b", "factor", 200)
    graph.set(b, "gain", 1)
    parts = [
        "port 'nobody.in'", "'a' has no input called 'in'", "cannot be 200: it goes from 0 to 100", "no setting called 'gain'", "cannot have -1 copies",
        "'b' is used twice", "may be copied", "nothing leads to input 'b.in'", "nothing leads to input 'b.in'",
    ]  # fmt: skip
    assert all(part in problem for part, problem in zip(parts, graph.check(), strict=True))
    with pytest.raises(ps.GraphError) as error:
        graph.start(both)
    parts.insert(7, "placed on target 7, but the machine has 2")  # known only now
    assert all(part in problem for part, problem in zip(parts, error.value.problems, strict=True))
    assert all(problem in str(error.value) for problem in error.value.problems) and isinstance(error.value, ps.UsageError)


def test_element_types_must_agree_and_be_numbers():
    graph = ps.Graph()
    graph.add("a", numbers, 1)
    graph.add("b", ps.filter(lambda x: None, inputs=np.float32))
    graph.connect("a.out", "b.in")
    assert len(graph.check()) == 1 and "joins values of type" in graph.check()[0]
    for wrong in ("S4", object, "datetime64[s]", ">i4", "nonsense"):
        with pytest.raises(ps.ElementError):
            ps.filter(lambda x: None, inputs=wrong)


def test_what_is_no_filter_is_refused_where_it_is_written():
    graph = ps.Graph()
    with pytest.raises(ps.UsageError, match="penstock.filter"):
        graph.add("a", lambda x: x)
    with pytest.raises(ps.UsageError, match="no setting called 'gain'"):
        graph.add("a", scale, settings={"gain": 1})
    with pytest.raises(ps.UsageError, match="is a int, not 'two'"):
        graph.add("a", scale, settings={"factor": "two"})
    with pytest.raises(ps.UsageError, match="on_failure must be one of stop, go_on, not never"):
        graph.add("a", scale, on_failure="never")
    with pytest.raises(ps.UsageError, match="cannot be -1: it goes from 0 to 100 times"):
        graph.add("a", scale, settings={"factor": -1})
    with pytest.raises(ps.UsageError, match="'finish' cannot be the name of a setting"):
        ps.filter(lambda x: None, inputs="int8", settings={"finish": 1})
    with pytest.raises(ps.UsageError, match="needs __call__"):
        ps.filter(type("Empty", (), {}), inputs="int8")
    with pytest.raises(ps.UsageError, match="as many outputs as inputs"):
        ps.filter(lambda x: None, inputs="int8", outputs="int16", in_place=True)
    with pytest.raises(ps.UsageError, match="needs a shape"):
        ps.filter(lambda y: None, outputs="int8", fill=True)
    with pytest.raises(ps.UsageError, match="policy must be one of demand_driven"):
        graph.connect("a.out", "b.in", policy="best")
    with pytest.raises(ps.UsageError, match="capacity is a whole number that is not negative"):
        graph.connect("a.out", "b.in", capacity=-1)
    assert graph.check() == []


def test_a_graph_describes_draws_and_saves_itself(both, tmp_path):
    graph, (_, b, _) = chain((numbers, 1), scale, Collect, capacity=3, policy="round_robin", name="pipe")
    text = graph.description()
    assert [each.name for each in text.filters] == ["a", "b", "c"] and text.filters[1].type == "scale"
    assert text.filters[1].settings == {"factor": ps.Setting(2, "times", 0, 100)} and text.filters[1].may_be_copied
    assert text.filters[1].inputs[0].dtype == "int64" and text.filters[1].inputs[0].at_least == 1
    assert (text.streams[0].source, text.streams[0].capacity, text.streams[0].policy) == ("a.out", 3, "round_robin")
    assert '"a" -> "b"' in graph.draw() and graph.draw().startswith("digraph")
    assert not text.filters[0].of_program
    graph.save(tmp_path / "graph.json")
    with graph.start(both, name=f"graph-{tmp_path.name}") as run:
        run.finish()
        run.save(tmp_path / "run.json")
        assert run.name == f"graph-{tmp_path.name}"
        assert run.description().filters[2].name == "c" and "/s" in run.draw()
        assert "'b' has ended" in run.report()
    saved = [json.loads((tmp_path / name).read_text()) for name in ("graph.json", "run.json")]
    assert [each["name"] for each in saved[0]["filters"]] == ["a", "b", "c"] and "statistics" in saved[1]["filters"][1]


def test_groups_give_names(both):
    class Front:
        def __init__(self, builder, count):
            self.source = builder.add("source", numbers, count)
            inner = builder.add_group("inner", lambda deeper: deeper.add("scale", scale))
            builder.connect(self.source, "inner/scale.in")
            self.out = inner.out

    graph = ps.Graph()
    front = graph.add_group("front", Front, 3)
    sink = graph.add("sink", Collect)
    graph.connect(front.out, sink)
    assert front.source.name == "front/source" and front.out == "front/inner/scale.out"
    graph.start(both).finish()
    assert sink.filter.got == [0, 2, 4]
