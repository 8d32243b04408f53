"""Teams of threads from Python: results, failures, what outlives its rank, Ctrl-C."""

import gc
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import penstock as ps


def test_each_rank_gets_its_number_and_the_arguments_and_results_come_back_in_order():
    def program(me, base, factor=2):
        assert me.substrate == "threads" and me.size == 4 and f"{me.index} of 4" in repr(me)
        return base + me.index * factor

    assert ps.spmd(4, program, 100) == [100, 102, 104, 106]


@pytest.mark.parametrize("size", [0, -1, 257])
def test_teams_of_impossible_sizes_are_refused(size):
    with pytest.raises(ps.UsageError):
        ps.spmd(size, lambda me: None)
    with pytest.raises(ps.UsageError):
        ps.spmd(1, lambda me: None, accept_within=-1)
    with pytest.raises(ps.UsageError):
        ps.spmd(1, lambda me: None, substrate="fibres")


def test_an_exception_in_a_rank_is_the_cause_of_what_spmd_raises():
    def program(me):
        if me.index == 1:
            raise KeyError("missing")
        ps.Barrier(me, "b").arrive_and_wait()

    with pytest.raises(ps.RankFailed, match="rank 1 failed: KeyError: 'missing'") as caught:
        ps.spmd(3, program)
    assert caught.value.rank == 1 and caught.value.others == 2
    cause = caught.value.__cause__
    assert isinstance(cause, KeyError) and cause.__traceback__.tb_frame.f_code is program.__code__


def test_the_failure_is_told_before_its_consequences():
    def program(me):
        flag = ps.Flag(me, "never")
        if me.index == 0:
            with pytest.raises(ps.RankLeft) as caught:
                flag.wait(awaited=1)
            assert caught.value.rank == 1 and caught.value.failed
            flag.wait(awaited=1)  # again, and not caught
        time.sleep(0.05)
        raise ZeroDivisionError

    with pytest.raises(ps.RankFailed) as caught:
        ps.spmd(2, program)
    assert caught.value.rank == 1 and isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_rank_that_ends_is_told_to_those_who_wait_for_it():
    def program(me):
        if me.index == 1:
            return
        with pytest.raises(ps.RankLeft) as caught:
            ps.Flag(me, "never").wait(awaited=1)
        assert caught.value.rank == 1 and not caught.value.failed and me.gone(1) and not me.failed(1) and not me.dead(1)

    ps.spmd(2, program)


def uses_of(me, region, remote, flag, counter, barrier, mutex, shared, condition, post, request):
    """One use of each kind of everything that a rank has made."""
    return [
        lambda: me.index,
        lambda: me.gone(0),
        lambda: ps.Region(me, "x", 1),
        lambda: ps.Messenger(me),
        lambda: region.grant(0),
        region.freeze,
        lambda: remote.__setitem__(0, 1),
        lambda: remote.fill(1),
        flag.is_set,
        flag.set,
        flag.wait,
        counter.load,
        lambda: counter.fetch_add(1),
        barrier.arrive_and_wait,
        mutex.lock,
        mutex.__enter__,
        shared.lock_shared,
        shared.shared().__enter__,
        condition.notify_all,
        lambda: post.send(0, np.zeros(1)),
        lambda: post.wait(request),
        post.wait_all,
    ]


def test_nothing_of_a_rank_works_when_its_function_has_ended():
    def program(me):
        post = ps.Messenger(me)
        made = {
            "me": me,
            "region": ps.Region(me, "r", 4),
            "flag": ps.Flag(me, "f"),
            "counter": ps.Counter(me, "c"),
            "barrier": ps.Barrier(me, "b"),
            "mutex": ps.Mutex(me, "m"),
            "shared": ps.SharedMutex(me, "s"),
            "condition": ps.Condition(me, "d"),
            "post": post,
            "request": post.irecv(1 - me.index, np.zeros(4)),
        }
        made["region"].grant(1 - me.index)
        made["remote"] = ps.Remote.accept(me, 1 - me.index, "r")
        return made

    for made in ps.spmd(2, program):
        for use in uses_of(**made):
            with pytest.raises(ps.RankEnded):
                use()
        made["post"].close()
        assert "ended" in repr(made["me"]) and made["region"].array.sum() == 0
        with pytest.raises(ps.RankFailed) as caught:
            ps.spmd(1, lambda me, outer=made["me"]: outer.index)
        assert isinstance(caught.value.__cause__, ps.RankEnded)


def test_a_rank_is_refused_in_another_thread():
    def program(me):
        flag, errors = ps.Flag(me, "f"), []

        def use():
            for action in (flag.set, flag.wait, lambda: me.index, lambda: ps.Region(me, "r", 1)):
                try:
                    action()
                except ps.UsageError as error:
                    errors.append(type(error))

        helper = threading.Thread(target=use)
        helper.start()
        helper.join()
        return errors

    assert ps.spmd(1, program) == [[ps.UsageError] * 4]


def test_other_threads_run_while_a_rank_waits():
    def program(me):
        flag = ps.Flag(me, "f")
        flag.grant(1 - me.index)
        other = ps.RemoteFlag.accept(me, 1 - me.index, "f")
        if me.index == 0:
            return flag.wait(timeout=30.0)
        total = sum(range(100_000))  # needs the interpreter's lock while rank 0 waits
        other.set()
        return total

    assert ps.spmd(2, program) == [True, sum(range(100_000))]


def test_a_messenger_that_is_collected_in_another_thread_is_closed_by_its_rank():
    def program(me):
        post = ps.Messenger(me)
        if me.index == 0:
            cycle = [post]
            cycle.append(cycle)
            cycle[0].isend(1, np.zeros(1_000_000))
            del post
            del cycle
            ps.Barrier(me, "dropped").arrive_and_wait()
            ps.Barrier(me, "collected").arrive_and_wait()
        else:
            ps.Barrier(me, "dropped").arrive_and_wait()
            gc.collect()
            ps.Barrier(me, "collected").arrive_and_wait()
        return True

    gc.disable()
    try:
        assert ps.spmd(2, program) == [True, True]
    finally:
        gc.enable()


def test_teams_can_be_nested():
    def program(me):
        return [me.index * 10 + inner for inner in ps.spmd(2, lambda rank: rank.index)] + [me.index]

    assert ps.spmd(2, program) == [[0, 1, 0], [10, 11, 1]]


WAITS = {
    "flag": "ps.Flag(me, 'f').wait(awaited=me.index)",
    "counter": "ps.Counter(me, 'c').wait_until(5, awaited=me.index)",
    "accept": "ps.Remote.accept(me, 1 - me.index, 'nothing', within=100)",
    "barrier": "b = ps.Barrier(me, 'b'); b.arrive_and_wait() if me.index else ps.Flag(me, 'f').wait(awaited=me.index)",
    "mutex": "m = ps.Mutex(me, 'm'); m.lock(); ps.Flag(me, 'f').wait(awaited=me.index)",
    "recv": "post = ps.Messenger(me); post.recv(0, np.zeros(5)) if me.index else never(me)",
    "probe": "post = ps.Messenger(me); post.probe(ps.any_source) if me.index else never(me)",
    "send": "post = ps.Messenger(me); post.send(0, np.zeros(1_000_000)) if me.index else never(me)",
    "wait_all": "post = ps.Messenger(me); (post.irecv(0, np.zeros(5)), post.wait_all()) if me.index else never(me)",
    "code": "\n        while True: sum(range(100))",
}


@pytest.mark.parametrize("wait", WAITS)
def test_ctrl_c_ends_a_team_of_threads(wait):
    program = f"""
import time, numpy as np, penstock as ps
def never(me):
    ps.Flag(me, "never").wait(awaited=me.index)
def program(me):
    try:
        print("ready\\n", end="", flush=True)
        {WAITS[wait]}
    except KeyboardInterrupt:
        print("interrupted\\n", end="", flush=True)
        raise
try:
    ps.spmd(2, program)
except KeyboardInterrupt:
    print("ended", flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout.readline() == "ready\n" and child.stdout.readline() == "ready\n"
            time.sleep(0.1)
            child.send_signal(signal.SIGINT)
            output, errors = child.communicate(timeout=30)
        finally:
            child.kill()
    assert output.splitlines() == ["interrupted", "interrupted", "ended"], errors
    assert child.returncode == 0, errors


def test_an_interrupted_team_waits_no_more_and_python_goes_on():
    program = """
import numpy as np, penstock as ps, signal, threading, time
def program(me):
    barrier, flag = ps.Barrier(me, "b"), ps.Flag(me, "f")
    try:
        barrier.arrive_and_wait() if me.index == 0 else flag.wait(awaited=1)
    except KeyboardInterrupt:
        try:
            flag.wait(awaited=me.index)
        except KeyboardInterrupt:
            print("again\\n", end="", flush=True)
        try:
            barrier.arrive_and_wait()
        except ps.UsageError as error:
            print("spoilt\\n", end="", flush=True)
threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT)).start()
try:
    ps.spmd(2, program)
except KeyboardInterrupt:
    print(ps.spmd(2, lambda me: me.index), flush=True)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert sorted(done.stdout.splitlines()) == ["[0, 1]", "again", "again", "spoilt"], done.stderr


def test_an_exception_whose_text_has_no_encoding_comes_back_and_its_rank_ends():
    kept = []

    def program(me):
        kept.append(ps.Messenger(me))
        raise ValueError("caf\udce9")

    with pytest.raises(ps.RankFailed, match=r"rank 0 failed: ValueError: caf\\udce9") as caught:
        ps.spmd(1, program)
    assert caught.value.__cause__.args == ("caf\udce9",)
    with pytest.raises(ps.RankEnded):
        kept[0].wait_all()


def test_the_main_thread_of_python_stays_what_it_was():
    program = """
import penstock as ps
ps.spmd(1, lambda me: ps.Flag(me, "f").wait(0.01, awaited=0))
import threading
print(threading.current_thread() is threading.main_thread())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "True\n" and done.stderr == "", done.stderr


def test_a_rank_with_a_team_of_its_own_is_interrupted_once():
    program = """
import signal, threading, time, penstock as ps
def inner(me):
    try:
        ps.Flag(me, "never").wait(awaited=me.index)
    except KeyboardInterrupt:
        time.sleep(0.3)  # longer than a rank that does not wait is given
        raise
def outer(me):
    try:
        ps.spmd(2, inner)
    except KeyboardInterrupt:
        try:
            for _ in range(100_000):
                pass
            print("cleaned up", flush=True)
        except KeyboardInterrupt:
            print("interrupted again", flush=True)
threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT)).start()
try:
    ps.spmd(1, outer)
except KeyboardInterrupt:
    print("ended", flush=True)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.splitlines() == ["cleaned up", "ended"], done.stdout + done.stderr


@pytest.mark.parametrize("awaited", [2**40, -(2**40), -1, "\udce9"])
def test_ranks_that_cannot_be_awaited_are_refused(awaited):
    def program(me):
        with pytest.raises(ps.UsageError, match="awaited"):
            ps.Flag(me, "f").wait(0.01, awaited=awaited)

    ps.spmd(1, program)
