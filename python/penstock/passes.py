"""Passes over applications that users write themselves.

    @penstock.register_pass("gentle", "Every component goes on behind a failure.")
    def gentle(application):
        for element in application.walk():
            if element.name == "component":
                element.attributes["on-failure"] = "go-on"

    penstock.transform("tissue.xml", ["expand", "gentle"])
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from os import PathLike

from penstock import _core
from penstock.applications import Folders, Settings, named, names_of, settings_as_text


@dataclass(slots=True)
class Element:
    """An element of an application, as docs/language.md describes it. A pass changes it in place."""

    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list["Element"] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)  # before it

    def walk(self) -> Iterator["Element"]:
        """Itself, and all elements below it, outermost first."""
        yield self
        for child in self.children:
            yield from child.walk()


def register_pass(name: str, purpose: str = "", argument: str = "") -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A decorator: makes a pass known to transform() and `penstock transform` by its name.

    purpose: one line
    argument: what may stand behind 'NAME=', in words; then the function is given the number beside the application

    The function changes the application's outermost Element in place. What it leaves is read and checked as a file is. Raises UsageError for
    a name that is taken or is none.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        _core.register_pass(name, purpose, argument, function)
        return function

    return register


def transform(
    path: str | PathLike[str], passes: list[str], *, settings: Settings | None = None, folders: Folders = (), profile: str = ""
) -> str:
    """The application of a file after these passes ('expand', 'unroll=4'), as XML.

    profile: what `penstock profile` wrote, for the passes `place` and `size`

    Raises UsageError for a file that is wrong, a pass that there is not, and one that leaves an application that is wrong.
    """
    return _core.transform_application(named(path), passes, settings_as_text(settings), names_of(folders), profile)
