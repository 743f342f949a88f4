"""The appearance of charts: one function per kind.

Series differ in more than colour, so that greyscale prints stay legible: in markers and dashes.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from eyechart.evaluators.report.charts import CHANCE, Chart, Scatter, finite, one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.projections.polar import PolarAxes

INK = "#010203"
"""The colour of texts and axes; the page replaces it with its own."""
WIDTH = 3.25
"""Inches: a column of a two-column paper."""
TEXT_POINTS = 8.5
"""Size of all texts."""
_COLOURS = ("#2f7fc1", "#d9722b", "#2a9d6f", "#b0579a", "#8f8f8f", "#c9a227", "#5b5fc7", "#c0392b")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (6, 2, 1, 2)))
_LEGEND_LENGTH = 38
_LABEL_LENGTH = 20
"""Characters in a line of a label."""
_LETTER, _LINE = 0.072, 0.15
"""Inches: the width of a character, the height of a line."""
_PLOT_HEIGHT = 1.7
_FITTED = "fitted logistic"


@dataclass(frozen=True)
class _Margins:
    """Inches around the axes, for labels."""

    left: float
    right: float
    top: float
    bottom: float


_AROUND = _Margins(0.78, 0.78, 0.36, 0.36)
_LEFT_AND_BELOW = _Margins(0.55, 0.12, 0.1, 0.42)


def plot(chart: Chart | Scatter) -> "Figure":
    """A figure of a chart, in the current style."""
    return _PLOTS[chart.kind](chart)


def _figure(
    names: Sequence[str], margins: _Margins, height: float = _PLOT_HEIGHT, **subplot: Any
) -> "tuple[Figure, Axes]":
    """A figure with room for the labels around its axes and for a legend below them."""
    from matplotlib.figure import Figure

    below = margins.bottom + (_LINE + 0.02) * len(names) + 0.04
    whole = margins.top + height + below
    figure = Figure(figsize=(WIDTH, whole))
    place = (margins.left / WIDTH, below / whole, (WIDTH - margins.left - margins.right) / WIDTH, height / whole)
    return figure, figure.add_axes(place, **subplot)


def _dots(chart: Chart) -> "Figure":
    """Values with whiskers along lines, and the chance level of each; the vertical axis is in inches."""
    labels = [_wrapped(label) for label in chart.labels]
    longest = max(len(line) for label in labels for line in label.split("\n"))
    step = 0.13
    rows = np.array([max(step * len(chart.series) + 0.12, 0.09 + _LINE * (label.count("\n") + 1)) for label in labels])
    gaps = np.cumsum([0.12 if place in chart.breaks else 0.0 for place in range(len(labels))])
    places = np.cumsum(rows) - rows / 2 + gaps
    height = float(rows.sum() + gaps[-1])
    names = [*_names(chart), *([CHANCE] if chart.chance else [])]
    figure, axes = _figure(names, _Margins(0.18 + _LETTER * longest, 0.14, 0.06, 0.42), height)
    for number, series in enumerate(chart.series):
        along = places + (number - (len(chart.series) - 1) / 2) * step
        style: dict[str, Any] = {"color": _COLOURS[number % len(_COLOURS)], "linewidth": 1.4}
        for place, ends in zip(along, series.intervals, strict=False):
            if ends is not None and all(map(math.isfinite, ends)):
                axes.plot(ends, [place, place], **style)
        style |= {"linewidth": 0, "marker": _MARKERS[number % len(_MARKERS)], "markersize": 5}
        axes.plot(series.values, along, label=_cut(series.name, _LEGEND_LENGTH), **style)
    if chart.chance:
        around = (places - 0.47 * rows, places + 0.47 * rows)
        axes.vlines(chart.chance, *around, INK, "dashed", label=CHANCE, linewidth=1)
    axes.set_ylim(height, 0)
    axes.set_yticks(places, labels)
    axes.tick_params(axis="y", length=0)
    low, high = _range(chart)
    axes.set_xlim(low - 0.02 * (high - low), high + 0.02 * (high - low))
    axes.locator_params(axis="x", nbins=5)
    if low < 0:
        axes.axvline(0, color=INK, linewidth=0.6)
    axes.set_xlabel(chart.unit)
    axes.grid(axis="x")
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    _legend(figure, axes)
    return figure


def _radar(chart: Chart) -> "Figure":
    from matplotlib.ticker import MaxNLocator

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
        axes.plot(around, np.zeros(90), color=INK, linewidth=1.2)
    axes.set_theta_offset(math.pi / 2)
    axes.set_theta_direction(-1)
    axes.set_ylim(low, high)
    axes.set_rlabel_position(180 / count)
    axes.set_yticks(MaxNLocator(3, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)[1:-1])
    axes.set_xticks(angles, [_wrapped(label, _LABEL_LENGTH // 2) for label in chart.labels])
    axes.tick_params(axis="x", pad=1)
    for text, angle in zip(axes.get_xticklabels(), angles, strict=True):
        aside = math.sin(angle)
        text.set_horizontalalignment("center" if abs(aside) < 0.1 else "left" if aside > 0 else "right")
    _legend(figure, axes)
    return figure


def _lines(chart: Chart) -> "Figure":
    figure, axes = _figure(_names(chart), _LEFT_AND_BELOW)
    for place, series in enumerate(chart.series):
        style = _line(place)
        if series.is_bound:
            style |= {"color": INK, "marker": "", "alpha": 0.7}
        axes.plot(range(len(chart.labels)), series.values, label=_cut(series.name, _LEGEND_LENGTH), **style)
    labels = [_cut(label, _LABEL_LENGTH) for label in chart.labels]
    # As many labels as fit on the axis.
    step = math.ceil(sum(len(label) + 2 for label in labels) * _LETTER / (WIDTH - 0.7))
    axes.set_xticks(range(0, len(labels), step), labels[::step])
    axes.set_xlabel(chart.label_axis)
    _finish(axes, chart.unit)
    _legend(figure, axes)
    return figure


def _scatter(chart: Scatter) -> "Figure":
    figure, axes = _figure((_FITTED,) if chart.curve else (), _LEFT_AND_BELOW)
    axes.plot(chart.predicted, chart.human, "o", color=_COLOURS[0], markersize=2.4, alpha=0.7, markeredgewidth=0)
    if chart.curve:
        x, y = zip(*chart.curve, strict=True)
        axes.plot(x, y, color=INK, linewidth=1.3, label=_FITTED)
        _legend(figure, axes)
    axes.locator_params(axis="x", nbins=4)
    axes.set_xlabel("predicted quality")
    _finish(axes, "human quality")
    return figure


_PLOTS: dict[str, Callable[[Any], "Figure"]] = {
    "dots": _dots,
    "radar": _radar,
    "lines": _lines,
    "scatter": _scatter,
}


def _range(chart: Chart) -> tuple[float, float]:
    """Range of the axis of values: the limits, widened to include all values and whiskers, or the values and 0."""
    ends = [end for series in chart.series for pair in series.intervals if pair for end in pair]
    values = [value for value in [*finite(chart.series), *ends, *chart.chance] if math.isfinite(value)]
    if chart.limits is not None:
        return min([chart.limits[0], *values]), max([chart.limits[1], *values])
    low, high = min([0.0, *values]), max([0.0, *values])
    margin = 0.08 * (high - low) or 1.0
    return low - margin if low < 0 else low, high + margin


def _line(place: int) -> dict[str, Any]:
    kind = place % len(_COLOURS)
    return {
        "color": _COLOURS[kind],
        "marker": _MARKERS[kind],
        "linestyle": _DASHES[kind],
        "markersize": 3,
        "linewidth": 1.3,
    }


def _finish(axes: "Axes", unit: str) -> None:
    # A long unit is broken, because it would be cut off at the edge of the figure.
    axes.set_ylabel(_wrapped(unit, int(_PLOT_HEIGHT / _LETTER) + 3), fontsize=TEXT_POINTS)
    axes.grid(axis="y")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _legend(figure: "Figure", axes: "Axes") -> None:
    figure.legend(
        *axes.get_legend_handles_labels(),
        loc="lower center",
        frameon=False,
        handlelength=2.6,
        labelspacing=0.2,
        borderaxespad=0.1,
    )


def _names(chart: Chart) -> list[str]:
    return [series.name for series in chart.series]


def _wrapped(label: str, line: int = _LABEL_LENGTH) -> str:
    """A label in lines of at most `line` characters, or of one word each."""
    lines: list[str] = []
    for word in _cut(label, 3 * _LABEL_LENGTH).split(" "):
        if lines and len(lines[-1]) + len(word) < line:
            lines[-1] += f" {word}"
        else:
            lines.append(_cut(word, 2 * _LABEL_LENGTH))
    return "\n".join(lines)


def _cut(text: str, length: int) -> str:
    """A text on one line, cut in the middle, without control characters, which SVG forbids; a dash if it is empty."""
    line = one_line(text) or "\N{EN DASH}"
    # matplotlib hides series whose names begin with an underscore from legends.
    line = f"\u200b{line}" if line.startswith("_") else line
    if len(line) <= length:
        return line
    # Names of checkpoints and runs often differ only at the end.
    end = (length - 1) // 2
    return f"{line[: length - 1 - end]}\N{HORIZONTAL ELLIPSIS}{line[-end:]}"
