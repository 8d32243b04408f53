"""The kernels as classes, each against a library that computes the same."""

import numpy as np
import pytest
from PIL import Image

cv2 = pytest.importorskip("cv2")
pytest.importorskip("scipy")
pytest.importorskip("skimage")

from scipy import ndimage, stats  # noqa: E402
from skimage import color, feature  # noqa: E402


def test_colours(through, photo):
    assert np.array_equal(through("grey", {"picture": photo[None]}, "grey")[0, ..., 0], np.asarray(Image.fromarray(photo).convert("L")))
    assert np.array_equal(through("channel", {"picture": photo[None]}, "grey", number=2)[0, ..., 0], photo[..., 2])
    lab = through("lab", {"picture": photo[None]}, "lab", np.float32)[0]
    assert np.abs(lab - color.rgb2lab(photo)).max() < 1e-3
    wanted = ((lab[..., 0] <= 60) & (lab[..., 1] >= 5)) * 255
    assert np.array_equal(through("mask", {"values": lab[None]}, "mask", most_0=60, least_1=5)[0, ..., 0], wanted)
    y, u, v = (np.asarray(each) for each in Image.fromarray(photo).convert("YCbCr").split())
    rgb = through("yuv-to-rgb", {"y": y[None], "u": u[None], "v": v[None]}, "picture", range="full")[0]
    assert np.abs(rgb.astype(int) - photo).max() <= 3
    floats = through("to-floats", {"picture": photo[None]}, "floats", np.float32)[0]
    assert np.abs(floats - photo / 255).max() < 1e-6
    assert np.array_equal(through("to-bytes", {"floats": floats[None]}, "picture")[0], photo)


def test_neighbourhoods(through, photo):
    grey = np.asarray(Image.fromarray(photo).convert("L"))
    blurred = through("blur", {"picture": photo[None]}, "blurred", sigma=1.5)[0]
    assert np.abs(blurred - ndimage.gaussian_filter(photo.astype(float), (1.5, 1.5, 0), mode="nearest", truncate=3)).max() <= 2.5
    weights = np.array([[1, 2, 0], [0, -3, 1], [2, 0, 1]], np.float32)
    text = "; ".join(" ".join(f"{each:g}" for each in row) for row in weights)
    found = through("convolve", {"picture": photo[None]}, "convolved", weights=text, offset=10)[0]
    assert np.array_equal(found, np.clip(cv2.filter2D(photo.astype(np.float32), -1, weights, borderType=cv2.BORDER_REFLECT_101) + 10, 0, 255))
    floats = through("convolve:float32", {"picture": grey[None].astype(np.float32)}, "convolved", np.float32, weights=text, border="replicate")[0]
    assert np.abs(floats[..., 0] - ndimage.correlate(grey.astype(np.float32), weights, mode="nearest")).max() < 1e-3
    edges = through("edges", {"grey": grey[None]}, "edges")[0, ..., 0]
    dx, dy = (cv2.Sobel(grey.astype(np.float32), -1, *order, borderType=cv2.BORDER_REPLICATE) for order in ((1, 0), (0, 1)))
    assert np.abs(edges - np.minimum(np.hypot(dx, dy) / 4, 255)).max() <= 0.51
    codes = through("local-binary-pattern", {"grey": grey[None]}, "codes")[0, ..., 0]
    assert np.array_equal(codes, feature.local_binary_pattern(grey, 8, 1, method="uniform"))
    bordered = through("border", {"picture": photo[None]}, "bordered", width=20)[0]
    assert np.array_equal(bordered, cv2.copyMakeBorder(photo, 20, 20, 20, 20, cv2.BORDER_REFLECT_101))


@pytest.mark.parametrize(("rows", "columns"), [(100, 77), (241, 100), (241, 311), (60, 311), (23, 31), (1, 1)])
def test_pictures_made_smaller_are_opencvs(through, photo, rows, columns):
    found = through("resize", {"picture": photo[None]}, "resized", rows=rows, columns=columns)[0]
    assert np.abs(found.astype(int) - cv2.resize(photo, (columns, rows), interpolation=cv2.INTER_AREA)).max() <= 1


def test_pictures_of_other_sizes(through, photo):
    larger = through("resize", {"picture": photo[None]}, "resized", rows=500, columns=701)[0]
    assert np.abs(larger.astype(int) - cv2.resize(photo, (701, 500), interpolation=cv2.INTER_LINEAR)).max() <= 1
    assert through("resize", {"picture": photo[None]}, "resized", longest=100)[0].shape == (77, 100, 3)
    assert np.array_equal(through("resize", {"picture": photo[None]}, "resized", longest=1000)[0], photo)
    assert np.array_equal(through("crop", {"picture": photo[None]}, "part", row=10, column=20, rows=30, columns=40)[0], photo[10:40, 20:60])
    assert np.array_equal(through("rotate", {"picture": photo[None]}, "turned", angle=90, whole=True)[0], np.rot90(photo))
    grey = np.asarray(Image.fromarray(photo).convert("L")).astype(np.float32)
    framed = through("rotate:float32", {"picture": grey[None]}, "turned", np.float32, angle=90, whole=True, margin=5)[0, ..., 0]
    assert framed.shape == (321, 251) and np.abs(framed[5:-5, 5:-5] - np.rot90(grey)).max() < 0.01 and framed[:4].max() == 0
    back = through("rotate:float32", {"picture": framed[None]}, "turned", np.float32, angle=90, back=True, rows=241, columns=311)[0, ..., 0]
    assert np.abs(back - grey).max() < 0.01
    turned = through("rotate", {"picture": photo[None]}, "turned", angle=30)[0]
    matrix = cv2.getRotationMatrix2D((155, 120), 30, 1)
    assert np.abs(turned[20:-20, 20:-20].astype(int) - cv2.warpAffine(photo, matrix, (311, 241))[20:-20, 20:-20]).mean() < 1
    mapped = through("affine", {"picture": photo[None]}, "mapped", map="0.5 0 3 0.1 0.5 7", rows=200, columns=300, interpolation="nearest")[0]
    r, c = np.mgrid[:200, :300]
    assert np.array_equal(mapped, photo[np.floor(0.5 * r + 3 + 0.5).astype(int), np.floor(0.1 * r + 0.5 * c + 7 + 0.5).astype(int)])


def test_unions_of_two_pictures(through, photo):
    other = photo[::-1].copy()
    both = {"a": photo[None], "b": other[None]}
    assert np.array_equal(through("maximum", both, "greater")[0], np.maximum(photo, other))
    assert np.array_equal(through("difference", both, "difference")[0], np.abs(photo.astype(int) - other))
    assert np.abs(through("blend", both, "blended", share=0.25)[0] - (0.75 * photo + 0.25 * other)).max() <= 0.51
    mask = np.where(np.arange(311) < 100, 255, 0).astype(np.uint8) + np.zeros((241, 1), np.uint8)
    assert np.array_equal(through("keep-where", {"picture": photo[None], "mask": mask[None]}, "kept")[0], np.where(mask[..., None] > 0, photo, 0))


def test_figures_of_pictures(through, photo):
    grey = np.asarray(Image.fromarray(photo).convert("L"))
    sharpness = through("sharpness", {"grey": grey[None]}, "sharpness", np.float64)[0, 0]
    assert sharpness == pytest.approx(cv2.Laplacian(grey, cv2.CV_64F)[1:-1, 1:-1].var())
    assert through("means", {"picture": photo[None]}, "means", np.float64)[0] == pytest.approx(photo.mean((0, 1)))
    moments = through("colour-moments", {"picture": photo[None]}, "moments", np.float64)[0].reshape(3, 4)
    for c, channel in enumerate(np.moveaxis(color.rgb2lab(photo), 2, 0).reshape(3, -1)):
        assert moments[c] == pytest.approx([channel.mean(), channel.std(), stats.skew(channel), stats.kurtosis(channel)], abs=1e-3)
    codes = feature.local_binary_pattern(grey, 8, 1, method="uniform").astype(np.uint8)
    assert through("shares", {"grey": codes[None]}, "shares", np.float64)[0] == pytest.approx(np.bincount(codes.ravel(), minlength=10) / codes.size)
    mask = np.where(grey > 100, 255, 0).astype(np.uint8)
    areas = through("area", {"mask": np.stack([mask, 255 - mask])}, "area", np.float64)
    assert areas.tolist() == [[(grey > 100).sum(), grey.size], [(grey <= 100).sum(), grey.size]]
    assert through("total", {"values": areas}, "total", np.float64)[0].tolist() == [grey.size, 2 * grey.size]
