"""Checks of results against references that are not Penstock: SciPy, OpenCV, NumPy, scikit-image, Pillow. Each returns rows of a check table."""

import io
from typing import Any

import numpy as np
from PIL import Image

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
    """The factors of a diagonally dominant matrix, element by element, against LAPACK's of the transpose in double (dgetrf stores L with
    the unit diagonal, we store U with it)."""
    try:
        from scipy.linalg import lapack
    except ImportError:
        return [], ["SciPy"]
    expected, pivots, _ = lapack.dgetrf(matrix.T.astype(np.float64))
    tolerance = 1.5e-11 if factors.dtype == np.float64 else 3e-6
    moved = int((pivots != np.arange(len(matrix))).sum())
    difference = float(np.abs(factors - expected.T).max() / np.abs(expected).max())
    return [
        check("rows that LAPACK moved", 0, moved, 0, "scipy.linalg.lapack.dgetrf"),
        check("largest difference of a factor", 0, difference, tolerance, "scipy.linalg.lapack.dgetrf"),
    ], []


def decoded_tiles(jpeg: np.ndarray, offsets: np.ndarray, numbers: range) -> list[np.ndarray]:
    """Tiles of the application "tissue" (its arrays "tiles" and "starts") by Pillow's decoder: rows x columns x 3, uint8."""
    return [np.asarray(Image.open(io.BytesIO(jpeg[offsets[tile] : offsets[tile + 1]].tobytes()))) for tile in numbers]


def check_tissue(arrays: dict[str, np.ndarray], most: int = 64) -> tuple[list[Check], list[str]]:
    """At most `most` tiles of the application "tissue" against Pillow and scikit-image, from the JPEG pictures on.

    arrays: as the application keeps them. Returns the checks, and the names of references that are not installed.
    """
    count = len(arrays["features"])
    numbers = range(0, count, -(-count // most))
    across, overview = arrays["result"].shape[1], arrays["overview"]
    tiles = decoded_tiles(arrays["tiles"], arrays["starts"], numbers)
    other_pixels = 0
    high, wide = tiles[0].shape[0] // 4, tiles[0].shape[1] // 4
    for number, tile in zip(numbers, tiles, strict=True):
        rows, columns = tile.shape[0] // 4, tile.shape[1] // 4
        means = tile[: 4 * rows, : 4 * columns].reshape(rows, 4, columns, 4, 3).sum((1, 3), dtype=int)
        drawn = overview[number // across * high :, number % across * wide :][:rows, :columns]
        inside = np.s_[1 : rows - 1, 1 : columns - 1]  # the class is drawn around it
        other_pixels += int((drawn[inside] != ((means + 8) // 16)[inside]).any(-1).sum())
    checks = [check("pixels of the overview that differ", 0, other_pixels, 0, "Pillow, NumPy")]
    try:
        expected = np.array([tissue_features(tile) for tile in tiles])
    except ImportError:
        return checks, ["scikit-image"]
    off = np.abs(arrays["features"][list(numbers)] - expected)
    source = "Pillow, scikit-image, float64"
    checks += [
        check("largest difference of a mean or a deviation", 0, float(off[:, [0, 1, 4, 5, 8, 9]].max()), 1e-4, source),
        check("largest difference of a skewness or a kurtosis", 0, float((off / (1 + np.abs(expected)))[:, [2, 3, 6, 7, 10, 11]].max()), 1e-3, source),
        check("largest difference of a share of patterns", 0, float(off[:, 12:].max()), 1e-12, source),
    ]
    return checks, []


def tissue_features(rgb: np.ndarray) -> np.ndarray:
    """The 22 features of a tile (rows x columns x 3, uint8) by scikit-image: mean, deviation, skewness and kurtosis of L*, of a* and of b*, then
    the shares of the ten uniform local binary patterns of the grey tile."""
    from skimage.color import rgb2lab
    from skimage.feature import local_binary_pattern

    channels = rgb2lab(rgb).reshape(-1, 3).T
    features = []
    for channel in channels:
        away, deviation = channel - channel.mean(), channel.std()
        third, fourth = ((away / deviation) ** 3).mean() if deviation else 0.0, ((away / deviation) ** 4).mean() - 3 if deviation else 0.0
        features += [channel.mean(), deviation, third, fourth]
    codes = local_binary_pattern(np.asarray(Image.fromarray(rgb).convert("L")), 8, 1, "uniform").astype(int)
    return np.concatenate([features, np.bincount(codes.ravel(), minlength=10) / codes.size])
