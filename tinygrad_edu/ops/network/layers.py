"""The ops of linear layers, embeddings and attention."""

from __future__ import annotations

import functools
import math

import numpy as np

from ...array.tensor import Tensor, wrap
from ...modes import bump_version
from ..arrays import add_rows, are_small, largest, sum_kept
from ..binding import functions, nn_functions, public
from ..creation.factories import finish
from ..indexing.index import accumulate_at
from ..linalg.einsum import einsum
from ..linalg.matmul import addmm, matmul
from ..op import Op
from ..pointwise.arithmetic import MulNumber
from ..reductions.reduce import sum
from ..shapes.permute import t, transpose
from ..shapes.shape import View, reshape, unsqueeze
from .normalization import dropout
from .softmax import safe_softmax, sum_along

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


class ScaledDotProductAttention(Op, name="ScaledDotProductFlashAttentionForCpuBackward0"):
    """softmax(scale·q·kᵀ)·v. Each query sees all keys, or with `is_causal` those up to its own position."""

    results = ("output", "_weights")
    visible_outputs = 1

    def forward(query, key, value, *, is_causal, scale):
        weights = _weights(query, key, is_causal, scale)
        # For long sequences, backward computes the attention weights again: they grow with the square of the length.
        return weights @ value, weights if weights.size <= _FEW_WEIGHTS else np.empty(0, weights.dtype)

    def gradients(grad, needs_input_grad, query, key, value, is_causal, scale, _weights):
        weights = _recorded_weights(query, key, is_causal, scale, _weights)
        to_weights = matmul(grad, transpose(value, -2, -1))
        weighted = to_weights * weights
        to_scores = (weighted - weights * sum_along(weighted, -1)) * scale
        return [
            matmul(to_scores, key) if needs_input_grad[0] else None,
            matmul(transpose(to_scores, -2, -1), query) if needs_input_grad[1] else None,
            matmul(transpose(weights, -2, -1), grad) if needs_input_grad[2] else None,
        ]

    def jvp(query_tangent, key_tangent, value_tangent, query, key, value, is_causal, scale):
        weights = _recorded_weights(query, key, is_causal, scale)
        moved = matmul(query_tangent, transpose(key, -2, -1)) + matmul(query, transpose(key_tangent, -2, -1))
        weighted = moved * scale * weights
        return matmul(weighted - weights * sum(weighted, -1, True), value) + matmul(weights, value_tangent)


# Up to this many attention weights are kept for the backward pass: 4 MB of float32.
_FEW_WEIGHTS = 2**20


@functools.lru_cache(maxsize=2)
def _causal(queries, keys):
    return np.tri(queries, keys, dtype=bool)


def _weights(query, key, is_causal, scale):
    scores = query @ key.swapaxes(-2, -1)
    scores *= query.dtype.type(scale)
    seen = _causal(*scores.shape[-2:]) if is_causal else None
    if are_small(scores):
        np.exp(scores, out=scores)
        if seen is not None:
            scores *= seen
    else:
        if seen is not None:
            scores[..., ~seen] = -np.inf
        scores -= largest(scores, -1)
        np.exp(scores, out=scores)
    scores /= sum_kept(scores, -1)
    return scores


def _recorded_weights(query, key, is_causal, scale, kept=None):
    if not isinstance(query, Tensor) and not isinstance(key, Tensor):
        return kept if kept is not None and kept.size else _weights(query, key, is_causal, scale)
    scores = matmul(query, transpose(key, -2, -1)) * scale
    if is_causal:
        scores = scores.masked_fill(wrap(~_causal(*scores.shape[-2:])), -math.inf)
    return scores.softmax(-1)


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


@public(where=_BOTH, method=False)
def bilinear(input1, input2, weight, bias=None) -> Tensor:
    """input1·weight[o]·input2ᵀ + bias[o] along the last dimension. `weight` has shape (out, in1, in2).

    >>> import tinygrad_edu as T
    >>> T.nn.functional.bilinear(T.ones(1, 2), T.ones(1, 3), T.ones(4, 2, 3)).shape
    tinygrad_edu.Size([1, 4])
    """
    if not input1._data.dtype == input2._data.dtype == weight._data.dtype:
        raise RuntimeError(
            f"All tensors must have the same dtype, got input1: {input1.dtype}, input2: {input2.dtype}, weight: "
            f"{weight.dtype}"
        )
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


@public(where=_NN, method=False)
def scaled_dot_product_attention(
    query,
    key,
    value,
    attn_mask=None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale=None,
    enable_gqa: bool = False,
) -> Tensor:
    """Attention, softmax(scale·q·kᵀ + mask)·v: for each query, a mean of the values, weighted by how well the keys match it.

    A boolean `attn_mask` is True where a query may attend; another mask is added to the scores. `scale` defaults to 1/√features.

    >>> import tinygrad_edu as T
    >>> x = T.randn(2, 5, 8)
    >>> T.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True).shape
    tinygrad_edu.Size([2, 5, 8])
    """
    if enable_gqa:
        # Grouped-query attention: each head of keys and values serves several heads of queries.
        key, value = (functions["repeat_interleave"](x, query.shape[-3] // x.shape[-3], -3) for x in (key, value))
    if attn_mask is not None and is_causal:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    if attn_mask is None and dropout_p == 0 and query.ndim == 4:
        return ScaledDotProductAttention.apply(query, key, value, is_causal=is_causal, scale=factor)[0]
    # As in PyTorch, each side is multiplied by the square root of the scale.
    root = math.sqrt(factor)
    scores = matmul(MulNumber.apply(query, other=root), MulNumber.apply(transpose(key, -2, -1), other=root))
    if is_causal:
        attn_mask = wrap(_causal(query.shape[-2], key.shape[-2]))
    if attn_mask is not None:
        if attn_mask._data.dtype == bool:
            attn_mask = wrap(np.where(attn_mask._data, 0.0, -np.inf).astype(query._data.dtype))
        scores = scores + attn_mask
    return matmul(dropout(safe_softmax(scores, -1), dropout_p), value)
