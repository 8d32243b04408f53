"""Every kind of compiled function is a body; everything else is refused with what to do."""

import ctypes

import cffi
import numba
import numpy as np
import pytest
from scipy import LowLevelCallable

import penstock as ps

SIGNATURE = "void (const float *x, intptr_t n, float *y, intptr_t m, float a)"
FLOATS, SIZE = ctypes.POINTER(ctypes.c_float), ctypes.c_ssize_t


@numba.cfunc("void(CPointer(float32), intp, CPointer(float32), intp, float32)")
def numba_scale(x, n, y, m, a):
    for i in range(n):
        y[i] = a * x[i]


@numba.njit
def jitted(x):
    return x


def capsule(address, name):
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return make(address, name, None)


NAME = ctypes.c_char_p(SIGNATURE.encode())  # lives as long as the capsules that borrow it


def every_kind(native):
    declared = ctypes.CFUNCTYPE(None, FLOATS, SIZE, FLOATS, SIZE, ctypes.c_float)(native.address("scale"))
    of_library = native.library.scale
    of_library.restype, of_library.argtypes = None, [
        np.ctypeslib.ndpointer(np.float32), SIZE, np.ctypeslib.ndpointer(np.float32), SIZE, ctypes.c_float,
    ]  # fmt: skip
    ffi = cffi.FFI()
    ffi.cdef("void scale(const float *x, intptr_t n, float *y, intptr_t m, float a);")
    named = capsule(native.address("scale"), NAME)
    return {
        "numba": numba_scale,
        "ctypes prototype": declared,
        "ctypes library": of_library,
        "cffi library": ffi.addressof(ffi.dlopen(str(native.path)), "scale"),
        "cffi cast": ffi.cast("void (*)(const float *, intptr_t, float *, intptr_t, float)", native.address("scale")),
        "capsule": named,
        "LowLevelCallable": LowLevelCallable(named),
        "body": ps.compiled(native.address("scale"), SIGNATURE),
    }


KINDS = ["numba", "ctypes prototype", "ctypes library", "cffi library", "cffi cast", "capsule", "LowLevelCallable", "body"]


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_compiled_function_runs(kind, native, machine):
    x, y = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
    machine.call(every_kind(native)[kind], ps.In(x), ps.Out(y), 2.5).wait()
    assert np.array_equal(y, np.float32(2.5) * x)


def test_an_address_runs_with_a_signature_and_not_without(native, machine):
    x, y = np.arange(10, dtype=np.float32), np.zeros(10, np.float32)
    machine.call(native.address("scale"), ps.In(x), ps.Out(y), 3.0, signature=SIGNATURE).wait()
    assert np.array_equal(y, 3 * x)
    with pytest.raises(ps.BodyError, match="signature="):
        machine.call(native.address("scale"), ps.In(x), ps.Out(y), 3.0)


def test_a_python_function_with_a_signature_is_refused_with_the_way_to_compile_it(machine):
    for function in (lambda x: None, jitted):
        with pytest.raises(ps.BodyError, match=r"numba\.cfunc"):
            machine.call(function, ps.In(np.zeros(3)), signature="void (const double *x, intptr_t n)")


@pytest.mark.parametrize("wrong", [None, 3.5, "scale", object(), 0, -1, True, 1 << 64])
def test_what_is_no_function_is_refused(wrong, machine):
    with pytest.raises(ps.UsageError):
        machine.call(wrong, ps.In(np.zeros(3)))


def test_functions_that_return_something_are_refused(native, machine):
    undeclared = ctypes.CDLL(str(native.path)).returns
    with pytest.raises(ps.BodyError, match="restype = None"):
        machine.call(undeclared, 1)
    returning = numba.cfunc("float64(float64)")(lambda x: x)
    with pytest.raises(ps.BodyError, match="return nothing"):
        machine.call(returning, 1.0)
    with pytest.raises(ps.BodyError, match="return"):
        machine.call(native.address("returns"), 1, signature="int (int)")


def test_a_ctypes_function_whose_types_change_is_looked_at_again(native, machine):
    function = ctypes.CDLL(str(native.path)).count
    function.restype, function.argtypes = None, [ctypes.POINTER(ctypes.c_int64), SIZE]
    x = np.zeros(4, np.int64)
    machine.call(function, ps.InOut(x)).wait()
    function.argtypes = [ctypes.POINTER(ctypes.c_double), SIZE]
    with pytest.raises(ps.ArgumentError, match="int64"):
        machine.call(function, ps.InOut(x))
    assert np.array_equal(x, np.ones(4))


def test_a_ctypes_function_without_declared_parameters_is_refused(native, machine):
    function = ctypes.CDLL(str(native.path)).nothing
    function.restype = None
    with pytest.raises(ps.BodyError, match="argtypes"):
        machine.call(function)
    machine.call(function, signature="void (void)").wait()


def test_a_python_callback_of_ctypes_runs_while_this_thread_waits(machine):
    seen = []
    callback = ctypes.CFUNCTYPE(None, ctypes.c_int)(seen.append)
    machine.call(callback, 7).wait()
    for i in range(50):
        machine.call(callback, i)
    machine.barrier()
    assert sorted(seen) == sorted([7, *range(50)])


def test_bodies_say_who_they_are(native):
    body = ps.compiled(native.address("scale"), SIGNATURE, "scale")
    assert body.name == "scale" and body.address == native.address("scale")
    assert body.signature == "void (const float32*, int64, float32*, int64, float32)"
    assert "scale" in repr(body)
    assert ps.compiled(numba_scale).name == "numba_scale"
    assert ps.compiled(body, name="other").name == "other"
