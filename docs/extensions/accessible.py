"""Adds what the theme lacks for readers who use a keyboard or a screen reader, as reported by axe-core.

Scrollable blocks can be focused, the two sidebars have names, and the page of search results has a heading.
"""

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

_REPLACED = {
    "<pre>": '<pre tabindex="0">',
    '<div class="table-wrapper': '<div tabindex="0" role="group" aria-label="Table" class="table-wrapper',
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="All pages">',
    '<aside class="toc-drawer">': '<aside class="toc-drawer" aria-label="On this page">',
    '<div id="search-results">': '<h1>Search</h1>\n<div id="search-results">',
}


def _complete(app: Sphinx, error: Exception | None) -> None:
    if error is not None or app.builder.name != "html":
        return
    for page in Path(app.outdir).rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        for found, better in _REPLACED.items():
            text = text.replace(found, better)
        page.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension with Sphinx."""
    app.connect("build-finished", _complete)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
