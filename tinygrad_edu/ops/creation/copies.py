"""Copies and fills: `clone` and `to` (same values, new storage), `copy_`, `fill_` and `zero_` (new values, same storage)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ...array.tensor import Tensor, bind, wrap
from ...overrides import overridable
from ..arrays import in_order
from ..binding import public
from ..op import Op, linear
from ..operands import check_fits, check_writable
from .factories import as_number, fitted, zeros_like


class Clone(Op):
    def forward(self, *, order="K"):
        if order == "K" and 0 in self.strides:
            # NumPy's copy would make an expanded dimension the innermost one; PyTorch leaves it in place.
            return in_order(self.copy(), (self,))
        if order == "channels_last":
            return self.transpose(0, 2, 3, 1).copy("C").transpose(0, 3, 1, 2)
        return self.copy(order)

    def grad_self(grad):
        return grad

    jvp = linear


def cast(array, dtype):
    """A copy in another dtype; a complex number loses its imaginary part where that is real."""
    if array.dtype.kind == "c" and dtype.kind not in "cb":
        warnings.warn(
            "Casting complex values to real discards the imaginary part. z.real says that you mean it.",
            UserWarning,
            stacklevel=7,
        )
        array = array.real
    return (Clone.forward(array) if 0 in array.strides else array).astype(dtype)


class ToCopy(Op):
    """A copy in another dtype; the engine converts the gradient back to the input's dtype."""

    def forward(self, *, dtype):
        return in_order(cast(self, dtype), (self,)) if 0 in getattr(self, "strides", ()) else cast(self, dtype)

    def grad_self(grad):
        return grad

    jvp = linear


class Copy(Op, name="torch::autograd::CopyBackwards"):
    """The node of `copy_`: no gradient for the old value, all of it for `src`."""

    mixes = True

    def forward(self, src):
        check_writable(self.shape, src.shape)
        return cast(np.broadcast_to(src, self.shape), self.dtype)

    def grad_self(grad):
        return zeros_like(grad)

    def grad_src(grad):
        return grad

    def jvp(tangent, src_tangent):
        return src_tangent


class Zero(Op):
    """The node of `zero_`."""

    idempotent = True

    def forward(self):
        return np.zeros_like(self)

    def grad_self(grad):
        return zeros_like(grad)

    jvp = linear


class Fill(Op, name="FillBackward2"):
    """The node of `fill_` with a number."""

    idempotent = True

    def forward(self, *, value):
        return np.full_like(self, value)

    def grad_self(grad):
        return zeros_like(grad)

    def jvp(tangent):
        return zeros_like(tangent)


class FillTensor(Op, name="FillBackward3"):
    """The node of `fill_` with a 0-d tensor, which may need a gradient."""

    mixes = True

    def forward(self, value):
        return np.full_like(self, value)

    def grad_self(grad):
        return zeros_like(grad)

    def grad_value(grad):
        return grad.sum()

    def jvp(tangent, value_tangent):
        return value_tangent


# --- functions -------------------------------------------------------------------------------------------------------


@public()
def clone(input, *, memory_format=None) -> Tensor:
    """A copy with its own storage. It stays in the graph: gradients flow back through it.

    >>> import tinygrad_edu as T
    >>> x = T.tensor(2.0, requires_grad=True)
    >>> x.clone()
    tensor(2., grad_fn=<CloneBackward0>)
    """
    if memory_format == "channels_last" and input.ndim == 4:
        return Clone.apply(input, order=memory_format)
    return Clone.apply(input, order="C" if memory_format == "contiguous_format" else "K")


def to_copy(input: Any, dtype: np.dtype) -> Any:
    """A copy in another dtype."""
    return ToCopy.apply(input, dtype=dtype)


def contiguous_clone(value):
    """A copy in row-major order, which can be viewed in any shape."""
    return Clone.apply(value, order="C")


def copy_(self, other, non_blocking=False):
    """Write the values of `other`, broadcast to this tensor's shape, into this tensor.

    >>> import tinygrad_edu as T
    >>> x = T.tensor([1.0, 2.0], requires_grad=True)
    >>> y = T.zeros(2).copy_(x)
    >>> y.sum().backward()
    >>> x.grad  # the copy passes the gradient on
    tensor([1., 1.])
    """
    if not isinstance(other, Tensor | int | float):
        raise TypeError(f"copy_(): argument 'other' (position 1) must be Tensor, not {type(other).__name__}")
    return Copy.apply_(self, other if isinstance(other, Tensor) else wrap(np.asarray(other)))


def overwrite(self, result):
    """Write the result of an op into `self`, as an in-place form does: its type must fit, which `copy_` does not ask."""
    check_fits(self, result._data)
    return copy_(self, result)


def zero_(self):
    """Set all elements to 0.

    >>> import tinygrad_edu as T
    >>> T.ones(2).zero_()
    tensor([0., 0.])
    """
    return Zero.apply_(self)


def fill_(self, value):
    """Set all elements to `value`.

    >>> import tinygrad_edu as T
    >>> T.zeros(2).fill_(3.0)
    tensor([3., 3.])
    """
    if isinstance(value, Tensor):
        if value.ndim:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions."
            )
        return FillTensor.apply_(self, value)
    return Fill.apply_(self, value=fitted(as_number(value, self._data), self._data.dtype))


def fill_diagonal_(self, fill_value, wrap=False):
    """Write a number on the diagonal. With `wrap`, it starts again further down a tall matrix."""
    if self.ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    if self.ndim > 2:
        if len(set(self.shape)) > 1:
            raise RuntimeError("all dimensions of input must be of equal length")
        self[(np.arange(self.shape[0]),) * self.ndim] = fill_value
    elif wrap and self.shape[0] > self.shape[1]:
        for start in range(0, self.shape[0], self.shape[1] + 1):
            fill_(self[start : start + self.shape[1]].diagonal(), fill_value)
    else:
        fill_(self.diagonal(), fill_value)
    return self


for _function in (copy_, zero_, fill_, fill_diagonal_):
    bind(_function.__name__, overridable(_function))
