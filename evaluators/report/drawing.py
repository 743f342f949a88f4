"""Charts drawn by matplotlib: as an SVG to stand in a page, and as SVG and PNG files.

All series differ in more than colour, so that a copy in grey can be read: markers and dashes of lines, hatches of bars.
Texts are drawn as they are, never read as mathematics.
"""

import io
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from eyechart.evaluators.report.charts import Chart, Scatter, Series, finite

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.projections.polar import PolarAxes

INK = "#010203"
"""The colour of texts and axes, which a page replaces by its own."""
_COLOURS = ("#2f7fc1", "#d9722b", "#2a9d6f", "#b0579a", "#8f8f8f", "#c9a227", "#5b5fc7", "#c0392b")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (6, 2, 1, 2)))
_HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "++++", "oooo", "----")
_LEGEND_LENGTH = 48
_LABEL_LENGTH = 24
_FEW = 4
_STYLE = {
    "svg.fonttype": "none",
    # Without it, names of clip paths would differ from run to run.
    "svg.hashsalt": "eyechart",
    "text.parse_math": False,
    "font.family": ["DejaVu Sans", "sans-serif"],
    "font.size": 9.0,
    "axes.unicode_minus": True,
    "hatch.linewidth": 0.6,
    **dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color", "grid.color"), INK
    ),
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
}


@dataclass(frozen=True)
class _Margins:
    """Inches around the axes, for labels."""

    left: float
    right: float
    top: float
    bottom: float


_AROUND = _Margins(1.05, 1.05, 0.45, 0.45)
_LEFT_AND_BELOW = _Margins(0.65, 0.28, 0.12, 0.62)
_WIDTH, _PLOT_HEIGHT, _LEGEND_LINE = 4.4, 2.4, 0.19
"""Inches."""
_DOTS_PER_INCH = 150
_FITTED = "fitted logistic"


@dataclass(frozen=True)
class Drawing:
    """One chart, drawn."""

    svg: str
    """A whole SVG file."""
    png: bytes
    """Empty where none was asked for."""


def draw(chart: Chart | Scatter, *, png: bool) -> Drawing:
    """Draw a chart.

    Args:
        chart: What to draw.
        png: Whether a PNG is wanted too.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    svg, image = io.StringIO(), io.BytesIO()
    with _style():
        figure = _DRAWN[chart.kind](chart)
        # `savefig` would lay everything out twice, which takes as long again.
        FigureCanvasSVG(figure).print_svg(svg, metadata=_NO_METADATA)
        if png:
            figure.set_facecolor("white")
            figure.set_dpi(_DOTS_PER_INCH)
            FigureCanvasAgg(figure).print_png(image)
    return Drawing(svg.getvalue(), image.getvalue())


_NO_METADATA = {"Date": None, "Creator": None, "Format": None, "Type": None}


@contextmanager
def _style() -> Iterator[None]:
    import matplotlib

    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():
        # The page's own fonts have the letters that matplotlib's lack.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def _figure(names: Sequence[str], margins: _Margins, **subplot: Any) -> "tuple[Figure, Axes]":
    """A figure with room for what stands around its axes and for a legend of some names below them."""
    from matplotlib.figure import Figure

    below = margins.bottom + _LEGEND_LINE * _legend_lines(names)
    height = margins.top + _PLOT_HEIGHT + below
    width = _WIDTH - margins.left - margins.right
    figure = Figure(figsize=(_WIDTH, height))
    place = (margins.left / _WIDTH, below / height, width / _WIDTH, _PLOT_HEIGHT / height)
    return figure, figure.add_axes(place, **subplot)


def _radar(chart: Chart) -> "Figure":
    count = len(chart.labels)
    figure, plain = _figure(_names(chart), _AROUND, projection="polar")
    axes = cast("PolarAxes", plain)
    angles = [2 * math.pi * place / count for place in range(count)]
    low, high = _range(chart)
    for place, series in enumerate(chart.series):
        axes.plot(
            [*angles, angles[0]],
            [*series.values, series.values[0]],
            label=_cut(series.name, _LEGEND_LENGTH),
            **_line(place),
        )
    around = np.linspace(0, 2 * math.pi, 90)
    if low <= 0 <= high:
        axes.plot(around, np.zeros(90), color=INK, linewidth=1.4)
    axes.set_theta_offset(math.pi / 2)
    axes.set_theta_direction(-1)
    axes.set_ylim(low, high)
    axes.set_rlabel_position(180 / count)
    axes.tick_params(axis="y", labelsize=7)
    axes.set_xticks(angles, [_wrapped(label) for label in chart.labels])
    axes.tick_params(axis="x", pad=4, labelsize=8)
    for text, angle in zip(axes.get_xticklabels(), angles, strict=True):
        aside = math.sin(angle)
        text.set_horizontalalignment("center" if abs(aside) < 0.1 else "left" if aside > 0 else "right")
    _legend(figure, axes, _names(chart))
    return figure


def _bars(chart: Chart) -> "Figure":
    stacks = list(dict.fromkeys(series.stack or series.name for series in chart.series))
    figure, axes = _figure(_names(chart), _LEFT_AND_BELOW)
    width = 0.8 / len(stacks)
    tops: dict[str, Any] = {}
    for place, series in enumerate(chart.series):
        stack = series.stack or series.name
        centres = np.arange(len(chart.labels)) + (stacks.index(stack) - (len(stacks) - 1) / 2) * width
        bottom = tops.get(stack, np.zeros(len(chart.labels)))
        axes.bar(
            centres,
            series.values,
            width * 0.92,
            bottom=bottom,
            label=_cut(series.name, _LEGEND_LENGTH),
            **_bar(place),
        )
        _whiskers(axes, centres, series)
        tops[stack] = bottom + np.nan_to_num(np.array(series.values))
    # Beside many others, a label has room for one word a line.
    line = _LABEL_LENGTH // 2 if len(chart.labels) <= _FEW else 0
    axes.set_xticks(range(len(chart.labels)), [_wrapped(label, line) for label in chart.labels])
    if len(chart.labels) > _FEW:
        axes.tick_params(axis="x", labelsize=7)
    axes.set_ylim(*_range(chart))
    axes.axhline(0, color=INK, linewidth=0.8)
    _finish(axes, chart.unit)
    _legend(figure, axes, _names(chart))
    return figure


def _lines(chart: Chart) -> "Figure":
    figure, axes = _figure(_names(chart), _LEFT_AND_BELOW)
    for place, series in enumerate(chart.series):
        style = _line(place)
        if series.is_bound:
            style |= {"color": INK, "marker": "", "alpha": 0.7}
        axes.plot(range(len(chart.labels)), series.values, label=_cut(series.name, _LEGEND_LENGTH), **style)
    axes.set_xticks(range(len(chart.labels)), [_cut(label, _LABEL_LENGTH) for label in chart.labels])
    axes.set_xlabel(chart.label_axis)
    _finish(axes, chart.unit)
    _legend(figure, axes, _names(chart))
    return figure


def _scatter(chart: Scatter) -> "Figure":
    figure, axes = _figure((_FITTED,), _LEFT_AND_BELOW)
    axes.plot(chart.predicted, chart.human, "o", color=_COLOURS[0], markersize=3, alpha=0.7, markeredgewidth=0)
    if chart.curve:
        x, y = zip(*chart.curve, strict=True)
        axes.plot(x, y, color=INK, linewidth=1.6, label=_FITTED)
        _legend(figure, axes, (_FITTED,))
    axes.locator_params(axis="x", nbins=5)
    axes.set_xlabel("predicted quality")
    _finish(axes, "human quality")
    return figure


_DRAWN: dict[str, Callable[[Any], "Figure"]] = {"radar": _radar, "bars": _bars, "lines": _lines, "scatter": _scatter}


def _range(chart: Chart) -> tuple[float, float]:
    """What the axis of values spans: the limits, widened to hold all values and whiskers, or the values and 0."""
    ends = [end for series in chart.series for pair in series.intervals if pair for end in pair]
    values = [value for value in [*finite(chart.series), *ends] if math.isfinite(value)]
    if chart.limits is not None:
        return min([chart.limits[0], *values]), max([chart.limits[1], *values])
    low, high = min([0.0, *values]), max([0.0, *values])
    margin = 0.08 * (high - low) or 1.0
    return low - margin if low < 0 else low, high + margin


def _whiskers(axes: "Axes", centres: Any, series: Series) -> None:
    for centre, value, ends in zip(centres, series.values, series.intervals, strict=False):
        if ends is not None and math.isfinite(value) and all(map(math.isfinite, ends)):
            axes.plot([centre, centre], ends, color=INK, linewidth=1.1, marker="_", markersize=4)


def _line(place: int) -> dict[str, Any]:
    kind = place % len(_COLOURS)
    return {
        "color": _COLOURS[kind],
        "marker": _MARKERS[kind],
        "linestyle": _DASHES[kind],
        "markersize": 4,
        "linewidth": 1.6,
    }


def _bar(place: int) -> dict[str, Any]:
    kind = place % len(_COLOURS)
    return {"color": _COLOURS[kind], "hatch": _HATCHES[kind], "edgecolor": INK, "linewidth": 0.6}


def _finish(axes: "Axes", unit: str) -> None:
    axes.set_ylabel(unit)
    axes.grid(axis="y")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _legend(figure: "Figure", axes: "Axes", names: Sequence[str]) -> None:
    figure.legend(
        *axes.get_legend_handles_labels(),
        loc="lower center",
        ncols=2 if _are_short(names) else 1,
        frameon=False,
        fontsize=8,
        handlelength=3,
        borderaxespad=0.2,
    )


def _legend_lines(names: Sequence[str]) -> int:
    return 1 if _are_short(names) else len(names)


def _are_short(names: Sequence[str]) -> bool:
    """Whether names stand on one line."""
    return len(names) <= 2 and all(len(name) <= _LABEL_LENGTH for name in names)


def _names(chart: Chart) -> list[str]:
    return [series.name for series in chart.series]


def _wrapped(label: str, line: int = _LABEL_LENGTH // 2) -> str:
    """A label in lines of at most `line` letters, or of one word each."""
    lines: list[str] = []
    for word in _cut(label, 2 * _LABEL_LENGTH).split(" "):
        if lines and len(lines[-1]) + len(word) < line:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return "\n".join(lines)


def _cut(text: str, length: int) -> str:
    """A text on one line, without control characters, which no SVG may hold; a dash where nothing is left."""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    line = line or "\N{EN DASH}"
    # A leading underscore keeps a series out of matplotlib's legends.
    line = f"\u200b{line}" if line.startswith("_") else line
    return line if len(line) <= length else f"{line[: length - 1]}\N{HORIZONTAL ELLIPSIS}"
