"""On an interpreter without the lock, the import says that the lock has come back."""

import sys
import warnings

import pytest
from penstock import free_threading


def test_it_is_told_when_the_lock_has_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    was_off = free_threading.lock_is_off()
    assert was_off
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: True, raising=False)
    with pytest.warns(RuntimeWarning, match="switched the interpreter's lock on again"):
        free_threading.tell_if_it_came_back(was_off)


def test_elsewhere_nothing_is_said() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        free_threading.tell_if_it_came_back(free_threading.lock_is_off())
