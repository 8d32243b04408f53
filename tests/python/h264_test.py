"""The H.264 encoder against two decoders that are not ours, FFmpeg's and OpenH264: both give exactly the encoder's own reconstruction."""

import itertools
import os
import subprocess

import numpy as np
import pytest
from command_line import penstock
from h264_films import film_file
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.pictures import shipped

av = pytest.importorskip("av", reason="PyAV is missing (pip install av), so there is no FFmpeg to decode with")
imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg", reason="imageio-ffmpeg is missing (pip install imageio-ffmpeg), so there is no OpenH264 to decode with")

LONG = bool(os.environ.get("PENSTOCK_LONG"))
ONE_WAY_EACH = {"repetitions": 1}


def by_ffmpeg(stream: bytes) -> list[np.ndarray]:
    decoder = av.CodecContext.create("h264", "r")
    frames = [frame for packet in decoder.parse(stream) + decoder.parse(None) for frame in decoder.decode(packet)]
    return [frame.to_ndarray(format="yuv420p").reshape(-1) for frame in frames + decoder.decode(None)]


def by_openh264(stream: bytes, size: int) -> list[np.ndarray]:
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-c:v", "libopenh264", "-f", "h264", "-i", "-"]
    done = subprocess.run([*command, "-f", "rawvideo", "-pix_fmt", "yuv420p", "-fps_mode", "passthrough", "-"], input=stream, capture_output=True, check=True)
    assert not done.stderr, done.stderr
    return list(np.frombuffer(done.stdout, np.uint8).reshape(-1, size))


def encoded(machine, columns, rows, how, pictures=None, photograph=None):
    inputs = {} if photograph is None else {"photograph": photograph}
    if pictures is not None:
        inputs["pictures"] = pictures
    result = ps.run_app(machine, "h264", {**ONE_WAY_EACH, "columns": columns, "rows": rows, **how}, inputs, True)
    assert result["ok"], result["checks"]
    return result


def check_decoders(result, columns, rows):
    """Both decoders give what the encoder says that they will."""
    stream, decoded = result["arrays"]["result"].tobytes(), result["arrays"]["decoded"]
    for name, found in (("FFmpeg", by_ffmpeg(stream)), ("OpenH264", by_openh264(stream, columns * rows * 3 // 2))):
        assert len(found) == len(decoded), name
        wrong = [i for i, (one, other) in enumerate(zip(found, decoded, strict=True)) if not np.array_equal(one, other)]
        assert not wrong, f"{name} decodes other pictures: {wrong}"


# Each size with each quantiser; the other settings go round.
KINDS = [
    {"effort": "fast", "pictures": 3},
    {"effort": "good", "pictures": 4, "period": 3},
    {"effort": "thorough", "pictures": 6},
    {"effort": "good", "b_pictures": 1, "loop_filter": 0, "pictures": 5},
    {"effort": "good", "smallest": 4, "range": 16, "search": "full", "pictures": 2},
    {"effort": "fast", "fraction": 2, "intra4": 1, "period": 1, "pictures": 2},
    {"effort": "thorough", "fraction": 1, "b_pictures": 2, "period": 4, "pictures": 9},
]
SIZES = [(16, 16), (18, 34), (64, 48), (98, 66), (176, 144)]
MATRIX = [(*size, quantiser) for size, quantiser in itertools.product(SIZES, (0, 9, 18, 26, 37, 51))]


@pytest.mark.parametrize(("columns", "rows", "quantiser"), MATRIX if LONG else MATRIX[::2])
def test_decoders_give_the_encoders_own_reconstruction(columns, rows, quantiser, machine):
    photograph = shipped("chelsea.png")
    kinds = KINDS if LONG else [KINDS[(columns + quantiser) % len(KINDS)]]
    for kind in kinds:
        result = encoded(machine, columns, rows, {"quantiser": quantiser, "seed": quantiser, **kind}, photograph=photograph)
        check_decoders(result, columns, rows)


def test_what_compresses_badly_is_decoded_as_well(machine):
    """Noise at fine quantisers: macroblocks are written as samples, and levels reach the greatest that can be written."""
    random = np.random.default_rng(1)
    for quantiser, kind in itertools.product((0, 4, 15), ("good", "thorough")):
        for most in (2, 256):
            pictures = (random.integers(0, most, (3, 48 * 34 * 3 // 2)) * (255 // (most - 1))).astype(np.uint8)
            check_decoders(encoded(machine, 48, 34, {"quantiser": quantiser, "effort": kind}, pictures), 48, 34)


@st.composite
def films(draw):
    columns, rows, count = (draw(st.integers(*bounds)) for bounds in ((1, 30), (1, 24), (1, 5)))
    size = 4 * columns * rows * 3 // 2
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    pictures = random.integers(0, 256, (count, size)).astype(np.uint8)
    kind = draw(st.sampled_from(["noise", "still", "flat", "stripes", "jumps"]))
    if kind == "still":
        pictures[:] = pictures[0]
    elif kind == "flat":
        pictures[:] = pictures[:, :1]
    elif kind == "stripes":
        pictures[:] = np.where(np.arange(size) % draw(st.integers(2, 40)) < 2, 255, 0)
        pictures = np.stack([np.roll(one, draw(st.integers(0, 50))) for one in pictures])
    elif kind == "jumps":
        pictures[:] = np.arange(size) // 7 % 256
        pictures = np.stack([np.roll(one, draw(st.integers(0, size))) for one in pictures])
    how = {
        "quantiser": draw(st.integers(0, 51)),
        "effort": draw(st.sampled_from(["fast", "good", "thorough"])),
        "period": draw(st.integers(0, 4)),
        "b_pictures": draw(st.integers(0, 3)),
        "smallest": draw(st.sampled_from([4, 8, 16])),
        "range": draw(st.integers(4, 128)),
        "search": draw(st.sampled_from(["diamond", "hexagon"])),
        "fraction": draw(st.sampled_from([1, 2, 4])),
        "transformed": draw(st.integers(0, 1)),
        "intra4": draw(st.integers(0, 1)),
        "loop_filter": draw(st.integers(0, 1)),
    }
    return 2 * columns, 2 * rows, pictures, how


@settings(max_examples=2000 if LONG else 40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(films())
def test_every_film_with_every_setting_is_decoded_as_the_encoder_says(machine, film):
    columns, rows, pictures, how = film
    check_decoders(encoded(machine, columns, rows, how, pictures), columns, rows)


@pytest.mark.parametrize("b_pictures", [0, 3])
def test_an_mp4_file_is_played_picture_by_picture_at_its_times(b_pictures, tmp_path, machine):
    made = encoded(machine, 96, 64, {"pictures": 11, "b_pictures": b_pictures, "period": 6}, photograph=shipped("coffee.png"))["arrays"]
    film = film_file(tmp_path / "film.y4m", made["pictures"], 96, 64)
    done = penstock("run", "h264", "--set", f"input={film}", "--set", f"output={tmp_path / 'film.mp4'}", "--set", f"b_pictures={b_pictures}", "--set", "period=6",
                    "--set", "pictures=2", "--set", "repetitions=1")  # fmt: skip
    assert done.returncode == 0 and "written: 11 pictures" in done.stdout, done.stdout + done.stderr
    with av.open(tmp_path / "film.mp4") as container:
        video = container.streams.video[0]
        assert (video.width, video.height, video.average_rate, video.frames) == (96, 64, 30, 11)
        frames = list(container.decode(video))
        assert [float(frame.time) for frame in frames] == pytest.approx([i / 30 for i in range(11)])
        assert all(np.array_equal(frame.to_ndarray(format="yuv420p").reshape(-1), one) for frame, one in zip(frames, made["decoded"], strict=True))


@pytest.mark.parametrize(("columns", "rows"), [(3, 5), (33, 48), (49, 17)])
def test_a_film_with_odd_sides_gets_its_last_column_and_row_twice(columns, rows, tmp_path):
    random = np.random.default_rng(columns)
    wide, high = (columns + 1) // 2, (rows + 1) // 2
    pictures = [[random.integers(100, 116, shape).astype(np.uint8) for shape in ((rows, columns), (high, wide), (high, wide))] for _ in range(3)]
    film = film_file(tmp_path / "film.y4m", np.stack([np.concatenate([plane.reshape(-1) for plane in one]) for one in pictures]), columns, rows)
    done = penstock("run", "h264", "--set", f"input={film}", "--set", f"output={tmp_path / 'film.264'}", "--set", "quantiser=0", "--set", "repetitions=1")
    assert done.returncode == 0, done.stdout + done.stderr
    found = np.stack(by_ffmpeg((tmp_path / "film.264").read_bytes()))
    assert np.array_equal(found, np.stack(by_openh264((tmp_path / "film.264").read_bytes(), 6 * wide * high)))
    padding = (0, rows % 2), (0, columns % 2)
    wanted = [np.concatenate([plane.reshape(-1) for plane in (np.pad(one[0], padding, mode="edge"), *one[1:])]) for one in pictures]
    assert np.abs(found.astype(int) - np.stack(wanted)).max() <= 2


REFUSED = {
    "is cut": (["input={film}"], lambda film: film[:-1], "film.y4m' ends in picture 1, of which it has 47 of 48 bytes"),
    "is empty": (["input={film}"], lambda _: b"", "film.y4m' ends in its header"),
    "has no pictures": (["input={film}"], lambda film: film[: film.index(b"FRAME")], "give it a film with at least one picture"),
    "is no film": (["input={film}"], lambda _: b"GIF89a...\n", "film.y4m' is no YUV4MPEG2"),
    "has other colours": (["input={film}"], lambda film: film.replace(b"C420", b"C444"), "has colours as 'C444'"),
    "is missing": (["input={film}.gone.y4m"], lambda film: film, "cannot read the file"),
    "is raw, of unknown size": (["input={film}.yuv"], lambda film: film, "say how many columns and rows they have"),
    "goes nowhere": (["input={film}", "output={film}/film.mp4"], lambda film: film, "film.y4m/film.mp4"),
    "has a wrong quantiser": (["input={film}", "quantiser=52"], lambda film: film, "quantiser is 52; it must be 0 to 51"),
    "has a quantiser that is no number": (["input={film}", "quantiser=fine"], lambda film: film, "quantiser is 'fine'; it must be a whole number"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_cannot_be_encoded_is_refused_by_name(why, tmp_path):
    sets, change, message = REFUSED[why]
    film = film_file(tmp_path / "film.y4m", np.zeros((2, 48), np.uint8), 8, 4)
    film.with_name("film.y4m.yuv").write_bytes(bytes(48))
    film.write_bytes(change(film.read_bytes()))
    done = penstock("run", "h264", *[each for one in sets for each in ("--set", one.format(film=film))], "--set", "repetitions=1")
    assert done.returncode == 2
    assert message in "".join((done.stdout + done.stderr).split("\n")) or message in " ".join((done.stdout + done.stderr).split())


def test_the_picture_is_as_good_as_x264s_at_the_same_rate(machine):
    """x264's fastest setting, at the same quantiser: of the rate and the signal-to-noise ratio neither may be far worse."""
    made = encoded(machine, 352, 288, {"pictures": 12, "effort": "fast", "quantiser": 28}, photograph=shipped("coffee.png"))
    encoder = av.CodecContext.create("libx264", "w")
    encoder.width, encoder.height, encoder.pix_fmt, encoder.framerate = 352, 288, "yuv420p", 25
    encoder.options = {"preset": "ultrafast", "profile": "baseline", "qp": "28"}
    packets = []
    for i, one in enumerate(made["arrays"]["pictures"]):
        frame = av.VideoFrame.from_ndarray(one.reshape(432, 352), format="yuv420p")
        frame.pts = i
        packets += encoder.encode(frame)
    stream = b"".join(bytes(packet) for packet in packets + encoder.encode(None))

    def psnr(decoded):
        return 10 * np.log10(255**2 / np.mean((np.stack(decoded).astype(float) - made["arrays"]["pictures"])[:, : 352 * 288] ** 2))

    ours, theirs = made["arrays"]["result"].size, len(stream)
    # Six dB cost about one bit a pixel that is coded: a rate of r times is worth 6 log2 r dB at most.
    advantage = psnr(made["arrays"]["decoded"]) - psnr(by_ffmpeg(stream)) + 6 * np.log2(theirs / ours)
    assert advantage > -1, (ours, theirs, psnr(made["arrays"]["decoded"]), psnr(by_ffmpeg(stream)))
