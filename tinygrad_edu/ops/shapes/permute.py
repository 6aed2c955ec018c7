"""Reorder dimensions, or the elements along them: `permute`, `transpose`, `flip`, `roll`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array.tensor import Tensor
from ...core.tensor import Permute, Transpose
from ...modes import warn_once
from ...overrides import behind_core
from ..arrays import copied, row_major
from ..binding import method, public
from ..op import LinearOp, ViewOp
from .shape import as_sizes, axis_of


class T(ViewOp):
    def forward(self):
        return self.T

    def grad_self(grad):
        return t(grad)


class Flip(LinearOp):
    def forward(self, *, dims):
        return copied(np.flip(self, dims) if self.ndim else self, "K")

    def grad_self(grad, dims):
        return flip(grad, dims)


class Roll(LinearOp):
    def forward(self, *, shifts, dims):
        return row_major(np.roll(self, shifts, dims or None))

    def grad_self(grad, shifts, dims):
        return Roll.apply(grad, shifts=tuple(-s for s in shifts), dims=dims)


@public()
def permute(input: Tensor, *dims: Any) -> Tensor:
    """A view with the dimensions in another order.

    >>> T.permute(T.ones(2, 3, 4), (2, 0, 1)).shape
    tinygrad_edu.Size([4, 2, 3])
    """
    if not dims:
        raise TypeError('permute() missing 1 required positional arguments: "dims"')
    order = as_sizes(dims)
    if sorted(d % len(order) for d in order) != list(range(len(input.shape))):
        if len(order) == len(input.shape):
            raise RuntimeError("permute(): duplicate dims are not allowed.")
        told = "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired"
        told = f"{told} ordering of dimensions i.e. input.dim() = {len(input.shape)} is not equal to"
        raise RuntimeError(f"{told} len(dims) = {len(order)}")
    return Permute.apply(input, dims=order)


@public("swapaxes", "swapdims")
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """A view with two dimensions exchanged.

    >>> T.transpose(T.ones(2, 3), 0, 1).shape
    tinygrad_edu.Size([3, 2])
    """
    if type(input) is np.ndarray and input.ndim:
        return input.swapaxes(dim0, dim1)
    for d in (dim0, dim1):
        axis_of(d, len(input.shape))
    return Transpose.apply(input, dim0=dim0, dim1=dim1)


@public()
def t(input: Tensor) -> Tensor:
    """The transpose of a matrix. Vectors and 0-d tensors are returned as they are.

    >>> T.t(T.tensor([[1, 2], [3, 4]]))
    tensor([[1, 3],
            [2, 4]])
    """
    if type(input) is np.ndarray:
        return input.T
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D. Use .mT.")
    return T.apply(input)


@public()
def flip(input: Tensor, *dims: Any) -> Tensor:
    """Reverse the order of the elements along `dims`.

    >>> T.flip(T.tensor([[1, 2], [3, 4]]), dims=(1,))
    tensor([[2, 1],
            [4, 3]])
    """
    axes = tuple(axis_of(d, len(input.shape)) for d in as_sizes(dims))
    if len(set(axes)) != len(axes):
        raise RuntimeError("dim appears multiple times in the list of dims")
    return Flip.apply(input, dims=axes)


@public()
def roll(input: Tensor, shifts: Any, dims: Any = ()) -> Tensor:
    """Shift the elements along `dims`. Those that leave at one end reenter at the other.

    >>> T.roll(T.tensor([1, 2, 3]), 1)
    tensor([3, 1, 2])
    """
    shifts, dims = ((x,) if isinstance(x, int | np.integer) else tuple(x or ()) for x in (shifts, dims))
    if len(shifts) != (len(dims) or 1):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    return Roll.apply(input, shifts=shifts, dims=tuple(axis_of(d, input.ndim) for d in dims))


@public("moveaxis")
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """A view with the dimensions `source` moved to the positions `destination`; the others keep their order.

    >>> T.movedim(T.zeros(2, 3, 4), 0, 2).shape
    tinygrad_edu.Size([3, 4, 2])
    """
    source, destination = (
        tuple(axis_of(d, input.ndim) for d in ((x,) if isinstance(x, int | np.integer) else x))
        for x in (source, destination)
    )
    if len(source) != len(destination):
        raise RuntimeError(f"movedim: Invalid source or destination dims: {len(source)} and {len(destination)} of them")
    for what, axes in (("source", source), ("destination", destination)):
        if len(set(axes)) != len(axes):
            raise RuntimeError(f"movedim: repeated dim in `{what}` ({list(axes)})")
    order = [d for d in range(input.ndim) if d not in source]
    for place, d in sorted(zip(destination, source, strict=True)):
        order.insert(place, d)
    return Permute.apply(input, dims=tuple(order[: input.ndim]))


def _reverse(self):
    """A view with the dimensions in reverse order."""
    if self.ndim != 2:
        warn_once(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated. Use `x.mT` to "
            "transpose batches of matrices, or `x.permute(*torch.arange(x.ndim - 1, -1, -1))`."
        )
    return Permute.apply(self, dims=tuple(reversed(range(self.ndim))))


def _transposed(self):
    """A view with the last two dimensions exchanged."""
    if self.ndim < 2:
        raise RuntimeError(f"tensor.mT is only supported on matrices or batches of matrices. Got {self.ndim}-D tensor.")
    return transpose(self, -2, -1)


class PermuteMethods:
    """The methods of Tensor that are defined here."""

    permute = method(permute)
    transpose = swapdims = method(transpose)
    t = method(t)
    flip = method(flip)
    roll = method(roll)
    movedim = moveaxis = method(movedim)
    mT = property(_transposed)


behind_core |= {"swapaxes": method(transpose), "T": _reverse}
