"""What goes into a network: data in evaluation that are unlike those in training."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import median

from viz.diagnosis import families as ops
from viz.diagnosis.observation import Observation, Ran, Seen
from viz.diagnosis.places import indexed
from viz.diagnosis.rules.rule import Match, Rule

APART = 0.4  # of the span of both, which both cover: numbers of one distribution cover more of it
FEW = 16  # calls that are looked at
SEVERAL = 2  # calls in training, at least: one batch tells little


def _unlike(seen: Observation) -> Iterator[Match]:
    """A network that is evaluated on numbers in another range than those that it learns from, as where one of the two is not normalised."""
    for leaf in seen.trained():
        calls = [op for nr in leaf.values for op in seen.users(nr) if op.name in ops.LAYERS and len(op.inputs) > 1]
        learnt = [op for op in calls if op.grad_on][:FEW]
        if len(learnt) < SEVERAL or any(_data(seen, op) is None for op in learnt):
            continue
        for asked in indexed((op.stack, op) for op in calls if op.step and not op.grad_on).values():
            if any(_data(seen, op) is None for op in asked[-FEW:]) or 4 * _count(seen, asked[-1]) < _count(
                seen, learnt[-1]
            ):
                continue  # fewer numbers lie closer together, as those of one state that a policy is asked about
            (low, high), (least, most) = _span(seen, learnt), _span(seen, asked[-FEW:])
            if min(high, most) - max(low, least) < APART * (max(high, most) - min(low, least)):
                shared = seen.above(nr for op in learnt for nr in op.inputs[:1])
                common = {seen.values[nr].line for nr in shared} | {None}
                own = (seen.values[nr] for nr in sorted(seen.above(asked[-1].inputs[:1]) - shared))
                value = next(
                    (one for one in own if one.floating and one.line not in common), None
                )  # where the two part
                ranges, names = (
                    (f"{least:.3g} to {most:.3g}", f"{low:.3g} to {high:.3g}"),
                    [value.name if value else ""],
                )
                here = next((line for line in asked[-1].stack if line not in learnt[-1].stack), None)
                yield Match(
                    value.line if value else here, [asked[-1], learnt[-1]], names=names, ranges=ranges, layer=learnt[-1]
                )
                return


def _count(seen: Observation, op: Ran) -> int:
    return math.prod(seen.values[op.inputs[0]].shape)


def _data(seen: Observation, op: Ran) -> Seen | None:
    """What a layer is given, where that is data: it has no history, and was not computed by a layer before."""
    value = seen.values[op.inputs[0]]
    above = [seen.values[nr] for nr in seen.above([value.nr], past_leaves=True)]
    made = (seen.maker(one) for one in above)
    weights = any(one.leaf is not None and seen.leaves[one.leaf].parameter for one in above)
    computed = value.requires_grad or weights or any(one is not None and one.name in ops.LAYERS for one in made)
    return None if computed or not value.floating or value.low is None else value


def _span(seen: Observation, calls: list[Ran]) -> tuple[float, float]:
    """The smallest and the largest number that a layer is given, as a rule: one call may be a trial."""
    given = [value for op in calls if (value := _data(seen, op)) is not None]
    return median(one.low or 0.0 for one in given), median(one.peak or 0.0 for one in given)


RULES = [
    Rule("unlike-data", _unlike,
        "{at}: evaluated on numbers from {ranges[0]}, and trained, in {layer}, on numbers from {ranges[1]}. A network knows nothing of numbers that it never saw.",
        "Prepare both in the same way: the same scale, the mean and deviation of the training data.", share=0.3),
]  # fmt: skip
