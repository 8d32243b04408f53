"""Classes of targets, for machines that have several kinds.

    machine = penstock.Machine(classes=[penstock.TargetClass("fast", 4), penstock.TargetClass("workers", 2, "process")])
    graph.add("blur", blur, copies=penstock.AUTOMATIC, target_classes=["fast", "workers"])
"""

from typing import Literal, NamedTuple

from penstock.errors import UsageError


class TargetClass(NamedTuple):
    """Several targets of one kind, under a name.

    isolation: 'process': worker processes; penstock.launch() must have been called
    speed: of threads, above 0 and at most 1: firings are slowed down to it, to try out what unequal targets would do
    """

    name: str
    targets: int = 1
    isolation: Literal["none", "process"] = "none"
    speed: float = 1.0


def classes_of(given: list[str] | None) -> list[TargetClass]:
    """What the command line's --class says: 'fast=2', 'slow=2@0.25', 'workers=1@process'. Raises UsageError."""
    made: list[TargetClass] = []
    for text in given or []:
        name, equals, rest = text.partition("=")
        count, at, how = rest.partition("@")
        try:
            if not (equals and name):
                raise ValueError
            made.append(TargetClass(name, int(count), "process") if how == "process" else TargetClass(name, int(count), speed=float(how) if at else 1.0))
        except ValueError:
            raise UsageError(f"'{text}' is no class of targets: say NAME=TARGETS, NAME=TARGETS@SPEED or NAME=TARGETS@process") from None
    return made
