"""Reorder dimensions, or the elements along them: `permute`, `transpose`, `flip`, `roll`."""

from __future__ import annotations

import numpy as np

from ...array.tensor import Tensor, bind
from ...modes import warn_once
from ..arrays import copied
from ..binding import public
from ..op import Op, linear
from .shape import as_sizes, axis_of


class Permute(Op):
    view = True

    def forward(self, *, dims):
        return self.transpose(dims)

    def grad_self(grad, dims):
        return permute(grad, tuple(int(i) for i in np.argsort([d % len(dims) for d in dims])))

    jvp = linear


class Transpose(Op):
    view = True

    def forward(self, *, dim0, dim1):
        return self.swapaxes(dim0, dim1) if self.ndim else self.view()

    def grad_self(grad, dim0, dim1):
        return transpose(grad, dim0, dim1)

    jvp = linear


class T(Op):
    view = True

    def forward(self):
        return self.T

    def grad_self(grad):
        return t(grad)

    jvp = linear


class Flip(Op):
    def forward(self, *, dims):
        return copied(np.flip(self, dims) if self.ndim else self, "K")

    def grad_self(grad, dims):
        return flip(grad, dims)

    jvp = linear


# --- functions -------------------------------------------------------------------------------------------------------


@public()
def permute(input: Tensor, *dims) -> Tensor:
    """A view with the dimensions in another order.

    >>> import tinygrad_edu as T
    >>> T.permute(T.ones(2, 3, 4), (2, 0, 1)).shape
    tinygrad_edu.Size([4, 2, 3])
    """
    if not dims:
        raise TypeError('permute() missing 1 required positional arguments: "dims"')
    order = as_sizes(dims)
    if sorted(d % len(order) for d in order) != list(range(len(input.shape))):
        raise RuntimeError(
            f"permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {len(input.shape)} is not equal to len(dims) = {len(order)}"
            if len(order) != len(input.shape)
            else "permute(): duplicate dims are not allowed."
        )
    return Permute.apply(input, dims=order)


@public("swapdims")
def transpose(input: Tensor, dim0, dim1) -> Tensor:
    """A view with two dimensions exchanged.

    >>> import tinygrad_edu as T
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

    >>> import tinygrad_edu as T
    >>> T.t(T.tensor([[1, 2], [3, 4]]))
    tensor([[1, 3],
            [2, 4]])
    """
    if type(input) is np.ndarray:
        return input.T
    check_transposable("t", input)
    return T.apply(input)


def check_transposable(name, input):
    """Raise if a tensor has more than two dimensions."""
    if len(input.shape) > 2:
        raise RuntimeError(
            f"{name}() expects a tensor with <= 2 dimensions, but self is {len(input.shape)}D. Use .mT or .permute()."
        )


@public()
def flip(input: Tensor, *dims) -> Tensor:
    """Reverse the order of the elements along `dims`.

    >>> import tinygrad_edu as T
    >>> T.flip(T.tensor([[1, 2], [3, 4]]), dims=(1,))
    tensor([[2, 1],
            [4, 3]])
    """
    axes = tuple(axis_of(d, len(input.shape)) for d in as_sizes(dims))
    if len(set(axes)) != len(axes):
        raise RuntimeError("dim appears multiple times in the list of dims")
    return Flip.apply(input, dims=axes)


def _reverse(self):
    """A view with the dimensions in reverse order."""
    if self.ndim == 0:
        warn_once(_OF_NO_DIMENSION.format("Tensor.T"))
    elif self.ndim != 2:
        warn_once(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an "
            "error in a future release. Consider `x.mT` to transpose batches of matrices or "
            "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor."
        )
    return Permute.apply(self, dims=tuple(reversed(range(self.ndim))))


_OF_NO_DIMENSION = "{} is deprecated on 0-D tensors. It gives the same number: leave it out."


def transposed(self, name, most=None):
    """A view with the last two dimensions exchanged. Error messages call the tensor's attribute `name`."""
    if self.ndim == 1 or (most is not None and self.ndim > most):
        what = "matrices (2-D tensors)" if most else "matrices or batches of matrices"
        raise RuntimeError(f"tensor.{name} is only supported on {what}. Got {self.ndim}-D tensor.")
    if self.ndim == 0:
        warn_once(_OF_NO_DIMENSION.format(name if name == "adjoint()" else f"Tensor.{name}"))
        return self
    return transpose(self, -2, -1)


bind("T", property(_reverse))
bind("mT", property(lambda self: transposed(self, "mT")))
