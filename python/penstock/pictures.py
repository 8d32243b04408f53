"""The pictures that scikit-image ships, as input of the applications."""

import importlib.util
from pathlib import Path

import numpy as np
from PIL import Image

APPLICATIONS = {"colour": "coffee.png", "tissue": "ihc.png"}


def shipped(file: str) -> np.ndarray | None:
    """Pixels (rows x columns x 3, uint8) of one of scikit-image's pictures; nothing where it is not installed."""
    package = importlib.util.find_spec("skimage")
    path = Path(package.origin).parent / "data" / file if package is not None and package.origin is not None else None
    if path is None or not path.exists():
        return None
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


def inputs_of(application: str) -> dict[str, np.ndarray]:
    """What run_app is best given as `inputs`: a real picture where the application takes one and there is one."""
    pixels = shipped(APPLICATIONS[application]) if application in APPLICATIONS else None
    return {} if pixels is None else {"image": pixels}
