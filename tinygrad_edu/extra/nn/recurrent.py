"""Recurrent layers: they read a sequence step by step and carry a state from each step to the next."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from ...array.tensor import Tensor, wrap
from ...nn import functional as F
from ...nn import init
from ...nn.layers import add_parameters
from ...nn.module import Module
from ...ops import functions
from ...overrides import overridable
from ..ops import recurrent
from ..ops.parts import UnsafeSplit
from .sequences import PackedSequence, pack_padded_sequence, pad_packed_sequence

__all__ = ["GRU", "LSTM", "RNN", "RNNBase"]


_arange, _cat, _stack, _tanh, _relu, _sigmoid, _where = (
    functions[n] for n in ("arange", "cat", "stack", "tanh", "relu", "sigmoid", "where")
)


# Function modes see these calls, and so know in which module they run.
lstm_layer, lstm_step = overridable(recurrent.lstm_layer), overridable(recurrent.lstm_step)


def _lstm(projected: Tensor, state: tuple[Tensor, Tensor], weight: Tensor, bias: Any) -> tuple[Tensor, Tensor]:
    hidden, cell = state
    return lstm_step(projected + F.linear(hidden, weight, bias), cell)


def _gru(projected: Tensor, state: tuple[Tensor], weight: Tensor, bias: Any) -> tuple[Tensor]:
    (hidden,) = state
    n = hidden.shape[1]
    if not n:
        return (hidden,)
    i_r, i_z, i_n = UnsafeSplit.apply(projected, split_size=n, dim=1)
    h_r, h_z, h_n = UnsafeSplit.apply(F.linear(hidden, weight, bias), split_size=n, dim=1)
    r, z = _sigmoid(i_r + h_r), _sigmoid(i_z + h_z)
    n = _tanh(i_n + r * h_n)
    return ((hidden - n) * z + n,)


def _rnn(nonlinearity: Any) -> Any:
    def step(projected: Tensor, state: tuple[Tensor], weight: Tensor, bias: Any) -> tuple[Tensor]:
        return (nonlinearity(projected + F.linear(state[0], weight, bias)),)

    return step


_STEPS = {"LSTM": _lstm, "GRU": _gru, "RNN_TANH": _rnn(_tanh), "RNN_RELU": _rnn(_relu)}
_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


class RNNBase(Module):
    """The base of RNN, LSTM and GRU. `mode` is "LSTM", "GRU", "RNN_TANH" or "RNN_RELU".

    >>> import tinygrad_edu as T
    >>> T.nn.RNNBase("GRU", input_size=2, hidden_size=3).weight_ih_l0.shape
    tinygrad_edu.Size([9, 2])
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if mode not in _GATES:
            raise ValueError(f"Unrecognized RNN mode: {mode}")
        if hidden_size <= 0:
            raise ValueError("hidden_size must be greater than zero")
        if proj_size and mode != "LSTM":
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if proj_size >= hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        for name, given in {"bias": bias, "batch_first": batch_first}.items():
            if not isinstance(given, bool):
                raise TypeError(f"{name} should be of type bool, got: {type(given).__name__}")
        for name, size in {"input_size": input_size, "hidden_size": hidden_size, "num_layers": num_layers}.items():
            if not isinstance(size, int):
                raise TypeError(f"{name} should be of type int, got: {type(size).__name__}")
            if size <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if dropout and num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers "
                f"greater than 1, but got dropout={dropout} and num_layers={num_layers}",
                stacklevel=2,
            )
        self.mode = mode
        self.input_size, self.hidden_size, self.num_layers, self.bias = input_size, hidden_size, num_layers, bias
        self.batch_first, self.dropout, self.bidirectional = batch_first, float(dropout), bidirectional
        self.proj_size = proj_size
        self._all_weights: list[list[str]] = []
        rows, shown = _GATES[mode] * hidden_size, proj_size or hidden_size
        for layer in range(num_layers):
            width = input_size if layer == 0 else shown * self._directions
            for suffix in self._suffixes(layer):
                weights = {f"weight_ih{suffix}": (rows, width), f"weight_hh{suffix}": (rows, shown)}
                biases = {f"bias_ih{suffix}": rows, f"bias_hh{suffix}": rows} if bias else {}
                projection = {f"weight_hr{suffix}": (proj_size, hidden_size)} if proj_size else {}
                add_parameters(self, device, dtype, **weights, **biases, **projection)
                self._all_weights.append([*weights, *biases, *projection])
        self.reset_parameters()

    @property
    def all_weights(self) -> list[list[Any]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Any]:
        return [getattr(self, name) for name in self._flat_weights_names]

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    def _suffixes(self, layer: int) -> list[str]:
        return [f"_l{layer}", f"_l{layer}_reverse"][: self._directions]

    def reset_parameters(self) -> None:
        """Draw new random weights."""
        bound = 1 / math.sqrt(self.hidden_size)
        for p in self.parameters():
            init.uniform_(p, -bound, bound)

    def flatten_parameters(self) -> None:
        """Has no effect on the CPU."""

    def forward(self, input: Any, hx: Any = None) -> Any:
        if isinstance(input, PackedSequence):
            return self._of_packed(input, hx)
        if input.ndim not in (2, 3):
            raise ValueError(f"{type(self).__name__}: Expected input to be 2D or 3D, got {input.ndim}D tensor")
        self._check(input)
        batched = input.ndim == 3
        sequence = input if batched else input.unsqueeze(1)
        if batched and self.batch_first:
            sequence = sequence.transpose(0, 1)
        if not len(sequence):
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        sequence, last = self._layers(sequence, self._initial(hx, sequence, batched), None)
        if not batched:
            sequence, last = sequence.squeeze(1), [s.squeeze(1) for s in last]
        elif self.batch_first:
            # An LSTM's node needs its result unchanged; PyTorch transposes the other results in place.
            sequence = sequence.transpose(0, 1) if self.mode == "LSTM" else sequence.transpose_(0, 1)
        return sequence, tuple(last) if self.mode == "LSTM" else last[0]

    def _of_packed(self, packed: PackedSequence, hx: Any) -> Any:
        """Run a packed sequence as a padded one whose sequences end at their lengths. States are in the order of the batch."""
        self._check(packed.data)
        order, back = packed.sorted_indices, packed.unsorted_indices
        sequence, lengths = pad_packed_sequence(packed._replace(sorted_indices=None, unsorted_indices=None))
        states = self._initial(hx, sequence, True)
        if order is not None and hx is not None:
            states = [s.index_select(1, order) for s in states]
        sequence, last = self._layers(sequence, states, lengths)
        if back is not None:
            last = [s.index_select(1, back) for s in last]
        data = pack_padded_sequence(sequence, lengths).data
        return packed._replace(data=data), tuple(last) if self.mode == "LSTM" else last[0]

    def _layers(self, sequence: Tensor, states: list[Any], lengths: Any) -> tuple[Tensor, list[Tensor]]:
        """Run all layers on sequences (L, N, features); `lengths` is given if they differ. Returns the last layer's outputs
        (L, N, H) and the last states of all layers (layers, N, H)."""
        finals: list[list[Tensor]] = [[] for _ in range(1 + (self.mode == "LSTM"))]
        for layer in range(self.num_layers):
            outputs = []
            for direction, suffix in enumerate(self._suffixes(layer)):
                number = layer * self._directions + direction
                out, last = self._run(sequence, tuple(s[number] for s in states), suffix, bool(direction), lengths)
                outputs.append(out)
                for kept, state in zip(finals, last, strict=True):
                    kept.append(state)
            sequence = outputs[0] if len(outputs) == 1 else _cat(outputs, -1)
            if self.dropout and self.training and layer < self.num_layers - 1:
                sequence = _dropped(sequence, self.dropout, lengths)
        return sequence, [_stack(kept) for kept in finals]

    def _check(self, input: Tensor) -> None:
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.shape[-1]}"
            )
        if input.dtype != self.weight_ih_l0.dtype:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({self.weight_ih_l0.dtype}). Convert input: "
                f"input.to({self.weight_ih_l0.dtype}), or convert model: model.to({input.dtype})"
            )

    def _initial(self, hx: Any, sequence: Tensor, batched: bool) -> list[Any]:
        size = (self.num_layers * self._directions, sequence.shape[1])
        # The output of an LSTM with a projection is narrower than its cell state.
        sizes = [(*size, self.proj_size or self.hidden_size), (*size, self.hidden_size)][: 1 + (self.mode == "LSTM")]
        if hx is None:
            zeros = [wrap(np.zeros(s[1:], sequence._data.dtype)) for s in sizes]
            return [(zero,) * size[0] for zero in zeros]
        states = list(hx) if self.mode == "LSTM" else [hx]
        states = states if batched else [s.unsqueeze(1) for s in states]
        names = ("hidden[0]", "hidden[1]") if self.mode == "LSTM" else ("hidden",)
        for name, s, expected in zip(names, states, sizes, strict=True):
            if tuple(s.shape) != expected:
                raise RuntimeError(f"Expected {name} size {expected}, got {list(s.shape)}")
        return states

    def _run(
        self, sequence: Tensor, state: tuple[Any, ...], suffix: str, backward: bool, lengths: Any
    ) -> tuple[Tensor, Any]:
        """Run one layer in one direction. The contribution of the inputs is computed for all steps at once."""
        if backward:
            sequence = _turned(sequence, lengths)
        bias_ih, bias_hh = (getattr(self, name + suffix) if self.bias else None for name in ("bias_ih", "bias_hh"))
        weight_hh = getattr(self, "weight_hh" + suffix)
        weight_ih = getattr(self, "weight_ih" + suffix)
        if self.mode == "LSTM" and not self.proj_size:
            hidden, cell = state
            out, *last, cells = lstm_layer(sequence, hidden, cell, weight_ih, weight_hh, bias_ih, bias_hh)
            each = [out, cells]
        else:
            step, steps, last = _STEPS[self.mode], [], state
            for x in F.linear(sequence, weight_ih, bias_ih).unbind(0):
                last = step(x, last, weight_hh, bias_hh)
                if self.proj_size:
                    last = (F.linear(last[0], getattr(self, "weight_hr" + suffix)), last[1])
                steps.append(last)
            each = [_stack(kept) for kept in zip(*steps, strict=True)]
            out = each[0]
        if lengths is not None:
            last = [kept[lengths - 1, _arange(len(lengths))] for kept in each]
        return _turned(out, lengths) if backward else out, last

    def extra_repr(self) -> str:
        shown = f"{self.input_size}, {self.hidden_size}"
        for name, default in (
            ("proj_size", 0),
            ("num_layers", 1),
            ("bias", True),
            ("batch_first", False),
            ("dropout", 0.0),
            ("bidirectional", False),
        ):
            if getattr(self, name) != default:
                shown += f", {name}={getattr(self, name)}"
        return shown


def _turned(sequence: Any, lengths: Any) -> Tensor:
    """Each sequence with its steps in reverse order. What follows its end stays there."""
    if lengths is None:
        return sequence.flip(0)
    step = _arange(len(sequence)).unsqueeze(1)
    return sequence[_where(step < lengths, lengths - 1 - step, step), _arange(len(lengths))]


def _dropped(sequence: Tensor, p: float, lengths: Any) -> Tensor:
    """Dropout that draws random numbers only for steps that exist."""
    if lengths is None:
        return F.dropout(sequence, p)
    packed = pack_padded_sequence(sequence, lengths)
    return pad_packed_sequence(packed._replace(data=F.dropout(packed.data, p)))[0]


class RNN(RNNBase):
    """A recurrent layer, h = tanh(W_ih·x + b_ih + W_hh·h + b_hh) at each step of sequences (L, N, input_size) or packed ones.

    Returns the outputs (L, N, directions·hidden_size) and the last states (num_layers·directions, N, hidden_size).

    >>> import tinygrad_edu as T
    >>> out, last = T.nn.RNN(input_size=3, hidden_size=5, batch_first=True)(T.randn(2, 7, 3))
    >>> out.shape, last.shape
    (tinygrad_edu.Size([2, 7, 5]), tinygrad_edu.Size([1, 2, 5]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        *args: Any,
        **kwargs: Any,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, *args, **kwargs)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """A long short-term memory: an RNN with a cell state, and gates to write, forget and read. Returns (outputs, (h, c)).

    >>> import tinygrad_edu as T
    >>> out, (hidden, cell) = T.nn.LSTM(input_size=3, hidden_size=5, batch_first=True)(T.randn(2, 7, 3))
    >>> out.shape, hidden.shape, cell.shape
    (tinygrad_edu.Size([2, 7, 5]), tinygrad_edu.Size([1, 2, 5]), tinygrad_edu.Size([1, 2, 5]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)


class GRU(RNNBase):
    """A gated recurrent unit: a recurrent layer whose state is updated in parts, by two gates.

    >>> import tinygrad_edu as T
    >>> out, last = T.nn.GRU(input_size=3, hidden_size=5, batch_first=True)(T.randn(2, 7, 3))
    >>> out.shape, last.shape
    (tinygrad_edu.Size([2, 7, 5]), tinygrad_edu.Size([1, 2, 5]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("GRU", *args, **kwargs)
