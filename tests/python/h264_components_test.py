"""The H.264 encoder in applications that are written down: its filters one by one, and the whole as one that a graph ends in."""

import re

import numpy as np
import pytest
from command_line import ROOT, penstock
from h264_films import film_file

import penstock as ps
from penstock.pictures import shipped

APPLICATION = '<application xmlns="urn:penstock:application:1" name="test">\n{}\n</application>\n'
READ = '<component name="read" class="h264:read"><set name="input" value="{}"/></component><stream from="read.picture" to="encode.picture"/>'
PICTURES = '<component name="pictures" class="test:pictures"/>'
FROM_PICTURES = PICTURES + '<stream from="pictures.out" to="encode.picture"/>'
HOW = {"effort": "thorough", "quantiser": 30, "period": 4, "b_pictures": 2}
shown = []


@ps.filter(outputs="uint8")
def pictures():
    yield from shown


@pytest.fixture(scope="module", autouse=True)
def registered():
    ps.register_component("test:pictures", pictures)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A film in a file, and what the sequential encoder makes of it."""
    with ps.Machine(targets=0) as machine:
        settings = {"columns": 70, "rows": 50, "pictures": 7, "repetitions": 1, **HOW}
        arrays = ps.run_app(machine, "h264", settings, {"photograph": shipped("chelsea.png")}, True)["arrays"]
    film = film_file(tmp_path_factory.mktemp("films") / "film.y4m", arrays["pictures"], 70, 50, 25)
    return film, arrays["result"].tobytes()


def run_here(machine, text, pictures_shown=()):
    """In this program, whose component class shows these pictures."""
    shown[:] = pictures_shown
    with ps.Application.parse(text if "<application" in text else APPLICATION.format(text)).start(machine):
        pass


def encode(output, **sets):
    return f'<component name="encode" class="h264-encode"><set name="output" value="{output}"/>' + "".join(f'<set name="{name}" value="{value}"/>' for name, value in sets.items()) + "</component>"


@pytest.mark.parametrize("targets", [0, 2])
@pytest.mark.parametrize("copies", [1, 3])
def test_the_written_graph_makes_the_bytes_of_the_sequential_encoder(made, targets, copies, tmp_path):
    film, wanted = made
    settings = {"input": film, "output": tmp_path / "film.264", "copies": copies, **HOW}
    done = penstock("run", "h264.xml", *[a for name, value in settings.items() for a in ("--set", f"{name}={value}")], "--targets", targets)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "film.264").read_bytes() == wanted
    assert done.stdout.startswith("bytes: ")


def test_a_graph_ends_in_the_whole_encoder(made, tmp_path, machine):
    film, wanted = made
    how = {name.replace("_", "-"): value for name, value in HOW.items()}
    run_here(machine, READ.format(film) + encode(tmp_path / "film.264", planes="true", **how))
    assert (tmp_path / "film.264").read_bytes() == wanted


@pytest.mark.parametrize("grey", [False, True])
def test_pictures_keep_their_colours(tmp_path, machine, grey):
    av = pytest.importorskip("av", reason="PyAV is missing (pip install av), so there is no FFmpeg to decode with")
    photograph = shipped("coffee.png")[..., 1] if grey else shipped("coffee.png")
    images = [np.ascontiguousarray(photograph[100 + i : 201 + i, 150:301]) for i in range(3)]  # of odd sides
    run_here(machine, FROM_PICTURES + encode(tmp_path / "film.mp4", quantiser=8, rate=50), images)
    with av.open(tmp_path / "film.mp4") as container:
        assert container.streams.video[0].average_rate == 50
        frames = [frame.to_ndarray(format="gray" if grey else "rgb24") for frame in container.decode(container.streams.video[0])]
    assert len(frames) == 3
    for frame, image in zip(frames, images, strict=True):
        assert frame.shape[:2] == (102, 152)
        assert np.abs(frame[:101, :151].astype(float) - image).mean() < 4  # colours have half the columns and rows


def test_the_filters_one_by_one_encode_pictures_too(tmp_path, machine):
    """What `h264-encode` makes of pictures is what the graph of the filters makes of them."""
    images = [np.ascontiguousarray(shipped("coffee.png")[100 + 2 * i : 164 + 2 * i, 150:230]) for i in range(8)]
    run_here(machine, FROM_PICTURES + encode(tmp_path / "whole.264"), images)
    source = PICTURES + '<component name="planes" class="h264:planes"/><stream from="pictures.out" to="planes.picture"/>'
    filters = (ROOT / "apps" / "h264" / "h264.xml").read_text(encoding="utf-8")
    filters = re.sub('<component name="read".*?</component>', source, re.sub('<parameter name="(input|rows|columns)".*?/>', "", filters), flags=re.DOTALL)
    filters = filters.replace("read.picture", "planes.planes").replace("${output}", str(tmp_path / "filters.264"))
    run_here(machine, filters, images)
    assert (tmp_path / "filters.264").read_bytes() == (tmp_path / "whole.264").read_bytes()


@pytest.mark.parametrize(("film", "why"), [(b"YUV4MPEG2 W8 H4\nFRAME\n1234", "ends in picture 0, of which it has 4 of 48 bytes"), (None, "cannot read the file")])
def test_a_film_that_cannot_be_read_ends_the_graph(film, why, tmp_path):
    if film is not None:
        (tmp_path / "film.y4m").write_bytes(film)
    done = penstock("run", "h264.xml", "--set", f"input={tmp_path / 'film.y4m'}")
    assert done.returncode == 2
    assert why in " ".join((done.stdout + done.stderr).split())


PICTURE = np.zeros((32, 32, 3), np.uint8)


@pytest.mark.parametrize(
    ("sets", "images", "why"),
    [
        ({"effort": "best"}, [PICTURE], "effort is 'best'; it must be fast, good or thorough"),
        ({"search": "wide"}, [PICTURE], "search is 'wide'"),
        ({"smallest": 12}, [PICTURE], "smallest is 12; it must be 16, 8 or 4"),
        ({"quantiser": 52}, [PICTURE], "'quantiser' is given 52"),
        ({"planes": "true"}, [PICTURE], "planes are 3/2 rows x columns bytes, of even sides up to 8192, and this buffer is none"),
        ({"planes": "true"}, [PICTURE[:, :, 0]], "planes are 3/2 rows x columns"),
        ({}, [PICTURE[0, :, 0].copy()], "pictures are rows x columns x 3 bytes"),
        ({}, [np.zeros((1, 9000), np.uint8)], "at most 8192 x 8192"),
        ({}, [PICTURE, np.zeros((32, 34, 3), np.uint8)], "all pictures of a film must have one size"),
        ({"output": "/missing/film.mp4"}, [PICTURE], "/missing/film.mp4"),
    ],
)
def test_what_cannot_be_encoded_is_refused_by_name(sets, images, why, tmp_path, machine):
    sets = dict(sets)
    with pytest.raises(ps.Error, match=re.escape(why)):
        run_here(machine, FROM_PICTURES + encode(sets.pop("output", tmp_path / "film.264"), **sets), images)
