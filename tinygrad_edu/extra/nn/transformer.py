"""Transformers: layers of attention with what stands around it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ...array.tensor import Tensor
from ...autograd.grad_mode import is_grad_enabled
from ...nn import functional as F
from ...nn import init
from ...nn.bases import _get_activation_fn, _get_clones
from ...nn.layers import Dropout, Linear
from ...nn.module import Module
from ...nn.norms import LayerNorm
from ...ops.creation.factories import full
from .attention import MultiheadAttention, _additive, _check_types

__all__ = [
    "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder", "TransformerEncoderLayer",
]  # fmt: skip


class TransformerEncoderLayer(Module):
    """Self-attention, then a feed-forward network for each position; each with a residual connection and a norm.

    Sequences have shape (L, N, d_model), or (N, L, d_model) with `batch_first`.

    >>> import tinygrad_edu as T
    >>> layer = T.nn.TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16, batch_first=True)
    >>> layer(T.randn(2, 5, 8)).shape
    tinygrad_edu.Size([2, 5, 8])
    """

    _attentions: tuple[str, ...] = ("self_attn",)
    self_attn: MultiheadAttention
    norm1: LayerNorm
    norm2: LayerNorm
    dropout1: Dropout
    dropout2: Dropout

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
        for name in self._attentions:
            setattr(self, name, MultiheadAttention(d_model, nhead, dropout, bias, **options))
        self.linear1 = Linear(d_model, dim_feedforward, bias, device, dtype)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, device, dtype)
        self.norm_first = norm_first
        parts = range(1, len(self._attentions) + 2)  # the attentions and the feed-forward network
        for number in parts:
            setattr(self, f"norm{number}", LayerNorm(d_model, layer_norm_eps, True, bias, device, dtype))
        for number in parts:
            setattr(self, f"dropout{number}", Dropout(dropout))
        self.activation = _get_activation_fn(activation) if isinstance(activation, str) else activation

    def forward(
        self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool = False
    ) -> Tensor:
        _check_types(src_mask, src_key_padding_mask)
        quick = self._is_quick(src)
        # PyTorch's kernel for inference asks only which numbers of a mask are 0.
        src_mask, src_key_padding_mask = (
            m.bool() if quick and m is not None else _additive(m, src) for m in (src_mask, src_key_padding_mask)
        )
        if self.norm_first:
            src = src + self._sa_block(self.norm1(src), src_mask, src_key_padding_mask, is_causal)
            return src + self._ff_block(self.norm2(src))
        src = self.norm1(src + self._sa_block(src, src_mask, src_key_padding_mask, is_causal))
        return self.norm2(src + self._ff_block(src))

    def _is_quick(self, src: Any) -> bool:
        """True where PyTorch takes its kernel for inference."""
        return (
            not self.training
            and src.ndim == 3
            and _needs_padding(self, False) == ""
            and not any(m._forward_hooks or m._forward_pre_hooks for m in self.modules())
            and not (is_grad_enabled() and any(t.requires_grad for t in (src, *self.parameters())))
        )

    def _sa_block(self, x: Any, mask: Any, padding: Any, is_causal: bool = False) -> Tensor:
        masks = {"attn_mask": mask, "key_padding_mask": padding, "is_causal": is_causal}
        return self.dropout1(self.self_attn(x, x, x, need_weights=False, **masks)[0])

    def _ff_block(self, x: Any) -> Tensor:
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerDecoderLayer(TransformerEncoderLayer):
    """As the encoder layer, with attention to the encoder's output between its two parts.

    >>> import tinygrad_edu as T
    >>> layer = T.nn.TransformerDecoderLayer(d_model=8, nhead=2, dim_feedforward=16, batch_first=True)
    >>> layer(T.randn(2, 5, 8), memory=T.randn(2, 3, 8)).shape
    tinygrad_edu.Size([2, 5, 8])
    """

    _attentions = ("self_attn", "multihead_attn")
    multihead_attn: MultiheadAttention
    norm3: LayerNorm
    dropout3: Dropout

    def forward(  # type: ignore[override]
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        to_self = tgt_mask, tgt_key_padding_mask, tgt_is_causal
        to_memory = memory, memory_mask, memory_key_padding_mask, memory_is_causal
        if self.norm_first:
            tgt = tgt + self._sa_block(self.norm1(tgt), *to_self)
            tgt = tgt + self._mha_block(self.norm2(tgt), *to_memory)
            return tgt + self._ff_block(self.norm3(tgt))
        tgt = self.norm1(tgt + self._sa_block(tgt, *to_self))
        tgt = self.norm2(tgt + self._mha_block(tgt, *to_memory))
        return self.norm3(tgt + self._ff_block(tgt))

    def _mha_block(self, x: Any, memory: Any, mask: Any, padding: Any, is_causal: bool = False) -> Tensor:
        masks = {"attn_mask": mask, "key_padding_mask": padding, "is_causal": is_causal}
        return self.dropout2(self.multihead_attn(x, memory, memory, need_weights=False, **masks)[0])

    def _ff_block(self, x: Any) -> Tensor:
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))


def _needs_padding(layer: Any, stacked: bool = True) -> str:
    """The reason why PyTorch has no kernel for a layer like this one, which skips padding if `stacked`; "" if it has."""
    if not isinstance(layer, TransformerEncoderLayer):
        return "encoder_layer was not TransformerEncoderLayer"
    if layer.norm_first and stacked:
        return "encoder_layer.norm_first was True"
    attention = layer.self_attn
    if not attention.batch_first:
        return "encoder_layer.self_attn.batch_first was not True(use batch_first for better inference performance)"
    if attention.in_proj_bias is None:
        return "encoder_layer.self_attn was passed bias=False"
    if layer.activation not in (F.relu, F.gelu) and type(layer.activation).__name__ not in ("ReLU", "GELU"):
        return "encoder_layer.activation_relu_or_gelu was not True"
    if layer.norm1.eps != layer.norm2.eps:
        return "encoder_layer.norm1.eps was not equal to encoder_layer.norm2.eps"
    return "encoder_layer.self_attn.num_heads is odd" if attention.num_heads % 2 else ""


def _is_causal(mask: Any, hint: bool | None) -> bool:
    """The hint, or whether the mask to add is the one that hides later positions."""
    if hint is not None or mask is None or mask._data.dtype == bool or mask.ndim != 2:
        return hint is True
    return np.array_equal(mask._data, np.triu(np.full(mask.shape, -np.inf), 1)) and mask.shape[0] == mask.shape[1]


class TransformerEncoder(Module):
    """A stack of copies of an encoder layer, with an optional norm at the end.

    >>> import tinygrad_edu as T
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
        self.layers = _get_clones(encoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check
        why_not = _needs_padding(encoder_layer)
        if enable_nested_tensor and why_not:
            warnings.warn(
                f"enable_nested_tensor is True, but self.use_nested_tensor is False because {why_not}", stacklevel=2
            )
        self.use_nested_tensor = enable_nested_tensor and not why_not

    def forward(
        self, src: Any, mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool | None = None
    ) -> Tensor:
        drops = self._drops_padding(src, mask, src_key_padding_mask)
        _check_types(mask, src_key_padding_mask)
        masks: dict[str, Any] = {
            "src_mask": _additive(mask, src),
            "src_key_padding_mask": _additive(src_key_padding_mask, src),
        }
        masks["is_causal"] = _is_causal(masks["src_mask"], is_causal)
        for layer in self.layers:
            src = layer(src, **masks)
        if drops:
            if src_key_padding_mask._data.all():
                raise RuntimeError("to_padded_tensor: at least one constituent tensor should have non-zero numel")
            src = src.masked_fill(src_key_padding_mask.logical_not().logical_not().unsqueeze(-1), 0.0)
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


class TransformerDecoder(Module):
    """A stack of copies of a decoder layer, with an optional norm at the end.

    >>> import tinygrad_edu as T
    >>> layer = T.nn.TransformerDecoderLayer(d_model=8, nhead=2)
    >>> T.nn.TransformerDecoder(layer, num_layers=2)(T.zeros(4, 3, 8), T.zeros(5, 3, 8)).shape
    tinygrad_edu.Size([4, 3, 8])
    """

    def __init__(self, decoder_layer: Any, num_layers: int, norm: Any = None) -> None:
        super().__init__()
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm

    def forward(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        masks = {
            "tgt_mask": tgt_mask, "memory_mask": memory_mask, "tgt_key_padding_mask": tgt_key_padding_mask,
            "memory_key_padding_mask": memory_key_padding_mask, "tgt_is_causal": _is_causal(tgt_mask, tgt_is_causal),
            "memory_is_causal": memory_is_causal,
        }  # fmt: skip
        for layer in self.layers:
            tgt = layer(tgt, memory, **masks)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder for the source, and a decoder for the target that attends to the encoder's output.

    >>> import tinygrad_edu as T
    >>> model = T.nn.Transformer(d_model=8, nhead=2, num_encoder_layers=1, num_decoder_layers=1, dim_feedforward=16)
    >>> model(T.zeros(5, 3, 8), T.zeros(4, 3, 8)).shape
    tinygrad_edu.Size([4, 3, 8])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        layer = (
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device, dtype,
        )  # fmt: skip
        norm = (d_model, layer_norm_eps, True, bias, device, dtype)
        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*layer), num_encoder_layers, LayerNorm(*norm)
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*layer), num_decoder_layers, LayerNorm(*norm)
        )
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def _reset_parameters(self) -> None:
        for p in self.parameters():
            if p.ndim > 1:
                init.xavier_uniform_(p)

    def forward(
        self,
        src: Any,
        tgt: Any,
        src_mask: Any = None,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        src_key_padding_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        rows = 0 if self.batch_first else 1
        if src.ndim == 3 and src.size(rows) != tgt.size(rows):
            raise RuntimeError("the batch number of src and tgt must be equal")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )  # fmt: skip

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """The mask to add to the scores so that no position sees later ones: -inf above the diagonal, else 0."""
        return full((sz, sz), float("-inf"), dtype=dtype, device=device).triu(1)
