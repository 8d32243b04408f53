"""ps.Executor by itself, under joblib with scikit-learn, under dask, and with asyncio."""

import asyncio
import concurrent.futures
import gc
import os
import sys
import time
from concurrent.futures.process import BrokenProcessPool

import numpy as np
import pytest

import penstock as ps

begun = []


def begin(what):
    begun.append(what)


def look(_):
    time.sleep(0.01)
    return os.getpid(), tuple(begun)


def fails():
    raise RuntimeError("no such file")


def test_an_executor_has_as_many_workers_as_processors_and_begins_each_once():
    with ps.Executor(2, begin, ("here",)) as executor:
        seen = set(executor.map(look, range(40), chunksize=1))
        assert {what for _, what in seen} == {("here",)} and len({pid for pid, _ in seen}) == 2
        assert executor.submit(look, 0).result(20)[1] == ("here",)
    with pytest.raises(RuntimeError):
        executor.submit(look, 0)


def test_by_default_every_processor_has_a_worker():
    with ps.Machine() as machine:
        machine.call(os.getpid).wait()
        assert len(machine.worker_pids) == machine.workers == ps.topology()["usable"]


def test_an_initializer_that_raises_breaks_its_tasks_with_the_reason():
    with ps.Executor(1, fails) as executor:
        for _ in range(2):
            with pytest.raises(BrokenProcessPool, match="no such file"):
                executor.submit(look, 0).result(20)


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="max_workers"):
        ps.Executor(0)
    with pytest.raises(TypeError, match="initializer"):
        ps.Executor(1, 7)
    with ps.Machine(targets=1) as machine, pytest.raises(ps.UsageError, match="max_workers"):
        ps.Executor(1, machine=machine)


def test_scikit_learn_validates_on_it():
    joblib = pytest.importorskip("joblib")
    pytest.importorskip("sklearn")
    from sklearn.datasets import load_iris
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_score

    import penstock.joblib

    penstock.joblib.register()
    x, y = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=200)
    expected = cross_val_score(model, x, y, cv=5)
    with joblib.parallel_config("penstock", n_jobs=2):
        assert np.array_equal(cross_val_score(model, x, y, cv=5), expected)
        assert joblib.Parallel()(joblib.delayed(pow)(n, 2) for n in range(200)) == [n * n for n in range(200)]
        pids = set(joblib.Parallel(batch_size=1)(joblib.delayed(look)(n) for n in range(20)))
        assert os.getpid() not in {pid for pid, _ in pids}
        with pytest.raises(RuntimeError, match="no such file"):
            joblib.Parallel()([joblib.delayed(fails)(), joblib.delayed(look)(1)])
        assert joblib.Parallel(return_as="generator")(joblib.delayed(abs)(-n) for n in range(3)).__next__() == 0


def test_dask_computes_on_it():
    dask = pytest.importorskip("dask")

    @dask.delayed
    def add(a, b):
        return a + b

    graph = add(add(1, 2), add(3, 4))
    with ps.Executor(2) as executor, dask.config.set(scheduler="processes", pool=executor):
        assert graph.compute() == 10
    with ps.Executor(1) as executor:
        assert dask.compute(graph, scheduler=executor) == (10,)


def test_asyncio_waits_for_handles_groups_machines_and_readers():
    @ps.filter(outputs="float64")
    def numbers():
        for n in range(5):
            yield np.full(3, float(n))

    async def program():
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.001)

        ticking = asyncio.create_task(tick())
        async with ps.Machine(targets=1) as machine:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(machine.call(pow, n, 2).as_coroutine()) for n in range(4)]
            assert [task.result() for task in tasks] == [0, 1, 4, 9]
            assert await asyncio.gather(machine.call(abs, -1), machine.call(abs, -2)) == [1, 2]
            graph = ps.Graph()
            graph.add("numbers", numbers)
            reader = graph.add_reader("reader", "float64")
            graph.connect("numbers.out", reader)
            with graph.start(machine):
                got = [float(array.sum()) async for array in reader]
            assert got == [0, 3, 6, 9, 12]
            machine.call(time.sleep, 0.2)
            before = ticks
        assert machine.closed and ticks > before + 20  # the loop went on while the block ended
        ticking.cancel()
        with pytest.raises(ps.TaskFailed, match="no such file"):
            async with ps.Machine(targets=1) as machine:
                machine.call(fails)

    asyncio.run(program())


def test_a_failure_that_nobody_asked_for_is_told(monkeypatch):
    told = []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: told.append(str(what.exc_value)))
    machine = ps.Machine(targets=1)
    machine.call(fails)
    del machine
    gc.collect()
    assert len(told) == 1 and "no such file" in told[0]


def test_futures_of_two_libraries_mix():
    with ps.Executor(1) as ours, concurrent.futures.ThreadPoolExecutor(1) as theirs:
        futures = [ours.submit(abs, -1), theirs.submit(abs, -2)]
        assert {future.result() for future in concurrent.futures.as_completed(futures, timeout=20)} == {1, 2}
