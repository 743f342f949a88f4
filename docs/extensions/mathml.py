"""Renders formulae as MathML, which every current browser displays without scripts or fonts from another host."""

import html
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging

_LOG = logging.getLogger(__name__)


def _mathml(node: nodes.Element, display: str) -> str:
    """The formula as MathML, with its LaTeX as the alternative text; an unknown LaTeX command is a warning."""
    latex = node.astext().strip()
    shown: str = convert(latex, display=display)
    if "\\" in shown:
        _LOG.warning("this formula has a command that latex2mathml does not know: %s", latex, location=node)
    return shown.replace("<math ", f'<math alttext="{html.escape(latex)}" ', 1)


def _inline(self: Any, node: nodes.math) -> None:
    self.body.append(_mathml(node, "inline"))
    raise nodes.SkipNode


def _block(self: Any, node: nodes.math_block) -> None:
    self.body.append(self.starttag(node, "div", CLASS="math-block", tabindex="0"))
    if node["number"]:
        self.body.append(f'<span class="eqno">({node["number"]})</span>')
    self.body.append(_mathml(node, "block"))
    self.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer `mathml`."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
