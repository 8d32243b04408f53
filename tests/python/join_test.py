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

    helper = threading.Thread(target=come)
    helper.start()  # first, so that it comes as soon as there is a host
    with ps.TeamHost(name, 3, within=2.0) as host:
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


def test_a_signal_handler_cannot_use_the_messages_of_a_rank_that_waits(name):
    program = f"""
import gc, signal, weakref, numpy as np, penstock as ps
class Watched(np.ndarray):
    pass
with ps.TeamHost({name!r}, 1), ps.join({name!r}) as me:
    post = ps.Messenger(me)
    into = np.zeros(100_000).view(Watched)
    alive = weakref.ref(into)
    request = post.irecv(0, into)
    del into
    def handle(*_):
        for use in (lambda: post.wait_for(request, 0.1), lambda: post.test(request), lambda: post.iprobe(0),
                    lambda: post.isend(0, b"x"), lambda: post.under_way):
            try:
                use()
            except ps.UsageError as error:
                gc.collect()
                print("waits already" in str(error), alive() is not None, flush=True)
    signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    ps.Flag(me, "never").wait(0.5, awaited=0)
    post.wait(post.isend(0, np.ones(100_000)))
    print(post.wait(request).bytes)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.splitlines() == ["True True"] * 5 + ["800000"], done.stdout + done.stderr


def test_a_team_is_left_by_its_own_thread_only(name):
    program = f"""
import signal, threading, numpy as np, penstock as ps
def refused(use):
    try:
        use()
    except ps.UsageError as error:
        print("left by the thread" in str(error), flush=True)
def leave():
    refused(here.leave)
    refused(lambda: here.fail("never"))
    refused(lambda: here.__exit__(None, None, None))
def handle(*_):
    refused(here.leave)
with ps.TeamHost({name!r}, 1) as host:
    here = ps.join({name!r})
    me = here.rank
    post = ps.Messenger(me)
    flag = ps.Flag(me, "never")
    signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    helper = threading.Thread(target=leave)
    helper.start()
    print(flag.wait(0.4, awaited=0), flush=True)
    helper.join()
    box = [here]
    del here  # the last name of the membership goes in another thread
    def drop():
        del box[:]
    helper = threading.Thread(target=drop)
    helper.start()
    print(flag.wait(0.2, awaited=0), me.index, flush=True)
    helper.join()
    post.send(0, b"self")
    print(post.recv(0, np.zeros(4, "u1")).bytes, host.wait(0.1), flush=True)
    del post, flag, me
    print(host.wait(10.0))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.split() == ["True"] * 4 + ["False", "False", "0", "4", "False", "True"], done.stdout + done.stderr


def test_a_host_that_is_closed_while_another_thread_waits_tells_it(name):
    program = f"""
import threading, time, penstock as ps
for index in range(20):
    host = ps.TeamHost({name!r} + str(index), 2)
    told = []
    def wait():
        try:
            told.append(host.wait())
        except ps.UsageError as error:
            told.append("closed" in str(error))
    helper = threading.Thread(target=wait)
    helper.start()
    time.sleep(index * 0.005)
    host.close()
    helper.join(30)
    print(told)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.splitlines() == ["[True]"] * 20, done.stdout + done.stderr


def test_a_failure_whose_text_has_no_encoding_is_told(name):
    with ps.TeamHost(name, 1) as host:
        with pytest.raises(ValueError, match="caf") as caught, ps.join(name) as me:
            raise ValueError("caf\udce9")
        with pytest.raises(ps.RankFailed, match=r"ValueError: caf\\udce9"):
            host.wait(10.0)
        assert caught.value.args == ("caf\udce9",)
        with pytest.raises(ps.RankEnded):
            me.index  # noqa: B018 - reading it raises
