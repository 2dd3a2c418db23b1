"""Formulas as MathML, converted by docutils: no script to fetch, no LaTeX to install."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)


def _convert(node: nodes.math | nodes.math_block, block: bool) -> str:
    try:
        return tex2mathml(node.astext(), as_block=block)
    except MathError as error:
        logger.warning("formula not understood: %s", error, location=node)
        return f"<code>{node.astext()}</code>"


def visit_math(translator: Any, node: nodes.math) -> None:
    """A formula within a sentence."""
    translator.body.append(_convert(node, block=False))
    raise nodes.SkipNode


def visit_display(translator: Any, node: nodes.math_block) -> None:
    """A formula in a line of its own."""
    translator.body.append(f'<div class="math-display">{_convert(node, block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer under the name ``mathml``."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
