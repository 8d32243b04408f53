"""What graphs and edits have in common: filters are added and joined."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict, TypeVar, Unpack

from penstock import _core
from penstock.descriptions import OnFailure, OnNodeLoss, Policy, WhenFull
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


def known(options: StreamOptions) -> StreamOptions:
    """The same. Raises TypeError for an option that there is not."""
    all_of_them = StreamOptions.__annotations__
    if unknown := options.keys() - all_of_them.keys():
        raise TypeError(f"a stream has no option {', '.join(map(repr, sorted(unknown)))}; it has {', '.join(all_of_them)}")
    return options


def carry_out(builder: Any, what: str, arguments: tuple[Any, ...], made: Node | None) -> None:
    result = getattr(builder, what)(*arguments)
    if made is not None:
        made.filter = result


class Builder(ABC):
    """What graphs and edits have in common. Names of filters in groups are "group/filter"."""

    def __init__(self) -> None:
        self._prefix = ""
        self._kinds: list[_core.FilterKind] = []

    @abstractmethod
    def _do(self, what: str, *arguments: Any, made: Node | None = None) -> None:
        """Has the compiled part's builder do it, now or when the edit is made. made: of which it makes the filter."""

    def _bind(self, machine: "_core.Machine") -> None:
        """Filters of worker interpreters run in those of this machine."""
        for kind in self._kinds:
            kind.bind(machine)

    def _add(self, node: Any, kind: "_core.FilterKind", **options: Any) -> Any:
        self._do("add", node.name, kind, options, made=node)
        self._kinds.append(kind)
        return node

    def add(
        self,
        name: str,
        filter: Filter,  # noqa: A002 - the word of C++
        /,
        *arguments: Any,
        copies: int = 1,
        targets: Sequence[int] = (),
        target_classes: Sequence[str] = (),
        near: str | Node = "",
        on_failure: OnFailure = "stop",
        pool: int = 0,
        settings: Mapping[str, Value] | None = None,
        isolation: Isolation | None = None,
        time_limit: float | None = None,
        nodes: str = "",
        on_node_loss: OnNodeLoss = "stop",
    ) -> Node:
        """A filter.

        filter: what penstock.filter() made
        arguments: for the constructor of a class, or the first ones of a function
        copies: that may fire at the same time; AUTOMATIC: as the pressure asks for
        targets: whose threads alone run it, copy by copy in turn; none: whichever is free
        target_classes: names of classes of targets (Machine's `classes`) that may run it; with AUTOMATIC copies there is one on each of their targets, of one class at most one
        near: a filter whose targets it shares
        on_failure: 'go_on': what a firing that failed has read is lost and counted, and finish() raises FilterFailed at the end
        pool: buffers of each of its outputs that exist at once before it waits for one to come back; 0: no limit
        settings: other first values
        isolation: other than the filter's own
        time_limit: seconds that a firing may take in a worker interpreter
        nodes: the group of nodes of a Cluster that runs the copies in turn; empty: the program does; 'auto': as a profile has it (Cluster.place)
        on_node_loss: what happens when one of them dies: 'stop', 'lose' (and go on), 'replay' (send again what was there)
        """
        if not isinstance(filter, Filter):
            raise UsageError(f"{filter!r} is no filter: say which ports it has, with penstock.filter(..., inputs=..., outputs=...)")
        node = Node(self._prefix + name, filter.inputs, filter.outputs)
        kind = filter._kind(arguments, isolation, time_limit, settings)  # noqa: SLF001 - the package's own
        where = {"targets": list(targets), "target_classes": list(target_classes), "near": self._named(near)}
        return self._add(node, kind, copies=copies, on_failure=on_failure, pool=pool, nodes=nodes, on_node_loss=on_node_loss, **where)

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

    def _ports(self, source: str | Node, sink: str | Node) -> tuple[str, str]:
        return self._port(source, source=True), self._port(sink, source=False)

    def connect(self, source: str | Node, sink: str | Node, /, **options: Unpack[StreamOptions]) -> None:
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
        self._do("connect", *self._ports(source, sink), known(options))

    def add_group(self, name: str, make: Callable[..., Made], /, *arguments: Any) -> Made:
        """What make(builder, *arguments) returns, which adds filters and connects them; their names begin with "name/". Groups nest."""
        outer, self._prefix = self._prefix, f"{self._prefix}{name}/"
        try:
            return make(self, *arguments)
        finally:
            self._prefix = outer

    def add_writer(self, name: str, dtype: Any, /) -> Writer:
        """The main program as a filter that writes arrays of this type."""
        writer = Writer(self._prefix + name, dtype)
        return self._add(writer, writer._end.kind())  # noqa: SLF001 - the package's own

    def add_reader(self, name: str, dtype: Any, /) -> Reader:
        """The main program as a filter that reads arrays of this type."""
        reader = Reader(self._prefix + name, dtype)
        return self._add(reader, reader._end.kind())  # noqa: SLF001 - the package's own

    def set(self, filter: str | Node, setting: str, value: Value) -> None:  # noqa: A002 - the word of C++
        """Gives a setting of a filter another value, also on a running graph, for all copies from their next firing on."""
        self._do("set", self._named(filter), setting, value)
