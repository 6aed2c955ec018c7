"""Bags of embeddings, and samples of a categorical distribution."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array.tensor import Tensor, wrap
from ...modes import bump_version
from ...ops.arrays import add_rows
from ...ops.binding import linalg_functions, nn_functions, public
from ...ops.creation.factories import finish
from ...ops.indexing.index import accumulate_at
from ...ops.network.layers import _BOTH
from ...ops.network.softmax import softmax
from ...ops.op import Op
from ...ops.reductions.reduce import sum
from ...ops.shapes.shape import reshape, unsqueeze
from .einsum import einsum

_NN, _LINALG = (nn_functions,), (linalg_functions,)


@public(where=_NN, method=False)
def gumbel_softmax(logits, tau=1, hard: bool = False, eps: float = 1e-10, dim=-1) -> Tensor:
    """A differentiable random choice of a class: the softmax of `logits` with Gumbel noise. `hard` returns zeros and a 1.

    >>> import tinygrad_edu as T
    >>> _ = T.manual_seed(0)
    >>> T.nn.functional.gumbel_softmax(T.zeros(1, 3), hard=True).sum()
    tensor(1.)
    """
    noise = -wrap(np.zeros(logits.shape, logits._data.dtype)).exponential_().log()
    soft = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    chosen = np.zeros_like(soft._data)
    np.put_along_axis(chosen, soft._data.argmax(axis=dim, keepdims=True), 1.0, dim)
    return wrap(chosen) - soft.detach() + soft


@public(where=_NN, method=False)
def embedding_bag(
    input,
    weight,
    offsets=None,
    max_norm=None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights=None,
    include_last_offset: bool = False,
    padding_idx=None,
) -> Any:
    """The sum, mean or maximum of the embeddings in each bag. Bags are the rows of `input`, or start at `offsets`.

    With `include_last_offset` the last offset is the end of the last bag. Entries equal to `padding_idx` are ignored.

    >>> import tinygrad_edu as T
    >>> table = T.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> T.nn.functional.embedding_bag(T.tensor([[0, 1]]), table)
    tensor([[2., 3.]])
    """
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got "
            f"mode='{mode}'). Please open a feature request on GitHub: multiply the rows of an embedding by hand."
        )
    places = input._data.reshape(-1)
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences."
            )
        starts = np.arange(input.shape[0]) * input.shape[1]
    elif input.ndim != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")
    elif offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    else:
        starts = offsets._data[:-1] if include_last_offset else offsets._data
        end = offsets._data[-1] if include_last_offset and offsets.numel() else len(input)
        if end > len(input):
            raise RuntimeError(
                f"offsets[-1] can not be greater than input's length {len(input)} but got offsets[-1] of {end}"
            )
        if end < len(input):
            raise NotImplementedError(
                f"embedding_bag with include_last_offset: the last offset, {end}, is the end of the last bag, and so the number of "
                f"indices, which is {len(input)}. PyTorch reads memory beside its numbers here."
            )
    if sparse:
        raise NotImplementedError(
            "embedding_bag with sparse=True is not built: leave it out, the gradient is a dense tensor."
        )
    if scale_grad_by_freq:
        raise NotImplementedError("embedding_bag with scale_grad_by_freq=True is not built: use nn.Embedding with it.")
    if places.size and not (places.min() >= 0 and places.max() < weight._data.shape[0]):
        raise IndexError("index out of range in self")
    n = weight.shape[0]
    if padding_idx is not None and not -n <= padding_idx < n:
        raise RuntimeError(
            f"padding_idx must be within the number of embeddings, -{n} through {n - 1}, but got {padding_idx}"
        )
    if max_norm is not None:
        shorten(weight, np.unique(places), max_norm, norm_type)
    return EmbeddingBag.apply(
        weight,
        per_sample_weights if input.ndim == 1 or per_sample_weights is None else reshape(per_sample_weights, (-1,)),
        indices=reshape(input, (-1,)),
        offsets=wrap(starts),
        mode=("sum", "mean", "max").index(mode),
        padding_idx=-1 if padding_idx is None else padding_idx % n,
    )[0]


class EmbeddingBag(Op):
    """The sums (mode 0), means (1) or largest (2) of the rows that each bag names; `offsets` is where the bags begin."""

    results = ("output", "_bags", "_kept")
    visible_outputs = 1
    without_gradient = ("indices", "offsets")
    non_differentiable = (1, 2)

    def forward(weight, per_sample_weights, *, indices, offsets, mode, padding_idx):
        bags = np.searchsorted(offsets, np.arange(len(indices)), "right") - 1
        kept = np.flatnonzero(indices != padding_idx)
        rows, bags = weight.take(indices[kept], axis=0), bags[kept]
        if per_sample_weights is not None:
            rows = rows * per_sample_weights[kept][:, None]
        size = (len(offsets), weight.shape[1])
        if mode == 2:
            # Of each bag and feature the number of the row that is the largest; an empty bag is 0.
            out = np.full(size, -np.inf, weight.dtype)
            np.maximum.at(out, bags, rows)
            first = np.full(size, len(kept))
            hit, feature = np.nonzero(rows == out[bags])
            np.minimum.at(first, (bags[hit], feature), hit)
            out[first == len(kept)] = 0
            return out, first, kept
        out = add_rows(size, bags, rows)
        if mode == 1:
            out /= _counts(bags, len(offsets)).astype(out.dtype)
        return out, bags, kept

    def grad_weight(grad, weight_sym_sizes, per_sample_weights, indices, mode, _bags, _kept):
        places, bags = (getattr(x, "_data", x) for x in (indices[getattr(_kept, "_data", _kept)], _bags))
        if mode == 2:
            hit = bags < len(places)
            features = np.broadcast_to(np.arange(weight_sym_sizes[1]), bags.shape)
            return accumulate_at(grad[hit], weight_sym_sizes, (places[bags[hit]], features[hit]))
        rows = grad[bags]
        if mode == 1:
            rows = rows / _counts(bags, grad.shape[0]).astype(getattr(grad, "_data", grad).dtype)[bags]
        if per_sample_weights is not None:
            rows = rows * unsqueeze(per_sample_weights[getattr(_kept, "_data", _kept)], 1)
        return EmbeddingBack.apply(rows, size=weight_sym_sizes, indices=places, padding_idx=-1)

    def grad_per_sample_weights(grad, weight, per_sample_weights_sym_sizes, indices, _bags, _kept):
        bags, kept = (getattr(x, "_data", x) for x in (_bags, _kept))
        along = sum(grad[bags] * weight[indices[kept]], 1)
        return accumulate_at(along, per_sample_weights_sym_sizes, (kept,))


def _counts(bags, number):
    return np.maximum(np.bincount(bags, minlength=number), 1)[:, None]


class Trilinear(Op):
    """Σ left·kernel·right over the features of both"""

    def forward(i1, i2, i3):
        return np.einsum("ni,oij,nj->no", i1, i2, i3)

    def grad_i1(grad, i2, i3):
        return _contract("no,oij,nj->ni", grad, i2, i3)

    def grad_i2(grad, i1, i3):
        return _contract("no,ni,nj->oij", grad, i1, i3)

    def grad_i3(grad, i1, i2):
        return _contract("no,ni,oij->nj", grad, i1, i2)

    def jvp(tangent1, tangent2, tangent3, i1, i2, i3):
        return Trilinear.apply(tangent1, i2, i3) + Trilinear.apply(i1, tangent2, i3) + Trilinear.apply(i1, i2, tangent3)


def _contract(equation, *operands):
    if any(isinstance(x, Tensor) for x in operands):
        return einsum(equation, *(x if isinstance(x, Tensor) else wrap(x) for x in operands))
    return np.einsum(equation, *operands)


@public(where=_BOTH, method=False)
def bilinear(input1, input2, weight, bias=None) -> Tensor:
    """input1·weight[o]·input2ᵀ + bias[o] along the last dimension. `weight` has shape (out, in1, in2).

    >>> import tinygrad_edu as T
    >>> T.nn.functional.bilinear(T.ones(1, 2), T.ones(1, 3), T.ones(4, 2, 3)).shape
    tinygrad_edu.Size([1, 4])
    """
    given = {"input1": input1, "input2": input2, "weight": weight, "bias": weight if bias is None else bias}
    if len({x.dtype for x in given.values()}) > 1:
        kinds = ", ".join(f"{name}: {x.dtype}" for name, x in given.items())
        raise RuntimeError(f"All tensors must have the same dtype, got {kinds}")
    if input1.ndim != input2.ndim:
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {input1.ndim} and {input2.ndim}")
    for d, (n, m) in enumerate(zip(input1.shape[:-1], input2.shape[:-1], strict=False)):
        if n != m:
            raise RuntimeError(f"bilinear(): input batch dimensions do not match at dim {d}: got {n} and {m}")
    for d, x in enumerate((input1, input2), 1):
        if x.shape[-1] != weight.shape[d]:
            raise RuntimeError(
                f"bilinear(): input{d} size does not match weight size: got {x.shape[-1]} but expected {weight.shape[d]}"
            )
    if bias is not None and tuple(bias.shape) != (weight.shape[0],):
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias.shape[0] if bias.ndim else 1} but expected "
            f"{weight.shape[0]}"
        )
    left, right = (reshape(x, (-1, x.shape[-1])) for x in (input1, input2))
    out = reshape(Trilinear.apply(left, weight, right), (*input1.shape[:-1], weight.shape[0]))
    return out if bias is None else out + bias


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
    if padding_idx and not -weight.shape[0] <= padding_idx < weight.shape[0]:
        raise AssertionError("Padding_idx must be within num_embeddings")
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
