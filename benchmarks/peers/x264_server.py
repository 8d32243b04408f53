"""x264 (in PyAV's wheel) on a film that lies in memory: encodes it whenever a line of the input asks for that.

`film FILE COLUMNS ROWS` reads raw planes and is answered with the number of pictures; `encode QUANTISER PRESET THREADS SLICED` with the nanoseconds;
`quality QUANTISER PRESET` with the bytes of the stream and the signal-to-noise ratio of luminance, in dB.
"""

import sys
import time

import av
import numpy as np

film = {}


def read(path, columns, rows):
    columns, rows = int(columns), int(rows)
    pictures = np.fromfile(path, np.uint8).reshape(-1, rows * 3 // 2, columns)
    film.update(columns=columns, rows=rows, pictures=pictures, frames=[])
    for number, planes in enumerate(pictures):
        frame = av.VideoFrame.from_ndarray(planes, format="yuv420p")
        frame.pts = number
        film["frames"].append(frame)
    return len(pictures)


def encoded(quantiser, preset, threads, sliced):
    encoder = av.CodecContext.create("libx264", "w")
    encoder.width, encoder.height, encoder.pix_fmt, encoder.framerate = film["columns"], film["rows"], "yuv420p", 25
    encoder.thread_count = int(threads)
    encoder.options = {"preset": preset, "profile": "baseline", "qp": quantiser, "x264-params": f"threads={threads}:sliced-threads={sliced}"}
    packets = [packet for frame in film["frames"] for packet in encoder.encode(frame)]
    return packets + encoder.encode(None)


def encode(*how):
    start = time.perf_counter_ns()
    encoded(*how)
    return time.perf_counter_ns() - start


def quality(quantiser, preset):
    stream = b"".join(bytes(packet) for packet in encoded(quantiser, preset, 1, 0))
    decoder = av.CodecContext.create("h264", "r")
    frames = [frame for packet in decoder.parse(stream) + decoder.parse(None) for frame in decoder.decode(packet)] + decoder.decode(None)
    rows = film["rows"]
    errors = [np.mean((frame.to_ndarray(format="yuv420p")[:rows].astype(float) - one[:rows]) ** 2) for frame, one in zip(frames, film["pictures"], strict=True)]
    return f"{len(stream)} {10 * np.log10(255**2 / np.mean(errors))}"


print("ready", flush=True)
for line in sys.stdin:
    request, *arguments = line.split()
    print({"film": read, "encode": encode, "quality": quality}[request](*arguments), flush=True)
