"""What `Function.apply` makes of the outputs of `forward`: it gives them a history, and in forward mode tangents."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..array.absent import refuse_tensors_of_pytorch
from ..array.tensor import Tensor, wrap
from ..modes import bump_version, thread
from . import forward_ad, inplace
from .anomaly_mode import remember_forward
from .inplace import make_view
from .saved_tensor import SavedTensor

# Marks the form of an output that is not a tensor.
_NO_TENSOR: tuple[tuple[int, ...], np.dtype] = ((), np.dtype(object))

__all__ = ["outputs_of"]


_NO_INPUT = (
    "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated should be "
    "passed to ctx.mark_dirty()."
)


def outputs_of(node: Any, raw: Sequence[Any], args: Sequence[Any], record: bool) -> Sequence[Any]:
    """What `forward` returned, with `node` as its history where it is recorded."""
    tensors = [a for a in args if isinstance(a, Tensor)]
    try:
        outputs = _with_history(node, raw, tensors, record)
        if record:
            node._outputs = tuple(
                (o.value.shape, o.value.dtype) if isinstance(o, Tensor) else _NO_TENSOR for o in outputs
            )
            node._saved = tuple(
                None if t is None else SavedTensor(t, node if _is_output(t, node) else None) for t in node.to_save or ()
            )
            if thread.state.anomaly:
                remember_forward(node)
        if forward_ad.any_tangent(tensors):
            _apply_jvp(node._forward_cls, node, tuple(args), outputs)
    finally:
        node.dirty_tensors = node.non_differentiable = None
    return outputs


def _is_output(t: Tensor, node: Any) -> bool:
    """True if `node` made `t` or wrote to it: then a saved `t` must not keep `node` alive in turn."""
    return t.grad_fn is node or (t._view is not None and any(t is d for d in node.dirty_tensors or ()))


def _with_history(node: Any, raw: Sequence[Any], inputs: Sequence[Tensor], record: bool) -> list[Any]:
    """What `forward` returned, as the user gets it: with `node` as its history if it has one."""
    input_ids = {id(t) for t in inputs}
    dirty_ids = {id(t) for t in node.dirty_tensors or ()}
    non_differentiable_ids = {id(t) for t in node.non_differentiable or ()}
    returned_ids = {id(o) for o in raw}
    if not dirty_ids <= returned_ids:
        raise RuntimeError(
            "Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
            f"modified inplace must all be outputs of the Function {node._forward_cls.__name__}."
        )
    for t in node.dirty_tensors or ():
        inplace.check_inplace(t, record=False)
        bump_version(t)
    outputs: list[Any] = []
    with_gradient = 0
    for number, out in enumerate(raw):
        if isinstance(out, Tensor):
            is_input, is_dirty = id(out) in input_ids, id(out) in dirty_ids
            if record and id(out) not in non_differentiable_ids and out.value.dtype.kind == "f":
                with_gradient += 1
                if is_dirty and not is_input:
                    if out._view is not None:
                        raise RuntimeError(_NO_INPUT)
                    warnings.warn(_NO_INPUT, stacklevel=4)
                if is_dirty and is_input:
                    _rebase_dirty(out, node, number, len(raw))
                else:
                    if is_input:
                        # An input that is returned unchanged becomes a new tensor on the same storage, with a separate
                        # history.
                        out = _alias(out)
                    out._grad_fn, out.output_nr, out._requires_grad = node, number, True
                    if out._view is not None and out._counter is not None:
                        # What forward wrote to the storage is part of this node.
                        out._view.version = out._counter[0]
            elif is_input and out.requires_grad:
                out = out.detach()
            elif is_input and not is_dirty:
                out = _alias(out)
            elif out.requires_grad and out._view is None:
                out.detach_()
            if out._view is not None and not (is_input and is_dirty):
                out._view.creation = "custom"
        else:
            refuse_tensors_of_pytorch((out,))
        outputs.append(out)
    if with_gradient > 1:
        for out in outputs:
            if isinstance(out, Tensor) and out._view is not None:
                out._view.creation = "multi-output"
    return outputs


def _alias(t: Tensor) -> Tensor:
    out = wrap(t._data.view())
    make_view(out, t, "custom")
    return out


def _rebase_dirty(t: Tensor, node: Any, number: int, n_outputs: int) -> None:
    """`forward` has changed its input `t` in place: `node` becomes its history, and that of its base."""
    if t._grad_fn is None and t.requires_grad:
        raise RuntimeError(
            "a leaf Variable that requires grad has been used in an in-place operation. Its old value would be lost: "
            "work on a clone()."
        )
    if t._view is not None and n_outputs > 1:
        raise RuntimeError(
            "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return "
            "more than one Tensor. Make sure that the input is not a view (using .clone() for example), or make it two "
            "Functions."
        )
    inplace.check_inplace(t, record=True)
    # A kept gradient belongs to the old value.
    t._grad = None
    # The shape of the output is now known, and the history of a base needs it.
    node._outputs = ((t.value.shape, t.value.dtype),) * n_outputs
    inplace.rebase_history(t, node, number)


def _apply_jvp(cls: Any, node: Any, args: tuple[Any, ...], outputs: list[Any]) -> None:
    carried = tuple(forward_ad.tangent_of(a) if isinstance(a, Tensor) else None for a in args)
    tangents = carried
    if node.materialize_grads:
        tangents = tuple(
            forward_ad.zero_tangent(a) if t is None and isinstance(a, Tensor) and a.is_floating_point() else t
            for a, t in zip(args, carried, strict=True)
        )
    versions = [None if t is None else t._version for t in carried]
    node._in_jvp = True
    try:
        with forward_ad._set_fwd_grad_enabled(False):
            results = cls.jvp(node, *tangents)
    finally:
        node._in_jvp = False
    if not isinstance(results, tuple):
        results = (results,)
    if len(results) != len(outputs):
        raise RuntimeError(
            f"Function's jvp returned an invalid number of forward gradients (expected {len(outputs)} but got "
            f"{len(results)}). jvp of {cls.__name__} must return one tangent for each output of forward."
        )
    for i, (out, tangent) in enumerate(zip(outputs, results, strict=True)):
        if not _takes_a_tangent(cls, node, i, out, tangent):
            continue
        if any(out is d for d in node.dirty_tensors or ()):
            moving = forward_ad.tangent_of(out)
            before = next((v for a, v in zip(args, versions, strict=True) if a is out), None)
            if moving is not None and (moving is not tangent or moving._version == before):
                raise RuntimeError(
                    "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is "
                    "modifying an input inplace, then the jvp function must modify the corresponding gradient inplace."
                )
            forward_ad.write_tangent(out, tangent)
            continue
        if out._view is not None:
            if tangent._view is None:
                raise RuntimeError(
                    "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning "
                    "a view. Return a view of the tangent there, such as t.view_as(t)."
                )
            for a, t in zip(args, carried, strict=True):
                if t is not None and _base(a) is out._view.base and tangent._view.base is not _base(t):
                    raise RuntimeError(
                        "A custom Function is returning a view but the jvp is not returning a view of the given grad "
                        "input. Apply to the tangent what forward does to its argument."
                    )
        elif any(tangent is t for t in tangents):
            tangent = tangent.clone()
        forward_ad.set_tangent(out, tangent)


def _base(t: Tensor) -> Tensor:
    return t if t._view is None else t._view.base


def _takes_a_tangent(cls: Any, node: Any, i: int, out: Any, tangent: Any) -> bool:
    """Whether output `i` takes what `jvp` returned for it; a RuntimeError if that does not go with the output."""
    if tangent is not None and not isinstance(tangent, Tensor):
        raise RuntimeError(
            f"expected Variable or None (got {type(tangent).__name__}) for grad output {i}. jvp of {cls.__name__} "
            "must return tensors."
        )
    if not isinstance(out, Tensor):
        return False
    if not out.is_floating_point() or any(out is d for d in node.non_differentiable or ()):
        if tangent is not None:
            raise RuntimeError(
                f"Function's jvp returned a gradient at position {i}, but  the corresponding forward output is not a "
                "differentiable Tensor. You should return None at that position instead."
            )
        return False
    if tangent is None:
        raise RuntimeError(
            f"Function's jvp returned None for output {i}, which is differentiable. jvp of {cls.__name__} must "
            "return a tangent for it, or zeros if it does not change."
        )
    return True
