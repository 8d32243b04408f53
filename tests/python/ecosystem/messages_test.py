"""Wrong arguments are told by their names, not by a whole signature; and what else a beginner does."""

import gc
import re
import threading
import warnings

import numpy as np
import pytest

import penstock as ps

MISTAKES = [
    ({"target": 1}, "Machine() has no argument 'target'; did you mean 'targets'?"),
    ({"targets": "two"}, "Machine(): targets is a whole number or None, not 'two'"),
    ({"targets": 1.5}, "Machine(): targets is a whole number or None, not 1.5"),
    ({"pin": 3}, "Machine(): pin is True or False, not 3"),
    ({"max_workers": 2}, "Machine() has no argument 'max_workers': its workers are its targets, as in Machine(targets=4)"),
    ({"time_limit": "1 s"}, "Machine(): time_limit is a number of seconds or None, not '1 s'"),
]


@pytest.mark.parametrize(("given", "said"), MISTAKES)
def test_a_wrong_argument_of_a_machine_is_named(given, said):
    with pytest.raises(TypeError, match=f"^{re.escape(said)}$"):
        ps.Machine(**given)


def test_words_and_ranges_are_named_too():
    with pytest.raises(ps.UsageError, match="distribution must be one of balanced, round_robin, least_loaded, not fair"):
        ps.Machine(distribution="fair")
    with pytest.raises(ps.UsageError, match="depth must be 1 to 1024, not 0"):
        ps.Machine(depth=0)


def test_whole_numbers_of_numpy_will_do():
    with ps.Machine(targets=np.int64(1), spin=0) as machine:
        assert machine.targets == 1


CALLS = [
    (lambda machine: ps.Machine(4), "Machine(): its arguments have names, as in Machine(targets=4); 4 has none"),
    (lambda machine: machine.call(), "call(): name the function first: machine.call(function, ...)"),
    (lambda machine: machine.call(pow, 2, 3, prioriti="high"), "call() has no argument 'prioriti'; did you mean 'priority'?"),
    (
        lambda machine: machine.on(0).call(pow, 2, mod=3),
        "call() has no argument 'mod'; to give it to the function: functools.partial(f, mod=...), or by its place",
    ),
    (lambda machine: machine.map(abs), "map(): there is nothing to give to the function: machine.map(function, items)"),
    (lambda machine: machine.map(abs, 5), "map(): argument 2 is of the type int, which has no items"),
    (lambda machine: machine.map([1, 2], abs), "map(): the function comes first, and list is no type of functions: machine.map(function, items)"),
]


@pytest.mark.parametrize(("call", "said"), CALLS)
def test_a_wrong_call_says_what_is_wrong(shared, call, said):
    with pytest.raises(TypeError, match=f"^{re.escape(said)}$"):
        call(shared)


def test_a_function_that_was_called_already_is_no_body(shared):
    with pytest.raises(ps.BodyError, match=r"1 is not the address of a function .*the function has run before"):
        shared.call(abs(-1))
    with pytest.raises(ps.BodyError, match=r"a list is no body .*the function has run before"):
        shared.call(sorted([1]))


def test_what_cannot_be_pickled_is_named(shared):
    with pytest.raises(TypeError, match="pickle") as refused:
        shared.call(pow, 2, threading.Lock())
    assert refused.value.__notes__ == ["argument 2 of pow, a lock, cannot be carried over to a worker interpreter"]
    with pytest.raises(TypeError, match="pickle") as refused:
        shared.call(pow, shared.call(abs, 1))
    assert "handle.result(), or let the call come after it, with after=[handle]" in refused.value.__notes__[0]

    async def coroutine():
        pass

    for body, note in ((threading.Lock, "the body returned a lock, which cannot be carried back"), (coroutine, "with asyncio.run()")):
        with pytest.raises(ps.TaskFailed, match="pickle") as failed:
            shared.call(body).result()
        assert note in failed.value.__cause__.__notes__[0]


def test_a_map_of_which_nobody_takes_a_result_is_told(shared):
    with pytest.warns(RuntimeWarning, match=r"nobody took the results of map\(abs, \.\.\.\)"):
        shared.map(abs, range(5))
        gc.collect()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in shared.map(abs, range(5)):
            break
        shared.map(abs, range(5)).close()
        list(shared.map(abs, []))
        gc.collect()


def test_a_stream_says_what_it_takes():
    half = ps.filter(lambda x: x / 2, inputs="int32", outputs="int32")
    graph = ps.Graph()
    writer, reader = graph.add_writer("writer", "int32"), graph.add_reader("reader", "int32")
    graph.add("half", half)
    graph.connect(writer, "half.in")
    graph.connect("half.out", reader)
    with ps.Machine(targets=1) as machine, pytest.raises(ps.FilterFailed, match="values of type float64 cannot go into a stream of int32"):
        with graph.start(machine) as run:
            with pytest.raises(TypeError, match=r"values of type float32 cannot .* array.astype\('int32'\), or let the port be 'float32'"):
                writer.write(np.ones(3, np.float32))
            writer.write([1, 2, 3])
            writer.close()
            run.finish()
