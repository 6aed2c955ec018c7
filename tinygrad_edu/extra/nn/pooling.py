"""Pooling layers."""

from __future__ import annotations

from typing import Any

from ...array.tensor import Tensor
from ...nn import functional as F
from ...nn.module import Module
from ..ops.convolution import as_tuple
from .by_dimension import by_dimension

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "FractionalMaxPool2d", "FractionalMaxPool3d", "LPPool1d",
    "LPPool2d", "LPPool3d", "MaxPool1d", "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d",
]  # fmt: skip


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


MaxPool1d, MaxPool2d, MaxPool3d = by_dimension(
    _MaxPoolNd,
    "MaxPool{n}d",
    """The maximum of each window of {what}.

    >>> import tinygrad_edu as T
    >>> T.nn.MaxPool{n}d(2)(T.arange({count}).reshape(1, {twos})).item()
    {last}
    """,
    function="max_pool{n}d",
)


class _AvgPoolNd(Module):
    _function: Any = None

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """The mean of each window of sequences (N, C, L).

    >>> import tinygrad_edu as T
    >>> T.nn.AvgPool1d(2)(T.tensor([[1.0, 3.0, 5.0, 7.0]]))
    tensor([[2., 6.]])
    """

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride, self.padding = (
            as_tuple(x, 1) for x in (kernel_size, kernel_size if stride is None else stride, padding)
        )
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class _AvgPool(_AvgPoolNd):
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
        return type(self)._function(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )


AvgPool2d, AvgPool3d = by_dimension(
    _AvgPool,
    "AvgPool{n}d",
    """The mean of each window of {what}.

    >>> import tinygrad_edu as T
    >>> T.nn.AvgPool{n}d(2)(T.arange({count}).reshape(1, {twos})).item()
    {half}
    """,
    (2, 3),
    function="avg_pool{n}d",
)


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


AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d = by_dimension(
    _AdaptiveAvgPoolNd,
    "AdaptiveAvgPool{n}d",
    """Means of as many windows as requested, which cover {what} evenly.

    >>> import tinygrad_edu as T
    >>> T.nn.AdaptiveAvgPool{n}d(1)(T.arange({count}).reshape(1, {twos})).item()
    {half}
    """,
    function="adaptive_avg_pool{n}d",
)


class _AdaptiveMaxPoolNd(_AdaptivePool):
    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Tensor:
        return type(self)._function(input, self.output_size, self.return_indices)


AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d = by_dimension(
    _AdaptiveMaxPoolNd,
    "AdaptiveMaxPool{n}d",
    """The maxima of as many windows as requested, which cover {what} evenly.

    >>> import tinygrad_edu as T
    >>> T.nn.AdaptiveMaxPool{n}d(1)(T.arange({count}).reshape(1, {twos})).item()
    {last}
    """,
    function="adaptive_max_pool{n}d",
)


class _LPPoolNd(Module):
    _function: Any = None

    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> None:
        super().__init__()
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        return type(self)._function(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        return f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, ceil_mode={self.ceil_mode}"


LPPool1d, LPPool2d, LPPool3d = by_dimension(
    _LPPoolNd,
    "LPPool{n}d",
    """The p-norm of each window of {what}, with p = norm_type.

    >>> import tinygrad_edu as T
    >>> T.nn.LPPool{n}d(1, kernel_size=2)(T.ones(1, {twos})).item()
    {count}
    """,
    function="lp_pool{n}d",
)


class _FractionalMaxPool(Module):
    _dims = 2
    _function: Any = None

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Any = None,
    ) -> None:
        super().__init__()
        name, dims = type(self).__name__, self._dims
        self.kernel_size = as_tuple(kernel_size, dims)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else as_tuple(output_size, dims)
        one = isinstance(output_ratio, int | float)
        self.output_ratio = (output_ratio,) * dims if one else output_ratio
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < r < 1 for r in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Any:
        return type(self)._function(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples
        )


FractionalMaxPool2d, FractionalMaxPool3d = by_dimension(
    _FractionalMaxPool,
    "FractionalMaxPool{n}d",
    """Max pooling of {what} with random strides (Graham 2014).

    >>> import tinygrad_edu as T
    >>> T.nn.FractionalMaxPool{n}d(1, output_size=1)(T.ones(1, {twos})).item()
    1.0
    """,
    (2, 3),
    function="fractional_max_pool{n}d",
)


class _MaxUnpool(Module):
    _dims = 1
    _function: Any = None

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size = as_tuple(kernel_size, self._dims)
        self.stride = as_tuple(kernel_size if stride is None else stride, self._dims)
        self.padding = as_tuple(padding, self._dims)

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        unpool: Any = type(self)._function
        return unpool(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


MaxUnpool1d, MaxUnpool2d, MaxUnpool3d = by_dimension(
    _MaxUnpool,
    "MaxUnpool{n}d",
    """Puts the elements back where MaxPool{n}d took them from, with zeros elsewhere.

    >>> import tinygrad_edu as T
    >>> values, indices = T.nn.MaxPool{n}d(2, return_indices=True)(T.arange({count}).reshape(1, {twos}))
    >>> T.nn.MaxUnpool{n}d(2)(values, indices).flatten()[-2:]
    tensor([0., {last:.0f}.])
    """,
    function="max_unpool{n}d",
)
