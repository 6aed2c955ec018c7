"""What set the size of a weight: an initialiser, a write, or the line that made it by hand."""

from __future__ import annotations

import math

from viz.diagnosis.families import RESHAPES, source
from viz.diagnosis.observation import Leaf, Observation, Seen

SOUND = ("xavier", "kaiming", "orthogonal", "eye", "dirac")


def written(leaf: Leaf) -> list[int]:
    """The lines that gave a weight numbers, other than steps, in order."""
    return [write.line for write in leaf.writes if write.kind in ("init", "write") and write.line]


def sized(seen: Observation, leaf: Leaf) -> int | None:
    """The line that set a weight's size with its own number; None if a layer, or a usual initialiser, chose it."""
    if len(leaf.shape) < 2:
        return None
    first = [write for write in leaf.writes if write.kind in ("init", "write") and write.line and write.after == 0]
    if first:
        last = first[-1]
        return None if last.name.startswith(SOUND) else last.line
    return seen.origin(leaf) if leaf.holder is None or seen.parts[leaf.holder].library is False else None


def outweighs(seen: Observation, value: Seen) -> int | None:
    """The line that set the weight or bias that makes a layer's result so large; None if its input does."""
    op = source(seen, value.nr, RESHAPES)[1]
    sources = [source(seen, nr, RESHAPES)[0] for nr in op.inputs] if op is not None else []
    weights = [(source.peak or 0.0, seen.leaves[source.leaf]) for source in sources if source.leaf is not None]
    data = max((source.peak or 0.0 for source in sources if source.leaf is None), default=0.0)
    # the largest contribution first: a weight is multiplied by the data, a bias is added
    for peak, leaf in sorted(weights, key=lambda pair: -pair[0] * (data if len(pair[1].shape) > 1 else 1.0)):
        if len(leaf.shape) > 1:
            fan_in = math.prod(leaf.shape) / max(leaf.shape[0], 1)
            return sized(seen, leaf) if peak * math.sqrt(fan_in) > max(data, 1.0) else None
        if lines := written(leaf):
            return lines[-1]
    return None
