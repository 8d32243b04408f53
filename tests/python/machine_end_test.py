"""Machines that a program leaves by Ctrl-C, or does not close."""

import signal
import subprocess
import sys

import pytest

PARTS = """
import itertools, os, signal, sys, time
import penstock as ps

def endless(pid):
    os.kill(pid, signal.SIGINT)
    for _ in itertools.count():
        pass

def work():
    time.sleep(0.2)
    print("worked", flush=True)

def bad():
    raise ValueError("the text of it")

"""


def run(program):
    return subprocess.run([sys.executable, "-c", PARTS + program], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("wait", ["machine.barrier()", "pass"])
def test_ctrl_c_out_of_a_block_ends_the_bodies_that_run(wait):
    done = run(f"""
try:
    with ps.Machine(targets=1) as machine:
        running, waiting = machine.call(endless, os.getpid()), machine.call(work)
        {wait}
except KeyboardInterrupt:
    print(machine.closed, running.done(), waiting.done())
""")
    assert done.stdout.splitlines() == ["True True True"] and done.returncode == 0, (done.stdout, done.stderr)


def test_a_machine_that_is_open_at_the_end_finishes_its_tasks_and_tells_their_failures():
    done = run("""
machine = ps.Machine(targets=1)
machine.call(work)
machine.call(bad)
""")
    assert done.stdout.splitlines() == ["worked"] and done.returncode == 0, done.stderr
    assert "task bad failed on target 0: ValueError: the text of it" in done.stderr


def test_a_program_that_ctrl_c_ends_waits_for_nothing():
    done = run("""
machine = ps.Machine(targets=1)
machine.call(endless, os.getpid())
machine.barrier()
""")
    assert done.returncode == -signal.SIGINT and done.stdout == "" and "KeyboardInterrupt" in done.stderr, done.stderr
