"""The applications of examples/, over files that are made here."""

import wave

import numpy as np
import pytest
from PIL import Image

from command_line import ROOT, penstock
from component_parts import make_film, needs_ffmpeg

cv2 = pytest.importorskip("cv2")
data = pytest.importorskip("skimage.data")

from skimage import color  # noqa: E402


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
    av = pytest.importorskip("av")
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
    av = pytest.importorskip("av")
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
