"""Weights computed before each forward: `weight_norm` and `spectral_norm` (PyTorch: `torch.nn.utils`)."""

from __future__ import annotations

import warnings
from typing import Any

from ...array.tensor import Tensor
from ...autograd.grad_mode import no_grad
from ...nn.module import Module
from ...nn.parameter import Parameter
from ...ops import functions as ops
from ...ops import nn_functions

__all__ = ["remove_spectral_norm", "remove_weight_norm", "spectral_norm", "weight_norm"]


class _BeforeForward:
    """A forward pre-hook that computes one weight of a module from the parameters that replace it."""

    name = ""

    def compute(self, module: Module, training: bool) -> Tensor:
        raise NotImplementedError

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute(module, module.training))


def _kept(module: Module, name: str, kind: Any) -> tuple[int, Any]:
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, kind) and hook.name == name:
            return key, hook
    raise ValueError(f"{kind.__name__} of '{name}' not found in {module}")


class WeightNorm(_BeforeForward):
    """weight_norm: a weight as the product of its norm g and its direction v (Salimans and Kingma 2016)."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name, self.dim = name, dim

    def _length(self, v: Tensor) -> Tensor:
        if self.dim is None:
            return ops["norm"](v)
        others = tuple(d for d in range(v.ndim) if d != self.dim % v.ndim)
        return v.norm(2, others, True) if others else v.abs()

    def compute(self, module: Module, training: bool) -> Tensor:
        g, v = getattr(module, f"{self.name}_g"), getattr(module, f"{self.name}_v")
        return v * (g / self._length(v))


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Replace a weight by `name_g`, its norms along `dim`, and `name_v`, its direction."""
    warnings.warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=2,
    )
    weight, rule = getattr(module, name), WeightNorm(name, dim)
    del module._parameters[name]
    module.register_parameter(f"{name}_g", Parameter(rule._length(weight).data))
    module.register_parameter(f"{name}_v", Parameter(weight.data))
    setattr(module, name, rule.compute(module, False))
    module.register_forward_pre_hook(rule)
    return module


def _restored(module: Module, name: str, kind: type, names: tuple[str, ...]) -> Module:
    key, rule = _kept(module, name, kind)
    weight = rule.compute(module, False).detach()
    delattr(module, name)
    for own in names:
        module._parameters.pop(own, None)
        module._buffers.pop(own, None)
    module.register_parameter(name, Parameter(weight))
    del module._forward_pre_hooks[key]
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Make it an ordinary weight again."""
    return _restored(module, name, WeightNorm, (f"{name}_g", f"{name}_v"))


class SpectralNorm(_BeforeForward):
    """spectral_norm: a weight divided by its largest singular value, found by power iteration (Miyato et al. 2018)."""

    def __init__(self, name: str, iterations: int, dim: int, eps: float) -> None:
        if iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={iterations}")
        self.name, self.n_power_iterations, self.dim, self.eps = name, iterations, dim, eps

    def matrix(self, weight: Tensor) -> Tensor:
        moved = weight.movedim(self.dim, 0) if self.dim else weight
        return moved.reshape(moved.shape[0], -1)

    def compute(self, module: Module, training: bool) -> Tensor:
        weight = getattr(module, f"{self.name}_orig")
        u, v = getattr(module, f"{self.name}_u"), getattr(module, f"{self.name}_v")
        matrix, normalize = self.matrix(weight), nn_functions["normalize"]
        if training:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(normalize(matrix.t() @ u, dim=0, eps=self.eps))
                    u.copy_(normalize(matrix @ v, dim=0, eps=self.eps))
        u, v = u.clone(), v.clone()
        return weight / ops["dot"](u, matrix @ v)


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide a weight by its largest singular value before each forward. The trained parameter is `name_orig`."""
    if dim is None:
        dim = 1 if "ConvTranspose" in type(module).__name__ else 0
    rule, weight = SpectralNorm(name, n_power_iterations, dim, eps), module._parameters[name]
    if weight is None:
        raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
    normalize = nn_functions["normalize"]
    with no_grad():
        rows, columns = rule.matrix(weight).shape
        u = normalize(weight.new_empty(rows).normal_(0, 1), dim=0, eps=eps)
        v = normalize(weight.new_empty(columns).normal_(0, 1), dim=0, eps=eps)
    del module._parameters[name]
    module.register_parameter(f"{name}_orig", weight)
    setattr(module, name, weight.data)
    module.register_buffer(f"{name}_u", u)
    module.register_buffer(f"{name}_v", v)
    module.register_forward_pre_hook(rule)
    return module


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Make it an ordinary weight again, with the value that forward used last."""
    return _restored(module, name, SpectralNorm, (f"{name}_orig", f"{name}_u", f"{name}_v"))
