"""Neural networks: modules, parameters, layers, losses, and the functions behind them (PyTorch: `torch.nn`)."""

from __future__ import annotations

from ..seam.later import later, names_of
from . import activations, containers, functional, init, layers, losses, norms, utils
from .module import Module
from .parameter import Buffer, Parameter

_FAMILIES = (activations, containers, layers, losses, norms)

__all__ = ["Buffer", "Module", "Parameter", "functional", "init", "utils"]
for _family in _FAMILIES:
    globals().update({name: getattr(_family, name) for name in _family.__all__})
    __all__ += _family.__all__

# The names that programs import from `torch.nn.modules`: base classes of layers, hooks of all modules, and helpers.
_BELOW = {
    name: module
    for module, names in {
        "bases": (
            "_IncompatibleKeys _addindent _get_activation_fn _get_clones _ntuple _pair _quadruple _reverse_repeat_tuple _single "
            "_triple"
        ),
        "hooks": (
            "register_module_forward_hook register_module_forward_pre_hook register_module_full_backward_hook "
            "register_module_full_backward_pre_hook"
        ),
        "layers": "_DropoutNd",
        "losses": "_Loss _WeightedLoss",
        "modules": "modules",
        "norms": "_BatchNorm _NormBase",
    }.items()
    for name in names.split()
}

__getattr__ = later(__name__, "Write it as a custom Module, from the layers that exist here.", homes=_BELOW)
__all__ += [name for name in names_of("nn") if name[0].isupper()]
