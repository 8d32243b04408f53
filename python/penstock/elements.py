"""What lies in a region: NumPy types of fixed size, in any shape; and how its owner tells others of it."""

import ast
import errno
import math
import operator
import sys
from typing import Any

import numpy as np

from penstock.errors import ElementError, InvalidGrant, SystemError, UsageError  # noqa: A004 - the name of its counterpart in C++

LONGEST_DESCRIPTION = 1000  # bytes that a grant has room for

Layout = tuple[np.dtype, tuple[int, ...], int, int]  # type, shape, bytes of an element, number of elements


def element_type(dtype: Any) -> np.dtype:
    """What NumPy takes `dtype` for. Raises ElementError for Python objects, and for elements that have no size of their own."""
    try:
        made = np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError) as error:
        raise ElementError(f"{dtype!r} is no element type: {error}") from error
    if made.hasobject:
        raise ElementError(f"elements of type {made} are Python objects, which no other process can use; take numbers or a structure of them")
    if made.subdtype is not None:
        raise ElementError(f"{made} is an array type; give the type of its elements, and its dimensions in the shape")
    if made.itemsize == 0:
        raise ElementError(f"elements of type {made} have no size; say how long they are, as in 'S8'")
    return made


def dimensions(shape: Any) -> tuple[int, ...]:
    """A number, or numbers, as a tuple of them."""
    try:
        return tuple(map(operator.index, shape)) if isinstance(shape, (tuple, list)) else (operator.index(shape),)
    except TypeError as error:
        raise UsageError(f"the shape of a region is a number or a tuple of numbers, not {shape!r}") from error


def new_layout(name: str, shape: Any, dtype: Any) -> Layout:
    """Of a region to be made."""
    elements, extents = element_type(dtype), dimensions(shape)
    if any(extent < 1 for extent in extents):
        raise UsageError(f"region '{name}' of shape {extents} has nothing to store to; every dimension has at least 1")
    count = math.prod(extents)
    if count * elements.itemsize > sys.maxsize:
        raise SystemError(f"region '{name}' of {count} elements of {elements.itemsize} bytes is larger than any memory; ask for less", number=errno.ENOMEM)
    return elements, extents, elements.itemsize, count


def describe(dtype: np.dtype, shape: tuple[int, ...]) -> str:
    """For the owner's description; empty when there is no room for it, or no such words (fields that overlap)."""
    try:
        text = repr((np.lib.format.dtype_to_descr(dtype), shape))
    except ValueError:
        return ""
    return text if len(text.encode()) <= LONGEST_DESCRIPTION else ""


def accepted_layout(owner: int, name: str, item_bytes: int, total: int, description: str, shape: Any, dtype: Any) -> Layout:
    """Of a region that was granted: as its owner described it, unless `shape` and `dtype` say otherwise.

    Raises InvalidGrant when the memory cannot be that, UsageError when nobody says what the elements are.
    """

    def invalid(what: str) -> InvalidGrant:
        return InvalidGrant(f"the memory '{name}' that rank {owner} granted cannot be used: {what}", owner=owner, name=name)

    described: tuple[np.dtype, tuple[int, ...]] | None = None
    if description and dtype is None:
        try:
            descr, extents = ast.literal_eval(description)
            described = element_type(np.lib.format.descr_to_dtype(descr)), dimensions(extents)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError, UsageError) as error:
            raise invalid("its description is spoilt") from error
    if described is None and dtype is None:
        raise UsageError(
            f"rank {owner} does not say what the elements of '{name}' are (a C++ program does not, and long or overlapping "
            "structures are not told); call accept() again with their dtype"
        )
    elements, extents = described or (element_type(dtype), (total // item_bytes,))
    if shape is not None:
        extents = dimensions(shape)
    if elements.itemsize != item_bytes:
        raise invalid(f"its elements have {item_bytes} bytes, and those of type {elements} have {elements.itemsize}")
    if any(extent < 1 for extent in extents) or math.prod(extents) * item_bytes != total:
        raise invalid(f"it has {total} bytes, and {extents} elements of {item_bytes} bytes have {math.prod(extents) * item_bytes}")
    return elements, extents, item_bytes, math.prod(extents)
