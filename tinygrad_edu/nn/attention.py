"""Multi-head attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..array.absent import answer
from ..array.tensor import Tensor, wrap
from ..ops import functions
from . import functional as F
from . import init
from .layers import Linear, add_parameters
from .module import Module

__all__ = ["MultiheadAttention"]

__getattr__ = answer(__name__)

_bmm, _cat = functions["bmm"], functions["cat"]
_PROJECTIONS = ("q_proj_weight", "k_proj_weight", "v_proj_weight")


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear under the name that PyTorch prints for the last layer of attention."""


class MultiheadAttention(Module):
    """Each head compares queries and keys in its own features, and returns a weighted mean of the values.

    `forward(query, key, value)` takes tensors (L, N, E), or (N, L, E) with `batch_first`. It returns the output and the
    attention weights averaged over the heads, or None for the weights if `need_weights` is False.

    >>> attention = T.nn.MultiheadAttention(8, num_heads=2, batch_first=True)
    >>> x = T.randn(3, 5, 8)
    >>> out, weights = attention(x, x, x)
    >>> out.shape, weights.shape
    (tinygrad_edu.Size([3, 5, 8]), tinygrad_edu.Size([3, 5, 5]))
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
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.head_dim = embed_dim // num_heads
        self.kdim, self.vdim = kdim if kdim is not None else embed_dim, vdim if vdim is not None else embed_dim
        self.add_zero_attn = add_zero_attn
        # One matrix for all three if their widths are equal, else three matrices.
        self._qkv_same_embed_dim = same = self.kdim == embed_dim == self.vdim
        widths = [None if same else (embed_dim, width) for width in (embed_dim, self.kdim, self.vdim)]
        add_parameters(self, device, dtype, in_proj_weight=(3 * embed_dim, embed_dim) if same else None)
        add_parameters(self, device, dtype, **dict(zip(_PROJECTIONS, widths, strict=True)))
        add_parameters(self, device, dtype, in_proj_bias=3 * embed_dim if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, device, dtype)
        extra = (1, 1, embed_dim) if add_bias_kv else None
        add_parameters(self, device, dtype, bias_k=extra, bias_v=extra)
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for name in ("in_proj_weight", *_PROJECTIONS):
            if (weight := getattr(self, name)) is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for added in (self.bias_k, self.bias_v):
            if added is not None:
                init.xavier_normal_(added)

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
        for name, mask in (("key_padding_mask", key_padding_mask), ("attn_mask", attn_mask)):
            if mask is not None and mask.value.dtype != bool and not mask.is_floating_point():
                raise AssertionError(f"only bool and floating types of {name} are supported")
        if is_causal and attn_mask is None:
            raise RuntimeError(
                "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
                "`generate_square_subsequent_mask` to create this mask."
            )
        is_causal = is_causal and key_padding_mask is None and not need_weights
        if is_causal:
            attn_mask = None  # as in PyTorch, the hint takes its place
        batched = query.ndim == 3
        if not batched:
            query, key, value = (x.unsqueeze(1) for x in (query, key, value))
            key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
        elif self.batch_first:
            # What is the same tensor stays the same one: its projections are then one product.
            turned = {id(x): x.transpose(1, 0) for x in (query, key, value)}
            query, key, value = (turned[id(x)] for x in (query, key, value))
        self._check(query, key, value, key_padding_mask, attn_mask)
        targets, batch = query.shape[:2]
        q, k, v = self._projected(query, key, value)
        if self.bias_k is not None and self.bias_v is not None:
            k, v = (_cat([x, added.repeat(1, batch, 1)]) for x, added in ((k, self.bias_k), (v, self.bias_v)))
        # The heads are further members of the batch: (N·heads, L, features of a head).
        folded = batch * self.num_heads
        q, k, v = (x.view(x.shape[0], folded, self.head_dim).transpose(0, 1) for x in (q, k, v))
        if self.add_zero_attn:
            zero = wrap(np.zeros((folded, 1, self.head_dim), k.value.dtype))
            k, v = (_cat([x, zero], 1) for x in (k, v))
        # Every query sees the keys that were added.
        if extra := k.shape[1] - key.shape[0]:
            attn_mask, key_padding_mask = (
                m if m is None else F.pad(m, (0, extra)) for m in (attn_mask, key_padding_mask)
            )
        mask = self._mask(attn_mask, key_padding_mask, query)
        dropout = self.dropout if self.training else 0.0
        weights = None
        if need_weights:
            q, k = q * math.sqrt(1.0 / self.head_dim), k.transpose(-2, -1)
            weights = F.softmax(_bmm(q, k) if mask is None else functions["baddbmm"](mask, q, k), -1)
            if dropout:
                weights = F.dropout(weights, dropout)
            out = _bmm(weights, v).transpose(0, 1)
            weights = weights.view(batch, self.num_heads, *weights.shape[1:])
            weights = weights.mean(1) if average_attn_weights else weights
        else:
            q, k, v = (x.view(batch, self.num_heads, x.shape[1], self.head_dim) for x in (q, k, v))
            if mask is not None:
                mask = mask.unsqueeze(0) if len(mask) == 1 else mask.view(batch, self.num_heads, -1, mask.shape[-1])
            out = F.scaled_dot_product_attention(q, k, v, mask, dropout, is_causal).permute(2, 0, 1, 3)
        out = self.out_proj(out.reshape(targets * batch, self.embed_dim)).view(targets, batch, self.embed_dim)
        if not batched:
            return out.squeeze(1), weights if weights is None else weights.squeeze(0)
        return out.transpose(1, 0) if self.batch_first else out, weights

    def _check(self, query: Tensor, key: Tensor, value: Tensor, padding: Tensor | None, mask: Tensor | None) -> None:
        """Raise PyTorch's errors for shapes that do not fit; each tensor is (L, N, features)."""
        if key.shape[:2] != value.shape[:2]:
            shapes = [list(x.transpose(0, 1).shape if self.batch_first else x.shape) for x in (key, value)]
            raise AssertionError(f"key shape torch.Size({shapes[0]}) does not match value shape {shapes[1]}")
        (targets, batch), sources = query.shape[:2], key.shape[0]
        if mask is not None and mask.ndim not in (2, 3):
            raise RuntimeError(f"attn_mask's dimension {mask.ndim} is not supported")
        if mask is not None:
            size = (batch * self.num_heads, targets, sources)[3 - mask.ndim :]
            if tuple(mask.shape) != size:
                raise RuntimeError(
                    f"The shape of the {mask.ndim}D attn_mask is torch.Size({list(mask.shape)}), but should be {size}."
                )
        if padding is not None and padding.shape[-1] != sources:
            raise AssertionError(f"Expected key_padded_mask.shape[1] to be {sources}, but got {padding.shape[-1]}")
        if padding is not None and padding.shape[0] != batch:
            raise AssertionError(f"Expected key_padded_mask.shape[0] to be {batch}, but got {padding.shape[0]}")

    def _projected(self, query: Tensor, key: Tensor, value: Tensor) -> list[Tensor]:
        """Query, key and value, projected to embed_dim features. Those that are the same tensor share one product."""
        width, bias = self.embed_dim, self.in_proj_bias
        if self._qkv_same_embed_dim and query is key is value:
            return self._parts(F.linear(query, self.in_proj_weight, bias), 3)
        if self._qkv_same_embed_dim and key is value:
            weights = self.in_proj_weight.split([width, width * 2])
            biases = (None, None) if bias is None else bias.split([width, width * 2])
            q, rest = F.linear(query, weights[0], biases[0]), F.linear(key, weights[1], biases[1])
            return [q, *self._parts(rest, 2)]
        weights = self.in_proj_weight.chunk(3) if self._qkv_same_embed_dim else [getattr(self, n) for n in _PROJECTIONS]
        biases = (None,) * 3 if bias is None else bias.chunk(3)
        return [F.linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True)]

    def _parts(self, projected: Tensor, n: int) -> list[Tensor]:
        parts = projected.unflatten(-1, (n, self.embed_dim)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
        return [parts[i] for i in range(n)]

    def _mask(self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor) -> Tensor | None:
        """The mask to add to the scores, (1 or N·heads, L, S): -inf where a bool mask keeps a query out (True)."""
        total = additive(attn_mask, query)
        if total is not None and total.ndim == 2:
            total = total.unsqueeze(0)
        padding = additive(key_padding_mask, query)
        if padding is not None:
            batch = query.shape[1]
            padding = padding.view(batch, 1, 1, -1)
            padding = padding.expand(-1, self.num_heads, -1, -1).reshape(batch * self.num_heads, 1, -1)
            total = padding if total is None else total + padding
        return total


def additive(mask: Tensor | None, like: Tensor) -> Tensor | None:
    """A boolean mask as one that is added to scores: -inf where it is True. Another mask as it is."""
    if mask is None or mask.value.dtype != bool:
        return mask
    return wrap(np.where(mask._data, -np.inf, 0.0).astype(like.value.dtype))
