"""`softmax`, `log_softmax` and `logsumexp`: they turn scores into probabilities."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ...array.tensor import Tensor
from ..arrays import are_small, largest, row_major, sum_kept
from ..binding import BOTH, NN, method, public
from ..op import Op, row_by_row
from ..operands import need_float
from ..pointwise.exponential import exp
from ..reductions.reduce import normalized_dims, restore_dims, sum
from ..shapes.shape import axis_of


def sum_along(value: Any, dim: Any) -> Any:
    """The sum along `dim`, which is kept with size 1, of an array or a Tensor."""
    return sum_kept(value, dim) if isinstance(value, np.ndarray) and value.ndim else sum(value, dim, True)


class Softmax(Op):
    """e^s / Σ e^s"""

    def forward(self, *, dim):
        if not self.ndim:
            return np.exp(self - self)
        if not self.size:
            return self.copy()
        self = np.ascontiguousarray(self)
        # Subtracting the largest changes nothing, but keeps the exponentials finite.
        e = np.exp(self if are_small(self) else self - largest(self, dim))
        e /= sum_kept(e, dim)
        return e

    # The Jacobian diag(r) - r·rᵀ is symmetric, so the gradient rule also maps tangents.
    def grad_self(grad, result, dim):
        weighted = grad * result
        return weighted - result * sum_along(weighted, dim)

    jvp = row_by_row


class SafeSoftmax(Softmax, name="SafeSoftmaxBackward0"):
    """As Softmax, but 0 where all scores are -inf: for example, a row that attention masks completely."""

    def forward(self, *, dim):
        top = self.max(axis=dim, keepdims=True)
        e = np.exp(self - np.where(np.isinf(top), self.dtype.type(0), top))
        total = e.sum(axis=dim, keepdims=True)
        return e / np.where(total == 0, self.dtype.type(1), total)


class LogSoftmax(Op):
    """s - ln Σ e^s"""

    def forward(self, *, dim):
        if not self.ndim:
            return self - self
        if not self.size:
            return self.copy()
        self = np.ascontiguousarray(self)
        shifted = self - largest(self, dim)
        shifted -= np.log(sum_kept(np.exp(shifted), dim))
        return shifted

    def grad_self(grad, result, dim):
        return grad - exp(result) * sum_along(grad, dim)

    def jvp(tangent, result, dim):
        return tangent - sum(tangent * exp(result), dim, True)


class Logsumexp(Op):
    """ln Σ e^s"""

    makes_float = True

    def forward(self, *, dim, keepdim=False):
        axes = normalized_dims(dim, self.ndim)
        if not self.size:
            return np.log(np.exp(self).sum(axis=axes, keepdims=keepdim))
        top = self.max(axis=axes, keepdims=True)
        top = np.where(np.isinf(top), self.dtype.type(0), top)
        out = np.log(np.exp(self - top).sum(axis=axes, keepdims=True)) + top
        return row_major(out if keepdim else out.squeeze(axes))

    def grad_self(grad, self, result, dim, keepdim):
        sizes = tuple(self.shape)
        return restore_dims(grad, dim, keepdim, sizes) * exp(self - restore_dims(result, dim, keepdim, sizes))

    def jvp(tangent, self, result, dim, keepdim):
        weights = exp(self - restore_dims(result, dim, keepdim, tuple(self.shape)))
        return sum(tangent * weights, dim, keepdim)


# --- functions -------------------------------------------------------------------------------------------------------


def _float(input, dtype, name):
    if dtype is not None:
        return input.to(dtype)
    need_float(input._data, f"{name}_lastdim_kernel_impl")
    return input


def _implicit_dim(name, input, dim):
    """PyTorch's older default: dimension 0 for 0-d, 1-d and 3-d tensors, else 1."""
    if dim is not None:
        return dim
    told = f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument."
    warnings.warn(told, stacklevel=4)
    return 0 if input.ndim in (0, 1, 3) else 1


@public(where=BOTH)
def softmax(input: Tensor, dim: int | None = None, *, dtype: Any = None, _stacklevel: int = 3) -> Tensor:
    """e^x / Σ e^x along `dim`: positive numbers that sum to 1.

    >>> T.nn.functional.softmax(T.tensor([[0.0, 0.0], [1.0, 3.0]]), dim=1)
    tensor([[0.5000, 0.5000],
            [0.1192, 0.8808]])
    """
    return Softmax.apply(_float(input, dtype, "softmax"), dim=axis_of(_implicit_dim("softmax", input, dim), input.ndim))


@public(where=BOTH)
def log_softmax(input: Tensor, dim: int | None = None, *, dtype: Any = None, _stacklevel: int = 3) -> Tensor:
    """The logarithm of the softmax along `dim`, accurate where the softmax is tiny."""
    axis = axis_of(_implicit_dim("log_softmax", input, dim), input.ndim)
    return LogSoftmax.apply(_float(input, dtype, "log_softmax"), dim=axis)


@public(where=NN)
def softmin(input: Tensor, dim: int | None = None, *, dtype: Any = None) -> Tensor:
    """The softmax of -x."""
    return softmax(-input, dim, dtype=dtype)


def safe_softmax(input: Any, dim: Any) -> Any:
    """The softmax along `dim`; 0 where all scores are -inf."""
    return SafeSoftmax.apply(input, dim=dim)


@public()
def logsumexp(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    """ln Σ e^x along `dim`, without overflow."""
    return Logsumexp.apply(input, dim=(dim,) if isinstance(dim, int | np.integer) else tuple(dim), keepdim=keepdim)


class SoftmaxMethods:
    """The methods of Tensor that are defined here."""

    softmax = method(softmax)
    log_softmax = method(log_softmax)
    logsumexp = method(logsumexp)
