"""Activation functions as modules."""

from __future__ import annotations

from typing import Any

from ..array.tensor import Tensor
from ..autograd.grad_mode import no_grad
from ..ops import functions
from ..ops.creation.factories import full
from . import functional as F
from .module import Module
from .parameter import Parameter

__all__ = ["ELU", "GELU", "GLU", "SELU", "Hardsigmoid", "Hardswish", "Hardtanh", "Identity", "LeakyReLU", "LogSigmoid"]
__all__ += ["LogSoftmax", "Mish", "PReLU", "ReLU", "ReLU6", "SiLU", "Sigmoid", "Softmax", "Softmin", "Softplus"]
__all__ += ["Softsign"]
__all__ += ["Tanh"]


class Identity(Module):
    """Returns its input.

    >>> T.nn.Identity()(T.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        return input


class _Activation(Module):
    """An activation function with its settings. They are printed."""

    _function: Any = None
    _settings: dict[str, Any]
    _hides_inplace = False  # some do not print that they write in place

    def forward(self, input: Tensor) -> Tensor:
        return type(self)._function(input, **{name: getattr(self, name) for name in self._settings})

    def extra_repr(self) -> str:
        # As in PyTorch: `inplace` is printed if it is on.
        shown = [n for n in self._settings if n != "inplace" or (self.inplace and not type(self)._hides_inplace)]
        return ", ".join(f"{n}={getattr(self, n)!r}" for n in shown)


def _activation(name: str, function: str, **defaults: Any) -> type[_Activation]:
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

    body = {"__init__": __init__, "_function": staticmethod(call), "_settings": defaults, "__module__": __name__}
    body["__doc__"] = f"`{function}` as a module. {(call.__doc__ or '').strip()}"
    return type(name, (_Activation,), body)


ReLU = _activation("ReLU", "relu", inplace=False)
LeakyReLU = _activation("LeakyReLU", "leaky_relu", negative_slope=0.01, inplace=False)
Sigmoid = _activation("Sigmoid", "sigmoid")
Tanh = _activation("Tanh", "tanh")
ELU = _activation("ELU", "elu", alpha=1.0, inplace=False)
SELU = _activation("SELU", "selu", inplace=False)
GELU = _activation("GELU", "gelu", approximate="none")
SiLU = _activation("SiLU", "silu", inplace=False)
Mish = _activation("Mish", "mish", inplace=False)
Softplus = _activation("Softplus", "softplus", beta=1.0, threshold=20.0)
Softsign = _activation("Softsign", "softsign")
Hardtanh = _activation("Hardtanh", "hardtanh", min_val=-1.0, max_val=1.0, inplace=False)
ReLU6 = _activation("ReLU6", "relu6", inplace=False)
Hardsigmoid = _activation("Hardsigmoid", "hardsigmoid", inplace=False)
Hardswish = _activation("Hardswish", "hardswish", inplace=False)
Hardsigmoid._hides_inplace = Hardswish._hides_inplace = True
GLU = _activation("GLU", "glu", dim=-1)
LogSigmoid = _activation("LogSigmoid", "logsigmoid")
Softmax = _activation("Softmax", "softmax", dim=None)
Softmin = _activation("Softmin", "softmin", dim=None)
LogSoftmax = _activation("LogSoftmax", "log_softmax", dim=None)


class PReLU(Module):
    """A ReLU with a learned slope below 0: one for all channels, or one per channel.

    >>> T.nn.PReLU()(T.tensor([-1.0, 2.0])).detach()
    tensor([-0.2500,  2.0000])
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(full((num_parameters,), init, dtype=dtype, device=device))

    def reset_parameters(self) -> None:
        """Reset the slopes to `init`."""
        with no_grad():
            self.weight.fill_(self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"
