"""An SVG file from matplotlib as part of a page."""

import re
from html import escape

from eyechart.evaluators.report.drawing import INK

_OPENING = re.compile(r"<svg\b[^>]*>")
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
_DEFINED = re.compile(r'\bid="([^"]*)"')
_USED = re.compile(r'(url\(#|xlink:href="#|(?<!:)href="#)')
_VIEW = re.compile(r'viewBox="([^"]*)"')


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
