"""Writes docs/components.md: every component class that comes with Penstock, as `penstock components` knows them.

    .venv/bin/python tools/components_page.py > docs/components.md
"""

import math

from penstock import _core

SUBJECTS = {
    "Files, streams of bytes and sockets": "read-files write-files read-bytes write-bytes frames flatten write-table",
    "Arrays": "read-array:* write-array:*",
    "Pictures in files": "decode-picture encode-picture",
    "Slides, tiles and mosaics": "read-slide write-slide cut assemble assemble:float32 place",
    "Films": "read-film write-film h264-encode moving motion keep-if lay-over relay",
    "Colours": "grey channel yuv-to-rgb lab lab-with-statistics idct to-floats to-bytes mask",
    "Neighbourhoods": "blur convolve convolve:float32 edges local-binary-pattern border",
    "Sizes and places": "resize shrink rotate rotate:float32 affine affine:float32 crop",
    "Two pictures and more": "maximum maximum:float32 greatest greatest:float32 blend difference keep-where",
    "Figures of pictures": "sharpness means colour-moments shares area total mark",
    "Sounds and radio": "read-sound write-sound iq-samples iq-bytes mono overlap overlap:complex64 fir fir:complex64 fft spectrum spectrum:complex64 waterfall",
    "Numbers": "numbers scale shift pass peaks add neighbours round sum count print print-integers",
}  # fmt: skip

HEAD = """# Component classes

What applications can be made of, by subject. `penstock components NAME` shows the same on a terminal. [examples.md](examples.md) has whole applications, [language.md](language.md) the language.
This page is written by `tools/components_page.py` from the classes themselves; a test compares them.

**Pictures** are buffers of rows x columns x channels: bytes (`uint8`: RGB, or one channel of grey) or `float32`. Buffers of two dimensions are taken for pictures of one channel.

**Tags** travel with each buffer, through all filters between. `user[0]` is the number of the file, picture or frame, from 0. `user[1]` is the place in a grid, where a picture is a tile of a
larger one, so that `assemble` and `write-slide` can put tiles together whatever was done with them in between; of sounds it is the samples a second.

**Names.** Sources that read a folder read its files by name. With `names-of` set to the source's `path`, a writer names what it writes after those files, and messages name them.

**Refusals.** A file that is not there, that is damaged or of an unknown kind, a picture larger than `most-pixels`, a sender that closes too early, a full disc: the run ends with an error that
names the file and says what to do. A component with `on-failure="go-on"` leaves the buffer out and goes on. Files are written beside their place and put there when they are complete,
so that what is read there is the old file or the whole new one, and nothing half-written stays.

**Libraries.** JPEG, PNG and TIFF are there where libjpeg-turbo, libpng and libtiff were when Penstock was built. Films need FFmpeg's libraries when the program runs (`apt install ffmpeg`), of the version
that Penstock was built for; they are never part of it.

A setting's value in brackets is what it is when nobody sets it. Classes marked *copies* may have several copies.
"""


def limits(unit: str, least: float, most: float, choices: list[str]) -> str:
    parts = [unit] if unit else []
    if choices:
        parts.append(", ".join(choices))
    elif math.isfinite(least) and math.isfinite(most):
        parts.append(f"{least:g} to {most:g}")
    elif math.isfinite(least):
        parts.append(f"from {least:g}")
    elif math.isfinite(most):
        parts.append(f"up to {most:g}")
    return "; ".join(parts)


def shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def lines_of(one: dict) -> list[str]:
    copies = " *copies*" if one["may_be_copied"] else ""
    out = [f"**`{one['name']}`**{copies} {one['documentation']}", ""]
    ports = [f"`{name}` ({element}{'' if required else ', optional'})" for name, element, required in one["inputs"]]
    results = [f"`{name}` ({element})" for name, element, _ in one["outputs"]]
    events = [f"event `{name}` ({kind})" for name, kind in one["events"]]
    out.append(f"- {', '.join(ports) or 'a source'} → {', '.join(results + events) or 'an end'}")
    for name, value, unit, least, most, choices, doc in one["settings"]:
        facts = limits(unit, least, most, choices)
        out.append(f"- `{name}` [{shown(value)}]{f' ({facts})' if facts else ''}{f': {doc}' if doc else ''}")
    return [*out, ""]


def page() -> str:
    known = {each["name"]: each for each in _core.components() if each["origin"] == "built in" and not is_of_gallery(each["name"])}
    out = [HEAD]
    for subject, names in SUBJECTS.items():
        out += [f"## {subject}", ""]
        for name in names.split():
            wanted = [each for each in known if each.startswith(name[:-1])] if name.endswith("*") else [name]
            for each in wanted:
                if each in known:
                    out += lines_of(known.pop(each))
    if known:
        raise SystemExit(f"say in SUBJECTS of which subject these are: {', '.join(known)}")
    return "\n".join(out).rstrip() + "\n"


def is_of_gallery(name: str) -> bool:
    return name.split(":")[0] in dict(_core.gallery()) | {"synthetic": ""} and ":" in name


if __name__ == "__main__":
    print(page(), end="")
