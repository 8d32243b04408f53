"""Full-search motion estimation against FFmpeg's: the smallest sum of each block, not the vector, for several may be as good."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import skimage
from PIL import Image

import penstock as ps

av = pytest.importorskip("av", reason="PyAV is missing (pip install av), so there is no FFmpeg to compare with")
if "mestimate" not in av.filter.filters_available:
    pytest.skip("this FFmpeg has no mestimate filter", allow_module_level=True)

BLOCK = 16


def vectors_to_the_frame_before(frames):
    """For each frame but the first and the last (FFmpeg wants both neighbours): its vectors by exhaustive search, range 7."""
    graph = av.filter.Graph()
    height, width = frames[0].shape
    source = graph.add_buffer(width=width, height=height, format="gray", time_base=Fraction(1, 25))
    search = graph.add("mestimate", "method=esa:mb_size=16:search_param=7")
    sink = graph.add("buffersink")
    source.link_to(search)
    search.link_to(sink)
    graph.configure()
    found = []
    for time, pixels in enumerate([*frames, None]):
        frame = None
        if pixels is not None:
            frame = av.VideoFrame.from_ndarray(pixels, format="gray")
            frame.pts = time
        source.push(frame)
        while True:
            try:
                searched = sink.pull()
            except (av.error.BlockingIOError, av.error.EOFError):
                break
            vectors = searched.side_data.get("MOTION_VECTORS")
            assert vectors is not None, "FFmpeg gave a frame without vectors"
            found.append((searched.pts, [v for v in vectors.to_ndarray() if v["source"] == -1]))
    return found


def sums(frames, number, vectors):
    """The sums of absolute differences at these vectors."""
    here, before = (frames[n].astype(np.int64) for n in (number, number - 1))
    result = np.full([side // BLOCK for side in here.shape], -1)
    for vector in vectors:
        assert (vector["w"], vector["h"]) == (BLOCK, BLOCK)
        x, y, sx, sy = (int(vector[place]) - BLOCK // 2 for place in ("dst_x", "dst_y", "src_x", "src_y"))
        assert abs(sx - x) <= 7 and abs(sy - y) <= 7
        difference = here[y : y + BLOCK, x : x + BLOCK] - before[sy : sy + BLOCK, sx : sx + BLOCK]
        result[y // BLOCK, x // BLOCK] = np.abs(difference).sum()
    assert (result >= 0).all(), "FFmpeg left a block out"
    return result


def photograph_that_moves():
    with Image.open(Path(skimage.__file__).parent / "data" / "retina.jpg") as image:
        pixels = np.asarray(image.convert("L"))
    return [np.ascontiguousarray(pixels[300 + 3 * i : 780 + 3 * i, 250 - 5 * i : 970 - 5 * i]) for i in range(4)]


def frames_of_the_gallery(machine):
    return list(ps.run_app(machine, "motion", {"repetitions": 1}, {}, True)["arrays"]["frames"])


@pytest.mark.parametrize("moving", ["photograph", "gallery"])
def test_the_smallest_sum_of_each_block_is_that_of_ffmpeg(moving, machine):
    frames = photograph_that_moves() if moving == "photograph" else frames_of_the_gallery(machine)
    result = ps.run_app(machine, "motion", {"repetitions": 1}, {"frames": np.stack(frames)}, True)
    assert result["ok"], result["checks"]
    ours = result["arrays"]["result"]
    compared = 0
    for number, vectors in vectors_to_the_frame_before(frames):
        if number == 0 or not vectors:
            continue
        theirs = sums(frames, number, vectors)
        assert np.count_nonzero(ours[number - 1] != theirs) == 0
        compared += 1
    assert compared >= len(frames) - 2
