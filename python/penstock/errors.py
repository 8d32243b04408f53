"""What Penstock raises: types with facts in them, and messages that say what to do next.

The classes mirror those of C++ (`penstock/error.hpp`).
"""


class Error(Exception):
    """Base of everything that Penstock raises. facts: by name, what its class declares."""

    def __init__(self, *arguments: object, **facts: object) -> None:
        super().__init__(*arguments)
        vars(self).update(facts)


class UsageError(Error):
    """A rule of the interface was broken; refused where it was written."""


class ArgumentError(UsageError):
    """An argument of a call breaks a rule: element type, layout, range, null, overlap."""

    task: str = ""  # name of the body (or of the tag, where making the tag failed)
    argument: int = 0  # its place, counted from 1 as in the parameter list


class BodyError(UsageError):
    """What was given as a body is no compiled function, or its signature is missing or cannot be used."""


class SettingError(UsageError):
    """A setting or an input that an application of the gallery cannot take."""

    app: str = ""  # name of the application
    setting: str = ""  # name of the setting


class LibraryRefused(UsageError):
    """A shared library gives no component classes to applications."""

    path: str = ""  # of the library
    # 'no_file', 'no_library' (the system cannot load it), 'no_entry' (it has no penstock_component_library()), 'other_version' (of the interface),
    # 'bad_description' (of its classes), 'name_taken'
    reason: str = ""


class ComponentWarning(UserWarning):
    """A component class of an installed package is left out, or hidden by that of another one."""


class NodeDied(Error):
    """A node of a cluster died, or could not be had, and the run cannot go on without it.

    node: as in 'decoders.2'
    filters: names of those that ran there
    buffers: that were there or on their way
    """

    node: str = ""
    filters: list[str] = []  # noqa: RUF012 - each error has its own
    buffers: int = 0


class NoPlacement(Error):
    """No placement of filters on nodes keeps to what was asked.

    bound: what binds: 'balance', 'memory' (of the nodes of a group), or 'rules' (what may run where)
    least: the balance that can be had, where that binds; else 0
    """

    bound: str = ""
    least: float = 0


class PmixMissing(Error):
    """PMIx, by which processes of mpirun and srun find one another, was not found."""


class OpenSslMissing(Error):
    """Connections between machines need OpenSSL, and it was not found."""


class TaskFailed(Error):
    """A task ended by an exception; `__cause__` is that exception."""

    task: str = ""  # name of the body
    target: int = -1  # number of the target that ran it, -1 for the caller itself, -2 where that is no longer known
    others: int = 0  # how many more tasks failed before the same barrier


class TaskCancelled(Error):
    """The task that a handle stands for was cancelled before it started."""


class PredecessorFailed(TaskCancelled):
    """A task did not run, because one that it was to come after failed or was cancelled; `__cause__` says how."""

    predecessor: str = ""  # name of that one's body


class WorkerDied(Error):
    """The worker that ran a task (an interpreter, or a process for compiled bodies) ended before the task: crash, exit or kill."""

    task: str = ""  # name of the body
    target: int = -1  # number of the worker
    pid: int = 0  # its process
    exit_code: int | None = None  # how it ended; None where that is not how, or not known
    signal: int | None = None  # the same
    core_dumped: bool = False  # whether the system says that it wrote a core (compiled bodies)
    output: str = ""  # the last lines that it wrote to stderr (compiled bodies)


class TimeLimitExceeded(WorkerDied):
    """A task ran longer than its `time_limit`, so its worker was ended."""

    limit: float = 0.0  # seconds


class RemoteException(Error):
    """An exception of C++ that a compiled body threw in a worker process. Only its text travels."""

    type: str = ""  # its type as C++ writes it


class CannotCarryOver(UsageError):
    """A call or an argument cannot be carried over to a worker process; the message says why and what to do."""

    task: str = ""  # name of the body
    argument: int = 0  # its place, counted from 1; 0 for the call itself


class WorkersLost(Error):
    """The machine has no worker processes any more; make a new one."""


class QueueFull(Error):
    """A call was refused because everything that may hold it is full (`when_full="refuse"`)."""


class NestingTooDeep(UsageError):
    """Tasks wait inside tasks deeper than the limit."""


class WouldDeadlock(UsageError):
    """The wait can never end; the message says what waits for what."""


class MachineGone(UsageError):
    """The machine behind a handle or a call no longer exists, or stayed behind in the parent of a fork."""


class GraphError(UsageError):
    """A graph, or an edit of one, that cannot run; nothing was started or changed. The message lists everything that is wrong."""

    problems: list[str] = []  # the same, one by one  # noqa: RUF012 - each error gets its own


class FilterFailed(Error):
    """A firing of a filter ended by an exception; `__cause__` is that exception."""

    filter: str = ""  # its name
    copy: int = 0  # which of its copies, from 0
    firing: int = 0  # of this copy, from 0
    others: int = 0  # firings that failed later


class StateLost(Error):
    """The worker interpreter that had the object of a filter has died, and the object's state with it. The next firing makes a new one."""


class StreamStalled(Error):
    """Nothing in a graph can go on, although it has not ended; the message says which filter waits for what."""


class StreamFull(Error):
    """A buffer was written to a full stream that says when_full='fail'."""


class RunEnded(UsageError):
    """The run has ended, was stopped or never began, so nothing can be written, read, sent or edited."""


class BufferOverrun(UsageError):
    """More was to be put into a buffer, or taken out of one, than there is room or there are values."""


class RankFailed(Error):
    """A rank ended by an exception; `__cause__` is that exception."""

    rank: int = -1  # which one
    others: int = 0  # how many more ranks failed or died


class RankLost(Error):
    """What was waited for can no longer come, because this rank is gone."""

    rank: int = -1  # which one


class RankDied(RankLost):
    """The process of a rank ended without a word, or its node is lost."""

    node: str = ""  # of a cluster; empty without one
    pid: int = 0  # its process
    exit_code: int | None = None  # how it ended; None where that is not how, or not known
    signal: int | None = None  # the same


class NotOverNodes(UsageError):
    """Asked for was what only ranks of one machine can share (a Mutex), and the team is spread over several nodes."""


class RankLeft(RankLost):
    """A rank came to the end of its function while somebody still waited for it."""

    failed: bool = False  # whether an exception ended it


class MessengerClosed(RankLost):
    """The other rank has closed its messenger: it takes nothing any more, and all that it had sent was received.

    Or it has broken off with this one: an error of its own or an interruption ended a message half way.
    """


class RankEnded(UsageError):
    """A rank, or what it made, was used after its function had ended."""


class TeamNameTaken(Error):
    """Another host of this user stands under the name."""

    team: str = ""  # the name


class HostMissing(Error):
    """Nobody stood host for a team within the time, or the host went away before the team was complete."""

    team: str = ""  # its name


class WrongHost(Error):
    """The process that stands under the name of a team belongs to another user than was expected."""

    team: str = ""  # its name
    expected: int = -1  # number of the user
    actual: int = -1  # number of the user


class JoinRefused(Error):
    """The host does not take this process into the team."""

    team: str = ""  # its name
    reason: str = ""  # 'user', 'rank_taken', 'no_such_rank', 'size', 'complete', 'version', 'namespaces', 'resources' or 'nonsense'


class MembersMissing(Error):
    """Some members did not come within the time. The host is told, and all who came."""

    team: str = ""  # its name
    missing: list[int] = []  # their ranks  # noqa: RUF012 - each error gets its own
    size: int = 0  # of the team


class GrantMissing(Error):
    """Nobody has granted memory of this name within the time."""

    owner: int = -1  # the rank that should have
    name: str = ""  # of the memory
    waited: float = 0.0  # seconds


class InvalidGrant(Error):
    """What was granted is not what was asked for: another element size, another kind of object."""

    owner: int = -1  # the rank that granted it
    name: str = ""  # of the memory


class OutOfBounds(UsageError, IndexError):
    """A store reaches beyond the end of a region."""

    region: str = ""  # its name


class ElementError(UsageError, TypeError):
    """Elements that cannot be: Python objects, or none of fixed size; or memory that cannot be used for them."""


class UnreadableRemote(UsageError, TypeError):
    """A remote was read; it can be stored to only."""


class NoSuchRank(UsageError):
    """A message was named to, or wanted from, a rank that the team does not have."""

    rank: int = -1  # the one that was named
    size: int = 0  # of the team


class Truncated(Error):
    """A message was longer than the memory that was given for it; the beginning is there, the rest was dropped."""

    source: int = -1  # the rank that sent it
    sent: int = 0  # bytes
    room: int = 0  # bytes


class MessageTooLong(Error):
    """A message announces more bytes than recv_array() may or can allot. It stays where it is."""

    source: int = -1  # the rank that sent it
    announced: int = 0  # bytes
    limit: int = 0  # bytes


class InvalidMessage(Error):
    """What another rank wrote for a message cannot be: it has other options, or something overwrote it."""

    rank: int = -1  # which one
    field: str = ""  # of the message


class SystemError(Error):  # noqa: A001 - the name of its counterpart in C++
    """The operating system refused something that Penstock needs."""

    number: int = 0  # its error number (errno)
