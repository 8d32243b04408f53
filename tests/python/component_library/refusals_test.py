"""What component classes refuse, and that nothing half-written stays."""

import shlex
import shutil
import struct
import subprocess
import zlib

import numpy as np
import pytest
from PIL import Image

import penstock as ps
from command_line import command
from component_parts import application, component, refused, stream


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.jpg", b"\xff\xd8\xff\xe0" + bytes(20), "cannot be decoded"), ("a.png", b"\x89PNG\r\n\x1a\n" + bytes(30), "PNG"), ("a.tif", b"II*\0" + bytes(30), "TIFF"),
        ("a.ppm", b"P6 10 10 255\n" + bytes(299), "ends before its last pixel"), ("a.gif", b"GIF89a" + bytes(30), "no picture that is known here"), ("a.ppm", b"P6 0 10 255\n", "no pixels"),
        ("a.ppm", b"P6 100000 100000 255\n", "most-pixels"), ("a.png", b"", "no picture"),
    ],
)  # fmt: skip
def test_bad_pictures_are_refused_by_the_name_of_their_file(tmp_path, name, content, words):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / name).write_bytes(content)
    message = refused(
        component("read", "read-files", path=tmp_path / "in"), component("decode", "decode-picture", names_of=tmp_path / "in"), component("encode", "encode-picture"),
        component("write", "write-bytes", to=tmp_path / "out.jpg"),
        stream("read.bytes", "decode.bytes"), stream("decode.picture", "encode.picture"), stream("encode.bytes", "write.bytes"),
    )  # fmt: skip
    assert words in message and name in message
    assert [each.name for each in tmp_path.iterdir()] == ["in"]


def test_a_picture_that_is_larger_than_is_wanted_is_refused_before_it_is_decoded(tmp_path):
    Image.new("L", (20_000, 20_000)).save(tmp_path / "huge.png")
    message = refused(
        component("read", "read-files", path=tmp_path / "huge.png"), component("decode", "decode-picture"), component("grey", "grey"), component("write", "write-array:uint8", path=tmp_path / "x.npy"),
        stream("read.bytes", "decode.bytes"), stream("decode.picture", "grey.picture"), stream("grey.grey", "write.items"),
    )  # fmt: skip
    assert "20000 x 20000" in message and "read-slide" in message


ENDS = {
    "read-files": ("bytes", "write-bytes", "bytes"), "read-bytes": ("bytes", "write-bytes", "bytes"), "read-sound": ("samples", "write-array:float32", "items"),
    "read-film": ("frame", "write-array:uint8", "items"), "read-slide": ("tile", "write-array:uint8", "items"), "read-array:uint8": ("items", "write-array:uint8", "items"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("of", "settings", "words"),
    [
        ("read-files", {"path": "/nowhere"}, "/nowhere"), ("read-sound", {"path": "/nowhere.wav"}, "/nowhere.wav"), ("read-film", {"path": "/nowhere.mp4"}, "/nowhere.mp4"),
        ("read-slide", {"path": "/nowhere.tif"}, "/nowhere.tif"), ("read-bytes", {"from": "tcp:localhost:1", "patience": 0}, "tcp:localhost:1"),
        ("read-bytes", {"from": "unix:/nowhere", "patience": 0}, "unix:/nowhere"), ("read-array:uint8", {"path": "/nowhere.npy"}, "/nowhere.npy"), ("read-files", {}, "set `path`"),
        ("read-sound", {}, "set `path`"), ("read-files", {"path": "/proc/self/fdinfo", "endings": ".jpg"}, ".jpg"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_named(tmp_path, of, settings, words):
    output, sink, entry = ENDS[of]
    end = {"to": tmp_path / "out"} if sink == "write-bytes" else {"path": tmp_path / "out"}
    assert words in refused(component("a", of, **settings), component("z", sink, **end), stream(f"a.{output}", f"z.{entry}"))
    assert not any(tmp_path.iterdir())


def test_a_setting_that_is_a_choice_says_which_there_are():
    with pytest.raises(ps.UsageError, match="'jpeg', 'png', 'tiff', 'pnm'.*did you mean 'jpeg'"):
        ps.Application.parse(application(component("a", "encode-picture", format="jpg")))


def test_a_full_disc_leaves_the_old_file_and_nothing_else(tmp_path, photo):
    """A file may not grow beyond a limit, which programs see as they see a full disc."""
    np.save(tmp_path / "in.npy", np.stack([photo] * 20))
    (tmp_path / "old.npy").write_bytes(b"old")
    (tmp_path / "a.xml").write_text(application(
        component("read", "read-array:uint8", path=tmp_path / "in.npy"), component("write", "write-array:uint8", path=tmp_path / "old.npy"), stream("read.items", "write.items"),
    ))  # fmt: skip
    line = shlex.join(command("run", tmp_path / "a.xml"))
    done = subprocess.run(["bash", "-c", f"trap '' XFSZ; ulimit -f 100; exec {line}"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0 and "old.npy" in done.stderr.replace("\n", "") and "File too large" in done.stderr.replace("\n", " ")
    assert (tmp_path / "old.npy").read_bytes() == b"old"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.xml", "in.npy", "old.npy"]


WRITERS = {
    "write-array:uint8": ([], "read.items", "write.items", "out.npy"), "write-bytes": ([component("flat", "flatten"), stream("read.items", "flat.picture")], "flat.bytes", "write.bytes", "out"),
    "write-files": ([component("encode", "encode-picture", format="png"), stream("read.items", "encode.picture")], "encode.bytes", "write.bytes", "files"),
    "write-slide": ([component("cut", "cut", tile_rows=256, tile_columns=320), stream("read.items", "cut.picture")], "cut.tile", "write.tile", "out.tif"),
    "write-film": ([component("even", "crop", rows=240, columns=310), stream("read.items", "even.picture")], "even.part", "write.frame", "out.mkv"),
}  # fmt: skip
SETTINGS = {"write-slide": {"rows": 241, "columns": 311, "tile_rows": 256, "tile_columns": 320, "compression": "none"}, "write-film": {"codec": "ffv1"}}


@pytest.mark.parametrize("of", WRITERS)
def test_a_full_disc_is_named_and_nothing_half_written_stays(tmp_path, photo, of):
    """On a small file system of its own, which only this program sees."""
    if of not in {each["name"] for each in ps._core.components()}:
        pytest.skip("built without the library")
    disc = tmp_path / "disc"
    disc.mkdir()
    small = ["unshare", "-rm", "sh", "-c", f'mount -t tmpfs -o size=64k none {shlex.quote(str(disc))} && "$@"; echo "exit $?"; ls -A {shlex.quote(str(disc))}', "sh"]
    if not shutil.which("unshare") or "exit 0" not in subprocess.run([*small, "true"], capture_output=True, text=True, check=False).stdout:
        pytest.skip("no file system can be mounted here")
    np.save(tmp_path / "in.npy", np.stack([photo] * 3))
    between, output, entry, name = WRITERS[of]
    where = {"to" if of == "write-bytes" else "folder" if of == "write-files" else "path": disc / name}
    (tmp_path / "a.xml").write_text(
        application(component("read", "read-array:uint8", path=tmp_path / "in.npy"), *between, component("write", of, **where, **SETTINGS.get(of, {})), stream(output, entry))
    )
    done = subprocess.run([*small, *command("run", tmp_path / "a.xml")], capture_output=True, text=True, timeout=60, check=False)
    assert str(disc / name) in done.stderr.replace("\n", "") and "No space left on device" in done.stderr.replace("\n", " ")
    assert done.stdout.split() == ["exit", "2", *(["files"] if of == "write-files" else [])]


def test_a_picture_that_is_larger_than_memory_is_refused_by_name(tmp_path):
    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 900_000, 900_000, 8, 2, 0, 0, 0))
    (tmp_path / "huge.png").write_bytes(b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b""))
    message = refused(
        component("read", "read-files", path=tmp_path / "huge.png"), component("decode", "decode-picture", names_of=tmp_path / "huge.png", most_pixels=2**40),
        component("write", "write-array:uint8", path=tmp_path / "x.npy"), stream("read.bytes", "decode.bytes"), stream("decode.picture", "write.items"),
    )  # fmt: skip
    assert f"'{tmp_path}/huge.png': there is no memory for this picture: read it in tiles" in message
    assert [each.name for each in tmp_path.iterdir()] == ["huge.png"]
