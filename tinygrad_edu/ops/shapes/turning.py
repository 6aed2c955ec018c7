"""In-place changes of shape: `unsqueeze_`, `squeeze_`, `t_`, `transpose_`, `as_strided_`.

They write to no element. From then on the tensor shows its storage in another way. Its new node, with its own name,
comes before the old history.
"""

from __future__ import annotations

import functools
from typing import Any

from ...array.tensor import Tensor, bind, wrap
from ...autograd import forward_ad
from ...autograd.anomaly_mode import remember_forward
from ...autograd.inplace import check_inplace
from ...autograd.variable import volatile
from ...modes import bump_version, thread
from ...overrides import overridable
from ..op import Op
from ..tangents import push_tangents
from .permute import T, Transpose, check_transposable
from .shape import Squeeze, SqueezeDim, SqueezeDims, Unsqueeze, axis_of
from .windows import AsStrided, window_settings


class UnsqueezeInPlace(Unsqueeze, name="UnsqueezeBackward1"):
    forward = Unsqueeze.forward


class SqueezeInPlace(Squeeze, name="SqueezeBackward3"):
    forward = Squeeze.forward


class SqueezeDimInPlace(SqueezeDim, name="SqueezeBackward4"):
    forward = SqueezeDim.forward


class SqueezeDimsInPlace(SqueezeDims, name="SqueezeBackward5"):
    forward = SqueezeDims.forward


class TInPlace(T, name="TBackward1"):
    forward = T.forward


class TransposeInPlace(Transpose, name="TransposeBackward1"):
    forward = Transpose.forward


class AsStridedInPlace(AsStrided, name="AsStridedBackward1"):
    forward = AsStrided.forward


def turn(op: type[Op], target: Tensor, **settings: Any) -> Tensor:
    """Make `target` show its storage as `op` does.

    Raises:
        RuntimeError: autograd does not allow an in-place op on `target`.
    """
    if volatile.alive and volatile.reaches((target,)):
        check_inplace(target, target.requires_grad)
        return volatile.write(functools.partial(turn, op), target, **settings)
    state = thread.state
    record = target.requires_grad and state.recording
    if state.keep_versions is not None:
        state.keep_versions.before_write(target)
    shown = wrap(op.forward(target._data, **settings))
    if forward_ad.any_tangent((target,)):
        push_tangents(op, (target,), settings, (shown,))
    node = op._record((target,), settings, (shown,)) if record else None
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


# --- functions -------------------------------------------------------------------------------------------------------


def _allowed(function: Any) -> Any:
    """`function`, which asks autograd before it looks at the dimensions."""

    @functools.wraps(function)
    def turned(self, *args, **kwargs):
        check_inplace(self, self.requires_grad and thread.state.recording)
        return function(self, *args, **kwargs)

    return turned


def unsqueeze_(self, dim):
    """In-place version of `unsqueeze`."""
    return turn(UnsqueezeInPlace, self, dim=axis_of(dim, self.ndim + 1))


def squeeze_(self, dim=None):
    """In-place version of `squeeze`."""
    if dim is None:
        return turn(SqueezeInPlace, self)
    n = self.ndim
    if isinstance(dim, tuple | list):
        return turn(SqueezeDimsInPlace, self, dim=tuple(axis_of(d, n) for d in dim) if n else ())
    return turn(SqueezeDimInPlace, self, dim=axis_of(dim, n))


def t_(self):
    """In-place version of `t`."""
    check_transposable("t_", self)
    return turn(TInPlace, self)


def transpose_(self, dim0, dim1):
    """In-place version of `transpose`."""
    n = self.ndim
    return turn(TransposeInPlace, self, dim0=axis_of(dim0, n), dim1=axis_of(dim1, n))


def swapaxes_(self, axis0, axis1):
    """As `transpose_`."""
    return transpose_(self, axis0, axis1)


def swapdims_(self, dim0, dim1):
    """As `transpose_`."""
    return transpose_(self, dim0, dim1)


def as_strided_(self, size, stride, storage_offset=None):
    """In-place version of `as_strided`."""
    if self._view is not None:
        raise NotImplementedError("as_strided_ of a view is not built: call it on the base tensor.")
    return turn(AsStridedInPlace, self, **window_settings(self, size, stride, storage_offset))


for _function in (unsqueeze_, squeeze_, t_, transpose_, swapaxes_, swapdims_, as_strided_):
    bind(_function.__name__, overridable(_allowed(_function)))
