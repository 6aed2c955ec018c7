"""Pooling layers."""

from __future__ import annotations

from typing import Any

from ..array.tensor import Tensor
from .by_dimension import by_dimension
from .module import Module

__all__ = ["AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d"]
__all__ += ["AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "MaxPool1d", "MaxPool2d", "MaxPool3d"]


class _Pool(Module):
    _dims = 1
    _function: Any = None
    _shown: tuple[str, ...] = ()

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={getattr(self, name)}" for name in self._shown)


class _MaxPoolNd(_Pool):
    _shown = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation, self.return_indices, self.ceil_mode = padding, dilation, return_indices, ceil_mode

    def forward(self, input: Tensor) -> Any:
        settings = (getattr(self, name) for name in self._shown)
        return type(self)._function(input, *settings, self.return_indices)


MaxPool1d, MaxPool2d, MaxPool3d = by_dimension(
    _MaxPoolNd,
    "MaxPool{n}d",
    """The maximum of each window of {what}.

    >>> import tinygrad_edu as T
    >>> T.nn.MaxPool{n}d(2)(T.arange({count}).reshape(1, {twos})).item()
    {last}
    """,
    "max_pool{n}d",
)


class _AvgPoolNd(_Pool):
    _shown = ("kernel_size", "stride", "padding")

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, kernel_size if stride is None else stride, padding
        self.ceil_mode, self.count_include_pad, self.divisor_override = ceil_mode, count_include_pad, divisor_override
        if self._dims == 1:  # as in PyTorch
            self.kernel_size, self.stride, self.padding = (
                (x,) if isinstance(x, int) else x for x in (self.kernel_size, self.stride, self.padding)
            )

    def forward(self, input: Tensor) -> Tensor:
        settings = (self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)
        divisor = () if self.divisor_override is None else (self.divisor_override,)
        return type(self)._function(input, *settings, *divisor)


AvgPool1d, AvgPool2d, AvgPool3d = by_dimension(
    _AvgPoolNd,
    "AvgPool{n}d",
    """The mean of each window of {what}.

    >>> import tinygrad_edu as T
    >>> T.nn.AvgPool{n}d(2)(T.arange({count}).reshape(1, {twos})).item()
    {half}
    """,
    "avg_pool{n}d",
)


class _AdaptiveAvgPoolNd(_Pool):
    _shown = ("output_size",)

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return type(self)._function(input, self.output_size)


AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d = by_dimension(
    _AdaptiveAvgPoolNd,
    "AdaptiveAvgPool{n}d",
    """Means of as many windows as requested, which cover {what} evenly.

    >>> import tinygrad_edu as T
    >>> T.nn.AdaptiveAvgPool{n}d(1)(T.arange({count}).reshape(1, {twos})).item()
    {half}
    """,
    "adaptive_avg_pool{n}d",
)


class _AdaptiveMaxPoolNd(_AdaptiveAvgPoolNd):
    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        return type(self)._function(input, self.output_size, self.return_indices)


AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d = by_dimension(
    _AdaptiveMaxPoolNd,
    "AdaptiveMaxPool{n}d",
    """The maxima of as many windows as requested, which cover {what} evenly.

    >>> import tinygrad_edu as T
    >>> T.nn.AdaptiveMaxPool{n}d(1)(T.arange({count}).reshape(1, {twos})).item()
    {last}
    """,
    "adaptive_max_pool{n}d",
)
