"""The maximum and the minimum, and their indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array.return_types import named
from ...array.tensor import Tensor
from ..arrays import as_index, row_major
from ..binding import Dims, method, public
from ..indexing.gather import put_along, take_along
from ..op import Op
from ..pointwise.clamp import maximum, minimum
from ..shapes.shape import axis_of, unsqueeze
from .reduce import as_dims, normalized_dims, restore_dims, sum


class ExtremeOfAll(Op):
    """The largest or smallest of all elements. Elements that tie share the gradient."""

    def grad_self(grad, self, result):
        return grad * shares(self, result, ())

    def jvp(tangent, self, result):
        return sum(tangent * shares(self, result, ()))


class Max(ExtremeOfAll, name="MaxBackward1"):
    def forward(self):
        return self.max()


class Min(ExtremeOfAll, name="MinBackward1"):
    def forward(self):
        return self.min()


def shares(value: Any, extreme: Any, dim: Any, nan_ties: bool = True) -> Any:
    """1/n at each of the n elements that equal the extreme, a constant. nan ties with nan, or makes everything nan."""
    value, extreme = (getattr(x, "_data", x) for x in (value, extreme))
    mask = value == extreme
    if nan_ties:
        mask = mask | (np.isnan(value) & np.isnan(extreme))
    count = mask.sum(axis=normalized_dims(dim, mask.ndim), keepdims=True)
    if nan_ties:
        count = np.maximum(count, 1)  # none is equal where `value` was changed through `.data`
    return mask.astype(value.dtype) / count.astype(value.dtype)


class SelectAlong(Op):
    """An element chosen along one dimension, and its index. Only that element gets the gradient."""

    results = ("values", "indices")
    non_differentiable = (1,)

    def grad_self(grad, self_sym_sizes, dim, keepdim, indices):
        if not self_sym_sizes:
            return grad[0]
        grad, indices = (x if keepdim else unsqueeze(x, dim) for x in (grad[0], indices))
        return put_along(grad, self_sym_sizes, dim, indices)

    def jvp(tangent, dim, keepdim, indices):
        if not tangent.ndim:
            return tangent, None
        moved = take_along(tangent, dim, indices if keepdim else unsqueeze(indices, dim))
        return (moved if keepdim else moved.squeeze(dim)), None


class MaxDim(SelectAlong, name="MaxBackward0"):
    def forward(self, *, dim, keepdim):
        return chosen(self, _first_nan_or(np.argmax, self, dim), dim, keepdim)


class MinDim(SelectAlong, name="MinBackward0"):
    def forward(self, *, dim, keepdim):
        return chosen(self, _first_nan_or(np.argmin, self, dim), dim, keepdim)


def _first_nan_or(find, array, dim):
    return find(array, axis=dim, keepdims=True) if array.ndim else np.int64(0)


def chosen(array: Any, indices: Any, dim: Any, keepdim: bool) -> Any:
    if not array.ndim:
        return array.copy(), as_index(indices)
    values, indices = row_major(np.take_along_axis(array, indices, dim)), row_major(as_index(indices))
    return (values, indices) if keepdim else (values.squeeze(dim), indices.squeeze(dim))


class ExtremeAlong(Op):
    """As ExtremeOfAll, along dimensions."""

    def grad_self(grad, self, result, dim, keepdim):
        sizes = tuple(self.shape)
        share = shares(self, restore_dims(result, dim, keepdim, sizes), dim, nan_ties=False)
        return restore_dims(grad, dim, keepdim, sizes) * share


class Amax(ExtremeAlong):
    def forward(self, *, dim, keepdim):
        return row_major(self.max(axis=normalized_dims(dim, self.ndim), keepdims=keepdim))


class Amin(ExtremeAlong):
    def forward(self, *, dim, keepdim):
        return row_major(self.min(axis=normalized_dims(dim, self.ndim), keepdims=keepdim))


class _Position(Op):
    def forward(self, *, find, dim, keepdim):
        return as_index(find(self, axis=dim if self.ndim else None, keepdims=keepdim))


_Max, _Min = (named(op, "values", "indices") for op in ("max", "min"))
_Aminmax = named("aminmax", "min", "max")


def need_elements(name: str, input: Any, dim: Any = None) -> None:
    array = getattr(input, "_data", input)
    if array.size:
        return
    if dim is None or dim == ():
        raise (IndexError if name.startswith("arg") else RuntimeError)(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with "
            "the 'dim' argument."
        )
    for d in normalized_dims(dim, array.ndim):
        if array.shape[d] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")


def _extreme(name, of_all, along, of_two, kind, input, dim, keepdim):
    if isinstance(dim, Tensor):
        return of_two(input, dim)
    need_elements(name, input, dim)
    if dim is None:
        return of_all.apply(input)
    return kind(along.apply(input, dim=axis_of(dim, input.ndim), keepdim=keepdim))


@public()
def max(input: Tensor, dim: int | None = None, keepdim: bool = False, *, other: Tensor | float | None = None) -> Any:
    """The largest element; with `dim`, the largest along it and their indices; with `other`, of each pair."""
    return _extreme("max", Max, MaxDim, maximum, _Max, input, dim if other is None else other, keepdim)


@public()
def min(input: Tensor, dim: int | None = None, keepdim: bool = False, *, other: Tensor | float | None = None) -> Any:
    """The smallest element; with `dim`, the smallest along it and their indices; with `other`, of each pair."""
    return _extreme("min", Min, MinDim, minimum, _Min, input, dim if other is None else other, keepdim)


@public()
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the largest element, in the flattened tensor or along `dim`."""
    return _position("argmax", np.argmax, input, dim, keepdim)


@public()
def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the smallest element, in the flattened tensor or along `dim`."""
    return _position("argmin", np.argmin, input, dim, keepdim)


def _position(name, find, input, dim, keepdim):
    need_elements(name, input, dim)
    if input.value.dtype.kind == "b":
        raise RuntimeError(f"{name}(): does not support bool input. Convert first: t.long().")
    return _Position.apply(input, find=find, dim=None if dim is None else axis_of(dim, input.ndim), keepdim=keepdim)


@public()
def amax(input: Tensor, dim: Dims = (), keepdim: bool = False) -> Tensor:
    """The largest element along `dim`. Elements that tie share the gradient.

    >>> T.amax(T.tensor([[1.0, 5.0], [3.0, 2.0]]), dim=1)
    tensor([5., 3.])
    """
    need_elements("amax", input, dim)
    return Amax.apply(input, dim=as_dims(dim), keepdim=keepdim)


@public()
def amin(input: Tensor, dim: Dims = (), keepdim: bool = False) -> Tensor:
    """The smallest element along `dim`. Elements that tie share the gradient.

    >>> T.amin(T.tensor([[1.0, 5.0], [3.0, 2.0]]), dim=1)
    tensor([1., 2.])
    """
    need_elements("amin", input, dim)
    return Amin.apply(input, dim=as_dims(dim), keepdim=keepdim)


@public()
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> Any:
    """The smallest and the largest element, as a named tuple.

    >>> T.aminmax(T.tensor([3.0, 1.0, 2.0]))
    tinygrad_edu.return_types.aminmax(
    min=tensor(1.),
    max=tensor(3.))
    """
    dims = () if dim is None else (dim,)
    return _Aminmax((amin(input, dims, keepdim), amax(input, dims, keepdim)))


class ExtremesMethods:
    """The methods of Tensor that are defined here."""

    max = method(max)
    min = method(min)
    argmax = method(argmax)
    argmin = method(argmin)
    amax = method(amax)
    amin = method(amin)
    aminmax = method(aminmax)
