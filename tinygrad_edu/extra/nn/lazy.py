"""Layers that infer the size of their input in the first call: `LazyLinear`, … (PyTorch: `torch.nn.modules.lazy`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import nn
from ...array.tensor import Tensor
from ...autograd.grad_mode import no_grad
from ...nn.layers import Linear
from ...nn.module import Module
from ...nn.parameter import Parameter

__all__ = [
    "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "LazyConv1d", "LazyConv2d", "LazyConv3d", "LazyConvTranspose1d",
    "LazyConvTranspose2d", "LazyConvTranspose3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d", "LazyInstanceNorm3d", "LazyLinear",
    "UninitializedParameter",
]  # fmt: skip


# What a program asks a parameter for that has no numbers yet.
_OF_NUMBERS = {
    "abs", "clone", "dim", "fill_", "flatten", "item", "max", "mean", "min", "nelement", "norm", "normal_", "numel", "numpy",
    "reshape", "std", "sum", "tolist", "uniform_", "var", "view", "zero_",
}  # fmt: skip


class _Uninitialized:
    """What a parameter and a buffer whose shape is still unknown have in common."""

    _plain: type[Tensor]
    _data: Any

    def __getattribute__(self, name: str) -> Any:
        if name in _OF_NUMBERS:
            raise ValueError(
                f"Attempted to use an uninitialized parameter in {name}(). Call the module on an input first: that determines "
                "the size, and draws the numbers."
            )
        return super().__getattribute__(name)

    @property
    def shape(self) -> Any:
        """Refused: the shape is still unknown."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. Call the module on an input first: that "
            "determines the size."
        )

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Turn into an ordinary tensor of this shape, filled with zeros."""
        self._data = np.zeros(tuple(shape), self._data.dtype)
        self.__class__ = self._plain  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class UninitializedParameter(_Uninitialized, Parameter):
    """A parameter whose shape is still unknown.

    >>> import tinygrad_edu as T
    >>> layer = T.nn.LazyLinear(2)
    >>> layer.weight
    <UninitializedParameter>
    >>> _ = layer(T.ones(5, 3))
    >>> layer.weight.shape
    tinygrad_edu.Size([2, 3])
    """

    _plain = Parameter

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        new = type(self)(requires_grad=self._requires_grad)
        new._data = self._data.copy()
        memo[id(self)] = new
        return new


class _UninitializedBuffer(_Uninitialized, Tensor):
    _plain = Tensor

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        memo[id(self)] = new = object.__new__(type(self))
        new._data = self._data.copy()
        return new


class _Lazy(Module):
    """The first call determines the input's size, and the layer becomes an ordinary one.

    Its parameters are then drawn, unless `load_state_dict` has given them their sizes and values.
    """

    _becomes: type[Module]
    _size = ""  # the attribute that is inferred

    def _begin(self, *names: str) -> None:
        for name in names:
            known = getattr(self, name)
            if known is not None:
                self._parameters[name] = waiting = UninitializedParameter()
                waiting._data = known._data

    def has_uninitialized_params(self) -> bool:
        """True before the first call, and before sizes are loaded."""
        return any(isinstance(t, _Uninitialized) for t in (*self._parameters.values(), *self._buffers.values()))

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        for name, t in (*self._parameters.items(), *self._buffers.items()):
            if isinstance(t, _Uninitialized):
                destination[prefix + name] = t  # itself: a state taken before the first call has the numbers after it

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        raise NotImplementedError

    def reset_parameters(self) -> None:
        """Draw new random parameters, if there are any yet."""
        if not self.has_uninitialized_params() and getattr(self, self._size):
            super().reset_parameters()  # type: ignore[misc, call-arg]

    def initialize_parameters(self, input: Tensor) -> None:
        """Infer the size from `input`, and draw the parameters if they have no values yet."""
        drawn = self.has_uninitialized_params()
        setattr(self, self._size, input.shape[self._axis(input)])
        with no_grad():
            for name, shape in self._shapes().items():
                t = self._parameters[name] if name in self._parameters else self._buffers[name]
                if isinstance(t, _Uninitialized):
                    t.materialize(shape)
            self.__class__ = self._becomes  # type: ignore[assignment]
            if drawn:
                self.reset_parameters()

    def _axis(self, input: Tensor) -> int:
        return -1

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

    def initialize_parameters(self, input: Tensor) -> None:
        """Infer the size from `input`, and draw the parameters if they have no values yet."""
        if not self.has_uninitialized_params() and input.shape[-1] != self.weight.shape[-1]:
            raise AssertionError(
                f"The in_features inferred from input: {input.shape[-1]} is not equal to in_features from self.weight: "
                f"{self.weight.shape[-1]}, which load_state_dict gave it."
            )
        super().initialize_parameters(input)

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
        for name in ("running_mean", "running_var"):
            self._wait(name)

    def _wait(self, name: str) -> None:
        known = self._buffers.get(name)
        if known is not None:
            self._buffers[name] = waiting = object.__new__(_UninitializedBuffer)
            waiting._data = known._data

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        names = [name for name, t in self._buffers.items() if isinstance(t, _UninitializedBuffer)]
        super()._apply(fn, recurse)
        for name in names:  # what `fn` gave is an ordinary tensor
            self._wait(name)
        return self

    def _axis(self, input: Tensor) -> int:
        self._check_input_dim(input)
        return 1 if input.ndim == max(self._dims) or input.ndim == 2 else 0

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return dict.fromkeys(self._sized(), (self.num_features,))

    def _sized(self) -> list[str]:
        return [n for n in ("weight", "bias", "running_mean", "running_var") if getattr(self, n) is not None]


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


LazyConv1d, LazyConv2d, LazyConv3d = (_lazily(_LazyConv, getattr(nn, f"Conv{n}d")) for n in (1, 2, 3))
LazyConvTranspose1d, LazyConvTranspose2d, LazyConvTranspose3d = (
    _lazily(_LazyConv, getattr(nn, f"ConvTranspose{n}d")) for n in (1, 2, 3)
)
LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d = (
    _lazily(_LazyNorm, getattr(nn, f"BatchNorm{n}d")) for n in (1, 2, 3)
)
LazyInstanceNorm1d, LazyInstanceNorm2d, LazyInstanceNorm3d = (
    _lazily(_LazyNorm, getattr(nn, f"InstanceNorm{n}d")) for n in (1, 2, 3)
)
