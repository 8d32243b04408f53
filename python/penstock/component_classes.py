"""Component classes for applications that are written down, beside those that come with Penstock: of shared libraries, of this program, of packages.

A package that has some says so in its metadata, and it is imported when an application names one of them, or when all are listed:

    [project.entry-points."penstock.components"]
    blur = "my_package.filters:blur"        # what penstock.filter() made
"""

import functools
import os
import warnings
from typing import TYPE_CHECKING

from penstock import _core
from penstock.applications import named
from penstock.errors import ComponentWarning, UsageError
from penstock.filters import Filter

if TYPE_CHECKING:
    from importlib import metadata

GROUP = "penstock.components"
_unusable: set[str] = set()  # entry points that were tried


def load_components(path: str | os.PathLike[str]) -> list[str]:
    """Makes the filter classes of a shared library known to all applications that are read later, and returns their names.

    path: of a file, from the current folder where it is not absolute; no other place is looked at

    The library stays loaded; loading it again adds nothing. docs/language.md says what such a library is. Raises LibraryRefused.
    """
    return _core.load_components(named(path))


def register_component(name: str, filter: Filter, doc: str | None = None) -> None:  # noqa: A002 - the word of C++
    """Makes a filter known by this name to all applications that are read later in this program.

    name: a letter, then letters, digits, '-', '_' and ':'
    filter: what penstock.filter() made
    doc: one line; by default the first one of the filter's own documentation

    Raises UsageError for a name that is none, or is taken.
    """
    _core.register_component(name, _line(filter, doc), _kind(filter))


def names_of_packages() -> list[str]:
    """For the compiled part: the classes of installed packages, of which none was imported for that."""
    return [name for name in _entry_points() if name not in _unusable]


def class_of_package(name: str) -> tuple[str, "_core.FilterKind", str] | None:
    """For the compiled part: documentation, kind and package; None when there is none, or it cannot be used, which is told once."""
    entry = _entry_points().get(name)
    if entry is None or name in _unusable:
        return None
    try:
        found = entry.load()
        return _line(found, None), _kind(found), _package(entry)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a package may raise anything
        _unusable.add(name)
        warnings.warn(
            f"the component class '{name}' of package {_package(entry)} ({entry.value}) is left out: {type(error).__name__}: {error}",
            ComponentWarning,
            stacklevel=2,
        )
        return None


@functools.cache
def _entry_points() -> dict[str, "metadata.EntryPoint"]:
    from importlib import metadata

    found: dict[str, "metadata.EntryPoint"] = {}
    for entry in metadata.entry_points(group=GROUP):
        other = found.setdefault(entry.name, entry)
        if (_package(other), other.value) != (_package(entry), entry.value):
            warnings.warn(
                f"the packages {_package(other)} and {_package(entry)} both have a component class '{entry.name}': that of {_package(other)} is used",
                ComponentWarning,
                stacklevel=2,
            )
    return found


def _package(entry: "metadata.EntryPoint") -> str:
    return entry.dist.name if entry.dist is not None else entry.module


def _kind(found: object) -> "_core.FilterKind":
    if not isinstance(found, Filter):
        raise UsageError(f"{found!r} is no filter: say which ports it has, with penstock.filter(..., inputs=..., outputs=...)")
    if found.isolation == "process":
        raise UsageError(f"{found!r} runs in worker interpreters, which components of applications cannot: leave isolation='process' out")
    return found._kind()  # noqa: SLF001 - the package's own


def _line(found: object, doc: str | None) -> str:
    text = doc if doc is not None else getattr(found, "__doc__", None) or ""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
