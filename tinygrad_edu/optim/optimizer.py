"""`Optimizer`: groups of parameters, each with its settings, and a state for each parameter."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..autograd import grad_mode
from ..tensor import Tensor, wrap

__all__ = ["Optimizer"]


class Optimizer:
    """The base of all optimisers: subclasses write `_update(p, grad, state, group)`, on arrays."""

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
        if isinstance(groups[0], tuple):
            groups = [p for _, p in groups]
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with settings of their own: `{"params": …, "lr": …}`."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        given = param_group["params"]
        params = [given] if isinstance(given, Tensor) else list(given)
        known = {id(p) for group in self.param_groups for p in group["params"]}
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(p).__name__}")
            if not p.is_leaf:
                raise ValueError("can't optimize a non-leaf Tensor: it is computed from others. Give it those.")
            if id(p) in known:
                raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append({**self.defaults, **param_group, "params": params})

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients: to None, or to zeros."""
        for group in self.param_groups:
            for p in group["params"]:
                if p._grad is not None:
                    if set_to_none:
                        p._grad = None
                    else:
                        p._grad = wrap(np.zeros_like(p._data))

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change each parameter by its gradient; `closure` computes the loss anew first and is returned."""
        loss = None
        if closure is not None:
            with grad_mode.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p._grad is None:
                    continue
                grad = p._grad._data
                if group.get("maximize"):
                    grad = -grad
                if group.get("weight_decay"):
                    if group.get("decoupled_weight_decay"):
                        p._data *= 1 - group["lr"] * group["weight_decay"]
                    else:
                        grad = grad + group["weight_decay"] * p._data
                self._update(p._data, grad, self.state[p], group)
                # A write that autograd is to know of: what saved this parameter has lost its value.
                if p._counter is None:
                    p._counter = [1]
                else:
                    p._counter[0] += 1
        return loss

    def _update(self, p: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        raise NotImplementedError

    def state_dict(self) -> dict[str, Any]:
        """The state by the number of each parameter, and the settings of the groups."""
        numbers = {id(p): i for i, p in enumerate(self._all())}
        groups = [
            {k: v for k, v in group.items() if k != "params"} | {"params": [numbers[id(p)] for p in group["params"]]}
            for group in self.param_groups
        ]
        state = {
            numbers[id(p)]: {k: wrap(v) if isinstance(v, np.ndarray) else v for k, v in kept.items()}
            for p, kept in self.state.items()
        }
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a saved state.

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
                self.state[p] = {k: _own(v) for k, v in state_dict["state"][number].items()}

    def _all(self) -> list[Tensor]:
        return [p for group in self.param_groups for p in group["params"]]

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {k}: {group[k]}" for k in sorted(group) if k != "params"]
        return "\n".join([*lines, ")"])


def _own(value: Any) -> Any:
    """A copy of a saved value: arrays, or tensors of either engine, become arrays."""
    if isinstance(value, Tensor):
        return value._data.copy()
    if isinstance(value, np.ndarray) or hasattr(value, "__array__"):
        array = np.asarray(value).copy()
        return array if array.ndim else array.item()
    return value


def at_least_zero(**settings: float) -> None:
    """Refuse negative settings."""
    names = {
        "lr": "learning rate",
        "eps": "epsilon value",
        "weight_decay": "weight_decay value",
        "momentum": "momentum value",
    }
    for name, value in settings.items():
        if not value >= 0:
            raise ValueError(f"Invalid {names.get(name, name + ' value')}: {value}")


def refuse(**settings: Any) -> None:
    """Refuse settings that are about speed on other devices, or not built."""
    for name, value in settings.items():
        if value:
            raise NotImplementedError(f"{name}={value} is not built here; leave it out.")
