"""All steps of an LSTM along a sequence as one op."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array.promotion import sum_over
from ..binding import public
from ..creation.factories import zeros_like
from ..op import LinearOp, Op
from ..pointwise.exponential import sigmoid
from ..pointwise.trigonometric import tanh
from ..reductions.reduce import sum
from ..shapes.joining import Cat, Split, cat
from ..shapes.permute import transpose
from ..shapes.shape import reshape
from .layers import linear as product


class UnsafeSplit(LinearOp):
    forward = Split.forward
    grad_self = Split.grad_self


@public()
def unsafe_split(tensor: Any, split_size: Any, dim: int = 0) -> Any:
    """Pieces of equal size along `dim` that nobody writes to: they are not tracked as views."""
    return UnsafeSplit.apply(tensor, split_size=split_size, dim=dim)


class LstmLayer(Op, name="MkldnnRnnLayerBackward0"):
    """All steps of an LSTM along a sequence (L, N, I), with the names of PyTorch's op. A bias is a vector or None.

    The results are the outputs of all steps (L, N, H), the last output and cell state (N, H), and, where PyTorch has a
    workspace, the cell states of all steps. The whole layer is one node, as in PyTorch on the CPU: with one node per
    step, a training step is mostly bookkeeping.
    """

    results = ("outputs", "last_output", "last_cell", "cells", "gates")
    visible_outputs = 4

    def forward(input, weight0, weight1, weight2, weight3, hx_, cx_):
        hidden, cell = hx_, cx_
        (length, batch, width), n = input.shape, hidden.shape[1]
        # Gate by gate, (4, N, H), each contiguous, in the order i, f, o, g. The first three are negated, so that one
        # exponential serves all three. Slices are made before the loop, which only calls NumPy, 11 times per step.
        gates = input.reshape(length * batch, width) @ _sorted_gates(weight0.reshape(4, n, width).swapaxes(1, 2))
        if weight2 is not None:
            gates += _sorted_gates((weight2 + weight3).reshape(4, 1, n))
        gates = np.ascontiguousarray(gates.reshape(4, length, batch, n).swapaxes(0, 1))
        weight = _sorted_gates(weight1.reshape(4, n, n).swapaxes(1, 2))
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

    # Back through time, from the last step to the first. Each passes on the gradients of its hidden and cell states.
    def gradients(grad, needs_input_grad, input, weight0, weight1, weight2, weight3, hx_, cx_, outputs, cells, gates):
        # The saved gates have no history: for a gradient that will be differentiated again, compute them again.
        if all(isinstance(x, np.ndarray) for x in (input, weight0, weight1)):
            to_gates, to_hidden, to_cell = _back_through_time(grad, cx_, weight1, cells, gates)
            before = np.concatenate((hx_[None], outputs[:-1]))
            back, to_bias = to_gates.T, sum_over(to_gates, (0,))
        else:
            before = cat((hx_[None], outputs[:-1]))
            projected = reshape(product(input, weight0, weight2), (*input.shape[:2], -1))
            recorded = product(before, weight1, weight3) + projected
            to_gates, to_hidden, to_cell = _recorded(grad, recorded, hx_, cx_, weight1, cells)
            back, to_bias = transpose(to_gates, 0, 1), sum(to_gates, 0)
        return [
            reshape(to_gates @ weight0, tuple(input.shape)) if needs_input_grad[0] else None,
            back @ reshape(input, (-1, input.shape[2])),
            back @ reshape(before, (-1, before.shape[2])),
            to_bias,
            to_bias,
            to_hidden,
            to_cell,
        ]


def _sorted_gates(weights):
    """A copy of the weights of the gates i, f, g, o, in the order -i, -f, -o, g."""
    out = weights.take((0, 1, 3, 2), axis=0)
    np.negative(out[:3], out[:3])
    return out


def _back_through_time(grad, cell, weight_hh, cells, gates):
    """The gradients of the gates (L·N, 4·H), in the order i, f, g, o, and of the first two states, in place."""
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
    return to_gates.reshape(length * batch, 4 * n), to_hidden, to_cell


def _recorded(grad, gates, hidden, cell, weight_hh, cells):
    """The same with ops that are recorded, from the gates (L, N, 4·H) before their activations."""
    n = cells.shape[2]
    i, f, g, o = [(tanh if k == 2 else sigmoid)(gates[:, :, k * n : (k + 1) * n]) for k in range(4)]
    cell_before = cat((cell[None], cells[:-1]))
    squashed = tanh(cells)
    into = cat((g * (i * (1 - i)), cell_before * (f * (1 - f)), i * (1 - g * g), squashed * (o * (1 - o))), 2)
    show = o * (1 - squashed * squashed)
    to_outputs, to_hidden, to_cell, to_cells = grad
    to_hidden = zeros_like(hidden) if to_hidden is None else to_hidden
    to_cell = zeros_like(cell) if to_cell is None else to_cell
    rows = []
    for step in reversed(range(len(cells))):
        if to_outputs is not None:
            to_hidden = to_hidden + to_outputs[step]
        to_cell = to_cell + to_hidden * show[step]
        if to_cells is not None:
            to_cell = to_cell + to_cells[step]
        to_gates = Cat.apply(to_cell, to_cell, to_cell, to_hidden, dim=1) * into[step]
        rows.append(to_gates)
        to_hidden, to_cell = to_gates @ weight_hh, to_cell * f[step]
    return Cat.apply(*rows[::-1], dim=0), to_hidden, to_cell


def lstm_layer(
    sequence: Any, hidden: Any, cell: Any, weight_ih: Any, weight_hh: Any, bias_ih: Any = None, bias_hh: Any = None
) -> Any:
    """An LSTM's outputs (L, N, H) for all steps, its last output and cell state (N, H), all cell states (L, N, H)."""
    return LstmLayer.apply(sequence, weight_ih, weight_hh, bias_ih, bias_hh, hidden, cell)
