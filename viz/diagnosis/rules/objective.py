"""What a loss is given: scores where it takes probabilities, classes as if they were amounts, the wrong sign, rows out of pairs."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from viz.diagnosis import families as ops
from viz.diagnosis.families import source
from viz.diagnosis.finding import NO_CODE, number
from viz.diagnosis.observation import Observation, Ran, Through, by_line
from viz.diagnosis.rules.comparing import compared
from viz.diagnosis.rules.rule import Match, Rule, telling
from viz.diagnosis.rules.zero import layer_line

AGAIN = 3  # times that show that it is always so
EDGE = 1e-6  # of 0 or 1, by rounding
NEAR = 64  # runs of a line that are looked at
MOST = 4096  # values of a loss that are looked at
BEYOND = 0.25  # of the size of a target: what lies that far outside a bound is no noise
RUNS_AWAY = 10.0  # how many times a loss below zero grows
SIGNED = {"cosine_embedding_loss", "margin_ranking_loss", "hinge_embedding_loss", "soft_margin_loss"}  # take 1 and -1
PARTS = {"sum"} | (ops.KEEPS_SIGN - ops.AVERAGES) | ops.RISES | ops.ADDITIVE | ops.FACTORS  # of a probability
TAKES_ROWS = {"__getitem__", "index_select", "take_along_dim"}


def _not_its_input(seen: Observation) -> Iterator[Match]:
    """A loss that is given what it does not take: scores for logarithms, labels outside 0 to 1, classes as amounts."""
    yield from _always_zero(seen)
    for op in (one for one in seen.ops if one.inputs and one.recorded):
        for family, check in TAKES:
            if op.name in family:
                yield from check(seen, op)


def _always_zero(seen: Observation) -> Iterator[Match]:
    """An error that is 0 whenever it is computed: both of its sides are the same."""
    back = next((each for each in seen.passes if each.kind == "backward"), None)
    distances = (one for one in seen.ops if one.name in ops.DISTANCES and one.recorded and one.outputs)
    for calls in by_line(distances).values():
        fresh = all(len({one.inputs[side] for one in calls}) == len(calls) for side in (0, 1))  # no data, but answers
        if fresh and len(calls) >= AGAIN and all(seen.values[one.outputs[0]].peak == 0 for one in calls):
            op, names = calls[-1], [seen.values[nr].name for nr in calls[-1].inputs[:2]]
            line = op.line if back is None else outer(op, back)  # of a helper, what it is given
            yield Match(line, [op], names=names, of=op.name, count=len(calls), given=SAME)


def outer(op: Ran | None, each: Through) -> int | None:
    """The line of an op, in the function that calls backward()."""
    if op is None:
        return each.line
    return op.stack[-len(each.stack)] if 0 < len(each.stack) <= len(op.stack) else op.line


def _scores(seen: Observation, op: Ran) -> Iterator[Match]:
    """Probabilities where scores belong, or their logarithms; scores where logarithms belong, which are never above zero."""
    value, maker = source(seen, op.inputs[0], ops.TURNS | TAKES_ROWS | {"gather"})
    other, path = seen.values[op.inputs[-1]], [value.nr, *op.outputs[:1]]
    named = maker.name if maker is not None else ""
    if maker is not None and named in SQUASHED.get(op.name, ()):
        itself = "sigmoid" if "entropy_with" in op.name else "softmax"
        given = NO_LOGARITHMS if op.name == "nll_loss" else TWICE
        yield Match(
            layer_line(seen, maker), [op], names=[value.name], where=maker.where, path=[*maker.inputs[:1], *path], cut=value.nr, loss=op.line,
            name_of=op.name, made=named, itself=itself, given=given,
        )  # fmt: skip
    elif named in ops.RELUS and "entropy_with" in op.name and maker is not None:
        here = layer_line(seen, maker)
        path = [*maker.inputs[:1], *path]
        yield Match(here, [op], names=[value.name], path=path, cut=value.nr, made=named, of=op, given=NEVER_BELOW)
    elif op.name == "kl_div" and (other.low or 0.0) < -EDGE and not op.options.get("log_target"):
        yield Match(op, [other], names=[other.name], low=other.low, given=NO_PROBABILITIES)
    elif op.name in ops.TAKES_LOGS and (named in ops.LAYERS or (value.peak or 0.0) > max(0.0, -(value.low or 0.0))):
        made = f"line {maker.line}, `{named}`, makes" if maker is not None else "it is given"
        yield Match(op, [maker], names=[value.name], path=path, size=value.peak or 0.0, made=made)


def _outside(seen: Observation, op: Ran) -> Iterator[Match]:
    """Labels outside 0 to 1 in a binary cross-entropy that does not look at them; or in place of the answers."""
    first, target = (seen.values[nr] for nr in op.inputs[:2])
    if target.requires_grad and not first.requires_grad and {first.low, first.peak} == {0.0, 1.0}:
        code = seen.places.code(op.line)
        change = code, re.sub(r"\((\w+), (\w+)\)", r"(\2, \1)", code)
        given = SWAPPED | {"change": change if change[1] != code else None}
        yield Match(op, names=[first.name], path=[target.nr, *op.outputs[:1]], given=given)
    low, top = target.low or 0.0, target.peak or 0.0
    if not target.requires_grad and (top > 1.0 + EDGE or low < -EDGE):
        span = f"from {number(low)} to {number(top)}" if top > -low else f"down to {number(low)}"
        yield Match(op, [target], names=[target.name], span=span, given=OUTSIDE)


def _classes(seen: Observation, op: Ran) -> Iterator[Match]:
    """Class numbers used as amounts: class 2 is not twice class 1."""
    target = next((nr for nr in op.inputs[::-1] if not seen.values[nr].requires_grad), op.inputs[-1])
    value, _ = source(seen, target, ops.TURNS | ops.CASTS)
    if len(op.inputs) > 1 and "int" in value.dtype and (value.low or 0.0) >= 0 and 2 <= (value.peak or 0.0) <= 1000:
        drawn = any(one.name == "randint" for one in ops.makers(seen, seen.above([value.nr])))  # others may be amounts
        if op.name in ops.DISTANCES or (drawn and compared(seen, op.outputs[0])):
            names = [value.name or "the target"]
            yield Match(op, [value], names=names, low=value.low, top=value.peak, path=[], given=CLASSES)


def _one_class(seen: Observation, op: Ran) -> Iterator[Match]:
    """Labels that a cast to whole numbers made all 0."""
    every = [seen.values[one.inputs[1]] for one in seen.at(op.line) if one.name == op.name and len(one.inputs) > 1]
    if len(every) < 2 or any(one.peak != 0 or one.floating for one in every):
        return
    for cast in (one for one in ops.makers(seen, seen.above([every[0].nr])) if one.inputs and one.outputs):
        given, made = seen.values[cast.inputs[0]], seen.values[cast.outputs[0]]
        if given.floating and "int" in made.dtype and given.peak and made.peak == 0:
            yield Match(cast, [op], names=[made.name], peak=given.peak, cast=cast.name, user=op.name, given=ALL_ZERO)
            return


def _out_of_reach(seen: Observation, op: Ran) -> Iterator[Match]:
    """An answer that ends in a bound, and a target that lies beyond it."""
    learnt = [nr for nr in op.inputs[:2] if seen.values[nr].requires_grad]
    target = next((seen.values[nr] for nr in op.inputs[:2] if nr not in learnt), None)
    value, maker = source(seen, learnt[0], ops.TURNS | ops.CHOSEN | {"gather"}) if len(learnt) == 1 else (None, None)
    bounds = (BOUNDS.get(maker.name) or _clamped(maker)) if maker is not None else None
    if bounds is None or maker is None or target is None or target.low is None or target.leaf is not None:
        return
    low, size = target.low, target.peak or 0.0
    beyond = low < bounds[0] - BEYOND * size or size > bounds[1] * (1 + BEYOND)
    answered = value.peak if value is not None and value.peak is not None else math.inf
    tame = math.isfinite(size) and answered < 10 * size
    if beyond and tame and (op.name in ops.DISTANCES or compared(seen, op.outputs[0])):
        kind = "dead-relu" if maker.name in ops.RELUS else "clamp" if maker.name in ops.CLAMPS else "saturated"
        yield Match(
            layer_line(seen, maker), [op], names=[value.name if value else ""], where=maker.where, made=maker.name, of=op, low=low, size=size,
            path=[*maker.inputs[:1], *maker.outputs[:1]], given=BEYOND_BOUND | {"kind": kind},
        )  # fmt: skip


def _clamped(op: Ran) -> tuple[float, float] | None:
    """The bounds that a clamp was given as numbers."""
    if op.name not in ("clamp", "clamp_min", "clamp_max") or len(op.inputs) > 1:
        return None
    given, first = op.options, op.options.get("1")
    low = given.get("min", first if op.name != "clamp_max" else None)
    top = given.get("max", given.get("2") if op.name == "clamp" else first if op.name == "clamp_max" else None)
    return (-math.inf if low is None else low, math.inf if top is None else top)


def _one_or_none(seen: Observation, op: Ran) -> Iterator[Match]:
    """Labels of 0 and 1 where a loss takes 1 and -1: a 0 is neither."""
    target = seen.values[op.inputs[-1]]
    if (target.low, target.peak) == (0.0, 1.0) and not target.requires_grad:
        yield Match(op, [target], names=[target.name], path=op.inputs[:1], given=NEITHER)


def _rates(seen: Observation, op: Ran) -> Iterator[Match]:
    """Rates, which are above 0, where the logarithm of a rate is taken."""
    value, maker = source(seen, op.inputs[0])
    plain = op.options.get("log_input", op.options.get("2")) is False
    if maker is not None and maker.name in ("exp", "softplus", "relu") and not plain:
        yield Match(op, [maker], names=[value.name], path=[value.nr, *op.outputs[:1]], made=maker, given=RATES)


def _blank(seen: Observation, op: Ran) -> Iterator[Match]:
    """Labels one after another, without a fill between them, of which one is the number of the blank."""
    target, blank = seen.values[op.inputs[1]], op.options.get("blank", op.options.get("4", 0))
    if len(target.shape) == 1 and target.low == blank == 0:
        yield Match(op, [target], names=[target.name], path=op.inputs[:1], given=BLANK)


def _distances(seen: Observation, op: Ran) -> Iterator[Match]:
    """Distances in place of scores: what lies far away would be the most likely class."""
    value, maker = source(seen, op.inputs[0], ops.TURNS | {"sqrt", "div"})
    summed = maker is not None and maker.name == "sum" and len(value.shape) == 2
    added = ops.makers(seen, maker.inputs) if maker is not None and summed else []
    squared = any(one.name in ops.MAGNITUDES and _difference(seen, one) for one in added)
    if maker is not None and (maker.name in ops.APART or squared):
        yield Match(op, [maker], names=[value.name], path=[value.nr, *op.outputs[:1]], made=maker, given=FAR_AWAY)


def _difference(seen: Observation, op: Ran) -> bool:
    """Whether an op takes the size of a difference of two answers."""
    less = seen.maker(seen.values[op.inputs[0]])
    return less is not None and less.name in ops.DIFFERENCES and len(less.inputs) == 2


# What takes scores, or their logarithms, and is given these.
SQUASHED = {
    **{name: {"softmax"} for name in (*ops.SCORE_LOSSES, "log_softmax")},
    **{name: {"softmax", "sigmoid"} for name in ("binary_cross_entropy_with_logits", "nll_loss")},
}
TAKES = (  # what is checked of what some ops are given
    (SQUASHED.keys() | ops.TAKES_LOGS, _scores),
    (ops.BINARY, _outside),
    (SIGNED, _one_or_none),
    ({"poisson_nll_loss"}, _rates),
    ({"ctc_loss"}, _blank),
    (ops.SCORE_LOSSES | {"log_softmax"}, _distances),
    (ops.CLASS_LOSSES, _one_class),
    (ops.DISTANCES | ops.DIFFERENCES, _classes),
    (ops.DISTANCES | ops.DIFFERENCES, _out_of_reach),
)
BOUNDS = {"relu": (0.0, math.inf), "relu6": (0.0, 6.0), "tanh": (-1.0, 1.0)} | dict.fromkeys(
    ops.PROBABILITIES, (0.0, 1.0)
)
BEYOND_BOUND = telling("{at}: the answer ends in `{made}`, and what it is compared with, in {of}, goes down to {low} and reaches {size} in size: it "
        "cannot come there.",
    "End in the linear layer, or bring the targets into its range.", certain=False, share=0.4)  # fmt: skip
ALL_ZERO = telling("{at}: `{cast}` cuts off what stands behind the point, of numbers up to {peak}: every label of `{user}` is 0.",
    "Keep class numbers as they are, whole and not scaled: `T.as_tensor(mask)`.", certain=False, share=0.8)  # fmt: skip
NEVER_BELOW = telling("{at}: after `{made}` no score is below 0, so none of {of}, stands for a probability below one half.",
    "End in the linear layer, or the convolution.", kind="dead-relu", certain=False, share=0.5)  # fmt: skip
TWICE = telling("{at}: `{name_of}` in line {loss} takes the scores themselves and applies {itself} itself. After `{made}` all scores lie between 0 "
        "and 1, and the gradient is a fraction of what it should be.",
    "Pass the scores to `{name_of}` unchanged, and use `{made}` only to report probabilities.", kind="double-softmax")  # fmt: skip
NO_LOGARITHMS = telling("{at}: nll_loss in line {loss} takes logarithms of probabilities, but receives the output of `{made}`.",
    "Use log_softmax instead of softmax, or cross_entropy on the scores.")  # fmt: skip
NO_PROBABILITIES = telling("{at}: `{op}` compares with probabilities, and what it is given goes down to {low}.",
    "Give probabilities as its target: softmax(scores, dim=-1). Or give logarithms, and say log_target=True.")  # fmt: skip
SAME = telling("{at}: `{of}` is exactly 0, each of the {count} times that it is computed: what it compares is the same on both sides, so nothing "
        "learns from it.",
    "Look at what the two sides are: one of them is probably meant to be another network's answer, or the data.", kind="zero", certain=False, share=0.3)  # fmt: skip
NEITHER = telling("{at}: `{op}` takes labels of 1 and -1, and {name} holds 0 and 1. What has a 0 counts for neither side.",
    "Give 1 and -1: `2 * labels - 1`.", certain=False, share=0.6)  # fmt: skip
BLANK = telling("{at}: 0 is the number of the blank, which stands for no label, and {name} holds it as a label too.",
    "Number the labels from 1, or name another blank: `blank=…`.", certain=False, share=0.5)  # fmt: skip
RATES = telling("{at}: `{op}` takes the logarithm of a rate, unless it is told otherwise, and {made}, makes the rate itself: it takes the exponential once more.",
    "Give it what comes before, or say `log_input=False`.", certain=False, share=0.6)  # fmt: skip
FAR_AWAY = telling("{at}: `{op}` takes scores, of which the largest is the likeliest, and {made}, makes distances: each row is pushed away from its own class.",
    "Turn the sign: the score is minus the distance.", kind="reversed", certain=False, share=0.6)  # fmt: skip
SWAPPED = telling("{at}: `{op}` takes the answers first and the labels second, and is given the labels first: it takes the logarithm of what is only 0 or 1, and learns from the "
        "wrong side.",
    "Change the order: `loss(answers, labels)`.", share=0.8)  # fmt: skip
OUTSIDE = telling("{at}: the labels of `{op}` go {span}. Outside 0 to 1 the loss has no lowest value: it falls forever, and the outputs grow "
        "without bound.",
    "Give labels of 0 and 1, `(y > 0).float()`; for more classes use cross_entropy.")  # fmt: skip
CLASSES = telling("{at}: `{op}` treats {name}, integers from {low} to {top} converted to floats, as amounts. If they are classes, this means that "
        "class 2 lies between 1 and 3.",
    "For classes, output one score for each, and use cross_entropy(scores, labels) with the labels unchanged.", certain=False, share=0.7)  # fmt: skip


@dataclass(frozen=True)
class Term:
    """A value that a loss is made of."""

    nr: int
    sign: int | None = 1  # with which it enters; None by a factor of either sign
    written: int = 1  # the sign that the program wrote, whatever such factors are
    line: int | None = None  # that turned the sign
    part: int | None = None  # the line that ends the part of the loss that it is in, before that is joined to others
    joined: bool = False  # whether a sum takes it

    @property
    def plus(self) -> bool:
        """Whether it enters as it is, as far as can be told."""
        return (self.sign or self.written) == 1


def _wrong_way(seen: Observation) -> Iterator[Match]:
    """A loss that grows because steps go along its gradient, or that falls below zero without end, as one that should grow does."""
    for who, own in seen.trainings():
        if (climbing := _uphill(seen, who, own)) is not None:
            yield climbing
            continue
        every = (each.loss for each in own if each.roots and each.loss is not None)
        losses = list(itertools.takewhile(lambda loss: not math.isnan(loss), every))
        if len(losses) < 2 or not seen.steps:
            continue
        last = own[-1]
        turned = _turned(seen, last)
        runs = len(losses) >= 4 and max(losses[-(len(losses) // 4) :]) < -RUNS_AWAY * max(1.0, abs(losses[0]))
        if turned is not None or runs:
            line = turned or _lowest(seen, last) or outer(seen.maker(seen.values[last.roots[0]]), last)
            given = {} if turned is not None else {"change": NO_CODE}  # no few steps tell whether a loss has an end
            told: Any = {"first": losses[0], "last": losses[-1], "count": len(losses), "given": given}
            yield Match(line, [last], path=last.roots[:1], **told)


def _uphill(seen: Observation, who: int | None, own: list[Through]) -> Match | None:
    """Steps of an optimizer, or updates by hand, that all go along the gradient, while the loss rises."""
    first, last = own[0].loss or 0.0, own[-1].loss or 0.0
    if last <= first:
        return None
    told: dict[str, Any] = {"first": first, "last": last, "given": UPHILL}
    if who is None or not 0 <= who < len(seen.optimizers):
        learning = [leaf for leaf in seen.leaves if leaf.parameter or not seen.parts]  # no input, as in an attack
        writes = [(leaf.nr, one) for leaf in learning for one in leaf.writes if one.kind == "update"]
        names, how = seen.called(nr for nr, _ in writes), "adds the gradient"
        climbs = bool(writes) and all(one.ascent for _, one in writes)
        return Match(writes[0][1], names=names, count=len(own), how=how, **told) if climbs else None
    held, steps = seen.optimizers[who], [m for m in seen.moments if m.kind == "step" and m.who == who and not m.empty]
    meant = held.maximises and not any(op.name in ops.ERRORS for op in ops.makers(seen, own[-1].roots))
    if len(steps) < AGAIN or not all(step.uphill for step in steps) or meant:  # an objective that should grow
        return None
    of_grad = (op for op in seen.ops if op.in_place and op.inputs and seen.values[op.inputs[0]].of_grad is not None)
    turned = [line for nr, line in seen.hooks if nr in held.leaves] + [op.line for op in of_grad]
    line = held.line if held.maximises else (*turned, steps[0].line)[0]
    how = "asks for that: maximize=True" if held.maximises else "reverses the sign"
    return Match(line, [steps[0]], names=seen.called(held.leaves), count=len(steps), how=how, **told)


UPHILL = telling("Each of {count} steps went along the gradient from backward() instead of against it, and the loss rises: {first} → {last}. {at}, "
        "{how}.",
    "Leave the sign of the gradient to the optimizer, which subtracts it; by hand, subtract it too.")  # fmt: skip


def _terms(seen: Observation, each: Through) -> Iterator[tuple[Term, Ran]]:
    """The errors and likelihoods that a loss adds up, as far as it is a sum."""
    stack = [Term(each.roots[0], each.sign or None, each.sign or 1)]
    met: set[Term] = set()
    while stack and len(met) < MOST:
        term = stack.pop()
        op = seen.maker(seen.values[term.nr])
        if op is None or term in met:
            continue
        met.add(term)
        ahead = [one for one in op.inputs if seen.values[one].requires_grad]
        join = op.name in ops.ADDITIVE and len(ahead) > 1
        term = replace(term, part=term.part or (op.line if term.joined and not join else None), joined=join)
        if is_likelihood(seen, op) or _is_error(seen, op) or _is_certainty(seen, op):
            yield term, op
        elif op.name in ops.FACTORS | ops.NEGATIONS:
            if len(ahead) == 1 and (factor := _factor(seen, op, ahead[0])) != 0:
                minuses = sum(_is_minus(seen, one) for one in op.inputs if one != ahead[0]) + (factor == -1)
                sign = None if term.sign is None or factor is None else term.sign * factor
                line = op.line if factor == -1 else term.line
                stack.append(replace(term, nr=ahead[0], sign=sign, written=term.written * (-1) ** minuses, line=line))
        elif op.name in ops.ADDITIVE | ops.KEEPS_SIGN | ops.RISES | {"log"}:
            turned = ops.subtracted(op) if op.name in ops.DIFFERENCES else ()
            minus = replace(term, sign=-term.sign if term.sign else None, written=-term.written, line=op.line)
            stack += [replace(minus if one in turned else term, nr=one) for one in ahead[::-1]]


def _lowest(seen: Observation, each: Through) -> int | None:
    """The line of the term that makes a sum so low; None for a loss that is no sum."""
    root = seen.values[each.roots[0]]
    sums = seen.above([root.nr], lambda one: (op := seen.maker(one)) is not None and op.name in ops.ADDITIVE)
    terms = (one for nr in sums for one in seen.inputs(seen.values[nr]) if one.nr not in sums)
    lowest = min(terms, key=lambda one: one.low or 0.0, default=root)
    return lowest.line if (lowest.low or 0.0) < (root.low or 0.0) / 2 < 0 else None


def is_likelihood(seen: Observation, op: Ran) -> bool:
    """Whether an op gives logarithms of probabilities: of what a softmax or a sigmoid gave, or of scores, less the logarithm of their sum."""
    if op.name == "log":
        maker = source(seen, op.inputs[0], PARTS)[1] if op.inputs else None
        return maker is not None and maker.name in ops.PROBABILITIES
    less = ops.makers(seen, op.inputs[1:]) if op.name in ops.DIFFERENCES else []
    return op.name in ops.LOGS or any(one.name == "logsumexp" for one in less)


def _is_certainty(seen: Observation, op: Ran) -> bool:
    """Whether an op is p * log(p), of which the negative sum is the entropy."""
    both = [source(seen, nr, ops.TURNS | {"clamp"})[1] for nr in op.inputs] if op.name in ops.PRODUCTS else []
    made = [one for one in both if one is not None]
    learnt = len(made) == 2 and all(seen.values[nr].requires_grad for nr in op.inputs)
    likely = any(is_likelihood(seen, one) for one in made)
    return learnt and likely and any(one.name in ops.PROBABILITIES for one in made)


def _is_error(seen: Observation, op: Ran) -> bool:
    """Whether an op is an error, never below 0: a loss, or the square or the size of what an answer lacks to its target."""
    if op.name in ops.POSITIVE:
        return True
    even = op.name in ("abs", "square") or (op.name == "pow" and 2 in op.options.values())
    less = seen.maker(seen.values[op.inputs[0]]) if even and op.inputs else None
    if less is None or less.name not in ops.DIFFERENCES or len(less.inputs) != 2:
        return False
    return sum(seen.values[nr].requires_grad for nr in less.inputs) == 1


def _turned(seen: Observation, each: Through) -> int | None:
    """The line that gives a loss the wrong sign: minus an error, or a log-likelihood without a minus."""
    terms = list(_terms(seen, each))
    entropies = [term for term, op in terms if op.name in ops.PRODUCTS]
    terms = [one for one in terms if one[1].name not in ops.PRODUCTS]
    # a policy, weighed by advantages of either sign, is to stay uncertain
    if any(term.sign is None for term, _ in terms):
        for term in (one for one in entropies if one.sign == -1):
            return term.part or term.line
    errors = [op for _, op in terms if _is_error(seen, op)]
    alone = len({(op.line, op.name) for _, op in terms}) == 1
    made = outer(seen.maker(seen.values[each.roots[0]]), each)
    for term, op in terms:
        if op not in errors:
            # A factor of either sign is an advantage or a reward: it belongs to the likelihood, not to its minus.
            # Of likelihoods that one line makes, some with a minus: what turns the others is a reward of -1.
            alike = (one for one, other in terms if (other.line, other.name) == (op.line, op.name))
            if (not errors or term.sign is None) and all(one.plus for one in alike):
                return term.part or (made if alone else term.line or op.line)
        elif term.sign == -1 and (each.loss or 0.0) < 0:
            return term.line
    return None


def _is_minus(seen: Observation, nr: int) -> bool:
    """Whether a factor was given a minus itself, as in `-advantage * ratio`."""
    maker = source(seen, nr)[1]
    return maker is not None and (maker.name in ops.NEGATIONS or ops.constants(maker) == [-1])


def _factor(seen: Observation, op: Ran, main: int) -> int | None:
    """The sign of what a value is multiplied by: None if it may be either, 0 if nothing is known of it."""
    if op.name in ops.NEGATIONS:
        return -1
    # of all turns: an advantage, or a reward, may be above 0 in one of them
    ran = [one for one in seen.at(op.line) if one.name == op.name][-NEAR:]
    place = next((place for place, one in enumerate(op.inputs) if one != main), None)
    if place is not None:
        lows = [seen.values[one.inputs[place]].low for one in ran if len(one.inputs) > place]
        return 1 if all(low is not None and low >= 0 for low in lows) else None
    numbers = ops.constants(op)
    if numbers and min(numbers) < 0 and any(ops.constants(one) != numbers for one in ran):
        return None  # a reward or a return, and no sign that somebody wrote
    return int(math.copysign(1, numbers[0])) if len(numbers) == 1 and numbers[0] else 0


def _compared_sides(seen: Observation) -> Iterator[tuple[Ran, int, int]]:
    """Each op that compares predictions with labels: a loss, or a difference whose square or magnitude is used."""
    for op in (one for one in seen.ops if len(one.inputs) > 1 and one.recorded):
        a, b = op.inputs[:2]
        learnt = [seen.values[nr].requires_grad for nr in (a, b)]
        if op.name in ops.TARGETED or (op.name == "gather" and not seen.values[b].floating):
            yield op, a, b
        elif op.name in ops.DIFFERENCES and learnt[0] != learnt[1] and compared(seen, op.outputs[0]):
            yield (op, a, b) if learnt[0] else (op, b, a)


def _apart(seen: Observation) -> Iterator[Match]:
    """Inputs and their labels, taken in different random orders."""
    shuffles = {nr for op in seen.ops if op.name == "randperm" for nr in op.outputs}
    for op, *sides in _compared_sides(seen) if shuffles else ():
        answers, labels = (_orders(seen, nr, shuffles) for nr in sides)
        if answers is None or labels is None or max(len(answers), len(labels)) > 1 or set(answers) == set(labels):
            continue
        taken = next(iter((labels or answers).values()))
        at, said = taken.line, "puts the labels in a different random order than the inputs"
        if answers and labels:
            other = next(iter(answers.values()))  # past a helper that both went through
            at = next((one for one, two in zip(taken.stack, other.stack, strict=False) if one != two), at)
        elif taken.name == "stack" or not _as_many(seen, sides[0] if labels else sides[1], taken):
            continue  # no labels of these rows: numbers that the batch itself is given, as in a contrastive loss
        else:
            said = "puts one side in a random order, but not the other"
        yield Match(at, [taken, op], where=taken.where, said=said, op=op.name, compared=op.line)
        return


def _rows(seen: Observation, op: Ran) -> tuple[Any, ...]:
    """The numbers of the rows that a stack puts together, less the first; none where they are in a row, or not known."""
    taken = [source(seen, nr)[1] for nr in op.inputs]
    rows = [one.options.get("1") if one is not None and one.name == "__getitem__" else None for one in taken]
    if len(rows) < AGAIN or not all(isinstance(row, int) for row in rows):
        return ()
    steps = tuple(row - rows[0] for row in rows if isinstance(row, int) and isinstance(rows[0], int))
    return () if steps == tuple(range(len(rows))) else steps


def _as_many(seen: Observation, nr: int, taken: Ran) -> bool:
    """Whether a value comes from data with as many rows as those that `taken` takes rows from."""
    rows = seen.values[taken.inputs[0]].shape[:1]
    return any(seen.values[one].shape[:1] == rows for one in seen.above([nr]) if not seen.values[one].requires_grad)


def _orders(seen: Observation, nr: int, shuffles: set[int]) -> dict[Any, Ran] | None:
    """The random orders that the rows of a value were taken in, with the op that took them; None where rows are mixed, as in mixup."""
    found: dict[Any, Ran] = {}
    makers = ops.makers(seen, seen.above([nr]))
    for op in makers:
        if op.name == "stack" and (rows := _rows(seen, op)):  # as a loader makes a batch
            found = {rows: op} | found
        orders = seen.above(op.inputs[1:]) & shuffles if op.name in TAKES_ROWS else set()
        if orders and any(op.inputs[0] in other.inputs and other is not op for other in makers):
            return None
        found = dict.fromkeys(orders, op) | found
    return found


RULES = [
    Rule("wrong-loss", _not_its_input,
        "{at}: `{op}` takes logarithms of probabilities, which are never above 0. What {made} is not a logarithm: its size reaches {size}, and "
        "the loss can fall forever without a better answer.",
        "Take log_softmax(scores, dim=1) first, or use cross_entropy (nn.CrossEntropyLoss) on the scores.", certain=True,
        change=lambda code, match: re.sub(r"\bnll_loss\(", "cross_entropy(", code)),
    Rule("reversed", _wrong_way,
        "{at}, gets smaller in training, although it has no lower bound: {first} → {last} in {count} passes. Training shrinks what should grow.",
        "Minimise what should be small: an error as it is, and a likelihood or a reward with a minus sign.",
        change=lambda code, match: code.replace("+=", "-=") if match.given is UPHILL else code),
    Rule("shuffled-apart", _apart, "{at}, {said}: `{op}` in line {compared} compares each answer with the label of another row.",
        "Draw one order and use it for both: `order = T.randperm(len(x)); x, y = x[order], y[order]`."),
]  # fmt: skip
