"""Ctrl-C and the end of the interpreter while graphs run."""

import subprocess
import sys

import pytest

PARTS = """
import signal, threading, time
import numpy as np, penstock as ps

def interrupt_soon():
    threading.Timer(0.2, lambda: signal.raise_signal(signal.SIGINT)).start()

@ps.filter(outputs="int64")
def forever():
    while True:
        yield [1]

@ps.filter(inputs="int64")
def slow(x):
    time.sleep(0.01)

@ps.filter(inputs="int64", outputs="int64", may_be_copied=True)
def pass_on(x):
    return x

graph = ps.Graph()
"""

WAITS = {
    "read": """
writer, reader = graph.add_writer("writer", "int64"), graph.add_reader("reader", "int64")
graph.connect(writer, reader)
machine = ps.Machine(targets=1)
run = graph.start(machine)
wait = reader.read
""",
    "write": """
writer, reader = graph.add_writer("writer", "int64"), graph.add_reader("reader", "int64")
graph.connect(writer, reader, capacity=1)
machine = ps.Machine(targets=1)
run = graph.start(machine)
wait = lambda: [writer.write([n]) for n in range(5)]
""",
    "finish that runs filters": """
graph.add("forever", forever)
graph.add("slow", slow)
graph.connect("forever.out", "slow.in")
machine = ps.Machine(targets=1)
run = graph.start(machine)
wait = run.finish
""",
    "finish with failures that are let go": """
graph.add("forever", forever, on_failure="go_on")
graph.add("slow", slow, on_failure="go_on")
graph.connect("forever.out", "slow.in")
machine = ps.Machine(targets=0)
run = graph.start(machine)
wait = run.finish
""",
    "finish of filters in processes": """
graph.add("forever", forever)
graph.add("there", pass_on, copies=2, isolation="process")
graph.add("slow", slow)
graph.connect("forever.out", "there.in")
graph.connect("there.out", "slow.in")
machine = ps.Machine(targets=1)
run = graph.start(machine)
wait = run.finish
""",
}


def run(program):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("waits", WAITS)
def test_ctrl_c_ends_the_wait_and_the_program_goes_on(waits):
    done = run(PARTS + WAITS[waits] + """
interrupt_soon()
begin = time.monotonic()
try:
    wait()
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - begin < 20)
run.stop()
print(run.ended)
machine.close()
""")
    assert done.stdout.splitlines() == ["interrupted True", "True"] and done.returncode == 0, done.stderr


def test_ctrl_c_in_a_block_stops_the_run():
    done = run(PARTS + """
graph.add("forever", forever)
graph.add("slow", slow)
graph.connect("forever.out", "slow.in")
interrupt_soon()
try:
    with ps.Machine(targets=1) as machine, graph.start(machine) as run:
        run.finish()
except KeyboardInterrupt:
    print("interrupted", run.ended)
""")
    assert done.stdout.splitlines() == ["interrupted True"] and done.returncode == 0, done.stderr


def test_a_program_may_end_while_its_graphs_run():
    done = run(PARTS + """
graph.add("forever", forever)
graph.add("there", pass_on, copies=2, isolation="process")
graph.add("slow", slow)
graph.connect("forever.out", "there.in")
graph.connect("there.out", "slow.in")
machine = ps.Machine(targets=2)
run = graph.start(machine)
time.sleep(0.3)
print("end")
""")
    assert done.stdout.splitlines() == ["end"] and done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
