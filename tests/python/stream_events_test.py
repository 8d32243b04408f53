"""Events that filters send."""

import numpy as np
import pytest
from stream_parts import numbers

import penstock as ps

SENDS = {"inputs": "int64", "outputs": "int64", "events": {"loud": 0, "word": ""}}


def by_dict(x):
    return {"out": x, "loud": int(x[0])} if x[0] % 2 else x


def by_generator(x):
    if x[0] % 2:
        yield ps.Event("loud", int(x[0]))
    yield x


def unknown(x):
    return ps.Event("lout", 1)


class Heard:
    def __init__(self):
        self.got = []

    def __call__(self, x):
        self.got.append(int(x[0]))

    def on_event(self, event):
        self.got.append((event.name, event.value))


def what_is_heard(machine, sender, **options):
    graph = ps.Graph()
    graph.add("numbers", numbers, 6)
    graph.add("sender", ps.filter(sender, **SENDS, **options))
    heard = graph.add("heard", ps.filter(Heard, inputs="int64"))
    graph.connect("numbers.out", "sender.in")
    graph.connect("sender.out", heard)
    with graph.start(machine) as run:
        run.finish()
    return heard.filter.got


@pytest.mark.parametrize("options", [{}, {"isolation": "process"}])
@pytest.mark.parametrize("sender", [by_dict, by_generator])
def test_filters_send_events(sender, options):
    with ps.Machine(targets=2) as machine:
        got = what_is_heard(machine, sender, **options)
    assert [each for each in got if isinstance(each, int)] == list(range(6))
    assert [each for each in got if not isinstance(each, int)] == [("loud", 1), ("loud", 3), ("loud", 5)]


def test_an_event_that_is_none_of_its_own_is_refused():
    with ps.Machine(targets=1) as machine, pytest.raises(ps.FilterFailed, match="'lout', which is no event output of it: declare events="):
        what_is_heard(machine, unknown)


def test_an_application_obeys_events_of_filters_in_python():
    ps.register_component("test:by-dict", ps.filter(by_dict, **SENDS))
    ps.register_component("test:slow", ps.filter(lambda x, *, seen: x, inputs="int64", outputs="int64", settings={"seen": 0}))
    text = """<application xmlns="urn:penstock:application:1" name="test"><event name="odd"/>
    <component name="numbers" class="test:numbers"/><component name="by-dict" class="test:by-dict"/><component name="slow" class="test:slow"/>
    <component name="print" class="print-integers"/><signal from="by-dict.loud" event="odd"/>
    <manager><on event="odd" least="3" most="3" component="slow" setting="seen" value="${event * 2}"/></manager>
    <stream from="numbers.out" to="by-dict.in"/><stream from="by-dict.out" to="slow.in"/><stream from="slow.out" to="print.in"/></application>"""
    seen = []

    @ps.filter(outputs="int64")
    def endless():
        for n in range(1_000_000):
            if len(seen) > 0:
                return
            yield np.array([n % 4])

    ps.register_component("test:numbers", endless)
    with ps.Machine(targets=2) as machine, ps.Application.parse(text).start(machine) as run:
        while not seen:
            seen += [True for each in run.run.description().filters if each.name == "slow" and each.settings["seen"].value == 6]
