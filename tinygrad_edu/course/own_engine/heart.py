"""A student's lines beside those of the real heart, `tinygrad_edu/core`, that do the same."""

from __future__ import annotations

import ast
import html
import textwrap
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from . import OwnEngine

# What a section is about, the student's pieces, and the functions of `core/`, as `file: class.method`.
_SAME = (
    ("What an op remembers", ("record_parents",), ("op: Op.record",)),
    (
        "Who runs next, and where gradients meet",
        ("topological_order", "backward_pass"),
        ("engine: Pass.stretch", "engine: Pass.deliver"),
    ),
    ("Back to the shape of the operand", ("unbroadcast",), ("engine: Pass.fitted", "layers: Layers.summed")),
    ("A saved value that was written to", ("version_check",), ("graph: bump_version", "op: Op._step")),
    ("One pass, and then it is freed", ("freeing",), ("op: Op._release", "op: FunctionCtx.saved_tensors")),
    ("What a leaf keeps", (), ("graph: AccumulateGrad._step",)),
)


@cache
def _source(place: str) -> str:
    """The source of a function of the heart, such as `engine: Pass.run`."""
    file, _, path = place.partition(": ")
    text = (Path(__file__).parents[2] / "core" / f"{file}.py").read_text(encoding="utf-8")
    found: Any = ast.parse(text)
    for name in path.split("."):
        found = next(one for one in found.body if isinstance(one, (ast.ClassDef, ast.FunctionDef)) and one.name == name)
    return textwrap.dedent("".join(text.splitlines(keepends=True)[found.lineno - 1 : found.end_lineno])).strip()


@dataclass(frozen=True, repr=False)
class Beside:
    """The sections of an engine, each beside the heart's. Shows itself in a notebook and in a terminal."""

    engine: OwnEngine

    def sections(self) -> list[tuple[str, str, str]]:
        """What each section is about, the student's lines, and the heart's."""
        return [
            (
                about,
                "\n\n".join(self.engine.pieces[name].source.strip() for name in names) or _LEAF,
                "\n\n".join(map(_source, functions)),
            )
            for about, names, functions in _SAME
        ]

    def __repr__(self) -> str:
        return "\n\n".join(
            f"{about}\n{'=' * len(about)}\n{mine}\n\n--- in the heart ---\n{heart}"
            for about, mine, heart in self.sections()
        )

    def _repr_html_(self) -> str:
        def code(source: str, whose: str) -> str:
            return (
                f'<div style="flex:1 1 24em;min-width:0"><div style="opacity:.7">{whose}</div>'
                f'<pre style="white-space:pre-wrap;word-break:normal;margin:0 0 8px;font-size:12px;line-height:1.35">'
                f"{html.escape(source)}</pre></div>"
            )

        return (
            '<div style="color:var(--jp-ui-font-color1,inherit)">'
            + "".join(
                f"<b>{html.escape(about)}</b>"
                '<div style="display:flex;flex-wrap:wrap;gap:0 24px">'
                f"{code(mine, 'yours')}{code(heart, 'the heart')}</div>"
                for about, mine, heart in self.sections()
            )
            + "</div>"
        )


_LEAF = """# in the frame, Tensor.backward:
if leaf.is_leaf:
    grad = np.broadcast_to(grads[name] * (seed if leaf is self else 1.0), leaf.shape)
    leaf.grad = Tensor(grad if leaf.grad is None else leaf.grad.data + grad)"""
