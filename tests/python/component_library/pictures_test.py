"""Pictures, slides and names of files, each against Pillow."""

import io

import numpy as np
import pytest
from PIL import Image, ImageOps

from component_parts import component, file_of, refused, run, stream


def decoded(tmp_path, files: dict[str, bytes], **settings: object) -> list[np.ndarray]:
    folder = tmp_path / "in"
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    run(
        component("read", "read-files", path=folder), component("decode", "decode-picture", "2", **settings), component("encode", "encode-picture", format="pnm"),
        component("write", "write-files", folder=tmp_path / "out", ending=".ppm", names_of=folder),
        stream("read.bytes", "decode.bytes"), stream("decode.picture", "encode.picture"), stream("encode.bytes", "write.bytes"),
    )  # fmt: skip
    return [np.asarray(Image.open(tmp_path / "out" / f"{name.rsplit('.', 1)[0]}.ppm")) for name in sorted(files)]


def test_pictures_of_all_formats_are_decoded_as_pillow_decodes_them(tmp_path, photo):
    image = Image.fromarray(photo)
    grey16 = (np.arange(60 * 50, dtype=np.uint16).reshape(60, 50) * 21).astype(np.uint16)
    alpha = image.convert("RGBA")
    alpha.putalpha(Image.fromarray(np.tile(np.arange(311, dtype=np.uint8), (241, 1))))
    files = {
        "a.png": file_of(image, format="PNG"), "b.tif": file_of(image, format="TIFF", compression="tiff_lzw"), "c.ppm": file_of(image, format="PPM"),
        "d.jpg": file_of(image, format="JPEG", quality=92), "e.png": file_of(image.convert("L"), format="PNG"), "f.pgm": file_of(Image.fromarray(grey16), format="PPM"),
        "g.png": file_of(image.convert("P"), format="PNG"), "h.png": file_of(alpha, format="PNG"),
    }  # fmt: skip
    found = decoded(tmp_path, files)
    for got in found[:3]:
        assert np.array_equal(got, photo)
    assert np.abs(found[3].astype(int) - np.asarray(Image.open(io.BytesIO(files["d.jpg"])))).max() <= 1
    assert np.array_equal(found[4], np.asarray(image.convert("L").convert("RGB")))
    assert np.abs(found[5][..., 0].astype(int) - np.round(grey16 / 257)).max() <= 1
    assert np.array_equal(found[6], np.asarray(image.convert("P").convert("RGB")))
    share = np.arange(311, dtype=np.uint8)[None, :, None] / 255
    linear = np.where(photo <= 10, photo / 255 / 12.92, ((photo / 255 + 0.055) / 1.055) ** 2.4) * share + 1 - share  # what lies behind is white
    over_white = 255 * np.where(linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055)
    assert np.abs(found[7] - over_white).max() <= 4
    assert np.abs(found[7][:, :3].astype(int) - 255).max() <= 3


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_photograph_stands_upright_whichever_way_the_camera_was_held(tmp_path, photo, orientation):
    image = Image.fromarray(photo)
    exif = image.getexif()
    exif[0x0112] = orientation
    jpeg = file_of(image, format="JPEG", quality=95, exif=exif)
    (found,) = decoded(tmp_path, {"a.jpg": jpeg})
    wanted = np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(jpeg))))
    assert found.shape == wanted.shape
    assert np.abs(found.astype(int) - wanted).max() <= 1


@pytest.mark.parametrize("kind", ["jpeg", "png", "tiff", "pnm"])
@pytest.mark.parametrize("grey", [False, True])
def test_encoded_pictures_are_read_by_pillow(tmp_path, photo, kind, grey):
    pictures = np.stack([photo, photo[::-1]])
    np.save(tmp_path / "in.npy", pictures)
    parts = [component("read", "read-array:uint8", path=tmp_path / "in.npy"), component("encode", "encode-picture", "2", format=kind, quality=95)]
    if grey:
        parts += [component("grey", "grey"), stream("read.items", "grey.picture"), stream("grey.grey", "encode.picture")]
    else:
        parts += [stream("read.items", "encode.picture")]
    run(*parts, component("write", "write-files", folder=tmp_path / "out", ending="." + kind), stream("encode.bytes", "write.bytes"))
    for number, picture in enumerate(pictures):
        wanted = np.asarray(Image.fromarray(picture).convert("L")) if grey else picture
        found = np.asarray(Image.open(tmp_path / "out" / f"file-00000{number}.{kind}"))
        assert found.shape == wanted.shape
        difference = np.abs(found.astype(int) - wanted)
        assert difference.mean() < 3 if kind == "jpeg" else difference.max() == 0


def test_a_slide_is_cut_put_together_and_written_again(tmp_path, photo):
    big = np.tile(photo, (3, 2, 1))  # 723 x 622
    np.save(tmp_path / "in.npy", big[None])
    run(
        component("read", "read-array:uint8", path=tmp_path / "in.npy"), component("cut", "cut", tile_rows=128, tile_columns=96),
        component("slide", "write-slide", path=tmp_path / "slide.tif", rows=723, columns=622, tile_rows=128, tile_columns=96),
        stream("read.items", "cut.picture"), stream("cut.tile", "slide.tile"),
    )  # fmt: skip
    assert np.array_equal(np.asarray(Image.open(tmp_path / "slide.tif")), big)
    run(
        component("read", "read-slide", path=tmp_path / "slide.tif"), component("small", "shrink", "2", factor=2), component("whole", "assemble"),
        component("write", "write-array:uint8", path=tmp_path / "small.npy"), component("other", "write-slide", path=tmp_path / "half.tif", like=tmp_path / "slide.tif", divisor=2),
        stream("read.tile", "small.picture"), stream("small.small", "whole.tile"), stream("whole.picture", "write.items"), stream("small.small", "other.tile"),
    )  # fmt: skip
    small = np.load(tmp_path / "small.npy")[0]
    assert small.shape == (362, 311, 3)
    means = big[:722, :622].reshape(361, 2, 311, 2, 3).astype(float).mean((1, 3))
    assert np.abs(small[:361] - means).max() <= 0.5
    assert np.array_equal(np.asarray(Image.open(tmp_path / "half.tif")), small)


def test_names_are_those_of_the_files_that_the_source_reads(tmp_path, photo):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a-note.txt").write_text("which is no picture")
    for name in ("b.png", "c.png"):
        (folder / name).write_bytes(file_of(Image.fromarray(photo), format="PNG"))
    (folder / "d.png").write_bytes(b"no picture")
    parts = [
        component("read", "read-files", path=folder, endings=".png"), component("decode", "decode-picture", names_of=folder), component("encode", "encode-picture"),
        component("write", "write-files", folder=tmp_path / "out", ending=".jpg", names_of=folder),
        stream("read.bytes", "decode.bytes"), stream("decode.picture", "encode.picture"), stream("encode.bytes", "write.bytes"),
    ]  # fmt: skip
    assert f"'{folder}/d.png'" in refused(*parts)
    (folder / "d.png").unlink()
    run(*parts)
    assert sorted(each.name for each in (tmp_path / "out").iterdir()) == ["b.jpg", "c.jpg"]
