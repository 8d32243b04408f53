"""Charts as SVG, by matplotlib, to stand inside a page."""

import io
import re

from paper.parts import Bars, Chart, Picture

INK = "#7d8590"  # legible on light and on dark pages
COLOURS = ("#2f6fb5", "#c97a10", "#237a5e", "#c23b3b", "#7a4fb0", "#6b7280", "#0f8f9c", "#a8327e")


class NoMatplotlib(RuntimeError):
    """Matplotlib is not installed."""


def svg(picture: Picture) -> str:
    """An <svg> element. Raises NoMatplotlib."""
    try:
        import matplotlib
    except ImportError as error:
        raise NoMatplotlib("matplotlib is not installed (tools/requirements.txt lists it)") from error
    matplotlib.use("svg")
    from matplotlib import pyplot

    settings = {
        "svg.fonttype": "none", "svg.hashsalt": picture.title, "font.family": "sans-serif", "font.size": 10, "text.color": INK,
        "axes.edgecolor": INK, "axes.labelcolor": INK, "xtick.color": INK, "ytick.color": INK, "axes.spines.top": False, "axes.spines.right": False,
        "axes.grid": True, "grid.color": INK, "grid.alpha": 0.25, "legend.frameon": False,
    }  # fmt: skip
    with matplotlib.rc_context(settings):
        height = 1.2 + 0.24 * len(picture.bars) if isinstance(picture, Bars) else 3.6
        figure, axes = pyplot.subplots(figsize=(7.2, height))
        try:
            axes.set_title(picture.title, fontsize=11, loc="left")
            _draw(picture, axes)
            text = io.StringIO()
            figure.savefig(
                text, format="svg", transparent=True, bbox_inches="tight", metadata={"Date": None, "Creator": None}
            )
        finally:
            pyplot.close(figure)
    drawing = text.getvalue()
    return re.sub(r"<metadata>.*?</metadata>", "", drawing[drawing.index("<svg") :], flags=re.DOTALL)


def _draw(picture: Picture, axes: object) -> None:
    (_draw_bars if isinstance(picture, Bars) else _draw_lines)(picture, axes)


def _draw_lines(chart: Chart, axes) -> None:  # noqa: ANN001 (matplotlib is not there when types are checked)
    for line, colour in zip(chart.lines, COLOURS * 4, strict=False):
        points = sorted(line.points)
        axes.plot(
            [point[0] for point in points],
            [point[1] for point in points],
            "o-",
            color=colour,
            label=line.name,
            markersize=3.5,
            linewidth=1.4,
        )
        bounded = [point for point in points if len(point) == 4]
        if bounded:
            x, _, low, high = zip(*bounded, strict=True)
            axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
    if chart.x_base:
        axes.set_xscale("log", base=chart.x_base)
    if chart.y_base:
        axes.set_yscale("log", base=chart.y_base)
    else:
        axes.set_ylim(bottom=0)
    axes.set_xlabel(chart.x)
    axes.set_ylabel(chart.y)
    if not chart.x_base:
        axes.xaxis.get_major_locator().set_params(integer=True)
    beside = {"loc": "upper left", "bbox_to_anchor": (1, 1)} if len(chart.lines) > 3 else {}
    axes.legend(fontsize=8.5, **beside)


def _draw_bars(bars: Bars, axes) -> None:  # noqa: ANN001
    names = [name for name, *_ in bars.bars]
    places = range(len(names) - 1, -1, -1)  # the first on top
    values = [value for _, value, _, _ in bars.bars]
    below = [max(0.0, value - low) if low is not None else 0.0 for _, value, low, _ in bars.bars]
    above = [max(0.0, high - value) if high is not None else 0.0 for _, value, _, high in bars.bars]
    axes.barh(places, values, color=COLOURS[0], height=0.62)
    if any(below) or any(above):
        axes.errorbar(values, places, xerr=[below, above], fmt="none", ecolor=INK, capsize=3)
    if bars.mark is not None:
        axes.axvline(bars.mark[0], color=COLOURS[3], linestyle="--", linewidth=1.2, label=bars.mark[1])
        axes.legend(fontsize=8.5, loc="upper left", bbox_to_anchor=(1, 1))
    axes.set_yticks(places, names)
    axes.set_xlabel(bars.y)
    axes.grid(axis="y", visible=False)
