"""Transformers: layers of attention with what stands around it."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np

from ..array.tensor import Tensor, wrap
from ..autograd.grad_mode import is_grad_enabled
from ..ops.creation.factories import full
from ..ops.indexing.masking import where
from . import functional as F
from . import init
from .attention import MultiheadAttention, additive
from .containers import ModuleList
from .layers import Dropout, Linear
from .module import Module
from .norms import LayerNorm

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]


class TransformerEncoderLayer(Module):
    """Self-attention, then a feed-forward network for each position; each with a residual connection and a norm.

    Sequences have shape (L, N, d_model), or (N, L, d_model) with `batch_first`.

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


class TransformerDecoderLayer(TransformerEncoderLayer):
    """As the encoder layer, with attention to the encoder's output between its two parts.

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


class TransformerEncoder(Module):
    """A stack of copies of an encoder layer, with an optional norm at the end.

    >>> layer = T.nn.TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16, batch_first=True)
    >>> T.nn.TransformerEncoder(layer, num_layers=2)(T.randn(2, 5, 8)).shape
    tinygrad_edu.Size([2, 5, 8])
    """

    def __init__(
        self, encoder_layer, num_layers: int, norm=None, enable_nested_tensor: bool = True, mask_check: bool = True
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


class TransformerDecoder(Module):
    """A stack of copies of a decoder layer, with an optional norm at the end.

    >>> layer = T.nn.TransformerDecoderLayer(d_model=8, nhead=2)
    >>> T.nn.TransformerDecoder(layer, num_layers=2)(T.zeros(4, 3, 8), T.zeros(5, 3, 8)).shape
    tinygrad_edu.Size([4, 3, 8])
    """

    def __init__(self, decoder_layer: Any, num_layers: int, norm: Any = None) -> None:
        super().__init__()
        self.layers = ModuleList(copy.deepcopy(decoder_layer) for _ in range(num_layers))
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
        masks = tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask
        for layer in self.layers:
            tgt = layer(tgt, memory, *masks, _is_causal(tgt_mask, tgt_is_causal), memory_is_causal)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder for the source, and a decoder for the target that attends to the encoder's output.

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
        sizes, kind = (d_model, nhead, dim_feedforward, dropout), (batch_first, norm_first, bias, device, dtype)
        layer = (*sizes, activation, layer_norm_eps, *kind)
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
        batch = 0 if self.batch_first else 1
        if src.ndim == 3 and src.size(batch) != tgt.size(batch):
            raise RuntimeError("the batch number of src and tgt must be equal")
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        masks = tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask
        return self.decoder(tgt, memory, *masks, tgt_is_causal, memory_is_causal)

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """The mask to add to the scores so that no position sees later ones: -inf above the diagonal, else 0."""
        mask = full((sz, sz), float("-inf"), dtype=dtype, device=device)
        mask._data[np.tri(sz, dtype=bool)] = 0
        return mask
