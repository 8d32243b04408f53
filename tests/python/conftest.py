"""Machines and compiled functions that the tests share."""

import ctypes
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import penstock as ps

# Worker processes import the programs of ranks (rank_programs.py) by name, with the paths of this process.
sys.path.append(str(Path(__file__).resolve().parent))

from command_line import FIRST  # noqa: E402

# A shell that runs the tests in the background had them ignore Ctrl-C, and so would all programs that they start.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

NATIVE = r"""
#include <cstdint>
#include <stdexcept>
#include <unistd.h>

extern "C" {
void scale(const float* x, intptr_t n, float* y, intptr_t, float a) { for (intptr_t i = 0; i < n; ++i) y[i] = a * x[i]; }
void add_one(double* x, intptr_t rows, intptr_t columns, intptr_t pitch) {
    for (intptr_t r = 0; r < rows; ++r)
        for (intptr_t c = 0; c < columns; ++c) x[r * pitch + c] += 1;
}
void describe(const void* x, intptr_t rows, intptr_t columns, intptr_t pitch, int64_t* out, intptr_t) {
    out[0] = reinterpret_cast<intptr_t>(x); out[1] = rows; out[2] = columns; out[3] = pitch;
}
void count(int64_t* x, intptr_t n) { for (intptr_t i = 0; i < n; ++i) ++x[i]; }
void gate(const volatile int64_t* open, intptr_t) { while (__atomic_load_n(open, __ATOMIC_ACQUIRE) == 0) {} }
void wait_and_sum(const volatile int64_t* open, intptr_t, const double* x, intptr_t n, double* sum, intptr_t) {
    gate(open, 1);
    *sum = 0;
    for (intptr_t i = 0; i < n; ++i) *sum += x[i];
}
void fail(int32_t code) { throw std::runtime_error("code " + std::to_string(code)); }
void nothing() {}
void where(int64_t* out, intptr_t) { *out = getpid(); }
void go(int32_t how, int64_t* out, intptr_t) {
    if (how == 1) std::raise(SIGSEGV);
    if (how == 2) std::exit(7);
    while (how == 3) {}
    *out = how;
}
void fill(intptr_t begin, intptr_t end, int64_t* x, intptr_t, int64_t value) { for (intptr_t i = begin; i < end; ++i) x[i] += i + value; }
void fail_at(intptr_t begin, intptr_t end, intptr_t where) { if (begin <= where && where < end) throw std::runtime_error("at it"); }
void fail_with(const int32_t*, intptr_t n) { throw std::runtime_error("with " + std::to_string(n)); }
void add(const float* x, intptr_t n, const float* y, intptr_t, float* out, intptr_t, float b) {
    for (intptr_t i = 0; i < n; ++i) out[i] = x[i] + b * y[i];
}
void transposed(const double* x, intptr_t rows, intptr_t columns, intptr_t pitch, double* y, intptr_t, intptr_t, intptr_t other) {
    for (intptr_t r = 0; r < rows; ++r)
        for (intptr_t c = 0; c < columns; ++c) y[c * other + r] = x[r * pitch + c];
}
void look_up(const int32_t* table, intptr_t, const int64_t* at, intptr_t n, int32_t* out, intptr_t) {
    for (intptr_t i = 0; i < n; ++i) out[i] = table[at[i]];
}
int32_t returns(int32_t x) { return x; }
}
"""


class Native:
    """Functions compiled by the C++ compiler, as ctypes finds them; `source` and `path` for other ways to reach them."""

    def __init__(self, folder: Path) -> None:
        source = folder / "native.cpp"
        source.write_text("#include <csignal>\n#include <cstdlib>\n#include <string>\n" + NATIVE)
        self.path = compile_library(source)
        self.library = ctypes.CDLL(str(self.path))

    def address(self, name: str) -> int:
        return ctypes.cast(getattr(self.library, name), ctypes.c_void_p).value

    def body(self, name: str, signature: str) -> ps.Body:
        return ps.compiled(self.address(name), signature, name)


def compile_library(source: Path) -> Path:
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    library = source.with_suffix(".so")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-w", "-o", str(library), str(source)], check=True)
    return library


@pytest.fixture(scope="session")
def native(tmp_path_factory):
    return Native(tmp_path_factory.mktemp("native"))


@pytest.fixture
def machine():
    with ps.Machine(targets=1) as made:
        yield made


@pytest.fixture(scope="module")
def shared():
    """One machine for most tests of a file, so that its workers start once."""
    with ps.Machine(targets=1) as made:
        yield made


@pytest.fixture
def both():
    with ps.Machine(targets=2) as made:
        yield made


@pytest.fixture(scope="session")
def scale_body(native):
    return native.body("scale", "void (const float *x, intptr_t n, float *y, intptr_t m, float a)")


@pytest.fixture(scope="session")
def fail(native):
    return native.body("fail", "void (int32_t code)")


@pytest.fixture(scope="session")
def gate(native):
    return native.body("gate", "void (const int64_t *open, intptr_t n)")


@pytest.fixture(scope="session")
def count(native):
    return native.body("count", "void (int64_t *x, intptr_t n)")


@pytest.fixture
def sums(tmp_path):
    """The first application of docs/language.md, as a file."""
    file = tmp_path / "sums.xml"
    file.write_text(FIRST, encoding="utf-8")
    return file


@pytest.fixture
def counts_pickles():
    """An int once it has travelled; its type counts in `pickles` how often it was sent."""

    class Counted:
        pickles = 0

        def __reduce__(self):
            Counted.pickles += 1
            return int, ()

    return Counted()
