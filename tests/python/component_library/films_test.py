"""Films, against PyAV."""

import numpy as np
import pytest

import penstock as ps
from component_parts import component, make_film, needs_ffmpeg, run, stream

av = pytest.importorskip("av")


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
        stream("read.items", "motion.picture", capacity="1"), stream("read.items", "watch.x", capacity="1"),  # so that it lives to hear of the last
    )  # fmt: skip
    assert [name for name, _ in got] == ["on", "off"]
    assert 0.05 < got[0][1] < 400 / 4800 + 0.001 and got[1][1] == 0
