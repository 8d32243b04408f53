"""Filters as a graph has them, with their ports; and the program's own ends of streams."""

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

from penstock import _core
from penstock.asynchronous import arrays_of
from penstock.errors import UsageError
from penstock.filters import dtype_name

if TYPE_CHECKING:
    import numpy as np


class NamedPort(str):
    """A port of a filter in a graph: "filter.port"."""

    __slots__ = ()


class Node:
    """A filter in a graph. Its ports are attributes or, where a name is none, items: `node.out`, `node["in"]`.

    name: with those of the groups that it is in
    filter: the object of the first copy, where it is one of a class and runs in threads; else None
    """

    def __init__(self, name: str, inputs: list[str], outputs: list[str]) -> None:
        self.name = name
        self.filter: Any = None
        self._inputs, self._outputs = inputs, outputs

    def __getitem__(self, port: str) -> NamedPort:
        if port not in self._inputs and port not in self._outputs:
            raise UsageError(f"filter '{self.name}' has no port called '{port}'; it has {', '.join(self._inputs + self._outputs) or 'none'}")
        return NamedPort(f"{self.name}.{port}")

    def __getattr__(self, port: str) -> NamedPort:
        if port.startswith("_"):
            raise AttributeError(port)
        try:
            return self[port]
        except UsageError as error:
            raise AttributeError(str(error)) from None

    def __repr__(self) -> str:
        return f"penstock.Node({self.name!r})"


class Writer(Node):
    """The main program as a filter that writes. Its functions may be called by several threads, but not inside filters."""

    def __init__(self, name: str, dtype: Any) -> None:
        super().__init__(name, [], ["output"])
        self._end = _core.StreamEnd(dtype_name(dtype), True)

    def write(self, values: Any, *, sequence: int | None = None, time: int | None = None, user: tuple[int, int] | None = None) -> None:
        """Hands the values on: an array of make() as it is (it cannot be written any more), else a copy of them.

        Runs filters or waits while the stream is full. Raises RunEnded, and KeyboardInterrupt on Ctrl-C.
        """
        self._end.write(values, sequence, time, user)

    def make(self, shape: int | tuple[int, ...]) -> "np.ndarray":
        """An array over a new buffer, to be filled and written. Raises RunEnded when the graph does not run."""
        return self._end.make(shape)

    def close(self) -> None:
        """No more will come from here."""
        self._end.close()


class Reader(Node):
    """The main program as a filter that reads: `for array in reader:`. The arrays lie over the buffers, and keep them.

    Its functions may be called by several threads, but not inside filters.
    """

    def __init__(self, name: str, dtype: Any) -> None:
        super().__init__(name, ["input"], [])
        self._end = _core.StreamEnd(dtype_name(dtype), False)

    def read(self) -> "np.ndarray | None":
        """The next array; None at the end of the stream. Runs filters or waits meanwhile.

        Raises RunEnded when the graph never ran, StreamStalled when nothing can come any more although the stream has not ended, and
        KeyboardInterrupt on Ctrl-C.
        """
        return self._end.read(True)

    def read_if_any(self) -> "np.ndarray | None":
        """The same, but None also when no buffer waits now."""
        return self._end.read(False)

    def __iter__(self) -> "Iterator[np.ndarray]":
        while (array := self.read()) is not None:
            yield array

    def __aiter__(self) -> "AsyncIterator[np.ndarray]":
        """`async for array in reader:`; other coroutines run while nothing is there."""
        return arrays_of(self)
