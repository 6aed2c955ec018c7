"""`Optimizer`: groups of parameters, each with its own settings, and a state per parameter."""

from __future__ import annotations

import copy
import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from operator import is_
from typing import Any

import numpy as np

from ..array.absent import answer
from ..array.dtypes import float64, get_default_dtype
from ..array.tensor import Tensor, wrap
from ..autograd import grad_mode
from ..autograd.hooks import RemovableHandle, add_hook
from ..modes import bump_version
from ..nn.parameter import clear_gradient
from .together import Together

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

__getattr__ = answer(__name__)

Hook = Callable[..., Any]

# The hooks of all optimizers.
_before_each_step: dict[int, Hook] = OrderedDict()
_after_each_step: dict[int, Hook] = OrderedDict()


def register_optimizer_step_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` before each step of every optimizer. It may return new `(args, kwargs)`."""
    return add_hook(_before_each_step, hook)


def register_optimizer_step_post_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` after each step of every optimizer."""
    return add_hook(_after_each_step, hook)


def _hooked(step: Callable[..., Any]) -> Callable[..., Any]:

    @functools.wraps(step)
    def call(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        self._opt_called = True
        if not (_before_each_step or _after_each_step):
            return step(self, *args, **kwargs)
        # As in PyTorch, the arguments that a hook sees start with the optimizer.
        whole: tuple[Any, ...] = (self, *args)
        for hook in list(_before_each_step.values()):
            changed = hook(self, whole, kwargs)
            if changed is not None:
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(
                        f"{step} must return None or a tuple of (new_args, new_kwargs), but got {changed}."
                    )
                whole, kwargs = changed
        out = step(*whole, **kwargs)
        for hook in list(_after_each_step.values()):
            hook(self, whole, kwargs)
        return out

    return call


class Optimizer:
    """The base class. Subclasses define `_update(p, grad, state, group)`, which works on arrays, or their own `step`.

    >>> class SignDescent(T.optim.Optimizer):
    ...     def __init__(self, params, lr):
    ...         super().__init__(params, {"lr": lr})
    ...     @T.no_grad()
    ...     def step(self):
    ...         for group in self.param_groups:
    ...             for p in group["params"]:
    ...                 p -= group["lr"] * p.grad.sign()
    >>> w = T.tensor([3.0, -2.0], requires_grad=True)
    >>> optimizer = SignDescent([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([ 2.5000, -1.5000], requires_grad=True)
    """

    # A scheduler reads this before its own first step.
    _opt_called = False
    # True if `_update` treats each element separately, and its state holds only the step and arrays shaped like p.
    _elementwise = False

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        if "step" in cls.__dict__:
            cls.step = _hooked(cls.step)  # type: ignore[method-assign]

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                f"{params.type()}. Put it in a list."
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
        """Add parameters with their own settings: `{"params": …, "lr": …}`."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        given = param_group["params"]
        if isinstance(given, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
                "will change between runs. Please use a list instead."
            )
        params = [given] if isinstance(given, Tensor) else list(given)
        group = {**param_group, "params": params}
        known = {id(p) for other in self.param_groups for p in other["params"]}
        for p in group["params"]:
            if not isinstance(p, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(p).__name__}")
            if not (p.is_leaf or p.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor: it is computed from others. Pass those instead.")
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
        """Reset the gradients: to None, or to zeros."""
        for p in self._all():
            clear_gradient(p, set_to_none)

    @_hooked
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update each parameter by its gradient. `closure`, if given, first recomputes the loss, which is returned."""
        if type(self)._update is Optimizer._update:
            raise NotImplementedError(f"{type(self).__name__} has no step: write one that changes each parameter")
        loss = None
        if closure is not None:
            with grad_mode.enable_grad():
                loss = closure()
        for number, group in enumerate(self.param_groups):
            params: list[Any] = [p for p in group["params"] if p._grad is not None]
            together = self._as_one(number, params) if self._elementwise and len(params) > 1 else None
            if together is not None:
                grads = together.gather()
                self._change(together.flat, grads, together.state, group)
                together.scatter()
            else:
                for p in params:
                    self._change(p._data, p._grad._data, self.state[p], group)
            for p in params:
                # A write that autograd must know about: nodes that saved this parameter have lost its old value.
                bump_version(p)
        return loss

    def _as_one(self, number: int, params: list[Tensor]) -> Together | None:
        """The parameters of a group, updated as one array. They must be the same as in the previous step."""
        known = self.__dict__.setdefault("_together", {})
        kept = all(p in self.state for p in params)  # a program may have cleared it
        states = [self.state[p] for p in params]
        before = known.get(number)
        if isinstance(before, Together) and before.holds(params, states):
            return before
        again = kept and isinstance(before, list) and len(before) == len(params) and all(map(is_, before, params))
        known[number] = Together(params, states) if again and Together.fits(params, states) else params
        return known[number] if isinstance(known[number], Together) else None

    def _change(self, p: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        if group.get("maximize"):
            grad = -grad
        if group.get("weight_decay"):
            if group.get("decoupled_weight_decay"):
                p *= 1 - float(group["lr"]) * group["weight_decay"]
            else:
                grad = grad + group["weight_decay"] * p
        self._update(p, grad, state, group)

    def _update(self, p: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def state_dict(self) -> dict[str, Any]:
        """The state of each parameter, by its number, and the settings of the groups."""
        numbers: dict[int, int] = {}
        groups, start = [], 0
        for group in self.param_groups:
            for i, p in enumerate(group["params"], start):
                numbers.setdefault(id(p), i)
            start += len(group["params"])
            packed = {k: v for k, v in group.items() if k != "params"}
            groups.append(packed | {"params": [numbers[id(p)] for p in group["params"]]})
        # A program may store state under a key that is not a parameter; it keeps that key.
        state = {numbers[id(k)] if isinstance(k, Tensor) else k: v for k, v in self.state.items() if v != {}}
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore a saved state: Tensors, arrays, or another engine's tensors."""
        saved = copy.deepcopy(state_dict["param_groups"])
        if len(saved) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        for group, kept in zip(self.param_groups, saved, strict=True):
            if len(group["params"]) != len(kept["params"]):
                raise ValueError(
                    "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
                )
        order = [number for kept in saved for number in kept["params"]]
        named = dict(zip(order, self._all(), strict=True))
        state: defaultdict[Any, Any] = defaultdict(dict)
        for index, kept in state_dict["state"].items():
            if index not in named:
                state[index] = kept
                continue
            p = named[index]
            state[p] = _own(kept, None, p)
        groups = [{**kept, "params": group["params"]} for group, kept in zip(self.param_groups, saved, strict=True)]
        self.__setstate__({"state": state, "param_groups": groups})

    def _all(self) -> list[Tensor]:
        return [p for group in self.param_groups for p in group["params"]]

    def __repr__(self) -> str:
        groups = []
        for i, group in enumerate(self.param_groups):
            settings = [f"    {k}: {group[k]}" for k in sorted(group) if k != "params"]
            groups.append("\n".join([f"\nParameter Group {i}", *settings, ""]))
        return f"{type(self).__name__} (" + "".join(groups) + ")"


def _own(value: Any, key: Any, p: Tensor) -> Any:
    """A copy of a saved value. Arrays and tensors of either engine become Tensors in their parameter's dtype."""
    if isinstance(value, dict):
        return {k: _own(v, k, p) for k, v in value.items()}
    if isinstance(value, Tensor):
        value = value._data
    elif isinstance(value, list | tuple):
        return type(value)(_own(v, None, p) for v in value)
    elif not hasattr(value, "__array__"):
        return value
    array = np.asarray(value)
    return wrap(array.astype(array.dtype if key == "step" else p.value.dtype))


def zeros_like(p: np.ndarray) -> Tensor:
    """A new entry of a parameter's state."""
    return wrap(np.zeros_like(p))


def number(value: float) -> Tensor:
    """A number of a parameter's state, in the form in which PyTorch stores it: float64 only if that is the default."""
    return wrap(np.asarray(value, np.float64 if get_default_dtype() is float64 else np.float32))


no_steps = functools.partial(number, 0)  # a step count


def counted(state: dict[str, Any]) -> float:
    """The number of the current step."""
    count = state["step"]._data
    count += 1
    return float(count)


def averaged(mean: np.ndarray, grad: np.ndarray, weight: float) -> None:
    """Move a running mean towards a gradient, in place; an error if their dtype changed since the first step."""
    if mean.dtype != grad.dtype and mean.dtype.kind == grad.dtype.kind == "f":
        raise RuntimeError(
            f"expected dtype {mean.dtype} for `end` but got dtype {grad.dtype}: the state is of the dtype that the "
            "parameters had. Convert the model before its first step, or make a new optimizer."
        )
    mean += (grad - mean) * weight


_NAMES = {"eps": "epsilon value", "weight_decay": "weight_decay value", "momentum": "momentum value"}
_NEVER_NEGATIVE = {*_NAMES, "lr_decay", "initial_accumulator_value"}


def checked(arguments: dict[str, Any]) -> dict[str, Any]:
    """The settings among the `locals()` of an optimizer's `__init__`, with those that all optimizers share checked."""
    settings = {name: value for name, value in arguments.items() if name not in ("self", "params", "__class__")}
    for name, value in settings.items():
        if name == "lr":
            _check_rate(value)
        elif name == "betas":
            _check_betas(value)
        elif name in _NEVER_NEGATIVE and not value >= 0:
            raise ValueError(f"Invalid {_NAMES.get(name, name + ' value')}: {value}")
        elif name in ("differentiable", "capturable") and value:
            raise NotImplementedError(f"{name}={value} is not built here; leave it out.")
    if settings.get("fused") and settings.get("foreach"):
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
    return settings


def _check_rate(lr: Any) -> None:
    """Raise for a negative learning rate, or for a Tensor with several elements."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not 0.0 <= lr:  # noqa: SIM300 - so Python names both types in the order of PyTorch
        raise ValueError(f"Invalid learning rate: {lr}")


def _check_betas(betas: tuple[Any, Any]) -> None:
    """Raise for a decay rate outside [0, 1)."""
    if isinstance(betas[0], Tensor) != isinstance(betas[1], Tensor):
        raise ValueError("betas must be either both floats or both Tensors")
    for i, beta in enumerate(betas):
        if not 0 <= beta < 1:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
