"""The ops of linear layers, embeddings and attention."""

from __future__ import annotations

import math

import numpy as np

from ...array.tensor import Tensor
from ...modes import bump_version
from ..arrays import add_rows
from ..binding import functions, nn_functions, public
from ..creation.factories import finish
from ..linalg.matmul import addmm, matmul
from ..op import Op
from ..shapes.permute import t
from ..shapes.shape import View, reshape

_NN, _BOTH = (nn_functions,), (functions, nn_functions)


class Embedding(Op):
    """The rows of `weight` at `indices`."""

    without_gradient = ("indices",)

    def forward(weight, *, indices, padding_idx, scale_grad_by_freq=False):
        return weight.take(indices, axis=0)

    def grad_weight(grad, weight_sym_sizes, indices, padding_idx, scale_grad_by_freq):
        if scale_grad_by_freq:
            plain = getattr(indices, "_data", indices)
            share = 1 / np.bincount(plain.reshape(-1))[plain][..., None]
            grad = grad * share.astype(getattr(grad, "_data", grad).dtype)
        return EmbeddingBack.apply(grad, size=weight_sym_sizes, indices=indices, padding_idx=padding_idx)

    def jvp(tangent, indices, padding_idx):
        return Embedding.apply(tangent, indices=indices, padding_idx=padding_idx)


class EmbeddingBack(Op, name="EmbeddingDenseBackwardBackward0"):
    """Sum the gradients of rows back into the weight; the padding row gets none."""

    without_gradient = ("indices",)

    def forward(self, *, size, indices, padding_idx):
        out = add_rows(size, indices, self)
        if padding_idx >= 0:
            out[padding_idx] = 0
        return out

    def grad_self(grad, indices, padding_idx):
        out = Embedding.apply(grad, indices=indices, padding_idx=padding_idx)
        return out if padding_idx < 0 else out * (indices != padding_idx)[..., None]


# --- functions -------------------------------------------------------------------------------------------------------


@public(where=_NN, method=False)
def linear(input, weight, bias=None) -> Tensor:
    """input·weightᵀ + bias along the last dimension. `weight` has shape (out, in).

    >>> import tinygrad_edu as T
    >>> T.nn.functional.linear(T.tensor([1.0, 2.0]), T.tensor([[3.0, 4.0]]), T.tensor([0.5]))
    tensor([11.5000])
    """
    if not input.ndim or not weight.ndim:
        raise RuntimeError(
            f"both arguments to linear need to be at least 1D, but they are {input.ndim}D and {weight.ndim}D"
        )
    if weight.ndim == 2 and input.shape and input.shape[-1] != weight.shape[1]:
        rows = math.prod(input.shape[:-1])
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({rows}x{input.shape[-1]} and {weight.shape[1]}x{weight.shape[0]})"
        )
    if bias is None:
        return matmul(input, t(weight))
    if input.ndim == 2:
        return addmm(bias, input, t(weight))
    if not input.is_contiguous():
        return matmul(input, t(weight)) + bias
    sizes = input._data.shape
    rows = reshape(input, (math.prod(sizes[:-1]), sizes[-1]))
    return View.apply(addmm(bias, rows, t(weight)), size=(*sizes[:-1], weight._data.shape[0]))


def shorten(weight, rows, max_norm, norm_type):
    """Scale down, in place, those of `rows` whose norm exceeds `max_norm`."""
    norms = np.linalg.norm(weight._data[rows], norm_type, axis=1)
    long = norms > max_norm
    weight._data[rows[long]] *= (max_norm / (norms[long] + 1e-7)).astype(weight._data.dtype)[:, None]
    bump_version(weight)


@public(where=_NN, method=False)
def embedding(
    input,
    weight,
    padding_idx=None,
    max_norm=None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of `weight` (classes, features) at the indices in `input`.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.embedding(T.tensor([2, 0]), T.tensor([[0.0, 0.1], [1.0, 1.1], [2.0, 2.1]]))
    tensor([[2.0000, 2.1000],
            [0.0000, 0.1000]])
    """
    if sparse:
        raise NotImplementedError(
            "embedding with sparse=True is not built. Leave it out: the gradient is then a dense tensor."
        )
    if input._data.dtype.kind not in "iu":
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"{input.dtype.legacy_name} instead"
        )
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    indices = input._data
    if indices.size and not (indices.min() >= 0 and indices.max() < weight._data.shape[0]):
        raise IndexError("index out of range in self")
    if max_norm is not None:
        shorten(weight, np.unique(input._data), max_norm, norm_type)
    if padding_idx is not None and padding_idx < 0:
        padding_idx += weight.shape[0]
    settings = {"scale_grad_by_freq": True} if scale_grad_by_freq else {}
    return Embedding.apply(weight, indices=input, padding_idx=-1 if padding_idx is None else padding_idx, **settings)


@public(where=_NN, method=False)
def one_hot(tensor, num_classes=-1) -> Tensor:
    """One-hot vectors along a new last dimension: 1 at the class, 0 elsewhere.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.one_hot(T.tensor([2, 0]), 3)
    tensor([[0, 0, 1],
            [1, 0, 0]])
    """
    array = tensor._data
    if array.dtype != np.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if array.size and array.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    if not array.size and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    if num_classes == -1:
        num_classes = int(array.max()) + 1
    elif array.size and array.max() >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return finish((array[..., None] == np.arange(num_classes)).astype(np.int64))
