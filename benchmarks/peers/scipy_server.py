"""SciPy's side of the benchmarks: does what a line of its input asks for and answers with the nanoseconds that it took.

Started by peers/scipy.cpp with the number of threads of its BLAS in the environment, so that SciPy's batches can be
interleaved with everybody else's.
"""

import sys
import time

import numpy as np
import scipy.linalg
import scipy.ndimage

random = np.random.default_rng(1)


def saxpy(size):
    x, y = (random.random(size, dtype=np.float32) for _ in range(2))
    return lambda: scipy.linalg.blas.saxpy(x, y, a=1.7)


def sgemv(size):
    a = random.random((size, size), dtype=np.float32)
    x, y = (random.random(size, dtype=np.float32) for _ in range(2))
    return lambda: scipy.linalg.blas.sgemv(1.5, a.T, x, beta=0.5, y=y, trans=1, overwrite_y=1)


def addition(rows):
    a, b, total = (random.random((rows, rows // 2), dtype=np.float32) for _ in range(3))
    return lambda: np.add(a, b, out=total)


def conv2d(side):
    image, result = (random.random((side, side), dtype=np.float32) for _ in range(2))
    line = np.array([1, 4, 6, 4, 1], dtype=np.float32)
    smoothing = np.outer(line, line) / 256
    return lambda: scipy.ndimage.correlate(image, smoothing, output=result, mode="mirror")


def lu(order):
    a = random.random((order, order)) + order * np.eye(order)
    return lambda: scipy.linalg.lu_factor(a, check_finite=False)


KERNELS = {"saxpy": saxpy, "sgemv": sgemv, "addition": addition, "conv2d": conv2d, "lu": lu}


def main():
    ready = {}
    print("ready", flush=True)
    for line in sys.stdin:
        name, size = line.split()
        if line not in ready:
            ready[line] = KERNELS[name](int(size))
        ready[line]()
        begin = time.perf_counter_ns()
        ready[line]()
        print(time.perf_counter_ns() - begin, flush=True)


if __name__ == "__main__":
    main()
