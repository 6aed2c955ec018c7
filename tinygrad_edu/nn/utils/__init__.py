"""Helpers for gradients, parameters and sequences (PyTorch: `torch.nn.utils`)."""

from __future__ import annotations

from ...array.absent import answer
from . import rnn
from .clip_grad import clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from .convert_parameters import parameters_to_vector, vector_to_parameters

__all__ = ["clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm", "parameters_to_vector"]
__all__ += ["rnn", "vector_to_parameters"]

__getattr__ = answer(__name__)
