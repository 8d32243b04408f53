"""Functions of numba's @njit as compiled bodies: their arrays stay where they are, and no worker interpreter is asked.

For each function and each combination of argument types a small C function is compiled around it, once. It makes the arrays of what a
task brings (pointer, elements, extents), calls the function, and tells when that raised something.
"""

import ctypes
from typing import Any

import numpy as np

from penstock import _core
from penstock.body import compiled

# By function and kinds of arguments: the body, or None where the function has to be called as a Python body.
_made: dict[tuple[Any, ...], tuple["_core.Body | None", Any]] = {}
_MOST_MADE = 4096

# The tag, or none; the number of NumPy's element type; dimensions, less than none where there is a distance between rows.
Kind = tuple[type | None, int, int]
_TAGS = {_core.In, _core.Out, _core.InOut}
_NUMBERS: dict[type, Kind] = {bool: (None, np.dtype(bool).num, 0), int: (None, np.dtype(np.int64).num, 0), float: (None, np.dtype(np.float64).num, 0)}
_ELEMENTS = {np.dtype(letter).num: np.dtype(letter) for letter in "?bhilqBHILQefdFD"}


def as_compiled(function: Any, arguments: tuple[Any, ...]) -> "tuple[_core.Body, tuple[Any, ...]] | None":
    """The body for this function and these arguments, and its arguments; None where it is to be called as a Python body: it returns
    something, or an argument is neither a tagged array of NumPy nor a number."""
    kinds: list[Any] = [id(function)]
    given: list[Any] = []
    for argument in arguments:
        given.append(argument)
        kind = type(argument)
        if kind in _TAGS:
            array = argument.array
            if type(array) is not np.ndarray or not array.dtype.isnative:
                return None
            dimensions = array.ndim
            if not array.flags.c_contiguous:
                if not _has_rows(array):
                    return None
                dimensions = -2
            elif dimensions > 1:
                given.extend(array.shape)
            kinds.append((kind, array.dtype.num, dimensions))
        elif kind in _NUMBERS:
            kinds.append(_NUMBERS[kind])
        elif isinstance(argument, np.generic):
            kinds.append((None, argument.dtype.num, 0))
        else:
            return None
    key = tuple(kinds)
    made = _made.get(key)
    if made is None:
        if len(_made) >= _MOST_MADE:
            _made.clear()
        made = _made[key] = _make(function, kinds[1:]), function  # held, so that its id stays its own
    return None if made[0] is None else (made[0], tuple(given))


def _has_rows(array: np.ndarray) -> bool:
    return array.ndim == 2 and array.strides[1] == array.itemsize and array.strides[0] > 0 and array.strides[0] % array.itemsize == 0


def _make(function: Any, kinds: list[Kind]) -> "_core.Body | None":
    import numba
    from numba.core.errors import NumbaError
    from numba.core.registry import cpu_target

    if any(kind[1] not in _ELEMENTS or (kind[0] and kind[2] == 0) for kind in kinds):
        return None
    # Where its types are declared, they say nothing about reading only.
    for read_only in (True,) if function._can_compile else (True, False):  # noqa: SLF001 - numba has no public name for it
        types = tuple(_type_of(kind, read_only) for kind in kinds)
        try:
            signature = numba.typeof(function).get_call_type(cpu_target.typing_context, types, {})  # compiles it for these
        except (NumbaError, TypeError):
            continue
        if signature is None:
            continue
        return compiled(_wrapped(function, kinds, read_only)) if str(signature.return_type) == "none" else None
    return None  # as a Python body it says what is wrong


def _type_of(kind: Kind, read_only: bool) -> Any:
    from numba import from_dtype, types

    element = from_dtype(_ELEMENTS[kind[1]])
    if not kind[0]:
        return element
    return types.Array(element, abs(kind[2]), "C" if kind[2] > 0 else "A", readonly=read_only and kind[0] is _core.In)


def _wrapped(function: Any, kinds: list[Kind], read_only: bool) -> Any:
    import numba

    parameters, types, passed = [], [], []
    for number, kind in enumerate(kinds):
        element = numba.from_dtype(_ELEMENTS[kind[1]])
        name = f"a{number}"
        if not kind[0]:
            parameters.append(name)
            types.append(element)
            passed.append(name)
            continue
        types.append(numba.types.CPointer(element))
        if kind[2] < 0:
            parameters += [name, f"{name}_rows", f"{name}_columns", f"{name}_pitch"]
            types += [numba.types.intp] * 3
            made = f"carray({name}, ({name}_rows, {name}_pitch))[:, :{name}_columns]"
        elif kind[2] == 1:
            parameters += [name, f"{name}_n"]
            types.append(numba.types.intp)
            made = f"carray({name}, ({name}_n,))"
        else:
            extents = [f"{name}_{d}" for d in range(kind[2])]
            parameters += [name, f"{name}_n", *extents]
            types += [numba.types.intp] * (1 + kind[2])
            made = f"carray({name}, ({', '.join(extents)}))"
        passed.append(f"read_only({made})" if read_only and kind[0] is _core.In else made)
    source = (
        f"def task({', '.join(parameters)}):\n"
        f"    try:\n"
        f"        body({', '.join(passed)})\n"
        f"    except Exception:\n"
        f"        raised()\n"
    )
    names = {"body": function, "carray": numba.carray, "read_only": _read_only(), "raised": _raised}
    exec(source, names)  # noqa: S102 - of the names above only
    task = names["task"]
    task.__name__ = task.__qualname__ = function.py_func.__name__
    return numba.cfunc(numba.types.void(*types))(task)


_raised = ctypes.CFUNCTYPE(None)(_core._body_raised_address())  # noqa: SLF001 - the package's own
_made_read_only: list[Any] = []


def _read_only() -> Any:
    """In compiled code: the same array, of the type that cannot be written to."""
    if not _made_read_only:
        from numba.core.imputils import impl_ret_borrowed
        from numba.extending import intrinsic

        @intrinsic
        def read_only(typing_context: Any, array: Any) -> Any:  # noqa: ARG001 - as numba calls it
            locked = array.copy(readonly=True)

            def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                return impl_ret_borrowed(context, builder, signature.return_type, arguments[0])

            return locked(array), generate

        _made_read_only.append(read_only)
    return _made_read_only[0]
