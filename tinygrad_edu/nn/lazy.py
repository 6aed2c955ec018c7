"""Layers that infer the size of their input in the first call: `LazyLinear`, … (PyTorch: `torch.nn.modules.lazy`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.grad_mode import no_grad
from ..tensor import Tensor
from . import layers, norms, rarer
from .layers import Linear
from .module import Module
from .parameter import Parameter

__all__ = [
    "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "LazyConv1d", "LazyConv2d", "LazyConv3d", "LazyConvTranspose1d",
    "LazyConvTranspose2d", "LazyConvTranspose3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d", "LazyInstanceNorm3d", "LazyLinear",
    "UninitializedParameter",
]  # fmt: skip


class UninitializedParameter(Parameter):
    """A parameter whose shape is still unknown.

    >>> import tinygrad_edu as T
    >>> layer = T.nn.LazyLinear(2)
    >>> layer.weight
    <UninitializedParameter>
    >>> _ = layer(T.ones(5, 3))
    >>> layer.weight.shape
    tinygrad_edu.Size([2, 3])
    """

    @property
    def shape(self) -> Any:
        """Refused: the shape is still unknown."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. Call the module on an input first: that "
            "determines the size."
        )

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Turn into an ordinary parameter of this shape, filled with zeros."""
        self._data = np.zeros(tuple(shape), self._data.dtype)
        self.__class__ = Parameter  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "<UninitializedParameter>"

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        new = type(self)(requires_grad=self._requires_grad)
        new._data = self._data.copy()
        memo[id(self)] = new
        return new


class _Lazy(Module):
    """The first call determines the input's size. The parameters are then drawn, and the layer becomes an ordinary one."""

    _becomes: type[Module]
    _size = ""  # the attribute that is inferred

    def _begin(self, *names: str) -> None:
        for name in names:
            known = getattr(self, name)
            if known is not None:
                self._parameters[name] = waiting = UninitializedParameter()
                waiting._data = known._data

    def has_uninitialized_params(self) -> bool:
        """True before the first call."""
        return any(isinstance(p, UninitializedParameter) for p in self._parameters.values())

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        raise NotImplementedError

    def reset_parameters(self) -> None:
        """Draw new random parameters, if there are any yet."""
        if not self.has_uninitialized_params() and getattr(self, self._size):
            super().reset_parameters()  # type: ignore[misc, call-arg]

    def initialize_parameters(self, input: Tensor) -> None:
        """Infer the size from `input`, and draw the parameters."""
        setattr(self, self._size, input.shape[self._axis(input)])
        with no_grad():
            for name, shape in self._shapes().items():
                p = self._parameters[name]
                if isinstance(p, UninitializedParameter):
                    p.materialize(shape)
            self._finish()
            self.__class__ = self._becomes  # type: ignore[assignment]
            self.reset_parameters()

    def _axis(self, input: Tensor) -> int:
        return -1

    def _finish(self) -> None:
        pass

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.initialize_parameters(args[0])
        return self(*args, **kwargs)


class LazyLinear(_Lazy, Linear):
    """A `Linear` that infers in_features from its first input.

    >>> import tinygrad_edu as T
    >>> layer = T.nn.LazyLinear(2)
    >>> layer(T.ones(5, 3)).shape, layer.weight.shape
    (tinygrad_edu.Size([5, 2]), tinygrad_edu.Size([2, 3]))
    """

    _becomes, _size = Linear, "in_features"

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        Linear.__init__(self, 0, 0, bias, device, dtype)
        self.out_features = out_features
        self._begin("weight", "bias")

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {"weight": (self.out_features, self.in_features), "bias": (self.out_features,)}


class _LazyConv(_Lazy):
    _size = "in_channels"

    def __init__(self, out_channels: int, kernel_size: Any, *args: Any, **kwargs: Any) -> None:
        self._becomes.__init__(self, 0, 0, kernel_size, *args, **kwargs)  # type: ignore[misc, call-arg]
        self.in_channels, self.out_channels = 0, out_channels
        if out_channels % self.groups:
            raise ValueError("out_channels must be divisible by groups")
        self._begin("weight", "bias")

    def _axis(self, input: Tensor) -> int:
        dims = len(self.kernel_size)
        if input.ndim not in (dims + 1, dims + 2):
            raise RuntimeError(
                f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {type(self).__name__}, but got input of "
                f"size: {list(input.shape)}"
            )
        return -dims - 1

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        channels = (self.in_channels, self.out_channels // self.groups)
        if not self.transposed:
            channels = (self.out_channels, self.in_channels // self.groups)
        return {"weight": (*channels, *self.kernel_size), "bias": (self.out_channels,)}


class _LazyNorm(_Lazy):
    _size = "num_features"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._becomes.__init__(self, 0, *args, **kwargs)  # type: ignore[misc, call-arg]
        self._begin("weight", "bias")

    def _axis(self, input: Tensor) -> int:
        self._check_input_dim(input)
        return 1 if input.ndim == max(self._dims) or input.ndim == 2 else 0

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        n = (self.num_features,)
        return {name: n for name in ("weight", "bias") if self._parameters.get(name) is not None}

    def _finish(self) -> None:
        for name in ("running_mean", "running_var"):
            buffer = self._buffers.get(name)
            if buffer is not None:
                buffer._data = np.zeros(self.num_features, buffer._data.dtype)

    def has_uninitialized_params(self) -> bool:
        return self.num_features == 0


_DOC = """A `{name}` that infers {size} from its first input.

>>> import tinygrad_edu as T
>>> layer = T.nn.Lazy{name}({arguments})
>>> _ = layer(T.ones({shape}))
>>> layer.{size}
3
"""


def _lazily(base: type, kind: type[Module]) -> Any:
    size = getattr(base, "_size")  # noqa: B009
    arguments = "2, kernel_size=1" if base is _LazyConv else ""
    shape = ", ".join("23456"[: int(kind.__name__[-2]) + 2])
    doc = _DOC.format(name=kind.__name__, size=size, arguments=arguments, shape=shape)
    return type(f"Lazy{kind.__name__}", (base, kind), {"_becomes": kind, "__doc__": doc, "__module__": __name__})


LazyConv1d, LazyConv2d, LazyConv3d = (
    _lazily(_LazyConv, getattr(layers if n < 3 else rarer, f"Conv{n}d")) for n in (1, 2, 3)
)
LazyConvTranspose1d, LazyConvTranspose2d, LazyConvTranspose3d = (
    _lazily(_LazyConv, getattr(layers if n < 3 else rarer, f"ConvTranspose{n}d")) for n in (1, 2, 3)
)
LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d = (
    _lazily(_LazyNorm, getattr(norms, f"BatchNorm{n}d")) for n in (1, 2, 3)
)
LazyInstanceNorm1d, LazyInstanceNorm2d, LazyInstanceNorm3d = (
    _lazily(_LazyNorm, getattr(norms, f"InstanceNorm{n}d")) for n in (1, 2, 3)
)
