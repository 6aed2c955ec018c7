"""In-place changes of shape: `unsqueeze_`, `squeeze_`, `transpose_`.

They write to no element. From then on the tensor shows its storage in another way. Its new node, with its own name,
comes before the old history.
"""

from __future__ import annotations

import functools
from typing import Any

from ...array.tensor import Tensor, wrap
from ...autograd import forward_ad
from ...autograd.anomaly_mode import remember_forward
from ...autograd.inplace import check_inplace
from ...autograd.variable import volatile
from ...modes import bump_version, thread
from ...overrides import overridable
from ..op import Op
from ..tangents import push_tangents
from .permute import Transpose
from .shape import Squeeze, SqueezeDim, SqueezeDims, Unsqueeze, axis_of


class UnsqueezeInPlace(Unsqueeze, name="UnsqueezeBackward1"):
    forward = Unsqueeze.forward


class SqueezeInPlace(Squeeze, name="SqueezeBackward3"):
    forward = Squeeze.forward


class SqueezeDimInPlace(SqueezeDim, name="SqueezeBackward4"):
    forward = SqueezeDim.forward


class SqueezeDimsInPlace(SqueezeDims, name="SqueezeBackward5"):
    forward = SqueezeDims.forward


class TransposeInPlace(Transpose, name="TransposeBackward1"):
    forward = Transpose.forward


def turn(op: type[Op], target: Tensor, **settings: Any) -> Tensor:
    """Make `target` show its storage as `op` does.

    Raises:
        RuntimeError: autograd does not allow an in-place op on `target`.
    """
    state = thread.state
    record = target.requires_grad and state.recording
    check_inplace(target, record)
    if volatile.alive and volatile.reaches((target,)):
        return volatile.write(functools.partial(turn, op), target, **settings)
    shown = wrap(op.forward(target._data, **settings))
    if forward_ad.any_tangent((target,)):
        push_tangents(op, (target,), settings, (shown,))
    node = op.record((target,), settings, (shown,)) if record else None
    follows = target._view is not None and target._view.version == (target._counter or [0])[0]
    target._data = shown._data
    moved = forward_ad.tangent_of(shown)
    if moved is not None:
        forward_ad.set_tangent(target, moved)
    bump_version(target)
    if node is not None:
        if state.anomaly:
            remember_forward(node)
        # As in PyTorch, retain_grad stays with the previous node: the gradient has the previous shape.
        target._grad_fn, target.output_nr, target._requires_grad = node, 0, True
        if follows and target._view is not None and target._counter is not None:
            target._view.version = target._counter[0]
    return target


def unsqueeze_(self: Any, dim: Any) -> Any:
    """In-place version of `unsqueeze`."""
    return turn(UnsqueezeInPlace, self, dim=axis_of(dim, self.ndim + 1))


def squeeze_(self: Any, dim: Any = None) -> Any:
    """In-place version of `squeeze`."""
    if dim is None:
        return turn(SqueezeInPlace, self)
    if isinstance(dim, tuple | list):
        return turn(SqueezeDimsInPlace, self, dim=tuple(axis_of(d, self.ndim) for d in dim) if self.ndim else ())
    return turn(SqueezeDimInPlace, self, dim=axis_of(dim, self.ndim))


def transpose_(self: Any, dim0: int, dim1: int) -> Any:
    """In-place version of `transpose`."""
    return turn(TransposeInPlace, self, dim0=axis_of(dim0, self.ndim), dim1=axis_of(dim1, self.ndim))


class TurningMethods:
    """The methods of Tensor that are defined here."""

    unsqueeze_ = overridable(unsqueeze_)
    squeeze_ = overridable(squeeze_)
    transpose_ = overridable(transpose_)
