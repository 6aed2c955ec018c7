"""The ops of recurrent layers: one step of an LSTM, and all steps along a sequence as one op."""

from __future__ import annotations

import numpy as np

from ...array.promotion import sum_over
from ...ops.creation.factories import zeros_like
from ...ops.op import Op
from ...ops.pointwise.exponential import sigmoid
from ...ops.pointwise.trigonometric import tanh
from ...ops.reductions.reduce import sum
from ...ops.shapes.joining import Cat, cat, stack
from ...ops.shapes.permute import transpose
from ...ops.shapes.shape import reshape


class LstmStep(Op, name="LstmStepBackward0"):
    """One step of an LSTM: with gates i, f, g, o, the new cell state is f·c + i·g and the output is o·tanh of it."""

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


class LstmLayer(Op, name="MkldnnRnnLayerBackward0"):
    """All steps of an LSTM along a sequence (L, N, I), with the names of PyTorch's op. A bias is a vector or None.

    The results are the outputs of all steps (L, N, H), the last output and cell state (N, H), and, where PyTorch has a
    workspace, the cell states of all steps. The whole layer is one node, as in PyTorch on the CPU: with one node per step,
    a training step is mostly bookkeeping.
    """

    results = ("outputs", "last_output", "last_cell", "cells", "gates")
    visible_outputs = 4

    def forward(input, weight0, weight1, weight2, weight3, hx_, cx_):
        sequence, hidden, cell = input, hx_, cx_
        weight_ih, weight_hh, bias_ih, bias_hh = weight0, weight1, weight2, weight3
        (length, batch, width), n = sequence.shape, hidden.shape[1]
        # Gate by gate, (4, N, H), each contiguous, in the order i, f, o, g. The first three are negated, so that one exponential
        # serves all three. Slices are made before the loop, which only calls NumPy, 11 times per step.
        gates = sequence.reshape(length * batch, width) @ _sorted_gates(weight_ih.reshape(4, n, width).swapaxes(1, 2))
        if bias_ih is not None:
            gates += _sorted_gates((bias_ih + bias_hh).reshape(4, 1, n))
        gates = np.ascontiguousarray(gates.reshape(4, length, batch, n).swapaxes(0, 1))
        weight = _sorted_gates(weight_hh.reshape(4, n, n).swapaxes(1, 2))
        outputs, cells = (np.empty((length, batch, n), gates.dtype) for _ in range(2))
        added = np.empty((batch, n), gates.dtype)
        parts = gates, gates[:, :3], *[gates[:, k] for k in range(4)], outputs, cells
        for row, three, i, f, o, g, shown, now in zip(*parts, strict=True):
            row += hidden @ weight
            np.exp(three, three)
            three += 1
            np.reciprocal(three, three)
            np.tanh(g, g)
            np.multiply(f, cell, now)
            np.multiply(i, g, added)
            now += added
            np.tanh(now, shown)
            shown *= o
            hidden, cell = shown, now
        return outputs, hidden.copy(), cell.copy(), cells, gates

    # Back through time, from the last step to the first. Each step passes on the gradients of its hidden and cell states.
    def gradients(grad, needs_input_grad, input, weight0, weight1, weight2, weight3, hx_, cx_, outputs, cells, gates):
        sequence, hidden, cell = input, hx_, cx_
        weight_ih, weight_hh, bias_ih, bias_hh = weight0, weight1, weight2, weight3
        # The saved gates have no history: for a gradient that will be differentiated again, compute them again.
        if all(isinstance(x, np.ndarray) for x in (sequence, weight_ih, weight_hh)):
            return _back_through_time(
                grad, needs_input_grad, sequence, hidden, cell, weight_ih, weight_hh, outputs, cells, gates
            )
        before, into, show, keep = _derivatives(
            sequence, hidden, cell, weight_ih, weight_hh, bias_ih, bias_hh, outputs, cells
        )
        to_outputs, to_hidden, to_cell, to_cells = grad
        to_hidden = zeros_like(hidden) if to_hidden is None else to_hidden
        to_cell = zeros_like(cell) if to_cell is None else to_cell
        rows = []
        for step in reversed(range(len(outputs))):
            if to_outputs is not None:
                to_hidden = to_hidden + to_outputs[step]
            to_cell = to_cell + to_hidden * show[step]
            if to_cells is not None:
                to_cell = to_cell + to_cells[step]
            to_gates = Cat.apply(to_cell, to_cell, to_cell, to_hidden, dim=1) * into[step]
            rows.append(to_gates)
            to_hidden, to_cell = to_gates @ weight_hh, to_cell * keep[step]
        to_gates = Cat.apply(*rows[::-1], dim=0)
        back = transpose(to_gates, 0, 1)
        to_bias = sum(to_gates, 0)
        return [
            reshape(to_gates @ weight_ih, tuple(sequence.shape)) if needs_input_grad[0] else None,
            back @ reshape(sequence, (-1, sequence.shape[2])),
            back @ reshape(before, (-1, before.shape[2])),
            to_bias,
            to_bias,
            to_hidden,
            to_cell,
        ]

    def jvp(
        dsequence, dweight_ih, dweight_hh, dbias_ih, dbias_hh, dhidden, dcell,
        input, weight0, weight1, weight2, weight3, hx_, cx_, outputs, cells,
    ):  # fmt: skip
        sequence, hidden, cell = input, hx_, cx_
        weight_ih, weight_hh, bias_ih, bias_hh = weight0, weight1, weight2, weight3
        before, into, show, keep = _derivatives(
            sequence, hidden, cell, weight_ih, weight_hh, bias_ih, bias_hh, outputs, cells
        )
        dgates = _project(dsequence, weight_ih, dbias_ih, dbias_hh) + _project(sequence, dweight_ih, None, None)
        dgates = dgates + before @ transpose(dweight_hh, 0, 1)
        doutputs, dcells = [], []
        for step in range(len(outputs)):
            moved = (dgates[step] + dhidden @ transpose(weight_hh, 0, 1)) * into[step]
            i, f, g, o = _quarters(moved)
            dcell = dcell * keep[step] + i + f + g
            dhidden = dcell * show[step] + o
            doutputs.append(dhidden)
            dcells.append(dcell)
        return stack(doutputs), dhidden, dcell, stack(dcells)


def _project(sequence, weight, *biases):
    """The contribution of the inputs to the gates, for all steps, as one matrix product."""
    rows = reshape(sequence, (-1, sequence.shape[2])) @ transpose(weight, 0, 1)
    for bias in biases:
        if bias is not None:
            rows = rows + bias
    return reshape(rows, (*sequence.shape[:2], weight.shape[0]))


def _sorted_gates(weights):
    """A copy of the weights of the gates i, f, g, o, in the order -i, -f, -o, g."""
    out = weights.take((0, 1, 3, 2), axis=0)
    np.negative(out[:3], out[:3])
    return out


def _back_through_time(grad, needs_input_grad, sequence, hidden, cell, weight_ih, weight_hh, outputs, cells, gates):
    """The rule of LstmLayer on arrays, in place, gate by gate like its forward pass: half the time of the formula."""
    length, _, batch, n = gates.shape
    to_outputs, to_hidden, to_cell, to_cells = grad
    i, f, o, g = (gates[:, k] for k in range(4))
    squashed = np.tanh(cells)
    # The derivatives of the cell state by the gates i, f, g; and of the output by the gate o and by the cell state.
    into = np.empty(gates.shape, gates.dtype)
    by_i, by_f, by_g, by_o = (into[:, k] for k in range(4))
    np.subtract(1, gates[:, :3], into[:, :3])
    into[:, :3] *= gates[:, :3]
    np.multiply(by_g, squashed, by_o)
    by_i *= g
    by_f[0] *= cell
    by_f[1:] *= cells[:-1]
    np.multiply(g, g, by_g)
    np.subtract(1, by_g, by_g)
    by_g *= i
    squashed *= squashed
    show = np.subtract(1, squashed, squashed)
    show *= o
    # The gradients of the gates, (N, 4·H) per step. The weights' gradients are then computed from all steps at once.
    to_gates = np.empty((length, batch, 4, n), gates.dtype)
    by_gate = to_gates.swapaxes(1, 2)
    rows = to_gates.reshape(length, batch, 4 * n)
    to_hidden = np.zeros((batch, n), gates.dtype) if to_hidden is None else to_hidden.copy()
    to_cell = np.zeros((batch, n), gates.dtype) if to_cell is None else to_cell.copy()
    parts = [x[::-1] for x in (into[:, :3], by_o, show, f, by_gate[:, :3], by_gate[:, 3], rows)]
    due = [(None,) * length if x is None else x[::-1] for x in (to_outputs, to_cells)]
    for three, last, shown, kept, to_three, to_last, row, due_to_hidden, due_to_cell in zip(*parts, *due, strict=True):
        if due_to_hidden is not None:
            to_hidden += due_to_hidden
        shown *= to_hidden
        to_cell += shown
        if due_to_cell is not None:
            to_cell += due_to_cell
        np.multiply(three, to_cell, to_three)
        np.multiply(last, to_hidden, to_last)
        to_hidden = row @ weight_hh
        to_cell *= kept
    to_gates = to_gates.reshape(length * batch, 4 * n)
    before = np.concatenate((hidden[None], outputs[:-1])).reshape(length * batch, n)
    to_bias = sum_over(to_gates, (0,))
    return [
        (to_gates @ weight_ih).reshape(sequence.shape) if needs_input_grad[0] else None,
        to_gates.T @ sequence.reshape(length * batch, sequence.shape[2]),
        to_gates.T @ before,
        to_bias,
        to_bias,
        to_hidden,
        to_cell,
    ]


def _derivatives(sequence, hidden, cell, weight_ih, weight_hh, bias_ih, bias_hh, outputs, cells):
    """For all steps at once: the hidden state before each step; the derivatives of its cell state by the gates i, f, g and of
    its output by the gate o, (L, N, 4·H); of its output by its cell state; and of its cell state by the one before."""
    before = cat((hidden[None], outputs[:-1]))
    cell_before = cat((cell[None], cells[:-1]))
    projected = _project(sequence, weight_ih, bias_ih, bias_hh)
    i, f, g, o = _gates(projected + before @ transpose(weight_hh, 0, 1))
    squashed = tanh(cells)
    into = cat((g * (i * (1 - i)), cell_before * (f * (1 - f)), i * (1 - g * g), squashed * (o * (1 - o))), 2)
    return before, into, o * (1 - squashed * squashed), f


def lstm_step(gates, cell):
    """The output and the cell state of an LSTM after one step, from its gates (N, 4·H) and the previous cell state (N, H)."""
    return LstmStep.apply(gates, cell)


def lstm_layer(sequence, hidden, cell, weight_ih, weight_hh, bias_ih=None, bias_hh=None):
    """The outputs (L, N, H) of an LSTM for all steps, its last output and cell state (N, H), and all cell states (L, N, H)."""
    return LstmLayer.apply(sequence, weight_ih, weight_hh, bias_ih, bias_hh, hidden, cell)
