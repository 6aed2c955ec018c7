"""What a loss compares: (N, 1) against (N,), which broadcasts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from viz.diagnosis import families as ops
from viz.diagnosis.observation import Observation, Ran, Seen, first_and_last
from viz.diagnosis.rules.rule import Match, Rule, sentences


def _shapes(seen: Observation) -> Iterator[Match]:
    """A comparison that pairs each answer with all targets."""
    for each in first_and_last(seen.passes):
        compared = [op for op in ops.makers(seen, seen.behind(each)) if _pairs(seen, op)]
        for op in compared:
            a, b = (seen.values[nr] for nr in op.inputs[:2])
            shorter = min(a, b, key=lambda operand: len(operand.shape)).name or "y"
            shapes = [str(shape) for shape in (a.shape, b.shape, _outgrown(a, b))]
            rows, ranks = max(a.shape[0], b.shape[0]), (len(a.shape), len(b.shape))
            told: dict[str, Any] = {"rows": rows, "shapes": shapes, "shorter": shorter, "ranks": ranks}
            yield Match(op, names=[a.name, b.name], given={"certain": op.name in ops.BY_ELEMENT}, **told)
        if compared:
            return


def _pairs(seen: Observation, op: Ran) -> bool:
    """Whether a loss or a difference broadcasts a tensor that learns, or its target."""
    if len(op.inputs) < 2 or op.name not in ops.BY_ELEMENT | ops.DIFFERENCES:
        return False
    a, b = (seen.values[nr] for nr in op.inputs[:2])
    if not (a.requires_grad or b.requires_grad) or _outgrown(a, b) is None:
        return False
    return op.name in ops.BY_ELEMENT or (math.prod(a.shape) == math.prod(b.shape) and not _pairwise(seen, a, b))


def _outgrown(a: Seen, b: Seen) -> tuple[int, ...] | None:
    """The shape that two tensors of several numbers broadcast to, if larger than one: (N, 1) and (N,) to (N, N)."""
    try:
        whole = np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return None
    sizes = {math.prod(a.shape), math.prod(b.shape)}
    return whole if min(sizes) > 1 and math.prod(whole) > min(sizes) else None


def _pairwise(seen: Observation, a: Seen, b: Seen) -> bool:
    """True if both sides come from one value: then all pairs of its rows are probably intended."""
    if ops.source(seen, a.nr, ops.TURNS | ops.SPLITS)[0] is ops.source(seen, b.nr, ops.TURNS | ops.SPLITS)[0]:
        return True
    shared = seen.above([a.nr]) & seen.above([b.nr])
    return any(seen.values[nr].leaf is None and seen.values[nr].requires_grad for nr in shared)


WORDS = """
broadcast-loss: {at}: shapes {shapes[0]} and {shapes[1]} are broadcast to {shapes[2]}: each guess is compared with all
    {rows} targets, and the best guess is their mean.
    Fix: Give both the same shape: `{shorter}.unsqueeze(1)`, or squeeze(1) of the other.
"""
SAID = sentences(WORDS)
RULES = [Rule("broadcast-loss", _shapes, *SAID["broadcast-loss"])]
