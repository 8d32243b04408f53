"""Clusters whose agents Ray starts. Left out where Ray is not installed (pip install ray)."""

import os
import signal

import numpy as np
import pytest

import penstock as ps

ray = pytest.importorskip("ray", reason="Ray is not installed")


@pytest.fixture(scope="module")
def running():
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, configure_logging=False)
    yield ray
    ray.shutdown()


@ps.filter(outputs="int64")
def numbers(count):
    for n in range(count):
        yield np.array([n])


@ps.filter(inputs="int64", outputs="int64", may_be_copied=True)
def double(x):
    return 2 * x


def described(count, **options):
    graph = ps.Graph()
    source = graph.add("numbers", numbers, count)
    node = graph.add("double", double, copies=2, nodes="workers", **options)
    reader = graph.add_reader("reader", "int64")
    graph.connect(source, node)
    graph.connect(node, reader, ordered=True)
    return graph, reader


def test_a_graph_runs_over_nodes_that_ray_starts(running):
    graph, reader = described(200)
    with ps.Cluster("ray://auto", listen="tcp:127.0.0.1:0", workers=ps.Nodes(2, cpus=1), targets=1) as cluster, graph.start(cluster) as run:
        assert [int(x[0]) for x in reader] == [2 * n for n in range(200)]
        run.finish()


@pytest.mark.parametrize("what", ["agent", "actor"])
def test_a_killed_agent_or_actor_is_replaced(running, what):
    graph, reader = described(300, on_node_loss="replay")
    with ps.Cluster(
        "ray://auto", listen="tcp:127.0.0.1:0", workers=ps.Nodes(2, cpus=1), targets=1, deaths_of_a_buffer=100, log=lambda line: None
    ) as cluster, graph.start(cluster) as run:
        first = next(iter(reader))
        process = cluster.agents()[0].process
        if what == "actor":  # the agent ends with it
            with open(f"/proc/{process}/stat") as stat:
                process = int(stat.read().rsplit(")", 1)[1].split()[1])
        os.kill(process, signal.SIGKILL)
        assert [int(first[0]), *(int(x[0]) for x in reader)] == [2 * n for n in range(300)]
        run.finish()
