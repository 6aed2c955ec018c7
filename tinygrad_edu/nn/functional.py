"""Activations, layers and losses as functions, with weights as arguments (PyTorch: `torch.nn.functional`)."""

from __future__ import annotations

import functools

from ..ops import functions
from ..ops.network import nn_functions
from ..seam.later import later, names_of

__all__ = sorted([*nn_functions, *names_of("nn.functional"), "sigmoid", "tanh"])

globals().update(nn_functions)
sigmoid = functions["sigmoid"]
tanh = functions["tanh"]

for _name in ("relu", "leaky_relu", "threshold"):
    globals()[f"{_name}_"] = functools.partial(nn_functions[_name], inplace=True)

__getattr__ = later(
    __name__,
    "You can write it as a custom Function: the docs show the way from a formula to a tested op.",
    nn_functions,
)
