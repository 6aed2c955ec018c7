"""Initialization of weights: functions that fill a tensor in place (PyTorch: `torch.nn.init`)."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from ..array.absent import answer
from ..array.tensor import Tensor
from ..modes import bump_version
from ..ops.creation.random import even_like, normal_like

__all__ = ["calculate_gain", "constant_", "kaiming_normal_", "kaiming_uniform_", "normal_", "ones_", "orthogonal_"]
__all__ += ["trunc_normal_", "uniform_", "xavier_normal_", "xavier_uniform_", "zeros_"]


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """The number of inputs that each output depends on, and the number of outputs that each input affects."""
    if tensor.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor that compensates for how much a nonlinearity shrinks the standard deviation.

    >>> T.nn.init.calculate_gain("relu")
    1.4142135623730951
    """
    gains = {"tanh": 5 / 3, "relu": math.sqrt(2), "selu": 3 / 4}
    if nonlinearity == "leaky_relu":
        if not isinstance(param, float | int | None) or isinstance(param, bool):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity in gains:
        return gains[nonlinearity]
    if nonlinearity in ("linear", "sigmoid") or nonlinearity.rstrip("123d") in ("conv", "conv_transpose"):
        return 1.0
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def _fill(tensor: Tensor, array: Any) -> Tensor:
    tensor.numel()  # refused by a lazy parameter, whose shape is still unknown
    tensor._data[...] = array
    bump_version(tensor)
    return tensor


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with numbers from the uniform distribution over [a, b).

    >>> _ = T.manual_seed(0)
    >>> T.nn.init.uniform_(T.zeros(2), -1.0, 1.0)
    tensor([-0.0075,  0.5364])
    """
    return _fill(tensor, even_like(tensor._data, tensor.value.dtype, a, b, generator))


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with numbers from the normal distribution.

    >>> _ = T.manual_seed(0)
    >>> T.nn.init.normal_(T.zeros(2), std=0.1)
    tensor([ 0.1541, -0.0293])
    """
    return _fill(tensor, normal_like(tensor._data, tensor.value.dtype, mean, std, generator))


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one number.

    >>> layer = T.nn.Linear(2, 2)
    >>> T.nn.init.constant_(layer.bias, 0.5)
    Parameter containing:
    tensor([0.5000, 0.5000], requires_grad=True)
    """
    return _fill(tensor, val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with 1.

    >>> T.nn.init.ones_(T.empty(2))
    tensor([1., 1.])
    """
    return _fill(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with 0.

    >>> layer = T.nn.Linear(2, 2)
    >>> T.nn.init.zeros_(layer.bias)
    Parameter containing:
    tensor([0., 0.], requires_grad=True)
    """
    return _fill(tensor, 0.0)


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Uniform over ±gain·√(6/(fan_in + fan_out)). Keeps the deviation in both passes (Glorot and Bengio 2010).

    >>> _ = T.manual_seed(0)
    >>> T.nn.init.xavier_uniform_(T.empty(50, 100)).abs().max() <= (6 / 150) ** 0.5
    tensor(True)
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    bound = gain * math.sqrt(6 / (fan_in + fan_out))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Normal with standard deviation gain·√(2/(fan_in + fan_out)).

    >>> _ = T.manual_seed(0)
    >>> T.nn.init.xavier_normal_(T.empty(50, 100)).std()  # about √(2/150)
    tensor(0.1145)
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2 / (fan_in + fan_out)), generator)


def _kaiming(tensor: Tensor, a: float, mode: str, nonlinearity: str, fill: Any) -> Tensor:
    """`fill` with the standard deviation gain/√fan."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return tensor
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return fill(calculate_gain(nonlinearity, a) / math.sqrt(fan_in if mode == "fan_in" else fan_out))


def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Uniform with standard deviation gain/√fan. Preserves the standard deviation through ReLU layers (He et al. 2015).

    >>> _ = T.manual_seed(0)
    >>> T.nn.init.kaiming_uniform_(T.empty(50, 100), nonlinearity="relu").std()  # about √(2/100)
    tensor(0.1406)
    """
    return _kaiming(tensor, a, mode, nonlinearity, lambda std: uniform_(tensor, -(b := 3**0.5 * std), b, generator))


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Normal with standard deviation gain/√fan.

    >>> _ = T.manual_seed(0)
    >>> T.nn.init.kaiming_normal_(T.empty(50, 100), nonlinearity="relu").std()  # about √(2/100)
    tensor(0.1402)
    """
    return _kaiming(tensor, a, mode, nonlinearity, lambda std: normal_(tensor, 0.0, std, generator))


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Fill with a (semi-)orthogonal matrix whose rows or columns have length `gain`.

    >>> w = T.nn.init.orthogonal_(T.empty(3, 3))
    >>> T.allclose(w @ w.T, T.eye(3), atol=1e-6)
    True
    """
    if tensor.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    rows, columns = tensor.shape[0], math.prod(tensor.shape[1:])
    flat = normal_like(np.empty((rows, columns), tensor.value.dtype), tensor.value.dtype, 0.0, 1.0, generator)
    q, r = np.linalg.qr(flat if rows >= columns else flat.T)
    q *= np.sign(np.diag(r))
    return _fill(tensor, (gain * (q if rows >= columns else q.T)).reshape(tensor.shape))


def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> Tensor:
    """Fill with numbers from the normal distribution, truncated to [a, b].

    >>> _ = T.manual_seed(0)
    >>> T.nn.init.trunc_normal_(T.empty(100), a=-1.0, b=1.0).abs().max() <= 1
    tensor(True)
    """
    below, above = ((1 + math.erf((x - mean) / (std * math.sqrt(2)))) / 2 for x in (a, b))
    peak, like = max(a, min(mean, b)), tensor._data
    out = np.full(like.shape, np.nan)
    while (again := np.isnan(out)).any():
        if above - below > 0.3:
            drawn = normal_like(like, like.dtype, mean, std, generator)
            kept = (a <= drawn) & (drawn <= b)
        else:  # few normal numbers would fall inside: draw uniform ones, and accept them by the density
            drawn = even_like(like, like.dtype, a, b, generator)
            density = 0.5 * (((peak - mean) / std) ** 2 - ((drawn - mean) / std) ** 2)
            kept = np.log(even_like(like, like.dtype, 0.0, 1.0, generator)) <= density
        out = np.where(again & kept, drawn, out)
    return _fill(tensor, out)


def _older(function: Any) -> Any:
    """The function under its name without the underscore, as in PyTorch before 0.4."""
    name = function.__name__.rstrip("_")

    def call(*args: Any, **kwargs: Any) -> Tensor:
        warnings.warn(f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`.", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    call.__name__, call.__doc__ = name, f"The older name of `{name}_`."
    return call


uniform, normal, constant, orthogonal = map(_older, (uniform_, normal_, constant_, orthogonal_))
xavier_uniform, xavier_normal = map(_older, (xavier_uniform_, xavier_normal_))
kaiming_uniform, kaiming_normal = map(_older, (kaiming_uniform_, kaiming_normal_))

__getattr__ = answer(__name__)
