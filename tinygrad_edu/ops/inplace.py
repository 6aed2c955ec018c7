"""Ops in place: the result is written into the op's first input, and its history is rewritten to match."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..array.tensor import Tensor, wrap
from ..autograd import forward_ad
from ..autograd.anomaly_mode import remember_forward
from ..autograd.inplace import check_inplace, rebase_history, refuse_shared_memory
from ..autograd.saved_tensor import keep_outputs, pack_all
from ..autograd.variable import volatile
from ..core.graph import gradient_edge
from ..modes import bump_version, quiet, thread
from .operands import adapted, check_fits, refuse_mismatch
from .tangents import push_tangents

__all__ = ["write"]


def write(op: Any, target: Tensor, others: tuple, settings: dict[str, Any]) -> Tensor:
    """Compute `op` on `target` and `others`, and write the result into `target`. This is what `Op.apply_` asks for."""
    if not isinstance(target, Tensor):
        raise TypeError(f"an in-place op changes a Tensor, got {type(target).__name__}")
    inputs = (target, *others)
    if volatile.alive and volatile.reaches(inputs):
        check_inplace(target, target.requires_grad)
        return volatile.write(lambda t, *rest, **given: write(op, t, rest, given), *inputs, **settings)
    state = thread.state
    differentiable = target.value.dtype.kind == "f" and op._differentiable
    record = differentiable and state.recording and any(isinstance(x, Tensor) and x.requires_grad for x in inputs)
    check_inplace(target, record)
    if not op.idempotent:
        read = (*others, *_tensors_in(settings, op.without_gradient)) if op.apart else others
        refuse_shared_memory(target, read, op.apart)
    # Raise before computing anything if an input's history cannot be rewritten.
    with forward_ad._set_fwd_grad_enabled(False):
        before, edges = _before_write(op, inputs, settings, record)
    result = _computed(op, inputs, settings)
    check_fits(target, result)
    node = None
    if record:
        # Inputs are saved before the write, because a rule that uses `target` needs its old value.
        node = op.record((before, *others), settings, (target,))
        node._next, node._next_output = zip(*edges, strict=True)
        if state.saved_hooks:
            pack_all(node, outputs=False)
        if state.anomaly:
            remember_forward(node)
    pushes = forward_ad.any_tangent(inputs)
    moved = _pushed(op, inputs, before, settings, result) if pushes else None
    target._data[...] = result
    bump_version(target)
    if moved is not None:
        forward_ad.write_tangent(target, moved)
    if node is not None:
        keep_outputs(node, target)
        if state.saved_hooks:
            pack_all(node)
        rebase_history(target, node)
        if pushes:
            forward_ad.remember_tangent(target)
    return target


def _computed(op: Any, inputs: tuple, settings: dict[str, Any]) -> np.ndarray:
    arrays: list[Any] = [x._data if isinstance(x, Tensor) else x for x in inputs]
    arrays, given = adapted(op, arrays, settings, False)
    try:
        return np.asarray(quiet(op.forward, *arrays, **given))
    except ValueError:
        if op.promotes:
            refuse_mismatch([np.shape(a) for a in arrays])
        raise


def _pushed(op: Any, inputs: tuple, before: Tensor, settings: dict[str, Any], result: np.ndarray) -> Tensor | None:
    """The tangent of what is to be written; None if it has none."""
    target, *others = inputs
    shadow = wrap(result)
    old = before if before is not target else wrap(target._data.copy())
    tangent = forward_ad.tangent_of(target)
    if tangent is not None:
        # Copy the tangent, because the write changes it too.
        with forward_ad._set_fwd_grad_enabled(False):
            forward_ad.set_tangent(old, tangent.clone())
    push_tangents(op.tangents_by or op, (old, *others), settings, (shadow,))
    return forward_ad.tangent_of(shadow)


def _tensors_in(settings: dict[str, Any], names: tuple[str, ...]) -> list[Any]:
    given = [settings.get(name) for name in names]
    return [x for value in given for x in (value if isinstance(value, tuple) else (value,)) if isinstance(x, Tensor)]


def _before_write(op: Any, inputs: tuple, settings: dict[str, Any], record: bool) -> tuple[Tensor, tuple]:
    """The target as the rules will see it (a clone, if a rule reads its value), and the edges of the node."""
    target = inputs[0]
    if not record:
        return target, ()
    edges = tuple(gradient_edge(x) if isinstance(x, Tensor) else (None, 0) for x in inputs)
    mask = tuple(edge[0] is not None for edge in edges)
    if op._inputs[0] in op._needed(mask):
        return target.clone(), edges
    return target, edges
