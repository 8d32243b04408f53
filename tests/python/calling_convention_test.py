"""Parameters reach C functions as the processor's calling convention has it, however many and however mixed."""

import ctypes
import random

import numpy as np
import pytest

import penstock as ps

TYPES = ["int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t", "float", "double", "bool"]
LIMITS = {f"{u}int{b}_t": (0, 2**b - 1) if u else (-(2 ** (b - 1)), 2 ** (b - 1) - 1) for u in ("", "u") for b in (8, 16, 32, 64)}


def value_of(kind, dice):
    if kind == "bool":
        return dice.choice([True, False])
    if kind == "float":
        return float(np.float32(dice.uniform(-1e3, 1e3)))
    if kind == "double":
        return dice.uniform(-1e300, 1e300)
    low, high = LIMITS[kind]
    return dice.choice([low, high, dice.randint(low, high)])


def function_text(number, kinds):
    """Stores parameter i as bytes at out + 8 i."""
    parameters = ", ".join(f"{kind} p{i}" for i, kind in enumerate(kinds))
    stores = " ".join(f"memcpy(out + 8 * {i}, &p{i}, sizeof p{i});" for i in range(len(kinds)))
    return f'extern "C" void f{number}(uint8_t *out, intptr_t n{", " + parameters if parameters else ""}) {{ {stores} }}'


@pytest.fixture(scope="module")
def functions(tmp_path_factory):
    from importlib import util
    from pathlib import Path

    spec = util.spec_from_file_location("penstock_test_natives", Path(__file__).with_name("conftest.py"))
    natives = util.module_from_spec(spec)
    spec.loader.exec_module(natives)
    dice = random.Random(4)
    lists = [[], ["double"] * 9, ["int8_t"] * 9, ["float"] * 20, ["int64_t", "float"] * 12]
    lists += [[dice.choice(TYPES) for _ in range(dice.randint(1, 60))] for _ in range(40)]
    source = tmp_path_factory.mktemp("convention") / "functions.cpp"
    source.write_text("#include <cstdint>\n#include <cstring>\n" + "\n".join(function_text(i, kinds) for i, kinds in enumerate(lists)))
    return ctypes.CDLL(str(natives.compile_library(source))), lists


def test_every_parameter_arrives(functions, machine):
    library, lists = functions
    dice = random.Random(5)
    for number, kinds in enumerate(lists):
        address = ctypes.cast(getattr(library, f"f{number}"), ctypes.c_void_p).value
        values = [value_of(kind, dice) for kind in kinds]
        out = np.zeros(8 * len(kinds) + 8, np.uint8)
        machine.call(address, ps.Out(out), *values, signature=f"void (uint8_t *, intptr_t{''.join(', ' + kind for kind in kinds)})").wait()
        for i, (kind, value) in enumerate(zip(kinds, values, strict=True)):
            dtype = {"float": np.float32, "double": np.float64, "bool": np.bool_}.get(kind) or np.dtype(kind[:-2])
            assert out[8 * i : 8 * i + np.dtype(dtype).itemsize].view(dtype)[0] == value, (number, i, kind)


def test_a_call_with_more_than_the_stack_carries_is_refused(machine, native):
    kinds = ", ".join(["double"] * 400)
    with pytest.raises(ps.UsageError, match="array"):
        machine.call(native.address("nothing"), *[0.0] * 400, signature=f"void ({kinds})")


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int8_t", 128), ("int8_t", -129), ("uint8_t", 256), ("uint8_t", -1), ("int32_t", 2**31), ("int64_t", 2**63), ("uint64_t", 2**64),
        ("uint64_t", -1), ("bool", 2), ("int32_t", 1.5), ("int32_t", "1"), ("int32_t", None), ("float", "1"), ("float", 1e39), ("double", 1j),
        ("double", 2**53 + 1), ("float", 2**24 + 1), ("double", np.zeros(3)), ("int32_t", np.zeros(3)),
    ],
)  # fmt: skip
def test_a_number_that_its_parameter_cannot_hold_is_refused(kind, value, machine, native):
    with pytest.raises(ps.ArgumentError) as caught:
        machine.call(native.address("nothing"), value, signature=f"void ({kind})")
    assert caught.value.argument == 1
    machine.barrier()


@pytest.mark.parametrize(
    ("kind", "value"),
    [("int32_t", np.int64(5)), ("bool", np.bool_(True)), ("float", np.float64(2.5)), ("double", 3), ("float", float("inf")), ("uint8_t", True)],
)
def test_numbers_of_numpy_are_numbers(kind, value, machine, native):
    machine.call(native.address("nothing"), value, signature=f"void ({kind})").wait()
