"""Bounds, element by element: `clamp`, `maximum`, `minimum`, and `nan_to_num`."""

from __future__ import annotations

import numpy as np

from ...array import dtypes
from ...array.tensor import Tensor
from ..binding import public
from ..creation.factories import as_number
from ..indexing.masking import where
from ..op import Op, by_mask
from ..operands import need_tensor


class Clamp(Op, name="ClampBackward1"):
    def forward(self, *, min=None, max=None):
        # If the bounds cross, the upper one wins; nan stays nan.
        self = _widened(self, min, max)
        out = self if min is None else np.maximum(as_number(min, self), self)
        return (
            out.copy() if max is None and min is None else out if max is None else np.minimum(as_number(max, self), out)
        )

    # At a bound itself the gradient passes.
    def grad_self(grad, self, min, max):
        return where(_between(self, min, max), grad, 0.0)

    jvp = by_mask


class ClampTensor(Op, name="ClampBackward0"):
    """Bounds given as tensors, which may need gradients."""

    promotes = True
    refuses = ("clamp_cpu", "b")

    def forward(self, min, max):
        out = self if min is None else np.maximum(min, self)
        return out if max is None else np.minimum(max, out)

    def grad_self(grad, self, min, max):
        return where(_between(self, min, max), grad, 0.0)

    def grad_min(grad, self, min, max):
        below = self < min
        return where(below if max is None else below & (min < max), grad, 0.0)

    def grad_max(grad, self, min, max):
        above = self > max
        return where(above if min is None else above | (max < min), grad, 0.0)

    jvp = by_mask


class ClampMin(Op):
    def forward(self, *, min):
        self = _widened(self, min)
        return np.maximum(as_number(min, self), self)

    def grad_self(grad, self, min):
        return where(self >= min, grad, 0.0)

    jvp = by_mask


class ClampMax(Op):
    def forward(self, *, max):
        self = _widened(self, max)
        return np.minimum(as_number(max, self), self)

    def grad_self(grad, self, max):
        return where(self <= max, grad, 0.0)

    jvp = by_mask


class ClampMinTensor(Op, name="ClampMinBackward1"):
    promotes = True

    def forward(self, min):
        return np.maximum(min, self)

    def grad_self(grad, self, min):
        return where(self >= min, grad, 0.0)

    def grad_min(grad, self, min):
        return where(self < min, grad, 0.0)

    jvp = by_mask


class ClampMaxTensor(Op, name="ClampMaxBackward1"):
    promotes = True

    def forward(self, max):
        return np.minimum(max, self)

    def grad_self(grad, self, max):
        return where(self <= max, grad, 0.0)

    def grad_max(grad, self, max):
        return where(self > max, grad, 0.0)

    jvp = by_mask


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


# --- functions -------------------------------------------------------------------------------------------------------


def _between(value, min, max):
    """Where `value` lies within the bounds (nan does)."""
    inside = value == value
    if min is not None:
        inside = inside & ((value >= min) | (value != value))
    if max is not None:
        inside = inside & ((value <= max) | (value != value))
    return inside


def _widened(array, *bounds):
    """Convert integers to the dtype of bounds of a higher category."""
    if array.dtype.kind in "fV":
        return array
    kind = dtypes.promote([array, *map(dtypes.number, bounds)])
    return array.astype(dtypes.get_default_dtype().numpy if kind.kind == "f" else kind, copy=False)


def _clamp(form, input, min, max):
    given = [type(b) for b in (min, max) if b is not None]
    if not given:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    tensors = [issubclass(kind, Tensor) for kind in given]
    if len(set(tensors)) > 1:
        raise TypeError(
            "clamp() received an invalid combination of arguments: pass two numbers or two tensors as bounds."
        )
    if tensors[0]:
        return getattr(ClampTensor, form)(input, min, max)
    return getattr(Clamp, form)(input, min=min, max=max)


def _clamp_(self, min=None, max=None):
    return _clamp("apply_", self, min, max)


@public("clip", inplace=_clamp_)
def clamp(input, min=None, max=None) -> Tensor:
    """Limit the elements to [min, max]; the bounds are two numbers or two tensors.

    >>> import tinygrad_edu as T
    >>> x = T.tensor([-1.0, 0.5, 3.0], requires_grad=True)
    >>> y = T.clamp(x, 0, 1)
    >>> y.sum().backward()
    >>> y.detach(), x.grad  # no gradient where a bound applies
    (tensor([0.0000, 0.5000, 1.0000]), tensor([0., 1., 0.]))
    """
    return _clamp("apply", input, min, max)


def _clamp_min_(self, min):
    return ClampMinTensor.apply_(self, min) if isinstance(min, Tensor) else ClampMin.apply_(self, min=min)


@public(inplace=_clamp_min_)
def clamp_min(input, min) -> Tensor:
    """The elements, raised to at least `min`.

    >>> import tinygrad_edu as T
    >>> T.clamp_min(T.tensor([-1.0, 2.0]), 0.0)
    tensor([0., 2.])
    """
    return ClampMinTensor.apply(input, min) if isinstance(min, Tensor) else ClampMin.apply(input, min=min)


def _clamp_max_(self, max):
    return ClampMaxTensor.apply_(self, max) if isinstance(max, Tensor) else ClampMax.apply_(self, max=max)


@public(inplace=_clamp_max_)
def clamp_max(input, max) -> Tensor:
    """The elements, lowered to at most `max`.

    >>> import tinygrad_edu as T
    >>> T.clamp_max(T.tensor([-1.0, 2.0]), 0.0)
    tensor([-1.,  0.])
    """
    return ClampMaxTensor.apply(input, max) if isinstance(max, Tensor) else ClampMax.apply(input, max=max)


@public()
def maximum(input, other) -> Tensor:
    """The elementwise maximum. At a tie each tensor gets half of the gradient.

    >>> import tinygrad_edu as T
    >>> T.maximum(T.tensor([1.0, 5.0]), T.tensor([3.0, 2.0]))
    tensor([3., 5.])
    """
    return Maximum.apply(input, need_tensor("maximum", other))


@public()
def minimum(input, other) -> Tensor:
    """The elementwise minimum. At a tie each tensor gets half of the gradient.

    >>> import tinygrad_edu as T
    >>> T.minimum(T.tensor([1.0, 5.0]), T.tensor([2.0, 3.0]))
    tensor([1., 3.])
    """
    return Minimum.apply(input, need_tensor("minimum", other))
