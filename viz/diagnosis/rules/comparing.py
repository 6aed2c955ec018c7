"""What a loss compares: (N, 1) against (N,), which broadcasts."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from viz.diagnosis import families as ops
from viz.diagnosis.observation import Observation, Ran, Seen, first_and_last
from viz.diagnosis.rules.rule import Match, Rule


def _shapes(seen: Observation) -> Iterator[Match]:
    """A comparison that pairs each answer with all targets."""
    for each in first_and_last(seen.passes):
        found = False
        for op in (one for one in ops.makers(seen, seen.behind(each)) if len(one.inputs) > 1):
            a, b = seen.values[op.inputs[0]], seen.values[op.inputs[1]]
            sure, differs = op.name in ops.BY_ELEMENT, op.name in ops.DIFFERENCES and compared(seen, op.outputs[0])
            learnt = a.requires_grad or b.requires_grad
            whole = _outgrown(a.shape, b.shape, any_size=sure or differs) if learnt else None
            grew = (_grew(seen, a) or _grew(seen, b)) if whole is not None and (sure or differs) else None
            if whole is None or (grew is None and not sure and math.prod(a.shape) != math.prod(b.shape)):
                continue
            held = differs or _with_data(seen, op, a, b)
            if sure or _among_rows(seen, op, a, b) or (held and not _pairwise(seen, a, b)):
                found, rows, names = True, max(a.shape[0], b.shape[0]), [a.name, b.name]
                shapes = [str(one) for one in (a.shape, b.shape, whole)]
                yield Match(
                    grew or op,
                    [op],
                    names=names,
                    rows=rows,
                    shapes=shapes,
                    shorter=min(a, b, key=lambda one: len(one.shape)).name or "y",
                    given={"certain": sure},
                )
        if found:
            return


def _with_data(seen: Observation, op: Ran, a: Seen, b: Seen) -> bool:
    """Whether an answer meets data, one for each row, and nobody turned either into a column for that."""
    answer, data = (a, b) if a.requires_grad else (b, a)
    turned = any(one.name in ops.VIEWS | {"unsqueeze", "__getitem__"} for one in ops.makers(seen, (a.nr, b.nr)))
    plain = answer.leaf is None and data.leaf is None and data.floating and not data.requires_grad
    return op.name in ops.DIFFERENCES | ops.PRODUCTS and plain and not turned


def _among_rows(seen: Observation, op: Ran, a: Seen, b: Seen) -> bool:
    """Whether a row meets a column of as many, neither of which was turned for that, and the result meets a row of as many again."""
    turns = ops.VIEWS | ops.TRANSPOSES | {"unsqueeze", "__getitem__"}
    turned = any(one.name in turns for one in ops.makers(seen, (a.nr, b.nr)))
    rows = [(size,) for size in max(a.shape, b.shape, key=len)[:1]]
    users = (user for nr in op.outputs for user in seen.users(nr) if user.name in ops.ADDITIVE)
    others = [seen.values[nr].shape for user in users for nr in user.inputs if nr not in op.outputs]
    return op.name in ops.PRODUCTS and not turned and rows[0] in (a.shape, b.shape) and others == rows


def _grew(seen: Observation, value: Seen) -> Ran | None:
    """The op that made a target larger than what it was computed from, by the same mistake: of the first line that did."""
    for op in ops.makers(seen, seen.above([value.nr], lambda one: one.shape == value.shape)):
        shapes = [seen.values[one].shape for one in op.inputs]
        if len(shapes) == 2 and _outgrown(shapes[0], shapes[1]) == value.shape:
            return op
    return None


def _outgrown(a: tuple[int, ...], b: tuple[int, ...], any_size: bool = False) -> tuple[int, ...] | None:
    """The shape that two tensors of equal size broadcast to, if it is larger than both: (N, 1) and (N,) to (N, N)."""
    sizes = {math.prod(a), math.prod(b)}
    if a == b or () in (a, b) or (len(sizes) > 1 and (not any_size or 1 in sizes)):
        return None
    try:
        whole = np.broadcast_shapes(a, b)
    except ValueError:
        return None
    return whole if math.prod(whole) > min(sizes) else None


def _pairwise(seen: Observation, a: Seen, b: Seen) -> bool:
    """True if both sides come from one value: then all pairs of its rows are probably intended."""
    if ops.source(seen, a.nr, ops.TURNS | ops.SPLITS)[0] is ops.source(seen, b.nr, ops.TURNS | ops.SPLITS)[0]:
        return True
    shared = seen.above([a.nr]) & seen.above([b.nr])
    return any(seen.values[nr].leaf is None and seen.values[nr].requires_grad for nr in shared)


def compared(seen: Observation, nr: int) -> bool:
    """True if a difference is squared, or its magnitude is taken, and then averaged into the loss."""
    users = seen.users(nr)
    shrinks = {"pow", "square", "abs", "mean", "sum", "mul", "norm", "huber_loss", "sub", "float"}
    return bool(users) and all(op.name in shrinks for op in users)


RULES = [
    Rule("broadcast-loss", _shapes,
        "{at}: shapes {shapes[0]} and {shapes[1]} are broadcast to {shapes[2]}: each guess is compared with all {rows} targets, and the best guess is their mean.",
        "Give both the same shape: `{shorter}.unsqueeze(1)`, or squeeze(1) of the other."),
]  # fmt: skip
