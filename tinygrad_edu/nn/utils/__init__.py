"""Training helpers: gradient clipping, parameters as one vector (PyTorch: `torch.nn.utils`)."""

from __future__ import annotations

from ...compat.later import later
from . import rnn
from .clip_grad import clip_grad_norm, clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from .convert_parameters import parameters_to_vector, vector_to_parameters
from .init import skip_init

__all__ = [
    "clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm", "parameters_to_vector",
    "rnn", "skip_init", "vector_to_parameters",
]  # fmt: skip

__getattr__ = later(
    __name__,
    {
        **dict.fromkeys(("remove_spectral_norm", "remove_weight_norm", "spectral_norm", "weight_norm"), "weights"),
        **dict.fromkeys(
            ("fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"), "fusion"
        ),
        **{name: name for name in ("fusion", "parametrizations", "parametrize", "prune")},
    },
    "Compute the weight in a Module's forward, as these helpers do.",
)
