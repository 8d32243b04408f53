"""Applications and graphs as XML, from Python."""

from pathlib import Path

import pytest

import penstock as ps

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = [part.split("```")[0] for part in (ROOT / "docs" / "language.md").read_text(encoding="utf-8").split("```xml\n")[1:]]
GATED = """<application xmlns="urn:penstock:application:1" name="gated">
  <parameter name="count" type="integer" default="3"/>
  <event name="flip"/><event name="raise"/>
  <component name="numbers" class="numbers"><set name="count" value="${count}"/><set name="pause" value="0.001"/></component>
  <component name="scale" class="scale"/>
  <stream from="numbers.out" to="scale.in"/>
  <manager><on event="flip" toggle="more"/><on event="raise" component="scale" setting="factor" value="3"/>
    <option name="more" initially="on"><component name="end" class="print"/><stream from="scale.out" to="end.in"/></option></manager>
</application>
"""


def test_an_application_says_what_it_declares_and_comes_back_from_its_xml(tmp_path):
    file = tmp_path / "gated.xml"
    file.write_text(GATED, encoding="utf-8")
    application = ps.Application.read(file, settings={"count": 5})
    assert (application.name, application.events(), application.options()) == ("gated", ["flip", "raise"], {"more": True})
    assert application.warnings() == [] and not application.needs_processes
    text = application.to_xml()
    assert '<set name="count" value="5"/>' in text
    again = ps.Application.parse(text)
    assert again == application and again.to_xml() == text
    assert again != ps.Application.read(file) and again != 3
    assert "digraph" in application.draw()


@pytest.mark.parametrize("text", EXAMPLES)
def test_the_examples_of_the_documentation_come_back(text):
    application = ps.Application.parse(text)
    assert ps.Application.parse(application.to_xml()) == application


def test_a_run_takes_events_and_tells_its_options():
    application = ps.Application.parse(GATED, settings={"count": 1_000_000_000})
    with ps.Machine(targets=1) as machine, application.start(machine) as run:
        assert run.is_on("more") and not run.wait(0.01)
        run.send("flip")
        run.send(("raise", True))
        run.settle()
        assert not run.is_on("more")
        assert run.run.description().filters[1].settings["factor"].value == 3
        with pytest.raises(ps.UsageError, match="is no event: give its name"):
            run.send({"flip"})
        with pytest.raises(ps.UsageError, match="reaches nobody"):
            run.send("shout")
        with pytest.raises(ps.UsageError, match="no option 'less'"):
            run.is_on("less")
        run.run.close()
        run.finish()
        assert run.wait(0) and run.run.ended
        with pytest.raises(ps.RunEnded):
            run.send("flip")


@pytest.mark.parametrize("waits", [False, True])
def test_an_exception_stops_the_run_and_the_machine_may_close_before_it(waits):
    application = ps.Application.parse(GATED, settings={"count": 1_000_000_000})
    machine = ps.Machine(targets=1)
    with pytest.raises(ZeroDivisionError), application.start(machine) as run:
        assert not waits or not run.wait(0.01)
        raise ZeroDivisionError
    assert run.run.ended
    other = application.start(machine)
    assert not waits or not other.wait(0.01)
    machine.close()
    assert other.run.ended


def test_what_is_wrong_is_raised_with_its_places(tmp_path):
    with pytest.raises(ps.UsageError, match=r"gated.xml:5:\d+: error: there is no component class 'scael'; did you mean 'scale'"):
        ps.Application.parse(GATED.replace('"scale" class="scale"', '"scale" class="scael"'), "gated.xml")
    with pytest.raises(ps.UsageError, match="has no parameter 'cuont'"):
        ps.Application.parse(GATED, settings={"cuont": 1})
    with pytest.raises(ps.SystemError):
        ps.Application.read(tmp_path / "nothing.xml")


def test_a_graph_comes_from_xml_and_goes_back():
    graph = ps.Graph.from_xml(GATED, settings={"count": 4})
    assert [each.name for each in graph.description().filters] == ["numbers", "scale", "end"]
    text = graph.to_xml("again")
    assert 'name="again"' in text and '<set name="count" value="4" unit="buffers"/>' in text
    assert ps.Graph.from_xml(text).description() == graph.description()
    assert ps.Graph.from_xml(text).to_xml("again") == text
    reader = graph.add_reader("reader", "float64")
    graph.connect("scale.out", reader)
    with ps.Machine(targets=1) as machine, graph.start(machine) as run:
        assert [float(each[0]) for each in reader] == [0, 2, 4, 6]
        run.finish()


def test_filters_of_functions_have_no_class_and_are_refused_by_name():
    @ps.filter(inputs="float64")
    def swallow(x):
        pass

    graph = ps.Graph.from_xml(GATED)
    graph.add("mine", swallow)
    graph.connect("scale.out", "mine.x")
    with pytest.raises(ps.UsageError, match="'mine'"):
        graph.to_xml()
    other = ps.Graph()
    other.add_reader("reader", "float64")
    with pytest.raises(ps.UsageError, match="'reader' is the program's own end"):
        other.to_xml()
