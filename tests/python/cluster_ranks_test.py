"""spmd over the nodes of a cluster, from Python: agents are processes of this machine."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import penstock as ps
import pytest


@pytest.fixture(scope="module")
def cluster():
    with ps.Cluster("local", workers=ps.Nodes(2), other=1, targets=1, log=lambda line: None) as made:
        yield made


def test_results_come_back_in_order_from_blocks_of_ranks(cluster):
    def program(me, base, factor):
        assert me.substrate == "nodes" and me.size == 5 and "nodes" in repr(me)
        assert [me.elsewhere(rank) for rank in range(5)] == [(rank < 2) != (me.index < 2) for rank in range(5)]
        ps.Barrier(me, "all").arrive_and_wait()
        return base + factor * me.index, os.getpid()

    results = ps.spmd(5, program, 100, 2, cluster=cluster, nodes="workers")
    assert [result for result, _ in results] == [100, 102, 104, 106, 108]
    processes = {agent.node: agent.process for agent in cluster.agents()}
    assert [process for _, process in results] == 2 * [processes["workers.0"]] + 3 * [processes["workers.1"]]


def test_arrays_are_stored_and_published_over_nodes(cluster):
    def program(me):
        right, left = (me.index + 1) % me.size, (me.index - 1) % me.size
        inbox = ps.Region(me, "inbox", (4, 6), "int32")
        ready = ps.Flag(me, "ready")
        inbox.grant(left)
        ready.grant(left)
        to = ps.Remote.accept(me, right, "inbox")
        told = ps.RemoteFlag.accept(me, right, "ready")
        to[0] = me.index
        to[1, ::2] = [1, 2, 3]
        to[2:, 1:3] = np.full((2, 2), 7)
        to[3, 5] = -1
        to.publish(told)
        ready.wait()
        with pytest.raises(ps.OutOfBounds):
            to[4] = 1
        return inbox.array.tolist()

    for rank, got in enumerate(ps.spmd(3, program, cluster=cluster)):
        right = np.zeros((4, 6), "int32")
        right[0] = (rank - 1) % 3
        right[1, ::2] = [1, 2, 3]
        right[2:, 1:3] = 7
        right[3, 5] = -1
        assert got == right.tolist()


def test_large_blocks_are_stored_over_nodes(cluster):
    def program(me):
        region = ps.Region(me, "block", (500, 300))
        region.grant(1 - me.index)
        remote = ps.Remote.accept(me, 1 - me.index, "block")
        barrier = ps.Barrier(me, "all")
        remote.fill(2.5)
        remote[100:200] = np.arange(30_000.0).reshape(100, 300)
        barrier.arrive_and_wait()
        right = np.full((500, 300), 2.5)
        right[100:200] = np.arange(30_000.0).reshape(100, 300)
        assert np.array_equal(region.array, right)

    ps.spmd(2, program, cluster=cluster)


def test_counters_are_changed_over_nodes(cluster):
    def program(me):
        if me.index == 0:
            counter = ps.Counter(me, "counter")
            for rank in range(1, me.size):
                counter.grant(rank)
            counter.wait_until(30)
            return counter.load()
        counter = ps.RemoteCounter.accept(me, 0, "counter")
        return [counter.fetch_add(1) for _ in range(10)]

    first, *others = ps.spmd(4, program, cluster=cluster)
    assert first == 30
    assert sorted(sum(others, [])) == list(range(30))


def test_messages_go_over_nodes(cluster):
    def program(me):
        with ps.Messenger(me) as post:
            right = (me.index + 1) % me.size
            for size in (1, 100, 200_000):
                request = post.isend(right, np.full(size, me.index, "float32"))
                got, _ = post.recv_array((me.index - 1) % me.size, "float32")
                assert np.array_equal(got, np.full(size, (me.index - 1) % me.size, "float32"))
                post.wait(request)
            ps.Barrier(me, "end").arrive_and_wait()

    ps.spmd(4, program, cluster=cluster)


def test_an_exception_is_the_cause_with_its_traceback(cluster):
    def program(me):
        if me.index == 2:
            raise KeyError("missing")
        ps.Barrier(me, "b").arrive_and_wait()

    with pytest.raises(ps.RankFailed, match="rank 2 failed: KeyError: 'missing'") as caught:
        ps.spmd(3, program, cluster=cluster)
    assert caught.value.rank == 2 and caught.value.others == 2
    assert isinstance(caught.value.__cause__, KeyError)
    assert "in program" in "".join(caught.value.__cause__.__notes__)


def test_a_death_is_told_to_the_others_and_to_the_program():
    def program(me):
        ps.Barrier(me, "all").arrive_and_wait()
        if me.index == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            ps.Flag(me, "never").wait()
        except ps.RankDied as died:
            print(f"told of {died.rank} on {died.node}", flush=True)

    lines = []
    with ps.Cluster("local", workers=2, targets=1, log=lines.append) as cluster:
        with pytest.raises(ps.RankDied, match="signal 9") as caught:
            ps.spmd(2, program, cluster=cluster)
        assert caught.value.rank == 1 and caught.value.node == "workers.1"
        assert "[workers.0] told of 1 on workers.1" in lines
        assert ps.spmd(2, lambda me: me.index, cluster=cluster) == [0, 1]


def test_what_cannot_be_is_refused_by_name(cluster):
    with pytest.raises(ps.UsageError, match="'nobody'"):
        ps.spmd(2, lambda me: None, cluster=cluster, nodes="nobody")
    with pytest.raises(ps.UsageError, match="no cluster"):
        ps.spmd(2, lambda me: None, nodes="workers")
    with pytest.raises(ps.UsageError, match="both"):
        ps.spmd(2, lambda me: None, cluster=cluster, substrate="processes")
    with pytest.raises(ps.UsageError, match="1 to 256"):
        ps.spmd(0, lambda me: None, cluster=cluster)
    with pytest.raises(ps.UsageError, match="cannot be sent to the nodes"):
        ps.spmd(2, lambda me, lock: None, threading.Lock(), cluster=cluster)

    def locks(me):
        with pytest.raises(ps.NotOverNodes, match="a Mutex"):
            ps.Mutex(me, "m")

    ps.spmd(2, locks, cluster=cluster)


def test_interpreters_of_another_version_are_refused():
    from penstock.node_ranks import _program_from

    with pytest.raises(ps.UsageError, match="comes from jython 2.7"):
        _program_from("jython 2.7", b"")


INTERRUPTED = """
import sys, threading, time
import penstock as ps

def program(me):
    print("waits", flush=True)
    if me.index == 0:
        while True:
            time.sleep(0.01)
    ps.Flag(me, "never").wait()

if __name__ == "__main__":
    with ps.Cluster("local", workers=2, targets=1, log=lambda line: print(line, flush=True)) as cluster:
        try:
            ps.spmd(2, program, cluster=cluster)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        print(ps.spmd(2, lambda me: me.index, cluster=cluster), flush=True)
"""


def test_an_interruption_ends_the_waits_of_all_ranks(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(INTERRUPTED)
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True, process_group=0) as process:
        waiting = 0
        while waiting < 2:
            line = process.stdout.readline()
            assert line, "it ended"
            waiting += "waits" in line
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    assert "interrupted" in output and "[0, 1]" in output
    assert process.returncode == 0
