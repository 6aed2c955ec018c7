"""What goes into a network: data in evaluation that are unlike those in training."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import median

import numpy as np

from viz.diagnosis import families as ops
from viz.diagnosis.observation import Observation, Ran, Seen, by_line
from viz.diagnosis.places import indexed
from viz.diagnosis.rules.rule import Match, Rule, telling

APART = 0.4  # of the span of both, which both cover: numbers of one distribution cover more of it
FEW = 16  # calls that are looked at
SEVERAL = 2  # calls in training, at least: one batch tells little; classes in a batch
MANY = 4  # classes, and passes, at least


def _data_as_given(seen: Observation) -> Iterator[Match]:
    """Data that tell less than they should: another range in evaluation, one class at a time, one label for all."""
    yield from (*_unlike(seen), *_not_mixed(seen), *_one_answer(seen))


def _unlike(seen: Observation) -> Iterator[Match]:
    """A network that is evaluated on numbers in another range than those that it learns from, as where one of the two is not normalised."""
    for leaf in seen.trained():
        calls = [op for nr in leaf.values for op in seen.users(nr) if op.name in ops.LAYERS and len(op.inputs) > 1]
        learnt = [op for op in calls if op.grad_on][:FEW]
        if len(learnt) < SEVERAL or any(_data(seen, op) is None for op in learnt):
            continue
        for asked in indexed((op.stack, op) for op in calls if op.step and not op.grad_on).values():
            # fewer numbers lie closer together, as those of one state that a policy is asked about
            few = 4 * _count(seen, asked[-1]) < _count(seen, learnt[-1])
            if few or any(_data(seen, op) is None for op in asked[-FEW:]):
                continue
            (low, high), (least, most) = _span(seen, learnt), _span(seen, asked[-FEW:])
            if min(high, most) - max(low, least) < APART * (max(high, most) - min(low, least)):
                shared = seen.above(nr for op in learnt for nr in op.inputs[:1])
                common = {seen.values[nr].line for nr in shared} | {None}
                own = (seen.values[nr] for nr in sorted(seen.above(asked[-1].inputs[:1]) - shared))
                value = next((one for one in own if one.floating and one.line not in common), None)  # where they part
                ranges = f"{least:.3g} to {most:.3g}", f"{low:.3g} to {high:.3g}"
                here = next((line for line in asked[-1].stack if line not in learnt[-1].stack), None)
                at, names = (value.line, [value.name]) if value else (here, [])
                yield Match(at, [asked[-1], learnt[-1]], names=names, ranges=ranges, layer=learnt[-1])
                return


def _not_mixed(seen: Observation) -> Iterator[Match]:
    """Classes that come one after another, as in sorted data: each batch holds one or two of many, and the steps unlearn the others."""
    losses = (op for op in seen.ops if op.name in ops.CLASS_LOSSES and op.recorded and op.inputs[-1] in seen.numbers)
    for own in by_line(losses).values():
        labels = [np.unique(seen.numbers[op.inputs[-1]]) for op in own if seen.numbers[op.inputs[-1]].size >= FEW]
        every = {number for one in labels for number in one}
        if len(labels) >= 2 * len(every) >= 2 * MANY and max(map(len, labels)) <= SEVERAL and seen.steps:
            value, made = ops.source(seen, own[-1].inputs[-1], ops.TURNS | ops.CHOSEN | {"long"})
            taken = ops.source(seen, own[-1].inputs[-1], ops.TURNS)[1]
            loader = seen.places.where_loaded(taken.line) if taken is not None and taken.name == "stack" else None
            yield Match(loader or made or value, [own[-1]], names=[value.name], count=len(every), given=SORTED)
            return


def _one_answer(seen: Observation) -> Iterator[Match]:
    """A layer that is asked for the same answer to every row, in every pass: no other label ever comes."""
    heads: dict[int, list[tuple[Ran, float | None]]] = {}
    losses = (op for op in seen.ops if op.name in ops.CLASS_LOSSES | ops.BINARY and op.recorded)
    for op in (one for one in losses if len(one.inputs) > 1):
        layers = [one for one in ops.makers(seen, seen.above(op.inputs[:1])) if one.name in ops.LAYERS]
        weights = (seen.values[nr].leaf for one in layers[-1:] for nr in one.inputs)
        weight = next((leaf for leaf in weights if leaf is not None), None)
        if weight is not None and seen.leaves[weight].held:
            heads.setdefault(weight, []).append((op, _constant(seen, op.inputs[1])))
    for own in heads.values():
        answers, passes = {answer for _, answer in own}, {op.step for op, _ in own}
        if len(answers) == 1 and None not in answers and len(passes) >= MANY:
            op = own[-1][0]
            others = [one for one, _ in own if one.line != op.line]
            yield Match(op, others[:1], answer=own[0][1], op=op.name, given=SAME_LABEL)
            return


def _constant(seen: Observation, nr: int) -> float | None:
    """The number that all labels of a loss are; None where they differ, or are one alone."""
    value, numbers = seen.values[nr], seen.numbers.get(nr)
    if numbers is not None:
        return float(numbers.flat[0]) if numbers.size > 1 and (numbers == numbers.flat[0]).all() else None
    return value.low if value.low == value.peak and math.prod(value.shape) > 1 else None


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


SORTED = telling("{at}: the {count} classes come one after another, and no batch holds more than two of them: each step learns to give this class, and forgets the others.",
    "Shuffle the rows of the training data: `DataLoader(…, shuffle=True)`, or one `T.randperm(len(x))` for inputs and labels.", kind="unshuffled", share=0.4)  # fmt: skip
SAME_LABEL = telling("{at}: every label that `{op}` is ever given for this layer is {answer}. It only has to say that, whatever comes in.",
    "Give the other rows the other label.", kind="wrong-loss", share=0.4)  # fmt: skip
RULES = [
    Rule("unlike-data", _data_as_given,
        "{at}: evaluated on numbers from {ranges[0]}, and trained, in {layer}, on numbers from {ranges[1]}. A network knows nothing of numbers that it never saw.",
        "Prepare both in the same way: the same scale, the mean and deviation of the training data.", share=0.3),
]  # fmt: skip
