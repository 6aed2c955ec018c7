"""Automatic differentiation: the graph, the engine that runs it backward, and what a user steers it with."""

from __future__ import annotations

from . import engine, forward_ad, function, grad_mode, graph, inplace
from .engine import backward, grad
from .function import Function
from .grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from .graph import GradientEdge

__all__ = [
    "Function",
    "GradientEdge",
    "backward",
    "enable_grad",
    "engine",
    "forward_ad",
    "function",
    "grad",
    "grad_mode",
    "graph",
    "inference_mode",
    "inplace",
    "no_grad",
    "set_grad_enabled",
]

