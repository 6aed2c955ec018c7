"""Normalization layers: they bring activations to mean 0 and variance 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..array import dtypes
from ..array.tensor import Tensor
from ..ops.creation.factories import ones, zeros
from . import functional as F
from . import init
from .layers import add_parameters
from .module import Module

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "GroupNorm", "InstanceNorm1d", "InstanceNorm2d"]
__all__ += ["InstanceNorm3d", "LayerNorm", "RMSNorm"]


def _add_affine(module: Module, size: Any, affine: bool, bias: bool | None, device: Any, dtype: Any) -> None:
    """Add a weight of ones and a bias of zeros per channel, as requested; no bias, not even None, for `bias=None`."""
    sizes = {"weight": size if affine else None, "bias": size if affine and bias else None}
    if bias is None:
        del sizes["bias"]
    add_parameters(module, device, dtype, **sizes)
    if affine:
        init.ones_(module.weight)


def _reset_affine(module: Module) -> None:
    if module.weight is not None:
        init.ones_(module.weight)
        if getattr(module, "bias", None) is not None:
            init.zeros_(module.bias)


class _NormBase(Module):
    _version = 2  # version 1 did not count the batches
    _dims: tuple[int, ...] = ()

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        _add_affine(self, num_features, affine, bias, device, dtype)
        track = track_running_stats
        self.register_buffer("running_mean", zeros(num_features, dtype=dtype) if track else None)
        self.register_buffer("running_var", ones(num_features, dtype=dtype) if track else None)
        self.register_buffer("num_batches_tracked", zeros((), dtype=dtypes.int64) if track else None)

    def reset_running_stats(self) -> None:
        """Reset the statistics: mean 0, variance 1, no batches."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Reset everything: no statistics, weights of 1, a bias of 0."""
        self.reset_running_stats()
        _reset_affine(self)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim not in self._dims:
            wanted = " or ".join(f"{n}D" for n in self._dims)
            raise ValueError(f"expected {wanted} input (got {input.ndim}D input)")

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_NormBase):
    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        momentum = self.momentum
        if self.training and self.track_running_stats:
            self.num_batches_tracked._data[...] += 1
            if momentum is None:
                momentum = 1 / float(self.num_batches_tracked)
        measure = self.training or not self.track_running_stats
        keep = self.track_running_stats
        running = (self.running_mean, self.running_var) if keep else (None, None)
        momentum = 0.0 if momentum is None else momentum
        return F.batch_norm(input, *running, self.weight, self.bias, measure, momentum, self.eps)


class BatchNorm1d(_BatchNorm):
    """Normalizes each feature (N, C) or channel (N, C, L) by its mean and variance over the batch.

    >>> layer = T.nn.BatchNorm1d(2)
    >>> layer(T.tensor([[1.0, 10.0], [3.0, 30.0]])).detach()  # each column has mean 0 and standard deviation 1
    tensor([[-1.0000, -1.0000],
            [ 1.0000,  1.0000]])
    >>> layer.running_mean
    tensor([0.2000, 2.0000])
    """

    _dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Normalizes each channel (N, C, H, W) by its mean and variance over the batch.

    >>> T.nn.BatchNorm2d(3)(T.randn(4, 3, 5, 5)).shape
    tinygrad_edu.Size([4, 3, 5, 5])
    """

    _dims = (4,)


class BatchNorm3d(_BatchNorm):
    """Normalizes each channel (N, C, D, H, W) by its mean and variance over the batch."""

    _dims = (5,)


class _InstanceNorm(_NormBase):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, *args, **kwargs)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        alone = input.ndim == min(self._dims)  # a single sample without a batch
        batch = input.unsqueeze(0) if alone else input
        measure = self.training or not self.track_running_stats
        out = F.instance_norm(
            batch, self.running_mean, self.running_var, self.weight, self.bias, measure, self.momentum or 0.0, self.eps
        )
        return out.squeeze(0) if alone else out


class InstanceNorm1d(_InstanceNorm):
    """Normalizes each channel of each sequence (N, C, L) or (C, L) by its own mean and variance."""

    _dims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Normalizes each channel of each image (N, C, H, W) or (C, H, W) by its own mean and variance.

    >>> T.nn.InstanceNorm2d(3)(T.randn(4, 3, 2, 2)).shape
    tinygrad_edu.Size([4, 3, 2, 2])
    """

    _dims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Normalizes each channel of each volume (N, C, D, H, W) or (C, D, H, W) by its own mean and variance."""

    _dims = (4, 5)


class _LastDims(Module):
    """A norm over the last dimensions, of the sizes `normalized_shape`."""

    def __init__(self, normalized_shape: Any, eps: float | None, affine: bool, *weights: Any) -> None:
        super().__init__()
        sizes = (normalized_shape,) if isinstance(normalized_shape, int | np.integer) else tuple(normalized_shape)
        self.normalized_shape, self.eps, self.elementwise_affine = sizes, eps, affine
        _add_affine(self, sizes, affine, *weights)

    def reset_parameters(self) -> None:
        """Reset the weights to 1, and a bias to 0."""
        _reset_affine(self)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class LayerNorm(_LastDims):
    """Normalizes by mean and variance over the last dimensions, of the sizes `normalized_shape`.

    >>> T.nn.LayerNorm(3)(T.tensor([[1.0, 2.0, 3.0]])).detach()
    tensor([[-1.2247,  0.0000,  1.2247]])
    """

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(normalized_shape, eps, elementwise_affine, bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, bias={self.bias is not None}"


class RMSNorm(_LastDims):
    """Divides by the root of the mean square over the last dimensions, of the sizes `normalized_shape`.

    >>> T.nn.RMSNorm(2)(T.tensor([[3.0, 4.0]])).detach()
    tensor([[0.8485, 1.1314]])
    """

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(normalized_shape, eps, elementwise_affine, None, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)


class GroupNorm(Module):
    """Normalizes by mean and variance over `num_groups` groups of the channels of (N, num_channels, …).

    >>> T.nn.GroupNorm(num_groups=2, num_channels=4)(T.randn(3, 4, 5)).shape
    tinygrad_edu.Size([3, 4, 5])
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        _add_affine(self, num_channels, affine, bias, device, dtype)

    def reset_parameters(self) -> None:
        """Reset the weights to 1 and the bias to 0."""
        _reset_affine(self)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        has_bias = self.bias is not None
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={has_bias}"
