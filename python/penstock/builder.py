"""What graphs and edits have in common: filters are added and joined."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict, TypeVar, Unpack

from penstock import _core
from penstock.descriptions import OnFailure, Policy, WhenFull
from penstock.errors import UsageError
from penstock.filters import Filter, Isolation
from penstock.nodes import NamedPort, Node, Reader, Writer

Value = bool | int | float | str
Made = TypeVar("Made")

AUTOMATIC = 0  # copies: as many as the pressure at the filter asks for, up to one for each target and one for the thread that helps


class StreamOptions(TypedDict, total=False):
    policy: Policy
    capacity: int
    capacity_bytes: int
    when_full: WhenFull
    ordered: bool
    fuse: bool
    feedback: bool
    key: Callable[[Any], int] | None
    name: str


def complete(options: StreamOptions) -> dict[str, Any]:
    """With what was not said. Raises TypeError for an option that there is not."""
    all_of_them: dict[str, Any] = {
        "policy": "demand_driven", "capacity": 0, "capacity_bytes": 0, "when_full": "wait", "ordered": False, "fuse": True,
        "feedback": False, "key": None, "name": "",
    }  # fmt: skip
    if unknown := options.keys() - all_of_them.keys():
        raise TypeError(f"a stream has no option {', '.join(map(repr, sorted(unknown)))}; it has {', '.join(all_of_them)}")
    return all_of_them | options


class Builder(ABC):
    """What graphs and edits have in common. Names of filters in groups are "group/filter"."""

    def __init__(self) -> None:
        self._prefix = ""

    @abstractmethod
    def _do(self, work: Callable[[Any], Any]) -> Any:
        """Has it done with the compiled part's builder, now or when the edit is made."""

    def _add(self, name: str, node: Node, kind: "_core.FilterKind", options: dict[str, Any]) -> None:
        def add(builder: Any) -> None:
            node.filter = builder.add(name, kind, options)

        self._do(add)

    def add(
        self,
        name: str,
        filter: Filter,  # noqa: A002 - the word of C++
        /,
        *arguments: Any,
        copies: int = 1,
        targets: Sequence[int] = (),
        near: str | Node = "",
        on_failure: OnFailure = "stop",
        pool: int = 0,
        settings: Mapping[str, Value] | None = None,
        isolation: Isolation | None = None,
        time_limit: float | None = None,
    ) -> Node:
        """A filter.

        filter: what penstock.filter() made
        arguments: for the constructor of a class, or the first ones of a function
        copies: that may fire at the same time; AUTOMATIC: as the pressure asks for
        targets: whose threads alone run it, copy by copy in turn; none: whichever is free
        near: a filter whose targets it shares
        on_failure: 'go_on': what a firing that failed has read is lost and counted, and finish() raises FilterFailed at the end
        pool: buffers of each of its outputs that exist at once before it waits for one to come back; 0: no limit
        settings: other first values
        isolation: other than the filter's own
        time_limit: seconds that a firing may take in a worker interpreter
        """
        if not isinstance(filter, Filter):
            raise UsageError(f"{filter!r} is no filter: say which ports it has, with penstock.filter(..., inputs=..., outputs=...)")
        node = Node(self._prefix + name, filter.inputs, filter.outputs)
        options = {
            "copies": copies, "targets": list(targets), "near": self._named(near), "on_failure": on_failure, "pool": pool,
        }  # fmt: skip
        self._add(node.name, node, filter._kind(arguments, isolation, time_limit, settings), options)  # noqa: SLF001 - the package's own
        return node

    def _named(self, filter: str | Node) -> str:  # noqa: A002 - the word of C++
        return filter.name if isinstance(filter, Node) else self._prefix + filter if filter else ""

    def _port(self, given: str | Node, *, source: bool) -> str:
        if isinstance(given, NamedPort):
            return str(given)
        if isinstance(given, Node):
            ports = given._outputs if source else given._inputs  # noqa: SLF001 - the package's own
            if len(ports) != 1:
                raise UsageError(f"filter '{given.name}' has {len(ports)} {'outputs' if source else 'inputs'}: say which one, as in node.port")
            return str(given[ports[0]])
        return self._prefix + given

    def connect(
        self,
        source: str | Node,
        sink: str | Node,
        /,
        **options: Unpack[StreamOptions],
    ) -> None:
        """A stream from an output to an input: ports by name ("filter.port"), as `node.port`, or a node with one port there.

        policy: which of several sinks gets the next buffer; "demand_driven" unless something else is said
        capacity, capacity_bytes: buffers, and bytes beyond the first of them, that may wait at each sink; 0: automatic, no limit
        when_full: what becomes of a buffer for which a sink has no room; "wait" unless something else is said
        ordered: the sink sees the buffers in the order of the source, although copies between them overtook one another
        fuse: the sink may fire right behind the firing that writes; True unless something else is said
        feedback: this stream closes a cycle on purpose
        key: called with the Tags of a buffer, for the policies by_key and chosen; None: the tag user[0]
        name: streams of one name are one stream with several sources and sinks
        """
        every = complete(options)
        first, second = self._port(source, source=True), self._port(sink, source=False)
        self._do(lambda builder: builder.connect(first, second, every))

    def add_group(self, name: str, make: Callable[..., Made], /, *arguments: Any) -> Made:
        """What make(builder, *arguments) returns, which adds filters and connects them; their names begin with "name/". Groups nest."""
        outer, self._prefix = self._prefix, f"{self._prefix}{name}/"
        try:
            return make(self, *arguments)
        finally:
            self._prefix = outer

    def add_writer(self, name: str, dtype: Any, /) -> Writer:
        """The main program as a filter that writes arrays of this type."""
        return self._add_end(Writer(self._prefix + name, dtype))

    def add_reader(self, name: str, dtype: Any, /) -> Reader:
        """The main program as a filter that reads arrays of this type."""
        return self._add_end(Reader(self._prefix + name, dtype))

    def _add_end(self, end: Any) -> Any:
        options = {"copies": 1, "targets": [], "near": "", "on_failure": "stop", "pool": 0}
        self._add(end.name, end, end._end.kind(), options)  # noqa: SLF001 - the package's own
        return end

    def set(self, filter: str | Node, setting: str, value: Value) -> None:  # noqa: A002 - the word of C++
        """Gives a setting of a filter another value, also on a running graph, for all copies from their next firing on."""
        name = self._named(filter)
        self._do(lambda builder: builder.set(name, setting, value))
