"""Charts drawn by matplotlib: as SVG for the page, and as SVG, PDF and PNG files.

A figure is as wide as a column of a paper, so its files need no scaling. The page shows it larger, so that texts are at
least 12 pixels high.
"""

import io
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape

from eyechart.evaluators.report.charts import Chart, Scatter
from eyechart.evaluators.report.plots import INK, TEXT_POINTS, plot

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
        ("font.size", "xtick.labelsize", "ytick.labelsize", "axes.labelsize", "legend.fontsize"), TEXT_POINTS
    ),
    "axes.unicode_minus": True,
    "axes.linewidth": 0.6,
    "hatch.linewidth": 0.5,
    **dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color", "grid.color"), INK
    ),
    "grid.alpha": 0.18,
    "grid.linewidth": 0.5,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
}
_DOTS_PER_INCH = 300
_OPENING = re.compile(r"<svg\b[^>]*>")
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
_DEFINED = re.compile(r'\bid="([^"]*)"')
_USED = re.compile(r'(url\(#|xlink:href="#|(?<!:)href="#)')
_VIEW = re.compile(r'viewBox="([^"]*)"')
_NO_METADATA = {"Date": None, "Creator": None, "Format": None, "Type": None}
_NO_PDF_METADATA = {"CreationDate": None, "Creator": None, "Producer": None}


@dataclass(frozen=True)
class Drawing:
    """One chart, drawn."""

    svg: str
    """A complete SVG file."""
    pdf: bytes
    """Empty if no files are wanted, as is the PNG."""
    png: bytes


def draw(chart: Chart | Scatter, *, files: bool) -> Drawing:
    """Draw a chart.

    Args:
        chart: What to draw.
        files: Whether to draw a PDF and a PNG too.
    """
    _load_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_pdf import FigureCanvasPdf
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    svg, pdf, image = io.StringIO(), io.BytesIO(), io.BytesIO()
    with _style():
        figure = plot(chart)
        # `savefig` would compute the layout twice.
        FigureCanvasSVG(figure).print_svg(svg, metadata=_NO_METADATA)
        if files:
            FigureCanvasPdf(figure).print_pdf(pdf, metadata=_NO_PDF_METADATA)
            figure.set_facecolor("white")
            figure.set_dpi(_DOTS_PER_INCH)
            FigureCanvasAgg(figure).print_png(image)
    return Drawing(svg.getvalue(), pdf.getvalue(), image.getvalue())


def _load_matplotlib() -> None:
    """Import matplotlib without the backend that MPLBACKEND names.

    No window is needed here, and a process that a notebook starts may lack the notebook's backend.
    """
    named = os.environ.pop("MPLBACKEND", None)
    try:
        import matplotlib  # noqa: F401
    finally:
        if named is not None:
            os.environ["MPLBACKEND"] = named


@contextmanager
def _style() -> Iterator[None]:
    import matplotlib

    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():
        # The page's fonts have glyphs that matplotlib's fonts lack.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def inline_svg(svg: str, prefix: str, title: str, description: str) -> str:
    """Make an SVG that can be in a page with others.

    Args:
        svg: A complete file, as matplotlib writes it.
        prefix: Makes the ids in it unique within the page.
        title: Title of the figure.
        description: The figure in words, for screen readers.

    Returns:
        Markup without external references, in the page's text colour.
    """
    opening = _OPENING.search(svg)
    view = _VIEW.search(opening.group()) if opening else None
    if opening is None or view is None:
        raise ValueError("not an SVG file with a viewBox")
    body = _METADATA.sub("", svg[opening.end() :])
    body = _DEFINED.sub(rf'id="{prefix}-\1"', body)
    body = _USED.sub(rf"\g<1>{prefix}-", body).replace("xlink:href=", "href=").replace(INK, "currentColor")
    return (
        f'<svg viewBox="{view.group(1)}" role="img" aria-labelledby="{prefix}-title {prefix}-description">'
        f'<title id="{prefix}-title">{escape(title)}</title>'
        f'<desc id="{prefix}-description">{escape(description)}</desc>{body.strip()}'
    )
