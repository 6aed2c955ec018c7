"""Bounds, element by element: `clamp`, `maximum`, `minimum`, and `nan_to_num`."""

from __future__ import annotations

import numpy as np

from ...array import dtypes
from ...array.tensor import Tensor
from ..binding import both_forms, method, public
from ..creation.factories import as_number
from ..indexing.masking import where
from ..op import ElementwiseOp, Op, by_mask
from ..operands import need_tensor


class Clamp(Op, name="ClampBackward1"):
    def forward(self, *, min=None, max=None):
        # If the bounds cross, the upper one wins; nan stays nan.
        self = _widened(self, min, max)
        out = self if min is None else np.maximum(as_number(min, self), self)
        return out if max is None else np.minimum(as_number(max, self), out)

    # At a bound itself the gradient passes.
    def grad_self(grad, self, min, max):
        return where(_within(self, min, max), grad, 0.0)

    jvp = by_mask


class ClampTensor(Op, name="ClampBackward0"):
    """Bounds given as tensors, which may need gradients."""

    promotes = True
    refuses = ("clamp_cpu", "b")

    def forward(self, min, max):
        out = self if min is None else np.maximum(min, self)
        return out if max is None else np.minimum(max, out)

    def grad_self(grad, self, min, max):
        return where(_within(self, min, max), grad, 0.0)

    def grad_min(grad, self, min, max):
        below = self < min
        return where(below if max is None else below & (min < max), grad, 0.0)

    def grad_max(grad, self, min, max):
        above = self > max
        return where(above if min is None else above | (max < min), grad, 0.0)

    jvp = by_mask


class ClampMin(Clamp, name="ClampMinBackward0"):
    def forward(self, *, min):
        return Clamp.forward(self, min=min)

    def grad_self(grad, self, min):
        return where(self >= min, grad, 0.0)


class ClampMax(Clamp, name="ClampMaxBackward0"):
    def forward(self, *, max):
        return Clamp.forward(self, max=max)

    def grad_self(grad, self, max):
        return where(self <= max, grad, 0.0)


class Maximum(Op):
    promotes = True

    def forward(self, other):
        return np.maximum(other, self)

    # At a tie each gets half; where one is nan, each gets all.
    def grad_self(grad, self, other):
        return where(self == other, grad / 2, where(self < other, 0.0, grad))

    def grad_other(grad, self, other):
        return where(self == other, grad / 2, where(self > other, 0.0, grad))

    jvp = by_mask


class Minimum(Op):
    promotes = True

    def forward(self, other):
        return np.minimum(other, self)

    def grad_self(grad, self, other):
        return where(self == other, grad / 2, where(self > other, 0.0, grad))

    def grad_other(grad, self, other):
        return where(self == other, grad / 2, where(self < other, 0.0, grad))

    jvp = by_mask


class NanToNum(ElementwiseOp):
    def forward(self, *, nan=None, posinf=None, neginf=None):
        return np.nan_to_num(self, nan=nan or 0.0, posinf=posinf, neginf=neginf)

    def grad_self(grad, self):
        return where(np.isfinite(getattr(self, "_data", self)), grad, 0.0)


def _within(value, min, max):
    """Where `value` lies within the bounds (nan does)."""
    inside = value == value
    if min is not None:
        inside = inside & ((value >= min) | (value != value))
    if max is not None:
        inside = inside & ((value <= max) | (value != value))
    return inside


def _widened(array, *bounds):
    """A copy for an array of integers, in the dtype of bounds of a higher category."""
    if array.dtype.kind == "f":
        return array
    kind = dtypes.promote([array, *map(dtypes.number, bounds)])
    return array.astype(dtypes.get_default_dtype().numpy if kind.kind == "f" else kind, copy=False)


def _clamp(form, input, min, max):
    tensors = {isinstance(bound, Tensor) for bound in (min, max) if bound is not None}
    if not tensors:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if len(tensors) > 1:
        raise TypeError("clamp() received an invalid combination of arguments: pass two numbers or two tensors.")
    if True in tensors:
        return getattr(ClampTensor, form)(input, min, max)
    return getattr(Clamp, form)(input, min=min, max=max)


@public("clip")
def clamp(input: Tensor, min: Tensor | float | None = None, max: Tensor | float | None = None) -> Tensor:
    """Limit the elements to [min, max]; the bounds are two numbers or two tensors.

    >>> x = T.tensor([-1.0, 0.5, 3.0], requires_grad=True)
    >>> y = T.clamp(x, 0, 1)
    >>> y.sum().backward()
    >>> y.detach(), x.grad  # no gradient where a bound applies
    (tensor([0.0000, 0.5000, 1.0000]), tensor([0., 1., 0.]))"""
    return _clamp("apply", input, min, max)


@public()
def clamp_min(input: Tensor, min: Tensor | float) -> Tensor:
    """The elements, raised to at least the number `min`."""
    return clamp(input, min) if isinstance(min, Tensor) else ClampMin.apply(input, min=min)


@public()
def clamp_max(input: Tensor, max: Tensor | float) -> Tensor:
    """The elements, lowered to at most the number `max`."""
    return clamp(input, None, max) if isinstance(max, Tensor) else ClampMax.apply(input, max=max)


@public()
def maximum(input: Tensor, other: Tensor) -> Tensor:
    """The elementwise maximum. At a tie each tensor gets half of the gradient."""
    return Maximum.apply(input, need_tensor("maximum", other))


@public()
def minimum(input: Tensor, other: Tensor) -> Tensor:
    """The elementwise minimum. At a tie each tensor gets half of the gradient."""
    return Minimum.apply(input, need_tensor("minimum", other))


@public()
def nan_to_num(
    input: Tensor, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """Replace nan by `nan` (0), and the infinities by `posinf` and `neginf` (the finite extremes of the dtype)."""
    return NanToNum.apply(input, nan=nan, posinf=posinf, neginf=neginf)


class ClampMethods:
    """The methods of Tensor that are defined here."""

    clamp, clamp_ = clip, clip_ = both_forms(clamp, lambda self, min=None, max=None: _clamp("apply_", self, min, max))
    clamp_min, clamp_min_ = both_forms(clamp_min, ClampMin)
    clamp_max, clamp_max_ = both_forms(clamp_max, ClampMax)
    maximum = method(maximum)
    minimum = method(minimum)
    nan_to_num, nan_to_num_ = both_forms(nan_to_num, NanToNum)
