"""Forward mode: compute the tangents of an op's outputs from those of its inputs."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from ..array.tensor import Tensor
from ..autograd import forward_ad
from ..core.layers import Elementwise, linear
from ..core.op import ELSEWHERE, INPUT, SETTING

__all__ = ["push_tangents"]


def push_tangents(op: Any, inputs: Sequence[Any], settings: dict[str, Any], outs: tuple[Tensor, ...]) -> None:
    """Compute the outputs' tangents with Tensors, so that reverse mode works on top of forward mode."""
    if all(out.value.dtype.kind != "f" for out in outs):
        return
    tangents = [forward_ad.tangent_of(x) if isinstance(x, Tensor) else None for x in inputs]
    with forward_ad._set_fwd_grad_enabled(False):
        values = _tangents(op, inputs, tangents, settings, outs)
        for out, value in zip(outs, values, strict=False):
            if value is None or out.value.dtype.kind != "f":
                continue
            if value.value.dtype != out.value.dtype:
                value = value._to_numpy_dtype(out.value.dtype)
            if value.value.shape != out.value.shape:
                value = value.expand(out.value.shape)
            if not op.view and (value._view is not None or any(value is t for t in tangents)):
                # A new tensor gets its own tangent: writing to it must not change an input's tangent.
                value = value.clone()
            forward_ad.set_tangent(out, value)


def _tangents(
    op: Any, inputs: Sequence[Any], tangents: list[Tensor | None], settings: dict[str, Any], outs: tuple[Tensor, ...]
) -> Sequence[Any]:
    if op.jvp is None:
        raise NotImplementedError(
            f"Trying to use forward AD with {op._name.rstrip('0123456789').removesuffix('Backward')} that does not "
            "support it because it has not been implemented yet. Use reverse mode for this op."
        )
    if op.jvp == linear:
        moved = [
            t if t is not None else forward_ad.zero_tangent(x) if isinstance(x, Tensor) else x
            for x, t in zip(inputs, tangents, strict=True)
        ]
        result = op.apply(*moved, **settings)
        return result if isinstance(result, tuple) else (result,)

    def value_of(name: str) -> Any:
        kind, where = op._source(name)
        if kind == ELSEWHERE:
            return where(inputs, settings)
        return inputs[where] if kind == INPUT else settings.get(name, where) if kind == SETTING else outs[where]

    if isinstance(op.jvp, Elementwise):
        total = None
        for (rule, names), tangent in zip(op._rules, tangents, strict=True):
            if rule is None or tangent is None:
                continue
            part = rule(tangent, *[value_of(name) for name in names])
            total = part if total is None else total + part
        return (total,)
    given = [
        t if t is not None or not isinstance(x, Tensor) else forward_ad.zero_tangent(x)
        for x, t in zip(inputs, tangents, strict=True)
    ]
    names = tuple(inspect.signature(op.jvp).parameters)
    if getattr(op, "_variadic", False):
        result = op.jvp(tuple(given), *[value_of(n) for n in names[1:]])
    else:
        result = op.jvp(*given, *[value_of(n) for n in names[len(given) :]])
    return result if isinstance(result, tuple) else (result,)
