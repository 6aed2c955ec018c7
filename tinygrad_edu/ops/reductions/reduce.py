"""Reductions: sums, means, products, counts; and the handling of `dim` and `keepdim` that other families use too."""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from ...array import dtypes
from ...array.tensor import Tensor
from ...core.tensor import Mean, Sum
from ...modes import thread
from ...overrides import behind_core
from ..arrays import as_index, row_major
from ..binding import Dims, method, public
from ..indexing.masking import where
from ..op import LinearOp, Op
from ..shapes.permute import transpose
from ..shapes.shape import axis_of, broadcast_to, reshape, unsqueeze

# --- dimensions ------------------------------------------------------------------------------------------------------


def normalized_dims(dim: Any, ndim: int) -> Any:
    """`dim` (None, an int or a tuple) as a tuple of axes counted from 0; all axes for None or an empty tuple."""
    if dim is None or (isinstance(dim, tuple | list) and not dim):
        return tuple(range(ndim))
    axes = []
    for d in (dim,) if isinstance(dim, int | np.integer) else dim:
        axis = axis_of(d, ndim)
        if axis in axes:
            raise RuntimeError(f"dim {axis} appears multiple times in the list of dims")
        axes.append(axis)
    return tuple(axes) if ndim else ()


def restore_dims(value: Any, dim: Any, keepdim: bool, sizes: Any) -> Any:
    """Restore the reduced dimensions of an array or Tensor, with size 1."""
    if keepdim or not sizes:
        return value
    axes = normalized_dims(dim, len(sizes))
    return reshape(value, tuple(1 if i in axes else n for i, n in enumerate(sizes)))


def spread(value: Any, dim: Any, keepdim: bool, sizes: Any) -> Any:
    """Expand a reduced value back to the shape that it came from."""
    return broadcast_to(restore_dims(value, dim, keepdim, sizes), sizes)


def numel_along(sizes: Any, dim: Any) -> Any:
    return math.prod(sizes[axis] for axis in normalized_dims(dim, len(sizes)))


def as_dims(dim: Any) -> Any:
    return () if dim is None else (dim,) if isinstance(dim, int | np.integer) else tuple(dim)


def summed(array: Any, dtype: dtypes.dtype | None) -> Any:
    """A sum. Booleans and integers are summed as int64, unless another dtype is given."""
    if dtype is not None:
        return array.astype(dtype, copy=False)
    return array if array.dtype.kind == "f" else array.astype(np.int64, copy=False)


def dtype_setting(dtype: Any, input: Any = None) -> Any:
    is_whole = dtype is not None and not dtype.is_floating_point
    if is_whole and getattr(input, "requires_grad", False) and thread.state.recording:
        raise RuntimeError(f"Autograd not support dtype: {dtype.legacy_name}. Use detach(): integers have no gradient.")
    return {} if dtype is None else {"dtype": dtypes.to_numpy_dtype(dtype)}


def need_float(name: str, input: Any, dtype: dtypes.dtype | None = None) -> None:
    array = getattr(input, "_data", input)
    if dtype is None and array.dtype.kind != "f":
        kind = dtypes.from_numpy_dtype(array.dtype).legacy_name
        raise RuntimeError(
            f"{name}(): could not infer output dtype. Input dtype must be floating. Got: {kind}. Use t.float()."
        )


# --- sums and products -----------------------------------------------------------------------------------------------


class SumDim(LinearOp, name="SumBackward1"):
    def forward(self, *, dim, keepdim, dtype=None):
        x = summed(self, dtype)
        return row_major(x.sum(axis=normalized_dims(dim, self.ndim), dtype=x.dtype, keepdims=keepdim))

    def grad_self(grad, self_sym_sizes, dim, keepdim):
        return spread(grad, dim, keepdim, self_sym_sizes)


class MeanDim(LinearOp, name="MeanBackward1"):
    def forward(self, *, dim, keepdim, dtype=None):
        return averaged(summed(self, dtype), normalized_dims(dim, self.ndim), keepdim)

    def grad_self(grad, self_sym_sizes, self_sym_numel, dim, keepdim):
        return spread(grad / builtins.max(numel_along(self_sym_sizes, dim), 1), dim, keepdim, self_sym_sizes)


def averaged(array: Any, axes: Any = None, keepdim: bool = False) -> Any:
    """The mean of an array: nan of no elements, without a warning."""
    exact = np.float32 if array.dtype == np.float16 else array.dtype
    total = row_major(array.sum(axis=axes, keepdims=keepdim, dtype=exact))
    size = array.size if axes is None else math.prod(array.shape[a] for a in axes)
    return (total / total.dtype.type(size)).astype(array.dtype, copy=False)


class Prod(Op):
    def forward(self, *, dtype=None):
        x = summed(self, dtype)
        return x.prod(dtype=x.dtype)

    # ∂(s₁·s₂·…)/∂sᵢ is the product of the others: result/sᵢ where no factor is 0
    def grad_self(grad, self, result):
        if not any_zero(self):
            return grad * (result / self) if np.ndim(getattr(self, "_data", self)) else grad
        return reshape(grad * _products_of_others(reshape(self, (-1,))), tuple(self.shape))


class ProdDim(Op, name="ProdBackward1"):
    def forward(self, *, dim, keepdim, dtype=None):
        x = summed(self, dtype)
        return row_major(x.prod(axis=dim if self.ndim else None, dtype=x.dtype, keepdims=keepdim))

    def grad_self(grad, self, result, dim, keepdim):
        if not np.ndim(getattr(self, "_data", self)):
            return grad
        sizes = tuple(self.shape)
        grad = restore_dims(grad, dim, keepdim, sizes)
        if not any_zero(self):
            return grad * (restore_dims(result, dim, keepdim, sizes) / self)
        return grad * transpose(_products_of_others(transpose(self, dim, -1)), dim, -1)


def any_zero(value: Any) -> Any:
    return not np.all(getattr(value, "_data", value))


def _products_of_others(value):
    """For each element along the last dimension, the product of all others: a square of copies leaves each out."""
    n = value.shape[-1]
    copies = where(np.eye(n, dtype=bool), 1.0, broadcast_to(unsqueeze(value, -2), (*value.shape[:-1], n, n)))
    return prod(copies, -1)


# --- without gradient ------------------------------------------------------------------------------------------------


class Counted(Op):
    """A truth value, a count or a position: a result without a gradient."""

    def forward(self, *, count, dim, keepdim):
        axes = normalized_dims(dim, self.ndim) if dim is not None else None
        found = row_major(np.asarray(count(self, axis=axes, keepdims=keepdim)))
        if found.dtype != np.bool_:
            return as_index(found)
        # As in PyTorch, where uint8 used to be the boolean type.
        return found.astype(np.uint8) if self.dtype == np.uint8 else found


@public()
def sum(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None) -> Tensor:
    """The sum of all elements, or along `dim`. Integers and booleans are summed as int64.

    >>> T.sum(T.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=0)
    tensor([4., 6.])
    """
    if dim is None and not keepdim:
        value: Any = getattr(input, "value", input)
        whole = dtype is None and value.dtype.kind != "f"
        return Sum.apply(input, dtype=np.int64) if whole else Sum.apply(input, **dtype_setting(dtype, input))
    return SumDim.apply(input, dim=as_dims(dim), keepdim=keepdim, **dtype_setting(dtype, input))


@public()
def mean(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None) -> Tensor:
    """The mean of all elements, or along `dim`.

    >>> x = T.tensor([1.0, 3.0], requires_grad=True)
    >>> T.mean(x).backward()
    >>> x.grad  # one over the number of elements
    tensor([0.5000, 0.5000])
    """
    need_float("mean", input, dtype)
    if dtype is not None and not dtype.is_floating_point:
        raise RuntimeError(f"mean(): could not infer output dtype. A mean is floating, not {dtype.legacy_name}.")
    if dim is None and not keepdim:
        return Mean.apply(input, **dtype_setting(dtype, input))
    return MeanDim.apply(input, dim=as_dims(dim), keepdim=keepdim, **dtype_setting(dtype, input))


@public()
def prod(input: Tensor, dim: int | None = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None) -> Tensor:
    """The product of all elements, or along one dimension.

    >>> T.prod(T.tensor([2.0, 3.0, 4.0]))
    tensor(24.)
    """
    if dim is None:
        return Prod.apply(input, **dtype_setting(dtype, input))
    axis = axis_of(dim, input.ndim)
    return ProdDim.apply(input, dim=axis, keepdim=keepdim, **dtype_setting(dtype, input))


@public()
def all(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """True if all elements are true."""
    return Counted.apply(input, count=np.all, dim=dim, keepdim=keepdim)


@public()
def any(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """True if at least one element is true."""
    return Counted.apply(input, count=np.any, dim=dim, keepdim=keepdim)


class ReduceMethods:
    """The methods of Tensor that are defined here."""

    prod = method(prod)
    all = method(all)
    any = method(any)


behind_core |= {"sum": method(sum), "mean": method(mean)}
