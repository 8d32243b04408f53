"""machine.executor(), machine.map() and await: the conventions of concurrent.futures and asyncio."""

import asyncio
import concurrent.futures
import gc
import itertools
import threading
import time
import weakref

import numpy as np
import pytest

import penstock as ps


@pytest.fixture(scope="module")
def shared():
    with ps.Machine(targets=1) as made:
        yield made


def fails(x):
    raise ValueError(x)


def test_futures_get_results_and_exceptions(shared):
    with shared.executor() as executor:
        assert isinstance(executor, concurrent.futures.Executor)
        future = executor.submit(pow, 3, 4)
        assert isinstance(future, concurrent.futures.Future) and future.result(20) == 81
        assert executor.submit(sorted, [1, 3, 2], reverse=True).result(20) == [3, 2, 1]
        failed = executor.submit(fails, 5)
        assert isinstance(failed.exception(20), ValueError)
        with pytest.raises(ValueError, match="5"):
            failed.result()
    with pytest.raises(RuntimeError):
        executor.submit(pow, 1, 1)


def test_as_completed_wait_and_callbacks_work(shared):
    with shared.executor() as executor:
        futures = [executor.submit(time.sleep, 0.01) for _ in range(5)] + [executor.submit(int, "7")]
        seen = []
        futures[5].add_done_callback(lambda future: seen.append(future.result()))
        assert set(concurrent.futures.as_completed(futures, timeout=20)) == set(futures)
        done, left = concurrent.futures.wait(futures, timeout=20)
        assert len(done) == 6 and not left and seen == [7]


def test_many_futures(shared):
    with shared.executor() as executor:
        futures = [executor.submit(abs, -i) for i in range(3000)]
        assert [future.result(30) for future in futures] == list(range(3000))


def test_shutdown_waits_and_may_cancel_what_has_not_started(shared):
    executor = shared.executor()
    slow = executor.submit(time.sleep, 0.2)
    rest = [executor.submit(time.sleep, 5) for _ in range(20)]
    time.sleep(0.1)
    executor.shutdown(cancel_futures=True)
    assert slow.done() and all(future.cancelled() for future in rest)
    with pytest.raises(concurrent.futures.CancelledError):
        rest[0].result()


def test_compiled_bodies_have_futures_too(shared, count):
    x = np.zeros(3, np.int64)
    with shared.executor() as executor:
        future = executor.submit(count, ps.InOut(x))
        assert future.result(20) is None
    assert x.tolist() == [1] * 3


def test_executor_map_raises_what_the_function_raised(shared):
    with shared.executor() as executor:
        assert list(executor.map(pow, [1, 2, 3], [4, 3, 2])) == [1, 8, 9]
        with pytest.raises(ValueError, match="^1$"):
            list(executor.map(fails, [1, 2]))
        with pytest.raises(TimeoutError):
            list(executor.map(time.sleep, [1], timeout=0.05))
        with pytest.raises(ValueError, match="chunksize"):
            executor.map(pow, [1], [1], chunksize=0)


def test_executor_map_issues_all_at_once_and_shutdown_waits_for_it(shared, tmp_path):
    with shared.executor() as executor:
        executor.map(lambda i: (tmp_path / str(i)).touch(), range(100))  # nobody asks for results
    assert len(list(tmp_path.iterdir())) == 100


def test_what_executor_map_raises_says_where_it_was_raised(shared):
    with shared.executor() as executor, pytest.raises(ValueError, match="^1$") as caught:
        list(executor.map(fails, [1]))
    assert "in fails" in str(caught.value.__cause__)


def test_an_executor_that_is_dropped_goes_and_its_thread_ends(shared):
    executor = shared.executor()
    future = executor.submit(time.sleep, 0.3)  # long enough that there is a thread
    thread = next(thread for thread in threading.enumerate() if thread is executor._collector)
    assert future.result(20) is None
    alive = weakref.ref(executor)
    del executor
    gc.collect()
    thread.join(20)
    assert alive() is None and not thread.is_alive()


def test_futures_of_an_executor_that_is_dropped_get_their_results(shared):
    futures = [shared.executor().submit(time.sleep, 0.05) for _ in range(3)]
    gc.collect()
    assert [future.result(20) for future in futures] == [None] * 3


@pytest.mark.parametrize("chunksize", [None, 1, 7, 10_000])
def test_map_gives_results_in_order(shared, chunksize):
    assert list(shared.map(abs, range(-2000, 0), chunksize=chunksize)) == list(range(2000, 0, -1))
    with shared.executor() as executor:
        assert list(executor.map(abs, range(-2000, 0), chunksize=chunksize)) == list(range(2000, 0, -1))


def test_maps_of_the_same_function_send_it_once(shared, counts_pickles):
    def body(x):
        return x, type(counts_pickles).__name__

    for _ in range(3):
        assert list(shared.map(body, range(5))) == [(x, "int") for x in range(5)]
    assert type(counts_pickles).pickles == 1
    assert list(shared.map(lambda x: x + 1, [1])) == [2] and list(shared.map(lambda x: x + 2, [1])) == [3]  # perhaps at one address


def test_map_takes_items_as_results_are_taken(shared):
    taken = itertools.count()
    results = shared.map(abs, (next(taken) for _ in itertools.count()), chunksize=2)
    assert [next(results) for _ in range(10)] == list(range(10))
    results.close()
    assert next(taken) < 100
    shared.barrier()


def test_a_failure_in_a_map_is_raised_where_its_result_would_come(shared):
    results = shared.map(lambda x: 1 // x, [1, 1, 0, 1], chunksize=1)
    assert next(results) == next(results) == 1
    with pytest.raises(ps.TaskFailed, match="ZeroDivisionError"):
        next(results)
    shared.barrier()
    with pytest.raises(ps.UsageError):
        shared.map(abs, [1], chunksize=0)


@pytest.mark.parametrize("chunksize", [None, 1, 7])
@pytest.mark.parametrize("items", [0, 5, 40])
def test_what_the_source_of_a_map_raises_comes_behind_the_results_of_all_items_before(shared, items, chunksize):
    def source():
        yield from range(items)
        raise OSError("no more")

    got = []
    with pytest.raises(OSError, match="no more"):
        got.extend(shared.map(abs, source(), chunksize=chunksize))
    assert got == list(range(items))


def test_several_threads_take_the_results_of_a_map(shared):
    results, got, errors = shared.map(abs, range(200), chunksize=1), [], []

    def take():
        try:
            got.extend(results)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=take, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert not errors and sorted(got) == list(range(200))


def test_await_returns_the_result_and_lets_others_run(shared, count):
    x = np.zeros(1, np.int64)

    async def tick(times):
        while True:
            times.append(time.monotonic())
            await asyncio.sleep(0.005)

    async def main():
        times = []
        ticker = asyncio.create_task(tick(times))
        slept = shared.call(time.sleep, 0.1)
        await slept
        assert len(times) > 3
        assert await shared.call(pow, 2, 5) == 32
        assert sum(await asyncio.gather(*(_result(shared.call(abs, -i)) for i in range(500)))) == sum(range(500))
        assert await shared.call(count, ps.InOut(x)) is None
        with pytest.raises(ps.TaskFailed, match="ValueError: 3"):
            await shared.call(fails, 3)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(_result(shared.call(time.sleep, 0.3)), 0.05)
        ticker.cancel()

    asyncio.run(asyncio.wait_for(main(), 30))
    assert x[0] == 1
    shared.barrier()


async def _result(handle):
    return await handle


def test_cancelling_a_coroutine_cancels_what_has_not_started(shared):
    async def main():
        first = shared.call(time.sleep, 0.2)
        second = shared.call(fails, 1)
        waiting = asyncio.create_task(_result(second))
        await asyncio.sleep(0.02)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        with pytest.raises(ps.TaskCancelled):
            second.wait()
        await first

    asyncio.run(main())
    shared.barrier()


def test_the_descriptor_tells_an_event_loop_of_ones_own(shared):
    import select

    seen = []
    shared.poll()
    handle = shared.call(time.sleep, 0.05)
    handle.add_done_callback(seen.append)
    while not seen:
        ready, _, _ = select.select([shared.notification_descriptor()], [], [], 20)
        assert ready
        shared.poll()
    assert seen == [handle]
