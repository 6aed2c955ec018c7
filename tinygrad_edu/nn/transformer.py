"""Transformers: layers of attention with what stands around it."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np

from ..array.tensor import Tensor, wrap
from ..autograd.grad_mode import is_grad_enabled
from ..ops.indexing.masking import where
from . import functional as F
from .attention import MultiheadAttention, additive
from .containers import ModuleList
from .layers import Dropout, Linear
from .module import Module
from .norms import LayerNorm

__all__ = ["TransformerEncoder", "TransformerEncoderLayer"]


class TransformerEncoderLayer(Module):
    """Self-attention, then a feed-forward network for each position; each with a residual connection and a norm.

    Sequences have shape (L, N, d_model), or (N, L, d_model) with `batch_first`.

    >>> layer = T.nn.TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16, batch_first=True)
    >>> layer(T.randn(2, 5, 8)).shape
    tinygrad_edu.Size([2, 5, 8])
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options = {"batch_first": batch_first, "device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, **options)
        self.linear1 = Linear(d_model, dim_feedforward, bias, device, dtype)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, device, dtype)
        self.norm_first = norm_first
        self.norm1, self.norm2 = (LayerNorm(d_model, layer_norm_eps, True, bias, device, dtype) for _ in range(2))
        self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout)
        if isinstance(activation, str) and activation not in ("relu", "gelu"):
            raise RuntimeError(f"activation should be relu/gelu, not {activation}")
        self.activation = getattr(F, activation) if isinstance(activation, str) else activation

    def forward(
        self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool = False
    ) -> Tensor:
        masks = additive(src_mask, src), additive(src_key_padding_mask, src), is_causal
        if self.norm_first:
            src = src + self._sa_block(self.norm1(src), *masks)
            return src + self._ff_block(self.norm2(src))
        src = self.norm1(src + self._sa_block(src, *masks))
        return self.norm2(src + self._ff_block(src))

    def _sa_block(self, x: Any, mask: Any, padding: Any, is_causal: bool = False) -> Tensor:
        masks = {"attn_mask": mask, "key_padding_mask": padding, "is_causal": is_causal}
        return self.dropout1(self.self_attn(x, x, x, need_weights=False, **masks)[0])

    def _ff_block(self, x: Any) -> Tensor:
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerEncoder(Module):
    """A stack of copies of an encoder layer, with an optional norm at the end.

    >>> layer = T.nn.TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16, batch_first=True)
    >>> T.nn.TransformerEncoder(layer, num_layers=2)(T.randn(2, 5, 8)).shape
    tinygrad_edu.Size([2, 5, 8])
    """

    def __init__(
        self,
        encoder_layer: Any,
        num_layers: int,
        norm: Any = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = ModuleList(copy.deepcopy(encoder_layer) for _ in range(num_layers))
        self.num_layers, self.norm = num_layers, norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check
        reason = _why_not_nested(encoder_layer)
        if enable_nested_tensor and reason:
            warnings.warn(
                f"enable_nested_tensor is True, but self.use_nested_tensor is False because {reason}", stacklevel=2
            )
        self.use_nested_tensor = enable_nested_tensor and not reason

    def forward(
        self, src: Any, mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool | None = None
    ) -> Tensor:
        drops = self._drops_padding(src, mask, src_key_padding_mask)
        mask, padding = additive(mask, src), additive(src_key_padding_mask, src)
        for layer in self.layers:
            src = layer(src, src_mask=mask, src_key_padding_mask=padding, is_causal=_is_causal(mask, is_causal))
        if drops:
            src = where(wrap(src_key_padding_mask._data[..., None] == 0), src, 0.0)
        return src if self.norm is None else self.norm(src)

    def _drops_padding(self, src: Any, mask: Any, padding: Any) -> bool:
        """True where PyTorch skips the padding and fills its positions with zeros, which it does only in inference."""
        first = self.layers[0]
        if not self.use_nested_tensor or first.training or src.ndim != 3 or padding is None or mask is not None:
            return False
        if is_grad_enabled() and (src.requires_grad or any(p.requires_grad for p in first.parameters())):
            return False
        # The padding must come after the sequence.
        padded = padding._data != 0
        return not self.mask_check or bool((np.diff(padded.astype(np.int8), axis=1) >= 0).all())


def _why_not_nested(layer: Any) -> str:
    """The reason why PyTorch cannot skip the padding in a layer like this one; "" if it can."""
    if not isinstance(layer, TransformerEncoderLayer):
        return "encoder_layer was not TransformerEncoderLayer"
    if layer.norm_first:
        return "encoder_layer.norm_first was True"
    attention = layer.self_attn
    if not attention.batch_first:
        return "encoder_layer.self_attn.batch_first was not True(use batch_first for better inference performance)"
    if attention.in_proj_bias is None:
        return "encoder_layer.self_attn was passed bias=False"
    name = getattr(layer.activation, "__name__", type(layer.activation).__name__).lower()
    if name not in ("relu", "gelu"):
        return "encoder_layer.activation_relu_or_gelu was not True"
    if layer.norm1.eps != layer.norm2.eps:
        return "encoder_layer.norm1.eps was not equal to encoder_layer.norm2.eps"
    return "encoder_layer.self_attn.num_heads is odd" if attention.num_heads % 2 else ""


def _is_causal(mask: Any, hint: bool | None) -> bool:
    """The hint, or whether the mask to add is the one that hides later positions."""
    if hint is not None or mask is None or mask.value.dtype == bool or mask.ndim != 2:
        return hint is True
    return np.array_equal(mask._data, np.triu(np.full(mask.shape, -np.inf), 1)) and mask.shape[0] == mask.shape[1]
