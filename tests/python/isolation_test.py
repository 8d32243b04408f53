"""Compiled bodies in worker processes: a crash fails its own task."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import penstock as ps

BEGINNING = """
import penstock as ps
ps.launch()
import ctypes, sys
import numpy as np
library = ctypes.CDLL(sys.argv[1])

def body(name, signature):
    return ps.compiled(ctypes.cast(getattr(library, name), ctypes.c_void_p).value, signature, name)

go = body("go", "void (int32_t how, int64_t *out, intptr_t n)")
scale = body("scale", "void (const float *x, intptr_t n, float *y, intptr_t, float a)")
add_one = body("add_one", "void (double *x, intptr_t rows, intptr_t columns, intptr_t pitch)")
fail = body("fail", "void (int32_t code)")
"""


def run(native, program, timeout=60):
    """What a program prints that has worker processes."""
    source = BEGINNING + textwrap.dedent(program)
    ended = subprocess.run(
        [sys.executable, "-c", source, str(native.path)], capture_output=True, text=True, timeout=timeout, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.split("\n")[:-1]


def test_arrays_are_used_in_place_in_the_heap_and_copied_elsewhere(native):
    assert run(native, """
        with ps.Machine(targets=1, isolation="process") as machine:
            x, y = machine.array(1000, np.float32), machine.array(1000, np.float32)
            x[:] = np.arange(1000)
            machine.call(scale, ps.In(x), ps.Out(y), 2.0).wait()
            print(np.array_equal(y, 2 * x))
            far = np.zeros(1000, np.float32)
            machine.call(scale, ps.In(np.arange(1000, dtype=np.float32)), ps.Out(far), 3.0)
            machine.barrier()
            print(np.array_equal(far, 3 * x))
            grid = np.zeros((6, 8))
            machine.call(add_one, ps.InOut(grid[1:5, 2:4])).wait()
            machine.call(add_one, ps.InOut(grid[::-2]))
            machine.barrier()
            expected = np.zeros((6, 8))
            expected[1:5, 2:4] += 1
            expected[::-2] += 1
            print(np.array_equal(grid, expected))
            far_library = ctypes.CDLL(sys.argv[1]).count
            far_library.restype, far_library.argtypes = None, [ctypes.POINTER(ctypes.c_int64), ctypes.c_ssize_t]
            n = np.zeros(5, np.int64)
            for _ in range(1000):
                machine.call(far_library, ps.InOut(n)).wait()
            print(n.tolist())
    """) == ["True", "True", "True", "[1000, 1000, 1000, 1000, 1000]"]  # fmt: skip


def test_a_crash_an_exit_an_exception_and_a_long_task_fail_themselves_alone(native):
    assert run(native, """
        with ps.Machine(targets=1, isolation="process", time_limit=20) as machine:
            out = np.zeros(20, np.int64)
            handles = [machine.call(go, {3: 1, 7: 2}.get(i, 0), ps.Out(out[i:i + 1])) for i in range(20)]
            handles.append(machine.call(fail, 5))
            handles.append(machine.call(go, 3, ps.Out(out[:1]), time_limit=0.2))
            for i, handle in enumerate(handles):
                try:
                    handle.wait()
                except ps.TaskFailed as error:
                    cause = error.__cause__
                    print(i, error.task, type(cause).__name__, getattr(cause, "signal", None), getattr(cause, "exit_code", None),
                          getattr(cause, "type", None), getattr(cause, "limit", None))
            machine.call(go, 0, ps.Out(out[:1])).wait()
            print("usable")
    """) == [
        "3 go WorkerDied 11 None None None", "7 go WorkerDied None 7 None None",
        "20 fail RemoteException None None std::runtime_error None", "21 go TimeLimitExceeded 9 None None 0.2", "usable",
    ]  # fmt: skip


def test_what_cannot_be_carried_over_is_refused_with_the_reason(native):
    assert run(native, """
        callback = ctypes.CFUNCTYPE(None, ctypes.c_int)(print)
        x = np.zeros(4, np.float32)
        raw = body("count", "void (void *x, intptr_t n)")
        with ps.Machine(targets=1, isolation="process") as machine:
            def refused(call, *arguments, **words):
                try:
                    call(*arguments, **words)
                except ps.CannotCarryOver as error:
                    print(str(error)[:400])
            refused(machine.call, callback, 1)
            refused(machine.call, raw, ps.InOut(np.zeros(1, np.int64)))
            done = machine.call(scale, ps.In(np.ones(4, np.float32)), ps.Out(x), 1.0)
            refused(machine.call, scale, ps.In(np.ones(4, np.float32)), ps.Out(x), 1.0, after=[done])
            refused(machine.call, scale, ps.In(np.ones(4, np.float32)), ps.Out(x), 1.0, priority="high")
            refused(machine.call, scale, ps.In(np.ones(4, np.float32)), ps.Out(x), 1.0, then=print)
            refused(machine.resident, x)
            refused(ps.Dependences, machine)
            refused(machine.call, ps.Chain())
            refused(machine.for_each, 10, body("fail_at", "void (intptr_t, intptr_t, intptr_t)"), 100)
            machine.barrier()
            print(x.tolist(), machine.call(lambda: 42).result())
    """)[-1] == "[1.0, 1.0, 1.0, 1.0] 42"  # fmt: skip


def test_each_refusal_names_what_is_in_the_way(native):
    told = run(native, """
        callback = ctypes.CFUNCTYPE(None, ctypes.c_int)(print)
        with ps.Machine(targets=1, isolation="process") as machine:
            for call, arguments in [(machine.call, (callback, 1)), (ps.Dependences, (machine,)), (machine.resident, (np.zeros(3),))]:
                try:
                    call(*arguments)
                except ps.CannotCarryOver as error:
                    print(error)
    """)  # fmt: skip
    assert len(told) == 3
    assert "made at run time" in told[0] and "dependences" in told[1] and "resident" in told[2]


def test_without_launch_and_with_a_late_one_nothing_starts():
    with pytest.raises(ps.UsageError, match="launch"):
        ps.Machine(targets=1, isolation="process")
    late = """
import threading, time
import penstock as ps
threading.Thread(target=time.sleep, args=(1,)).start()
try:
    ps.launch()
except ps.UsageError as error:
    print("too late" in str(error))
"""
    assert subprocess.run([sys.executable, "-c", late], capture_output=True, text=True, timeout=60, check=False).stdout == "True\n"


def test_settings_of_isolation_are_checked(native):
    for words in ({"isolation": "thread"}, {"time_limit": -1}, {"worker_memory": -1}):
        with pytest.raises(ps.UsageError):
            ps.Machine(targets=1, **words)
    with ps.Machine(targets=1) as machine, pytest.raises(ps.UsageError, match="isolation"):
        machine.call(native.body("count", "void (int64_t *x, intptr_t n)"), ps.InOut(np.zeros(1, np.int64)), time_limit=1)
