"""Layers that infer the size of their input in the first call: `LazyLinear`, … (PyTorch: `torch.nn.modules.lazy`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..array.tensor import Tensor, wrap
from .convolution import Conv1d, Conv2d, Conv3d
from .layers import Linear
from .module import Module
from .norms import BatchNorm1d, BatchNorm2d, BatchNorm3d
from .parameter import Parameter

__all__ = ["LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "LazyConv1d", "LazyConv2d", "LazyConv3d"]
__all__ += ["LazyLinear", "UninitializedParameter"]

# What a program asks a parameter for that has no numbers yet.
_OF_NUMBERS = {"clone", "data", "dim", "fill_", "flatten", "item", "max", "mean", "min", "ndim", "nelement", "norm"}
_OF_NUMBERS |= {"normal_", "numel", "numpy", "reshape", "size", "std", "sum", "tolist", "uniform_", "view", "zero_"}


class UninitializedParameter(Parameter):
    """A parameter whose shape is still unknown.

    >>> layer = T.nn.LazyLinear(2)
    >>> layer.weight
    <UninitializedParameter>
    >>> _ = layer(T.ones(5, 3))
    >>> layer.weight.shape
    tinygrad_edu.Size([2, 3])
    """

    def __getattribute__(self, name: str) -> Any:
        if name in _OF_NUMBERS:
            raise ValueError(
                f"Attempted to use an uninitialized parameter in {name}(). Call the module on an input first: that "
                "determines the size, and draws the numbers."
            )
        return super().__getattribute__(name)

    @property
    def shape(self) -> Any:
        """Refused: the shape is still unknown."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. Call the module on an input first: that "
            "determines the size."
        )

    def detach(self) -> Tensor:
        """The parameter itself: a state_dict taken before the first call has the numbers after it."""
        return self

    def materialize(self, shape: Any) -> None:
        """Become an ordinary parameter of this shape, filled with zeros."""
        self._data = np.zeros(tuple(shape), self.value.dtype)
        self.__class__ = Parameter  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class _Lazy(Module):
    """The first call determines the input's size, and the layer becomes an ordinary one. Its parameters are then drawn,
    unless `load_state_dict` has given them their sizes and values."""

    _becomes: Any
    _size = ""  # the attribute that is inferred
    _axis = -1  # the dimension of the input with that size

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._becomes.__init__(self, 0, *args, **kwargs)
        self._begin = (args, kwargs)
        for name, p in self._parameters.items():
            if p is not None:
                self._parameters[name] = waiting = UninitializedParameter()
                waiting._data = p._data

    def reset_parameters(self) -> None:
        """Nothing yet: the first call draws the parameters."""

    def has_uninitialized_params(self) -> bool:
        """True before the first call, and before sizes are loaded."""
        return any(isinstance(p, UninitializedParameter) for p in self._parameters.values())

    def initialize_parameters(self, input: Tensor) -> None:
        """Infer the size from `input`, and draw the parameters if they have no values yet."""
        args, kwargs = self.__dict__.pop("_begin")
        drawn, size = self.has_uninitialized_params(), input.shape[self._axis]
        ordinary = object.__new__(type(self))  # which draws nothing: see `reset_parameters`
        self._becomes.__init__(ordinary, size, *args, **kwargs)
        setattr(self, self._size, size)
        for name, p in self._parameters.items():
            if isinstance(p, UninitializedParameter):
                p.materialize(ordinary.get_parameter(name).shape)
        for name, buffer in self._buffers.items():
            if buffer is not None and not buffer.numel():
                self._buffers[name] = ordinary.get_buffer(name).to(buffer.dtype)
        self.__class__ = self._becomes  # type: ignore[assignment]
        if drawn:
            self.reset_parameters()

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        for name, buffer in self._buffers.items():
            if buffer is not None and not buffer.numel() and prefix + name in state_dict:
                self._buffers[name] = wrap(np.zeros(state_dict[prefix + name].shape, buffer.value.dtype))
        super()._load_from_state_dict(state_dict, prefix, *args)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.initialize_parameters(args[0])
        return self(*args, **kwargs)


class LazyLinear(_Lazy, Linear):
    """A `Linear` that infers in_features from its first input.

    >>> layer = T.nn.LazyLinear(2)
    >>> layer(T.ones(5, 3)).shape, layer.weight.shape
    (tinygrad_edu.Size([5, 2]), tinygrad_edu.Size([2, 3]))
    """

    _becomes, _size = Linear, "in_features"


def _lazily(kind: Any, size: str, axis: int, arguments: str = "") -> Any:
    name, shape = kind.__name__, ", ".join("23456"[: int(kind.__name__[-2]) + 2])
    doc = f"""A `{name}` that infers {size} from its first input.

    >>> import tinygrad_edu as T
    >>> layer = T.nn.Lazy{name}({arguments})
    >>> _ = layer(T.ones({shape}))
    >>> layer.{size}
    3
    """
    own = {"_becomes": kind, "_size": size, "_axis": axis, "__doc__": doc, "__module__": __name__}
    return type(f"Lazy{name}", (_Lazy, kind), own)


LazyConv1d = _lazily(Conv1d, "in_channels", -2, "2, kernel_size=1")
LazyConv2d = _lazily(Conv2d, "in_channels", -3, "2, kernel_size=1")
LazyConv3d = _lazily(Conv3d, "in_channels", -4, "2, kernel_size=1")
LazyBatchNorm1d = _lazily(BatchNorm1d, "num_features", 1)
LazyBatchNorm2d = _lazily(BatchNorm2d, "num_features", 1)
LazyBatchNorm3d = _lazily(BatchNorm3d, "num_features", 1)
