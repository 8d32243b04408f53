"""What a graph says of itself."""

from dataclasses import dataclass
from typing import Any, Literal

from penstock.filters import Setting

Policy = Literal["demand_driven", "round_robin", "random", "broadcast", "by_key", "chosen"]
WhenFull = Literal["wait", "drop_oldest", "drop_newest", "fail"]
OnFailure = Literal["stop", "go_on"]
OnNodeLoss = Literal["stop", "lose", "replay"]


@dataclass(frozen=True)
class PortDescription:
    name: str
    dtype: str
    required: bool
    at_least: int


@dataclass(frozen=True)
class FilterDescription:
    name: str
    type: str
    inputs: list[PortDescription]
    outputs: list[PortDescription]
    settings: dict[str, Setting]
    copies: int
    targets: list[int]
    target_classes: list[str]
    near: str
    on_failure: OnFailure
    nodes: str
    on_node_loss: OnNodeLoss
    pool: int
    may_be_copied: bool
    on_any_input: bool
    of_program: bool  # the program's own end of a stream


@dataclass(frozen=True)
class StreamDescription:
    source: str
    sink: str
    policy: Policy
    capacity: int
    capacity_bytes: int
    when_full: WhenFull
    ordered: bool
    fuse: bool
    feedback: bool
    name: str


@dataclass(frozen=True)
class Description:
    """A graph, as it says of itself."""

    filters: list[FilterDescription]
    streams: list[StreamDescription]

    @staticmethod
    def _of(given: dict[str, Any]) -> "Description":
        def described(each: dict[str, Any]) -> FilterDescription:
            ports = {key: [PortDescription(*port) for port in each[key]] for key in ("inputs", "outputs")}
            settings = {name: Setting(*rest, tuple(choices), doc) for name, *rest, choices, doc in each["settings"]}
            return FilterDescription(**(each | ports | {"settings": settings}))

        return Description([described(each) for each in given["filters"]], [StreamDescription(**each) for each in given["streams"]])
