"""The gallery against references that are not ours."""

from io import BytesIO
from pathlib import Path

import cv2
import numpy as np
import pytest
import skimage
from PIL import Image
from scipy import fft, ndimage
from scipy.linalg import blas
from skimage.color import rgb2hed, rgb2lab

import penstock as ps
from penstock.demo import disc
from penstock.pictures import shipped
from penstock.recording import record_app
from penstock.references import check_against_lapack, check_factors, check_tissue

ONCE = {"repetitions": 1}


def run(machine, name, settings=None, inputs=None):
    result = ps.run_app(machine, name, {**ONCE, **(settings or {})}, inputs or {}, True)
    assert result["ok"], result["checks"]
    return result


def test_the_gallery_holds_what_the_readme_says():
    there = [name for name, _ in ps.gallery()]
    needs_fftw = [name for name in there if name == "fft2d"]  # left out where there is no FFTW
    tissue, jpip = ([name for name in there if name == wanted] for wanted in ("tissue", "jpip"))  # left out where there is no libjpeg-turbo
    assert there == ["saxpy", "sgemv", "addition", "conv2d", "lu", "likelihood", "fft6", "synthetic", "pipeline",
                     "colour", *tissue, "jacobi", "radix", "motion", "h264", "ofdm", "edge", *jpip, *needs_fftw]  # fmt: skip


def test_lu_has_the_published_figures(machine):
    arrays = run(machine, "lu")["arrays"]
    assert arrays["A"][0, 0] == pytest.approx(27283.695181127354, abs=1e-11)
    assert arrays["A"][1, 0] == pytest.approx(29786.525864436782, abs=1e-11)
    assert arrays["A"].sum() == pytest.approx(8741629860.489, abs=1e-3)
    pivots = np.diag(arrays["LU"])
    assert pivots[-1] == pytest.approx(676541.5421, abs=1e-4)
    assert np.abs(pivots).min() == pytest.approx(813.1313, abs=1e-4)
    assert all(check["ok"] for check in check_factors(arrays["A"], arrays["LU"]))


@pytest.mark.parametrize(("order", "block"), [(512, 16), (100, 16), (64, 7), (5, 8), (1, 1)])
@pytest.mark.parametrize("precision", [np.float64, np.float32])
def test_lu_agrees_with_lapack_element_by_element(order, block, precision, machine):
    matrix = (np.random.default_rng(7).random((order, order)) + order * np.eye(order)).astype(precision)
    factors = run(machine, "lu", {"block_rows": block}, {"A": matrix})["arrays"]["LU"]
    assert factors.dtype == precision
    checks, missing = check_against_lapack(matrix, factors)
    assert not missing and all(check["ok"] for check in checks), checks


@pytest.mark.parametrize(("points", "rows"), [(4, 1), (256, 5), (65536, 32), (1 << 22, 64)])
@pytest.mark.parametrize(("precision", "bound"), [(np.complex128, 1e-15), (np.complex64, 3e-7)])
def test_a_six_step_transform_agrees_with_scipy(points, rows, precision, bound, machine):
    random = np.random.default_rng(6)
    x = (random.standard_normal(points) + 1j * random.standard_normal(points)).astype(precision)
    arrays = run(machine, "fft6", {"block_rows": rows}, {"x": x})["arrays"]
    assert arrays["result"].dtype == precision and np.array_equal(arrays["x"], x)
    exact = fft.fft(x.astype(np.complex128))
    assert np.linalg.norm(arrays["result"] - exact) <= bound * np.linalg.norm(exact)


def test_a_six_step_transform_has_the_published_figures(machine):
    arrays = run(machine, "fft6", {"seed": 0})["arrays"]
    assert arrays["result"][0] == pytest.approx(32811.774740 + 32685.456742j, abs=1e-5)
    assert arrays["result"][1] == pytest.approx(-38.727905 - 33.317513j, abs=1e-5)
    assert (np.abs(arrays["x"]) ** 2).sum() == pytest.approx(43625.939409, abs=1e-5)


def test_saxpy_is_within_one_unit_of_blas(machine):
    x, y = np.random.default_rng(2).standard_normal((2, 100_000), np.float32)
    result = run(machine, "saxpy", {"columns": x.size}, {"x": x, "y": y})["arrays"]["result"].ravel()
    expected = blas.saxpy(x, y.copy(), a=1.7)  # the factor of apps/saxpy/saxpy.hpp
    # One unit of the larger summand: where the sum nearly cancels, one rounding more or less is many of its own units.
    unit = np.spacing(np.maximum(np.maximum(np.abs(np.float32(1.7) * x), np.abs(y)), np.abs(expected)))
    assert (np.abs(result - expected) <= unit).all()


def test_sgemv_agrees_with_float64(machine):
    rows, columns = 300, 500
    a = np.random.default_rng(3).random((rows, columns), np.float32)
    x, y = np.random.default_rng(4).random(columns, np.float32), np.random.default_rng(5).random(rows, np.float32)
    result = run(machine, "sgemv", {"rows": rows, "columns": columns}, {"A": a, "x": x, "y": y})["arrays"]["result"].ravel()
    exact = 1.5 * (a.astype(np.float64) @ x) + 0.5 * y  # alpha and beta of apps/sgemv/sgemv.hpp
    np.testing.assert_allclose(result, exact, rtol=1e-5)
    np.testing.assert_allclose(result, blas.sgemv(1.5, a, x, 0.5, y), rtol=1e-5)


def test_addition_has_the_bits_of_numpy(machine):
    arrays = run(machine, "addition", {"rows": 1024, "columns": 512})["arrays"]
    assert np.array_equal(arrays["sum"], arrays["a"] + arrays["b"])


@pytest.fixture(scope="module")
def coffee():
    with Image.open(Path(skimage.__file__).parent / "data" / "coffee.png") as image:
        return np.ascontiguousarray(np.asarray(image, np.float32).transpose(2, 0, 1) / np.float32(255))


@pytest.mark.parametrize("weights", [disc(11), disc(3), np.float32([[0, 1, 0], [1, -4, 1], [0, 1, 0]]), np.ones((1, 5), np.float32) / 5])
def test_a_filtered_photograph_agrees_with_opencv_and_scipy(weights, coffee, machine):
    result = run(machine, "conv2d", {}, {"image": coffee, "filter": weights})["arrays"]["result"]
    kernel = weights.astype(np.float64)
    for plane, found in zip(coffee.astype(np.float64), result, strict=True):
        scale = ndimage.correlate(plane, np.abs(kernel), mode="mirror")
        by_scipy = ndimage.correlate(plane, kernel, mode="mirror")
        by_opencv = cv2.filter2D(plane, cv2.CV_64F, kernel, borderType=cv2.BORDER_REFLECT_101)
        assert (np.abs(found - by_scipy) <= 1e-6 * scale + 1e-12).all()
        assert (np.abs(found - by_opencv) <= 1e-6 * scale + 1e-12).all()


def test_a_strip_of_a_large_image_agrees_with_opencv(machine):
    arrays = run(machine, "conv2d", {"rows": 4096, "columns": 4096})["arrays"]
    strip = slice(2000, 2064)
    padded = arrays["image"][1990:2074].astype(np.float64)
    expected = cv2.filter2D(padded, cv2.CV_64F, arrays["filter"].astype(np.float64), borderType=cv2.BORDER_REFLECT_101)[10:-10]
    np.testing.assert_allclose(arrays["result"][strip], expected, rtol=1e-6)


@pytest.mark.parametrize(("words", "jobs", "cycles", "shared"), [(16384, 4, 1, None), (1000, 5, 7, 1000), (37, 1, 3, 1)])
def test_synthetic_jobs_give_what_their_closed_form_does(words, jobs, cycles, shared, machine):
    random = np.random.default_rng(12)
    inputs = {"blocks": random.integers(0, 1 << 32, (9, words), np.uint32)}
    if shared is not None:
        inputs["table"] = random.integers(0, 1 << 32, shared, np.uint32)
    arrays = run(machine, "synthetic", {"block_rows": jobs, "block_columns": cycles}, inputs)["arrays"]
    modulus, multiplier = 1 << 32, 1_664_525  # of apps/synthetic/job.hpp
    factor = pow(multiplier, cycles, modulus)
    weight = (pow(multiplier, cycles, modulus * (multiplier - 1)) - 1) // (multiplier - 1) % modulus  # of a geometric series
    table = arrays["table"].astype(np.uint64)
    assert table.size == (shared or words // 5)
    values = inputs["blocks"].astype(np.uint64)
    for _ in range(jobs):
        values[:, : table.size] = table
        state = np.ones(9, np.uint64)
        for word in range(words):
            state = (state * np.uint64(factor) + values[:, word] * np.uint64(weight)) & np.uint64(modulus - 1)
            values[:, word] = state
    assert np.array_equal(arrays["result"], values)


@pytest.mark.parametrize("turned", [None, 0.45, 2.9])
@pytest.mark.parametrize("tile", [64, 37])
def test_a_pipeline_of_photographs_agrees_with_opencv_and_scipy(turned, tile, coffee, machine):
    inputs = {"first": coffee[0], "second": np.ascontiguousarray(coffee[2, ::-1])}
    if turned is not None:
        # No short fractions, of which many places would lie half-way between two pixels.
        linear = 0.917 * np.array([[np.cos(turned), np.sin(turned)], [-1.2 * np.sin(turned), np.cos(turned)]])
        inputs["map"] = np.hstack([linear, [[31.7123], [-63.2071]]])
        inputs["filter"] = np.float32([[0.1, -0.7, 0.2], [-1.1, 5.3, -0.9], [0.3, -0.8, -0.4]])
    arrays = run(machine, "pipeline", {"block_rows": tile, "block_columns": 2 * tile}, inputs)["arrays"]
    weights, numbers, found = arrays["filter"].astype(np.float64), arrays["map"], arrays["result"]
    assert found.shape == coffee[0].shape
    greater = np.maximum(inputs["first"], inputs["second"]).astype(np.float64)
    filtered = ndimage.correlate(greater, weights, mode="mirror")
    by_scipy = ndimage.affine_transform(filtered, numbers[:, :2], numbers[:, 2], order=1, mode="mirror")
    assert np.abs(found - by_scipy).max() <= 5e-6 * np.abs(weights).sum()
    by_opencv = cv2.filter2D(cv2.max(inputs["first"], inputs["second"]), -1, arrays["filter"], borderType=cv2.BORDER_REFLECT_101)
    columns_first = np.array([[numbers[1, 1], numbers[1, 0], numbers[1, 2]], [numbers[0, 1], numbers[0, 0], numbers[0, 2]]])
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    by_opencv = cv2.warpAffine(by_opencv, columns_first, found.shape[::-1], flags=flags, borderMode=cv2.BORDER_REFLECT_101)
    assert np.abs(found - by_opencv).max() <= 0.05 * np.abs(weights).sum()  # OpenCV may take places to 1/32 of a pixel


WIDTHS = (0.7, 1.0, 1.4, 2.0)  # of apps/edge/edge.hpp
REACH = 6


def lines(width):
    """The derivative and the Gaussian of this width, scaled as apps/edge/edge.hpp says."""
    x = np.arange(-np.ceil(3 * width), np.ceil(3 * width) + 1)
    smooth = np.exp(-(x**2) / (2 * width**2))
    return 2 * x * smooth / np.abs(x * smooth).sum(), smooth / smooth.sum()


def turned_kernel(along, across, angle):
    radius = int(np.ceil(3 * max(along, across)))
    rows, columns = np.mgrid[-radius : radius + 1, -radius : radius + 1]
    u, v = columns * np.cos(angle) + rows * np.sin(angle), rows * np.cos(angle) - columns * np.sin(angle)
    weights = u * np.exp(-(u**2) / (2 * along**2) - v**2 / (2 * across**2))
    return 2 * weights / np.abs(weights).sum()


def dense_edges(picture, angles, filtered):
    responses = (filtered(picture, turned_kernel(along, across, k * np.pi / angles))
                 for k in range(angles) for along in WIDTHS for across in WIDTHS)  # fmt: skip
    return np.max([np.abs(response) for response in responses], axis=0)


def edges_of_turned_pictures(picture, angles):
    high, wide = np.array(picture.shape) - 1
    strongest = np.zeros_like(picture)
    for k in range(angles):
        c, s = np.cos(k * np.pi / angles), np.sin(k * np.pi / angles)
        sides = np.ceil(np.abs([high * c, high * s]) + np.abs([wide * s, wide * c]) - 1e-9).astype(int) + 1 + 2 * REACH
        matrix, middle, canvas_middle = np.array([[c, s], [-s, c]]), np.array([high, wide]) / 2, (sides - 1) / 2
        turned = ndimage.affine_transform(picture, matrix, middle - matrix @ canvas_middle, tuple(sides), order=1, mode="mirror")
        responses = []
        for across in WIDTHS:
            smooth = ndimage.correlate1d(turned, lines(across)[1], axis=0, mode="mirror")
            responses += [np.abs(ndimage.correlate1d(smooth, lines(along)[0], axis=1, mode="mirror")) for along in WIDTHS]
        back = ndimage.affine_transform(np.max(responses, axis=0), matrix.T, canvas_middle - matrix.T @ middle, picture.shape,
                                        order=1, mode="mirror")  # fmt: skip
        strongest = np.maximum(strongest, back)
    return strongest


@pytest.mark.parametrize(("angles", "by_scipy"), [(36, False), (5, True)])
def test_edges_of_photographs_agree_with_opencv_and_scipy(angles, by_scipy, coffee, machine):
    pictures = np.ascontiguousarray(coffee[:2, 100:163, 200:297])
    arrays = run(machine, "edge", {"block_rows": angles}, {"pictures": pictures})["arrays"]
    for picture, dense, turned in zip(pictures.astype(np.float64), arrays["dense"], arrays["result"], strict=True):
        found = dense_edges(picture, angles, lambda p, k: cv2.filter2D(p, cv2.CV_64F, k, borderType=cv2.BORDER_REFLECT_101))
        assert np.abs(dense - found).max() <= 1e-5
        if by_scipy:
            assert np.abs(dense - dense_edges(picture, angles, lambda p, k: ndimage.correlate(p, k, mode="mirror"))).max() <= 1e-5
        assert np.abs(turned - edges_of_turned_pictures(picture, angles)).max() <= 1e-5


@pytest.mark.parametrize(("rows", "columns", "divisor"), [(720, 1280, 1), (720, 1280, 4), (96, 160, 2), (50, 70, 1)])
def test_mosaics_of_films_have_the_bits_of_pillow(rows, columns, divisor, machine):
    if "jpip" not in dict(ps.gallery()):
        pytest.skip("built without libjpeg-turbo")
    with Image.open(Path(skimage.__file__).parent / "data" / "rocket.jpg") as image:
        photograph = np.ascontiguousarray(image)
    settings = {"rows": rows, "columns": columns, "block_rows": 2, "block_columns": divisor}
    arrays = run(machine, "jpip", settings, {"photograph": photograph})["arrays"]
    files = np.split(arrays["jpeg"], arrays["ends"][:-1])
    assert len(files) == 32
    tile_rows, tile_columns, factor = -(-rows // 4), -(-columns // 4), 4 // divisor
    for number, file in enumerate(files):
        film, frame = divmod(number, 2)
        with Image.open(BytesIO(file.tobytes())) as image:
            assert image.format == "JPEG" and image.size == (columns, rows)
            if divisor > 1:
                image.draft("RGB", (columns // divisor, rows // divisor))
            pixels = np.asarray(image).astype(np.int64)
        sums = np.add.reduceat(np.add.reduceat(pixels, np.arange(0, pixels.shape[0], factor), 0), np.arange(0, pixels.shape[1], factor), 1)
        counts = np.multiply.outer(*(np.minimum(factor, side - np.arange(0, side, factor)) for side in pixels.shape[:2]))[..., None]
        row, column = film // 4 * tile_rows, film % 4 * tile_columns
        tile = arrays["result"][frame, row : row + tile_rows, column : column + tile_columns]
        assert np.array_equal(tile, (sums + counts // 2) // counts), (film, frame)


def test_colours_agree_with_scikit_image(machine):
    arrays = run(machine, "colour", {"rows": 500, "columns": 700, "block_rows": 96}, {"image": shipped("coffee.png")})["arrays"]
    assert np.array_equal(arrays["image"][:400, :600], shipped("coffee.png"))
    exact = rgb2lab(arrays["image"])
    assert np.abs(arrays["result"] - exact).max() <= 1e-4
    np.testing.assert_allclose(arrays["statistics"], [exact.mean((0, 1)), exact.var((0, 1))], rtol=1e-4)


@pytest.mark.parametrize("tile", [64, 100])
def test_a_tissue_is_measured_as_by_pillow_and_scikit_image(tile, machine):
    if "tissue" not in dict(ps.gallery()):
        pytest.skip("built without libjpeg-turbo")
    settings = {"rows": 300, "columns": 500, "block_rows": tile, "block_columns": tile}
    arrays = run(machine, "tissue", settings, {"image": shipped("ihc.png")})["arrays"]
    checks, missing = check_tissue(arrays)
    assert not missing and all(check["ok"] for check in checks), checks
    assert len(arrays["features"]) == arrays["result"].size and set(np.unique(arrays["result"])) <= {0, 1, 2}


def test_the_classes_of_a_tissue_are_those_of_the_rule_that_they_were_trained_by(machine):
    if "tissue" not in dict(ps.gallery()):
        pytest.skip("built without libjpeg-turbo")
    picture = shipped("ihc.png")
    found = run(machine, "tissue", {"rows": 512, "columns": 512, "block_rows": 64, "block_columns": 64}, {"image": picture})["arrays"]["result"]
    brown, light = rgb2hed(picture)[..., 2] > 0.06, picture.mean(2) > 200
    shares = [pixels.reshape(8, 64, 8, 64).mean((1, 3)) for pixels in (brown, light)]
    rule = np.where(shares[0] >= 0.5, 2, np.where(shares[1] >= 0.6, 0, 1))
    assert (found == rule).mean() >= 0.9 and {0, 1, 2} <= set(found.ravel())


@pytest.mark.parametrize(("points", "sweeps"), [(57_344, 50), (1, 3), (1000, 1)])
def test_jacobi_has_the_bits_of_numpy(points, sweeps, machine):
    random = np.random.default_rng(8)
    start, source = random.random(points + 2, np.float32), random.random(points, np.float32)
    result = run(machine, "jacobi", {"rows": sweeps}, {"start": start, "source": source})["arrays"]["result"]
    line = start.copy()
    for _ in range(sweeps):
        line[1:-1] = (line[:-2] + line[2:] + source) * np.float32(0.5)
    assert np.array_equal(result, line)


@pytest.mark.parametrize("keys", [1 << 20, 1, 1001])
def test_radix_sorts_as_numpy(keys, machine):
    given = np.random.default_rng(9).integers(0, 1 << 32, keys, np.uint32)
    assert np.array_equal(run(machine, "radix", {}, {"keys": given})["arrays"]["result"], np.sort(given))


def test_motion_finds_the_smallest_differences_of_numpy(machine):
    random = np.random.default_rng(11)
    frames = random.integers(0, 256, (2, 480, 720), np.uint8)
    frames[1, 10:400] = np.roll(frames[0], (3, -6), (0, 1))[10:400]
    found = run(machine, "motion", {}, {"frames": frames})["arrays"]["result"]
    assert found.shape == (1, 30, 45) and found.dtype == np.uint32
    before, now = frames.astype(np.int32)
    smallest = np.full((30, 45), 1 << 30)
    for down in range(-7, 8):
        for right in range(-7, 8):
            moved = np.full_like(before, 1 << 20)  # more than any block whose place lies outside the frame may have
            rows, columns = slice(max(0, -down), 480 - max(0, down)), slice(max(0, -right), 720 - max(0, right))
            moved[rows, columns] = np.roll(before, (-down, -right), (0, 1))[rows, columns]
            sums = np.abs(now - moved).reshape(30, 16, 45, 16).sum((1, 3), dtype=np.int64)
            smallest = np.minimum(smallest, sums)
    assert np.array_equal(found[0], smallest)


@pytest.mark.parametrize("order", [256, 1024, 60])
def test_fft2d_agrees_with_scipy(order, machine):
    if "fft2d" not in dict(ps.gallery()):
        pytest.skip("built without FFTW")
    random = np.random.default_rng(10)
    image = (random.random((order, order)) + 1j * random.random((order, order))).astype(np.complex64)
    result = run(machine, "fft2d", {}, {"image": image})["arrays"]["result"]
    exact = fft.fft2(image.astype(np.complex128))
    assert np.linalg.norm(result - exact) / np.linalg.norm(exact) <= 3e-7


def test_settings_and_inputs_that_do_not_fit_are_refused(machine):
    for settings, inputs in (({"rowz": 3}, {}), ({"rowz": "3"}, {}), ({"rowz": None}, {}), ({"rows": -3}, {}), ({"rows": "many"}, {}), ({"repetitions": 0}, {}), ({}, {"B": np.zeros((3, 3))}),
                             ({}, {"A": np.zeros((3, 4))}), ({}, {"A": np.zeros((3, 3), np.int32)})):  # fmt: skip
        with pytest.raises(ps.SettingError) as caught:
            ps.run_app(machine, "lu", settings, inputs)
        assert caught.value.app == "lu" and caught.value.setting
    with pytest.raises(ps.UsageError, match="gallery"):
        ps.run_app(machine, "nothing")


def test_progress_is_told_and_may_give_up(machine):
    fractions = []
    ps.run_app(machine, "addition", {**ONCE, "rows": 64, "columns": 64}, progress=fractions.append)
    assert fractions == sorted(fractions) and fractions[-1] == 1

    def give_up(fraction):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ps.run_app(machine, "addition", {**ONCE, "rows": 64, "columns": 64}, progress=give_up)


def calls_in(period):
    return sum(track["counts"].get("calls", 0) for track in period.breakdown()["tracks"])


def test_a_recording_holds_the_timed_runs_of_one_way_and_nothing_else(machine):
    recorded = record_app(machine, "addition", {"rows": 256, "columns": 256, "repetitions": 2})
    assert calls_in(recorded.period) == recorded.result["tasks"] == 32
    factors = {"rows": 64, "repetitions": 3}
    procedures = 4 + 2 * 6 + 14  # factor, bdiv and bmodd, bmod of 4 x 4 blocks
    recorded = record_app(machine, "lu", factors)
    assert recorded.way == "dependent"
    assert [calls_in(period) for period in recorded.periods] == [procedures] * 3
    recorded = record_app(machine, "lu", factors, way="tagged", events=0)
    assert recorded.way == "tagged"
    assert all(0 < calls_in(period) < procedures for period in recorded.periods)  # the rest is not issued but worked on at once
    assert recorded.timeline == ""
    recorded = record_app(machine, "lu", factors, way="tagged", events=1, every_run=True)
    targets = [track for period in recorded.periods for track in period.breakdown()["tracks"] if track["role"] == "target"]
    assert sum(track["counts"]["tasks"] for track in targets) == sum(track["counts"]["sampled_tasks"] for track in targets) > 0


def test_a_way_that_is_not_there_cannot_be_recorded(machine):
    assert not record_app(machine, "lu", {"rows": 64, "repetitions": 1}, way="serial").tagged
    with pytest.raises(ps.UsageError, match="lu has no way called 'sideways' to record; it has serial, hand, called, tagged, dependent"):
        record_app(machine, "lu", way="sideways")
