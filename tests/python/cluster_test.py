"""Graphs of Python over a cluster: agents are processes of this machine."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import penstock as ps
import pytest
from penstock import visits

from command_line import FIRST, command, penstock


@ps.filter(outputs="int64")
def numbers(count):
    for n in range(count):
        yield np.array([n])


@ps.filter(inputs="int64", outputs="int64", may_be_copied=True, settings={"factor": 2})
def multiply(x, *, factor):
    return factor * x


@ps.filter(inputs="int64", outputs="int64")
class Total:
    def __init__(self, start):
        self.sum = start

    def __call__(self, x):
        self.sum += int(x[0])

    def finish(self):
        return np.array([self.sum])


@ps.filter(inputs="int64", outputs="int64", may_be_copied=True)
def where(x):
    return np.array([os.getpid()])


@ps.filter(inputs="int64", outputs="int64", may_be_copied=True)
def fails(x):
    if x[0] == 7:
        raise ValueError("seven")
    return x


def chain(*middle, ordered=True):
    graph = ps.Graph()
    before = graph.add("numbers", numbers, 100)
    for name, made, options in middle:
        node = graph.add(name, made, **options)
        graph.connect(before, node)
        before = node
    reader = graph.add_reader("reader", "int64")
    graph.connect(before, reader, ordered=ordered)
    return graph, reader


def values(reader):
    return [int(array[0]) for array in reader]


@pytest.fixture(scope="module")
def cluster():
    with ps.Cluster("local", workers=ps.Nodes(2), targets=1) as made:
        yield made


def test_functions_travel_with_their_settings(cluster):
    graph, reader = chain(("multiply", multiply, {"copies": 2, "nodes": "workers", "settings": {"factor": 3}}))
    with graph.start(cluster) as run:
        assert values(reader) == [3 * n for n in range(100)]
        run.finish()


def test_copies_run_in_other_processes(cluster):
    graph, reader = chain(("where", where, {"copies": 2, "nodes": "workers"}), ordered=False)
    with graph.start(cluster) as run:
        assert set(values(reader)) == {agent.process for agent in cluster.agents()}
        run.finish()


def test_objects_of_classes_travel_with_their_arguments(cluster):
    graph = ps.Graph()
    source = graph.add("numbers", numbers, 100)
    total = graph.add("total", Total, 1000, nodes="workers")
    reader = graph.add_reader("reader", "int64")
    graph.connect(source, total)
    graph.connect(total, reader)
    with graph.start(cluster) as run:
        assert values(reader) == [1000 + 99 * 50]
        run.finish()


def test_what_a_filter_raises_on_a_node_is_raised_by_name(cluster):
    graph, _ = chain(("fails", fails, {"nodes": "workers"}))
    with pytest.raises(ps.FilterFailed, match="seven") as raised, graph.start(cluster) as run:
        run.finish()
    assert raised.value.filter == "fails"


def test_a_group_that_is_not_there_is_named(cluster):
    graph, _ = chain(("multiply", multiply, {"nodes": "elsewhere"}))
    with pytest.raises(ps.GraphError, match="'elsewhere', which the cluster does not have: it has 'workers'"):
        graph.start(cluster)


def test_a_timeline_shows_all_nodes():
    graph = ps.Graph()
    source, node, reader = graph.add("numbers", numbers, 50), graph.add("multiply", multiply, copies=2, nodes="workers"), graph.add_reader("reader", "int64")
    graph.connect(source, node)
    graph.connect(node, reader)
    with ps.Cluster("local", workers=ps.Nodes(2), targets=1) as cluster:
        cluster.start_timeline()
        with graph.start(cluster) as run:
            assert len(list(reader)) == 50
            run.finish()
        cluster.stop_timeline()
        events = json.loads(cluster.timeline_json())["traceEvents"]
    processes = {event["args"]["name"]: event["pid"] for event in events if event["name"] == "process_name"}
    assert list(processes) == ["program", "workers.0", "workers.1"]
    assert {event["pid"] for event in events if event["name"] == "multiply"} <= {processes["workers.0"], processes["workers.1"]}
    assert sum(event["name"] == "multiply" for event in events) >= 40


def ran(tracks):
    """Tasks that ran there, on targets and on threads that waited."""
    return sum(track["counts"]["tasks" if track["role"] == "target" else "helped"] for track in tracks)


def test_where_the_time_went_is_told_for_each_node(cluster):
    graph, reader = chain(("multiply", multiply, {"copies": 2, "nodes": "workers"}))
    before = cluster.snapshot()
    with graph.start(cluster) as run:
        assert len(values(reader)) == 100
        run.finish()
        by_node = run.statistics_by_node()
    period = cluster.snapshot() - before
    assert [node.node for node in period.nodes] == ["program", "workers.0", "workers.1"]
    assert all(node.note == "" and node.generation == 1 for node in period.nodes)
    told = period.breakdown()["nodes"]
    assert [each["node"] for each in told] == ["program", "workers.0", "workers.1"]
    for each, node in zip(told, period.nodes, strict=True):
        assert each["breakdown"] == node.counters.breakdown()
        assert ran(each["breakdown"]["tracks"]) > 0
    sections = period.table().split("\n\n")
    assert [section.split("\n")[0] for section in sections if section.split("\n")[0] in {node.node for node in period.nodes}] == [
        "program", "workers.0", "workers.1",
    ]  # fmt: skip
    with pytest.raises(ps.UsageError):
        before - cluster.snapshot()
    assert [each.node for each in by_node] == ["program", "workers.0", "workers.1"]
    firings = [{filter.name: filter.firings for filter in each.figures.filters} for each in by_node]
    assert set(firings[0]) == {"numbers", "reader"} and set(firings[1]) == set(firings[2]) == {"multiply"}
    assert firings[1]["multiply"] + firings[2]["multiply"] == 100


def test_what_goes_where_can_be_asked_and_drawn(cluster):
    graph, _ = chain(("multiply", multiply, {"copies": 2, "nodes": "workers"}))
    split = cluster.split(graph)
    assert split["parts"] == [("program", ["numbers", "reader"]), ("workers.0", ["multiply.0"]), ("workers.1", ["multiply.1"])]
    assert split["cut"] == [("numbers.out", "multiply.in"), ("multiply.out", "reader.input")]
    assert "cluster nodes workers" in graph.draw()


def test_with_replay_a_node_may_die():
    with ps.Cluster("local", workers=2, targets=1, deaths_of_a_buffer=100, log=lambda line: None) as cluster:
        graph, reader = chain(("multiply", multiply, {"copies": 2, "nodes": "workers", "on_node_loss": "replay"}))
        with graph.start(cluster) as run:
            first = next(iter(reader))
            os.kill(cluster.agents()[0].process, signal.SIGKILL)
            assert [int(first[0]), *values(reader)] == [2 * n for n in range(100)]
            run.finish()


def test_a_death_is_raised_with_its_facts():
    with ps.Cluster("local", workers=1, targets=1, log=lambda line: None) as cluster:
        graph = ps.Graph()
        writer = graph.add_writer("writer", "int64")
        node = graph.add("multiply", multiply, nodes="workers")
        reader = graph.add_reader("reader", "int64")
        graph.connect(writer, node)
        graph.connect(node, reader)
        with pytest.raises(ps.NodeDied) as raised, graph.start(cluster) as run:
            os.kill(cluster.agents()[0].process, signal.SIGKILL)
            run.finish()
        assert raised.value.node == "workers.0"
        assert raised.value.filters == ["multiply"]


APPLICATION = """
<application name="sums" xmlns="urn:penstock:application:1">
  <nodes name="workers" count="2" cpus="1"/>
  <component name="numbers" class="numbers"><set name="count" value="50"/></component>
  <component name="scale" class="scale" copies="2" nodes="workers" on-node-loss="replay"/>
  <component name="sum" class="sum"/>
  <component name="print" class="print"/>
  <stream from="numbers.out" to="scale.in"/>
  <stream from="scale.out" to="sum.in"/>
  <stream from="sum.out" to="print.in"/>
</application>
"""


def test_an_application_runs_over_the_nodes_that_it_asks_for():
    application = ps.Application.parse(APPLICATION)
    assert {name: (group.count, group.cpus) for name, group in application.nodes().items()} == {"workers": (2, 1.0)}
    assert ps.Application.parse(application.to_xml()).nodes() == application.nodes()
    with ps.Cluster("local", targets=1, **application.nodes()) as cluster, application.start(cluster) as run:
        run.finish()
        figures = {each.name: each for each in run.run.statistics().filters}
        assert figures["scale"].copies == 2
        assert figures["scale"].firings == 50


def parts_of(page):
    """Of a report: the node's name, and what stands below it."""
    nodes = page.split("<h3>Nodes</h3>")[1].split("<h3>Timeline</h3>")[0].split("<h4>")[1:]
    return {part.split("</h4>")[0]: part.split("</h4>")[1] for part in nodes}


def test_a_report_of_the_command_has_a_part_for_each_node(tmp_path):
    file, report, trace = tmp_path / "sums.xml", tmp_path / "sums.html", tmp_path / "sums.json"
    file.write_text(APPLICATION)
    done = penstock("run", file, "--cluster", "local", "--targets", 1, "--report", report, "--trace", trace)
    assert done.returncode == 0 and "2450" in done.stdout.splitlines(), done.stderr
    page = report.read_text(encoding="utf-8")
    parts = parts_of(page)
    assert list(parts) == ["program", "workers.0", "workers.1"]
    for name, part in parts.items():
        assert "<svg" in part, name
    assert "<td>sum</td>" in parts["program"] and "<td>scale</td>" not in parts["program"]
    firings = 0
    for name in ("workers.0", "workers.1"):
        row = re.search("<td>scale</td><td[^>]*>(.*?)</td><td[^>]*>(.*?)</td>", parts[name])
        assert row is not None and row[1] == "1"
        firings += int(row[2])
    assert firings == 50
    processes = [event["args"]["name"] for event in json.loads(trace.read_text())["traceEvents"] if event["name"] == "process_name"]
    assert processes == ["program", "workers.0", "workers.1"]
    tracks = json.loads(re.search("<script type='application/json' id='data0'>(.*?)</script>", page)[1])["tracks"]
    assert {track.split(": ")[0] for track in tracks} == set(processes)


def test_a_report_names_a_node_that_died(tmp_path):
    from penstock.report.application import write_application

    application = ps.Application.parse(APPLICATION.replace('value="50"', 'value="3000"/><set name="pause" value="0.001"'))
    with ps.Cluster("local", targets=1, deaths_of_a_buffer=100, log=lambda line: None, **application.nodes()) as cluster:
        cluster.start_timeline()
        before = cluster.snapshot()
        with application.start(cluster) as run:
            while len(run.run.statistics_by_node()) < 3 or not all(each.figures.filters for each in run.run.statistics_by_node()):
                run.wait(0.01)
            os.kill(next(agent.process for agent in cluster.agents() if agent.node == "workers.1"), signal.SIGKILL)
            run.finish()
        cluster.stop_timeline()
        report = tmp_path / "died.html"
        write_application(report, application, run, [], False, cluster.timeline_json(), cluster.snapshot() - before, "a machine")
    parts = parts_of(report.read_text(encoding="utf-8"))
    assert list(parts) == ["program", "workers.0", "workers.1", "workers.1, agent 1"]
    assert "an agent was lost: its agent ended by signal 9; this is of the one that took its place" in parts["workers.1"]
    assert "It was lost: its agent ended by signal 9. Its last figures:" in parts["workers.1, agent 1"]
    assert "<td>scale</td>" in parts["workers.1"] and "<td>scale</td>" in parts["workers.1, agent 1"]


def test_an_interruption_of_the_command_ends_its_sources_and_not_its_nodes(tmp_path):
    file, report = tmp_path / "sums.xml", tmp_path / "sums.html"
    file.write_text(APPLICATION.replace('value="50"', 'value="1000000"/><set name="pause" value="0.001"').replace("replay", "stop"))
    name = f"nodes-{os.getpid()}"
    arguments = command("run", file, "--cluster", "local", "--targets", 1, "--name", name, "--report", report)
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True) as running:
        deadline = time.monotonic() + 200
        while name not in visits.running() or visits.ask(name, "graph")["filters"][2]["statistics"]["firings"] == 0:  # the sum
            assert time.monotonic() < deadline
            time.sleep(0.05)
        os.killpg(running.pid, signal.SIGINT)  # as a terminal does
        output, errors = running.communicate(timeout=200)
    assert running.returncode == 130, errors
    assert errors == "penstock: the sources end, and what is under way goes through; Ctrl-C again stops at once\n"
    assert list(parts_of(report.read_text(encoding="utf-8"))) == ["program", "workers.0", "workers.1"]


def test_the_command_refuses_a_cluster_for_what_asks_for_no_nodes(tmp_path):
    file = tmp_path / "none.xml"
    file.write_text(FIRST)
    done = penstock("run", file, "--cluster", "local")
    assert done.returncode == 2 and "asks for no nodes" in done.stderr
    file.write_text(APPLICATION)
    done = penstock("run", file, "--listen", "tcp::0")
    assert done.returncode == 2 and "--cluster" in done.stderr
    done = penstock("run", file, "--cluster", "carrier-pigeon")
    assert done.returncode == 2 and "there is no engine 'carrier-pigeon'" in done.stderr


def test_an_application_that_asks_for_nodes_which_it_does_not_have_is_refused():
    with pytest.raises(ps.UsageError, match="there is no <nodes> called 'others'"):
        ps.Application.parse(APPLICATION.replace('nodes="workers" on', 'nodes="others" on'))


def test_nodes_that_a_profile_chooses_can_be_looked_at_and_used(cluster):
    free = ("multiply", multiply, {"copies": 2, "nodes": "auto"}), ("add", multiply, {"copies": 2, "nodes": "auto"})
    graph, reader = chain(*free)
    with graph.start(cluster.machine) as run:
        wanted = values(reader)
        run.finish()
        profile = run.statistics()
    graph, reader = chain(*free)
    placement = cluster.place(graph, profile)
    assert [place.filter for place in placement.filters] == ["numbers", "multiply", "add", "reader"]
    assert {place.nodes for place in placement.filters} <= {"", "workers"}
    assert placement.filters[0].why == "it has no `nodes`"
    assert [share.nodes for share in placement.shares] == ["program", "workers"]
    assert placement.balance == max(share.ratio for share in placement.shares)
    assert placement.best
    assert placement.bytes_rate == sum(cut.bytes_rate for cut in placement.cut)
    assert str(placement).startswith("program: numbers")
    placement.apply(graph)
    assert len(cluster.split(graph)["cut"]) == len(placement.cut)
    with graph.start(cluster) as run:
        assert values(reader) == wanted
        run.finish()
    with pytest.raises(ps.UsageError, match="runs"):
        placement.apply(graph)
    graph, reader = chain(*free)
    with graph.start(cluster, profile=profile) as run:
        assert values(reader) == wanted
        run.finish()


def test_placements_that_cannot_be_are_refused_with_what_binds(cluster):
    graph, reader = chain(("multiply", multiply, {"nodes": "auto"}))
    with pytest.raises(ps.GraphError, match="RunOptions::profile"):
        graph.start(cluster)
    with graph.start(cluster.machine) as run:
        values(reader)
        run.finish()
        profile = run.statistics()
    with pytest.raises(ps.NoPlacement, match="the least is") as refused:
        cluster.place(chain(("multiply", multiply, {"nodes": "auto"}))[0], profile, balance=1)
    assert refused.value.bound == "balance"
    assert refused.value.least > 1
    with pytest.raises(ps.GraphError, match="filter 'other'"):
        cluster.place(chain(("other", multiply, {"nodes": "auto"}))[0], profile)


def test_an_application_leaves_nodes_to_a_profile(cluster):
    text = APPLICATION.replace('nodes="workers" on-node-loss="replay"', 'nodes="auto"')
    application = ps.Application.parse(text)
    assert 'nodes="auto"' in application.to_xml()
    with application.start(cluster.machine) as run:
        run.finish()
        profile = ps.cluster.profile_text(run.run.statistics())
    assert profile.startswith("<?xml")
    placement = cluster.place(application, profile)
    assert [place.filter for place in placement.filters] == ["numbers", "scale", "sum", "print"]
    with application.start(cluster, profile=profile) as run:
        run.finish()
        assert {each.name: each.firings for each in run.run.statistics().filters}["scale"] == 50
    with pytest.raises(ps.UsageError, match="none can be called so"):
        ps.Application.parse(text.replace('name="workers"', 'name="auto"'))


def test_agents_end_when_the_program_has_died():
    program = (
        "import sys, penstock as ps\n"
        "cluster = ps.Cluster('hand', listen='tcp:127.0.0.1:0', patience=1, workers=1)\n"
        "print(*(agent.process for agent in cluster.agents()), flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        invitation = next(line for line in running.stderr if line.startswith("penstock1 "))
        with subprocess.Popen([sys.executable, "-m", "penstock.cli", "agent"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as agent:
            agent.stdin.write(invitation)
            agent.stdin.close()
            assert int(running.stdout.readline()) == agent.pid
            running.kill()
            assert agent.wait(timeout=60) == 3
            assert "the program cannot be reached" in agent.stderr.read()


def test_an_agent_refuses_what_is_no_invitation():
    ended = subprocess.run([sys.executable, "-m", "penstock.cli", "agent"], input="nonsense\n", capture_output=True, text=True, check=False)
    assert ended.returncode != 0
    assert "no invitation" in ended.stderr + ended.stdout


def test_an_engine_that_does_not_exist_is_named():
    with pytest.raises(ps.UsageError, match="there is no engine 'carrier-pigeon'"):
        ps.Cluster("carrier-pigeon", workers=1)


def test_ray_that_is_not_there_is_named_when_it_is_asked_for(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ps.UsageError, match="pip install ray"):
        ps.Cluster("ray://auto", workers=1)


def test_openssl_that_is_not_there_is_named_when_it_is_asked_for_and_one_machine_needs_none(tmp_path: Path):
    (tmp_path / "libssl.so.3").write_text("this is no library " * 100)
    program = (
        "import penstock as ps\n"
        "with ps.Cluster('local', workers=1, targets=1):\n"
        "    print('there')\n"
        "try:\n"
        "    ps.Cluster('local', listen='tcp:127.0.0.1:0', workers=1)\n"
        "except ps.OpenSslMissing as missing:\n"
        "    print(missing)\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | {"LD_LIBRARY_PATH": str(tmp_path)}, capture_output=True, text=True, timeout=100, check=True
    ).stdout.splitlines()
    assert said[0] == "there"
    assert "apt install libssl3" in said[1]


def test_people_can_start_agents(tmp_path: Path):
    """The program prints the invitation; whoever starts the agent gives it that line."""
    program = tmp_path / "program.py"
    program.write_text(
        "import numpy as np, penstock as ps\n"
        "graph = ps.Graph()\n"
        "writer = graph.add_writer('writer', 'int64')\n"
        "node = graph.add('double', ps.filter(lambda x: 2 * x, inputs='int64', outputs='int64'), nodes='other')\n"
        "reader = graph.add_reader('reader', 'int64')\n"
        "graph.connect(writer, node)\n"
        "graph.connect(node, reader)\n"
        "with ps.Cluster('hand', listen='tcp:127.0.0.1:0', other=1) as cluster, graph.start(cluster) as run:\n"
        "    writer.write(np.array([21]))\n"
        "    writer.close()\n"
        "    print(*[int(x[0]) for x in reader])\n"
        "    run.finish()\n"
    )
    with subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        invitation = next(line for line in running.stderr if line.startswith("penstock1 "))
        agent = subprocess.run([sys.executable, "-m", "penstock.cli", "agent"], input=invitation, capture_output=True, text=True, timeout=60, check=False)
        assert running.stdout.read().split() == ["42"]
        assert running.wait(timeout=60) == 0
    assert agent.returncode == 0, agent.stderr
