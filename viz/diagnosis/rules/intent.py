"""Mistakes of intent: nothing is wrong with the gradient, and what it leads to is not what was wanted. All of them are likely at most."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from viz.diagnosis import families as ops
from viz.diagnosis.families import source, subtracted
from viz.diagnosis.observation import Observation, Ran, Seen, Through
from viz.diagnosis.rules.rule import Match, Place, Rule, telling

VARIED = 3  # different tokens, at least, before it means something that labels are alike
NEARLY_ALL = 0.9  # of the labels
NOISE = 0.01  # of the largest number: what a little noise can take below 0
FAR_OUT = 50.0  # of numbers that nobody scaled: pictures from 0 to 255
JOINS = ops.COMPARES | ops.LOGIC | ops.PRODUCTS
MOST = 64  # layers that are looked at


def _last(seen: Observation) -> list[Through]:
    """The last pass of each line, and of each optimizer that steps after it, where any step or update used them."""
    used = seen.steps or any(moment.kind == "update" for moment in seen.moments)
    back = (each for each in seen.passes if used and each.kind == "backward" and each.done and each.roots)
    return [*{(each.line, seen.stepped_by(each)): each for each in back}.values()]


def _reads_the_answers(seen: Observation) -> Iterator[Match]:
    """Labels that are the tokens that the answers were computed from, place by place; or those that come next, where an attention looks at these."""
    every = list(_labelled(seen))
    told = {op.nr for op, _, labels, tokens in every if _same(labels, tokens)}
    for op, looks, labels, tokens in every:
        beside = {one.nr for one, *_ in every if one.line == op.line}  # of a sequence, one step may be so by chance
        if _same(labels, tokens) and len(beside & told) > NEARLY_ALL * len(beside):
            made, given = (source(seen, nr)[1] for nr in (op.inputs[1], looks.inputs[0]))
            apart = made is not None and given is not None and made.line != given.line and not made.in_place
            yield Match(made if apart else op, [op, looks], path=[], op=op.name, looks=looks)
        elif any(_next(labels, tokens, axis) for axis in range(tokens.ndim)):
            opened = (_open(seen, one, looks) for one in ops.makers(seen, seen.below(looks.outputs)))
            for at in (one for one in opened if one is not None):
                yield Match(at, [op], path=[], op=op.name, given=AHEAD)  # a mask is on no way of a gradient
                return


def _same(labels: np.ndarray, tokens: np.ndarray) -> bool:
    """Whether labels are the very tokens; a label below 0 is one to pass over."""
    counts = labels >= 0
    return bool(counts.any() and (labels == tokens)[counts].all())


def _open(seen: Observation, choice: Ran, looks: Ran) -> Seen | Ran | Place | None:
    """What lets each place of an attention look at later ones, at tokens that `looks` looked up: its mask, or itself where it has none."""
    if choice.name in ops.ATTENTIONS:
        width = seen.values[choice.inputs[0]].shape[0 if "multi" in choice.name else -2]
        given = [seen.values[nr] for nr in choice.inputs[3:] if seen.values[nr].shape[-2:] == (width, width)]
        shut = any(not one.ahead for one in given) or (choice.options.get("is_causal") and not given)
        made = seen.maker(given[0]) if given else None
        return (made or choice) if not shut and looks.outputs[0] in seen.above(choice.inputs[1:2]) else None
    scores, masks = _attention(seen, choice) if seen.values[choice.outputs[0]].ahead else (None, [])
    if scores is None or looks.outputs[0] not in seen.above(scores.inputs[1:2]):
        return None
    sources = [_made_square(seen, nr) for mask in masks for nr in mask.inputs[1:2]]
    return next((one for one in (*sources, *masks) if one.line is not None), choice)


def _made_square(seen: Observation, nr: int) -> Seen | Ran | Place:
    """Where a mask of places by places comes from: past what turns it, compares it or joins it with another."""
    value = seen.values[nr]
    while (op := source(seen, value.nr, ops.TURNS | {"repeat"})[1]) is not None and op.name in JOINS:
        square = (seen.values[one] for one in op.inputs if len(set(seen.values[one].shape[-2:])) == 1)
        following = next((one for one in square if len(one.shape) > 1 and one.shape[-1] > 1), None)
        if following is None:
            break
        value = following
    last, made = source(seen, value.nr, ops.TURNS | {"repeat"})
    name = last.name or seen.places.assigned(last.line or 0)
    entered = seen.places.where_entered(name) if made is None and name else None
    return made or (Place(entered) if entered is not None else last)


def _labelled(seen: Observation) -> Iterator[tuple[Ran, Ran, np.ndarray, np.ndarray]]:
    """Losses of class numbers, each with a table that its answers are looked up in, and the numbers that both were given, as many."""
    used = {each.line for each in _last(seen)}
    first = {each.line: each for each in reversed(seen.passes) if each.line in used and each.roots}
    behind = (op for each in first.values() for op in ops.makers(seen, seen.behind(each)))
    nothing = np.zeros(0)
    for op in (one for one in behind if one.name in ops.CLASS_LOSSES):
        labels = seen.numbers.get(op.inputs[-1], nothing)
        for looks in ops.makers(seen, seen.above(op.inputs[:1])) if labels.size else ():
            tokens = seen.numbers.get(looks.inputs[0], nothing) if looks.name in ops.TABLES else nothing
            if labels.size == tokens.size and len(np.unique(tokens)) >= VARIED and not _drawn(seen, looks):
                yield op, looks, labels.reshape(tokens.shape), tokens


def _drawn(seen: Observation, op: Ran) -> bool:
    """Whether what is looked up was drawn by chance, as the class that a generator is to make."""
    maker = source(seen, op.inputs[0])[1]
    return maker is not None and maker.name == "randint"


def _next(labels: np.ndarray, tokens: np.ndarray, axis: int) -> bool:
    """Whether labels are the tokens that come next along an axis, nearly everywhere."""
    now, later = np.moveaxis(labels, axis, 0)[:-1], np.moveaxis(tokens, axis, 0)[1:]
    counts = now >= 0
    return len(later) > 1 and bool(counts.any()) and bool((now == later)[counts].mean() > NEARLY_ALL)


def _attention(seen: Observation, choice: Ran) -> tuple[Ran | None, list[Ran]]:
    """The product that a softmax was given, and what masks it on the way, the last first."""
    masks: list[Ran] = []
    op: Ran | None = choice
    for _ in range(ops.FAR):
        op = seen.maker(seen.values[op.inputs[0]]) if op is not None and op.inputs else None
        if op is None or op.name in ops.SCORES:
            return op, masks
        masks += [op] if op.name in ops.MASKS else []
    return None, masks


@dataclass
class Push:
    """Where a pass pushes the answers to one input: up or down."""

    each: Through
    answer: int
    op: Ran  # that compares, or averages
    way: int
    last: Ran  # the line of the whole loss


def _pushes(seen: Observation, each: Through) -> Iterator[Push]:
    """The answers that a loss makes larger or smaller: what it adds up, or compares with one constant."""
    root = seen.maker(seen.values[each.roots[0]])
    stack = [(each.roots[0], -each.sign)] if each.sign else []
    met: set[int] = set()
    while stack and root is not None:
        nr, way = stack.pop()
        op = seen.maker(seen.values[nr])
        if op is None or nr in met:
            continue
        met.add(nr)
        learnt = [one for one in op.inputs if seen.values[one].requires_grad]
        numbers = ops.constants(op)
        if op.name in ops.BINARY | ops.DISTANCES and len(op.inputs) > 1:
            target = seen.values[op.inputs[1]]
            if target.low is not None and target.low == target.peak and not target.requires_grad:
                yield Push(each, op.inputs[0], op, -way if target.low >= 0.5 else way, root)
        elif (off := _off_one_number(seen, op)) is not None:
            answer, number = off
            yield Push(each, answer, op, -way if number >= 0.5 else way, root)
        elif op.name in ops.ADDITIVE | ops.NEGATIONS | ops.AVERAGES | ops.RESHAPES | ops.MONOTONE:
            turned = op.inputs if op.name in ops.NEGATIONS else subtracted(op) if op.name in ops.DIFFERENCES else ()
            stack += [(one, -way if one in turned else way) for one in learnt]
        elif op.name in ops.FACTORS and len(learnt) == 1 and len(op.inputs) == 1 and numbers:
            stack.append((learnt[0], -way if numbers[0] < 0 else way))
        elif op.name in ops.LAYERS:
            yield Push(each, nr, op, way, root)


def _off_one_number(seen: Observation, op: Ran) -> tuple[int, float] | None:
    """The answer, and the number, of `(answer - number) ** 2`."""
    less = seen.maker(seen.values[op.inputs[0]]) if op.name in ("pow", "square", "abs") and op.inputs else None
    if less is None or less.name not in ops.DIFFERENCES:
        return None
    learnt = [nr for nr in less.inputs if seen.values[nr].requires_grad]
    maker = source(seen, learnt[0])[1] if len(learnt) == 1 else None
    if maker is None or maker.name not in ops.LAYERS | ops.SUMS | ops.BOUNDED:
        return None
    other = next((seen.values[nr] for nr in less.inputs if nr not in learnt), None)
    numbers = ops.constants(less) if other is None else [other.low] if other.low == other.peak else []
    return (learnt[0], numbers[0]) if numbers and numbers[0] is not None else None


def _not_adversaries(seen: Observation) -> Iterator[Match]:
    """Two networks, of which one judges what the other makes, with optimizers of their own: both push its answer the same way."""
    pushes = [(push, seen.stepped_by(push.each)) for each in _last(seen) for push in _pushes(seen, each)]
    known = [(push, who) for push, who in pushes if who is not None and who < len(seen.optimizers)]
    for (made, maker), (judged, judge) in itertools.permutations(known, 2):
        if maker == judge or not _judges(seen, made, judged, *_leaves(seen, maker, judge)):
            continue
        others = [push for push, held in known if held == judge and push is not judged]
        real = [push for push in others if push.each is judged.each and not _made_by(seen, push, maker)]
        apart, agree = any(push.way != judged.way for push in others), made.way == judged.way
        if not agree and (apart or not real):
            continue
        labels, wrong, other = judged.op.name in ops.BINARY | ops.DISTANCES, judged, made
        given: dict[str, Any] = {}
        if not agree:
            wrong, other, given = judged if judged.way > 0 else real[0], real[0], ALIKE
        elif apart:  # it tells the two apart: of one of the two losses the sign, or the target, is turned
            wrong, other = (judged, made) if judged.way > 0 else (made, judged)
            given = {} if labels else SIGN
        # the gradient that it was given has a sign
        whole = wrong.last if wrong.each.given is None or not agree else wrong.each
        way = "up" if judged.way > 0 else "down"
        yield Match(wrong.op if labels else whole, [other.op], made=other.op, way=way, given=given)
        return
    yield from _against_its_value(seen, known)


def _against_its_value(seen: Observation, known: list[tuple[Push, int]]) -> Iterator[Match]:
    """An actor that makes small what a critic answers, where the critic learns a reward and what follows it."""
    for (made, maker), each in itertools.product(known, _last(seen)):
        judge = seen.stepped_by(each)
        if made.way > 0 or judge in (None, maker) or judge is None or judge >= len(seen.optimizers):
            continue
        making, judging = _leaves(seen, maker, judge)
        distances = (op for op in ops.makers(seen, seen.recorded(each)) if op.name in ops.DISTANCES)
        errors = [op for op in distances if _of_what_follows(seen, op)]
        if errors and _made_by(seen, made, maker) and _comes_last(seen, made, making, judging):
            yield Match(made.last, [errors[0]], taught=errors[0], given=VALUE)
            return


def _of_what_follows(seen: Observation, op: Ran) -> bool:
    """Whether the target of an error is a sum with a multiple of something, as a reward and the discounted value of what follows."""
    target = next((nr for nr in op.inputs[:2] if not seen.values[nr].requires_grad), None)
    maker = source(seen, target, ops.TURNS | {"detach"})[1] if target is not None else None
    added = ops.makers(seen, maker.inputs) if maker is not None and maker.name in ops.SUMS else []
    return any(one.name in ops.FACTORS for one in added)


def _made_by(seen: Observation, push: Push, maker: int) -> bool:
    """Whether an answer is one to what an optimizer's network made."""
    behind = {seen.values[nr].leaf for nr in seen.above([push.answer], past_leaves=True)}
    return not behind.isdisjoint(seen.optimizers[maker].leaves)


def _leaves(seen: Observation, *optimizers: int) -> list[set[int]]:
    return [set(seen.optimizers[nr].leaves) for nr in optimizers]


def _judges(seen: Observation, made: Push, judged: Push, making: set[int], judging: set[int]) -> bool:
    """Whether both losses go through two networks, of which the one that the second loss trains comes last."""
    behind = [{seen.values[nr].leaf for nr in seen.above([one.answer], past_leaves=True)} for one in (made, judged)]
    through = all(one & judging and one & making for one in behind) and not making & set(judged.each.got)
    return through and _comes_last(seen, made, making, judging)


def _comes_last(seen: Observation, made: Push, making: set[int], judging: set[int]) -> bool:
    """Whether an answer is that of the second network, to what the first one made."""
    nearest = seen.route(made.answer, lambda value: value.leaf in judging | making) if not judging & making else []
    return bool(nearest) and seen.values[nearest[-1]].leaf in judging


VALUE = {
    "kind": "reversed", "fix": "To make it large, minimise its negative: `-critic(state, actor(state)).mean()`.",
    "words": "{at}: this loss makes the answer of the network small that {taught}, teaches a reward and what follows it. A reward is to grow.",
}  # fmt: skip
ALIKE = {
    "kind": "wrong-loss", "fix": "Subtract one of the two scores from the other, or give what was made another target than what is real.",
    "words": "{at}: the answers to what was made and to what is real, in {made}, are both pushed {way}: what judges is not to tell the two apart.",
}  # fmt: skip
SIGN = {
    "kind": "reversed", "fix": "A critic's loss is `fake - real`, the generator's is `-fake`.",
    "words": "{at}: this loss pushes the answer to what is made {way}, and so does that of {made}. Of two that work against each other one has the wrong sign.",
}  # fmt: skip


def _not_turned(seen: Observation) -> Iterator[Match]:
    """A Function between two networks that hands its input on and multiplies its gradient by a positive number, where something else learns from that input."""
    for check in (one for one in seen.functions if one.scale is not None and one.scale > 0):
        for op in (one for one in seen.ops if one.name == f"{check.name}.apply" and one.recorded):
            beside = [one for nr in op.inputs for one in _users(seen, nr) if one.nr != op.nr and one.recorded]
            both = beside, _users(seen, op.outputs[0])
            if all(any(one.name in ops.LAYERS for one in side) for side in both):
                yield Match(check.line, [op, beside[0]], names=[check.name], scale=check.scale, other=beside[0])
                return


def _bounded_below(seen: Observation) -> Iterator[Match]:
    """A loss that is the mean of what a network answers, as a critic's is, where the network ends in a relu: half of its answers are 0."""
    for each in _last(seen):
        for op in ops.makers(seen, seen.recorded(each)):
            if op.name not in ops.RELUS - {"prelu"}:
                continue
            value, maker = source(seen, op.inputs[0])
            scores = maker is not None and maker.name in ops.LAYERS and value.shape[-1:] == (1,)
            averaged = all(user.name in ops.AVERAGES | ops.NEGATIONS for user in _users(seen, op.outputs[0]))
            if scores and averaged and (value.low or 0.0) < 0:
                yield Match(op, [maker, each], low=value.low)


def _users(seen: Observation, nr: int) -> list[Ran]:
    """The ops that use a value, past a change of its shape, or the choice of a part, alone."""
    past = ops.RESHAPES | ops.SPLITS
    found = seen.users(nr)
    behind = [one for op in found if op.name in past for out in op.outputs for one in seen.users(out)]
    return [op for op in found if op.name not in past] + behind


def _unscaled(seen: Observation) -> Iterator[Match]:
    """Data that go into the first layer as they were read: far from 0, and far apart."""
    for each in _last(seen):
        layers = [op for op in ops.makers(seen, seen.recorded(each)) if op.name in ops.LAYERS and len(op.inputs) > 1]
        for op in layers[:MOST]:
            value, _ = source(seen, op.inputs[0])
            weight = seen.values[op.inputs[1]].leaf
            data = not value.requires_grad and value.leaf is None and value.floating and value.low is not None
            trained = weight is not None and bool(seen.leaves[weight].held)
            peak = value.peak or 0.0
            if data and trained and (value.low or 0.0) >= -NOISE * peak and FAR_OUT < peak < math.inf:
                path, first = [value.nr, *op.outputs[:1]], ops.origin(seen, value.nr)
                yield Match(first, [op], names=[first.name], peak=value.peak, layer=op, path=path)
                return


def _not_finite(seen: Observation, match: Match) -> bool:
    """Whether a loss was not finite: then the op that made it so is the cause."""
    return not all(each.loss is None or math.isfinite(each.loss) for each in seen.passes)


def _normalised(seen: Observation, match: Match) -> bool:
    """Whether a norm comes right behind the layer, which undoes what the size of the data does."""
    op = match.told["layer"]
    return any("norm" in user.name for nr in op.outputs for user in seen.users(nr))


AHEAD = telling("{at}: the labels of `{op}` are the tokens that come next, and the attention lets each place look at those after it. The model reads the "
        "answers: it will fail where they are not there.",
    "Hide what comes later from each place: `is_causal=True`, or `scores.masked_fill(T.ones(n, n).triu(1) == 1, -math.inf)` before the softmax.",
    share=0.5)  # fmt: skip
RULES = [
    Rule("wrong-loss", _reads_the_answers,
        "{at}: the labels of `{op}` are the very numbers that {looks} looks up, each at its own place. The model is told each answer: it learns to copy.",
        "To predict what comes next, shift one against the other: `model(tokens[:, :-1])` and `tokens[:, 1:]`.", share=0.4),
    Rule("wrong-loss", _not_adversaries,
        "{at}: this loss pushes the answer to what is made {way}, and so does {made}. The one that judges and the one that makes are to work against each other.",
        "Where it is judged, 0 is the target of what was made and 1 that of what is real; where it learns to make, its target is 1.", share=0.5),
    Rule("reversed", _not_turned,
        "{at}: {names} hands its input on, and multiplies its gradient by {scale}. What is behind it and {other}, both learn from that input, in the same direction.",
        "If the two are to work against each other, turn the sign: `-scale * gradient`. If the gradient is only to be smaller, nothing is wrong.", share=0.2),
    Rule("wrong-loss", _bounded_below,
        "{at}: the network ends in `{op}`, and its mean is the loss. What it would score below 0, down to {low}, is scored 0, and learns nothing.",
        "End in the linear layer: a score may be below 0.", share=0.4),
    Rule("exploding", _unscaled,
        "{at}: what goes into {layer} reaches {peak} and is never below 0, as pictures from 0 to 255. Steps that suit usual data are far too long for it.",
        "Scale the inputs to about 1: divide pictures by 255; subtract the mean, divide by the deviation.", (_not_finite, _normalised, lambda seen, match: seen.fell), share=0.3),
]  # fmt: skip
