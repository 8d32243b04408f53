"""Filters: what `penstock.filter` makes of a function, of a class or of a compiled body, so that a graph can use it."""

import functools
import inspect
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict, Unpack, overload

from penstock import _core
from penstock._firing import Function, Object
from penstock.body import compiled, is_compiled
from penstock.errors import ElementError, UsageError

if TYPE_CHECKING:
    import numpy as np  # else where it is used: importing it starts threads, which launch() must come before


Isolation = Literal["thread", "process"]


class Port(NamedTuple):
    """A port with more than a type."""

    dtype: Any  # of the elements, as NumPy names it
    required: bool = True  # False: the filter also fires without a buffer at this input, and is given None then
    at_least: int = 1  # buffers that must wait at this input; more than one are given as a list (fewer at the end of the stream)
    # Of an output whose array is made before the firing (fill=True, compiled bodies): a number or a tuple; or the name of the input
    # whose shape it has. None: that of the first input
    shape: int | tuple[int, ...] | str | None = None


class Setting(NamedTuple):
    """The first value of a setting, with its limits."""

    value: bool | int | float | str
    unit: str = ""
    least: float = -math.inf
    most: float = math.inf
    choices: Sequence[str] = ()  # of a text: one of these; none: any text
    doc: str = ""  # one line


class Tags(NamedTuple):
    """What travels with a buffer beside its values."""

    sequence: int  # number in the stream of the source: 0, 1, 2... unless the source sets it
    time: int  # time stamp, in whatever unit the source uses
    user: tuple[int, int]  # two numbers of the program's own


@dataclass(frozen=True, slots=True, eq=False)
class Tagged:
    """Values with the tags that shall travel with them, for what a filter returns.

    Tags that are None are those of the first buffer that the filter read.
    """

    values: Any
    _: KW_ONLY
    sequence: int | None = None
    time: int | None = None
    user: tuple[int, int] | None = None


class Event(NamedTuple):
    """A message outside the streams, to filters that have on_event()."""

    name: str
    value: bool | int | float | str = False


def tags(array: "np.ndarray") -> Tags:
    """The tags of the buffer behind an array that a filter was given, or a reader has read. Raises UsageError for others."""
    import numpy as np

    behind: Any = array
    while isinstance(behind, np.ndarray):
        behind = behind.base
    if not isinstance(behind, _core.Buffer):
        raise UsageError("this array lies over no buffer of a stream, so it has no tags")
    return Tags(behind.sequence, behind.time, behind.user)


class Filter:
    """What a graph adds: a function, a class or a compiled body, with its ports and settings. Made by penstock.filter()."""

    def __init__(self, body: Any, declared: dict[str, Any]) -> None:
        self._body = body
        self._declared = declared
        functools.update_wrapper(self, body, updated=())

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Calls the function itself, or makes an object of the class."""
        return self._body(*arguments, **keywords)

    def __repr__(self) -> str:
        return f"penstock.filter({_name_of(self._body)})"

    @property
    def inputs(self) -> list[str]:
        return [name for name, *_ in self._declared["inputs"]]

    @property
    def outputs(self) -> list[str]:
        return [name for name, *_ in self._declared["outputs"]]

    @property
    def isolation(self) -> Isolation:
        return self._declared["isolation"]

    def _kind(
        self,
        arguments: tuple[Any, ...] = (),
        isolation: Isolation | None = None,
        time_limit: float | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> "_core.FilterKind":
        """For one filter of a graph."""
        spec, body = dict(self._declared), self._body
        isolation = isolation or spec["isolation"]
        spec["recipe"] = functools.partial(_recipe, self, arguments, isolation, time_limit, settings)
        if isolation not in ("thread", "process"):
            raise UsageError(f"isolation is 'thread' or 'process', not {isolation!r}")
        if time_limit is not None and isolation != "process":
            raise UsageError("a firing with a time limit is one that can be ended: say isolation='process'")
        if time_limit is not None and not 0 < time_limit <= 1e9:
            raise UsageError("time_limit is in seconds, more than 0 and at most 1,000,000,000")
        spec["time_limit"] = time_limit or 0.0
        spec["settings"] = _given(spec["settings"], settings, spec["type"])
        if spec["compiled"]:
            if isolation == "process":
                raise UsageError(f"{spec['type']} is a compiled body; those run in threads")
            if arguments:
                raise UsageError(f"{spec['type']} is a compiled body, which is given its ports and settings only")
            return _core.FilterKind.of(spec | {"make": body})
        if inspect.isclass(body):
            make = functools.partial(body, *arguments)
        elif inspect.isgeneratorfunction(body) and not spec["inputs"]:
            make = functools.partial(_Generated, body, arguments)
        else:
            make = None
        spec |= {"isolation": isolation, "keeps_state": make is not None}
        if isolation == "process":
            if spec["in_place"]:
                raise UsageError(f"{spec['type']} cannot be in_place with isolation='process': say fill=True")
            if make is None:
                make = functools.partial(Function, body, arguments)
            else:
                if hasattr(body, "take_over"):
                    raise UsageError(
                        f"{spec['type']} has take_over(), which cannot reach an object in a worker interpreter: leave it out, or run it in threads"
                    )
                make = functools.partial(Object, make, body)
        elif make is None:
            called = functools.partial(body, *arguments) if arguments else body
            make = lambda: called  # noqa: E731
        return _core.FilterKind.of(spec | {"make": make})


def _recipe(made: Filter, arguments: tuple[Any, ...], isolation: str, time_limit: float | None, settings: Any) -> tuple[str, bytes]:
    """What the interpreter of another node makes the filter of: which interpreter it must be, and everything pickled."""
    if isolation == "process":
        raise UsageError(f"{made!r} runs in worker interpreters, which nodes do not have yet: leave isolation='process' out")
    if isinstance(made._body, _core.Body):  # noqa: SLF001 - the same file
        raise UsageError(f"{made!r} is a compiled body, whose code cannot travel: use a component, or a Python function that calls it")
    import cloudpickle

    try:
        return python_version(), cloudpickle.dumps((made, arguments, settings))
    except Exception as error:
        raise UsageError(f"{made!r} cannot travel to another node: {error}") from error


def python_version() -> str:
    """Interpreters of one version can read one another's pickled functions."""
    return f"{sys.implementation.name} {sys.version_info.major}.{sys.version_info.minor}"


class _Generated:
    """A generator function as a source: each firing takes one item. It gets the settings as they are at its first firing."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self._function, self._arguments, self._items = function, arguments, None

    def __call__(self) -> Any:
        if self._items is None:
            settings = {name: value for name, value in vars(self).items() if not name.startswith("_")}
            self._items = self._function(*self._arguments, **settings)
        return next(self._items)


class FilterWords(TypedDict, total=False):
    """What filter() takes besides the body."""

    inputs: str | Mapping[str, Any] | None
    outputs: str | Mapping[str, Any] | None
    settings: Mapping[str, Any] | None
    events: Mapping[str, bool | int | float | str] | None
    may_be_copied: bool
    on_any_input: bool
    fill: bool
    in_place: bool
    isolation: Isolation
    signature: str | None


@overload
def filter(body: None = None, /, **words: Unpack[FilterWords]) -> Callable[[Any], Filter]: ...  # noqa: A001
@overload
def filter(body: Any, /, **words: Unpack[FilterWords]) -> Filter: ...  # noqa: A001
def filter(  # noqa: A001 - the word of C++
    body: Any = None,
    /,
    *,
    inputs: str | Mapping[str, Any] | None = None,
    outputs: str | Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    events: Mapping[str, bool | int | float | str] | None = None,
    may_be_copied: bool = False,
    on_any_input: bool = False,
    fill: bool = False,
    in_place: bool = False,
    isolation: Isolation = "thread",
    signature: str | None = None,
) -> Any:
    """A filter: a decorator for functions and classes, and a function for compiled bodies.

        @penstock.filter(inputs="float32", outputs="float32", settings={"factor": 2.0})
        def scale(x, *, factor):
            return factor * x

    inputs, outputs: the ports: names with types (NumPy's names) or Ports; a type alone is a port called 'in' or 'out'
    settings: names with first values or Settings; a function gets them by name, an object as attributes
    events: event outputs: names, each with a value of the type that its events have
    may_be_copied: several copies may run at the same time
    on_any_input: fires when any of its inputs has a buffer; the others are None then
    fill: arrays of the outputs are made before the firing, given behind those of the inputs, and filled
    in_place: the array of each input may be written, and is what goes to the output with its number
    isolation: 'thread': in the threads of the targets, with the interpreter's lock; 'process': in the machine's worker interpreters
    signature: in C, of a compiled body that does not say it itself

    A function is called in each firing, with one array for each input. It returns an array, or a tuple of them where it has several
    outputs, or a dict by their names; None writes nothing there. What a generator yields are several writes. An input that is returned is
    handed on without a copy. An Event that is returned or yielded, called as an event output, is sent; so are the values that a dict has
    for event outputs. A filter without inputs is a source: a generator, or whatever raises StopIteration at its end.

    A class is made once for each copy; its objects are called like functions, and may have start(), finish() (which may return what is to
    be written), on_event(event), and take_over(predecessor), when they replace another.

    A compiled body (see penstock.compiled) takes its inputs, outputs and settings in this order, as tasks take arguments; it runs without
    the interpreter's lock. It needs an input, or in place of it outputs with a shape.

    Raises UsageError, ElementError; ArgumentError where a body's parameters are not those of the ports.
    """
    if body is None:
        return functools.partial(
            filter,
            inputs=inputs, outputs=outputs, settings=settings, events=events, may_be_copied=may_be_copied, on_any_input=on_any_input, fill=fill,
            in_place=in_place, isolation=isolation, signature=signature,
        )  # fmt: skip
    _refuse_no_settings(settings)
    is_body = isinstance(body, _core.Body) or signature is not None or not callable(body) or is_compiled(body)
    if is_body:
        body = compiled(body, signature)
    name = _name_of(body)
    if inspect.isclass(body) and not any("__call__" in vars(base) for base in body.__mro__):
        raise UsageError(f"{name} needs __call__(), which each firing calls")
    sources = _ports("in", inputs, name)
    sinks = _ports("out", outputs, name)
    if in_place and fill:
        raise UsageError(f"{name} is to be in_place and to fill: say one of the two")
    if in_place and [port.dtype for _, port in sources] != [port.dtype for _, port in sinks]:
        raise UsageError(f"{name} is to be in_place, so it has as many outputs as inputs, of the same types")
    if (in_place or (is_body and not fill)) and any(port.at_least > 1 or not port.required for _, port in sources):
        raise UsageError(f"{name} works on one buffer of each input, so at_least and required=False are not for it")
    if is_body and events:
        raise UsageError(f"{name} is a compiled body, which has no way to send events")
    if is_body and on_any_input:
        raise UsageError(f"{name} is a compiled body, which needs all of its inputs")
    if is_body and not sources:
        raise UsageError(f"{name} is a compiled body without an input: nothing would tell it to end. Let a writer or a Python function be the source")
    shaped = (fill or is_body) and not in_place
    declared = {
        "type": name,
        "inputs": [(port_name, port.dtype, port.required, port.at_least) for port_name, port in sources],
        "outputs": [(port_name, port.dtype, _shape(name, port_name, port.shape, sources) if shaped else 0) for port_name, port in sinks],
        "settings": [_setting(key, value) for key, value in (settings or {}).items()],
        "events": [(str(event), like) for event, like in (events or {}).items()],
        "may_be_copied": may_be_copied, "on_any_input": on_any_input, "fill": fill, "in_place": in_place, "isolation": isolation,
        "keeps_state": False, "compiled": is_body,
    }  # fmt: skip
    return Filter(body, declared)


def _name_of(body: Any) -> str:
    for attribute in ("__qualname__", "name", "__name__"):
        if isinstance(name := getattr(body, attribute, None), str):
            return name
    return type(body).__qualname__


def _ports(usual: str, given: Any, owner: str) -> list[tuple[str, Port]]:
    if given is None:
        return []
    if not isinstance(given, Mapping):
        given = {usual: given}
    return [(str(name), _port(name, port, owner)) for name, port in given.items()]


def _port(name: Any, given: Any, owner: str) -> Port:
    port = given if isinstance(given, Port) else Port(given)
    if "." in str(name) or "/" in str(name):
        raise UsageError(f"the port '{name}' of {owner} cannot have '.' or '/' in its name")
    if not isinstance(port.at_least, int) or port.at_least < 1:
        raise UsageError(f"at_least of port '{name}' of {owner} is a number, 1 or more")
    return port._replace(dtype=dtype_name(port.dtype))


def dtype_name(dtype: Any) -> str:
    """NumPy's name of an element type that streams carry. Raises ElementError."""
    import numpy as np

    try:
        made = np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError) as error:
        raise ElementError(f"{dtype!r} is no element type: {error}") from error
    if made.byteorder not in "=|" or made.kind not in "biufc":
        raise ElementError(f"streams do not carry elements of type {made}; give a number, bool or complex type, as in 'float32'")
    return made.name


def _shape(owner: str, name: str, shape: Any, sources: list[tuple[str, Port]]) -> int | tuple[int, ...]:
    """A tuple, or the number of the input."""
    if shape is None and sources:
        return 0
    if isinstance(shape, str):
        for number, (source, _) in enumerate(sources):
            if source == shape:
                return number
        raise UsageError(f"output '{name}' of {owner} is to have the shape of input '{shape}', which does not exist")
    if shape is None:
        raise UsageError(f"output '{name}' of {owner} needs a shape: {owner} has no input whose shape it could have")
    extents = shape if isinstance(shape, (tuple, list)) else (shape,)
    if not 1 <= len(extents) <= 3 or any(not isinstance(extent, int) or extent < 0 for extent in extents):
        raise UsageError(f"the shape of output '{name}' of {owner} is one to three numbers, or the name of an input")
    return tuple(extents)


def _setting(name: str, given: Any) -> tuple[str, Any, str, float, float, list[str], str]:
    if not str(name).isidentifier() or str(name).startswith("_") or name in ("start", "finish", "on_event", "take_over"):
        raise UsageError(f"'{name}' cannot be the name of a setting: functions are given it by name, objects as an attribute")
    setting = given if isinstance(given, Setting) else Setting(given)
    return str(name), setting.value, setting.unit, float(setting.least), float(setting.most), list(setting.choices), setting.doc


def _refuse_no_settings(given: Any) -> None:
    if given is not None and not isinstance(given, Mapping):
        raise UsageError(f"settings are names with values, as in {{'factor': 2.0}}, not a {type(given).__name__}")


def _given(declared: list[Any], values: Mapping[str, Any] | None, owner: str) -> list[Any]:
    """The settings with other first values. A whole number may stand for a floating-point one."""
    _refuse_no_settings(values)
    left = dict(values or {})
    made = []
    for name, value, *limits in declared:
        first = left.pop(name, value)
        if isinstance(value, float) and isinstance(first, int) and not isinstance(first, bool):
            first = float(first)
        if isinstance(first, bool) != isinstance(value, bool) or isinstance(first, str) != isinstance(value, str):
            raise UsageError(f"setting '{name}' of {owner} is a {type(value).__name__}, not {first!r}")
        made.append((name, first, *limits))
    if left:
        raise UsageError(f"{owner} has no setting called '{next(iter(left))}'")
    return made


def _converted(value: Any, dtype: str) -> "np.ndarray":
    """For the compiled part: what a filter returned, as a contiguous array of this type."""
    import numpy as np

    array = np.asarray(value)
    if array.ndim > 3:
        raise UsageError(f"a buffer has one to three dimensions, and this array has {array.ndim}; give it another shape")
    try:
        return np.ascontiguousarray(array.astype(dtype, casting="same_kind", copy=False))
    except TypeError as error:
        raise TypeError(
            f"values of type {array.dtype} cannot go into a stream of {dtype}, which would change them: say how, as in array.astype('{dtype}'), or "
            f"let the port be '{array.dtype}'"
        ) from error
