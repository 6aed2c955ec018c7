"""Max and average pooling layers."""

from __future__ import annotations

from typing import Any

from ...array.tensor import Tensor
from ...nn import functional as F
from ...nn.module import Module

__all__ = ["AdaptiveAvgPool2d", "AvgPool2d", "MaxPool2d"]


class _MaxPoolNd(Module):
    _function: Any = None

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
        return type(self)._function(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
            f"ceil_mode={self.ceil_mode}"
        )


class MaxPool2d(_MaxPoolNd):
    """The maximum of each window of images (N, C, H, W).

    >>> import tinygrad_edu as T
    >>> T.nn.MaxPool2d(2)(T.tensor([[[1.0, 2.0], [3.0, 6.0]]]))
    tensor([[[6.]]])
    """

    _function: Any = staticmethod(F.max_pool2d)


class _AvgPoolNd(Module):
    pass


class AvgPool2d(_AvgPoolNd):
    """The mean of each window of images (N, C, H, W).

    >>> import tinygrad_edu as T
    >>> T.nn.AvgPool2d(2)(T.tensor([[[1.0, 2.0], [3.0, 6.0]]]))
    tensor([[[3.]]])
    """

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

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool2d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _AdaptivePool(Module):
    _function: Any = None

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return type(self)._function(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class _AdaptiveAvgPoolNd(_AdaptivePool):
    pass


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Averages over as many windows as requested, in both directions: (N, C, H, W) to (N, C, *output_size).

    >>> import tinygrad_edu as T
    >>> T.nn.AdaptiveAvgPool2d(1)(T.ones(2, 3, 7, 5)).shape
    tinygrad_edu.Size([2, 3, 1, 1])
    """

    _function: Any = staticmethod(F.adaptive_avg_pool2d)
