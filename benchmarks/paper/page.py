"""The page of the experiments: one file, with everything in it."""

import html
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from paper.charts import NoMatplotlib, svg
from paper.experiment import Experiment
from paper.figures import Figures, Missing, reading, shown
from paper.parts import Table
from paper.told import READING, conditions, remarks

STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --paper: #fff; --faint: #59636e; --line: #d0d7de; --mark: #2f6fb5; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --paper: #0d1117; --faint: #9198a1; --line: #30363d; --mark: #6cb0ff; --bad: #ff8a80; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { margin-bottom: 0; } h2 { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 1rem; } h3 { margin-bottom: .3rem; }
p.question { font-size: 1.1rem; } p.shows { border-left: 4px solid var(--mark); padding-left: .8rem; }
.faint, caption { color: var(--faint); font-size: .9rem; } caption { text-align: left; } .failed { color: var(--bad); }
.wide { overflow-x: auto; } table { border-collapse: collapse; margin: .6rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .15rem .7rem; border-bottom: 1px solid var(--line); text-align: right; } th:first-child, td:first-child, td.words { text-align: left; }
figure { margin: .6rem 0; } figure svg { max-width: 100%; height: auto; } nav li { margin: .1rem 0; }
"""


def write_page(path: Path, experiments: Sequence[Experiment], machines: Sequence[Figures]) -> None:
    """Writes the page. machines: the results of each machine, ours first. Raises OSError where that cannot be written."""
    contents = "".join(f"<li><a href='#{each.name}'>{html.escape(each.title)}</a></li>" for each in experiments)
    body = "\n".join(_section(each, machines) for each in experiments)
    path.write_text(
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><meta name='viewport' content='width=device-width'>"
        f"<title>Penstock: the papers' experiments</title><style>{STYLE}</style></head><body>\n<h1>The papers' experiments, repeated</h1>\n"
        "<p>Four published systems, for the Cell and the TILEPro64, are one design in Penstock. What they claimed, measured again today.</p>\n"
        + "".join(f"<p class='faint'>{html.escape(words)}</p>\n" for words in READING)
        +
        f"<nav><ul>{contents}</ul></nav>\n{body}\n</body></html>\n",
        encoding="utf-8",
    )


def _section(experiment: Experiment, machines: Sequence[Figures]) -> str:
    published = Table(
        "What was published",
        ("claim", "figure", "source"),
        [[each.what, each.figure, each.source] for each in experiment.published],
    )
    parts = [
        f"<section id='{experiment.name}'><h2>{html.escape(experiment.title)}</h2>",
        f"<p class='question'>{html.escape(experiment.question)}</p>",
        _table(published) if experiment.published else "<p class='faint'>No paper asked this.</p>",
        *(_ours(experiment, figures) for figures in machines),
    ]
    parts += [f"<h3>{word}</h3><p>{html.escape(said)}</p>" for word, said in remarks(experiment)]
    return "\n".join([*parts, "</section>"])


def _ours(experiment: Experiment, figures: Figures) -> str:
    parts = [f"<h3>{html.escape(figures.document['machine'] or 'this machine')}</h3>"]
    parts.append(_or_why(lambda: f"<p class='shows'>{html.escape(experiment.shows(figures))}</p>"))
    parts.append(_or_why(lambda: "".join(_drawn(picture) for picture in experiment.pictures(figures))))
    parts.append(_or_why(lambda: "".join(_table(table) for table in experiment.tables(figures))))
    parts.append(
        "<ul class='faint'>"
        + "".join(f"<li>{html.escape(line)}</li>" for line in conditions(experiment, figures))
        + "</ul>"
    )
    return "\n".join(parts)


def _or_why(make: Callable[[], str]) -> str:
    try:
        with reading():
            return make()
    except Missing as why:
        return f"<p class='failed'>{html.escape(str(why))}</p>"


def _drawn(picture: Any) -> str:
    try:
        return f"<figure>{svg(picture)}</figure>"
    except NoMatplotlib as why:
        return f"<p class='faint'>{html.escape(picture.title)}: not drawn, {html.escape(str(why))}.</p>"


def _table(table: Table) -> str:
    head = "".join(f"<th>{html.escape(column)}</th>" for column in table.columns)
    rows = "".join("<tr>" + "".join(_cell(value) for value in row) + "</tr>" for row in table.rows)
    caption = f"<caption>{html.escape(table.title)}</caption>" if table.title else ""
    return f"<div class='wide'><table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"


def _cell(value: Any) -> str:
    words = isinstance(value, str) and not value[:1].isdigit()
    return f"<td{' class=words' if words else ''}>{html.escape(shown(value))}</td>"
