"""bundled.py WHEEL [--for-tests]: puts the licences of the libraries that a wheel brings along into it, and refuses one that must not be in it.

`auditwheel repair` copies shared libraries into the wheel. Each comes from a package of this system, whose copyright file says under
which licence. What may be bundled is listed here; a library that is not on the list is an error, so that nothing slips in. (The tests make a wheel of the working tree's own build, which has FFTW in it; that one goes to nobody.)
"""

import hashlib
import re
import subprocess
import sys
from base64 import urlsafe_b64encode
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

# The name before ".so", and why it may be in a wheel under the Apache licence.
ALLOWED = {
    "libhwloc": "BSD-3-Clause",
    "libpugixml": "MIT",
    "libjpeg": "IJG, BSD-3-Clause and Zlib",
    "libpng16": "libpng-2.0",
    "libudev": "LGPL-2.1-or-later, a shared library that can be replaced",
    "libcap": "BSD-3-Clause or GPL-2.0, at the user's choice",
    "libxml2": "MIT",
    "liblzma": "public domain",
    "libicuuc": "Unicode-3.0",
    "libicudata": "Unicode-3.0",
    "libz": "Zlib",
}


# A wheel of the working tree's own build has these too; it is for tests only, and leaves this system nowhere.
FOR_TESTS = {
    "libfftw3f": "GPL-2.0-or-later",
    "libtiff": "libtiff",
    "libjbig": "GPL-2.0-or-later",
    "libLerc": "Apache-2.0",
    "libdeflate": "MIT",
    "libwebp": "BSD-3-Clause",
    "libzstd": "BSD-3-Clause",
}


def package_of(name: str) -> str:
    """The Debian package that owns the library from which a file of a wheel was made: libhwloc-1a2b3c4d.so.15.5.2."""
    base, _, version = name.partition(".so")
    base = re.sub(r"-[0-9a-f]{8}$", "", base)
    for pattern in (f"*/{base}.so{version}", f"*/{base}.so.*"):
        found = subprocess.run(["dpkg", "-S", pattern], capture_output=True, text=True, check=False)
        if found.returncode == 0:
            return found.stdout.partition(":")[0]
    sys.exit(f"no package of this system has {name}, so its licence is not known")


def notices(libraries: list[str], allowed: dict[str, str]) -> dict[str, str]:
    """The texts by the names of their files."""
    texts = {}
    for name in libraries:
        base = re.sub(r"-[0-9a-f]{8}$", "", name.partition(".so")[0])
        if base not in allowed:
            sys.exit(f"{name} would be part of the wheel, and nobody has looked at its licence (tools/bundled.py)")
        package = package_of(name)
        texts[f"{base}.txt"] = f"{name}: {allowed[base]}\n\n" + Path(f"/usr/share/doc/{package}/copyright").read_text()
    return texts


def main(wheel: Path, allowed: dict[str, str]) -> None:
    made = wheel.with_suffix(".made")
    with ZipFile(wheel) as old, ZipFile(made, "w", ZIP_DEFLATED) as new:
        names = old.namelist()
        libraries = sorted(Path(name).name for name in names if ".libs/" in name and not name.endswith("/"))
        (record,) = [name for name in names if name.endswith(".dist-info/RECORD")]
        folder = record.removesuffix("RECORD") + "licenses/bundled/"
        lines = old.read(record).decode()
        for name, text in notices(libraries, allowed).items():
            new.writestr(folder + name, text)
            digest = urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
            lines += f"{folder}{name},sha256={digest},{len(text.encode())}\n"
        for each in old.infolist():
            new.writestr(each, lines if each.filename == record else old.read(each))
    made.replace(wheel)
    print(*libraries)


if __name__ == "__main__":
    main(Path(sys.argv[1]), ALLOWED | FOR_TESTS if sys.argv[2:] == ["--for-tests"] else ALLOWED)
