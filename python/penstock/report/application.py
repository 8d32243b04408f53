"""The page of one run of an application that is written down."""

import html
import json
from pathlib import Path

from penstock.applications import Application, ApplicationRun
from penstock.looks import Look, look
from penstock.report.page import figure_list, fill_page, graph_figure
from penstock.report.timeline import timeline_figure
from penstock.terminal import duration

FILTER_HEAD = (
    "filter", "copies", "firings", "a second", "each", "load", "waits: input", "output", "target", "failed", "dropped",
)  # fmt: skip
STREAM_HEAD = ("stream", "buffers", "a second", "bytes a second", "dropped")
WHAT = "What each filter did and waited for, what each stream carried. Load is of one processor, for each copy."


def write_application(
    path: Path, application: Application, run: ApplicationRun, given: list[tuple[str, str]], interrupted: bool, timeline: str, machine: str
) -> None:
    """Writes the page of a run that has ended. given: parameters and their values; timeline: as Machine.timeline_json gives it; machine: description,
    a line. Raises OSError where it cannot be written."""
    now = json.loads(run.run.json())
    seen = look(now)
    section = [
        "<section>",
        _lead(seen),
        *graph_figure(now["drawing"], WHAT),
        "<h3>Filters</h3>",
        _table(FILTER_HEAD, [each.cells() for each in seen.filters]),
        "<h3>Streams</h3>",
        _table(STREAM_HEAD, [[f"{each.origin} → {each.sink}", *each.figures()] for each in seen.streams]),
        "<h3>Timeline</h3>",
        timeline_figure(timeline, 0, application.name, "filter"),
        "<h3>Settings</h3>",
        _settings(run, given),
        "</section>",
    ]
    verdict = "interrupted: its sources ended early" if interrupted else "ran to its end"
    footer = "The timeline holds the last firings of each thread. Times are of one run; other work on the machine moves them."
    fill_page(path, f"Penstock: {application.name}", not interrupted, verdict, machine, ["\n".join(section)], footer)


def _lead(seen: Look) -> str:
    return figure_list(
        [
            (duration(seen.seconds), "from its start to its end"),
            (f"{sum(each.firings for each in seen.filters):,}", "firings"),
            (f"{sum(each.buffers for each in seen.streams):,}", "buffers through its streams"),
            (html.escape(seen.bottleneck) or "?", "the busiest filter"),
        ]
    )


def _settings(run: ApplicationRun, given: list[tuple[str, str]]) -> str:
    rows = [["parameter", name, value, ""] for name, value in given]
    for each in run.run.description().filters:
        rows += [[each.name, name, str(setting.value), setting.unit] for name, setting in each.settings.items()]
    return _table(("of", "name", "value", "unit"), rows, words=4) if rows else "<p class='note'>There are none.</p>"


def _table(head: tuple[str, ...], rows: list[list[str]], words: int = 1) -> str:
    """The first so many columns are words, the others numbers."""

    def row(cells: list[str] | tuple[str, ...], kind: str) -> str:
        return "<tr>" + "".join(f"<{kind}{'' if i < words else ' class=number'}>{html.escape(cell)}</{kind}>" for i, cell in enumerate(cells)) + "</tr>"

    body = "".join(row(cells, "td") for cells in rows)
    return f"<div class='wide'><table class='checks'><thead>{row(head, 'th')}</thead><tbody>{body}</tbody></table></div>"
