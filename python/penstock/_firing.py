"""What filters with isolation="process" are in a worker interpreter: a function, or an object that lives there."""

import os
from collections.abc import Callable
from itertools import count
from types import GeneratorType
from typing import Any

from penstock.errors import StateLost, UsageError

ENDED = "penstock: this filter has ended"
_numbers = count()
_objects: dict[str, Any] = {}  # of this worker


class Several(list):
    """What a generator has yielded: the values of several writes."""


class Function:
    """A function as the body of a firing. Carried over once for each copy."""

    def __init__(self, function: Callable[..., Any], first: tuple[Any, ...]) -> None:
        self.function, self.first = function, first
        _name_like(self, function)

    def __call__(self, settings: dict[str, Any], *arrays: Any) -> Any:
        try:
            return _plain(self.function(*self.first, *arrays, **settings))
        except StopIteration:
            return ENDED


class Object:
    """An object that is made in a worker at its first firing, and stays there."""

    def __init__(self, make: Callable[[], Any], kind: Any) -> None:
        self.make = make
        self.key = f"{os.getpid()}-{next(_numbers)}"
        self.handles_events = hasattr(kind, "on_event")
        self.has_finish = hasattr(kind, "finish")
        _name_like(self, kind)

    def __call__(self, what: str, known: bool, settings: dict[str, Any], *arguments: Any) -> Any:
        there = _objects.get(self.key)
        if there is None:
            if known:
                raise StateLost(f"the worker interpreter that had the object of {self.__qualname__} has died since, and its state with it")
            there = self.make()
            _show(there, settings)
            if hasattr(there, "start") and there.start() is not None:
                raise UsageError(f"{self.__qualname__}.start() returned a value: in a worker interpreter it cannot write")
            _objects[self.key] = there
        _show(there, settings)
        try:
            if what == "fire":
                return _plain(there(*arguments))
            if what == "finish":
                del _objects[self.key]
                return _plain(there.finish()) if hasattr(there, "finish") else None
            return _plain(getattr(there, what)(*arguments))
        except StopIteration:
            return ENDED


def _plain(result: Any) -> Any:
    """Without generators, which do not travel."""
    return Several(result) if isinstance(result, GeneratorType) else result


def _show(there: Any, settings: dict[str, Any]) -> None:
    for name, value in settings.items():
        setattr(there, name, value)


def _name_like(wrapper: Any, function: Any) -> None:
    """So that errors name the user's function, and what cannot be imported there is carried over by value."""
    wrapper.__module__ = getattr(function, "__module__", None)
    wrapper.__qualname__ = getattr(function, "__qualname__", type(function).__qualname__)
