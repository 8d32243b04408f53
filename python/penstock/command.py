"""The command `penstock`: what it answers without the packages that its other answers need."""

import sys
from pathlib import Path

# The package that is missing, and the extra of ours that brings it.
EXTRAS = {"typer": "cli", "rich": "cli", "PIL": "gallery"}


def cmake_folder() -> Path | None:
    """Where find_package(penstock) finds what a wheel carries for programs in C++."""
    folder = Path(__file__).parent / "cpp" / "lib" / "cmake" / "penstock"
    return folder if folder.is_dir() else None


def main() -> None:
    """`--cmake-dir` and `--version` are answered at once; everything else by `penstock.cli`."""
    if sys.argv[1:] == ["--cmake-dir"]:
        folder = cmake_folder()
        if folder is None:
            sys.exit("penstock: this package carries no library for C++: a wheel does; otherwise `cmake --install` Penstock and name its prefix in CMAKE_PREFIX_PATH")
        print(folder)
        return
    try:
        from penstock import cli

        cli.main()
    except ModuleNotFoundError as error:
        extra = EXTRAS.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        sys.exit(f"penstock: {error.name} is not installed, which this needs: pip install 'penstock[{extra}]'")
