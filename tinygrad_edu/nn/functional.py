"""The functions of networks, without the weights: activations, layers, losses (PyTorch: `torch.nn.functional`)."""

from __future__ import annotations

from typing import Any

from ..ops import functions, nn_functions

__all__ = sorted([*nn_functions, "sigmoid", "tanh"])

globals().update(nn_functions)
sigmoid = functions["sigmoid"]
tanh = functions["tanh"]


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"tinygrad_edu.nn.functional has no {name!r}. What is not here can be written as a Function: the docs take an op "
        "from its formula to its test."
    )
