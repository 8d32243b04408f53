"""What a running graph did between two looks at it, as tables."""

from dataclasses import dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from penstock.terminal import duration

SORTS = ("load", "rate", "queue", "name")


@dataclass
class FilterLook:
    """All copies of one filter. rate: firings a second; service: seconds a firing; the waits: shares of the time."""

    name: str
    copies: int
    firings: int
    rate: float
    service: float
    load: float
    waits: tuple[float, float, float]  # for input, output, a target
    queue: int
    failed: int
    dropped: int

    def cells(self) -> list[str]:
        """Of a row in a table: all but the queue."""
        return [
            self.name, str(self.copies), f"{self.firings:,}", amount(self.rate),
            duration(self.service) if self.service else "?", share(self.load), *(share(wait) for wait in self.waits),
            str(self.failed or ""), str(self.dropped or ""),
        ]  # fmt: skip


@dataclass
class StreamLook:
    """rate: buffers a second; bytes_rate: bytes a second."""

    origin: str
    sink: str
    buffers: int
    rate: float
    bytes_rate: float
    dropped: int

    def figures(self) -> list[str]:
        """As cells of a row in a table."""
        return [f"{self.buffers:,}", amount(self.rate), amount(self.bytes_rate) + "B", str(self.dropped or "")]


@dataclass
class Look:
    filters: list[FilterLook]
    streams: list[StreamLook]
    bottleneck: str  # "" while no firing was timed
    seconds: float  # since the run began
    window: float  # seconds that the rates are of
    lost: int


WAITS = ("waits_for_input", "waits_for_output", "waits_for_target")


def look(now: dict[str, Any], before: dict[str, Any] | None = None) -> Look:
    """The figures of `now` (as a run says them): rates and waits since `before`, or since the run began."""
    then = 0.0 if before is None else float(before["seconds"])
    window = max(now["seconds"] - then, 1e-9)
    old_filters = {each["name"]: each["statistics"] for each in (before or {}).get("filters", []) if "statistics" in each}
    old_streams = {(each["from"], each["to"]): each["statistics"] for each in (before or {}).get("streams", []) if "statistics" in each}
    filters = [_filter(each, old_filters.get(each["name"]), now["seconds"], then, window) for each in now["filters"] if "statistics" in each]
    streams = [_stream(each, old_streams.get((each["from"], each["to"])), now["seconds"], then, window) for each in now["streams"] if "statistics" in each]
    busiest = max(filters, key=lambda each: each.load, default=None)
    return Look(filters, streams, busiest.name if busiest is not None and busiest.load > 0 else "", now["seconds"], window, now["lost"])


def _filter(now: dict[str, Any], old: dict[str, Any] | None, seconds: float, then: float, window: float) -> FilterLook:
    figures = now["statistics"]
    if old is None or old["firings"] > figures["firings"]:  # another filter has the name now
        old = dict.fromkeys(figures, 0)
    rate = (figures["firings"] - old["firings"]) / window
    waits = tuple(min(1.0, max(0.0, (figures[key] * seconds - old[key] * then) / window)) for key in WAITS)
    return FilterLook(
        now["name"], figures["copies"], figures["firings"], rate, figures["service_us"] / 1e6,
        rate * figures["service_us"] / 1e6 / max(figures["copies"], 1), (waits[0], waits[1], waits[2]),
        figures["waiting"] + figures["held_back"], figures["failures"], figures["dropped"],
    )  # fmt: skip


def _stream(now: dict[str, Any], old: dict[str, Any] | None, seconds: float, then: float, window: float) -> StreamLook:
    figures = now["statistics"]
    if old is None or old["buffers"] > figures["buffers"]:  # another stream now
        old = dict.fromkeys(figures, 0)
    rate = (figures["buffers"] - old["buffers"]) / window
    bytes_rate = max(0.0, (figures["bytes_rate"] * seconds - old["bytes_rate"] * then) / window)
    return StreamLook(now["from"], now["to"], figures["buffers"], rate, bytes_rate, figures["dropped"])


def amount(value: float) -> str:
    """Three digits and a prefix."""
    for prefix, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= 0.9995 * scale:
            return f"{value / scale:.3g} {prefix}"
    return f"{value:.3g} "


def share(value: float) -> str:
    return f"{100 * value:.0f} %" if value >= 0.005 else "·"


def tables(seen: Look, sort: str = "load", most: int | None = None) -> RenderableType:
    """Filters, streams and the bottleneck. sort: one of SORTS; most: rows of each table, the others are counted."""
    return Group(_filters(seen, sort, most), _streams(seen, most), _last_line(seen))


def _table(first: str, *figures: str) -> Table:
    right = (Column(each, justify="right", no_wrap=True) for each in figures)
    return Table(Column(first, no_wrap=True), *right, pad_edge=False, box=None, header_style="bold")


def _filters(seen: Look, sort: str, most: int | None) -> Table:
    table = _table("filter", "copies", "firings", "firings/s", "each", "load", "waits: input", "output", "target", "queue", "failed", "dropped")
    ordered = sorted(seen.filters, key=lambda each: each.name)
    if sort != "name":
        ordered.sort(key=lambda each: getattr(each, sort), reverse=True)
    for each in ordered[:most]:
        name, *figures, failed, dropped = each.cells()
        mark, style = ("> ", "bold red") if name == seen.bottleneck else ("  ", "")
        table.add_row(mark + name, *figures, str(each.queue), failed, dropped, style=style)
    _say_what_is_left_out(table, len(ordered), most)
    return table


def _streams(seen: Look, most: int | None) -> Table:
    table = _table("\n  stream", "\nbuffers", "\nbuffers/s", "\nbytes/s", "\ndropped")
    ordered = sorted(seen.streams, key=lambda each: each.bytes_rate, reverse=True)
    for each in ordered[:most]:
        table.add_row(f"  {each.origin} -> {each.sink}", *each.figures())
    _say_what_is_left_out(table, len(ordered), most)
    return table


def _say_what_is_left_out(table: Table, count: int, most: int | None) -> None:
    if most is not None and count > most:
        table.add_row(f"  ... and {count - most} more", style="dim")


def _last_line(seen: Look) -> Text:
    text = f"\nbottleneck: {seen.bottleneck}" if seen.bottleneck else "\nno firing was timed yet"
    if seen.lost:
        text += f"; {seen.lost} buffers lost"
    return Text(text)
