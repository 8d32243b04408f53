"""The page of one run of an application that is written down."""

import html
import json
from pathlib import Path

from penstock._core import ClusterSnapshot, FilterStatistics, NodeSnapshot, NodeStatistics, Snapshot
from penstock.applications import Application, ApplicationRun
from penstock.looks import Look, amount, look, share
from penstock.report.page import PARTS, bars_figure, figure_list, fill_page, graph_figure
from penstock.report.timeline import timeline_figure
from penstock.terminal import duration

FILTER_HEAD = (
    "filter", "copies", "firings", "a second", "each", "load", "waits: input", "output", "target", "failed", "dropped",
)  # fmt: skip
NODE_HEAD = ("copies of", *FILTER_HEAD[1:])
STREAM_HEAD = ("stream", "buffers", "a second", "bytes a second", "dropped")
WHAT = "What each filter did and waited for, what each stream carried. Load is of one processor, for each copy."


def write_application(
    path: Path, application: Application, run: ApplicationRun, given: list[tuple[str, str]], interrupted: bool, timeline: str, period: Snapshot | ClusterSnapshot,
    machine: str,
) -> None:  # fmt: skip
    """Writes the page of a run that has ended. given: parameters and their values; timeline: as Machine.timeline_json gives it; period: counters
    of the run, of all nodes where it ran over a cluster; machine: description, a line. Raises OSError where it cannot be written."""
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
        *(_nodes(run.run.statistics_by_node(), period) if isinstance(period, ClusterSnapshot) else _threads(period)),
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


def _threads(period: Snapshot) -> list[str]:
    return ["<h3>Where the time went</h3>", f"<p>{PARTS}</p>", bars_figure(period)]


def _nodes(said: list[NodeStatistics], period: ClusterSnapshot) -> list[str]:
    """A part for each node: its copies of filters, and where the time of its threads went, as it has measured both; also for those that were lost."""
    parts = ["<h3>Nodes</h3>", f"<p>What each node has measured of itself. Threads: {PARTS}</p>"]
    for node in period.nodes:
        mine = [each for each in said if each.node == node.node]
        parts += [_node(node.node, mine[0] if mine else None, node), *(_lost(each) for each in mine[1:])]
    return parts


def _node(name: str, said: NodeStatistics | None, counters: NodeSnapshot) -> str:
    note = counters.note or (f"it is lost: {said.lost}" if said is not None and said.lost else "")
    return "\n".join(
        [
            f"<h4>{html.escape(name)}</h4>",
            *([f"<p class='note'>{html.escape(note)}</p>"] if note else []),
            _copies(said) if said is not None else "<p class='note'>It has no part in this run.</p>",
            *([bars_figure(counters.counters)] if counters.counters is not None else []),
        ]
    )


def _lost(said: NodeStatistics) -> str:
    name = html.escape(f"{said.node}, agent {said.generation}")
    return f"<h4>{name}</h4><p class='note'>{html.escape(f'It was lost: {said.lost}. Its last figures:')}</p>{_copies(said)}"


def _copies(said: NodeStatistics) -> str:
    if not said.figures.filters:
        return "<p class='note'>It has said nothing of its filters.</p>"
    return _table(NODE_HEAD, [_copy_row(each) for each in said.figures.filters])


def _copy_row(each: FilterStatistics) -> list[str]:
    waits = each.waits_for_input, each.waits_for_output, each.waits_for_target
    return [
        each.name, str(each.copies), f"{each.firings:,}", amount(each.rate), duration(each.service_us / 1e6) if each.service_us else "?", share(each.load),
        *(share(wait) for wait in waits), str(each.failures or ""), str(each.dropped or ""),
    ]  # fmt: skip


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
