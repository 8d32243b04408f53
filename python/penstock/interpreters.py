"""Python bodies: how functions, values and failures travel between a machine and its worker interpreters.

A function is carried over once, pickled: by name where its module can be imported, by value where it cannot (functions of
`__main__`, lambdas, closures), as cloudpickle does it.
"""

import importlib.util
import inspect
import pickle
import subprocess
import sys
import traceback
from typing import Any

import cloudpickle

from penstock import _core
from penstock.errors import UsageError

MAIN = b"__main__"


def command() -> list[str]:
    """The program of a worker, with its arguments but for those that the machine adds."""
    return interpreter(f"given = sys.argv[1:]; sys.argv[:] = {[*sys.argv]!r}; from penstock._interpreter import main; main(*map(int, given))")


def interpreter(code: str) -> list[str]:
    """The command that starts an interpreter like this one with this code."""
    flags = subprocess._args_from_interpreter_flags()  # noqa: SLF001 - what multiprocessing uses
    return [sys.executable, *flags, "-c", f"import sys; sys.path[:] = {sys.path!r}; {code}"]


def carry(function: Any) -> bytes:
    """The function as bytes. Raises UsageError for what cannot be carried over."""
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    by_value = module is not None and not _importable(module.__name__)
    try:
        if by_value:
            cloudpickle.register_pickle_by_value(module)
        try:
            return cloudpickle.dumps(function, protocol=pickle.HIGHEST_PROTOCOL)
        finally:
            if by_value:
                cloudpickle.unregister_pickle_by_value(module)
    except Exception as error:
        raise UsageError(
            f"{function!r} cannot be carried over to a worker interpreter: {error}; let the body be a function, and give it what it works on as arguments"
        ) from error


def _importable(name: str) -> bool:
    if name == "__main__":
        return True  # cloudpickle knows what to do
    try:
        return importlib.util.find_spec(name.partition(".")[0]) is not None
    except (ImportError, ValueError):
        return False


def dumps(value: Any, buffers: list[pickle.PickleBuffer] | None = None) -> bytes:
    """The value as bytes, of which the other side can make it again: by cloudpickle where it refers to `__main__`.

    The memory of its arrays is not copied into them where there is a list for it (pickle's out-of-band buffers).
    """
    take = None if buffers is None else buffers.append
    try:
        plain = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL, buffer_callback=take)
    except Exception:  # noqa: BLE001 - cloudpickle says what is wrong, if anything is
        plain = MAIN
    if MAIN not in plain:
        return plain
    if buffers is not None:
        buffers.clear()
    return cloudpickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL, buffer_callback=take)


def note_argument(error: BaseException, function: str, place: int, value: Any) -> None:
    """Says of an exception that pickling raised which argument it was."""
    note = f"argument {place} of {function}, a {type(value).__name__}, cannot be carried over to a worker interpreter"
    if isinstance(value, _core.Handle):
        note += ": give what it stands for, handle.result(), or let the call come after it, with after=[handle]"
    error.add_note(note)


def note_result(error: BaseException, value: Any) -> None:
    """The same of what a body returned."""
    note = f"the body returned a {type(value).__name__}, which cannot be carried back from its worker interpreter"
    if inspect.iscoroutine(value):
        note += ": bodies are plain functions, so let it run its coroutine, with asyncio.run()"
    error.add_note(note)


def text_of(error: BaseException) -> str:
    """What an exception says of itself; nothing where that raises another one."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - its type must do
        return ""


def printable(text: str) -> str:
    """Without lone surrogates, which names of files may hold and no encoding has."""
    return text.encode(errors="backslashreplace").decode()


def traceback_of(error: BaseException) -> str:
    return printable("".join(traceback.format_exception(error)))


class RemoteTraceback(Exception):
    """Where the exception that it is the cause of was raised, in a worker."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


def describe_failure(error: BaseException) -> bytes:
    """In a worker: the exception, its text, and where it was raised."""
    lines = traceback_of(error)
    error.__traceback__ = None  # holds frames, and what lies in them
    try:
        value = dumps(error)
        pickle.loads(value)  # noqa: S301 - made here; some exceptions cannot be unpickled, which must show now
    except Exception:  # noqa: BLE001 - its text must do
        value = b""
    kind = type(error)
    return pickle.dumps((value, f"{kind.__module__}.{kind.__qualname__}", text_of(error), lines))


def rebuilt_failure(description: bytes) -> BaseException:
    """The exception, with its traceback as its cause. RuntimeError with its text where it cannot be pickled."""
    if not description:
        return MemoryError("a body failed, and its worker had no memory left to say how")
    value, kind, text, lines = pickle.loads(description)  # noqa: S301 - from a process that was started here
    try:
        error = pickle.loads(value)  # noqa: S301 - from a process that was started here
    except Exception:  # noqa: BLE001 - a class of its own may raise anything
        error = RuntimeError(f"{kind}: {text}" if text else kind)
    if not isinstance(error, BaseException):
        error = RuntimeError(f"{kind}: {text}")
    error.__cause__ = RemoteTraceback(lines)
    return error
