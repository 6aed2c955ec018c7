"""Multi-head attention."""

from __future__ import annotations

import contextlib
import enum
import math
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...array.tensor import Tensor, wrap
from ...autograd.grad_mode import is_grad_enabled
from ...nn import functional as F
from ...nn import init
from ...nn.layers import Linear, add_parameters
from ...nn.module import Module
from ...ops import functions
from ...seam.later import later

__all__ = ["MultiheadAttention"]


class SDPBackend(enum.Enum):
    """The names of PyTorch's attention kernels; here there is only one kernel."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextlib.contextmanager
def sdpa_kernel(backends: Any, set_priority: bool = False) -> Iterator[None]:
    """Accepts a choice of attention kernels for a `with` block. It has no effect: the numbers are the same."""
    yield


_bmm, _cat = functions["bmm"], functions["cat"]
_PROJECTIONS = ("q_proj_weight", "k_proj_weight", "v_proj_weight")


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear under the name that PyTorch prints for the last layer of attention."""


class MultiheadAttention(Module):
    """Each head compares queries and keys in its own features, and returns a weighted mean of the values.

    `forward(query, key, value)` takes tensors (L, N, E), or (N, L, E) with `batch_first`. It returns the output and the
    attention weights averaged over the heads, or None for the weights if `need_weights` is False.

    >>> import tinygrad_edu as T
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
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        # One matrix for all three if their widths are equal, else three matrices.
        same, E = self._qkv_same_embed_dim, embed_dim
        widths = (
            dict.fromkeys(_PROJECTIONS)
            if same
            else dict(zip(_PROJECTIONS, ((E, E), (E, self.kdim), (E, self.vdim)), strict=True))
        )
        add_parameters(
            self, device, dtype, in_proj_weight=(3 * E, E) if same else None, **widths, in_proj_bias=3 * E if bias else None
        )  # fmt: skip
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, device, dtype)
        alone = (1, 1, E) if add_bias_kv else None
        add_parameters(self, device, dtype, bias_k=alone, bias_v=alone)
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
        _check_types(attn_mask, key_padding_mask)
        quick = self._is_quick(query, key, value, attn_mask, key_padding_mask)
        if is_causal and attn_mask is None and not quick:
            raise RuntimeError(
                "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
                "`generate_square_subsequent_mask` to create this mask."
            )
        is_causal = is_causal and key_padding_mask is None and not need_weights and not quick
        if is_causal:
            attn_mask = None  # as in PyTorch, the hint takes its place
        batched = query.ndim == 3
        if not batched:
            query, key, value = (x.unsqueeze(1) for x in (query, key, value))
            if key_padding_mask is not None:
                key_padding_mask = key_padding_mask.unsqueeze(0)
        elif self.batch_first:
            # What is the same tensor stays the same one: its projections are then one product.
            turned = {id(x): x.transpose(1, 0) for x in (query, key, value)}
            query, key, value = (turned[id(x)] for x in (query, key, value))
        self._check(query, key, value, key_padding_mask, attn_mask)
        targets, batch = query.shape[:2]
        q, k, v = self._projected(query, key, value)
        more = 0  # extra keys and values that every query sees
        if self.bias_k is not None and self.bias_v is not None:
            k, v = (_cat([x, added.repeat(1, batch, 1)]) for x, added in ((k, self.bias_k), (v, self.bias_v)))
            more += 1
        # The heads are further members of the batch: (N·heads, L, features of a head).
        folded = batch * self.num_heads
        q, k, v = (x.view(x.shape[0], folded, self.head_dim).transpose(0, 1) for x in (q, k, v))
        if self.add_zero_attn:
            none = wrap(np.zeros((folded, 1, self.head_dim), k._data.dtype))
            k, v = (_cat([x, none], 1) for x in (k, v))
            more += 1
        if more:
            attn_mask, key_padding_mask = (
                m if m is None else F.pad(m, (0, more)) for m in (attn_mask, key_padding_mask)
            )
        mask = self._mask(attn_mask, key_padding_mask, query)
        dropout = self.dropout if self.training else 0.0
        weights = None
        if need_weights or (quick and mask is not None):  # a query that may see nothing gives nan, else 0
            q, k = q * math.sqrt(1.0 / self.head_dim), k.transpose(-2, -1)
            weights = F.softmax(_bmm(q, k) if mask is None else functions["baddbmm"](mask, q, k), -1)
            if dropout:
                weights = F.dropout(weights, dropout)
            out = _bmm(weights, v).transpose(0, 1)
        else:
            q, k, v = (x.view(batch, self.num_heads, x.shape[1], self.head_dim) for x in (q, k, v))
            if mask is not None:
                mask = mask.unsqueeze(0) if len(mask) == 1 else mask.view(batch, self.num_heads, -1, mask.shape[-1])
            out = F.scaled_dot_product_attention(q, k, v, mask, dropout, is_causal).permute(2, 0, 1, 3)
        out = self.out_proj(out.reshape(targets * batch, self.embed_dim)).view(targets, batch, self.embed_dim)
        weights = weights if need_weights else None
        if weights is not None:
            weights = weights.view(batch, self.num_heads, *weights.shape[1:])
            weights = weights.mean(1) if average_attn_weights else weights
        if not batched:
            return out.squeeze(1), weights if weights is None else weights.squeeze(0)
        return out.transpose(1, 0) if self.batch_first else out, weights

    def _is_quick(self, query: Tensor, key: Tensor, value: Tensor, *masks: Tensor | None) -> bool:
        """True where PyTorch takes its kernel for inference."""
        ways = not self.training and self.batch_first and self.num_heads % 2 == 0 and query.ndim == 3
        return (
            ways
            and query is key is value
            and self._qkv_same_embed_dim
            and self.in_proj_bias is not None
            and self.bias_k is None
            and not self.add_zero_attn
            and query.dtype == self.in_proj_weight.dtype
            and all(m is None or m._data.dtype == bool for m in masks)
            and not any(is_grad_enabled() and t.requires_grad for t in (query, *self.parameters()))
        )

    def _check(self, query: Tensor, key: Tensor, value: Tensor, padding: Tensor | None, mask: Tensor | None) -> None:
        """Raise PyTorch's errors for shapes that do not fit; each tensor is (L, N, features)."""
        if key.shape[:2] != value.shape[:2]:
            shapes = [tuple(x.transpose(0, 1).shape if self.batch_first else x.shape) for x in (key, value)]
            raise AssertionError(
                f"key shape torch.Size({list(shapes[0])}) does not match value shape {list(shapes[1])}"
            )
        (targets, batch), sources = query.shape[:2], key.shape[0]
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

    def _projected(self, query: Tensor, key: Tensor, value: Tensor) -> list[Tensor]:
        """Query, key and value, projected to embed_dim features. Those that are the same tensor share one product."""
        E, bias = self.embed_dim, self.in_proj_bias
        if self._qkv_same_embed_dim and query is key is value:
            return self._parts(F.linear(query, self.in_proj_weight, bias), 3)
        if self._qkv_same_embed_dim and key is value:
            weights = self.in_proj_weight.split([E, E * 2])
            biases = (None, None) if bias is None else bias.split([E, E * 2])
            rest = F.linear(query, weights[0], biases[0]), F.linear(key, weights[1], biases[1])
            return [rest[0], *self._parts(rest[1], 2)]
        weights = self.in_proj_weight.chunk(3) if self._qkv_same_embed_dim else [getattr(self, n) for n in _PROJECTIONS]
        biases = (None,) * 3 if bias is None else bias.chunk(3)
        return [F.linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True)]

    def _parts(self, projected: Tensor, n: int) -> list[Tensor]:
        parts = projected.unflatten(-1, (n, self.embed_dim)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
        return [parts[i] for i in range(n)]

    def _mask(self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor) -> Tensor | None:
        """The mask to add to the scores, (1 or N·heads, L, S): -inf where a query must not attend (where a boolean mask is True)."""
        total = _additive(attn_mask, query)
        if total is not None and total.ndim == 2:
            total = total.unsqueeze(0)
        padding = _additive(key_padding_mask, query)
        if padding is not None:
            batch = query.shape[1]
            padding = padding.view(batch, 1, 1, -1)
            padding = padding.expand(-1, self.num_heads, -1, -1).reshape(batch * self.num_heads, 1, -1)
            total = padding if total is None else total + padding
        return total


def _check_types(mask: Tensor | None, padding: Tensor | None) -> None:
    for name, given in (("key_padding_mask", padding), ("attn_mask", mask)):
        if given is not None and given._data.dtype != bool and not given.is_floating_point():
            raise AssertionError(f"only bool and floating types of {name} are supported")
    if mask is not None and padding is not None and mask.dtype != padding.dtype:
        warnings.warn(
            "Support for mismatched key_padding_mask and attn_mask is deprecated. Use same type for both instead.",
            stacklevel=4,
        )


def _additive(mask: Tensor | None, like: Tensor) -> Tensor | None:
    if mask is None or mask._data.dtype != np.bool_:
        return mask
    return wrap(np.where(mask._data, -np.inf, 0.0).astype(like._data.dtype))


__getattr__ = later(
    __name__, "It has MultiheadAttention, SDPBackend and sdpa_kernel. Give scaled_dot_product_attention a mask."
)
