"""Films in files, for the tests of the H.264 encoder."""

from pathlib import Path

import numpy as np


def film_file(path: Path, pictures: np.ndarray, columns: int, rows: int, rate: int = 30) -> Path:
    path.write_bytes(f"YUV4MPEG2 W{columns} H{rows} F{rate}:1 Ip C420\n".encode() + b"".join(b"FRAME\n" + one.tobytes() for one in pictures))
    return path
