"""Normalization of groups, instances and lengths, as modules."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array.tensor import Tensor
from ...nn import functional as F
from ...nn import init
from ...nn.layers import add_parameters
from ...nn.module import Module
from ...nn.norms import _add_affine, _BatchNorm, _NormBase, _reset_affine
from .by_dimension import by_dimension

__all__ = ["BatchNorm3d", "GroupNorm", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "RMSNorm"]


class BatchNorm3d(_BatchNorm):
    """Normalizes each channel (N, C, D, H, W) by its mean and variance over the batch.

    >>> import tinygrad_edu as T
    >>> T.nn.BatchNorm3d(4)(T.randn(2, 4, 3, 3, 3)).shape
    tinygrad_edu.Size([2, 4, 3, 3, 3])
    """

    _dims = (5,)


class _InstanceNorm(_NormBase):
    """Normalizes each channel of each sample by its own mean and variance. Accepts a single sample without a batch."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input: Tensor) -> Tensor:
        alone = input.ndim == min(self._dims)
        self._check_input_dim(input)
        batch = input.unsqueeze(0) if alone else input
        measure = self.training or not self.track_running_stats
        out = F.instance_norm(
            batch, self.running_mean, self.running_var, self.weight, self.bias, measure, self.momentum or 0.0, self.eps
        )
        return out.squeeze(0) if alone else out


_OF_CHANNELS = """Normalizes each channel of each of several {what} by its own mean and variance.

    >>> import tinygrad_edu as T
    >>> T.nn.InstanceNorm{n}d(3)(T.randn(4, 3, {twos})).shape
    tinygrad_edu.Size([4, 3, {twos}])
    """
InstanceNorm1d, InstanceNorm2d, InstanceNorm3d = [
    by_dimension(_InstanceNorm, "InstanceNorm{n}d", _OF_CHANNELS, (n,), _dims=(n + 1, n + 2))[0] for n in (1, 2, 3)
]


class RMSNorm(Module):
    """Divides by the root of the mean square over the last dimensions, of the sizes `normalized_shape`.

    >>> import tinygrad_edu as T
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
        super().__init__()
        self.normalized_shape = (
            (normalized_shape,) if isinstance(normalized_shape, int | np.integer) else tuple(normalized_shape)
        )
        self.eps, self.elementwise_affine = eps, elementwise_affine
        add_parameters(self, device, dtype, weight=self.normalized_shape if elementwise_affine else None)
        if elementwise_affine:
            init.ones_(self.weight)

    def reset_parameters(self) -> None:
        """Reset the weights to 1."""
        _reset_affine(self)

    def forward(self, input: Tensor) -> Tensor:
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Module):
    """Normalizes by mean and variance over `num_groups` groups of the channels of (N, num_channels, …).

    >>> import tinygrad_edu as T
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
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"
