"""Layers with nothing between them: however many there are, together they are one linear map."""

from __future__ import annotations

from collections.abc import Iterator

from viz.diagnosis import families as ops
from viz.diagnosis.observation import Observation, Ran
from viz.diagnosis.rules.rule import Match, Rule
from viz.diagnosis.rules.zero import layer_line

MAPS = {"linear", "addmm", "mm", "matmul", "conv1d", "conv2d", "conv3d"}  # linear in what they are given
LINEAR = MAPS | ops.TURNS | ops.ADDITIVE | {"dropout", "contiguous"}


def _one_map(seen: Observation) -> Iterator[Match]:
    """A network of several layers whose answer is linear in the data: no op between them bends anything."""
    last = {each.line: each for each in seen.backwards}
    for each in last.values() if seen.steps else ():
        for loss in (one for one in ops.makers(seen, seen.recorded(each)) if one.name in ops.TARGETED):
            made = ops.makers(seen, seen.above(loss.inputs[:1], lambda value: value.requires_grad))
            layers = [(op, weight) for op in made if op.name in MAPS and (weight := _weight(seen, op)) is not None]
            if any(op.name not in LINEAR for op in made) or len(layers) != sum(op.name in MAPS for op in made):
                continue
            widths = [seen.values[nr].shape[-1:] for op, _ in layers for nr in (op.inputs[0], op.outputs[0])]
            # a narrow place between two layers is a meaning of its own: a code, a factor
            if len({weight for _, weight in layers}) > 1 and min(widths) == min(widths[0], widths[-1]):
                first, names = layers[0][0], seen.called(weight for _, weight in layers)
                path = seen.parts[first.owner].path.split(".") if first.owner is not None else [""]
                at = first.line if path[-1] in seen.places.code(first.line) else layer_line(seen, first)
                yield Match(at, [op for op, _ in layers[1:]], names=names, count=len(layers))
                return


def _weight(seen: Observation, op: Ran) -> int | None:
    """The weight of a layer: a matrix that an optimizer holds, beside what comes from elsewhere."""
    leaves = [leaf for nr in op.inputs if (leaf := ops.source(seen, nr)[0].leaf) is not None]
    return next((leaf for leaf in leaves if seen.leaves[leaf].held and len(seen.leaves[leaf].shape) > 1), None)


RULES = [
    Rule("linear", _one_map,
        "{at}: between the data and the loss stand {count} layers, {names}, and nothing bends what goes from one to the next. Together they are one linear map, and cannot learn more than "
        "one layer can.",
        "Put an activation behind each layer but the last: `x = relu(self.first(x))`.", share=0.4),
]  # fmt: skip
