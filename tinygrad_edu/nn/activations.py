"""Activation functions as modules."""

from __future__ import annotations

from typing import Any

from ..array.tensor import Tensor
from ..ops import functions
from . import functional as F
from .module import Module

__all__ = [
    "Identity", "LeakyReLU", "LogSigmoid", "LogSoftmax", "ReLU", "Sigmoid", "Softmax", "Softmin", "Tanh", "Threshold",
]  # fmt: skip


class Identity(Module):
    """Returns its input.

    >>> import tinygrad_edu as T
    >>> T.nn.Identity()(T.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        return input


class _Activation(Module):
    """An activation function with its settings. Settings that differ from the `_hidden` defaults are printed."""

    _function: Any = None
    _settings: dict[str, Any]
    _hides_inplace = False  # some do not print that they write in place

    def forward(self, input: Tensor) -> Tensor:
        return type(self)._function(input, **{name: getattr(self, name) for name in self._settings})

    def extra_repr(self) -> str:
        # As in PyTorch: `inplace` is printed if it is on, and a shrinking threshold is printed without its name.
        shown = [n for n in self._settings if n != "inplace" or (self.inplace and not type(self)._hides_inplace)]
        return ", ".join(repr(getattr(self, n)) if n == "lambd" else f"{n}={getattr(self, n)!r}" for n in shown)


def _activation(name: str, function: str, *, module: str = __name__, **defaults: Any) -> type[_Activation]:
    call = getattr(F, function, None) or functions[function]

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        Module.__init__(self)
        if len(args) > len(defaults):
            raise TypeError(f"{name}() takes {len(defaults)} arguments, {len(args)} were given")
        given = {**defaults, **dict(zip(defaults, args, strict=False)), **kwargs}
        unknown = given.keys() - defaults.keys()
        if unknown:
            raise TypeError(f"{name}.__init__() got an unexpected keyword argument '{unknown.pop()}'")
        for key, value in given.items():
            object.__setattr__(self, key, value)

    body = {"__init__": __init__, "_function": staticmethod(call), "_settings": defaults, "__module__": module}
    body["__doc__"] = f"`{function}` as a module. {(call.__doc__ or '').strip()}"
    return type(name, (_Activation,), body)


ReLU = _activation("ReLU", "relu", inplace=False)
LeakyReLU = _activation("LeakyReLU", "leaky_relu", negative_slope=0.01, inplace=False)
Sigmoid = _activation("Sigmoid", "sigmoid")
Tanh = _activation("Tanh", "tanh")
LogSigmoid = _activation("LogSigmoid", "logsigmoid")
Threshold = _activation("Threshold", "threshold", threshold=0.0, value=0.0, inplace=False)
Softmax = _activation("Softmax", "softmax", dim=None)
Softmin = _activation("Softmin", "softmin", dim=None)
LogSoftmax = _activation("LogSoftmax", "log_softmax", dim=None)
