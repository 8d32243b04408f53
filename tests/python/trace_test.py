"""Where the time went, from Python."""

import json
import xml.etree.ElementTree as xml

import numpy as np
import pytest

import penstock as ps


def test_the_breakdown_counts_the_calls_of_a_phase(machine, count):
    x = np.zeros((50, 1), np.int64)
    before = machine.snapshot()
    for row in x:
        machine.call(count, ps.InOut(row))
    machine.barrier()
    period = machine.snapshot() - before
    tracks = period.breakdown()["tracks"]
    assert sum(track["counts"].get("calls", 0) for track in tracks if track["role"] == "initiator") == 50
    ran = sum(track["counts"].get("tasks", 0) + track["counts"].get("helped", 0) + track["counts"].get("inlined", 0) for track in tracks)
    assert ran >= 50
    for track in tracks:
        assert sum(share["seconds"] for share in track["shares"].values()) == pytest.approx(track["wall_seconds"])
    assert "target 0" in period.table()
    assert xml.fromstring(period.bars_svg("A title")).tag.endswith("svg")
    with pytest.raises(ps.UsageError):
        before - machine.snapshot()


def test_the_timeline_names_the_bodies_and_their_bytes(machine, native, count):
    other = native.body("count", "void (int64_t *x, intptr_t n)")
    other = ps.compiled(other, name="another")
    x = np.zeros((8, 16), np.int64)
    machine.start_timeline()
    for i, row in enumerate(x):
        machine.on(0).call(other if i % 2 else count, ps.InOut(row))
    machine.barrier()
    machine.stop_timeline()
    events = [event for event in json.loads(machine.timeline_json())["traceEvents"] if event.get("ph") == "X"]
    tasks = [event for event in events if event["name"] in ("count", "another")]
    assert sorted(event["name"] for event in tasks) == ["another"] * 4 + ["count"] * 4
    assert all(event["args"]["bytes_in"] == event["args"]["bytes_out"] == 128 for event in tasks)


def test_a_timeline_without_room_is_refused(machine):
    with pytest.raises(ps.UsageError):
        machine.start_timeline(0)
