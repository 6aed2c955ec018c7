"""Mistakes of intent: nothing is wrong with the gradient, and what it leads to is not what was wanted. All of them are likely at most."""

from __future__ import annotations

import math
from collections.abc import Iterator

from viz.diagnosis.families import (
    AVERAGES,
    BINARY,
    CLASS_LOSSES,
    DISTANCES,
    LAYERS,
    NEGATIONS,
    RELUS,
    TURNS,
    source,
)
from viz.diagnosis.observation import Observation, Ran, Through
from viz.diagnosis.rules.rule import Match, Rule

FAR_OUT = 50.0  # of numbers that nobody scaled: pictures from 0 to 255
MOST = 400  # ops that are looked at


def _last(seen: Observation) -> dict[int | None, Through]:
    """The last pass of each line, of those that steps used."""
    return (
        {each.line: each for each in seen.passes if each.kind == "backward" and each.done and each.roots}
        if seen.steps
        else {}
    )


def _makers(seen: Observation, each: Through) -> list[Ran]:
    return [op for nr in sorted(seen.behind(each)) if (op := seen.maker(seen.values[nr])) is not None]


def _memory(seen: Observation, nr: int) -> tuple[int, tuple[int, ...]]:
    """What a value is, past ops that change its shape or type alone: the first value with these numbers, and how many they are."""
    value, _ = source(seen, nr, TURNS | {"long", "detach"})
    return value.nr, (math.prod(value.shape),)


def _told_the_answer(seen: Observation) -> Iterator[Match]:
    """Class labels that are, place by place, the very tokens that the answers were computed from."""
    for each in _last(seen).values():
        makers = _makers(seen, each)
        looked_up = {
            _memory(seen, nr): op
            for op in makers
            if op.name == "embedding"
            for nr in op.inputs
            if not seen.values[nr].floating
        }
        for op in makers:
            if op.name in CLASS_LOSSES and len(op.inputs) > 1 and (_memory(seen, op.inputs[1]) in looked_up):
                yield Match(op, [looked_up[_memory(seen, op.inputs[1])]], looks=looked_up[_memory(seen, op.inputs[1])])


def _one_answer(seen: Observation) -> Iterator[Match]:
    """Several comparisons in one loss, of answers to different inputs, all with one constant: whatever comes in, the answer is the same."""
    for each in _last(seen).values():
        asked = [
            op for op in _makers(seen, each) if op.name in BINARY | DISTANCES and len(op.inputs) > 1 and op.recorded
        ]
        targets = [seen.values[op.inputs[1]] for op in asked]
        sizes = {value.peak for value in targets}
        constant = all(
            value.low is not None and value.low == value.peak and not value.requires_grad for value in targets
        )
        answers = {op.inputs[0] for op in asked}
        if len(answers) > 1 and constant and len(sizes) == 1 and all(math.prod(value.shape) > 1 for value in targets):
            yield Match(
                asked[-1],
                [*asked[:-1], each],
                count=len(asked),
                number=float(targets[0].peak or 0.0),
                others=[f"line {op.line}" for op in asked[:-1]],
            )


def _bounded_below(seen: Observation) -> Iterator[Match]:
    """A loss that is the mean of what a network answers, as a critic's is, where the network ends in a relu: half of its answers are 0."""
    for each in _last(seen).values():
        for op in _makers(seen, each):
            if op.name not in RELUS or op.name == "prelu" or not op.recorded:
                continue
            value, maker = source(seen, op.inputs[0])
            users = seen.users(op.outputs[0])
            scored = bool(users) and all(user.name in AVERAGES | NEGATIONS for user in users)
            if (
                maker is not None
                and maker.name in LAYERS
                and scored
                and value.shape[-1:] == (1,)
                and (value.low or 0.0) < 0
            ):
                yield Match(op, [maker, each], low=value.low)


def _unscaled(seen: Observation) -> Iterator[Match]:
    """Data that go into the first layer as they were read: far from 0, and far apart."""
    for each in _last(seen).values():
        for op in _makers(seen, each)[:MOST]:
            if op.name not in LAYERS or len(op.inputs) < 2 or not op.recorded:
                continue
            value, _ = source(seen, op.inputs[0])
            weight = seen.values[op.inputs[1]].leaf
            data = (
                not value.requires_grad and value.leaf is None and weight is not None and bool(seen.leaves[weight].held)
            )
            if (
                data
                and value.floating
                and value.low is not None
                and value.low >= 0
                and FAR_OUT < (value.peak or 0.0) < math.inf
            ):
                yield Match(
                    value, [op], names=[value.name], peak=value.peak, layer=op, path=[value.nr, *op.outputs[:1]]
                )
                return


def _not_finite(seen: Observation, match: Match) -> bool:
    """Whether a loss was not finite: then the op that made it so is the cause."""
    return not all(each.loss is None or math.isfinite(each.loss) for each in seen.passes)


def _normalised(seen: Observation, match: Match) -> bool:
    """Whether a norm comes right behind the layer, which undoes what the size of the data does."""
    op = match.told["layer"]
    return any("norm" in user.name for nr in op.outputs for user in seen.users(nr))


def _found_before(seen: Observation, match: Match) -> bool:
    """Whether the loss fell well all the same: then the size of the data did no harm."""
    losses = [each.loss for each in seen.passes if each.kind == "backward" and each.loss is not None]
    return len(losses) > 2 and abs(losses[-1]) < 0.5 * abs(losses[0])


RULES = [
    Rule("wrong-loss", _told_the_answer,
        "{at}: the labels of `{op}` are the very numbers that {looks} looks up, each at its own place. The model is told each answer: it learns to copy.",
        "To predict what comes next, shift one against the other: `model(tokens[:, :-1])` and `tokens[:, 1:]`.", share=0.4),
    Rule("wrong-loss", _one_answer,
        "{at}, compares with the number {number} alone, as do all {count} comparisons of this loss ({others} too). An answer that is always {number} is "
        "perfect, whatever comes in.",
        "Give the two kinds of input different targets, such as 1 for what is real and 0 for what was made.", share=0.5),
    Rule("wrong-loss", _bounded_below,
        "{at}: the network ends in `{op}`, and its mean is the loss. What it would score below 0, down to {low}, is scored 0, and learns nothing.",
        "End in the linear layer: a score may be below 0.", share=0.4),
    Rule("exploding", _unscaled,
        "{at}: what goes into {layer} reaches {peak} and is never below 0, as pictures from 0 to 255. Steps that suit usual data are far too long for it.",
        "Scale the inputs to about 1: divide pictures by 255; subtract the mean, divide by the deviation.", (_not_finite, _normalised, _found_before), share=0.3),
]  # fmt: skip
