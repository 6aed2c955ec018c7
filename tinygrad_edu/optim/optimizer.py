"""`Optimizer`: groups of parameters, each with its settings, and a state for each parameter."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..autograd import grad_mode
from ..autograd.node import bump_version
from ..nn.parameter import clear_gradient
from ..tensor import Tensor, wrap

__all__ = ["Optimizer"]


class Optimizer:
    """The base of all optimisers: subclasses write `_update(p, grad, state, group)`, on arrays, or a `step` of their own."""

    # What a scheduler asks before its own first step.
    _opt_called = False

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                f"{type(params).__name__}. Put it in a list."
            )
        self.defaults = defaults
        self.state: defaultdict[Tensor, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with settings of their own: `{"params": …, "lr": …}`; each may come as a pair (name, parameter)."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        given = param_group["params"]
        if isinstance(given, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets will "
                "change between runs. Please use a list instead."
            )
        params = [given] if isinstance(given, Tensor) else list(given)
        group = {**param_group, "params": [p[1] if isinstance(p, tuple) else p for p in params]}
        names = [p[0] for p in params if isinstance(p, tuple)]
        if names:
            group["param_names"] = names
        if names and len(names) < len(params):
            raise ValueError("all optimizer params should be with/without names. Some param names are missing")
        if self.param_groups and ("param_names" in group) != ("param_names" in self.param_groups[0]):
            raise ValueError(
                "all optimizer param groups should be with/without names. cannot add param group "
                f"{'with' if names else 'without'} names to the optimizer"
            )
        known = {id(p) for other in self.param_groups for p in other["params"]}
        for p in group["params"]:
            if not isinstance(p, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(p).__name__}")
            if not (p.is_leaf or p.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor: it is computed from others. Give it those.")
            if id(p) in known:
                raise ValueError("some parameters appear in more than one parameter group")
        if len({id(p) for p in group["params"]}) < len(params):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error",
                stacklevel=3,
            )
        for name, default in self.defaults.items():
            group.setdefault(name, default)
        self.param_groups.append(group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients: to None, or to zeros."""
        for p in self._all():
            clear_gradient(p, set_to_none)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change each parameter by its gradient; `closure` computes the loss anew first and is returned."""
        self._opt_called = True
        loss = None
        if closure is not None:
            with grad_mode.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p._grad is None:
                    continue
                grad = p._grad._data
                if group["maximize"]:
                    grad = -grad
                if group["weight_decay"]:
                    if group.get("decoupled_weight_decay"):
                        p._data *= 1 - float(group["lr"]) * group["weight_decay"]
                    else:
                        grad = grad + group["weight_decay"] * p._data
                self._update(p._data, grad, self.state[p], group)
                # A write that autograd is to know of: what saved this parameter has lost its value.
                bump_version(p)
        return loss

    def _update(self, p: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        raise NotImplementedError

    def state_dict(self) -> dict[str, Any]:
        """The state by the number of each parameter, and the settings of the groups."""
        numbers = {id(p): i for i, p in enumerate(dict.fromkeys(self._all()))}
        groups = [
            {k: v for k, v in group.items() if k != "params"} | {"params": [numbers[id(p)] for p in group["params"]]}
            for group in self.param_groups
        ]
        return {"state": {numbers[id(p)]: kept for p, kept in self.state.items() if kept}, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a saved state, of this package or of PyTorch.

        Raises:
            ValueError: the groups do not match.
        """
        saved = state_dict["param_groups"]
        if len(saved) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        for group, kept in zip(self.param_groups, saved, strict=True):
            if len(group["params"]) != len(kept["params"]):
                raise ValueError(
                    "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
                )
            group.update({k: v for k, v in kept.items() if k != "params"})
        order = [number for kept in saved for number in kept["params"]]
        self.state.clear()
        for number, p in zip(order, self._all(), strict=True):
            if number in state_dict["state"]:
                self.state[p] = {k: _own(v, k, p) for k, v in state_dict["state"][number].items()}

    def _all(self) -> list[Tensor]:
        return [p for group in self.param_groups for p in group["params"]]

    def __repr__(self) -> str:
        groups = []
        for i, group in enumerate(self.param_groups):
            settings = [f"    {k}: {group[k]}" for k in sorted(group) if k != "params"]
            groups.append("\n".join([f"\nParameter Group {i}", *settings, ""]))
        return f"{type(self).__name__} (" + "".join(groups) + ")"


def _own(value: Any, key: str, p: Tensor) -> Any:
    """A copy of a saved value: an array, or a tensor of either engine, as a Tensor in the dtype of its parameter."""
    if isinstance(value, Tensor):
        value = value._data
    elif not hasattr(value, "__array__"):
        return value
    array = np.asarray(value)
    return wrap(array.astype(array.dtype if key == "step" else p._data.dtype))


def zeros_like(p: np.ndarray) -> Tensor:
    """A new part of a parameter's state."""
    return wrap(np.zeros_like(p))


def no_steps() -> Tensor:
    """The number of steps so far, as PyTorch keeps it."""
    return wrap(np.zeros((), np.float32))


def counted(state: dict[str, Any]) -> float:
    """The number of this step."""
    count = state["step"]._data
    count += 1
    return float(count)


def check_rate(lr: Any) -> None:
    """Refuse a learning rate that is negative, or a Tensor of several."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not lr >= 0:
        raise ValueError(f"Invalid learning rate: {lr}")


def at_least_zero(**settings: float) -> None:
    """Refuse negative settings."""
    names = {"eps": "epsilon value", "weight_decay": "weight_decay value", "momentum": "momentum value"}
    for name, value in settings.items():
        if not value >= 0:
            raise ValueError(f"Invalid {names.get(name, name + ' value')}: {value}")


def refuse(**settings: Any) -> None:
    """Refuse settings that are about other devices, or not built."""
    for name, value in settings.items():
        if value:
            raise NotImplementedError(f"{name}={value} is not built here; leave it out.")
