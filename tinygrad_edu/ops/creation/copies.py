"""The same values in other storage, or other values in the same storage: `clone`, `copy_`, `fill_`, `zero_`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...overrides import overridable
from ...tensor import Tensor, bind
from ..binding import public
from ..op import Op, linear
from ..operands import check_writable
from .factories import as_number, zeros_like


class Clone(Op):
    def forward(self, *, order="K"):
        if order == "K" and 0 in self.strides and self.dtype.kind == "f":
            # NumPy's copy would put an expanded dimension innermost; as any op does, PyTorch leaves it in its place.
            return np.positive(self)
        if order == "channels_last":
            return self.transpose(0, 2, 3, 1).copy("C").transpose(0, 3, 1, 2)
        return self.copy(order)

    def grad_self(grad):
        return grad

    jvp = linear


class ToCopy(Op):
    """A copy in another dtype; the engine brings the gradient back to the dtype of the input."""

    def forward(self, *, dtype):
        return self.astype(dtype)

    def grad_self(grad):
        return grad

    jvp = linear


class Copy(Op, name="torch::autograd::CopyBackwards"):
    """What `copy_` leaves: nothing of the old value, all of `src`."""

    def forward(self, src):
        check_writable(self.shape, src.shape)
        return np.broadcast_to(src, self.shape).astype(self.dtype)

    def grad_self(grad):
        return zeros_like(grad)

    def grad_src(grad):
        return grad

    def jvp(tangent, src_tangent):
        return src_tangent


class Zero(Op):
    """What `zero_` leaves."""

    idempotent = True

    def forward(self):
        return np.zeros_like(self)

    def grad_self(grad):
        return zeros_like(grad)

    jvp = linear


class Fill(Op, name="FillBackward2"):
    """What `fill_` with a number leaves."""

    idempotent = True

    def forward(self, *, value):
        return np.full_like(self, value)

    def grad_self(grad):
        return zeros_like(grad)

    def jvp(tangent):
        return zeros_like(tangent)


class FillTensor(Op, name="FillBackward3"):
    """What `fill_` leaves; its value may be a 0-d tensor with a gradient."""

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
    """A copy with storage of its own, in the graph.

    >>> import tinygrad_edu as T
    >>> x = T.tensor(2.0, requires_grad=True)
    >>> x.clone()
    tensor(2., grad_fn=<CloneBackward0>)
    """
    return Clone.apply(input, order="channels_last" if memory_format == "channels_last" and input.ndim == 4 else "K")


def to_copy(input: Any, dtype: np.dtype) -> Any:
    """A copy in another dtype."""
    return ToCopy.apply(input, dtype=dtype)


def contiguous_clone(value):
    """A copy in row-major order, on which any shape is a view."""
    return Clone.apply(value, order="C")


def copy_(self, other, non_blocking=False):
    """Write the values of `other`, broadcast, into this tensor."""
    if not isinstance(other, Tensor):
        raise TypeError(f"copy_(): argument 'other' (position 1) must be Tensor, not {type(other).__name__}")
    return Copy.apply_(self, other)


def zero_(self):
    """Write 0 everywhere."""
    return Zero.apply_(self)


def fill_(self, value):
    """Write `value` everywhere."""
    if isinstance(value, Tensor):
        if value.ndim:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions."
            )
        return FillTensor.apply_(self, value)
    return Fill.apply_(self, value=as_number(value, self._data))


def fill_diagonal_(self, fill_value, wrap=False):
    """Write a number on the diagonal; with `wrap` a matrix that is higher than wide begins anew after a row left out."""
    if wrap and self.ndim == 2 and self.shape[0] > self.shape[1]:
        for start in range(0, self.shape[0], self.shape[1] + 1):
            fill_(self[start : start + self.shape[1]].diagonal(), fill_value)
    else:
        fill_(self.diagonal(), fill_value)
    return self


for _function in (copy_, zero_, fill_, fill_diagonal_):
    bind(_function.__name__, overridable(_function))
