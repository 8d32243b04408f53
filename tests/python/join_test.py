"""Teams of programs that were started apart and come together by name."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import penstock as ps

MEMBER = """
import sys, numpy as np, penstock as ps
{before}
with ps.join({name!r}, rank={rank}, within=20) as me:
    {body}
"""


@pytest.fixture
def name(request):
    return f"test-{os.getpid()}-{time.monotonic_ns()}"


def member(name, body, rank=None, before=""):
    """A member in a program of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", MEMBER.format(name=name, rank=rank, body=body, before=before)], stderr=subprocess.PIPE, text=True
    )


def test_programs_that_were_started_apart_work_together(name):
    with ps.TeamHost(name, 2) as host:
        assert (host.name, host.size, host.present, host.complete) == (name, 2, 0, False) and not host.wait(timeout=0.01)
        other = member(
            name,
            "post = ps.Messenger(me); post.send(0, post.recv_array(0, 'f8')[0] * 2); ps.Barrier(me, 'end').arrive_and_wait()",
            rank=1,
        )
        with ps.join(name, rank=0, size=2) as me:
            assert (me.index, me.size, me.substrate) == (0, 2, "processes") and host.complete
            region = ps.Region(me, "r", 4)
            post = ps.Messenger(me)
            post.send(1, np.arange(4.0))
            post.recv(1, region.array)
            ps.Barrier(me, "end").arrive_and_wait()
        assert host.wait(timeout=20)
        _, errors = other.communicate(timeout=20)
    assert region.array.tolist() == [0, 2, 4, 6] and other.returncode == 0, errors
    with pytest.raises(ps.RankEnded):
        me.index  # noqa: B018 - reading it raises
    for use in (host.wait, lambda: host.size):
        with pytest.raises(ps.UsageError, match="closed"):
            use()


def test_a_member_that_fails_is_told_to_the_others_and_the_host(name):
    with ps.TeamHost(name, 2) as host:
        other = member(name, "raise KeyError('missing')", rank=1)
        with pytest.raises(ps.RankLeft) as told, ps.join(name) as me:
            assert me.index == 0
            ps.Flag(me, "never").wait(awaited=1)
        assert told.value.rank == 1 and told.value.failed
        with pytest.raises(ps.RankFailed, match="KeyError") as caught:
            host.wait()
        assert caught.value.rank == 1 and caught.value.others == 1 and "KeyError" in str(caught.value.__cause__)
        assert "KeyError: 'missing'" in other.communicate(timeout=20)[1]


def test_a_member_that_is_killed_is_told_to_the_others_and_the_host(name):
    with ps.TeamHost(name, 2) as host:
        other = member(name, "os.kill(os.getpid(), 9)", rank=1, before="import os")
        with pytest.raises(ps.RankDied) as told, ps.join(name, rank=0) as me:
            ps.Flag(me, "never").wait(awaited=1)
        assert told.value.rank == 1 and told.value.pid == other.pid
        with pytest.raises(ps.RankDied) as caught:
            host.wait()
        assert caught.value.rank == 1 and caught.value.pid == other.pid
        other.communicate(timeout=20)


def test_members_that_never_come_are_named(name):
    errors = []

    def come():
        try:
            ps.join(name, rank=1)
        except ps.MembersMissing as error:
            errors.append(error)

    with ps.TeamHost(name, 3, within=0.3) as host:
        helper = threading.Thread(target=come)
        helper.start()
        with pytest.raises(ps.MembersMissing) as caught:
            host.wait()
        helper.join()
    for error in (caught.value, *errors):
        assert error.missing == [0, 2] and error.size == 3 and error.team == name
    assert len(errors) == 1


def test_wrong_names_sizes_and_ranks_are_refused(name):
    for wrong in (("", 2), ("two words", 2), ("x" * 64, 2), (name, 0), (name, 257)):
        with pytest.raises(ps.UsageError):
            ps.TeamHost(*wrong)
    with pytest.raises(ps.HostMissing) as missing:
        ps.join(name, within=0.05)
    assert missing.value.team == name
    with ps.TeamHost(name, 2):
        with pytest.raises(ps.TeamNameTaken) as taken:
            ps.TeamHost(name, 2)
        assert taken.value.team == name
        with pytest.raises(ps.JoinRefused) as refused:
            ps.join(name, size=3)
        assert refused.value.reason == "size" and refused.value.team == name
        with pytest.raises(ps.JoinRefused) as refused:
            ps.join(name, rank=2)
        assert refused.value.reason == "no_such_rank"
        with pytest.raises(ps.UsageError):
            ps.join(name, rank=-1)
        with pytest.raises(ps.HostMissing):  # another user's team of this name is another team
            ps.join(name, owner=os.geteuid() + 1, within=0.05)


def test_ctrl_c_ends_joining_hosting_and_waiting(name):
    program = f"""
import signal, threading, penstock as ps
def interrupted(action):
    timer = threading.Timer(0.2, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    try:
        action()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    timer.join()
with ps.TeamHost({name!r}, 2, within=100) as host:
    interrupted(host.wait)
    interrupted(lambda: ps.join({name!r}, within=100))
interrupted(lambda: ps.join("nobody-" + {name!r}, within=100))
with ps.TeamHost({name!r}, 1) as host, ps.join({name!r}) as me:
    interrupted(lambda: ps.Flag(me, "never").wait(awaited=0))
    interrupted(lambda: ps.Remote.accept(me, 0, "nothing", within=100))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.split() == ["interrupted"] * 5, done.stderr
