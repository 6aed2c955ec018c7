"""Smooth activation functions; the piecewise linear ones are in `rectifier`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array.tensor import Tensor
from ..arrays import in_blocks
from ..binding import nn_functions, public
from ..op import Op
from ..operands import need_float
from ..pointwise.exponential import sigmoid
from ..tangents import Elementwise

_NN = (nn_functions,)


class LogSigmoid(Op):
    @in_blocks
    def forward(self):
        need_float(self, "log_sigmoid_cpu")
        return np.minimum(self, 0) - np.log1p(np.exp(-np.abs(self)))

    # d ln σ(s) = σ(-s)
    @in_blocks
    def grad_self(grad, self):
        return grad * sigmoid(-self)

    jvp = Elementwise(forward=0)


# --- functions -------------------------------------------------------------------------------------------------------


@public(where=_NN, method=False)
def logsigmoid(input: Tensor) -> Any:
    """The logarithm of sigmoid(x), accurate for large negative x.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.logsigmoid(T.tensor([0.0, 2.0]))
    tensor([-0.6931, -0.1269])
    """
    return LogSigmoid.apply(input)
