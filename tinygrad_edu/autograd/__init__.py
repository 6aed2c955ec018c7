"""Automatic differentiation: the graph, the engine that runs it backward, and what a user steers it with."""

from __future__ import annotations

from ..seam.later import later
from . import engine, forward_ad, function, grad_mode, graph, inplace
from .anomaly_mode import detect_anomaly, set_detect_anomaly
from .engine import backward, grad
from .function import Function, NestedIOFunction
from .grad_mode import (
    enable_grad,
    inference_mode,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from .gradcheck import gradcheck, gradgradcheck
from .graph import GradientEdge
from .saved_tensor import SavedTensor
from .variable import Variable

__all__ = [
    "Function",
    "GradientEdge",
    "NestedIOFunction",
    "SavedTensor",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "engine",
    "forward_ad",
    "function",
    "functional",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "inplace",
    "is_multithreading_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
]

__getattr__ = later(__name__, "It is not built here: run the program on PyTorch.", homes={"functional": "functional"})
