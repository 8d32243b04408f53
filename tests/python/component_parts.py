"""Parts of applications that are made of component classes, and files for them."""

import io

import numpy as np
import pytest
from PIL import Image

import penstock as ps

TYPES = {np.uint8: "uint8", np.float32: "float32", np.float64: "float64", np.complex64: "complex64", np.uint32: "uint32"}


def application(*parts: str) -> str:
    return '<application xmlns="urn:penstock:application:1" name="test">' + "".join(parts) + "</application>"


def component(name: str, of: str, copies: str = "1", **settings: object) -> str:
    def text(value: object) -> str:
        return str(value).lower() if isinstance(value, bool) else str(value)

    sets = "".join(f'<set name="{key.replace("_", "-")}" value="{text(value)}"/>' for key, value in settings.items())
    return f'<component name="{name}" class="{of}" copies="{copies}">{sets}</component>'


def stream(source: str, sink: str, **options: str) -> str:
    more = "".join(f' {name}="{value}"' for name, value in options.items())
    return f'<stream from="{source}" to="{sink}"{more}/>'


def run(*parts: str) -> None:
    with ps.Machine(targets=2) as machine, ps.Application.parse(application(*parts)).start(machine):
        pass


def refused(*parts: str) -> str:
    with pytest.raises(ps.Error) as caught:
        run(*parts)
    return str(caught.value)


def file_of(image: Image.Image, **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, **options)
    return file.getvalue()


needs_ffmpeg = pytest.mark.skipif("read-film" not in {each["name"] for each in ps._core.components()}, reason="built without FFmpeg's headers")


def make_film(path, frames: np.ndarray, codec: str = "ffv1", pixels: str = "bgr0") -> None:
    av = pytest.importorskip("av")
    with av.open(str(path), "w") as film:
        stream = film.add_stream(codec, rate=25)
        stream.height, stream.width = frames.shape[1:3]
        stream.pix_fmt = pixels
        for frame in frames:
            film.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        film.mux(stream.encode())
