"""PyTorch's lower-level functions of layers, such as `batch_norm(…, cudnn_enabled)`, next to those of `nn.functional`."""

from __future__ import annotations

from typing import Any

from ...array.tensor import Tensor
from ...ops import functions, nn_functions

__all__ = [
    "adjoint", "batch_norm", "celu_", "constant_pad_nd", "dropout_", "embedding", "fill", "group_norm", "instance_norm", "selu_",
    "threshold_",
]  # fmt: skip


def adjoint(input: Tensor) -> Tensor:
    """A view with the last two dimensions transposed."""
    return input.mH


def batch_norm(
    input: Tensor, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float, eps: float,
    cudnn_enabled: bool,
) -> Tensor:  # fmt: skip
    """`nn.functional.batch_norm`, with the argument order of the kernels."""
    return nn_functions["batch_norm"](input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(
    input: Tensor, weight: Any, bias: Any, running_mean: Any, running_var: Any, use_input_stats: bool, momentum: float, eps: float,
    cudnn_enabled: bool,
) -> Tensor:  # fmt: skip
    """`nn.functional.instance_norm`, with the argument order of the kernels."""
    return nn_functions["instance_norm"](input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def group_norm(
    input: Tensor, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5, cudnn_enabled: bool = True
) -> Tensor:
    """`nn.functional.group_norm`."""
    return nn_functions["group_norm"](input, num_groups, weight, bias, eps)


def embedding(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Tensor:
    """`nn.functional.embedding`, with the weight first."""
    skipped = None if padding_idx == -1 else padding_idx
    return nn_functions["embedding"](indices, weight, skipped, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse)


def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor with this shape and dtype, filled with `value`."""
    return input.clone().fill_(value)


def constant_pad_nd(input: Tensor, pad: Any, value: float = 0) -> Tensor:
    """`nn.functional.pad` with a constant."""
    return nn_functions["pad"](input, pad, "constant", value)


def selu_(input: Tensor) -> Tensor:
    """In-place version of `selu`."""
    return functions["selu"](input, inplace=True)


def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """In-place version of `celu`."""
    return functions["celu"](input, alpha, inplace=True)


def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """In-place version of `threshold`."""
    return functions["threshold"](input, threshold, value, inplace=True)


def dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """In-place version of `dropout`."""
    return functions["dropout"](input, p, train, inplace=True)
