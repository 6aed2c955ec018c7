"""Dropout of volumes, dropout that keeps mean and variance, and a rectifier of random slope."""

from __future__ import annotations

import functools
import math

import numpy as np

from ...array.tensor import Tensor, wrap
from ...ops.binding import functions, nn_functions, public
from ...ops.creation.random import chance, source
from ...ops.indexing.masking import where
from ...ops.network.rectifier import in_place_or_not
from ...ops.op import Op, row_by_row
from .group_norms import channels, dropped_channels

_NN, _BOTH = (nn_functions,), (functions, nn_functions)


@public(where=_NN, method=False)
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """As dropout, of whole channels of volumes (N, C, D, H, W) or (C, D, H, W).

    >>> import tinygrad_edu as T
    >>> T.nn.functional.dropout3d(T.ones(1, 1, 1, 1, 2), training=False)
    tensor([[[[[1., 1.]]]]])
    """
    return dropped_channels(input, p, training, inplace, "dropout3d", 5)


_SLOPE = 1.7580993408473766  # of SELU: minus the limit of its output for x → -∞


@public(where=_BOTH, method=False)
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout for SELU: dropped elements become its lowest value, and mean and variance are preserved.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.alpha_dropout(T.ones(3), training=False)
    tensor([1., 1., 1.])
    """
    return _alpha_dropout(input, p, training, input._data)


@public(where=_BOTH, method=False)
def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Alpha dropout of whole channels.

    >>> import tinygrad_edu as T
    >>> T.feature_alpha_dropout(T.ones(1, 2, 2), training=False)
    tensor([[[1., 1.],
             [1., 1.]]])
    """
    return _alpha_dropout(input, p, training, channels(input))


def _alpha_dropout(input, p, training, like):
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input
    if p == 1:
        return input * 0
    scale = 1 / math.sqrt((_SLOPE**2 * p + 1) * (1 - p))
    kept = wrap(chance(like, 1 - p))
    shift = (kept - 1) * (_SLOPE * scale) + _SLOPE * scale * p
    return input * (kept * scale) + shift


class RreluWithNoise(Op):
    """A rectifier with slopes `noise`, or the mean of `lower` and `upper` below 0."""

    refuses = ("leaky_relu_cpu", "biu")

    def forward(self, *, noise, lower, upper, training):
        below = self * (noise if training else self.dtype.type((lower + upper) / 2))
        return below if training else np.where(self > 0, self, below)

    def grad_self(grad, self, noise, lower, upper, training):
        return grad * noise if training else where(self > 0, grad, grad * ((lower + upper) / 2))

    jvp = row_by_row


@public(where=_BOTH, method=False)
def rrelu(input: Tensor, lower=1.0 / 8, upper=1.0 / 3, training: bool = False, inplace: bool = False) -> Tensor:
    """A leaky ReLU whose slope below 0 is random in training, and the mean of the two bounds otherwise.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.rrelu(T.tensor([-6.0, 2.0]), lower=0.1, upper=0.3, training=False)
    tensor([-1.2000,  2.0000])
    """
    noise = np.zeros(input.shape, input._data.dtype)
    if training:
        below = input._data <= 0
        noise = np.where(below, noise, 1).astype(noise.dtype)
        noise[below] = source(None).uniform((int(below.sum()),), np.float64, lower, upper)
    settings = {"noise": noise, "lower": lower, "upper": upper, "training": training}
    return in_place_or_not(RreluWithNoise, input, inplace, **settings)


nn_functions["rrelu_"] = functools.partial(nn_functions["rrelu"], inplace=True)
