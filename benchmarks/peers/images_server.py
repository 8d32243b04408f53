"""What OpenCV, scikit-image, SciPy and NumPy do for the kernels of images: a batch whenever a line of the input asks for one.

A line is "libraries" (answered with the names of those that are installed), or a kernel, a type, rows, columns and a library,
answered with the nanoseconds of one call, and with 0 where that library has no such thing. All run on one thread, into memory
that exists already where they take it.
"""

import importlib
import sys
import time

import numpy as np

random = np.random.default_rng(1)


def optional(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


cv2, ndimage, fft = optional("cv2"), optional("scipy.ndimage"), optional("scipy.fft")
color, feature, transform = optional("skimage.color"), optional("skimage.feature"), optional("skimage.transform")
if cv2:
    cv2.setNumThreads(1)
LIBRARIES = {"numpy": np, "opencv": cv2, "scipy": ndimage, "scikit-image": color}


def image(rows, columns, kind, channels=None):
    shape = (rows, columns) if channels is None else (rows, columns, channels)
    return random.integers(0, 256, shape, dtype=np.uint8) if kind == "uint8" else random.random(shape, dtype=np.float32)


def maximum(rows, columns, kind):
    a, b, out = (image(rows, columns, kind) for _ in range(3))
    return {"numpy": lambda: np.maximum(a, b, out=out), "opencv": lambda: cv2.max(a, b, dst=out)}


def filtered(rows, columns, kind, weights):
    a, out = (image(rows, columns, kind) for _ in range(2))
    weights = np.asarray(weights, np.float32)
    ways = {
        "opencv": lambda: cv2.filter2D(a, -1, weights, dst=out, borderType=cv2.BORDER_REFLECT_101),
        "scipy": lambda: ndimage.correlate(a, weights, output=out, mode="mirror"),
    }
    return ways


def separable(rows, columns, kind, down, across):
    a, out = (image(rows, columns, kind) for _ in range(2))
    down, across = np.asarray(down, np.float32), np.asarray(across, np.float32)
    between = np.empty_like(out)

    def scipy():
        ndimage.correlate1d(a, down, axis=0, output=between, mode="mirror")
        ndimage.correlate1d(between, across, axis=1, output=out, mode="mirror")

    return {"opencv": lambda: cv2.sepFilter2D(a, -1, across, down, dst=out, borderType=cv2.BORDER_REFLECT_101), "scipy": scipy}


def better_of(*ways):
    """The library's fastest way, from one call each after a first."""

    def seconds(way):
        way()
        begin = time.perf_counter()
        way()
        return time.perf_counter() - begin

    return min(ways, key=seconds)


BINOMIAL = [1 / 16, 4 / 16, 6 / 16, 4 / 16, 1 / 16]


def convolution_3x3(rows, columns, kind):
    return filtered(rows, columns, kind, np.array([[1, 2, 1], [2, 5, 2], [0, 2, 1]]) / 16)


def convolution_5x1(rows, columns, kind):
    ways = filtered(rows, columns, kind, np.array(BINOMIAL)[:, None])
    halves = separable(rows, columns, kind, BINOMIAL, [1])
    if cv2:
        ways["opencv"] = better_of(ways["opencv"], halves["opencv"])
    return ways


def convolution_separable_5x5(rows, columns, kind):
    return separable(rows, columns, kind, BINOMIAL, BINOMIAL)


def convolution_dense_5x5(rows, columns, kind):
    return filtered(rows, columns, kind, np.arange(25).reshape(5, 5) / 300)


def convolution_dense_7x7(rows, columns, kind):
    return filtered(rows, columns, kind, np.arange(49).reshape(7, 7) / 1176)


def affine(rows, columns, kind, order):
    a, out = (image(rows, columns, kind) for _ in range(2))
    matrix, offset = np.array([[0.9, 0.3], [-0.3, 0.9]]), np.array([-20.0, 50.0])
    turned = np.array([[matrix[1, 1], matrix[1, 0], offset[1]], [matrix[0, 1], matrix[0, 0], offset[0]]])
    if cv2:
        flags = (cv2.INTER_LINEAR if order else cv2.INTER_NEAREST) | cv2.WARP_INVERSE_MAP
    ways = {
        "opencv": lambda: cv2.warpAffine(a, turned, (columns, rows), dst=out, flags=flags, borderMode=cv2.BORDER_REPLICATE),
        "scipy": lambda: ndimage.affine_transform(a, matrix, offset, output=out, order=order, mode="nearest"),
    }
    if transform:
        whole = transform.AffineTransform(np.vstack([turned, [0, 0, 1]]))
        ways["scikit-image"] = lambda: transform.warp(a, whole, order=order, mode="edge", preserve_range=True)
    return ways


def yuv_420(rows, columns, kind):
    planes, rgb = image(rows * 3 // 2, columns, kind), image(rows, columns, kind, 3)
    return {"opencv": lambda: cv2.cvtColor(planes, cv2.COLOR_YUV2RGB_I420, dst=rgb)}


def yuv_444(rows, columns, kind):
    yuv, rgb = (image(rows, columns, kind, 3) for _ in range(2))
    ways = {"opencv": lambda: cv2.cvtColor(yuv, cv2.COLOR_YCrCb2RGB, dst=rgb)}
    if color:
        ways["scikit-image"] = lambda: color.ycbcr2rgb(yuv)
    return ways


def idct(rows, columns, kind):
    blocks = random.random((rows * columns // 64, 8, 8), dtype=np.float32)
    out = np.empty_like(blocks)

    def opencv():
        for block, to in zip(blocks, out, strict=True):
            cv2.idct(block, dst=to)

    return {"scipy": lambda: fft.idctn(blocks, axes=(1, 2), norm="ortho"), "opencv": opencv}


def lab(rows, columns, kind):
    pixels = image(rows, columns, "uint8", 3)
    numbers = pixels.astype(np.float32) / 255
    out = np.empty_like(numbers)
    ways = {"opencv": lambda: cv2.cvtColor(numbers, cv2.COLOR_RGB2LAB, dst=out)}
    if color:
        ways["scikit-image"] = lambda: color.rgb2lab(numbers)
    return ways


def lab_statistics(rows, columns, kind):
    ways = lab(rows, columns, kind)
    result = image(rows, columns, "float", 3)
    convert = ways["opencv"]
    made = {"opencv": lambda: (convert(), cv2.meanStdDev(result))}
    if color:
        convert_too = ways["scikit-image"]
        made["scikit-image"] = lambda: (values := convert_too(), values.mean(axis=(0, 1)), values.var(axis=(0, 1)))
    return made


def local_binary_pattern(rows, columns, kind):
    a = image(rows, columns, "uint8")
    return {"scikit-image": lambda: feature.local_binary_pattern(a, 8, 1)} if feature else {}


KERNELS = {
    "maximum": maximum,
    "convolution-3x3": convolution_3x3,
    "convolution-5x1": convolution_5x1,
    "convolution-separable-5x5": convolution_separable_5x5,
    "convolution-dense-5x5": convolution_dense_5x5,
    "convolution-dense-7x7": convolution_dense_7x7,
    "affine-bilinear": lambda *shape: affine(*shape, order=1),
    "affine-nearest": lambda *shape: affine(*shape, order=0),
    "yuv2rgb-420": yuv_420,
    "yuv2rgb-444": yuv_444,
    "idct-8x8": idct,
    "rgb-to-lab": lab,
    "rgb-to-lab-statistics": lab_statistics,
    "local-binary-pattern": local_binary_pattern,
}


def nanoseconds(way):
    """One call, from as many as fill two milliseconds."""
    begin = time.perf_counter_ns()
    way()
    calls = max(1, int(2e6 / max(1, time.perf_counter_ns() - begin)))
    begin = time.perf_counter_ns()
    for _ in range(calls):
        way()
    return (time.perf_counter_ns() - begin) / calls


def main():
    ready = {}
    print("ready", flush=True)
    for line in sys.stdin:
        if line.strip() == "libraries":
            print(" ".join(name for name, module in LIBRARIES.items() if module), flush=True)
            continue
        kernel, kind, rows, columns, library = line.split()
        case = kernel, kind, rows, columns
        if case not in ready:
            ready.clear()  # one case at a time, so that its images stay in the caches as they would
            ready[case] = KERNELS[kernel](int(rows), int(columns), kind)
        way = ready[case].get(library) if LIBRARIES.get(library) else None
        print(nanoseconds(way) if way else 0, flush=True)


if __name__ == "__main__":
    main()
