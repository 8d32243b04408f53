"""Numbers, texts and exceptions that are out of the ordinary are refused or told in words."""

import ctypes

import pytest

import penstock as ps
from penstock import cli
from worker_parts import Wordless, raise_wordless


@pytest.mark.parametrize("shape", [2**64, 2**63, 10**30, -1, (2, 2**64), (2**40, 2**40)])
def test_an_array_that_cannot_be_is_refused_with_its_size(shape):
    with ps.Machine(targets=1) as machine, pytest.raises(ps.Error) as told:
        machine.array(shape)
    if not isinstance(shape, tuple):
        assert str(shape) in str(told.value)


def test_a_lone_surrogate_is_refused_where_it_stands():
    for give in (
        lambda: ps.Application.parse("<application \ud800/>"),
        lambda: ps.Application.parse("<application/>", "\udcff.xml"),
        lambda: ps.Application.parse("<application/>", settings={"x": "\ud800"}),
        lambda: ps.Application.parse("<application/>", settings={"\ud800": 1}),
    ):
        with pytest.raises(ps.UsageError, match="surrogate"):
            give()


def test_a_lone_surrogate_in_a_setting_or_an_event_is_no_error_of_the_machinery():
    with ps.Machine(targets=1) as machine:
        graph = ps.Graph()
        writer, reader = graph.add_writer("writer", "int32"), graph.add_reader("reader", "int32")
        graph.connect(writer, reader)
        run = graph.start(machine)
        with pytest.raises((ps.Error, TypeError, ValueError)):
            run.send("x", "\ud800", "reader")
        run.stop()


def test_an_exception_whose_text_raises_is_told_by_its_type():
    with ps.Machine(targets=1) as machine:
        handle = machine.call(raise_wordless)
        with pytest.raises(ps.TaskFailed, match="Wordless") as told:
            handle.wait()
        assert isinstance(told.value.__cause__, (Wordless, RuntimeError))
        assert not isinstance(told.value.__cause__, MemoryError)


def test_top_of_a_name_that_nobody_has_says_what_to_do(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["penstock", "top", "nosuch", "--once"])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    said = capsys.readouterr().err
    assert caught.value.code == 2 and "PENSTOCK_NAME=nosuch" in said and "refused" not in said


@pytest.mark.parametrize("dtype", ["S", "V0", object, "3f4", ",,", "nonsense"])
def test_an_array_of_what_are_no_elements_is_refused(machine, dtype):
    with pytest.raises(ps.ElementError):
        machine.array(3, dtype)


@pytest.mark.parametrize("targets", [0, 1])
def test_a_built_in_function_may_be_a_body_that_raises(targets):
    with ps.Machine(targets=targets) as machine:
        for body, given, kind in ((int, "x", ValueError), (len, 3, TypeError), (eval, "1/0", ZeroDivisionError)):
            with pytest.raises(ps.TaskFailed) as told:
                machine.call(body, given).wait()
            assert isinstance(told.value.__cause__, kind)


def test_what_is_no_text_or_no_settings_is_refused_in_words():
    for give in (
        lambda: ps.Application.parse(3),
        lambda: ps.Application.parse("<application/>", settings="x=1"),
        lambda: ps.Application.parse("<application/>", settings={3: 1}),
        lambda: ps.filter(len, inputs="int8", settings="x"),
        lambda: ps.Graph().add("a", ps.filter(len, inputs="int8"), settings="x"),
    ):
        with pytest.raises(ps.UsageError, match="settings|text"):
            give()


def test_an_array_of_ctypes_is_an_input_like_any_other(machine):
    size = {"rows": 1, "columns": 4, "repetitions": 1}
    assert ps.run_app(machine, "saxpy", size, {"x": (ctypes.c_float * 4)(1, 2, 3, 4)})["ok"]
    with pytest.raises(ps.SettingError):
        ps.run_app(machine, "saxpy", size, {"x": (ctypes.c_int * 4)()})


def test_names_in_the_environment_that_are_no_text_are_told_or_taken(machine, monkeypatch):
    monkeypatch.setenv("PENSTOCK_BUDGET", "b\udcff")
    with pytest.raises(ps.UsageError, match=r"b\\xff"):
        ps.Machine(targets=1)
    monkeypatch.setenv("PENSTOCK_NAME", "odd-\udcff")
    graph = ps.Graph()
    graph.connect(graph.add_writer("writer", "int32"), graph.add_reader("reader", "int32"))
    run = graph.start(machine)
    assert run.name == "odd-\udcff"
    run.stop()
