"""The radio receiver from Python and from the command line: check sequences by zlib, captures, constellations, and what is refused."""

import struct
import zlib

import numpy as np
import pytest
from typer.testing import CliRunner

import penstock as ps
from penstock.cli import app


def run(machine, settings=None, inputs=None):
    result = ps.run_app(machine, "ofdm", {"repetitions": 1, **(settings or {})}, inputs or {}, True)
    assert result["ok"], result["checks"]
    return result["arrays"]


def frames(arrays):
    starts = arrays["starts"]
    return [arrays["result"][a:b].tobytes() for a, b in zip(starts[:-1], starts[1:], strict=True)]


@pytest.mark.parametrize(("rate", "size"), [(6, 64), (24, 64), (54, 64), (54, 256)])
def test_frames_have_the_check_sequence_of_zlib(rate, size, machine):
    arrays = run(machine, {"rows": 6, "columns": 123, "block_rows": rate, "block_columns": size})
    assert len(frames(arrays)) == 6 and arrays["whole"].all()
    for octets in frames(arrays):
        assert len(octets) == 123 and zlib.crc32(octets[:-4]) == int.from_bytes(octets[-4:], "little")


@pytest.mark.parametrize(("rate", "levels"), [(12, [-1, 1]), (24, [-3, -1, 1, 3]), (54, [-7, -5, -3, -1, 1, 3, 5, 7])])
def test_carriers_lie_around_the_points_of_their_constellation(rate, levels, machine):
    carriers = run(machine, {"rows": 4, "columns": 1000, "block_rows": rate, "snr": "35"})["carriers"]
    unit = 1 / np.sqrt(2 * np.mean(np.square(levels)))
    points = unit * np.add.outer(np.array(levels), 1j * np.array(levels)).ravel()
    nearest = np.abs(carriers[:, None] - points).min(axis=1)
    assert carriers.size == 64 * 48 and np.sqrt(np.mean(nearest**2)) < 10 ** (-35 / 20) * 1.4


def test_samples_of_ones_own_are_received(machine):
    made = run(machine, {"rows": 3, "columns": 80})
    again = run(machine, {}, {"samples": (made["samples"] * np.complex64(40j)).astype(np.complex64)})
    assert frames(again) == frames(made)
    with pytest.raises(ps.SettingError, match="not a finite number"):
        run(machine, {}, {"samples": np.array([1, np.nan], np.complex64)})


def test_a_file_of_samples_becomes_a_capture(machine, tmp_path):
    made = run(machine, {"rows": 5, "columns": 90, "block_rows": 12})
    samples, capture = tmp_path / "air.cf32", tmp_path / "frames.pcap"
    made["samples"].tofile(samples)
    result = CliRunner().invoke(app, ["run", "ofdm", "--set", f"input={samples}", "--set", f"output={capture}", "--set", "repetitions=1"])
    assert result.exit_code == 0, result.output
    assert "5 of them whole" in result.output
    content, found = capture.read_bytes(), []
    assert struct.unpack_from("<IHH", content) == (0xA1B2C3D4, 2, 4) and struct.unpack_from("<I", content, 20) == (127,)
    at = 24
    while at < len(content):
        length = struct.unpack_from("<I", content, at + 8)[0]
        header = struct.unpack_from("<H", content, at + 18)[0]
        found.append(content[at + 16 + header : at + 16 + length])
        at += 16 + length
    assert found == frames(made)
    samples.write_bytes(samples.read_bytes()[:-3])
    refused = CliRunner().invoke(app, ["run", "ofdm", "--set", f"input={samples}"]).exception
    assert isinstance(refused, ps.UsageError) and str(samples) in str(refused) and "whole number of samples" in str(refused)
