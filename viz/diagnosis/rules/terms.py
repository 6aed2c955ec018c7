"""What a loss is made of: terms that do not go together, and targets that the answer has no way to know."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

from viz.diagnosis import families as ops
from viz.diagnosis.observation import Observation, Ran, Through, by_line, first_and_last
from viz.diagnosis.rules.left_over import left_over
from viz.diagnosis.rules.objective import outer
from viz.diagnosis.rules.rule import Match, Rule, telling
from viz.diagnosis.rules.targets import mixed

ROWS = 4  # of a batch, at least, before it matters whether a term is their sum or their mean
UNEVEN = 0.2  # of the factor of a mean: a sum with a smaller one was made small on purpose
MANY = 10  # numbers of each row, at least
DRAWN = {"randn", "randn_like", "rand", "rand_like"}


@dataclass
class Part:
    """A term of a loss, as it is reduced to one number.

    Attributes:
        op: the last reduction.
        shape: of what is reduced.
        scale: the product of the numbers that it is multiplied by.
        share: of each number in the result: 1 in a sum, and less in a mean.
    """

    op: Ran
    shape: tuple[int, ...]
    scale: float
    share: float


def _parts(seen: Observation, root: int) -> Iterator[Part]:
    """The terms that a loss adds up, each down to what is reduced."""
    stack: list[tuple[int, float, float, Ran | None]] = [(root, 1.0, 1.0, None)]
    met: set[int] = set()
    while stack:
        nr, scale, share, reduced = stack.pop()
        value, op = seen.values[nr], seen.maker(seen.values[nr])
        learnt = [one for one in op.inputs if seen.values[one].requires_grad] if op is not None else []
        if op is None or not learnt or nr in met:
            continue
        met.add(nr)
        shape = seen.values[learnt[0]].shape
        one = math.prod(value.shape) / max(1, math.prod(shape))  # of each number in a mean
        if op.name in ops.AVERAGES:
            stack.append((learnt[0], scale, share * one if op.name == "mean" else share, reduced or op))
        elif reduced is None and op.name in ops.ADDITIVE:
            stack += [(one, scale, share, None) for one in learnt]
        elif op.name in ops.FACTORS | ops.NEGATIONS | ops.RESHAPES and len(op.inputs) == 1:
            by = abs((*ops.constants(op), 1.0)[0]) if op.name in ops.FACTORS else 1.0
            stack.append((learnt[0], scale / by if op.name == "div" and by else scale * by, share, reduced))
        elif op.name in ops.BY_ELEMENT and not value.shape:
            yield Part(op, shape, scale, one if op.options.get("reduction", "mean") == "mean" else 1.0)
        elif reduced is not None:
            yield Part(reduced, value.shape, scale, share)


def _together(seen: Observation) -> Iterator[Match]:
    """Terms that do not go together, or that nothing goes back through, and answers that are asked for what they cannot know."""
    yield from (
        *left_over(seen), *_uneven(seen), *_part_alone(seen), *_for_others(seen), *_nothing_from_data(seen), *_other_noise(seen),
        *_other_deviation(seen),
    )  # fmt: skip


def _uneven(seen: Observation) -> Iterator[Match]:
    """One term that is the mean of all its numbers, beside one that is the sum over a whole batch."""
    for each in seen.backwards:
        parts = [part for part in _parts(seen, each.roots[0]) if len(part.shape) > 1 and part.shape[0] >= ROWS]
        for mean, total in itertools.permutations(parts, 2):
            count, alike = math.prod(mean.shape), mean.shape[0] == total.shape[0]
            averaged = alike and count >= MANY * mean.shape[0] and mean.share * count <= 1.01
            if averaged and total.share == 1 and total.scale >= UNEVEN * mean.scale > 0:
                yield Match(mean.op, [total.op], count=count, total=total.op, given=SUM_AND_MEAN)
                return


def _other_noise(seen: Observation) -> Iterator[Match]:
    """An answer that is compared with noise that it was not computed from, beside other noise of that shape that it was."""
    for op in (one for one in seen.ops if one.name in ops.DISTANCES | ops.DIFFERENCES and one.recorded):
        for target, answer in itertools.permutations(op.inputs[:2], 2):
            drawn, maker = ops.source(seen, target)
            if maker is None or maker.name not in DRAWN or not seen.values[answer].requires_grad:
                continue
            behind = seen.above([answer])
            noise = (one for one in ops.makers(seen, behind) if one.name in DRAWN)
            others = [one for one in noise if _mixed_in(seen, one, drawn.shape)]
            if drawn.nr not in behind and others and not seen.values[target].requires_grad:
                yield Match(others[-1], [maker, op], drawn=maker, op=op.name, given=OTHER_NOISE)
                return


def _part_alone(seen: Observation) -> Iterator[Match]:
    """backward() of one term of a sum, where nothing goes back through the sum, nor through its other terms."""
    passes = seen.backwards
    for own in by_line(passes if len(passes) > 1 else ()).values():
        sums = [_sums(seen, each, passes) for each in first_and_last(own)]
        if all(sums):
            yield Match(
                own[-1], sums[-1][:1], total=sums[-1][0], names=[seen.values[sums[-1][0].outputs[0]].name], given=ALONE
            )


def _sums(seen: Observation, each: Through, passes: list[Through]) -> list[Ran]:
    """The sums of a root of a pass and of what else was learnt that no pass goes back through."""
    made = seen.below(each.roots, lambda value: value.requires_grad and not value.shape)
    found = [op for op in ops.makers(seen, made) if op.name in ops.SUMS and op.nr < each.ops]
    other = [one for op in found for one in op.inputs if one not in made and seen.values[one].requires_grad]
    needed = {*other, *(op.outputs[0] for op in found)}
    return [] if not other or any(seen.behind(one) & needed for one in passes) else found[-1:]


def _nothing_from_data(seen: Observation) -> Iterator[Match]:
    """A loss that only brings answers near to each other, and learns on both sides: one constant answer to everything is the best."""
    for own in by_line(seen.backwards).values():
        each, who = own[-1], seen.stepped_by(own[-1])
        pulls = list(_pulls(seen, each))
        if not pulls or any(op is None for op in pulls):
            continue
        sides = [nr for op in pulls if op is not None for nr in op.inputs[:2]]
        above = [seen.above([side], lambda value: value.requires_grad) for side in sides]
        behind = [{seen.values[nr].leaf for nr in one} - {None} for one in above]
        if all(leaves and all(who in seen.leaves[leaf or 0].held for leaf in leaves) for leaves in behind):
            yield Match(pulls[0], [each], given=COLLAPSES)
            return


def _pulls(seen: Observation, each: Through) -> Iterator[Ran | None]:
    """The ops of a loss that make two answers alike; None for any other term."""
    stack = [(each.roots[0], each.sign)]
    while stack:
        nr, sign = stack.pop()
        op = seen.maker(seen.values[nr])
        ahead = [one for one in op.inputs if seen.values[one].requires_grad] if op is not None else []
        if op is not None and op.name in ops.DISTANCES | {"cosine_similarity"}:
            data = len(ahead) < 2 or any(mixed(seen, one) for one in ahead)
            yield op if not data and sign == (-1 if op.name == "cosine_similarity" else 1) else None
        elif op is not None and op.name in ops.ADDITIVE | ops.AVERAGES | ops.RESHAPES | ops.NEGATIONS:
            turned = ops.subtracted(op) if op.name in ops.DIFFERENCES else op.inputs if op.name in ops.NEGATIONS else ()
            stack += [(one, -sign if one in turned else sign) for one in ahead]
        elif op is not None and op.name in ops.FACTORS and len(op.inputs) == 1 and ops.constants(op):
            stack.append((ahead[0], -sign if ops.constants(op)[0] < 0 else sign))
        elif op is not None and op.name in ops.PRODUCTS and all(_unit(seen, one) for one in op.inputs):
            yield op if len(ahead) == 2 and sign == -1 else None
        else:
            yield None


def _unit(seen: Observation, nr: int) -> bool:
    """Whether a value is a direction, of length 1."""
    maker = ops.source(seen, nr)[1]
    return maker is not None and maker.name == "normalize"


def _other_deviation(seen: Observation) -> Iterator[Match]:
    """Noise times exp(v), where a term of the loss takes exp(v) for the variance of the same v: a deviation is its square root."""
    for op in (one for one in seen.ops if one.name in ops.PRODUCTS and one.recorded and len(one.inputs) == 2):
        drawn = next((nr for nr in op.inputs if (m := ops.source(seen, nr)[1]) and m.name in DRAWN), None)
        size = next((nr for nr in op.inputs if seen.values[nr].requires_grad), None)
        found = _power(seen, size) if drawn is not None and size is not None else None
        if found is None:
            continue
        value, power, maker = found
        terms = [one for one in seen.users(value) if one.name == "exp" and one is not maker]
        if power == 1 and terms and any(user.name in ops.ADDITIVE for user in seen.users(value)):
            yield Match(maker, [op, terms[0]], names=[seen.values[value].name], taken=terms[0], given=DEVIATION)
            return


def _power(seen: Observation, nr: int) -> tuple[int, float, Ran] | None:
    """For `exp(c * v)`, or a root of that: `v`, the factor, and the exp."""
    maker, power = ops.source(seen, nr)[1], 1.0
    if maker is not None and maker.name == "sqrt":
        maker, power = ops.source(seen, maker.inputs[0])[1], 0.5
    if maker is None or maker.name != "exp":
        return None
    value, scaled = ops.source(seen, maker.inputs[0])
    while scaled is not None and scaled.name in ops.FACTORS and len(scaled.inputs) == 1 and ops.constants(scaled):
        by = ops.constants(scaled)[0]
        power *= 1 / by if scaled.name == "div" and by else by
        value, scaled = ops.source(seen, scaled.inputs[0])
    return value.nr, power, maker


def _for_others(seen: Observation) -> Iterator[Match]:
    """A term of a loss that only weights of another optimizer are behind, which takes no step before the gradients are gone."""
    passes = by_line(seen.backwards)
    for each in (own[-1] for own in passes.values()):
        ends = min((one.order for one in seen.passes if one.order > each.order), default=math.inf)
        steps = {one.who for one in seen.moments if one.kind == "step" and each.order < one.order < ends}
        sums = seen.above(each.roots, lambda value: value.requires_grad and not value.shape)
        adding = [op for op in ops.makers(seen, sums) if op.name in ops.ADDITIVE]
        for term in (nr for op in adding for nr in op.inputs if steps and ends < math.inf):
            recorded = seen.above([term], lambda value: value.requires_grad)
            behind = [seen.leaves[leaf] for nr in recorded if (leaf := seen.values[nr].leaf) is not None]
            learning = {who for leaf in behind for who in leaf.held}
            op = seen.maker(seen.values[term])
            if learning and learning.isdisjoint(steps) and op is not None:
                names = seen.called(leaf.nr for leaf in behind if leaf.held)
                yield Match(outer(op, each), [each], names=names, given=FOR_OTHERS)
                return


def _mixed_in(seen: Observation, drawn: Ran, shape: tuple[int, ...]) -> bool:
    """Whether noise of a shape is put into data, and is not the data itself."""
    made = seen.values[drawn.outputs[0]]
    return made.shape == shape and any(user.name in ops.FACTORS | ops.ADDITIVE for user in seen.users(made.nr))


FOR_OTHERS = telling("{at}: this term of the loss depends on {names} alone, and the step after this pass changes none of {them}: for what it does change, the term is a "
        "constant.",
    "Compute it from the answer of what is to learn.", share=0.6)  # fmt: skip
COLLAPSES = telling("{at}: all that this loss asks is that two answers are alike, and the gradient goes into both. One constant answer to every input makes it as small as it "
        "can be: nothing of the data holds it back.",
    "Take one of the two for given, `.detach()`, as a target network or a stop of the gradient does; or add a term that keeps the answers apart.", share=0.7)  # fmt: skip
DEVIATION = telling("{at}: noise is multiplied by this as by a standard deviation, and {taken}, takes exp({name}) for the variance. A deviation is the square root of a variance.",
    "Halve it first: `(0.5 * {name}).exp()`.", share=0.5)  # fmt: skip
SUM_AND_MEAN = telling("{at}: this term is the mean of {count} numbers, and that of {total}, is the sum over the whole batch: beside it the mean counts for next to nothing.",
    "Reduce both alike: sum over each row and average over the batch, or reduction='sum' for both.", share=0.4)  # fmt: skip
ALONE = telling("{at}, goes back from one term alone. {total}, adds it to others, and nothing ever goes back from there: what is in the others alone learns nothing.",
    "Call backward() on the sum.", share=0.6)  # fmt: skip
OTHER_NOISE = telling("{at}, draws the noise that the answer is computed from. What the answer is compared with is other noise, of {drawn}: nothing in its input tells it.",
    "Draw the noise once, and use it in both places.", share=0.5)  # fmt: skip
RULES = [Rule("wrong-loss", _together)]
