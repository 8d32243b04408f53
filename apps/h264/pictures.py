"""Draws the pictures of docs/h264.md: python apps/h264/pictures.py docs/pictures, with the package, matplotlib, scikit-image and PyAV."""

import sys
from pathlib import Path

import av
import matplotlib as mpl
import numpy as np
from PIL import Image

import penstock as ps
from penstock.pictures import shipped

mpl.use("svg")
from matplotlib import pyplot as plt  # noqa: E402 - after the choice of the backend

COLUMNS, ROWS, PICTURES, RATE = 352, 288, 50, 25
LUMA = COLUMNS * ROWS


def encoded(machine, **how):
    settings = {"columns": COLUMNS, "rows": ROWS, "pictures": PICTURES, "repetitions": 1, **how}
    return ps.run_app(machine, "h264", settings, {"photograph": shipped("coffee.png")}, True)["arrays"]


def psnr(decoded, pictures):
    errors = (decoded.astype(float) - pictures)[:, :LUMA]
    return 10 * np.log10(255**2 / np.mean(errors**2))


def kilobits(count):
    return count * 8 * RATE / PICTURES / 1000


def rgb(planes):
    return av.VideoFrame.from_ndarray(planes.reshape(ROWS * 3 // 2, COLUMNS), format="yuv420p").to_ndarray(format="rgb24")


def x264(pictures, quantiser, preset):
    encoder = av.CodecContext.create("libx264", "w")
    encoder.width, encoder.height, encoder.pix_fmt, encoder.framerate = COLUMNS, ROWS, "yuv420p", RATE
    encoder.options = {"preset": preset, "profile": "baseline", "qp": str(quantiser)}
    packets = []
    for number, one in enumerate(pictures):
        frame = av.VideoFrame.from_ndarray(one.reshape(-1, COLUMNS), format="yuv420p")
        frame.pts = number
        packets += encoder.encode(frame)
    stream = b"".join(bytes(packet) for packet in packets + encoder.encode(None))
    decoder = av.CodecContext.create("h264", "r")
    frames = [frame for packet in decoder.parse(stream) + decoder.parse(None) for frame in decoder.decode(packet)] + decoder.decode(None)
    return kilobits(len(stream)), psnr(np.stack([frame.to_ndarray(format="yuv420p").reshape(-1) for frame in frames]), pictures)


def frames(machine, folder):
    figure, axes = plt.subplots(1, 4, figsize=(14, 3.4))
    for axis, quantiser in zip(axes, (None, 26, 36, 46), strict=True):
        made = encoded(machine, quantiser=26 if quantiser is None else quantiser)
        shown = made["pictures"] if quantiser is None else made["decoded"]
        axis.imshow(rgb(shown[30]))
        axis.set(xticks=[], yticks=[])
        if quantiser is None:
            axis.set_title(f"the film: {kilobits(made['pictures'].size):,.0f} kbit/s", fontsize=9)
        else:
            axis.set_title(f"quantiser {quantiser}: {kilobits(made['result'].size):,.0f} kbit/s, {psnr(made['decoded'], made['pictures']):.1f} dB", fontsize=9)
    figure.tight_layout()
    figure.savefig(folder / "h264-frames.png", dpi=90, bbox_inches="tight")
    Image.open(folder / "h264-frames.png").convert("RGB").quantize(64, dither=Image.Dither.NONE).save(folder / "h264-frames.png", optimize=True)


def rates(machine, folder):
    figure, axis = plt.subplots(figsize=(7, 4))
    quantisers = range(20, 42, 4)
    for effort in ("fast", "good", "thorough"):
        all_made = [encoded(machine, quantiser=quantiser, effort=effort) for quantiser in quantisers]
        axis.semilogx([kilobits(made["result"].size) for made in all_made], [psnr(made["decoded"], made["pictures"]) for made in all_made], "o-", label=f"effort={effort}")
    pictures = encoded(machine)["pictures"]
    for preset in ("ultrafast", "veryfast", "medium"):
        points = [x264(pictures, quantiser, preset) for quantiser in quantisers]
        axis.semilogx(*zip(*points, strict=True), "x--", label=f"x264 {preset}, baseline")
    axis.set(xlabel="kbit/s", ylabel="signal to noise of luminance (dB)")
    axis.grid(visible=True, which="both", alpha=0.3)
    axis.legend(fontsize=8)
    figure.savefig(folder / "h264-rates.png", dpi=110, bbox_inches="tight")


if __name__ == "__main__":
    where = Path(sys.argv[1])
    where.mkdir(parents=True, exist_ok=True)
    with ps.Machine() as pool:
        frames(pool, where)
        rates(pool, where)
