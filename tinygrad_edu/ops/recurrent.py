"""What recurrent layers compute: one step of an LSTM, and the steps along a whole sequence as one op."""

from __future__ import annotations

import numpy as np

from .creation import zeros_like
from .exponential import sigmoid
from .joining import cat, stack
from .op import Op
from .permute import transpose
from .reduce import sum
from .trigonometric import tanh


class LstmStep(Op, name="LstmStepBackward0"):
    """One step of an LSTM: with gates i, f, g, o, the cell becomes f·c + i·g and the output o·tanh of it."""

    def forward(gates, cell):
        n = gates.shape[1] // 4
        i, f, _, o = _quarters(1 / (1 + np.exp(-gates)))
        moved = f * cell + i * np.tanh(gates[:, 2 * n : 3 * n])
        return o * np.tanh(moved), moved

    def gradients(grad, needs_input_grad, gates, cell):
        i, f, g, o = _gates(gates)
        squashed = tanh(f * cell + i * g)
        to_hidden, to_moved = grad
        parts = []
        if to_hidden is not None:
            parts.append(to_hidden * (o * (1 - squashed * squashed)))
        if to_moved is not None:
            parts.append(to_moved)
        to_cell = parts[0] if len(parts) == 1 else parts[0] + parts[1]
        to_o = zeros_like(to_cell) if to_hidden is None else to_hidden * (squashed * (o * (1 - o)))
        to_gates = cat(
            (to_cell * (g * (i * (1 - i))), to_cell * (cell * (f * (1 - f))), to_cell * (i * (1 - g * g)), to_o), 1
        )
        return [to_gates, to_cell * f]

    def jvp(gates_tangent, cell_tangent, gates, cell):
        i, f, g, o = _gates(gates)
        di, df, dg, do = _quarters(gates_tangent)
        moved = f * cell_tangent + df * (cell * (f * (1 - f))) + di * (g * (i * (1 - i))) + dg * (i * (1 - g * g))
        squashed = tanh(f * cell + i * g)
        return do * (squashed * (o * (1 - o))) + o * (1 - squashed * squashed) * moved, moved


def _quarters(gates):
    n = gates.shape[-1] // 4
    return [gates[..., k * n : (k + 1) * n] for k in range(4)]


def _gates(gates):
    i, f, g, o = _quarters(gates)
    return sigmoid(i), sigmoid(f), tanh(g), sigmoid(o)


class LstmLayer(Op, name="LstmLayerBackward0"):
    """The steps of an LSTM along a sequence of gates (L, N, 4·H), to each of which hidden·weightᵀ is added.

    The results are the outputs and the cells of all steps. One node serves the whole layer, as PyTorch's does on the
    CPU: with nodes for each step, a training step is mostly bookkeeping.
    """

    results = ("outputs", "cells")

    def forward(projected, hidden, cell, weight):
        outputs, cells = (np.empty((len(projected), *hidden.shape), projected.dtype) for _ in range(2))
        for step, gates in enumerate(projected):
            hidden, cell = LstmStep.forward(gates + hidden @ weight.T, cell)
            outputs[step], cells[step] = hidden, cell
        return outputs, cells

    # Back through time: from the last step to the first, each step hands on what its hidden state and cell are due.
    def gradients(grad, needs_input_grad, projected, hidden, cell, weight, outputs, cells):
        before, keep, into_cell, show, into_output = _derivatives(projected, hidden, cell, weight, outputs, cells)
        to_outputs, to_cells = grad
        to_hidden, to_cell = zeros_like(hidden), zeros_like(cell)
        rows = []
        for step in reversed(range(len(outputs))):
            if to_outputs is not None:
                to_hidden = to_hidden + to_outputs[step]
            to_cell = to_cell + to_hidden * show[step]
            if to_cells is not None:
                to_cell = to_cell + to_cells[step]
            to_first_three = (to_cell[:, None] * into_cell[step]).reshape(len(to_cell), -1)
            rows.append(cat((to_first_three, to_hidden * into_output[step]), 1))
            to_hidden, to_cell = rows[-1] @ weight, to_cell * keep[step]
        to_gates = stack(rows[::-1])
        flat = to_gates.reshape(-1, to_gates.shape[2])
        to_weight = transpose(flat, 0, 1) @ before.reshape(-1, before.shape[2])
        return [to_gates, to_hidden, to_cell, to_weight]

    def jvp(dprojected, dhidden, dcell, dweight, projected, hidden, cell, weight, outputs, cells):
        before, keep, into_cell, show, into_output = _derivatives(projected, hidden, cell, weight, outputs, cells)
        dgates = dprojected + before @ transpose(dweight, 0, 1)
        n = hidden.shape[1]
        doutputs, dcells = [], []
        for step in range(len(outputs)):
            moved = dgates[step] + dhidden @ transpose(weight, 0, 1)
            first_three = moved[:, : 3 * n].reshape(len(moved), 3, n)
            dcell = dcell * keep[step] + sum(first_three * into_cell[step], 1)
            dhidden = dcell * show[step] + moved[:, 3 * n :] * into_output[step]
            doutputs.append(dhidden)
            dcells.append(dcell)
        return stack(doutputs), stack(dcells)


def _derivatives(projected, hidden, cell, weight, outputs, cells):
    """Of all steps at once: the hidden state before each, and the derivative of its cell by the cell before, of its cell
    by the gates i, f, g (L, N, 3, H), of its output by its cell, and of its output by the gate o."""
    before = cat((hidden[None], outputs[:-1]))
    cell_before = cat((cell[None], cells[:-1]))
    i, f, g, o = _gates(projected + before @ transpose(weight, 0, 1))
    into_cell = stack((g * (i * (1 - i)), cell_before * (f * (1 - f)), i * (1 - g * g)), 2)
    squashed = tanh(cells)
    return before, f, into_cell, o * (1 - squashed * squashed), squashed * (o * (1 - o))


# --- functions -------------------------------------------------------------------------------------------------------


def lstm_step(gates, cell):
    """The output and the cell of an LSTM after one step, from its gates (N, 4·H) and the cell (N, H) before."""
    return LstmStep.apply(gates, cell)


def lstm_layer(projected, hidden, cell, weight):
    """The outputs and the cells (L, N, H) of an LSTM after each step, from what its inputs add to the gates."""
    return LstmLayer.apply(projected, hidden, cell, weight)
