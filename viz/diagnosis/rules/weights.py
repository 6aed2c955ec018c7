"""What set the size of a weight: an initialiser, a write, or the line that made it by hand."""

from __future__ import annotations

import math

from viz.diagnosis.families import RESHAPES
from viz.diagnosis.observation import Leaf, Observation, Ran, Seen

OVERSIZED = 8.0  # times 1/sqrt(fan): numbers with the gain of a relu reach 6 of it
SOUND = ("xavier", "kaiming", "orthogonal", "eye", "dirac")


def sized(seen: Observation, leaf: Leaf) -> int | None:
    """The line that set a weight's size with its own number; None if a layer, or a usual initialiser, chose it."""
    if len(leaf.shape) < 2:
        return None
    written = [write for write in leaf.writes if write.kind in ("init", "write") and write.line and write.after == 0]
    if written:
        last = written[-1]
        return None if last.name.startswith(SOUND) and not _oversized(leaf) else last.line
    return seen.origin(leaf) if leaf.holder is None or seen.parts[leaf.holder].library is False else None


def _oversized(leaf: Leaf) -> bool:
    """Whether a usual initialiser was given a gain that makes the weights several times larger than it does by itself."""
    fans = (leaf.shape[1] * math.prod(leaf.shape[2:]), leaf.shape[0] * math.prod(leaf.shape[2:]))
    return leaf.began * math.sqrt(min(fans)) > OVERSIZED


def outweighs(seen: Observation, value: Seen) -> int | None:
    """The line that set the weight, or the bias, that makes the result of a layer so large; None where its input does."""
    op = seen.maker(value)
    while op is not None and op.name in RESHAPES and op.inputs:
        value = seen.values[op.inputs[0]]
        op = seen.maker(value)
    if op is None:
        return None
    leaves = {nr: leaf for nr in op.inputs if (leaf := _leaf(seen, nr)) is not None}
    given = max((seen.values[nr].peak or 0.0 for nr in op.inputs if nr not in leaves), default=0.0)
    sizes = {nr: _share(seen.values[nr], given, op) for nr in leaves}
    for nr in sorted(sizes, key=lambda nr: -sizes[nr]):
        leaf, weight = leaves[nr], seen.values[nr].peak or 0.0
        if len(leaf.shape) > 1:
            fan_in = math.prod(leaf.shape) / max(leaf.shape[0], 1)
            return sized(seen, leaf) if weight * math.sqrt(fan_in) > max(given, 1.0) else None
        written = [write.line for write in leaf.writes if write.kind in ("init", "write") and write.line]
        if written:
            return written[-1]
    return None


def _leaf(seen: Observation, nr: int) -> Leaf | None:
    """The leaf that a value is, or is a transposed view of."""
    value = seen.values[nr]
    for _ in range(4):
        if value.leaf is not None:
            return seen.leaves[value.leaf]
        op = seen.maker(value)
        if op is None or op.name not in RESHAPES or not op.inputs:
            return None
        value = seen.values[op.inputs[0]]
    return None


def _share(weight: Seen, given: float, op: Ran) -> float:
    """About how large the contribution of a weight, or a bias, to the result of a layer is."""
    peak = weight.peak or 0.0
    return peak * given if len(weight.shape) > 1 else peak
