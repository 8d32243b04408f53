"""The gallery's applications that are written down, from the command line and over files, against the same computed by NumPy and by the gallery."""


import numpy as np
import pytest

from command_line import penstock

from penstock import _core


def test_filters_of_the_gallery_are_listed_with_their_settings():
    assert "lab-with-statistics" in penstock("components").stdout.replace("\n", "")
    assert "addition:add" in penstock("components").stdout.replace("\n", "")
    one = penstock("components", "colour:read").stdout
    assert all(word in one for word in ("rgb", "tile-rows", "pixels", "passes"))


@pytest.mark.parametrize("targets", [0, 2])
def test_a_sum_of_matrices_by_files_is_numpys(tmp_path, targets):
    a, b = np.random.default_rng(1).random((2, 40, 30), dtype=np.float32)
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    files = [argument for name in ("a", "b", "sum") for argument in ("--set", f"{name}={tmp_path / name}.npy")]
    done = penstock("run", "addition.xml", *files, "--set", "rows_a_buffer=7", "--set", "copies=3", "--targets", targets)
    assert (done.returncode, done.stdout) == (0, "rows added: 40\n"), done.stderr
    assert np.array_equal(np.load(tmp_path / "sum.npy"), a + b)


@pytest.mark.skipif("tissue" not in dict(_core.gallery()), reason="built without libjpeg-turbo")
def test_a_tissue_by_files_is_the_gallerys_bit_for_bit(tmp_path):
    image = np.random.default_rng(2).integers(0, 256, (70, 90, 3), dtype=np.uint8)
    np.save(tmp_path / "image.npy", image)
    names = ("image", "features", "classes", "overview")
    settings = {name: tmp_path / f"{name}.npy" for name in names} | {"rows": 128, "columns": 160, "tile_rows": 32, "tile_columns": 32}
    done = penstock("run", "tissue.xml", *[argument for name, value in settings.items() for argument in ("--set", f"{name}={value}")])
    assert done.returncode == 0, done.stderr
    with _core.Machine(targets=1) as machine:
        sizes = {"rows": 128, "columns": 160, "block_rows": 32, "block_columns": 32, "repetitions": 1}
        arrays = _core.run_app(machine, "tissue", sizes, {"image": image}, True)["arrays"]
    assert np.array_equal(np.load(tmp_path / "features.npy"), arrays["features"])
    assert np.array_equal(np.load(tmp_path / "classes.npy"), arrays["result"])
    assert np.array_equal(np.load(tmp_path / "overview.npy"), arrays["overview"])
