"""Charts drawn by matplotlib, one function per kind. For greyscale prints, series differ in markers and dashes too."""

import io
import math
import os
import re
import textwrap
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from cycler import cycler

from eyechart.evaluators.published.rendering import Row
from eyechart.evaluators.report.charts import Chart

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import LayoutEngine

_INK = "#010203"
"""The colour of texts and axes; the page replaces it with its own."""
_WIDTH = 3.25
"""Inches: a column of a two-column paper."""
_PLOT_HEIGHT = 1.9
_LINE = 0.15
"""Inches: the height of a line."""
_LEGEND_LENGTH, _LABEL_LENGTH = 38, 20
"""Characters in a line of the legend, of a label."""
_SERIES = (
    cycler(color=("#2f7fc1", "#d9722b", "#2a9d6f", "#b0579a", "#8f8f8f", "#c9a227", "#5b5fc7", "#c0392b"))
    + cycler(marker=("o", "s", "^", "D", "v", "P", "X", "*"))
    + cycler(linestyle=("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (6, 2, 1, 2))))
)
_STYLE = {
    "svg.fonttype": "none",
    # TrueType, which journals require.
    "pdf.fonttype": 42,
    # Without it, names of clip paths would differ from run to run.
    "svg.hashsalt": "eyechart",
    # Dollar signs in texts are not mathematics.
    "text.parse_math": False,
    "font.family": ["DejaVu Sans", "sans-serif"],
    **dict.fromkeys(
        [f"{name}size" for name in ("font.", "xtick.label", "ytick.label", "axes.label", "legend.font")], 8.5
    ),
    **dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color", "grid.color"), _INK
    ),
    **{"axes.prop_cycle": _SERIES, "lines.linewidth": 1.3, "lines.markersize": 3},
    **{"axes.linewidth": 0.6, "grid.linewidth": 0.5, "grid.alpha": 0.18},
    **dict.fromkeys(("axes.facecolor", "figure.facecolor"), "none"),
}
_FORMATS: dict[str, dict[str, Any]] = {
    "svg": {"metadata": {"Date": None, "Creator": None, "Format": None, "Type": None}},
    "pdf": {"metadata": {"CreationDate": None, "Creator": None, "Producer": None}},
    "png": {"dpi": 300, "facecolor": "white"},
}


def draw(chart: Chart, *, files: bool) -> dict[str, bytes]:
    """A chart as files by their suffix: svg, pdf and png; the SVG of the page alone without `files`."""
    drawn = {}
    with _style():
        figure = {"dot plot": _dots, "radar chart": _radar, "line chart": _lines}[chart.kind](chart)
        figure.legend(loc="outside lower center", frameon=False, handlelength=2.6, labelspacing=0.2, borderaxespad=0.1)
        # Once for all files, where `savefig` would draw each of them twice.
        cast("LayoutEngine", figure.get_layout_engine()).execute(figure)
        figure.set_layout_engine(None)
        for suffix in _FORMATS if files else ["svg"]:
            content = io.BytesIO()
            figure.savefig(content, format=suffix, **_FORMATS[suffix])
            drawn[suffix] = content.getvalue()
    return drawn


@contextmanager
def _style() -> Iterator[None]:
    """Our style, without the backend that MPLBACKEND names: a process that a notebook starts may lack it."""
    named = os.environ.pop("MPLBACKEND", None)
    try:
        import matplotlib
    finally:
        if named is not None:
            os.environ["MPLBACKEND"] = named
    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():
        # The page's fonts have glyphs that matplotlib's fonts lack.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def inline_svg(svg: str, prefix: str, title: str) -> str:
    """An SVG of `draw` as markup in the page's text colour; `prefix` makes its ids unique within the page."""
    _, view_box, body = re.split(r'<svg\b[^>]*viewBox="([^"]*)"[^>]*>', svg, maxsplit=1)
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r'\bid="([^"]*)"', rf'id="{prefix}-\1"', body)
    body = re.sub(r'(url\(#|xlink:href="#|(?<!:)href="#)', rf"\g<1>{prefix}-", body)
    body = body.replace("xlink:href=", "href=").replace(_INK, "currentColor")
    return (
        f'<svg viewBox="{view_box}" role="img" aria-labelledby="{prefix}-title">'
        f'<title id="{prefix}-title">{escape(title)}</title>{body.strip()}'
    )


def one_line(text: str) -> str:
    """A text of unknown origin on one line, without control characters."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def _figure(chart: Chart, height: float, **subplot: Any) -> "tuple[Figure, Any]":
    """A figure with room for a legend below its axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDTH, height + 0.45 + (_LINE + 0.02) * len(chart.rows)), layout="constrained")
    axes = figure.add_subplot(**subplot)
    axes.set_axisbelow(True)
    return figure, axes


def _dots(chart: Chart) -> "Figure":
    """Values with whiskers along lines, and the chance level of each; the vertical axis is in inches."""
    labels = [_wrapped(label) for label in chart.labels]
    models = [row for row in chart.rows if row.is_model]
    step = 0.13
    heights = np.array([max(step * len(models) + 0.12, 0.09 + _LINE * (label.count("\n") + 1)) for label in labels])
    gaps = np.cumsum([0.12 if i in chart.breaks else 0.0 for i in range(len(labels))])
    middles = np.cumsum(heights) - heights / 2 + gaps
    height = float(heights.sum() + gaps[-1])
    figure, axes = _figure(chart, height)
    for number, row in enumerate(models):
        along = middles + (number - (len(models) - 1) / 2) * step
        values, name = _series(row)
        (points,) = axes.plot(values, along, label=name, linestyle="none", markersize=5)
        ends = np.array([cell.ends or (math.nan, math.nan) for cell in row.cells])
        axes.hlines(along, ends[:, 0], ends[:, 1], points.get_color(), linewidth=1.4)
    for values, name in (_series(row) for row in chart.rows if not row.is_model):
        around = (middles - 0.47 * heights, middles + 0.47 * heights)
        axes.vlines(values, *around, _INK, "dashed", label=name, linewidth=1)
    axes.set_ylim(height, 0)
    axes.set_yticks(middles, labels)
    axes.tick_params(axis="y", length=0)
    low, high = _range(chart)
    axes.set_xlim(low - 0.02 * (high - low), high + 0.02 * (high - low))
    axes.locator_params(axis="x", nbins=5)
    if low < 0:
        axes.axvline(0, color=_INK, linewidth=0.6)
    axes.set_xlabel(_wrapped(chart.unit, 2 * _LABEL_LENGTH))
    axes.grid(axis="x")
    axes.spines[["top", "right", "left"]].set_visible(False)
    return figure


def _radar(chart: Chart) -> "Figure":
    from matplotlib.ticker import MaxNLocator

    figure, axes = _figure(chart, _PLOT_HEIGHT + 0.3, projection="polar")
    angles = [2 * math.pi * i / len(chart.labels) for i in range(len(chart.labels))]
    low, high = _range(chart)
    for values, name in map(_series, chart.rows):
        axes.plot([*angles, angles[0]], [*values, values[0]], label=name)
    axes.plot(np.linspace(0, 2 * math.pi, 90), np.zeros(90), color=_INK, linestyle="-", marker="", linewidth=1.2)
    axes.set_theta_offset(math.pi / 2)
    axes.set_theta_direction(-1)
    axes.set_ylim(low, high)
    axes.set_rlabel_position(180 / len(angles))
    axes.set_yticks(MaxNLocator(3, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)[1:-1])
    axes.set_xticks(angles, [_wrapped(label, _LABEL_LENGTH // 2) for label in chart.labels])
    axes.tick_params(axis="x", pad=1)
    for text, angle in zip(axes.get_xticklabels(), angles, strict=True):
        aside = math.sin(angle)
        text.set_horizontalalignment("center" if abs(aside) < 0.1 else "left" if aside > 0 else "right")
    return figure


def _lines(chart: Chart) -> "Figure":
    figure, axes = _figure(chart, _PLOT_HEIGHT)
    places = chart.places or range(len(chart.labels))
    for row in chart.rows:
        values, name = _series(row)
        style: dict[str, Any] = {} if row.is_model else {"color": _INK, "marker": "", "alpha": 0.7}
        (line,) = axes.plot(places, values, label=name, **style)
        ends = np.array([cell.ends or (math.nan, math.nan) for cell in row.cells])
        axes.vlines(places, ends[:, 0], ends[:, 1], line.get_color(), linewidth=1)
    labels = [_cut(label, _LABEL_LENGTH) for label in chart.labels]
    # At most eight labels fit on the axis.
    step = math.ceil(len(labels) / 8)
    axes.set_xticks(places[::step], labels[::step])
    axes.set_xlabel("step" if chart.places else "rounds")
    axes.set_ylabel(chart.unit)
    axes.grid(axis="y")
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _series(row: Row) -> tuple[list[float], str]:
    """The values of a row, and its name in the legend."""
    return [cell.value for cell in row.cells], _cut(row.labels[0], _LEGEND_LENGTH)


def _range(chart: Chart) -> tuple[float, float]:
    """Range of the axis of values: the limits, widened to include all values and whiskers, or the values and 0."""
    cells = [cell for row in chart.rows for cell in row.cells]
    values = [*filter(math.isfinite, (end for cell in cells for end in (cell.value, *(cell.ends or ()))))]
    bounds = chart.limits or (0.0, 0.0)
    low, high = min(bounds[0], *values), max(bounds[1], *values)
    margin = 0.0 if chart.limits else 0.08 * (high - low) or 1.0
    return low - margin if low < 0 else low, high + margin


def _wrapped(label: str, line: int = _LABEL_LENGTH) -> str:
    """A label in lines of at most `line` characters, or of one word each."""
    lines = textwrap.wrap(_cut(label, 3 * _LABEL_LENGTH), line, break_long_words=False, break_on_hyphens=False)
    return "\n".join(_cut(text, max(line, _LABEL_LENGTH - 2)) for text in lines)


def _cut(text: str, length: int) -> str:
    """A text on one line, cut in the middle, without control characters, which SVG forbids; a dash if it is empty."""
    line = one_line(text) or "\N{EN DASH}"
    # matplotlib hides series whose names begin with an underscore from legends.
    line = f"\u200b{line}" if line.startswith("_") else line
    # Names of checkpoints and runs often differ only at the end.
    end = (length - 1) // 2
    return line if len(line) <= length else f"{line[: length - 1 - end]}\N{HORIZONTAL ELLIPSIS}{line[-end:]}"
