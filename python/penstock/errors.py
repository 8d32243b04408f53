"""What Penstock raises: types with facts in them, and messages that say what to do next.

The classes mirror those of C++ (`penstock/error.hpp`).
"""


class Error(Exception):
    """Base of everything that Penstock raises."""


class UsageError(Error):
    """A rule of the interface was broken; refused where it was written."""


class ArgumentError(UsageError):
    """An argument of a call breaks a rule: element type, layout, range, null, overlap.

    task: name of the body (or of the tag, where making the tag failed)
    argument: its place, counted from 1 as in the parameter list
    """

    task: str = ""
    argument: int = 0


class BodyError(UsageError):
    """What was given as a body is no compiled function, or its signature is missing or cannot be used."""


class SettingError(UsageError):
    """A setting or an input that an application of the gallery cannot take.

    app: name of the application
    setting: name of the setting
    """

    app: str = ""
    setting: str = ""


class TaskFailed(Error):
    """A task ended by an exception; `__cause__` is that exception.

    task: name of the body
    target: number of the target that ran it, -1 for the caller itself
    others: how many more tasks failed before the same barrier
    """

    task: str = ""
    target: int = -1
    others: int = 0


class TaskCancelled(Error):
    """The task that a handle stands for was cancelled before it started."""


class QueueFull(Error):
    """A call was refused because everything that may hold it is full (`when_full="refuse"`)."""


class NestingTooDeep(UsageError):
    """Tasks wait inside tasks deeper than the limit."""


class WouldDeadlock(UsageError):
    """The wait can never end; the message says what waits for what."""


class MachineGone(UsageError):
    """The machine behind a handle or a call no longer exists, or stayed behind in the parent of a fork."""


class SystemError(Error):  # noqa: A001 - the name of its counterpart in C++
    """The operating system refused something that Penstock needs.

    number: its error number (errno)
    """

    number: int = 0
