"""Convolutions, as modules."""

from __future__ import annotations

import math
from typing import Any

from ..array.tensor import Tensor
from ..ops.network.convolution import as_tuple
from . import functional as F
from . import init
from .by_dimension import by_dimension
from .layers import add_parameters
from .module import Module

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]


class _ConvNd(Module):
    _dims = 1
    transposed = False
    _function: Any = None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        for name, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
            if channels % groups:
                raise ValueError(f"{name} must be divisible by groups")
        n = self._dims
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride, self.dilation = (as_tuple(x, n) for x in (kernel_size, stride, dilation))
        self.padding = padding if isinstance(padding, str) else as_tuple(padding, n)
        self.padding_mode, self.output_padding = padding_mode, (0,) * n
        if isinstance(padding, str) and padding not in ("same", "valid"):
            raise ValueError(f"Invalid padding string {padding!r}, should be one of 'same', 'valid'")
        if padding == "same" and self.stride != (1,) * n:
            raise ValueError("padding='same' is not supported for strided convolutions")
        modes = ("zeros",) if self.transposed else ("zeros", "reflect", "replicate", "circular")
        if padding_mode not in modes:
            raise ValueError(f"padding_mode must be one of {modes}, but got padding_mode={padding_mode!r}")
        sides = (in_channels, out_channels // groups) if self.transposed else (out_channels, in_channels // groups)
        add_parameters(self, device, dtype, weight=(*sides, *self.kernel_size), bias=out_channels if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new random weights."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """The convolution with other weights and this layer's settings. Subclasses call it."""
        padding = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._widths(), mode=self.padding_mode), 0
        return type(self)._function(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def _widths(self) -> list[int]:
        """The padding before and after each dimension, the last dimension first."""
        room = [2 * p for p in self.padding] if isinstance(self.padding, tuple) else [0] * self._dims
        if self.padding == "same":
            room = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
        return [width for r in reversed(room) for width in (r // 2, r - r // 2)]

    def extra_repr(self) -> str:
        n = self._dims
        shown = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        usual = {
            "padding": (0,) * n,
            "dilation": (1,) * n,
            "output_padding": (0,) * n,
            "groups": 1,
            "padding_mode": "zeros",
        }
        rest = [f", {name}={getattr(self, name)}" for name, value in usual.items() if getattr(self, name) != value]
        if self.bias is None:
            rest.insert(len(rest) - (self.padding_mode != "zeros"), ", bias=False")
        return shown + "".join(rest)


Conv1d, Conv2d, Conv3d = by_dimension(
    _ConvNd,
    "Conv{n}d",
    """A convolution over {what} (N, in_channels, …).

    >>> import tinygrad_edu as T
    >>> T.nn.Conv{n}d(2, 4, kernel_size=2)(T.ones(1, 2, {twos})).shape
    tinygrad_edu.Size([1, 4, {ones}])
    """,
    "conv{n}d",
)


class _ConvTransposeNd(_ConvNd):
    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        settings = (stride, padding, dilation, groups, bias, padding_mode, device, dtype)
        super().__init__(in_channels, out_channels, kernel_size, *settings)
        self.output_padding = as_tuple(output_padding, self._dims)

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        """The result. `output_size` chooses its last sizes where several are possible."""
        extra = self.output_padding if output_size is None else self._output_padding(input, output_size)
        return type(self)._function(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )

    def _output_padding(self, input: Tensor, output_size: Any) -> tuple[int, ...]:
        n = self._dims
        sizes = tuple(output_size)[-n:]
        along = zip(input.shape[-n:], self.stride, self.padding, self.dilation, self.kernel_size, strict=True)
        least = tuple((size - 1) * s - 2 * p + d * (k - 1) + 1 for size, s, p, d, k in along)
        extra = tuple(size - low for size, low in zip(sizes, least, strict=True))
        if any(not 0 <= e < s for e, s in zip(extra, self.stride, strict=True)):
            most = tuple(low + s - 1 for low, s in zip(least, self.stride, strict=True))
            raise ValueError(f"requested an output size of {sizes}, but valid sizes range from {least} to {most}")
        return extra


ConvTranspose1d, ConvTranspose2d, ConvTranspose3d = by_dimension(
    _ConvTransposeNd,
    "ConvTranspose{n}d",
    """The transpose of Conv{n}d: turns {what} (N, in_channels, …) into larger ones.

    >>> import tinygrad_edu as T
    >>> T.nn.ConvTranspose{n}d(4, 2, kernel_size=2)(T.ones(1, 4, {ones})).shape
    tinygrad_edu.Size([1, 2, {twos}])
    """,
    "conv_transpose{n}d",
)
