"""Attention with several heads."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tensor import Tensor, wrap
from . import functional as F
from . import init
from .layers import Linear, add_parameters
from .module import Module

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Module):
    """Each head compares queries with keys in features of its own, and gives a mean of the values.

    `forward(query, key, value)` takes (L, N, E), or (N, L, E) if `batch_first`, and returns the output and the weights,
    averaged over the heads, or None for them if `need_weights` is False.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise AssertionError("embed_dim must be divisible by num_heads")
        if add_bias_kv or add_zero_attn or kdim not in (None, embed_dim) or vdim not in (None, embed_dim):
            raise NotImplementedError(
                "MultiheadAttention with add_bias_kv, add_zero_attn, kdim or vdim is not built: give keys and values of "
                "embed_dim features."
            )
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.head_dim = embed_dim // num_heads
        rows = 3 * embed_dim
        add_parameters(self, device, dtype, in_proj_weight=(rows, embed_dim), in_proj_bias=rows if bias else None)
        self.out_proj = Linear(embed_dim, embed_dim, bias, device, dtype)
        init.xavier_uniform_(self.in_proj_weight)
        if bias:
            init.zeros_(self.out_proj.bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        if query.ndim not in (2, 3):
            raise AssertionError(
                f"query should be unbatched 2D or batched 3D tensor but received {query.ndim}-D query tensor"
            )
        if query.shape[-1] != self.embed_dim:
            raise AssertionError(f"was expecting embedding dimension of {self.embed_dim}, but got {query.shape[-1]}")
        batched = query.ndim == 3
        if not batched:
            query, key, value = (x.unsqueeze(0) for x in (query, key, value))
            if key_padding_mask is not None:
                key_padding_mask = key_padding_mask.unsqueeze(0)
        elif not self.batch_first:
            query, key, value = (x.transpose(0, 1) for x in (query, key, value))
        self._check(query, key, value, key_padding_mask, attn_mask)
        heads = [self._heads(x, i) for i, x in enumerate((query, key, value))]
        mask = self._mask(attn_mask, key_padding_mask, query)
        dropout = self.dropout if self.training else 0.0
        weights = None
        if need_weights:
            scores = (heads[0] * self.head_dim**-0.5) @ heads[1].transpose(-2, -1)
            weights = F.softmax(scores if mask is None else scores + mask, -1)
            weights = F.dropout(weights, dropout)
            out = weights @ heads[2]
        else:
            out = F.scaled_dot_product_attention(*heads, attn_mask=mask, dropout_p=dropout)
        out = self.out_proj(out.transpose(1, 2).reshape(*query.shape[:2], self.embed_dim))
        if weights is not None and average_attn_weights:
            weights = weights.mean(1)
        if not batched:
            return out.squeeze(0), weights if weights is None else weights.squeeze(0)
        return out if self.batch_first else out.transpose(0, 1), weights

    def _check(self, query: Tensor, key: Tensor, value: Tensor, padding: Tensor | None, mask: Tensor | None) -> None:
        """Refuse shapes that do not fit, in PyTorch's words; (N, L, features) each."""
        if key.shape[:2] != value.shape[:2]:
            shapes = [tuple(x.shape if self.batch_first else x.transpose(0, 1).shape) for x in (key, value)]
            raise AssertionError(
                f"key shape torch.Size({list(shapes[0])}) does not match value shape {list(shapes[1])}"
            )
        batch, targets, sources = query.shape[0], query.shape[1], key.shape[1]
        if mask is not None and mask.ndim == 2 and tuple(mask.shape) != (targets, sources):
            raise RuntimeError(
                f"The shape of the 2D attn_mask is torch.Size({list(mask.shape)}), but should be {(targets, sources)}."
            )
        if mask is not None and mask.ndim == 3 and tuple(mask.shape) != (batch * self.num_heads, targets, sources):
            raise RuntimeError(
                f"The shape of the 3D attn_mask is torch.Size({list(mask.shape)}), but should be "
                f"{(batch * self.num_heads, targets, sources)}."
            )
        if mask is not None and mask.ndim not in (2, 3):
            raise RuntimeError(f"attn_mask's dimension {mask.ndim} is not supported")
        if padding is not None and padding.shape[-1] != sources:
            raise AssertionError(f"Expected key_padded_mask.shape[1] to be {sources}, but got {padding.shape[-1]}")
        if padding is not None and padding.shape[0] != batch:
            raise AssertionError(f"Expected key_padded_mask.shape[0] to be {batch}, but got {padding.shape[0]}")

    def _heads(self, x: Any, part: int) -> Tensor:
        """(N, heads, L, features of a head)"""
        rows = slice(part * self.embed_dim, (part + 1) * self.embed_dim)
        bias = None if self.in_proj_bias is None else self.in_proj_bias[rows]
        projected = F.linear(x, self.in_proj_weight[rows], bias)
        return projected.reshape(*x.shape[:2], self.num_heads, self.head_dim).transpose(1, 2)

    def _mask(self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor) -> Tensor | None:
        """What is added to the scores: -inf where a query may not look (here True in a boolean mask)."""
        total: Tensor | None = None
        if attn_mask is not None:
            total = _additive(attn_mask, query)
            if total.ndim == 3:
                total = total.reshape(query.shape[0], self.num_heads, *total.shape[1:])
        if key_padding_mask is not None:
            padding = _additive(key_padding_mask, query).reshape(query.shape[0], 1, 1, -1)
            total = padding if total is None else total + padding
        return total


def _additive(mask: Tensor, like: Tensor) -> Tensor:
    if mask._data.dtype != np.bool_:
        return mask
    return wrap(np.where(mask._data, -np.inf, 0.0).astype(like._data.dtype))
