"""Automatic differentiation: the graph, the engine that runs it backward, and what a user steers it with."""

from __future__ import annotations

import importlib
from typing import Any

from ..array.absent import answer
from . import engine, forward_ad, function, grad_mode, graph, inplace
from .anomaly_mode import detect_anomaly, set_detect_anomaly
from .engine import backward, grad
from .function import Function
from .grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from .gradcheck import gradcheck, gradgradcheck
from .saved_tensor import SavedTensor
from .variable import Variable

__all__ = ["Function", "SavedTensor", "Variable", "backward", "detect_anomaly", "enable_grad", "engine", "forward_ad"]
__all__ += ["function", "functional", "grad", "grad_mode", "gradcheck", "gradgradcheck", "graph", "inference_mode"]
__all__ += ["inplace", "no_grad", "set_detect_anomaly", "set_grad_enabled"]

_missing = answer(__name__)


def __getattr__(name: str) -> Any:
    if name == "functional":  # it stands above the ops, which this package is below
        return importlib.import_module(f"{__name__}.functional")
    return _missing(name)
