"""Kernels of images as bodies: `machine.call(ps.kernels.maximum_uint8, ps.In(a), ps.In(b), ps.Out(result))`.

The same functions as in C++ (kernels/*.hpp, docs/kernels.md), which say what each computes. Images are arrays of two dimensions
whose rows may lie apart, so tiles are slices; those of RGB have the three channels side by side in each row
(`rgb.reshape(rows, -1)`). Names end in the type of the pixels where there are two.

    maximum_*(a, b, out)
    convolve_*(window, weights, out, shift, outside, value, row, column)
    convolve_separable_*(window, vertical, horizontal, out, shift, outside, value, row, column)
    affine_*(image, matrix, out, interpolation, outside, value, row, column)
    local_binary_pattern_*(window, out, code, outside, value, row, column, image_row, image_column)
    yuv_to_rgb(y, u, v, rgb, range)
    idct_8x8(coefficients, values)             float32, any number of blocks one after the other
    idct_8x8_pixels(coefficients, pixels)      int16 coefficients, uint8 pixels
    rgb_to_lab(rgb, lab)
    rgb_to_lab_with_statistics(rgb, lab, statistics)   7 float64: pixels, 3 means, 3 sums of squared distances from them

weights: float32, or int16 for uint8, whose sums are divided by 2**shift; for float32 `shift` is 0. convolve_* takes two dimensions
of them. row, column: where `out` begins in the window (for affine: in the whole result). matrix: 6 float64, row by row. What does
not fit fails the task with TaskFailed, which says why.
"""

from enum import IntEnum

from penstock._core import kernel_bodies as _kernel_bodies
from penstock.body import compiled as _compiled


class Outside(IntEnum):
    """What lies outside of an image a b c d: c b | a b c d | c b, or a a | a b c d | d d, or one value."""

    reflect101 = 0
    replicate = 1
    constant = 2


class Interpolation(IntEnum):
    """The pixel whose middle is nearest, or the four around."""

    nearest = 0
    bilinear = 1


class PatternCode(IntEnum):
    """A bit for each neighbour, or how many of them (9 where they do not lie side by side)."""

    pattern = 0
    uniform = 1


class YuvRange(IntEnum):
    """Black and white are 16 and 235, or 0 and 255."""

    studio = 0
    full = 1


_bodies = {name: _compiled(address, signature, name) for name, address, signature in _kernel_bodies()}
globals().update(_bodies)

__all__ = ["Interpolation", "Outside", "PatternCode", "YuvRange", *_bodies]
