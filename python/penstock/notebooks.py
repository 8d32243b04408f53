"""How graphs, runs and what they have done look in a notebook."""

from html import escape
from typing import TYPE_CHECKING

from penstock.drawing import GraphvizMissing, render

if TYPE_CHECKING:
    from penstock._core import RunStatistics


def drawn(drawing: str, words: str) -> str:
    """A drawing in the language of graphviz as HTML; these words where graphviz is not installed."""
    try:
        svg = render(drawing).decode()
    except GraphvizMissing:
        return f"<pre>{escape(words)}</pre>"
    return svg[svg.index("<svg") :]


def table(statistics: "RunStatistics") -> str:
    """What RunStatistics._repr_html_ returns."""
    heads = ("filter", "copies", "firings", "failures", "dropped", "waiting", "stream", "buffers", "buffers/s")
    rows = [(each.name, each.copies, each.firings, each.failures, each.dropped, each.waiting) for each in statistics.filters]
    streams = [(f"{each.source} → {each.sink}", each.buffers, f"{each.rate:.0f}") for each in statistics.streams]
    lost = f", {statistics.lost} lost" if statistics.lost else ""
    caption = f"{statistics.seconds:.1f} s{lost}" + (f"; bottleneck: {statistics.bottleneck}" if statistics.bottleneck else "")
    return _table(caption, heads[:6], rows) + _table("", heads[6:], streams)


def _table(caption: str, heads: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    def cells(kind: str, values: tuple[object, ...]) -> str:
        return "<tr>" + "".join(f"<{kind}>{escape(str(value))}</{kind}>" for value in values) + "</tr>"

    return f"<table><caption>{escape(caption)}</caption>{cells('th', heads)}{''.join(cells('td', row) for row in rows)}</table>"
