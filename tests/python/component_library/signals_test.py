"""Sounds, spectra and radio, against SciPy."""

import numpy as np
import pytest

from component_parts import component, run, stream

pytest.importorskip("scipy")

from scipy import io as scipy_io  # noqa: E402
from scipy import signal as scipy_signal  # noqa: E402


def test_sounds_are_read_filtered_and_written_as_scipy_does_it(tmp_path):
    rate, count = 8000, 20_011
    x = (np.random.default_rng(3).standard_normal((count, 2)) * 6000).clip(-32768, 32767).astype(np.int16)
    scipy_io.wavfile.write(tmp_path / "in.wav", rate, x)
    run(
        component("read", "read-sound", path=tmp_path / "in.wav", block=999), component("copy", "write-sound", path=tmp_path / "copy.wav"), component("mono", "mono", "2"),
        component("fir", "fir", low=0.05, high=0.2, length=101, keep_one_of=3), component("write", "write-sound", path=tmp_path / "out.wav", kind="float"),
        stream("read.samples", "copy.samples"), stream("read.samples", "mono.samples"), stream("mono.mono", "fir.samples", ordered="true"), stream("fir.filtered", "write.samples"),
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
