"""What the site has beyond Markdown: pages of the reference that are made from what Doxygen and the package know, and links into the tree.

Made before Sphinx reads: reference/cpp/*.md, one a header, and reference/options.md, the table of all options.
"""

import re
import xml.etree.ElementTree as xml
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DOXYGEN = ROOT / "build/docs/doxygen/xml"
REFERENCE = ROOT / "docs/reference"
OPTIONS = [  # in the order in which a reader meets them
    ("MachineOptions", "options.hpp"), ("CallOptions", "call_options.hpp"), ("FilterOptions", "stream_options.hpp"),
    ("StreamOptions", "stream_options.hpp"), ("RunOptions", "stream_options.hpp"), ("InputOptions", "port.hpp"), ("SettingLimits", "port.hpp"),
    ("SpmdOptions", "spmd.hpp"), ("RegionOptions", "region.hpp"), ("MessengerOptions", "message.hpp"), ("HostOptions", "join.hpp"),
    ("JoinOptions", "join.hpp"), ("ApplicationOptions", "application.hpp"), ("ApplicationLimits", "application.hpp"),
    ("TransformOptions", "transformation.hpp"), ("SourceOptions", "application_source.hpp"),
]  # fmt: skip


def table_of_headers() -> list[tuple[str, list[tuple[str, str]]]]:
    """The table at the top of penstock.hpp: (chapter, [(purpose, header), ...])."""
    chapters: list[tuple[str, list[tuple[str, str]]]] = []
    for line in (ROOT / "include/penstock/penstock.hpp").read_text().splitlines():
        if not line.startswith("//"):
            break
        if entry := re.match(r"//   (\S.*?)  +(\S+\.hp*)$", line):
            chapters[-1][1].append((entry[1], entry[2]))
        elif (head := re.match(r"// (\S.*)$", line)) and "->" not in line:
            chapters.append((head[1], []))
    return [chapter for chapter in chapters if chapter[1]]


def text_of(node: xml.Element | None) -> str:
    return " ".join("".join(node.itertext()).split()) if node is not None else ""


def contents(header: str) -> tuple[str, list[str]]:
    """What a header opens with, and its classes and functions as breathe's directives."""
    path = ROOT / "include/penstock" / header
    opening = []
    for line in path.read_text().splitlines():
        if not line.startswith("//"):
            break
        opening.append(line[2:].removeprefix(" "))
    directives = []
    for file in DOXYGEN.glob("*_8h*.xml"):
        root = xml.parse(file).getroot().find("compounddef")
        if root is None or text_of(root.find("compoundname")) != header:
            continue
        for inner in root.findall("innerclass"):
            name = text_of(inner)
            if "<" in name or name.count("::") > 1:
                continue  # specialisations and inner classes stand with their outer ones
            kind = "struct" if inner.get("refid", "").startswith("struct") else "class"
            directives.append(f"```{{doxygen{kind}}} {name}\n:members:\n```")
    return "\n".join(opening), directives


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def write_cpp() -> None:
    index = ["# C++", "", "All of these are included by `penstock/penstock.hpp`, but for those that say so.", ""]
    for chapter, entries in table_of_headers():
        index += [f"## {chapter}", "", "| to | include |", "|---|---|"]
        index += [f"| {purpose} | [{header}]({header.replace('.', '_')}.md) |" for purpose, header in entries] + [""]
        for purpose, header in entries:
            opening, directives = contents(header)
            page = [f"# {header}", "", f"To {purpose}: `#include <penstock/{header}>`.", "", "```text", opening, "```", "", *directives]
            write(REFERENCE / "cpp" / f"{header.replace('.', '_')}.md", "\n".join(page) + "\n")
    index += ["```{toctree}", ":hidden:", ":glob:", "", "*", "```"]
    write(REFERENCE / "cpp" / "index.md", "\n".join(index) + "\n")


def write_options() -> None:
    page = ["# All options", "", "Their defaults, and why. Made from the headers; each name links to its page.", ""]
    for name, header in OPTIONS:
        (file,) = DOXYGEN.glob(f"structpenstock_1_1{name}.xml")
        root = xml.parse(file).getroot()
        page += [f"## {name}", "", text_of(root.find("compounddef/briefdescription")), "", f"[{header}](cpp/{header.replace('.', '_')}.md)", ""]
        page += ["| option | default | what it does |", "|---|---|---|"]
        for member in root.iter("memberdef"):
            if member.get("kind") != "variable" or member.get("static") == "yes":
                continue
            default = text_of(member.find("initializer")).removeprefix("=").strip()
            told = " ".join(filter(None, (text_of(member.find("briefdescription")), text_of(member.find("detaileddescription")))))
            cell = [f"`{text_of(member.find('name'))}`", f"`{default}`" if default and default != "{}" else "none", escape(told).replace("|", "\\|")]
            page.append("| " + " | ".join(cell) + " |")
        page.append("")
    write(REFERENCE / "options.md", "\n".join(page))


def mend_docstring(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:  # noqa: PLR0913, ANN401
    """Docstrings are plain text with `code`: made into what Sphinx reads."""
    made: list[str] = []
    begin = True  # of a paragraph
    for line in lines:
        if not line.strip():
            begin = True
            made.append("")
            continue
        if begin:
            indent = line[: len(line) - len(line.lstrip())]
            if indent:
                made += ["::", ""]
        begin = False
        if indent:
            made.append(line)  # an example, as it stands
            continue
        parts = re.split(r"(`[^`]+`)", line.strip())
        made.append("".join(f"`{part}`" if part.startswith("`") and len(part) > 1 else re.sub(r"([*|]|_\b)", r"\\\1", part) for part in parts))
    lines[:] = made


def others(index: str) -> str:
    """Pages that the index does not name, such as those of new applications: they stand behind `applications`."""
    named = set(re.findall(r"^([\w/]+)$", index, re.MULTILINE))
    return "\n".join(name for path in sorted((ROOT / "docs").glob("*.md")) if (name := path.stem) not in named | {"index"})


def mend_links(app: Any, docname: str, source: list[str]) -> None:  # noqa: ANN401
    """Links into the tree (../include/..., ../src/...) lead nowhere on the site: their text stays, as code."""
    if docname == "index":
        source[0] = source[0].replace("OTHERS", others(source[0]))
    source[0] = re.sub(r"\[([^\]]+)\]\((?:\.\./)+(?!docs/)([^)\s]+)\)", lambda found: f"`{found[2]}`" if found[1] != found[2] else f"`{found[1]}`", source[0])


def setup(app: Any) -> dict[str, Any]:  # noqa: ANN401
    write_cpp()
    write_options()
    app.connect("autodoc-process-docstring", mend_docstring)
    app.connect("source-read", mend_links)
    return {"parallel_read_safe": True}
