"""One step of a recurrent network, and the oldest of these networks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...array.tensor import Tensor, wrap
from ...nn import functional as F
from ...nn import init
from ...nn.layers import add_parameters
from ...nn.module import Module
from .recurrent import _STEPS

__all__ = ["GRUCell", "LSTMCell", "RNNCell", "RNNCellBase"]


class RNNCellBase(Module):
    """The base of RNNCell, LSTMCell and GRUCell. `num_chunks` is the number of gates.

    >>> import tinygrad_edu as T
    >>> T.nn.RNNCellBase(input_size=2, hidden_size=3, bias=True, num_chunks=4).weight_ih.shape
    tinygrad_edu.Size([12, 2])
    """

    _mode = ""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = num_chunks * hidden_size
        weights = {"weight_ih": (rows, input_size), "weight_hh": (rows, hidden_size)}
        add_parameters(self, device, dtype, **weights, bias_ih=rows if bias else None, bias_hh=rows if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new random weights."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for p in self.parameters():
            init.uniform_(p, -bound, bound)

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        name = type(self).__name__
        if input.ndim not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.ndim}D instead")
        given = () if hx is None else hx if self._mode == "LSTM" else (hx,)
        for i, state in enumerate(given):
            if state.ndim not in (1, 2):
                which = f"hx[{i}]" if self._mode == "LSTM" else "hidden"
                raise ValueError(f"{name}: Expected {which} to be 1D or 2D, got {state.ndim}D instead")
        batched = input.ndim == 2
        x = input if batched else input.unsqueeze(0)
        pair = self._mode == "LSTM"
        if hx is None:
            states = tuple(wrap(np.zeros((x.shape[0], self.hidden_size), x._data.dtype)) for _ in range(1 + pair))
        else:
            states = tuple(s if batched else s.unsqueeze(0) for s in given)
        self._check_sizes(x, states)
        step = _STEPS[self._mode or f"RNN_{self.nonlinearity.upper()}"]
        out = step(F.linear(x, self.weight_ih, self.bias_ih), states, self.weight_hh, self.bias_hh)
        out = tuple(s if batched else s.squeeze(0) for s in out)
        return out if pair else out[0]

    def _check_sizes(self, x: Tensor, states: tuple[Tensor, ...]) -> None:
        if x.shape[1] != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {x.shape[1]} expected {self.input_size}")
        for i, state in enumerate(states):
            # A batch of 1 would be broadcast: each sample would continue from the same state.
            if state.ndim == 1 or x.shape[0] != state.shape[0]:
                raise RuntimeError(
                    f"Input batch size {x.shape[0]} doesn't match hidden{i} batch size {state.shape[0]}: each sample has a "
                    "state of its own."
                )
            size = state.shape[1]
            if size != self.hidden_size:
                raise RuntimeError(f"hidden{i} has inconsistent hidden_size: got {size}, expected {self.hidden_size}")

    def extra_repr(self) -> str:
        shown = f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")
        return (
            shown if getattr(self, "nonlinearity", "tanh") == "tanh" else f"{shown}, nonlinearity={self.nonlinearity}"
        )


class RNNCell(RNNCellBase):
    """One step of an RNN: (N, input_size) and (N, hidden_size) to (N, hidden_size).

    >>> import tinygrad_edu as T
    >>> T.nn.RNNCell(3, 5)(T.randn(2, 3)).shape
    tinygrad_edu.Size([2, 5])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}. Select from 'tanh' or 'relu'.")
        return super().forward(input, hx)


class LSTMCell(RNNCellBase):
    """One step of an LSTM: (N, input_size) and (h, c) to (h, c), each (N, hidden_size).

    >>> import tinygrad_edu as T
    >>> hidden, cell = T.nn.LSTMCell(3, 5)(T.randn(2, 3))
    >>> hidden.shape, cell.shape
    (tinygrad_edu.Size([2, 5]), tinygrad_edu.Size([2, 5]))
    """

    _mode = "LSTM"

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)


class GRUCell(RNNCellBase):
    """One step of a GRU: (N, input_size) and (N, hidden_size) to (N, hidden_size).

    >>> import tinygrad_edu as T
    >>> T.nn.GRUCell(3, 5)(T.randn(2, 3)).shape
    tinygrad_edu.Size([2, 5])
    """

    _mode = "GRU"

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)
