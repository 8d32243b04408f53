"""The page of a report. Everything is inside the file: it can be mailed, and opens without a network."""

import base64
import html
import io
import json
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
from PIL import Image

from penstock._core import Snapshot
from penstock.drawing import GraphvizMissing, render
from penstock.recording import Recorded
from penstock.report.timeline import timeline_figure
from penstock.running import write_file
from penstock.terminal import duration, figure


@dataclass
class Picture:
    """One picture. pixels: rows x columns x 3, or rows x columns; 0 to 1."""

    caption: str
    pixels: np.ndarray

    def data_uri(self) -> str:
        """As PNG inside an address."""
        levels = np.rint(np.clip(self.pixels, 0, 1) * 255).astype(np.uint8)
        stream = io.BytesIO()
        Image.fromarray(levels).save(stream, "PNG", optimize=True)
        return "data:image/png;base64," + base64.b64encode(stream.getvalue()).decode()


@dataclass
class Scale:
    """What so many workers took, and one thread beside them, in seconds: medians of one run each."""

    workers: int
    seconds: float
    serial: float


@dataclass
class Section:
    """One application in a report."""

    title: str
    lead: str
    recorded: Recorded
    checks: list[dict[str, Any]]  # rows as run_app returns them, with those of other references
    pictures: list[Picture] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # below the checks, such as which reference is not installed
    scaling: list[Scale] = field(default_factory=list)  # with different numbers of workers; none where that was not measured


def write_page(path: Path, title: str, sections: list[Section], machine: str) -> None:
    """Writes the report; makes its folder. machine: description, a line. Raises OSError where that cannot be written."""
    good = all(row["ok"] for section in sections for row in section.checks)
    count = sum(len(section.checks) for section in sections)
    fill_page(
        path, title, good, f"all {count} checks hold" if good else "a check does not hold", machine,
        [_section(section, number) for number, section in enumerate(sections)],
        "Times are medians of interleaved runs on the machine above; other work on it moves them.",
    )  # fmt: skip


def fill_page(path: Path, title: str, good: bool, verdict: str, machine: str, sections: list[str], footer: str) -> None:
    """Writes a page of sections, which are HTML; all else is text. Makes its folder. Raises OSError where it cannot be written."""
    template = Template(resources.files("penstock.report").joinpath("page.html").read_text(encoding="utf-8"))
    text = template.substitute(
        title=html.escape(title), verdict="good" if good else "bad", verdict_text=html.escape(verdict), machine=html.escape(machine),
        sections="\n".join(sections), footer=html.escape(footer),
    )  # fmt: skip
    write_file(path, text)


def _section(section: Section, number: int) -> str:
    result = section.recorded.result
    recorded = section.recorded
    best, serial = recorded.seconds(recorded.way), recorded.seconds("serial")
    figures = [
        (f"{serial / best:.2f}×", f"the speed of one thread, on {result['workers']} workers"),
        (duration(best), f"by {WORDS[recorded.way]}, median"),
        (f"{result['tasks']:,}", "tasks a run" if recorded.tagged else "pieces of work a run"),
        (duration(serial / result["tasks"]), "work in each, on average"),
    ]
    return "\n".join(
        [
            "<section>",
            f"<h2>{html.escape(section.title)}</h2>",
            f"<p class='lead'>{html.escape(section.lead)}</p>",
            _pictures(section.pictures),
            figure_list(figures),
            "<h3>Time</h3>",
            _times(section.recorded),
            *(_scaling(section.scaling) if section.scaling else ()),
            *(_graph(recorded) if recorded.by_filters else ()),
            *(_where_the_time_went(recorded) if recorded.tagged else ()),
            *(_timeline(recorded, number) if recorded.by_filters or recorded.tagged else ()),
            "<h3>Checks</h3>",
            _checks(section.checks),
            *(f"<p class='note'>{html.escape(note)}</p>" for note in section.notes),
            "</section>",
        ]
    )


PARTS = "Compute and helping are the bodies of tasks; runtime, transfer (copies into the local store and back) and library are what Penstock costs."


def _where_the_time_went(recorded: Recorded) -> list[str]:
    return ["<h3>Where the time went</h3>", f"<p>The last tagged run. {PARTS}</p>", bars_figure(recorded.period)]


def bars_figure(period: Snapshot) -> str:
    """Where the time of a machine's threads went."""
    return f"<figure class='bars'>{_inline_svg(period.bars_svg(''))}</figure>"


def graph_figure(drawing: str, what: str) -> list[str]:
    """A graph in the language of graphviz as a figure, drawn where graphviz is there. what: a sentence before it."""
    try:
        picture = _inline_svg(render(drawing.replace("rankdir=LR", "rankdir=TB", 1)).decode())  # a page is higher than wide
    except GraphvizMissing as error:
        return ["<h3>Graph</h3>", f"<p class='note'>Not drawn: {html.escape(str(error))}.</p>"]
    return ["<h3>Graph</h3>", f"<p>{html.escape(what)}</p>", f"<figure class='graph'>{picture}</figure>"]


def _graph(recorded: Recorded) -> list[str]:
    what = "The last run: what each filter did and waited for, what each stream carried. Load is of one processor, for each copy."
    return graph_figure(json.loads(recorded.result["graph"])["drawing"], what)


def figure_list(figures: list[tuple[str, str]]) -> str:
    """Large figures, each with what it is."""
    return "<dl class='figures'>" + "".join(f"<div><dt>{html.escape(word)}</dt><dd>{value}</dd></div>" for value, word in figures) + "</dl>"


def _timeline(recorded: Recorded, number: int) -> list[str]:
    coloured = "filter" if recorded.by_filters else "procedure"
    return ["<h3>Timeline</h3>", timeline_figure(recorded.timeline, number, recorded.result["app"], coloured)]


def _bar(kind: str, of: str, length: float, seconds: float, serial: float, ticks: str = "") -> str:
    """A row: a bar, as long as this share of the longest, with a time and how many times faster than `serial` it is."""
    return (
        f"<tr class='{kind}'><th>{of}</th>"
        f"<td class='track'><div class='bar' style='width:{100 * length:.2f}%'></div>{ticks}</td>"
        f"<td class='number'>{duration(seconds)}</td><td class='number'>{serial / seconds:.2f}×</td></tr>"
    )


def _scaling(scales: list[Scale]) -> list[str]:
    """A bar for each number of workers, as long as its speed-up."""
    longest = max(scale.serial / scale.seconds for scale in scales)
    rows = []
    for scale in scales:
        of = f"{scale.workers} worker{'s' if scale.workers != 1 else ''}"
        rows.append(_bar("tagged", of, scale.serial / scale.seconds / longest, scale.seconds, scale.serial))
    note = "<p class='note'>Speed over one plain thread, which was measured beside each. Workers are targets and the thread that waits.</p>"
    return ["<h3>Speed over workers</h3>", "<table class='times'>" + "".join(rows) + "</table>", note]


def _inline_svg(text: str) -> str:
    return text[text.index("<svg") :]  # without the XML declaration


def _pictures(pictures: list[Picture]) -> str:
    if not pictures:
        return ""
    return "<div class='pictures'>" + "".join(_picture(picture) for picture in pictures) + "</div>"


def _picture(picture: Picture) -> str:
    caption = html.escape(picture.caption)
    return f"<figure><img src='{picture.data_uri()}' alt='{caption}'><figcaption>{caption}</figcaption></figure>"


WORDS = {
    "serial": "one thread", "hand": "threaded by hand", "tagged": "tagged calls", "split": "one call, split",
    "streamed": "filters and streams", "streams": "filters and streams", "written": "filters, from XML",
    "serial 2d": "one thread, kernels turned", "streams 2d": "filters, kernels turned",
    "serial scaled": "one thread, scaled while decoding", "streams scaled": "filters, scaled while decoding", "rows": "streams of rows", "large": "streams of large buffers",
    "dependent": "calls in the order of their tags",
    "resident": "tagged calls, resident data", "chains": "chains of calls", "both": "chains and resident data",
    "shared": "shared memory", "lines": "shared memory, whole lines", "push": "remote stores",
    "push-lines": "remote stores, whole lines", "shared-flags": "shared memory, flags", "push-barrier": "remote stores, a barrier",
    "push-word": "remote stores, edge and flag in a word", "multicast": "remote stores, multicast",
    "bulk": "bulk exchange", "pencils": "bulk exchange, row by row", "dma-bulk": "bulk exchange, copied by an engine",
    "dma-pencils": "row by row, copied by an engine", "elements": "remote stores, number by number", "pull": "tiled pull", "choice": "push or pull, as calibrated",
}  # fmt: skip


def _times(recorded: Recorded) -> str:
    """A bar for each way, as long as its time, with every timed run as a tick."""
    longest = max(max(seconds) for seconds in recorded.result["timings"].values())
    rows = []
    for way, seconds in recorded.result["timings"].items():
        median = recorded.seconds(way)
        ticks = "".join(f"<i style='left:{100 * second / longest:.2f}%'></i>" for second in seconds)
        rows.append(_bar(way, WORDS.get(way, way), median / longest, median, recorded.seconds("serial"), ticks))
    return "<table class='times'>" + "".join(rows) + "</table><p class='note'>Bars are medians, ticks the single runs, interleaved.</p>"


def _checks(checks: list[dict[str, Any]]) -> str:
    rows = "".join(
        f"<tr class='{'good' if row['ok'] else 'bad'}'><td>{html.escape(row['name'])}</td><td class='number'>{figure(row['expected'])}</td>"
        f"<td class='number'>{figure(row['actual'])}</td><td class='number'>{figure(row['tolerance'])}</td><td>{html.escape(row['source'])}</td>"
        f"<td class='verdict'>{'✓' if row['ok'] else '✗ wrong'}</td></tr>"
        for row in checks
    )
    head = "<tr><th>check</th><th>expected</th><th>actual</th><th>tolerance</th><th>says</th><th></th></tr>"
    return f"<div class='wide'><table class='checks'><thead>{head}</thead><tbody>{rows}</tbody></table></div>"
