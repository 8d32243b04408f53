"""C signatures as text."""

import pytest

import penstock as ps
from penstock.signature import parse


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        ("void (void)", ()),
        ("void()", ()),
        ("void (float *, npy_intp)", ("float32*", "int64")),
        ("void (const double *x, Py_ssize_t n)", ("const float64*", "int64")),
        ("void (double const *x)", ("const float64*",)),
        ("void (float x[], int n)", ("float32*", "int32")),
        ("void scale(unsigned char *, unsigned long long n, _Bool b)", ("uint8*", "uint64", "bool")),
        ("void (*)(long int a, unsigned short int b, signed char)", ("int64", "uint16", "int8")),
        ("void (int64_t a, uint32_t b, size_t c, void *d)", ("int64", "uint32", "uint64", "void*")),
        ("void (float *restrict x, const volatile int *y)", ("float32*", "const int32*")),
    ],
)
def test_the_types_of_c_are_understood(text, parameters):
    assert parse(text).parameters == parameters


@pytest.mark.parametrize(
    "text", ["", "float", "int (int)", "void * (int)", "float (float)", "void (float **)", "void (struct s)", "void (void x)", "void (...)",
             "void (float, )", "void (int (*f)(int))"]
)  # fmt: skip
def test_what_tasks_cannot_have_is_refused(text):
    with pytest.raises(ps.BodyError):
        parse(text)
