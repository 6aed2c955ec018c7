"""Activations, softmax, normalizations, losses, and the products and look-ups of layers."""

from ..binding import nn_functions
from . import activation, cross_entropy, layers, loss, normalization, rectifier, softmax

__all__ = [
    "activation", "cross_entropy", "layers", "loss", "nn_functions", "normalization", "rectifier", "softmax",
]  # fmt: skip
