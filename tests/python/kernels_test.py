"""The kernels of images give what NumPy, SciPy, OpenCV and scikit-image give, on photographs and on noise."""

import cv2
import numpy as np
import pytest
import scipy.fft
import scipy.ndimage
import skimage.color
import skimage.data
import skimage.feature

import penstock as ps
from penstock import kernels
from penstock.kernels import Interpolation, Outside, PatternCode, YuvRange

SCIPY = {Outside.reflect101: "mirror", Outside.replicate: "nearest", Outside.constant: "grid-constant"}
OPENCV = dict(zip(Outside, (cv2.BORDER_REFLECT_101, cv2.BORDER_REPLICATE, cv2.BORDER_CONSTANT), strict=True))


@pytest.fixture(scope="module")
def call():
    """Calls a kernel as a task and waits; arrays are In but for the one that is named as result."""
    with ps.Machine(targets=1) as machine:

        def run(body, *arguments, result):
            def tagged(a):
                return a if not isinstance(a, np.ndarray) else ps.Out(a) if any(a is r for r in result) else ps.In(a)

            machine.call(body, *map(tagged, arguments)).wait()
            return result[0]

        yield run


@pytest.fixture(scope="module")
def camera():
    return np.ascontiguousarray(skimage.data.camera()[:300, :411])


@pytest.fixture(scope="module")
def real(camera):
    return camera.astype(np.float32) / 255


def test_maximum_is_numpys(call, camera, real):
    for body, a in ((kernels.maximum_uint8, camera), (kernels.maximum_float32, real)):
        b, out = np.ascontiguousarray(a[::-1]), np.empty_like(a)
        assert np.array_equal(call(body, a, b, out, result=[out]), np.maximum(a, b))
    a, b = (np.array([row], np.float32) for row in ([1, np.nan, 3, np.nan], [2, 5, np.nan, np.nan]))
    out = np.empty_like(a)
    assert np.array_equal(call(kernels.maximum_float32, a, b, out, result=[out]), np.maximum(a, b), equal_nan=True)


@pytest.mark.parametrize("outside", list(Outside))
@pytest.mark.parametrize("shape", [(3, 3), (5, 1), (1, 5), (5, 5), (7, 9)])
def test_convolutions_are_scipys_and_opencvs(call, camera, real, outside, shape):
    random = np.random.default_rng(1)
    weights = random.uniform(-1, 1, shape).astype(np.float32)
    out = np.empty_like(real)
    call(kernels.convolve_float32, real, weights, out, 0, outside, 0.25, 0, 0, result=[out])
    exact = scipy.ndimage.correlate(real.astype(np.float64), weights.astype(np.float64), mode=SCIPY[outside], cval=0.25)
    size = scipy.ndimage.correlate(real.astype(np.float64), np.abs(weights).astype(np.float64), mode=SCIPY[outside], cval=0.25)
    assert np.all(np.abs(out - exact) <= 1e-6 * size)
    if outside != Outside.constant:
        assert np.allclose(out, cv2.filter2D(real, -1, weights, borderType=OPENCV[outside]), atol=1e-5)

    whole = random.integers(-9, 10, shape).astype(np.int16)
    bytes_out = np.empty_like(camera)
    call(kernels.convolve_uint8, camera, whole, bytes_out, 5, outside, 200, 0, 0, result=[bytes_out])
    sums = scipy.ndimage.correlate(camera.astype(np.int64), whole.astype(np.int64), mode=SCIPY[outside], cval=200)
    assert np.array_equal(bytes_out, np.clip((sums + 16) >> 5, 0, 255))


@pytest.mark.parametrize("outside", list(Outside))
def test_separable_convolutions_are_scipys(call, camera, real, outside):
    down, across = np.array([1, 4, 6, 4, 1]), np.array([-1, 3, 9, 2, 0, 1, 2])
    out = np.empty_like(real)
    weights = down.astype(np.float32), across.astype(np.float32)
    call(kernels.convolve_separable_float32, real, *weights, out, 0, outside, 0.0, 0, 0, result=[out])
    exact = scipy.ndimage.correlate(real.astype(np.float64), np.outer(down, across).astype(float), mode=SCIPY[outside])
    assert np.allclose(out, exact, rtol=0, atol=1e-6 * 16 * 18)
    bytes_out = np.empty_like(camera)
    weights = down.astype(np.int16), across.astype(np.int16)
    call(kernels.convolve_separable_uint8, camera, *weights, bytes_out, 8, outside, 0, 0, 0, result=[bytes_out])
    sums = scipy.ndimage.correlate(camera.astype(np.int64), np.outer(down, across), mode=SCIPY[outside])
    assert np.array_equal(bytes_out, np.clip((sums + 128) >> 8, 0, 255))


@pytest.mark.parametrize("outside", list(Outside))
def test_affine_transformations_are_scipys_and_opencvs(call, camera, real, outside):
    # No short fractions, of which many places would lie half-way between two pixels.
    matrix = 0.917 * np.array([[np.cos(0.45), np.sin(0.45)], [-np.sin(0.45), np.cos(0.45)]])
    offset = np.array([-31.7123, 63.2071])
    numbers = np.hstack([matrix, offset[:, None]]).ravel()
    out = np.empty((257, 381), np.float32)
    call(kernels.affine_float32, real, numbers, out, Interpolation.bilinear, outside, 0.5, 0, 0, result=[out])
    wanted = scipy.ndimage.affine_transform(
        real.astype(np.float64), matrix, offset, output_shape=out.shape, order=1, mode=SCIPY[outside], cval=0.5
    )
    assert np.abs(out - wanted).max() < 1e-5
    turned = np.array([[matrix[1, 1], matrix[1, 0], offset[1]], [matrix[0, 1], matrix[0, 0], offset[0]]])
    opencv = cv2.warpAffine(
        real, turned, out.shape[::-1], flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP, borderMode=OPENCV[outside], borderValue=0.5
    )
    assert np.abs(out - opencv).max() < 0.05  # OpenCV may take places to 1/32 of a pixel

    bytes_out = np.empty(out.shape, np.uint8)
    call(kernels.affine_uint8, camera, numbers, bytes_out, Interpolation.bilinear, outside, 128, 0, 0, result=[bytes_out])
    wanted = scipy.ndimage.affine_transform(
        camera.astype(np.float64), matrix, offset, output_shape=out.shape, order=1, mode=SCIPY[outside], cval=128
    )
    assert np.abs(bytes_out - wanted).max() < 0.502
    call(kernels.affine_uint8, camera, numbers, bytes_out, Interpolation.nearest, outside, 128, 0, 0, result=[bytes_out])
    shape = out.shape
    wanted = scipy.ndimage.affine_transform(camera, matrix, offset, output_shape=shape, order=0, mode=SCIPY[outside], cval=128)
    assert np.count_nonzero(bytes_out != wanted) < 10  # places nearly half-way between two pixels


def test_yuv_to_rgb_is_the_definition(call):
    random = np.random.default_rng(2)
    y, u, v = (random.integers(0, 256, shape, dtype=np.uint8) for shape in ((120, 331), (60, 166), (60, 166)))
    out = np.empty((120, 331 * 3), np.uint8)
    call(kernels.yuv_to_rgb, y, u, v, out, YuvRange.studio, result=[out])
    light = (y.astype(float) - 16) * 255 / 219
    blue, red = ((c.repeat(2, axis=0).repeat(2, axis=1)[:, :331].astype(float) - 128) * 255 / 224 for c in (u, v))
    r, b = light + 1.402 * red, light + 1.772 * blue
    rgb = np.stack([r, (light - 0.299 * r - 0.114 * b) / 0.587, b], axis=-1)
    assert np.abs(out.reshape(120, 331, 3) - np.clip(rgb, 0, 255)).max() < 0.53


def test_the_inverse_cosine_transform_is_scipys(call):
    random = np.random.default_rng(3)
    blocks = random.normal(0, 200, (100, 8, 8)).astype(np.float32)
    flat, values = blocks.ravel(), np.empty(blocks.size, np.float32)
    call(kernels.idct_8x8, flat, values, result=[values])
    exact = scipy.fft.idctn(blocks.astype(np.float64), axes=(1, 2), norm="ortho")
    assert np.abs(values.reshape(blocks.shape) - exact).max() < 1e-6 * np.sqrt((blocks.astype(float) ** 2).sum(axis=(1, 2))).max()
    coefficients = np.rint(blocks[:24]).astype(np.int16)
    pixels = np.empty((32, 48), np.uint8)
    call(kernels.idct_8x8_pixels, coefficients.ravel(), pixels, result=[pixels])
    exact = scipy.fft.idctn(coefficients.astype(np.float64), axes=(1, 2), norm="ortho") + 128
    exact = exact.reshape(4, 6, 8, 8).transpose(0, 2, 1, 3).reshape(32, 48)
    assert np.abs(pixels - np.clip(exact, 0, 255)).max() < 0.501


def test_cielab_and_its_statistics_are_scikit_images(call):
    tissue = np.ascontiguousarray(skimage.data.immunohistochemistry()[:400])
    lab, statistics = np.empty((400, 512 * 3), np.float32), np.empty(7)
    call(kernels.rgb_to_lab_with_statistics, tissue.reshape(400, -1), lab, statistics, result=[lab, statistics])
    wanted = skimage.color.rgb2lab(tissue)
    assert np.abs(lab.reshape(wanted.shape) - wanted).max() < 1e-4
    assert statistics[0] == 400 * 512
    assert np.allclose(statistics[1:4], wanted.mean(axis=(0, 1)), atol=1e-4)
    assert np.allclose(statistics[4:] / statistics[0], wanted.var(axis=(0, 1)), rtol=1e-5)
    again = np.empty_like(lab)
    assert np.array_equal(call(kernels.rgb_to_lab, tissue.reshape(400, -1), again, result=[again]), lab)


@pytest.mark.parametrize("code", list(PatternCode))
def test_local_binary_patterns_are_scikit_images_bit_for_bit(call, camera, code):
    image = camera.copy()
    image[100:150] = 77  # where all are the same, codes show how products are rounded
    out = np.empty_like(image)
    call(kernels.local_binary_pattern_uint8, image, out, code, Outside.constant, 0, 0, 0, 0, 0, result=[out])
    method = "uniform" if code == PatternCode.uniform else "default"
    assert np.array_equal(out, skimage.feature.local_binary_pattern(image, 8, 1, method))


def test_a_tile_with_what_surrounds_it_gives_the_bits_of_the_whole(call, camera):
    weights, whole, tile = np.ones((3, 3), np.int16), np.empty_like(camera), np.empty((64, 64), np.uint8)
    call(kernels.convolve_uint8, camera, weights, whole, 3, Outside.reflect101, 0, 0, 0, result=[whole])
    call(kernels.convolve_uint8, camera[99:165, 49:115], weights, tile, 3, Outside.reflect101, 0, 1, 1, result=[tile])
    assert np.array_equal(tile, whole[100:164, 50:114])


def test_what_does_not_fit_fails_the_task_and_says_why(call, camera):
    out = np.empty((3, 3), np.uint8)
    with pytest.raises(ps.TaskFailed, match="same shape"):
        call(kernels.maximum_uint8, camera, camera, out, result=[out])
    with pytest.raises(ps.TaskFailed, match="Outside"):
        call(kernels.convolve_uint8, camera, np.ones((3, 3), np.int16), out, 3, 7, 0, 0, 0, result=[out])
