"""A batch normalization folded into the layer before it, for evaluation (PyTorch: `torch.nn.utils.fusion`)."""

from __future__ import annotations

import copy
import functools
from typing import Any

from ...nn.parameter import Parameter
from ...ops import functions

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A copy of the convolution that computes `bn(conv(x))`, for two modules in evaluation mode.

    Raises:
        AssertionError: one of the modules is in training mode, or `bn` has no running statistics.

    >>> import tinygrad_edu as T
    >>> conv, bn = T.nn.Conv2d(1, 2, 3).eval(), T.nn.BatchNorm2d(2).eval()
    >>> fused = T.nn.utils.fusion.fuse_conv_bn_eval(conv, bn)
    >>> x = T.randn(1, 1, 4, 4)
    >>> T.allclose(fused(x), bn(conv(x)), atol=1e-6)
    True
    """
    return _fused(conv, bn, functools.partial(fuse_conv_bn_weights, transpose=transpose))


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A copy of the linear layer that computes `bn(linear(x))`, for two modules in evaluation mode.

    Raises:
        AssertionError: one of the modules is in training mode, or the numbers of features do not match.

    >>> import tinygrad_edu as T
    >>> from tinygrad_edu.nn.utils.fusion import fuse_linear_bn_eval
    >>> linear, norm = T.nn.Linear(2, 3).eval(), T.nn.BatchNorm1d(3).eval()
    >>> x = T.ones(1, 2)
    >>> T.allclose(fuse_linear_bn_eval(linear, norm)(x), norm(linear(x)), atol=1e-6)
    True
    """
    if bn.num_features not in (1, linear.out_features):
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    return _fused(linear, bn, fuse_linear_bn_weights)


def _fused(layer: Any, bn: Any, weights: Any) -> Any:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    fused = copy.deepcopy(layer)
    fused.weight, fused.bias = weights(
        layer.weight, layer.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_conv_bn_weights(
    conv_w: Any, conv_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any, bn_b: Any, transpose: bool = False
) -> tuple[Parameter, Parameter]:
    """The weight and the bias of a convolution that also normalizes; `transpose` is for a transposed one.

    >>> import tinygrad_edu as T
    >>> from tinygrad_edu.nn.utils.fusion import fuse_conv_bn_weights
    >>> one = T.ones(1)
    >>> weight, bias = fuse_conv_bn_weights(T.full((1, 1, 1), 2.0), one, 0 * one, 4 * one, 0.0, one, one)
    >>> weight.detach(), bias.detach()  # (2x + 1)/√4 + 1
    (tensor([[[1.]]]), tensor([1.5000]))
    """
    channels = [-1 if d == int(transpose) else 1 for d in range(conv_w.ndim)]
    return _weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, channels)


def fuse_linear_bn_weights(
    linear_w: Any, linear_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any, bn_b: Any
) -> tuple[Parameter, Parameter]:
    """The weight and the bias of a linear layer that also normalizes.

    >>> import tinygrad_edu as T
    >>> from tinygrad_edu.nn.utils.fusion import fuse_linear_bn_weights
    >>> one = T.ones(1)
    >>> weight, bias = fuse_linear_bn_weights(2 * T.eye(1), one, 0 * one, 4 * one, 0.0, one, one)
    >>> weight.detach(), bias.detach()  # (2x + 1)/√4 + 1
    (tensor([[1.]]), tensor([1.5000]))
    """
    return _weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def _weights(
    weight: Any, bias: Any, mean: Any, variance: Any, eps: float, gain: Any, shift: Any, channels: list[int]
) -> tuple[Parameter, Parameter]:
    bias = functions["zeros_like"](mean) if bias is None else bias
    scale = (variance + eps).rsqrt()
    scale = scale if gain is None else scale * gain
    moved = (bias - mean) * scale if shift is None else (bias - mean) * scale + shift
    made = (weight * scale.reshape(channels)).to(weight.dtype), moved.to(bias.dtype)
    return Parameter(made[0].detach(), weight.requires_grad), Parameter(made[1].detach(), bias.requires_grad)
