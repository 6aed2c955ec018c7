"""Convolutions, as modules."""

from __future__ import annotations

import math
from typing import Any

from ...array.tensor import Tensor
from ...nn import functional as F
from ...nn import init
from ...nn.layers import add_parameters
from ...nn.module import Module
from ..ops.convolution import as_tuple
from .by_dimension import by_dimension

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]


class _ConvNd(Module):
    _dims = 1
    transposed = False
    _function: Any = None
    _padding_modes: tuple[str, ...] = ("zeros", "reflect", "replicate", "circular")

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
        *,
        output_padding: Any = 0,
    ) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        n = self._dims
        self.in_channels, self.out_channels, self.groups, self.padding_mode = (
            in_channels,
            out_channels,
            groups,
            padding_mode,
        )
        self.kernel_size, self.stride, self.dilation = (as_tuple(x, n) for x in (kernel_size, stride, dilation))
        self.padding = padding if isinstance(padding, str) else as_tuple(padding, n)
        if isinstance(padding, str) and padding not in ("same", "valid"):
            raise ValueError(f"Invalid padding string {padding!r}, should be one of 'same', 'valid'")
        if padding == "same" and self.stride != (1,) * n:
            raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in self._padding_modes:
            raise ValueError(
                f"padding_mode must be one of {self._padding_modes}, but got padding_mode={padding_mode!r}"
            )
        self.output_padding = as_tuple(output_padding, n)
        channels = (in_channels, out_channels // groups) if self.transposed else (out_channels, in_channels // groups)
        weight = *channels, *self.kernel_size
        add_parameters(self, device, dtype, weight=weight, bias=out_channels if bias else None)
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

    @property
    def _reversed_padding_repeated_twice(self) -> list[int]:
        return self._widths()

    def _widths(self) -> list[int]:
        """The padding before and after each dimension, the last dimension first."""
        sides = [(p, p) for p in self.padding] if isinstance(self.padding, tuple) else [(0, 0)] * self._dims
        if self.padding == "same":
            room = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
            sides = [(r // 2, r - r // 2) for r in room]
        return [width for side in reversed(sides) for width in side]

    def extra_repr(self) -> str:
        n = self._dims
        shown = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding != (0,) * n:
            shown += f", padding={self.padding}"
        if self.dilation != (1,) * n:
            shown += f", dilation={self.dilation}"
        if self.output_padding != (0,) * n:
            shown += f", output_padding={self.output_padding}"
        if self.groups != 1:
            shown += f", groups={self.groups}"
        if self.bias is None:
            shown += ", bias=False"
        return shown if self.padding_mode == "zeros" else shown + f", padding_mode={self.padding_mode}"


Conv1d, Conv2d, Conv3d = by_dimension(
    _ConvNd,
    "Conv{n}d",
    """A convolution over {what} (N, in_channels, …).

    >>> import tinygrad_edu as T
    >>> T.nn.Conv{n}d(2, 4, kernel_size=2)(T.ones(1, 2, {twos})).shape
    tinygrad_edu.Size([1, 4, {ones}])
    """,
    function="conv{n}d",
)


class _ConvTransposeNd(_ConvNd):
    transposed = True
    _padding_modes = ("zeros",)

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
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, device, dtype,
            output_padding=output_padding,
        )  # fmt: skip

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        """The result. `output_size` chooses its last sizes where several are possible."""
        output_padding = self.output_padding if output_size is None else self._output_padding(input, output_size)
        return type(self)._function(
            input, self.weight, self.bias, self.stride, self.padding, output_padding, self.groups, self.dilation
        )

    def _output_padding(self, input: Tensor, output_size: Any) -> tuple[int, ...]:
        sizes, n = tuple(output_size), self._dims
        if len(sizes) == input.ndim:
            sizes = sizes[-n:]
        if len(sizes) != n:
            raise ValueError(
                f"ConvTranspose{n}D: for {input.ndim}D input, output_size must have {n} or {input.ndim} elements "
                f"(got {len(sizes)})"
            )
        settings = zip(input.shape[-n:], self.stride, self.padding, self.dilation, self.kernel_size, strict=True)
        least = tuple((size - 1) * s - 2 * p + d * (k - 1) + 1 for size, s, p, d, k in settings)
        rest = tuple(size - low for size, low in zip(sizes, least, strict=True))
        if any(not 0 <= r < s for r, s in zip(rest, self.stride, strict=True)):
            most = tuple(low + s - 1 for low, s in zip(least, self.stride, strict=True))
            raise ValueError(f"requested an output size of {sizes}, but valid sizes range from {least} to {most}")
        return rest


ConvTranspose1d, ConvTranspose2d, ConvTranspose3d = by_dimension(
    _ConvTransposeNd,
    "ConvTranspose{n}d",
    """The transpose of Conv{n}d: turns {what} (N, in_channels, …) into larger ones.

    >>> import tinygrad_edu as T
    >>> T.nn.ConvTranspose{n}d(4, 2, kernel_size=2)(T.ones(1, 4, {ones})).shape
    tinygrad_edu.Size([1, 2, {twos}])
    """,
    function="conv_transpose{n}d",
)
