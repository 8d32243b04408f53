"""Clusters whose agents Ray starts: three nodes in network namespaces, with token authentication, and a head that has no processors.
Left out where Ray is not installed (pip install ray), or where no namespaces can be made.
"""

import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import penstock as ps

# Ray reads how it is to authenticate when it is imported.
SECURITY = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
os.environ.update(SECURITY)
ray = pytest.importorskip("ray", reason="Ray is not installed: pip install ray")

NET = f"10.98.{os.getpid() % 250}"
BRIDGE = f"pr{os.getpid() % 100_000}"


def tried(command: str) -> bool:
    return subprocess.run(command.split(), capture_output=True, check=False).returncode == 0


def processes_of(temporary: Path) -> list[int]:
    """All that Ray has started: its processes carry the folder or the session's variables in their arguments or environment."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and str(temporary).encode() in (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return [process for process in found if process != os.getpid()]


class RayNodes:
    """A head here, where the program runs, and three nodes in namespaces of their own."""

    WORKERS = (2, 3, 4)

    def __init__(self, temporary: Path) -> None:
        self.temporary = temporary
        self.environment = {
            "RAY_USAGE_STATS_ENABLED": "0", "RAY_TMPDIR": str(temporary),
            "RAY_health_check_initial_delay_ms": "1000", "RAY_health_check_period_ms": "500", "RAY_health_check_timeout_ms": "500",
            "RAY_health_check_failure_threshold": "4",
        }  # fmt: skip
        self.usable = os.geteuid() == 0 and tried(f"ip link add {BRIDGE} type bridge")
        if not self.usable:
            return
        self.usable = tried(f"ip addr add {NET}.1/24 dev {BRIDGE}") and tried(f"ip link set {BRIDGE} up") and all(map(self.namespace, self.WORKERS))
        if not self.usable:
            return
        self.start([], 1, "--head", "--port=6399", "--include-dashboard=false", "--num-cpus=0")
        for i in self.WORKERS:
            self.join(i)

    def namespace(self, i: int) -> bool:
        name, device = f"{BRIDGE}n{i}", f"{BRIDGE}v{i}"
        inside = f"ip netns exec {name} "
        return all(
            tried(command)
            for command in (
                f"ip netns add {name}",
                f"ip link add {device} type veth peer name eth0 netns {name}",
                f"ip link set {device} master {BRIDGE} up",
                f"{inside}ip addr add {NET}.{i}/24 dev eth0",
                f"{inside}ip link set eth0 up",
                f"{inside}ip link set lo up",
            )
        )

    def join(self, i: int) -> None:
        self.start(["ip", "netns", "exec", f"{BRIDGE}n{i}"], i, f"--address={NET}.1:6399", "--num-cpus=2")

    def start(self, before: list[str], i: int, *arguments: str) -> None:
        program = [*before, sys.executable, "-m", "ray.scripts.scripts", "start", *arguments, f"--node-ip-address={NET}.{i}"]
        if i == 1:
            program.append(f"--temp-dir={self.temporary}")
        subprocess.run([*program, "--disable-usage-stats"], env=os.environ | self.environment, check=True, capture_output=True, timeout=100)

    def stop(self) -> None:
        for _ in range(3):
            for process in processes_of(self.temporary):
                try:
                    os.kill(process, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            time.sleep(0.1)
        for i in self.WORKERS:
            tried(f"ip netns del {BRIDGE}n{i}")
        tried(f"ip link del {BRIDGE}")
        shutil.rmtree(self.temporary, ignore_errors=True)


@pytest.fixture(scope="module")
def nodes():
    made = RayNodes(Path(f"/tmp/{BRIDGE}"))  # short: Ray puts sockets there
    before = dict(os.environ)
    try:
        if not made.usable:
            pytest.skip("no network namespaces can be made here (they need root)")
        os.environ.update(made.environment)
        ray.init(address=f"{NET}.1:6399", log_to_driver=False, configure_logging=False)
        yield made
        ray.shutdown()
    finally:
        os.environ.clear()
        os.environ.update(before)
        made.stop()


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


def cluster_of(count, **options):
    group = ps.Nodes(count, cpus=1)
    return ps.Cluster(f"ray://{NET}.1:6399", listen=f"tcp:{NET}.1:0", workers=group, targets=1, deaths_of_a_buffer=100, **options)


def test_a_graph_runs_over_nodes_that_ray_starts(nodes):
    graph, reader = described(200)
    with cluster_of(2) as cluster, graph.start(cluster) as run:
        assert [int(x[0]) for x in reader] == [2 * n for n in range(200)]
        run.finish()


def parent_of(process):
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def victim_of(cluster, what):
    """The agent of the only node, the worker of Ray that is its actor, or the raylet of that."""
    agent = cluster.agents()[0].process
    return {"agent": agent, "actor": parent_of(agent), "raylet": parent_of(parent_of(agent))}[what]


@pytest.fixture
def kill(nodes):
    """Kills, and has a node whose raylet that was join again afterwards."""
    killed = []

    def kill_one(process):
        command = Path(f"/proc/{process}/cmdline").read_text().split("\0")
        killed.extend(i for i in nodes.WORKERS if f"--node_ip_address={NET}.{i}" in command)
        os.kill(process, signal.SIGKILL)

    yield kill_one
    for i in killed:
        nodes.join(i)


# Seconds to the first buffer behind the loss. Measured: agent 0.7 to 1.2, actor 0.7 to 1.1, raylet 2.3 to 3.1 with the health checks above, a
# spare 0.1 to 0.6. What is asked for is far above, because other work may have the processors.
KILLS = [("agent", 0, 20), ("actor", 0, 30), ("raylet", 0, 90), ("agent", 1, 20)]


@pytest.mark.parametrize(("what", "spares", "longest"), KILLS)
def test_with_replay_nothing_is_lost_by_a_kill(nodes, kill, what, spares, longest):
    count = 20_000
    graph, reader = described(count, on_node_loss="replay")
    with cluster_of(1, log=lambda line: None, patience=5, spares=spares) as cluster, graph.start(cluster) as run:
        buffers = iter(reader)
        got = [int(next(buffers)[0]) for _ in range(10)]
        kill(victim_of(cluster, what))
        last = killed = time.monotonic()
        gap, until = 0.0, killed
        for x in buffers:
            got.append(int(x[0]))
            now = time.monotonic()
            if now - last > gap:
                gap, until = now - last, now
            last = now
        run.finish()
        assert cluster.replaced() >= 1
    assert got == [2 * n for n in range(count)]
    print(f"{what}, {spares} spares: {until - killed:.2f} s")
    assert until - killed < longest


@pytest.mark.parametrize("what", ["agent", "actor", "raylet"])
def test_without_replay_a_kill_is_the_typed_error(nodes, kill, what):
    graph, reader = described(10_000_000)
    with cluster_of(1, log=lambda line: None, patience=5) as cluster:
        run = graph.start(cluster)
        next(iter(reader))
        kill(victim_of(cluster, what))
        with pytest.raises(ps.NodeDied) as died:
            for _ in reader:
                pass
            run.finish()
        assert "workers.0" in str(died.value)


def test_ray_shows_agents_by_the_names_of_their_nodes(nodes):
    from ray.util import list_named_actors

    with cluster_of(2):
        names = [each["name"] if isinstance(each, dict) else each for each in list_named_actors(all_namespaces=True)]
        assert sorted(name.split()[:3] for name in names if name.startswith("penstock")) == [["penstock", f"workers.{i}", "1"] for i in (0, 1)]
