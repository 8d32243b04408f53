"""C signatures as text: from 'void (const float *x, intptr_t n)' to NumPy's names of the parameter types."""

import ctypes
import re
from dataclasses import dataclass

from penstock.errors import BodyError


@dataclass(frozen=True)
class Signature:
    """Parameters by NumPy name, '*' behind a pointer, 'const ' before a pointer to const; 'void*' points to anything."""

    parameters: tuple[str, ...]

    def __str__(self) -> str:
        return f"void ({', '.join(self.parameters)})"


def _integer(size: int, signed: bool) -> str:
    return f"{'' if signed else 'u'}int{8 * size}"


_LONG, _POINTER = ctypes.sizeof(ctypes.c_long), ctypes.sizeof(ctypes.c_void_p)

_TYPES = {
    "void": "void", "bool": "bool", "_Bool": "bool",
    "char": "int8", "signed char": "int8", "unsigned char": "uint8", "npy_bool": "bool",
    "short": "int16", "unsigned short": "uint16", "int": "int32", "signed": "int32", "unsigned": "uint32", "unsigned int": "uint32",
    "long": _integer(_LONG, True), "unsigned long": _integer(_LONG, False),
    "long long": "int64", "unsigned long long": "uint64",
    "intptr_t": _integer(_POINTER, True), "uintptr_t": _integer(_POINTER, False),
    "ssize_t": _integer(_POINTER, True), "size_t": _integer(_POINTER, False), "ptrdiff_t": _integer(_POINTER, True),
    "Py_ssize_t": _integer(_POINTER, True), "npy_intp": _integer(_POINTER, True), "npy_uintp": _integer(_POINTER, False),
    "intp": _integer(_POINTER, True), "uintp": _integer(_POINTER, False),
    "float": "float32", "double": "float64", "long double": "float128", "npy_float": "float32", "npy_double": "float64",
    "float _Complex": "complex64", "double _Complex": "complex128", "_Complex float": "complex64", "_Complex double": "complex128",
    "float complex": "complex64", "double complex": "complex128", "_cffi_float_complex_t": "complex64",
    "_cffi_double_complex_t": "complex128", "boolean": "bool",
}  # fmt: skip
for _bits in (8, 16, 32, 64):
    for _name in (f"int{_bits}", f"uint{_bits}"):
        _TYPES[_name] = _TYPES[_name + "_t"] = _TYPES["npy_" + _name] = _name
for _name in ("float32", "float64", "complex64", "complex128"):
    _TYPES[_name] = _TYPES["npy_" + _name] = _name

_QUALIFIERS = {"volatile", "restrict", "__restrict", "__restrict__", "register"}


def parameter(text: str, whole: str) -> str:
    """One parameter, with or without its name. Raises BodyError for what is not known; `whole` is for the message."""
    declared = re.sub(r"\[\s*\d*\s*\]", "*", text)  # T x[] is T *x
    stars = declared.count("*")
    base, _, rest = declared.partition("*")
    words = [word for word in base.split() if word not in _QUALIFIERS]
    constant = "const" in words
    plain = " ".join(word for word in words if word != "const")
    plain = re.sub(r"\b(short|long|^signed|^unsigned) int\b", r"\1", plain)  # 'long int' is 'long'
    known = _TYPES.get(plain) or _TYPES.get(plain.rpartition(" ")[0])  # the last word may be the parameter's name
    if stars > 1 or known is None or (stars == 0 and known == "void") or re.search(r"[^\w\s*]", rest):
        raise BodyError(
            f"the parameter '{text.strip()}' of '{whole}' is not one that tasks have; use numbers (float, double, int32_t, intptr_t, ...) and pointers to them"
        )
    return ("const " if constant and stars else "") + known + "*" * stars


def parse(text: str) -> Signature:
    """A C function type: 'void (const float *, intptr_t)', with or without names. Raises BodyError.

    The function must return void: what a task finds goes through Out and InOut.
    """
    match = re.fullmatch(r"\s*([\w\s*]*?)\s*(?:\(\s*\*\s*\w*\s*\))?\s*\(([^()]*)\)\s*;?\s*", text)
    if match is None:
        raise BodyError(f"'{text}' is not a C signature; write it as 'void (const float *, intptr_t, float)'")
    returned, inside = match[1].split(), match[2].strip()
    if not returned or returned[0] != "void" or "*" in match[1] or len(returned) > 2:
        raise BodyError(f"'{text}' returns something; tasks return nothing: return void and write results through Out(...)")
    if inside in ("", "void"):
        return Signature(())
    return Signature(tuple(parameter(part, text.strip()) for part in inside.split(",")))
