"""Rows of a table by their numbers, one-hot vectors, and a differentiable choice of a class."""

from __future__ import annotations

import numpy as np

from ...array.tensor import Tensor, wrap
from ...modes import bump_version
from ..arrays import add_rows, bincount
from ..binding import NN, public
from ..creation.factories import finish
from ..op import Op
from .softmax import softmax


class Embedding(Op):
    """The rows of `weight` at `indices`."""

    without_gradient = ("indices",)

    def forward(weight, *, indices, padding_idx, scale_grad_by_freq=False):
        return weight.take(indices, axis=0)

    def grad_weight(grad, weight_sym_sizes, indices, padding_idx, scale_grad_by_freq):
        if scale_grad_by_freq:
            numbers = getattr(indices, "_data", indices)
            share = 1 / bincount(numbers.reshape(-1))[numbers][..., None]
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


@public(where=NN)
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of `weight` (classes, features) at the indices in `input`.

    >>> T.nn.functional.embedding(T.tensor([2, 0]), T.tensor([[0.0, 0.1], [1.0, 1.1], [2.0, 2.1]]))
    tensor([[2.0000, 2.1000],
            [0.0000, 0.1000]])
    """
    if sparse:
        raise NotImplementedError(
            "embedding with sparse=True is not built. Leave it out: the gradient is then a dense tensor."
        )
    if input.value.dtype.kind not in "iu":
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"{input.dtype.legacy_name} instead. Convert them: indices.long()."
        )
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    rows, indices = weight.shape[0], input._data
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise AssertionError("Padding_idx must be within num_embeddings")
    if indices.size and not (indices.min() >= 0 and indices.max() < rows):
        raise IndexError(f"index out of range in self: the rows are 0 to {rows - 1}")
    if max_norm is not None:
        _shorten(weight, np.unique(indices), max_norm, norm_type)
    settings = {"scale_grad_by_freq": True} if scale_grad_by_freq else {}
    padding_idx = -1 if padding_idx is None else padding_idx % rows
    return Embedding.apply(weight, indices=input, padding_idx=padding_idx, **settings)


def _shorten(weight, rows, max_norm, norm_type):
    """Scale down, in place, those of `rows` whose norm exceeds `max_norm`."""
    norms = np.linalg.norm(weight._data[rows], norm_type, axis=1)
    long = norms > max_norm
    weight._data[rows[long]] *= (max_norm / (norms[long] + 1e-7)).astype(weight.value.dtype)[:, None]
    bump_version(weight)


@public(where=NN)
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """One-hot vectors along a new last dimension: 1 at the class, 0 elsewhere.

    >>> T.nn.functional.one_hot(T.tensor([2, 0]), 3)
    tensor([[0, 0, 1],
            [1, 0, 0]])
    """
    classes = tensor._data
    if classes.dtype != np.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor. Convert it: t.long().")
    if classes.size and classes.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    if not classes.size and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    if num_classes == -1:
        num_classes = int(classes.max()) + 1
    elif classes.size and classes.max() >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return finish((classes[..., None] == np.arange(num_classes)).astype(np.int64))


@public(where=NN)
def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A differentiable random choice of a class: the softmax of `logits` plus Gumbel noise. `hard` gives zeros and a 1.

    >>> T.nn.functional.gumbel_softmax(T.zeros(1, 3), hard=True).sum()
    tensor(1.)
    """
    noise = -wrap(np.zeros(logits.shape, logits.value.dtype)).exponential_().log()
    soft = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    chosen = np.zeros_like(soft._data)
    np.put_along_axis(chosen, soft._data.argmax(axis=dim, keepdims=True), 1.0, dim)
    return wrap(chosen) - soft.detach() + soft
