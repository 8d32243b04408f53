"""Checks of results against references that are not Penstock: SciPy, OpenCV, NumPy. Each returns rows of a check table."""

from typing import Any

import numpy as np

Check = dict[str, Any]


def check(name: str, expected: float, actual: float, tolerance: float, source: str) -> Check:
    """One row: |actual - expected| <= tolerance. A figure that is not a number does not hold."""
    return {
        "name": name, "expected": expected, "actual": actual, "tolerance": tolerance, "source": source,
        "ok": bool(abs(actual - expected) <= tolerance),
    }  # fmt: skip


def check_filter(image: np.ndarray, weights: np.ndarray, result: np.ndarray) -> tuple[list[Check], list[str]]:
    """Planes of a filtered image (planes x rows x columns, float32) against float64 filters of SciPy and OpenCV.

    Returns the checks, and the names of references that are not installed.
    """
    checks, missing = [], []
    wide, kernel = image.astype(np.float64), weights.astype(np.float64)
    try:
        from scipy import ndimage

        expected = np.stack([ndimage.correlate(plane, kernel, mode="mirror") for plane in wide])
        checks.append(_largest_difference(result, expected, "scipy.ndimage.correlate, float64"))
    except ImportError:
        missing.append("SciPy")
    try:
        import cv2

        expected = np.stack([cv2.filter2D(plane, cv2.CV_64F, kernel, borderType=cv2.BORDER_REFLECT_101) for plane in wide])
        checks.append(_largest_difference(result, expected, "cv2.filter2D, float64"))
    except ImportError:
        missing.append("OpenCV")
    return checks, missing


def _largest_difference(result: np.ndarray, expected: np.ndarray, source: str) -> Check:
    # Pixels are 0 to 1 and weights add up to 1, so this is the error relative to full white.
    return check("largest difference of a pixel", 0, float(np.abs(result - expected).max()), 1e-6, source)


def check_factors(matrix: np.ndarray, factors: np.ndarray) -> list[Check]:
    """L U (pivots in L, unit diagonal of U not stored) against the matrix, with NumPy alone."""
    lower = np.tril(factors)
    upper = np.triu(factors, 1) + np.eye(len(factors))
    residual = np.linalg.norm(matrix - lower @ upper) / np.linalg.norm(matrix)
    sign, log_determinant = np.linalg.slogdet(matrix)
    ours = np.log(np.abs(np.diag(factors))).sum()
    return [
        check("|A - L U| / |A|", 0, float(residual), 1e-12, "numpy.linalg.norm"),
        check("log |det A|", float(log_determinant), float(ours), 1e-9 * abs(float(log_determinant)), "numpy.linalg.slogdet"),
    ]


def check_against_lapack(matrix: np.ndarray, factors: np.ndarray) -> tuple[list[Check], list[str]]:
    """The factors of a diagonally dominant matrix, element by element, against LAPACK's of the transpose (dgetrf stores L with
    the unit diagonal, we store U with it)."""
    try:
        from scipy.linalg import lapack
    except ImportError:
        return [], ["SciPy"]
    expected, pivots, _ = lapack.dgetrf(matrix.T)
    moved = int((pivots != np.arange(len(matrix))).sum())
    difference = float(np.abs(factors - expected.T).max() / np.abs(expected).max())
    return [
        check("rows that LAPACK moved", 0, moved, 0, "scipy.linalg.lapack.dgetrf"),
        check("largest difference of a factor", 0, difference, 1.5e-11, "scipy.linalg.lapack.dgetrf"),
    ], []
