"""Networks: modules with parameters, layers, losses, and their functions (PyTorch: `torch.nn`)."""

from __future__ import annotations

from ..compat.later import later
from . import (
    activations,
    attention,
    containers,
    functional,
    init,
    layers,
    losses,
    norms,
    padding,
    pooling,
    recurrent,
    transformer,
    utils,
)
from .module import Module
from .parameter import Buffer, Parameter

_FAMILIES = (activations, attention, containers, layers, losses, norms, padding, pooling, recurrent, transformer)

__all__ = ["Buffer", "Module", "Parameter", "functional", "init", "utils"]
for _family in _FAMILIES:
    globals().update({name: getattr(_family, name) for name in _family.__all__})
    __all__ += _family.__all__

_LATER = {
    "DataParallel": "parallel",
    "modules": "modules",
    "parallel": "parallel",
}

__getattr__ = later(__name__, _LATER, "Write it as a Module of your own, from the layers that are here.")
