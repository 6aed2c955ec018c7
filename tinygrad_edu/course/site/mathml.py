"""A Sphinx extension: formulas as MathML, which every current browser can draw, so no page loads MathJax."""

from __future__ import annotations

from typing import Any


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _inline(writer: Any, node: Any) -> None:
    _write(writer, node, as_block=False)


def _block(writer: Any, node: Any) -> None:
    _write(writer, node, as_block=True)


def _write(writer: Any, node: Any, as_block: bool) -> None:
    from docutils.nodes import SkipNode
    from docutils.utils.math.latex2mathml import tex2mathml

    writer.body.append(tex2mathml(node.astext(), as_block=as_block))
    raise SkipNode
