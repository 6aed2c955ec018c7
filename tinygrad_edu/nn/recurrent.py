"""Recurrent layers, which read a sequence step by step and carry a state along, and their cells, one step each."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from ..array.tensor import Tensor, wrap
from ..ops import functions
from ..ops.network import recurrent
from ..overrides import overridable
from . import functional as F
from . import init
from .layers import add_parameters
from .module import Module
from .utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]

_arange, _cat, _stack, _tanh, _relu, _sigmoid, _where, _split = (
    functions[name] for name in ("arange", "cat", "stack", "tanh", "relu", "sigmoid", "where", "unsafe_split")
)
# Function modes see this call, and so know in which module it runs.
_lstm_layer = overridable(recurrent.lstm_layer)


# --- one step: from W_ih·x + b_ih and the state, to the next state ----------------------------------------------------


def _lstm(projected: Tensor, state: tuple[Tensor, Tensor], weight: Tensor, bias: Any) -> tuple[Tensor, Tensor]:
    hidden, cell = state
    i, f, g, o = _split(F.linear(hidden, weight, bias) + projected, cell.shape[1], 1)
    cell = _sigmoid(f) * cell + _sigmoid(i) * _tanh(g)
    return _sigmoid(o) * _tanh(cell), cell


def _gru(projected: Tensor, state: tuple[Tensor], weight: Tensor, bias: Any) -> tuple[Tensor]:
    (hidden,) = state
    i_r, i_z, i_n = _split(projected, hidden.shape[1], 1)
    h_r, h_z, h_n = _split(F.linear(hidden, weight, bias), hidden.shape[1], 1)
    reset, keep = _sigmoid(h_r + i_r), _sigmoid(h_z + i_z)
    new = _tanh(i_n + h_n * reset)
    return ((hidden - new) * keep + new,)


def _rnn_tanh(projected: Tensor, state: tuple[Tensor], weight: Tensor, bias: Any) -> tuple[Tensor]:
    return (_tanh(F.linear(state[0], weight, bias) + projected),)


def _rnn_relu(projected: Tensor, state: tuple[Tensor], weight: Tensor, bias: Any) -> tuple[Tensor]:
    return (_relu(F.linear(state[0], weight, bias) + projected),)


# By mode: the step, and the number of its gates.
_STEPS: dict[str, tuple[Any, int]] = {
    "LSTM": (_lstm, 4),
    "GRU": (_gru, 3),
    "RNN_TANH": (_rnn_tanh, 1),
    "RNN_RELU": (_rnn_relu, 1),
}


# --- layers -----------------------------------------------------------------------------------------------------------


class RNNBase(Module):
    """The base of RNN, LSTM and GRU. `mode` is "LSTM", "GRU", "RNN_TANH" or "RNN_RELU".

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
        if mode not in _STEPS:
            raise ValueError(f"Unrecognized RNN mode: {mode}")
        for name, flag in {"bias": bias, "batch_first": batch_first}.items():
            if not isinstance(flag, bool):
                raise TypeError(f"{name} should be of type bool, got: {type(flag).__name__}")
        for name, size in {"input_size": input_size, "hidden_size": hidden_size, "num_layers": num_layers}.items():
            if not isinstance(size, int):
                raise TypeError(f"{name} should be of type int, got: {type(size).__name__}")
            if size <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if proj_size and mode != "LSTM":
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if not 0 <= proj_size < hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size, and not negative")
        if not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if dropout and num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                f"num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}",
                stacklevel=2,
            )
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        self._all_weights: list[list[str]] = []
        rows, shown = _STEPS[mode][1] * hidden_size, proj_size or hidden_size
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
    def _flat_weights(self) -> list[Any]:
        return [weight for weights in self.all_weights for weight in weights]

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
        """Run a packed sequence as a padded one whose sequences end at their lengths. States are in batch order."""
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
        """Run all layers on sequences (L, N, features); `lengths` is not None if they differ. Returns the last layer's
        outputs (L, N, H) and the last states of all layers (layers, N, H)."""
        finals: list[list[Tensor]] = [[] for _ in states]
        for layer in range(self.num_layers):
            outputs = []
            for direction, suffix in enumerate(self._suffixes(layer)):
                number = layer * self._directions + direction
                out, last = self._run(sequence, tuple(s[number] for s in states), suffix, bool(direction), lengths)
                outputs.append(out)
                for final, state in zip(finals, last, strict=True):
                    final.append(state)
            sequence = outputs[0] if len(outputs) == 1 else _cat(outputs, -1)
            if self.dropout and self.training and layer < self.num_layers - 1:
                sequence = _dropped(sequence, self.dropout, lengths)
        return sequence, [_stack(final) for final in finals]

    def _check(self, input: Tensor) -> None:
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.shape[-1]}"
            )
        if input.dtype != self.weight_ih_l0.dtype:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({self.weight_ih_l0.dtype}). Convert "
                f"input: input.to({self.weight_ih_l0.dtype}), or convert model: model.to({input.dtype})"
            )

    def _initial(self, hx: Any, sequence: Tensor, batched: bool) -> list[Any]:
        size = (self.num_layers * self._directions, sequence.shape[1])
        # The output of an LSTM with a projection is narrower than its cell state.
        sizes = [(*size, self.proj_size or self.hidden_size), (*size, self.hidden_size)][: 1 + (self.mode == "LSTM")]
        if hx is None:
            zeros = [wrap(np.zeros(s[1:], sequence.value.dtype)) for s in sizes]
            return [(zero,) * size[0] for zero in zeros]
        states = list(hx) if self.mode == "LSTM" else [hx]
        states = states if batched else [s.unsqueeze(1) for s in states]
        names = ("hidden[0]", "hidden[1]") if self.mode == "LSTM" else ("hidden",)
        for name, state, expected in zip(names, states, sizes, strict=True):
            if tuple(state.shape) != expected:
                raise RuntimeError(f"Expected {name} size {expected}, got {list(state.shape)}")
        return states

    def _run(
        self, sequence: Tensor, state: tuple[Any, ...], suffix: str, backward: bool, lengths: Any
    ) -> tuple[Tensor, Any]:
        """Run one layer in one direction. The contribution of the inputs is computed for all steps at once."""
        if backward:
            sequence = _turned(sequence, lengths)
        weight_ih, weight_hh, bias_ih, bias_hh, weight_hr = (
            getattr(self, name + suffix, None) for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")
        )
        if self.mode == "LSTM" and weight_hr is None:
            out, *last, cells = _lstm_layer(sequence, *state, weight_ih, weight_hh, bias_ih, bias_hh)
            states = [out, cells]
        else:
            step, steps, last = _STEPS[self.mode][0], [], state
            for x in F.linear(sequence, weight_ih, bias_ih).unbind(0):
                last = step(x, last, weight_hh, bias_hh)
                if weight_hr is not None:
                    last = (F.linear(last[0], weight_hr), last[1])
                steps.append(last)
            states = [_stack(state) for state in zip(*steps, strict=True)]
            out = states[0]
        if lengths is not None:
            last = [state[lengths - 1, _arange(len(lengths))] for state in states]
        return _turned(out, lengths) if backward else out, last

    def extra_repr(self) -> str:
        shown = f"{self.input_size}, {self.hidden_size}"
        usual: list[tuple[str, float]] = [("proj_size", 0), ("num_layers", 1), ("bias", True), ("batch_first", False)]
        usual += [("dropout", 0.0), ("bidirectional", False)]
        return shown + "".join(f", {n}={getattr(self, n)}" for n, value in usual if getattr(self, n) != value)


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
    """A recurrent layer: at each step of sequences (L, N, input_size), h = tanh(W_ih·x + b_ih + W_hh·h + b_hh).

    Returns the outputs (L, N, directions·hidden_size) and the last states (num_layers·directions, N, hidden_size).

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
    """A long short-term memory: an RNN whose cell state has gates to write, forget, read. Returns (outputs, (h, c)).

    >>> out, (hidden, cell) = T.nn.LSTM(input_size=3, hidden_size=5, batch_first=True)(T.randn(2, 7, 3))
    >>> out.shape, hidden.shape, cell.shape
    (tinygrad_edu.Size([2, 7, 5]), tinygrad_edu.Size([1, 2, 5]), tinygrad_edu.Size([1, 2, 5]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)


class GRU(RNNBase):
    """A gated recurrent unit: a recurrent layer whose state is updated in parts, by two gates. Returns as RNN does.

    >>> out, last = T.nn.GRU(input_size=3, hidden_size=5, batch_first=True)(T.randn(2, 7, 3))
    >>> out.shape, last.shape
    (tinygrad_edu.Size([2, 7, 5]), tinygrad_edu.Size([1, 2, 5]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("GRU", *args, **kwargs)


# --- cells ------------------------------------------------------------------------------------------------------------


class RNNCellBase(Module):
    """The base of RNNCell, LSTMCell and GRUCell. `num_chunks` is the number of gates.

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
        name, pair = type(self).__name__, self._mode == "LSTM"
        if input.ndim not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.ndim}D instead")
        batched = input.ndim == 2
        x = input if batched else input.unsqueeze(0)
        if hx is None:
            states = tuple(wrap(np.zeros((x.shape[0], self.hidden_size), x.value.dtype)) for _ in range(1 + pair))
        else:
            states = tuple(s if batched else s.unsqueeze(0) for s in (hx if pair else (hx,)))
        self._check_sizes(x, states)
        out = _STEPS[self._mode][0](F.linear(x, self.weight_ih, self.bias_ih), states, self.weight_hh, self.bias_hh)
        out = tuple(s if batched else s.squeeze(0) for s in out)
        return out if pair else out[0]

    def _check_sizes(self, x: Tensor, states: tuple[Tensor, ...]) -> None:
        if x.shape[1] != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {x.shape[1]} expected {self.input_size}")
        for i, state in enumerate(states):
            if state.ndim > 2:
                raise ValueError(f"{type(self).__name__}: Expected hidden to be 1D or 2D, got {state.ndim}D instead")
            # A batch of 1 would be broadcast: each sample would continue from the same state.
            if state.ndim == 1 or x.shape[0] != state.shape[0]:
                raise RuntimeError(
                    f"Input batch size {x.shape[0]} doesn't match hidden{i} batch size {state.shape[0]}: each sample "
                    "has a state of its own."
                )
            if state.shape[1] != self.hidden_size:
                raise RuntimeError(
                    f"hidden{i} has inconsistent hidden_size: got {state.shape[1]}, expected {self.hidden_size}"
                )

    def extra_repr(self) -> str:
        shown = f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")
        nonlinearity = getattr(self, "nonlinearity", "tanh")
        return shown if nonlinearity == "tanh" else f"{shown}, nonlinearity={nonlinearity}"


class RNNCell(RNNCellBase):
    """One step of an RNN: (N, input_size) and (N, hidden_size) to (N, hidden_size).

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
        if nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {nonlinearity}. Select from 'tanh' or 'relu'.")
        self.nonlinearity, self._mode = nonlinearity, f"RNN_{nonlinearity.upper()}"


class LSTMCell(RNNCellBase):
    """One step of an LSTM: (N, input_size) and (h, c) to (h, c), each (N, hidden_size).

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

    >>> T.nn.GRUCell(3, 5)(T.randn(2, 3)).shape
    tinygrad_edu.Size([2, 5])
    """

    _mode = "GRU"

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)
