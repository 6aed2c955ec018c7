"""Attention: weights of values by how alike queries and keys are."""

from __future__ import annotations

import functools
import math

import numpy as np

from ...array.tensor import Tensor, wrap
from ..arrays import are_small, largest, sum_kept
from ..binding import NN, functions, public
from ..linalg.matmul import matmul
from ..op import Op
from ..operands import check_writable
from ..pointwise.arithmetic import MulNumber
from ..shapes.permute import transpose
from .dropout import dropout
from .softmax import safe_softmax, softmax, sum_along

# Up to this many attention weights are kept for the backward pass: 4 MB of float32.
_FEW_WEIGHTS = 2**20


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


def _recorded_weights(query, key, is_causal, scale, kept):
    """The attention weights: those that were kept, or computed again (by recorded ops under `create_graph`)."""
    if not isinstance(query, Tensor) and not isinstance(key, Tensor):
        return kept if kept.size else _weights(query, key, is_causal, scale)
    scores = matmul(query, transpose(key, -2, -1)) * scale
    if is_causal:
        scores = scores + wrap(np.where(_causal(*scores.shape[-2:]), 0.0, -np.inf).astype(scores.value.dtype))
    return softmax(scores, -1)


def _check(query, key, value, mask):
    inputs = {"query": query, "key": key, "value": value}
    if len({x.dtype for x in inputs.values()}) > 1:
        kinds = ", ".join(f"{name}.dtype: {x.dtype}" for name, x in inputs.items())
        raise RuntimeError(f"Expected query, key, and value to have the same dtype, but got {kinds} instead.")
    if min(x.ndim for x in inputs.values()) < 2:
        shapes = ", ".join(f"{name}: {x.ndim}" for name, x in inputs.items())
        raise RuntimeError(
            f"Expected query, key, and value to all be at least 2 dimensional, but got {shapes} instead."
        )
    if mask is not None and mask.value.dtype.kind not in "bf" and mask.dtype != query.dtype:
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{mask.dtype} and  query.dtype: {query.dtype} instead."
        )


@public(where=NN)
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Attention, softmax(scale·q·kᵀ + mask)·v: for each query a mean of the values, weighted by how well keys match it.

    A boolean `attn_mask` is True where a query may attend; others are added to the scores. `scale` is 1/√features.

    >>> x = T.randn(2, 5, 8)
    >>> T.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True).shape
    tinygrad_edu.Size([2, 5, 8])
    """
    if enable_gqa:
        # Grouped-query attention: each head of keys and values serves several heads of queries.
        key, value = (functions["repeat_interleave"](x, query.shape[-3] // x.shape[-3], -3) for x in (key, value))
    _check(query, key, value, attn_mask)
    if attn_mask is not None and is_causal:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    if attn_mask is None and dropout_p == 0 and query.ndim == 4:
        return ScaledDotProductAttention.apply(query, key, value, is_causal=is_causal, scale=factor)[0]
    # As in PyTorch, each side is multiplied by the square root of the scale.
    root = math.sqrt(abs(factor))
    scores = matmul(
        MulNumber.apply(query, other=math.copysign(root, factor)), MulNumber.apply(transpose(key, -2, -1), other=root)
    )
    if is_causal:
        attn_mask = wrap(_causal(query.shape[-2], key.shape[-2]))
    if attn_mask is not None:
        if attn_mask.value.dtype == bool:
            attn_mask = wrap(np.where(attn_mask._data, 0.0, -np.inf).astype(query.value.dtype))
        check_writable(tuple(scores.shape), np.broadcast_shapes(scores.shape, attn_mask.shape))
        scores = scores + attn_mask
    return matmul(dropout(safe_softmax(scores, -1), dropout_p), value)
