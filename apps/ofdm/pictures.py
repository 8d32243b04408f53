"""Draws the pictures of docs/ofdm.md: python apps/ofdm/pictures.py docs/pictures, with the package and matplotlib."""

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

import penstock as ps

mpl.use("svg")
from matplotlib import pyplot as plt  # noqa: E402 - after the choice of the backend

RATES = {6: "BPSK 1/2", 9: "BPSK 3/4", 12: "QPSK 1/2", 18: "QPSK 3/4", 24: "16-QAM 1/2", 36: "16-QAM 3/4", 48: "64-QAM 2/3", 54: "64-QAM 3/4"}


def received(machine, rate, snr, frames, seed=1):
    settings = {"rows": frames, "columns": 200, "block_rows": rate, "seed": seed, "snr": str(snr), "repetitions": 1}
    return ps.run_app(machine, "ofdm", settings, {}, True)["arrays"]


def constellations(machine, folder):
    figure, axes = plt.subplots(1, 4, figsize=(11, 3))
    for axis, rate in zip(axes, (6, 12, 24, 54), strict=True):
        carriers = received(machine, rate, 22, 20)["carriers"]
        axis.plot(carriers.real, carriers.imag, ".", markersize=1)
        axis.set(title=RATES[rate], aspect="equal", xlim=(-1.6, 1.6), ylim=(-1.6, 1.6), xticks=[], yticks=[])
    figure.suptitle("equalised carriers of 64 symbols, 22 dB")
    figure.savefig(folder / "ofdm-constellations.png", dpi=110, bbox_inches="tight")


def lost_frames(machine, folder):
    figure, axis = plt.subplots(figsize=(7, 4))
    frames, ratios = 300, np.arange(0, 28, 1.0)
    for rate, name in RATES.items():
        lost = [1 - received(machine, rate, snr, frames)["whole"].sum() / frames for snr in ratios]
        axis.semilogy(ratios, np.maximum(lost, 1e-4), label=f"{rate} Mbit/s, {name}")
    axis.set(xlabel="signal to noise (dB)", ylabel=f"frames of 200 octets lost, of {frames}", ylim=(1 / frames, 1.2))
    axis.grid(visible=True, which="both", alpha=0.3)
    axis.legend(fontsize=8)
    figure.savefig(folder / "ofdm-lost-frames.png", dpi=110, bbox_inches="tight")


if __name__ == "__main__":
    where = Path(sys.argv[1])
    where.mkdir(parents=True, exist_ok=True)
    with ps.Machine() as pool:
        constellations(pool, where)
        lost_frames(pool, where)
