"""Compiled bodies: from what Python has of a C function to its address and signature.

Supported are numba `cfunc`s, ctypes and cffi function pointers with declared types, capsules whose name is their C signature
(SciPy's `LowLevelCallable` and Cython's `__pyx_capi__`), and bare addresses with a signature.
"""

import ctypes
import sys
from typing import Any

from penstock._core import Body
from penstock.errors import BodyError
from penstock.signature import Signature, parameter, parse

# Nothing is mapped below.
LOWEST_ADDRESS = 4096
CALLED_ALREADY = " (a task is machine.call(f, x): with machine.call(f(x)) the function has run before)"


def compiled(function: Any, signature: str | None = None, name: str | None = None) -> Body:
    """The body that `machine.call` makes of `function`, made once and named.

    function: numba cfunc, ctypes or cffi function pointer, capsule, LowLevelCallable, or an address
    signature: in C, 'void (const float *, intptr_t, float)'; in place of the declared one, and needed for addresses and for
        capsules without a name
    name: for traces and errors, by default the function's own

    Raises BodyError for anything else, for plain Python functions too, and for functions that return something.
    """
    if isinstance(function, Body):
        given = parse(signature) if signature else None
        parameters = list(given.parameters) if given else list(parse(function.signature).parameters)
        return Body(function.address, str(given or function.signature), parameters, name or function.name, function.function)
    address, declared, own_name = _look_into(function, signature is None)
    found = parse(signature) if signature is not None else declared
    if found is None:
        raise BodyError(f"{own_name} says nothing about its parameters; give signature='void (const float *, intptr_t, ...)'")
    return Body(address, str(found), list(found.parameters), name or own_name, function)


def is_compiled(function: Any) -> bool:
    """Is this callable one of the kinds of compiled functions, rather than a Python body?"""
    if _is_numba_cfunc(function) or isinstance(function, ctypes._CFuncPtr):  # noqa: SLF001 - the only name of the base of all function pointers
        return True
    backend = sys.modules.get("_cffi_backend")
    return backend is not None and isinstance(function, backend._CDataBase)  # noqa: SLF001 - the base of all cffi objects


def _look_into(function: Any, needs_signature: bool) -> tuple[int, Signature | None, str]:
    """Address, declared signature where one is needed and there is one, and name."""
    if isinstance(function, int) and not isinstance(function, bool):
        if not 0 < function < 1 << 64 or (needs_signature and function < LOWEST_ADDRESS):
            raise BodyError(f"{function} is not the address of a function{CALLED_ALREADY}")
        return function, None, f"{function:#x}"
    if _is_numba_cfunc(function):
        return function.address, _of_numba(function) if needs_signature else None, getattr(function, "__name__", "cfunc")
    if isinstance(function, ctypes._CFuncPtr):  # noqa: SLF001 - the only name of the base of all function pointers
        address = ctypes.cast(function, ctypes.c_void_p).value or 0
        own_name = getattr(function, "__name__", None) or f"{address:#x}"
        return address, _of_ctypes(function, own_name) if needs_signature else None, own_name
    if type(function).__name__ == "PyCapsule":
        return _of_capsule(function, needs_signature)
    if isinstance(function, tuple) and type(function).__name__ == "LowLevelCallable":
        return _of_low_level_callable(function, needs_signature)
    if (backend := sys.modules.get("_cffi_backend")) is not None:
        if isinstance(function, backend._CDataBase):  # noqa: SLF001 - the base of all cffi objects
            return _of_cffi(backend, function, needs_signature)
    raise BodyError(_refusal(function))


def _refusal(function: Any) -> str:
    kind = type(function).__name__
    if callable(function):
        return (
            f"{getattr(function, '__name__', kind)} is a Python callable, not a compiled function: call it without signature=, or compile "
            "it: @numba.cfunc('void(CPointer(float32), intp)'), with numba.carray(x, n) inside"
        )
    return (
        f"a {kind} is no body{CALLED_ALREADY}; give a Python function, a numba cfunc, a ctypes or cffi function pointer, a capsule whose name "
        "is its C signature, or an address with signature='void (...)'"
    )


def _is_numba_cfunc(function: Any) -> bool:
    return type(function).__module__.startswith("numba.") and hasattr(function, "address") and hasattr(function, "_sig")


def _of_numba(function: Any) -> Signature:
    signature = function._sig  # noqa: SLF001 - CFunc has no public name for it
    if str(signature.return_type) != "none":
        raise BodyError(f"{function.__name__} returns {signature.return_type}; tasks return nothing: declare it as void(...)")
    return Signature(tuple(parameter(str(argument), str(signature)) for argument in signature.args))


_CTYPES = {
    "?": "bool", "c": "int8", "b": "int8", "B": "uint8", "h": "int16", "H": "uint16", "i": "int32", "I": "uint32", "q": "int64", "Q": "uint64",
    "l": "int64" if ctypes.sizeof(ctypes.c_long) == 8 else "int32", "L": "uint64" if ctypes.sizeof(ctypes.c_long) == 8 else "uint32",
    "f": "float32", "d": "float64", "g": "float128", "P": "void*", "z": "int8*",
}  # fmt: skip


def _of_ctypes(function: Any, name: str) -> Signature:
    if function.restype is not None:
        raise BodyError(f"{name}.restype is {function.restype.__name__}; tasks return nothing: set {name}.restype = None")
    if function.argtypes is None:
        raise BodyError(f"{name} has no declared parameters; set {name}.argtypes, or give signature='void (...)'")
    return Signature(tuple(_ctypes_parameter(declared, name) for declared in function.argtypes))


def _ctypes_parameter(declared: Any, name: str) -> str:
    if (element := getattr(declared, "_dtype_", None)) is not None:  # numpy.ctypeslib.ndpointer
        return f"{element.name}*"
    code = getattr(declared, "_type_", None)
    if isinstance(code, str) and code in _CTYPES:
        return _CTYPES[code]
    if isinstance(code, type) and isinstance(inner := getattr(code, "_type_", None), str) and inner in _CTYPES:
        if not _CTYPES[inner].endswith("*"):
            return f"{_CTYPES[inner]}*"
    raise BodyError(f"the parameter type {declared!r} of {name} is not one that tasks have; use numbers and pointers to them")


_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_name_of = ctypes.pythonapi.PyCapsule_GetName
_name_of.restype, _name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]


def _of_capsule(capsule: Any, needs_signature: bool) -> tuple[int, Signature | None, str]:
    text = _name_of(capsule)
    address = _pointer_of(capsule, text) or 0
    declared = parse(text.decode()) if needs_signature and text is not None else None
    return address, declared, f"capsule {address:#x}"


def _of_low_level_callable(function: Any, needs_signature: bool) -> tuple[int, Signature | None, str]:
    if function.user_data is not None:
        raise BodyError("this LowLevelCallable has user_data; tasks have arguments instead: pass it as one")
    return _of_capsule(tuple.__getitem__(function, 0), needs_signature)


def _of_cffi(backend: Any, function: Any, needs_signature: bool) -> tuple[int, Signature | None, str]:
    kind = backend.typeof(function)
    if kind.kind == "pointer" and kind.item.kind == "function":
        kind = kind.item
    if kind.kind != "function":
        raise BodyError(f"{function!r} is no function pointer")
    address = int(backend.cast(backend.new_primitive_type("uintptr_t"), function))
    declared = None
    if needs_signature:
        if kind.ellipsis:
            raise BodyError(f"{kind.cname} takes any number of arguments; tasks have fixed ones")
        if kind.result.kind != "void":
            raise BodyError(f"{kind.cname} returns {kind.result.cname}; tasks return nothing: return void")
        declared = Signature(tuple(parameter(argument.cname, kind.cname) for argument in kind.args))
    return address, declared, f"{address:#x}"
