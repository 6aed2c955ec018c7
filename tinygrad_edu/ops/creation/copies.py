"""Copies and fills: `clone` and `to` (same values, new storage), `copy_`, `fill_`, `zero_` (the same storage)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array.memory import cast
from ...array.tensor import Tensor, wrap
from ...core.tensor import Zero
from ...overrides import behind_core, overridable
from ..binding import method, public
from ..op import ElementwiseOp, LinearOp, Op
from ..operands import check_fits, check_writable
from .factories import as_number, fitted, zeros_like


class FlatOp(ElementwiseOp):
    """An op whose result stays the same, or jumps, where its input moves: its gradient is 0."""

    def grad_self(grad):
        return zeros_like(grad)


class Clone(LinearOp):
    def forward(self, *, order="K"):
        # NumPy would keep an expanded dimension in a place where `view` of the copy fails.
        return self.copy("C" if 0 in self.strides else order)

    def grad_self(grad):
        return grad


class ToCopy(LinearOp):
    """A copy in another dtype; the engine converts the gradient back to the input's dtype."""

    def forward(self, *, dtype):
        return cast(self, dtype)

    def grad_self(grad):
        return grad


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


class Fill(FlatOp, name="FillBackward2"):
    """The node of `fill_` with a number."""

    idempotent = True

    def forward(self, *, value):
        return np.full_like(self, value)


class FillTensor(Fill, name="FillBackward3"):
    """The node of `fill_` with a 0-d tensor, which may need a gradient."""

    mixes = True

    def forward(self, value):
        return np.full_like(self, value)

    def grad_value(grad):
        return grad.sum()

    def jvp(tangent, value_tangent):
        return value_tangent


@public()
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy with its own storage. It stays in the graph: gradients flow back through it."""
    return Clone.apply(input, order="C" if memory_format == "contiguous_format" else "K")


def to_copy(input: Any, dtype: np.dtype) -> Any:
    """A copy in another dtype."""
    return ToCopy.apply(input, dtype=dtype)


def contiguous_clone(value: Any) -> Any:
    """A copy in row-major order, which can be viewed in any shape."""
    return Clone.apply(value, order="C")


def copy_(self: Any, other: Any, non_blocking: bool = False) -> Any:
    """Write the values of `other`, broadcast to this tensor's shape, into this tensor.

    >>> x = T.tensor([1.0, 2.0], requires_grad=True)
    >>> T.zeros(2).copy_(x).sum().backward()
    >>> x.grad  # the copy passes the gradient on
    tensor([1., 1.])
    """
    if not isinstance(other, Tensor | int | float):
        raise TypeError(f"copy_(): argument 'other' (position 1) must be Tensor, not {type(other).__name__}")
    return Copy.apply_(self, other if isinstance(other, Tensor) else wrap(np.asarray(other)))


def overwrite(self: Any, result: Any) -> Any:
    """Write the result of an op into `self` as an in-place form does. Its type must fit, unlike for `copy_`."""
    check_fits(self, result._data)
    return copy_(self, result)


def zero_(self: Any) -> Any:
    """Set all elements to 0."""
    return Zero.apply_(self)


def fill_(self: Any, value: Any) -> Any:
    """Set all elements to `value`.

    >>> T.zeros(2).fill_(3.0)
    tensor([3., 3.])
    """
    if not isinstance(value, Tensor):
        return Fill.apply_(self, value=fitted(as_number(value, self._data), self.value.dtype))
    if value.ndim:
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    return FillTensor.apply_(self, value)


def fill_diagonal_(self: Any, fill_value: Any, wrap: bool = False) -> Any:
    """Write a number on the diagonal of a matrix."""
    if self.ndim != 2 or wrap:
        raise NotImplementedError("fill_diagonal_ takes a matrix here. Assign to t[range(n), range(n), …] instead.")
    fill_(self.diagonal(), fill_value)
    return self


class CopiesMethods:
    """The methods of Tensor that are defined here."""

    clone = method(clone)
    copy_ = overridable(copy_)
    fill_ = overridable(fill_)
    fill_diagonal_ = overridable(fill_diagonal_)


behind_core["zero_"] = overridable(zero_)
