"""Teams of worker processes from Python: what comes back, what fails, who dies."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import rank_programs as programs

import penstock as ps
from penstock import workers


def spmd(size, function, *arguments, **options):
    return ps.spmd(size, function, *arguments, substrate="processes", **options)


def children():
    """Processes that this one has started and that are there still."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                if int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == os.getpid():
                    found.append(int(entry.name))
    return found


@pytest.fixture(autouse=True)
def _nothing_stays_behind():
    before, descriptors = set(children()), len(os.listdir("/proc/self/fd"))
    yield
    assert set(children()) <= before
    assert len(os.listdir("/proc/self/fd")) <= descriptors


def test_each_rank_is_a_process_of_its_own_and_gets_the_arguments():
    results = spmd(3, programs.describe, 5, {"key": np.arange(3)})
    assert [result[:3] for result in results] == [(rank, 3, "processes") for rank in range(3)]
    assert len({os.getpid(), *(result[3] for result in results)}) == 4
    assert all(result[4][0] == 5 and result[4][1]["key"].tolist() == [0, 1, 2] for result in results)


def test_long_arguments_and_results_pass():
    big = np.random.default_rng(3).random(1_000_000)
    results = spmd(2, programs.describe, big)
    assert all(np.array_equal(result[4][0], big) for result in results)


@pytest.mark.parametrize(("shape", "dtype"), [((2, 5), "float32"), ((300, 70), "complex128")])
def test_what_is_stored_in_one_process_arrives_in_the_other(shape, dtype):
    expected = np.arange(np.prod(shape), dtype=dtype).reshape(shape)
    expected[0, 3], expected[1:, ::2] = 100, 7
    assert np.array_equal(spmd(2, programs.store, shape, dtype)[0], expected)


def test_an_exception_comes_back_as_it_was_with_its_traceback():
    with pytest.raises(ps.RankFailed, match="rank 1 failed: Odd: odd: 42") as caught:
        spmd(3, programs.fail, "exception")
    assert caught.value.rank == 1 and caught.value.others == 2
    assert isinstance(caught.value.__cause__, programs.Odd) and caught.value.__cause__.fact == 42
    assert "raise Odd(42)" in caught.value.__cause__.__notes__[0]


def test_an_exception_that_cannot_be_sent_comes_back_as_text():
    with pytest.raises(ps.RankFailed, match="Unpicklable: secret") as caught:
        spmd(2, programs.fail, "unpicklable")
    assert type(caught.value.__cause__) is ps.Error


def test_leaving_python_in_a_rank_is_a_failure():
    with pytest.raises(ps.RankFailed) as caught:
        spmd(2, programs.fail, "sys.exit")
    assert isinstance(caught.value.__cause__, SystemExit)


@pytest.mark.parametrize(("kind", "sent", "code"), [("kill", signal.SIGKILL, None), ("exit", None, 7)])
def test_the_death_of_a_process_is_told_with_its_signal_or_exit_code(kind, sent, code):
    with pytest.raises(ps.RankDied) as caught:
        spmd(2, programs.fail, kind)
    assert caught.value.rank == 1 and caught.value.signal == sent and caught.value.exit_code == code and caught.value.pid > 0


def test_a_worker_that_is_killed_is_told_to_who_waits_for_it(tmp_path):
    ready = tmp_path / "ready"

    def kill():
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and not (ready.exists() and ready.read_text()):
            time.sleep(0.01)
        time.sleep(0.05)
        os.kill(int(ready.read_text()), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(ps.RankDied) as caught:
        spmd(2, programs.see_death, str(ready))
    killer.join()
    assert caught.value.rank == 1 and caught.value.pid == int(ready.read_text()) and caught.value.signal == signal.SIGKILL


def test_results_that_cannot_be_sent_are_a_failure_of_their_rank():
    with pytest.raises(ps.RankFailed, match="rank 1"):
        spmd(2, programs.end_unpicklable)


def test_functions_that_cannot_be_sent_are_refused_before_anything_starts():
    lock = threading.Lock()
    with pytest.raises(ps.UsageError, match="cannot be sent to worker processes: .*lock"):
        spmd(2, lambda me: lock)


def test_functions_of_no_module_are_sent_and_so_are_their_results():
    assert [result(3) for result in spmd(2, lambda me: (lambda x, index=me.index: x + index))] == [3, 4]


@pytest.mark.parametrize("size", [0, 257])
def test_teams_of_impossible_sizes_are_refused(size):
    with pytest.raises(ps.UsageError):
        spmd(size, programs.describe)
    with pytest.raises(ps.UsageError):
        spmd(1, programs.describe, accept_within=0)


SCRIPT = """
import os, sys
import numpy as np, penstock as ps

def program(me, x):
    return me.index + x

def outer(me):
    return ps.spmd(2, program, me.index * 10, substrate="processes")

if {guard}:
    try:
        print(ps.spmd(2, {function}, *{arguments}, substrate="processes"))
    except ps.Error as error:
        print(type(error).__name__, error)
"""


@pytest.mark.parametrize(
    ("guard", "function", "arguments", "expected"),
    [
        ('__name__ == "__main__"', "program", (7,), "[7, 8]"),
        ('__name__ == "__main__"', "outer", (), "[[0, 1], [10, 11]]"),
        ("True", "program", (7,), "RankFailed"),
    ],
)
def test_functions_of_a_script_work_as_with_multiprocessing(guard, function, arguments, expected, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(guard=guard, function=function, arguments=arguments))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=100, check=False, cwd=tmp_path)
    if expected == "RankFailed":
        assert done.stdout.startswith(expected) and "if __name__ == '__main__'" in done.stdout, done.stdout + done.stderr
    else:
        assert done.stdout == expected + "\n", done.stdout + done.stderr


@pytest.mark.parametrize("kind", ["flag", "recv", "code"])
def test_ctrl_c_ends_a_team_of_processes(kind, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(f"""
import sys
sys.path.append({str(Path(programs.__file__).parent)!r})
import penstock as ps, rank_programs
if __name__ == "__main__":
    try:
        ps.spmd(2, rank_programs.wait_for_ever, {kind!r}, substrate="processes")
    except KeyboardInterrupt:
        print("ended", flush=True)
""")
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout.readline() == "ready\n" and child.stdout.readline() == "ready\n"
            time.sleep(0.1)
            child.send_signal(signal.SIGINT)
            output, errors = child.communicate(timeout=30)
        finally:
            child.kill()
    assert sorted(output.splitlines()) == ["ended", "interrupted", "interrupted"], errors
    assert output.splitlines()[-1] == "ended" and child.returncode == 0


def test_workers_end_with_the_process_that_started_them(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(f"""
import sys
sys.path.append({str(Path(programs.__file__).parent)!r})
import penstock as ps, rank_programs
if __name__ == "__main__":
    ps.spmd(2, rank_programs.wait_for_ever, "flag", substrate="processes")
""")
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "ready\n" and child.stdout.readline() == "ready\n"
        child.kill()
        assert child.communicate(timeout=30) == ("", None)  # returns when the last one that could write is gone


def test_an_exception_whose_text_has_no_encoding_comes_back():
    with pytest.raises(ps.RankFailed, match=r"rank 0 failed: ValueError: caf\\udce9") as caught:
        spmd(1, programs.fail_with_odd_text)
    assert caught.value.__cause__.args == ("caf\udce9",)


def test_an_exception_without_a_text_comes_back():
    with pytest.raises(ps.RankFailed, match="rank 0 failed: Speechless") as caught:
        spmd(1, programs.fail_without_text)
    assert isinstance(caught.value.__cause__, programs.Speechless)


def test_a_worker_that_dies_while_it_tells_its_result_is_told(monkeypatch):
    take = workers.Worker.take

    def kill_and_take(worker, order):
        time.sleep(0.3)  # it fills the connection meanwhile
        worker.process.kill()
        worker.process.wait()
        take(worker, order)

    monkeypatch.setattr(workers.Worker, "take", kill_and_take)
    with pytest.raises(ps.RankDied) as caught:
        spmd(1, programs.end_with_a_long_result)
    assert caught.value.rank == 0 and caught.value.signal == signal.SIGKILL


def test_a_worker_that_dies_before_the_others_read_a_long_job_is_told(monkeypatch):
    make = workers.Worker.__init__

    def make_and_kill(worker, rank):
        make(worker, rank)
        if rank == 1:
            worker.process.kill()

    monkeypatch.setattr(workers.Worker, "__init__", make_and_kill)
    monkeypatch.setattr(workers, "START_WITHIN", 45.0)
    begin = time.monotonic()
    with pytest.raises(ps.RankDied) as caught:
        spmd(2, programs.describe, np.zeros(1_000_000))
    assert caught.value.rank == 1 and caught.value.signal == signal.SIGKILL
    assert time.monotonic() - begin < 40  # and not when the others have given up
