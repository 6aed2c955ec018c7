"""Training helpers: gradient clipping, parameters as one vector (PyTorch: `torch.nn.utils`)."""

from __future__ import annotations

from ...seam.later import later
from .clip_grad import clip_grad_norm, clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm

__all__ = [
    "clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm", "parameters_to_vector",
    "vector_to_parameters",
]  # fmt: skip

__getattr__ = later(__name__, "Compute the weight in a Module's forward, as these helpers do.")
