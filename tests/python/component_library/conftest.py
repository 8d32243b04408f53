"""What the tests of component classes share."""

import numpy as np
import pytest

from component_parts import TYPES, component, run, stream


@pytest.fixture
def through(tmp_path):
    """What a class makes of the items of arrays, one for each of its inputs: from files, to a file."""

    def through(of: str, inputs: dict[str, np.ndarray], output: str, dtype: type = np.uint8, **settings: object) -> np.ndarray:
        parts = [component("it", of, **settings)]
        for name, array in inputs.items():
            np.save(tmp_path / f"{name}.npy", np.ascontiguousarray(array))
            parts += [component(f"read-{name}", f"read-array:{TYPES[array.dtype.type]}", path=tmp_path / f"{name}.npy"), stream(f"read-{name}.items", f"it.{name}")]
        parts += [component("write", f"write-array:{TYPES[dtype]}", path=tmp_path / "out.npy"), stream(f"it.{output}", "write.items")]
        run(*parts)
        return np.load(tmp_path / "out.npy")

    return through


@pytest.fixture(scope="module")
def photo() -> np.ndarray:
    data = pytest.importorskip("skimage.data")
    return np.ascontiguousarray(data.astronaut()[60:301, 100:411])  # 241 x 311
