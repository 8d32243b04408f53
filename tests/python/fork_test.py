"""A child of fork has the memory of a machine and of its runs, and none of their threads: it is told so at once (contract 17)."""

import subprocess
import sys
import textwrap

SETUP = """
import os, signal, sys, time
import numpy as np
import penstock as ps

def limited(function, seconds=10):
    "The exit code of a child that calls the function: 0 where it returns True. Killed when it takes too long."
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(seconds + 2)
        code = 2
        try:
            code = 0 if function() is True else 1
        except BaseException as error:
            os.write(2, f"{type(error).__name__}: {error}\\n".encode())
        finally:
            os._exit(code)
    until = time.monotonic() + seconds
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done == pid:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > until:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return "hung"
        time.sleep(0.005)

def refused(use):
    def child():
        try:
            use()
        except ps.MachineGone:
            return True
        return False
    return limited(child)
"""


def result_of(code):
    """What a program of its own prints last: forks of pytest itself would copy whatever other tests have left."""
    text = SETUP + textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip().splitlines()[-1]


def test_every_use_of_a_run_in_a_child_is_refused():
    told = result_of("""
        graph = ps.Graph()
        writer, reader = graph.add_writer("writer", "int32"), graph.add_reader("reader", "int32")
        graph.connect(writer, reader, capacity=64)
        with ps.Machine(targets=1) as machine:
            run = graph.start(machine)
            for _ in range(20):
                writer.write(np.arange(10, dtype=np.int32))
            first = reader.read()
            uses = {
                "finish": run.finish, "stop": run.stop, "close": run.close, "statistics": run.statistics, "report": run.report,
                "edit": lambda: run.edit(lambda edit: None),
                "write": lambda: writer.write(np.arange(10, dtype=np.int32)), "make": lambda: writer.make(10), "end of writer": writer.close,
                "read": reader.read, "start": lambda: graph.start(machine),
            }
            wrong = {name: code for name, code in ((name, refused(use)) for name, use in uses.items()) if code != 0}
            def drop():
                global first, run
                del first, run
                return True
            dropped = limited(drop)
            assert reader.read()[0] == 0
            run.stop()
        print(wrong, dropped)
    """)
    assert told == "{} 0"


def test_every_use_of_a_machine_in_a_child_is_refused():
    told = result_of("""
        with ps.Machine(targets=1) as machine:
            uses = {
                "barrier": machine.barrier, "finish": machine.finish, "poll": machine.poll, "array": lambda: machine.array(10),
                "close": machine.close, "snapshot": machine.snapshot,
            }
            wrong = {name: code for name, code in ((name, refused(use)) for name, use in uses.items()) if code != 0}
        print(wrong)
    """)
    assert told == "{}"


def test_every_use_of_an_application_in_a_child_is_refused():
    told = result_of("""
        text = '''<application xmlns="urn:penstock:application:1" name="a"><component name="n" class="numbers"><set name="count" value="100000000"/></component>
        <component name="s" class="sum"/><component name="p" class="print"/><stream from="n.out" to="s.in"/><stream from="s.out" to="p.in"/></application>'''
        with ps.Machine(targets=1) as machine:
            run = ps.Application.parse(text).start(machine)
            uses = {"finish": run.finish, "settle": run.settle, "wait": lambda: run.wait(1)}
            wrong = {name: code for name, code in ((name, refused(use)) for name, use in uses.items()) if code != 0}
            def drop():
                global run
                del run
                return True
            dropped = limited(drop)
            run.run.stop()
        print(wrong, dropped)
    """)
    assert told == "{} 0"

