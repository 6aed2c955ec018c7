"""Many elements to one: sums, means, extremes."""

from __future__ import annotations

import numpy as np

from .. import dtypes
from .op import Op, linear
from .pointwise import where
from .shape import broadcast_to, reshape


def normalized_dims(dim, ndim):
    """`dim` (None, an int or a tuple) as a tuple of axes from 0, all of them for None or an empty tuple."""
    if dim is None or (isinstance(dim, tuple | list) and not dim):
        return tuple(range(ndim))
    axes = []
    for d in (dim,) if isinstance(dim, int) else dim:
        n = max(ndim, 1)
        if not -n <= d < n:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})")
        axis = d % n
        if axis in axes:
            raise RuntimeError(f"dim {axis} appears multiple times in the list of dims")
        axes.append(axis)
    return tuple(axes) if ndim else ()


def restore_dims(value, dim, keepdim, sizes):
    """Give a reduced array or Tensor its reduced dimensions back, with size 1."""
    if keepdim or not sizes:
        return value
    axes = normalized_dims(dim, len(sizes))
    return reshape(value, tuple(1 if i in axes else n for i, n in enumerate(sizes)))


def _summed_dtype(array):
    """Sums of booleans and integers are int64."""
    return array if array.dtype.kind == "f" else array.astype(np.int64)


class Sum(Op):
    def forward(self):
        return _summed_dtype(self).sum()

    def grad_self(grad, self_sym_sizes):
        return broadcast_to(grad, self_sym_sizes)

    jvp = linear


class SumDim(Op, name="SumBackward1"):
    def forward(self, *, dim, keepdim):
        return _summed_dtype(self).sum(axis=normalized_dims(dim, self.ndim), keepdims=keepdim)

    def grad_self(grad, self_sym_sizes, dim, keepdim):
        return broadcast_to(restore_dims(grad, dim, keepdim, self_sym_sizes), self_sym_sizes)

    jvp = linear


class Mean(Op):
    def forward(self):
        return self.mean()

    def grad_self(grad, self_sym_numel, self_sym_sizes):
        return broadcast_to(grad / self_sym_numel, self_sym_sizes)

    jvp = linear


class MeanDim(Op, name="MeanBackward1"):
    def forward(self, *, dim, keepdim):
        return self.mean(axis=normalized_dims(dim, self.ndim), keepdims=keepdim)

    def grad_self(grad, self_sym_sizes, self_sym_numel, dim, keepdim):
        count = 1
        for axis in normalized_dims(dim, len(self_sym_sizes)):
            count *= self_sym_sizes[axis]
        return broadcast_to(restore_dims(grad, dim, keepdim, self_sym_sizes), self_sym_sizes) / count

    jvp = linear


class Max(Op, name="MaxBackward1"):
    """The largest of all; elements that tie share the gradient."""

    def forward(self):
        return self.max()

    def grad_self(grad, self, result):
        mask = self == result
        return where(mask, grad / sum(mask), 0.0)

    def jvp(tangent, self, result):
        mask = self == result
        return sum(where(mask, tangent, 0.0)) / sum(mask)


class Min(Op, name="MinBackward1"):
    """The smallest of all; elements that tie share the gradient."""

    def forward(self):
        return self.min()

    def grad_self(grad, self, result):
        mask = self == result
        return where(mask, grad / sum(mask), 0.0)

    def jvp(tangent, self, result):
        mask = self == result
        return sum(where(mask, tangent, 0.0)) / sum(mask)


# --- functions -----------------------------------------------------------------------------------------------------------


def _need_float(name, input):
    array = getattr(input, "_data", input)
    if array.dtype.kind != "f":
        kind = dtypes.from_numpy_dtype(array.dtype).legacy_name
        raise RuntimeError(
            f"{name}(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: "
            f"{kind}. Convert first: t.float()."
        )


def sum(input, dim=None, keepdim=False, *, dtype=None):
    """The sum of all elements, or along `dim`. Integers and booleans are summed as int64."""
    if dtype is not None:
        input = input.to(dtype)
    if dim is None and not keepdim:
        return Sum.apply(input)
    if dim is None:
        dim = ()
    return SumDim.apply(input, dim=(dim,) if isinstance(dim, int) else tuple(dim), keepdim=keepdim)


def mean(input, dim=None, keepdim=False, *, dtype=None):
    """The mean of all elements, or along `dim`."""
    if dtype is not None:
        input = input.to(dtype)
    _need_float("mean", input)
    if dim is None and not keepdim:
        return Mean.apply(input)
    if dim is None:
        dim = ()
    return MeanDim.apply(input, dim=(dim,) if isinstance(dim, int) else tuple(dim), keepdim=keepdim)


def all(input):
    """True if every element is."""
    return _Truth.apply(input, combine=np.all)


def any(input):
    """True if some element is."""
    return _Truth.apply(input, combine=np.any)


class _Truth(Op):
    def forward(self, *, combine):
        return combine(self)


def argmax(input, dim=None, keepdim=False):
    """The index of the largest element, in the flattened tensor or along `dim`."""
    return _Arg.apply(input, find=np.argmax, dim=dim, keepdim=keepdim)


def argmin(input, dim=None, keepdim=False):
    """The index of the smallest element, in the flattened tensor or along `dim`."""
    return _Arg.apply(input, find=np.argmin, dim=dim, keepdim=keepdim)


class _Arg(Op):
    def forward(self, *, find, dim, keepdim):
        return find(self, axis=dim, keepdims=keepdim)


def max(input):
    """The largest element."""
    return Max.apply(input)


def min(input):
    """The smallest element."""
    return Min.apply(input)
