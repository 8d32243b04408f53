"""The component classes that come with Penstock, each against a library that computes or reads the same."""

import html
import io
import os
import re
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import threading
import wave
import zlib

import numpy as np
import pytest
from PIL import Image, ImageOps

import penstock as ps
from command_line import ROOT, command, penstock

cv2 = pytest.importorskip("cv2")
data = pytest.importorskip("skimage.data")

from scipy import io as scipy_io  # noqa: E402
from scipy import ndimage, stats  # noqa: E402
from scipy import signal as scipy_signal  # noqa: E402
from skimage import color, feature  # noqa: E402

TYPES = {np.uint8: "uint8", np.float32: "float32", np.float64: "float64", np.complex64: "complex64", np.uint32: "uint32"}


def application(*parts: str) -> str:
    return '<application xmlns="urn:penstock:application:1" name="test">' + "".join(parts) + "</application>"


def component(name: str, of: str, copies: str = "1", **settings: object) -> str:
    def text(value: object) -> str:
        return str(value).lower() if isinstance(value, bool) else str(value)

    sets = "".join(f'<set name="{key.replace("_", "-")}" value="{text(value)}"/>' for key, value in settings.items())
    return f'<component name="{name}" class="{of}" copies="{copies}">{sets}</component>'


def stream(source: str, sink: str, ordered: bool = False) -> str:
    order = ' ordered="true"' if ordered else ""
    return f'<stream from="{source}" to="{sink}"{order}/>'


def run(*parts: str) -> None:
    with ps.Machine(targets=2) as machine, ps.Application.parse(application(*parts)).start(machine):
        pass


@pytest.fixture
def through(tmp_path):
    """What a class makes of the items of arrays, one for each of its inputs: from files, to a file."""

    def through(of: str, inputs: dict[str, np.ndarray], output: str, dtype: type = np.uint8, **settings: object) -> np.ndarray:
        parts = [component("it", of, **settings)]
        for name, array in inputs.items():
            np.save(tmp_path / f"{name}.npy", np.ascontiguousarray(array))
            parts += [component(f"read-{name}", f"read-array:{TYPES[array.dtype.type]}", path=tmp_path / f"{name}.npy"), stream(f"read-{name}.items", f"it.{name}")]
        parts += [component("write", f"write-array:{TYPES[dtype]}", path=tmp_path / "out.npy"), stream(f"it.{output}", "write.items")]
        run(*parts)
        return np.load(tmp_path / "out.npy")

    return through


@pytest.fixture(scope="module")
def photo() -> np.ndarray:
    return np.ascontiguousarray(data.astronaut()[60:301, 100:411])  # 241 x 311


def file_of(image: Image.Image, **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, **options)
    return file.getvalue()


# ---- pictures in files ----


def decoded(tmp_path, files: dict[str, bytes], **settings: object) -> list[np.ndarray]:
    folder = tmp_path / "in"
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    run(
        component("read", "read-files", path=folder), component("decode", "decode-picture", "2", **settings), component("encode", "encode-picture", format="pnm"),
        component("write", "write-files", folder=tmp_path / "out", ending=".ppm", names_of=folder),
        stream("read.bytes", "decode.bytes"), stream("decode.picture", "encode.picture"), stream("encode.bytes", "write.bytes"),
    )  # fmt: skip
    return [np.asarray(Image.open(tmp_path / "out" / f"{name.rsplit('.', 1)[0]}.ppm")) for name in sorted(files)]


def test_pictures_of_all_formats_are_decoded_as_pillow_decodes_them(tmp_path, photo):
    image = Image.fromarray(photo)
    grey16 = (np.arange(60 * 50, dtype=np.uint16).reshape(60, 50) * 21).astype(np.uint16)
    alpha = image.convert("RGBA")
    alpha.putalpha(Image.fromarray(np.tile(np.arange(311, dtype=np.uint8), (241, 1))))
    files = {
        "a.png": file_of(image, format="PNG"), "b.tif": file_of(image, format="TIFF", compression="tiff_lzw"), "c.ppm": file_of(image, format="PPM"),
        "d.jpg": file_of(image, format="JPEG", quality=92), "e.png": file_of(image.convert("L"), format="PNG"), "f.pgm": file_of(Image.fromarray(grey16), format="PPM"),
        "g.png": file_of(image.convert("P"), format="PNG"), "h.png": file_of(alpha, format="PNG"),
    }  # fmt: skip
    found = decoded(tmp_path, files)
    for got in found[:3]:
        assert np.array_equal(got, photo)
    assert np.abs(found[3].astype(int) - np.asarray(Image.open(io.BytesIO(files["d.jpg"])))).max() <= 1
    assert np.array_equal(found[4], np.asarray(image.convert("L").convert("RGB")))
    assert np.abs(found[5][..., 0].astype(int) - np.round(grey16 / 257)).max() <= 1
    assert np.array_equal(found[6], np.asarray(image.convert("P").convert("RGB")))
    share = np.arange(311, dtype=np.uint8)[None, :, None] / 255
    linear = np.where(photo <= 10, photo / 255 / 12.92, ((photo / 255 + 0.055) / 1.055) ** 2.4) * share + 1 - share  # what lies behind is white
    over_white = 255 * np.where(linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055)
    assert np.abs(found[7] - over_white).max() <= 4
    assert np.abs(found[7][:, :3].astype(int) - 255).max() <= 3


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_photograph_stands_upright_whichever_way_the_camera_was_held(tmp_path, photo, orientation):
    image = Image.fromarray(photo)
    exif = image.getexif()
    exif[0x0112] = orientation
    jpeg = file_of(image, format="JPEG", quality=95, exif=exif)
    (found,) = decoded(tmp_path, {"a.jpg": jpeg})
    wanted = np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(jpeg))))
    assert found.shape == wanted.shape
    assert np.abs(found.astype(int) - wanted).max() <= 1


@pytest.mark.parametrize("kind", ["jpeg", "png", "tiff", "pnm"])
@pytest.mark.parametrize("grey", [False, True])
def test_encoded_pictures_are_read_by_pillow(tmp_path, photo, kind, grey):
    pictures = np.stack([photo, photo[::-1]])
    np.save(tmp_path / "in.npy", pictures)
    parts = [component("read", "read-array:uint8", path=tmp_path / "in.npy"), component("encode", "encode-picture", "2", format=kind, quality=95)]
    if grey:
        parts += [component("grey", "grey"), stream("read.items", "grey.picture"), stream("grey.grey", "encode.picture")]
    else:
        parts += [stream("read.items", "encode.picture")]
    run(*parts, component("write", "write-files", folder=tmp_path / "out", ending="." + kind), stream("encode.bytes", "write.bytes"))
    for number, picture in enumerate(pictures):
        wanted = np.asarray(Image.fromarray(picture).convert("L")) if grey else picture
        found = np.asarray(Image.open(tmp_path / "out" / f"file-00000{number}.{kind}"))
        assert found.shape == wanted.shape
        difference = np.abs(found.astype(int) - wanted)
        assert difference.mean() < 3 if kind == "jpeg" else difference.max() == 0


def test_a_slide_is_cut_put_together_and_written_again(tmp_path, photo):
    big = np.tile(photo, (3, 2, 1))  # 723 x 622
    np.save(tmp_path / "in.npy", big[None])
    run(
        component("read", "read-array:uint8", path=tmp_path / "in.npy"), component("cut", "cut", tile_rows=128, tile_columns=96),
        component("slide", "write-slide", path=tmp_path / "slide.tif", rows=723, columns=622, tile_rows=128, tile_columns=96),
        stream("read.items", "cut.picture"), stream("cut.tile", "slide.tile"),
    )  # fmt: skip
    assert np.array_equal(np.asarray(Image.open(tmp_path / "slide.tif")), big)
    run(
        component("read", "read-slide", path=tmp_path / "slide.tif"), component("small", "shrink", "2", factor=2), component("whole", "assemble"),
        component("write", "write-array:uint8", path=tmp_path / "small.npy"), component("other", "write-slide", path=tmp_path / "half.tif", like=tmp_path / "slide.tif", divisor=2),
        stream("read.tile", "small.picture"), stream("small.small", "whole.tile"), stream("whole.picture", "write.items"), stream("small.small", "other.tile"),
    )  # fmt: skip
    small = np.load(tmp_path / "small.npy")[0]
    assert small.shape == (362, 311, 3)
    means = big[:722, :622].reshape(361, 2, 311, 2, 3).astype(float).mean((1, 3))
    assert np.abs(small[:361] - means).max() <= 0.5
    assert np.array_equal(np.asarray(Image.open(tmp_path / "half.tif")), small)


def test_names_are_those_of_the_files_that_the_source_reads(tmp_path, photo):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a-note.txt").write_text("which is no picture")
    for name in ("b.png", "c.png"):
        (folder / name).write_bytes(file_of(Image.fromarray(photo), format="PNG"))
    (folder / "d.png").write_bytes(b"no picture")
    parts = [
        component("read", "read-files", path=folder, endings=".png"), component("decode", "decode-picture", names_of=folder), component("encode", "encode-picture"),
        component("write", "write-files", folder=tmp_path / "out", ending=".jpg", names_of=folder),
        stream("read.bytes", "decode.bytes"), stream("decode.picture", "encode.picture"), stream("encode.bytes", "write.bytes"),
    ]  # fmt: skip
    assert f"'{folder}/d.png'" in refused(*parts)
    (folder / "d.png").unlink()
    run(*parts)
    assert sorted(each.name for each in (tmp_path / "out").iterdir()) == ["b.jpg", "c.jpg"]


# ---- kernels as classes ----


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


# ---- sounds and radio ----


def test_sounds_are_read_filtered_and_written_as_scipy_does_it(tmp_path):
    rate, count = 8000, 20_011
    x = (np.random.default_rng(3).standard_normal((count, 2)) * 6000).clip(-32768, 32767).astype(np.int16)
    scipy_io.wavfile.write(tmp_path / "in.wav", rate, x)
    run(
        component("read", "read-sound", path=tmp_path / "in.wav", block=999), component("copy", "write-sound", path=tmp_path / "copy.wav"), component("mono", "mono", "2"),
        component("fir", "fir", low=0.05, high=0.2, length=101, keep_one_of=3), component("write", "write-sound", path=tmp_path / "out.wav", kind="float"),
        stream("read.samples", "copy.samples"), stream("read.samples", "mono.samples"), stream("mono.mono", "fir.samples", True), stream("fir.filtered", "write.samples"),
    )  # fmt: skip
    found_rate, copy = scipy_io.wavfile.read(tmp_path / "copy.wav")
    assert found_rate == rate and np.array_equal(copy, x)
    found_rate, filtered = scipy_io.wavfile.read(tmp_path / "out.wav")
    taps = scipy_signal.firwin(101, [0.05, 0.2], pass_zero=False, fs=1)
    wanted = scipy_signal.lfilter(taps, 1, x.mean(1) / 32768)[::3]
    assert found_rate == rate // 3 and filtered.shape == wanted.shape
    assert np.abs(filtered - wanted).max() < 1e-5


@pytest.mark.parametrize("kind", ["u1", "i2", "i4", "f4", "f8"])
def test_sounds_of_all_kinds_are_read(tmp_path, kind):
    x = np.array([0, 0.5, -0.5, 0.25, -1, 0.75])
    values = (x * 127 + 128).astype("u1") if kind == "u1" else x.astype(kind) if kind[0] == "f" else (x * (2.0 ** (8 * int(kind[1]) - 1) - 1)).astype(kind)
    scipy_io.wavfile.write(tmp_path / "in.wav", 100, values)
    run(component("read", "read-sound", path=tmp_path / "in.wav"), component("write", "write-array:float32", path=tmp_path / "out.npy"), stream("read.samples", "write.items"))
    assert np.abs(np.load(tmp_path / "out.npy")[0, :, 0] - x).max() < 0.01


def test_spectra(tmp_path, through):
    n = 256
    t = np.arange(4 * n)
    x = np.sin(2 * np.pi * 32 * t / n).astype(np.float32).reshape(4, n)
    power = through("spectrum", {"blocks": x}, "power", np.float32)
    assert power.shape == (4, n // 2 + 1)
    assert power[0].argmax() == 32 and abs(power[0, 32]) < 0.01
    reference = np.abs(np.fft.rfft(x[0] * scipy_signal.windows.hann(n, sym=False))) * 2 / scipy_signal.windows.hann(n, sym=False).sum()
    assert np.abs(10 ** (power[0] / 20) - reference).max() < 1e-4
    z = np.exp(-2j * np.pi * 16 * t / n).astype(np.complex64).reshape(4, n)
    assert through("spectrum:complex64", {"blocks": z}, "power", np.float32)[0].argmax() == n // 2 - 16
    spectrum = through("fft", {"samples": z}, "spectrum", np.complex64)
    assert np.abs(spectrum - np.fft.fft(z)).max() < 1e-3
    assert np.abs(through("fft", {"samples": spectrum}, "spectrum", np.complex64, inverse=True) - z).max() < 1e-5
    blocks = through("overlap", {"samples": np.arange(1000, dtype=np.float32).reshape(10, 100)}, "blocks", np.float32, size=64, hop=40)
    assert np.array_equal(blocks, np.lib.stride_tricks.sliding_window_view(np.arange(1000), 64)[::40])


@pytest.mark.parametrize(("kind", "dtype", "scale", "offset"), [("cu8", "u1", 127.5, 127.5), ("cs8", "i1", 128, 0), ("cs16", "<i2", 32768, 0), ("cf32", "<f4", 1, 0)])
def test_radio_samples(tmp_path, kind, dtype, scale, offset):
    raw = np.random.default_rng(1).integers(0, 255, 8000, np.uint8) if kind != "cf32" else np.random.default_rng(1).standard_normal(2000).astype("<f4")
    (tmp_path / "iq").write_bytes(raw.tobytes())
    run(
        component("read", "read-bytes", **{"from": tmp_path / "iq"}, block=800), component("iq", "iq-samples", kind=kind), component("array", "write-array:complex64", path=tmp_path / "z.npy"),
        component("back", "iq-bytes", kind=kind), component("write", "write-bytes", to=tmp_path / "back"),
        stream("read.bytes", "iq.bytes"), stream("iq.samples", "array.items"), stream("iq.samples", "back.samples"), stream("back.bytes", "write.bytes"),
    )  # fmt: skip
    pairs = (np.frombuffer(raw.tobytes(), dtype).astype(np.float64) - offset) / scale
    assert np.abs(np.load(tmp_path / "z.npy").ravel() - (pairs[::2] + 1j * pairs[1::2])).max() < 1e-6
    assert (tmp_path / "back").read_bytes() == raw.tobytes()


def test_what_is_no_number_becomes_silence_and_black(tmp_path, through):
    z = np.array([[1, np.nan, -1, np.inf, -np.inf]], np.complex64)
    np.save(tmp_path / "z.npy", z)
    for kind, silence, loud in ("cs16", 0, 32767), ("cu8", 128, 255):
        run(
            component("read", "read-array:complex64", path=tmp_path / "z.npy"), component("bytes", "iq-bytes", kind=kind), component("write", "write-bytes", to=tmp_path / "iq"),
            stream("read.items", "bytes.samples"), stream("bytes.bytes", "write.bytes"),
        )  # fmt: skip
        pairs = np.fromfile(tmp_path / "iq", "<i2" if kind == "cs16" else "u1").reshape(-1, 2)
        assert pairs[1, 0] == silence and pairs[3, 0] == loud
    floats = np.array([[[0.5], [np.nan], [2.0], [-np.inf]]], np.float32)[None]
    assert through("to-bytes", {"floats": floats}, "picture").ravel().tolist() == [128, 0, 255, 0]
    assert through("convolve", {"picture": np.zeros((1, 3, 3), np.uint8)}, "convolved", weights="1e300").max() == 0


# ---- films ----

av = pytest.importorskip("av")
needs_ffmpeg = pytest.mark.skipif("read-film" not in {each["name"] for each in ps._core.components()}, reason="built without FFmpeg's headers")


def make_film(path, frames: np.ndarray, codec: str = "ffv1", pixels: str = "bgr0") -> None:
    with av.open(str(path), "w") as film:
        stream = film.add_stream(codec, rate=25)
        stream.height, stream.width = frames.shape[1:3]
        stream.pix_fmt = pixels
        for frame in frames:
            film.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        film.mux(stream.encode())


@needs_ffmpeg
def test_films_are_read_and_written(tmp_path, photo):
    frames = np.stack([np.roll(photo[:240, :304], 5 * i, 1) for i in range(12)])
    make_film(tmp_path / "in.mkv", frames)
    run(
        component("read", "read-film", path=tmp_path / "in.mkv"), component("array", "write-array:uint8", path=tmp_path / "frames.npy"),
        component("lossless", "write-film", path=tmp_path / "out.mkv", codec="ffv1", rate=10), component("small", "write-film", path=tmp_path / "out.mp4", bit_rate=8000),
        stream("read.frame", "array.items"), stream("read.frame", "lossless.frame"), stream("read.frame", "small.frame"),
    )  # fmt: skip
    assert np.array_equal(np.load(tmp_path / "frames.npy"), frames)
    for name, most in (("out.mkv", 3), ("out.mp4", 8)):  # colours of half the resolution
        with av.open(str(tmp_path / name)) as film:
            found = np.stack([each.to_ndarray(format="rgb24") for each in film.decode(video=0)])
        assert found.shape == frames.shape
        assert np.abs(found.astype(int) - frames).mean() < most


@needs_ffmpeg
@pytest.mark.parametrize("content", [b"", b"no film at all" * 100])
def test_what_is_no_film_is_refused_and_nothing_is_written(tmp_path, content):
    (tmp_path / "in.mkv").write_bytes(content)
    with pytest.raises(ps.FilterFailed, match="in.mkv"):
        run(component("read", "read-film", path=tmp_path / "in.mkv"), component("write", "write-film", path=tmp_path / "out.mkv"), stream("read.frame", "write.frame"))
    assert [each.name for each in tmp_path.iterdir()] == ["in.mkv"]


@needs_ffmpeg
def test_motion_sends_events_with_how_much_has_changed(tmp_path):
    still = np.zeros((30, 60, 80, 3), np.uint8)
    still[10:20, 20:40, 20:40] = np.random.default_rng(0).integers(0, 255, (10, 20, 20, 3))
    np.save(tmp_path / "in.npy", still)
    got = []

    @ps.filter(inputs={"x": "uint8"}, events={})
    class Watch:
        def __call__(self, x):
            pass

        def on_event(self, event):
            got.append((event.name, event.value))

    ps.register_component("watch-events", Watch, "Notes events.")
    run(
        '<event name="on"/><event name="off"/><signal from="motion.began" event="on"/><signal from="motion.ended" event="off"/>',
        component("read", "read-array:uint8", path=tmp_path / "in.npy"), component("motion", "motion", least=0.02), component("watch", "watch-events"),
        stream("read.items", "motion.picture"), stream("read.items", "watch.x"),
    )  # fmt: skip
    assert [name for name, _ in got] == ["on", "off"]
    assert 0.05 < got[0][1] < 400 / 4800 + 0.001 and got[1][1] == 0


# ---- raw bytes ----


def edges_of(frames: np.ndarray) -> np.ndarray:
    out = []
    for frame in frames:
        grey = np.asarray(Image.fromarray(frame).convert("L")).astype(np.float32)
        out.append(np.minimum(np.rint(np.hypot(cv2.Sobel(grey, -1, 1, 0, borderType=cv2.BORDER_REPLICATE), cv2.Sobel(grey, -1, 0, 1, borderType=cv2.BORDER_REPLICATE)) / 4), 255))
    return np.stack(out)


SIZE = ["--set", "rows=48", "--set", "columns=64"]


@pytest.fixture(scope="module")
def frames() -> np.ndarray:
    return np.stack([data.astronaut()[i : i + 48, i : i + 64] for i in range(0, 200, 10)])


def test_frames_go_through_standard_input_and_output(frames):
    program = subprocess.Popen(command("run", ROOT / "examples" / "live-edges.xml", "--set", "input=-", "--set", "output=-", *SIZE), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    output, _ = program.communicate(frames.tobytes(), 60)
    assert program.returncode == 0
    assert np.abs(np.frombuffer(output, np.uint8).reshape(len(frames), 48, 64) - edges_of(frames)).max() <= 1


@pytest.mark.parametrize("kind", ["tcp", "unix"])
def test_frames_go_through_sockets(tmp_path, frames, kind):
    with socket.create_server(("localhost", 0)) as free:
        port = free.getsockname()[1]
    addresses = ("tcp-listen:localhost:%d" % port, tmp_path / "out") if kind == "tcp" else (f"unix-listen:{tmp_path}/in.sock", tmp_path / "out")
    program = subprocess.Popen(command("run", ROOT / "examples" / "live-edges.xml", "--set", f"input={addresses[0]}", "--set", f"output={addresses[1]}", *SIZE), stderr=subprocess.PIPE)
    for _ in range(200):
        try:
            sender = socket.create_connection(("localhost", port)) if kind == "tcp" else socket.socket(socket.AF_UNIX)
            if kind == "unix":
                sender.connect(str(tmp_path / "in.sock"))
            break
        except OSError:
            threading.Event().wait(0.05)
    with sender:
        sender.sendall(frames.tobytes())
    assert program.wait(60) == 0, program.stderr.read()
    assert np.abs(np.fromfile(tmp_path / "out", np.uint8).reshape(len(frames), 48, 64) - edges_of(frames)).max() <= 1
    assert not (tmp_path / "in.sock").exists()


def test_a_sender_that_closes_within_a_frame_is_named(tmp_path, frames):
    program = subprocess.run(
        command("run", ROOT / "examples" / "live-edges.xml", "--set", "input=-", "--set", f"output={tmp_path}/out", *SIZE), input=frames.tobytes()[:-7], capture_output=True, timeout=60, check=False
    )
    assert program.returncode != 0
    assert b"9209 came" in program.stderr and b"close within" in program.stderr
    assert not any(tmp_path.iterdir())


def big_input(tmp_path) -> str:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "bytes").write_bytes(bytes(3_000_000))
    return component("read", "read-bytes", **{"from": tmp_path / "in" / "bytes"})


def test_a_receiver_that_closes_is_named(tmp_path):
    with socket.create_server(("localhost", 0)) as server:
        address = f"tcp:localhost:{server.getsockname()[1]}"

        def take_a_few():
            connection, _ = server.accept()
            connection.recv(10)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()

        receiver = threading.Thread(target=take_a_few)
        receiver.start()
        message = refused(big_input(tmp_path), component("write", "write-bytes", to=address), stream("read.bytes", "write.bytes"))
        receiver.join()
    assert f"'{address}' takes no more bytes" in message


def test_a_pipe_that_nobody_reads_any_more_is_named(tmp_path):
    (tmp_path / "a.xml").write_text(application(big_input(tmp_path), component("write", "write-bytes", to="-"), stream("read.bytes", "write.bytes")))
    program = subprocess.Popen(command("run", tmp_path / "a.xml"), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    program.stdout.read(10)
    program.stdout.close()
    assert program.wait(60) not in (0, -signal.SIGPIPE)
    assert b"'-' takes no more bytes" in program.stderr.read()


def test_a_pipe_with_a_name_is_written_to_and_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    got = []
    reader = threading.Thread(target=lambda: got.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    run(big_input(tmp_path), component("write", "write-bytes", to=tmp_path / "pipe"), stream("read.bytes", "write.bytes"))
    reader.join()
    assert got == [bytes(3_000_000)] and (tmp_path / "pipe").is_fifo()
    np.save(tmp_path / "in.npy", np.zeros((2, 3), np.float32))
    message = refused(
        component("read", "read-array:float32", path=tmp_path / "in.npy"), component("write", "write-array:float32", path=tmp_path / "pipe"), stream("read.items", "write.items")
    )
    assert f"{tmp_path}/pipe' is a device, a pipe or a socket" in message


def test_a_writer_to_whom_nobody_connects_gives_up(tmp_path):
    address = f"unix-listen:{tmp_path}/nobody"
    message = refused(big_input(tmp_path), component("write", "write-bytes", to=address, patience=0.2), stream("read.bytes", "write.bytes"))
    assert f"nobody has connected to '{address}'" in message and "`patience`" in message
    assert not (tmp_path / "nobody").exists()


def test_a_run_that_waits_for_a_socket_ends_when_it_is_interrupted(tmp_path):
    program = subprocess.Popen(command("run", ROOT / "examples" / "live-edges.xml", "--set", f"input=unix-listen:{tmp_path}/in", "--set", f"output={tmp_path}/out"), stderr=subprocess.PIPE)
    for _ in range(200):
        if (tmp_path / "in").exists():
            break
        threading.Event().wait(0.05)
    program.send_signal(signal.SIGINT)
    assert program.wait(30) == 130


# ---- refusals ----


def refused(*parts: str) -> str:
    with pytest.raises(ps.Error) as caught:
        run(*parts)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.jpg", b"\xff\xd8\xff\xe0" + bytes(20), "cannot be decoded"), ("a.png", b"\x89PNG\r\n\x1a\n" + bytes(30), "PNG"), ("a.tif", b"II*\0" + bytes(30), "TIFF"),
        ("a.ppm", b"P6 10 10 255\n" + bytes(299), "ends before its last pixel"), ("a.gif", b"GIF89a" + bytes(30), "no picture that is known here"), ("a.ppm", b"P6 0 10 255\n", "no pixels"),
        ("a.ppm", b"P6 100000 100000 255\n", "most-pixels"), ("a.png", b"", "no picture"),
    ],
)  # fmt: skip
def test_bad_pictures_are_refused_by_the_name_of_their_file(tmp_path, name, content, words):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / name).write_bytes(content)
    message = refused(
        component("read", "read-files", path=tmp_path / "in"), component("decode", "decode-picture", names_of=tmp_path / "in"), component("encode", "encode-picture"),
        component("write", "write-bytes", to=tmp_path / "out.jpg"),
        stream("read.bytes", "decode.bytes"), stream("decode.picture", "encode.picture"), stream("encode.bytes", "write.bytes"),
    )  # fmt: skip
    assert words in message and name in message
    assert [each.name for each in tmp_path.iterdir()] == ["in"]


def test_a_picture_that_is_larger_than_is_wanted_is_refused_before_it_is_decoded(tmp_path):
    Image.new("L", (20_000, 20_000)).save(tmp_path / "huge.png")
    message = refused(
        component("read", "read-files", path=tmp_path / "huge.png"), component("decode", "decode-picture"), component("grey", "grey"), component("write", "write-array:uint8", path=tmp_path / "x.npy"),
        stream("read.bytes", "decode.bytes"), stream("decode.picture", "grey.picture"), stream("grey.grey", "write.items"),
    )  # fmt: skip
    assert "20000 x 20000" in message and "read-slide" in message


ENDS = {
    "read-files": ("bytes", "write-bytes", "bytes"), "read-bytes": ("bytes", "write-bytes", "bytes"), "read-sound": ("samples", "write-array:float32", "items"),
    "read-film": ("frame", "write-array:uint8", "items"), "read-slide": ("tile", "write-array:uint8", "items"), "read-array:uint8": ("items", "write-array:uint8", "items"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("of", "settings", "words"),
    [
        ("read-files", {"path": "/nowhere"}, "/nowhere"), ("read-sound", {"path": "/nowhere.wav"}, "/nowhere.wav"), ("read-film", {"path": "/nowhere.mp4"}, "/nowhere.mp4"),
        ("read-slide", {"path": "/nowhere.tif"}, "/nowhere.tif"), ("read-bytes", {"from": "tcp:localhost:1", "patience": 0}, "tcp:localhost:1"),
        ("read-bytes", {"from": "unix:/nowhere", "patience": 0}, "unix:/nowhere"), ("read-array:uint8", {"path": "/nowhere.npy"}, "/nowhere.npy"), ("read-files", {}, "set `path`"),
        ("read-sound", {}, "set `path`"), ("read-files", {"path": "/proc/self/fdinfo", "endings": ".jpg"}, ".jpg"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_named(tmp_path, of, settings, words):
    output, sink, entry = ENDS[of]
    end = {"to": tmp_path / "out"} if sink == "write-bytes" else {"path": tmp_path / "out"}
    assert words in refused(component("a", of, **settings), component("z", sink, **end), stream(f"a.{output}", f"z.{entry}"))
    assert not any(tmp_path.iterdir())


def test_a_setting_that_is_a_choice_says_which_there_are():
    with pytest.raises(ps.UsageError, match="'jpeg', 'png', 'tiff', 'pnm'.*did you mean 'jpeg'"):
        ps.Application.parse(application(component("a", "encode-picture", format="jpg")))


def test_a_full_disc_leaves_the_old_file_and_nothing_else(tmp_path, photo):
    """A file may not grow beyond a limit, which programs see as they see a full disc."""
    np.save(tmp_path / "in.npy", np.stack([photo] * 20))
    (tmp_path / "old.npy").write_bytes(b"old")
    (tmp_path / "a.xml").write_text(application(
        component("read", "read-array:uint8", path=tmp_path / "in.npy"), component("write", "write-array:uint8", path=tmp_path / "old.npy"), stream("read.items", "write.items"),
    ))  # fmt: skip
    line = shlex.join(command("run", tmp_path / "a.xml"))
    done = subprocess.run(["bash", "-c", f"trap '' XFSZ; ulimit -f 100; exec {line}"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0 and "old.npy" in done.stderr.replace("\n", "") and "File too large" in done.stderr.replace("\n", " ")
    assert (tmp_path / "old.npy").read_bytes() == b"old"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.xml", "in.npy", "old.npy"]


WRITERS = {
    "write-array:uint8": ([], "read.items", "write.items", "out.npy"), "write-bytes": ([component("flat", "flatten"), stream("read.items", "flat.picture")], "flat.bytes", "write.bytes", "out"),
    "write-files": ([component("encode", "encode-picture", format="png"), stream("read.items", "encode.picture")], "encode.bytes", "write.bytes", "files"),
    "write-slide": ([component("cut", "cut", tile_rows=256, tile_columns=320), stream("read.items", "cut.picture")], "cut.tile", "write.tile", "out.tif"),
    "write-film": ([component("even", "crop", rows=240, columns=310), stream("read.items", "even.picture")], "even.part", "write.frame", "out.mkv"),
}  # fmt: skip
SETTINGS = {"write-slide": {"rows": 241, "columns": 311, "tile_rows": 256, "tile_columns": 320, "compression": "none"}, "write-film": {"codec": "ffv1"}}


@pytest.mark.parametrize("of", WRITERS)
def test_a_full_disc_is_named_and_nothing_half_written_stays(tmp_path, photo, of):
    """On a small file system of its own, which only this program sees."""
    if of not in {each["name"] for each in ps._core.components()}:
        pytest.skip("built without the library")
    disc = tmp_path / "disc"
    disc.mkdir()
    small = ["unshare", "-rm", "sh", "-c", f'mount -t tmpfs -o size=64k none {shlex.quote(str(disc))} && "$@"; echo "exit $?"; ls -A {shlex.quote(str(disc))}', "sh"]
    if not shutil.which("unshare") or "exit 0" not in subprocess.run([*small, "true"], capture_output=True, text=True, check=False).stdout:
        pytest.skip("no file system can be mounted here")
    np.save(tmp_path / "in.npy", np.stack([photo] * 3))
    between, output, entry, name = WRITERS[of]
    where = {"to" if of == "write-bytes" else "folder" if of == "write-files" else "path": disc / name}
    (tmp_path / "a.xml").write_text(
        application(component("read", "read-array:uint8", path=tmp_path / "in.npy"), *between, component("write", of, **where, **SETTINGS.get(of, {})), stream(output, entry))
    )
    done = subprocess.run([*small, *command("run", tmp_path / "a.xml")], capture_output=True, text=True, timeout=60, check=False)
    assert str(disc / name) in done.stderr.replace("\n", "") and "No space left on device" in done.stderr.replace("\n", " ")
    assert done.stdout.split() == ["exit", "2", *(["files"] if of == "write-files" else [])]


def test_a_picture_that_is_larger_than_memory_is_refused_by_name(tmp_path):
    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 900_000, 900_000, 8, 2, 0, 0, 0))
    (tmp_path / "huge.png").write_bytes(b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b""))
    message = refused(
        component("read", "read-files", path=tmp_path / "huge.png"), component("decode", "decode-picture", names_of=tmp_path / "huge.png", most_pixels=2**40),
        component("write", "write-array:uint8", path=tmp_path / "x.npy"), stream("read.bytes", "decode.bytes"), stream("decode.picture", "write.items"),
    )  # fmt: skip
    assert f"'{tmp_path}/huge.png': there is no memory for this picture: read it in tiles" in message
    assert [each.name for each in tmp_path.iterdir()] == ["huge.png"]


# ---- the examples ----


def run_example(name: str, **settings: object) -> None:
    done = penstock("run", ROOT / "examples" / f"{name}.xml", *[argument for key, value in settings.items() for argument in ("--set", f"{key}={value}")])
    assert done.returncode == 0, done.stderr


def test_photographs_become_small_and_marked(tmp_path):
    (tmp_path / "in").mkdir()
    sharp = Image.fromarray(data.coffee())
    sharp.save(tmp_path / "in" / "sharp.jpg", quality=95)
    Image.fromarray(cv2.GaussianBlur(data.coffee(), (0, 0), 3)).save(tmp_path / "in" / "soft.png")
    run_example("web-photos", input=tmp_path / "in", output=tmp_path / "out", longest=300)
    rows = (tmp_path / "out" / "sharpness.csv").read_text().splitlines()
    assert rows[0] == "name,sharpness" and [row.split(",")[0] for row in rows[1:]] == ["sharp", "soft"]
    figures = [float(row.split(",")[1]) for row in rows[1:]]
    assert figures[0] > 10 * figures[1] > 0
    pictures = {name: np.asarray(Image.open(tmp_path / "out" / f"{name}.jpg")) for name in ("sharp", "soft")}
    assert {each.shape for each in pictures.values()} == {(200, 300, 3)}
    assert np.abs(pictures["sharp"][:190].astype(int) - cv2.resize(np.asarray(Image.open(tmp_path / "in" / "sharp.jpg")), (300, 200), interpolation=cv2.INTER_AREA)[:190]).mean() < 4
    for name, figure in zip(("sharp", "soft"), figures, strict=True):
        bar = (pictures[name][-4:].mean((0, 2)) > 127).sum()
        assert bar == pytest.approx(300 * np.log1p(figure) / np.log1p(5000), abs=4)


@needs_ffmpeg
def test_sharp_photographs_become_a_film(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a-note.txt").write_text("which is no photograph")
    sharp = [data.coffee(), data.astronaut(), data.coffee()[::-1]]
    for number, picture in enumerate(sharp):
        Image.fromarray(picture).save(tmp_path / "in" / f"{number}-sharp.png")
        Image.fromarray(cv2.GaussianBlur(picture, (0, 0), 5)).save(tmp_path / "in" / f"{number}-soft.jpg")
    run_example("sharp-film", input=tmp_path / "in", output=tmp_path / "out.mkv", rows=120, columns=160)
    with av.open(str(tmp_path / "out.mkv")) as film:
        assert film.streams.video[0].average_rate == 2
        found = np.stack([each.to_ndarray(format="rgb24") for each in film.decode(video=0)]).astype(int)
    assert len(found) == 3
    for frame, picture in zip(found, sharp, strict=True):
        assert np.abs(frame - cv2.resize(picture, (160, 120), interpolation=cv2.INTER_AREA)).mean() < 12
    rows = [row.split(",") for row in (tmp_path / "out.mkv.csv").read_text().splitlines()[1:]]
    assert [name for name, _ in rows] == ["0-sharp", "0-soft", "1-sharp", "1-soft", "2-sharp", "2-soft"]
    assert all((float(sharpness) >= 100) == name.endswith("sharp") for name, sharpness in rows)


@needs_ffmpeg
def test_a_film_keeps_only_what_moves(tmp_path):
    background = cv2.resize(data.coffee(), (320, 240))
    frames = np.stack([background] * 40)
    for i in range(10, 40):
        frames[i, 100:140, 8 * (i - 10) : 8 * (i - 10) + 40] = 255
    make_film(tmp_path / "in.mkv", frames)
    run_example("moving", input=tmp_path / "in.mkv", output=tmp_path / "out.mkv")
    with av.open(str(tmp_path / "out.mkv")) as film:
        found = np.stack([each.to_ndarray(format="rgb24") for each in film.decode(video=0)]).astype(int)
    assert len(found) == 40
    assert found[:10].mean() < 2
    for i in range(12, 40, 9):
        at = 8 * (i - 10)
        assert found[i, 105:135, at + 5 : at + 35].mean() > 240
        assert found[i, 160:].mean() < 2 and found[i, :80].mean() < 2


def test_the_stained_area_of_a_slide(tmp_path):
    slide = data.immunohistochemistry()
    Image.fromarray(slide).save(tmp_path / "slide.tif")
    run_example("stained", input=tmp_path / "slide.tif", output=tmp_path / "out", lightest=70, reddest=8)
    lab = color.rgb2lab(slide)
    wanted = ((lab[..., 0] <= 70) & (lab[..., 1] >= 8)).sum()
    row = (tmp_path / "out" / "total.csv").read_text().splitlines()[1].split(",")
    assert abs(float(row[1]) - wanted) <= 20 and float(row[2]) == slide.shape[0] * slide.shape[1]
    tiles = (tmp_path / "out" / "tiles.csv").read_text().splitlines()[1:]
    assert sum(float(tile.split(",")[1]) for tile in tiles) == float(row[1])
    overview = np.asarray(Image.open(tmp_path / "out" / "stained.png"))
    assert abs(overview.mean() / 255 - wanted / lab[..., 0].size) < 0.01


def test_the_spectrogram_of_a_recording(tmp_path):
    rate = 8192
    t = np.arange(2 * rate) / rate
    x = np.concatenate([np.sin(2 * np.pi * 1024 * t), np.sin(2 * np.pi * 3072 * t)])
    with wave.open(str(tmp_path / "in.wav"), "w") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes((x * 20000).astype("<i2").tobytes())
    run_example("spectrogram", input=tmp_path / "in.wav", output=tmp_path / "out.png")
    picture = np.asarray(Image.open(tmp_path / "out.png")).astype(int).sum(2)
    assert picture.shape == (513, 4 * rate // 512 - 1)
    assert {512 - each for each in picture[:, :25].argmax(0)} == {128}
    assert {512 - each for each in picture[:, 40:].argmax(0)} == {384}


# ---- the documents ----


def test_the_page_of_all_classes_says_what_the_classes_say():
    import importlib.util

    spec = importlib.util.spec_from_file_location("components_page", ROOT / "tools" / "components_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    names = {each["name"] for each in ps._core.components()}
    if not {"read-slide", "read-film", "decode-picture"} <= names:
        pytest.skip("built without some of the libraries")
    assert (ROOT / "docs" / "components.md").read_text() == module.page()


def test_the_documents_name_and_draw_every_example():
    page = (ROOT / "docs" / "examples.md").read_text()
    for example in sorted((ROOT / "examples").glob("*.xml")):
        assert 10 <= len(example.read_text().splitlines()) <= 40, example.name
        assert f"(../examples/{example.name})" in page and f"(examples/{example.stem}.svg)" in page
        drawing = html.unescape((ROOT / "docs" / "examples" / f"{example.stem}.svg").read_text())
        assert all(name in drawing for name in set(re.findall(r'class="([a-z:0-9-]+)"', example.read_text())))


def test_a_band_of_radio(tmp_path):
    n = 1 << 17
    t = np.arange(n)
    z = 0.5 * np.exp(2j * np.pi * 0.1 * t) + 0.3 * np.exp(-2j * np.pi * 0.15 * t) + 0.5 * np.exp(2j * np.pi * 0.4 * t)
    pairs = np.stack([z.real, z.imag], 1) * 60 + 127.5
    (tmp_path / "in").write_bytes(np.clip(np.rint(pairs), 0, 255).astype(np.uint8).tobytes())
    run_example("radio-band", input=tmp_path / "in", output=tmp_path / "out.png")
    picture = np.asarray(Image.open(tmp_path / "out.png")).astype(int).sum(2)[::-1]
    assert picture.shape[0] == 1024
    column = picture[:, 20]
    at = np.rint(512 + np.array([0.1, -0.15]) * 2 * 1024).astype(int)  # at half the rate; what lay at 0.4 is gone
    near = np.abs(np.arange(1024)[:, None] - at).min(1) <= 2
    assert column[at].min() > 1.5 * column[~near].max()
