"""A gradient of zero: which op lets nothing through, and what made it so."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from viz.diagnosis import families as ops
from viz.diagnosis.families import source
from viz.diagnosis.observation import Leaf, Observation, Ran, Seen, Through
from viz.diagnosis.paths import Step, first_on_path
from viz.diagnosis.rules.rule import Match, Place, Rule, sentences, telling
from viz.diagnosis.rules.weights import outweighs, written

LOST = 1e-20  # a gradient below this underflows to 0 in the next ops: it vanished before
MASKS = {"masked_fill", "where", "add"}
WIDE = 4.0  # scores of an attention, in size, where nothing divides them: divided, they stay around 1
HALF_AS_MUCH = 2.0  # times
NARROW = 8  # products that a score adds up, at least
SATURATING = 4.0  # an input from which on a sigmoid, tanh or softmax can pass nothing at all


class Shut:
    """An op that got a gradient and let none of it through: what the causes below ask of it."""

    def __init__(self, seen: Observation, op: Ran, source: Seen) -> None:
        self.name, self.out = op.name, seen.values[op.outputs[0]]
        self.peak = source.peak if source.peak is not None else math.inf  # of what got nothing
        # what it multiplied by, if that is 0 everywhere, and the line that made it
        self.factor, self.made = _zero_factor(seen, op, source) if op.name in ops.MULTIPLIES else ("", None)
        dim = op.options.get("dim", op.options.get("1", -1))
        shape = self.out.shape if op.name in ("softmax", "log_softmax") else ()
        self.one_class = isinstance(dim, int) and shape[dim : dim + 1 or None] == (1,)


Cause = tuple[str, Callable[[Shut], object], str, str]  # kind, pattern, words, fix; the first that fits is the cause
WORDS = """
draws: `{op}` draws numbers, and no slope leads from these to the mean and the deviation that they were drawn with.
    Fix: Draw noise alone, and let it go through them, as rsample() of a distribution does: `mean + std *
    T.randn_like(std)`.
flat: `{op}` is flat: its slope is 0 everywhere, so no gradient passes.
    Fix: Use a smooth replacement (tanh, sigmoid), or a straight-through estimator: `x + (x.round() - x).detach()`.
one-class: `{op}` over a dimension of length 1 is constant, so its slope is 0.
    Fix: Take it over the dimension of the places, or the classes, to choose from: its result has the shape {shape}. For
    one output use sigmoid with binary_cross_entropy_with_logits; softmax needs at least two classes.
clamp: `{op}` holds every number at its bound (its input reaches {peak}), and its slope is 0 there.
    Fix: Scale the input so that it lies within the bounds, or clamp only what you report.
dead-relu: `{op}` gives 0 for every input it saw, and its slope is 0 there.
    Fix: Start with a bias of 0 and a smaller learning rate, or use leaky_relu.
saturated: `{op}` is saturated: its input reaches {peak} in size, where its slope is 0.
    Fix: Scale the inputs to about 1 (subtract the mean, divide by the deviation), or make the weights smaller.
times-zero: `{op}` multiplies by {factor}, which is 0 everywhere.
    Fix: Find out where that 0 comes from: a weight of the loss, a mask that lets nothing through, or a layer that
    starts at 0.
joined: `{op}` puts this beside other numbers, and what follows chooses none of it: no gradient passes.
    Fix: Look at what stands beside it: padding must never win, so fill with -inf for a maximum.
chosen: `{op}` selects nothing from its input: no gradient passes.
    Fix: Look at the condition: it lets nothing through.
norm-at-zero: `{op}` of a vector of zeros has a corner, where its slope is taken as 0.
    Fix: Compare squared distances, or start where the two are not the same.
undivided: {at}: the scores that `softmax` in {here}, weighs reach {peak} in size before the first step: each adds
    {width} products, and hardly anything divides them. A softmax of such scores chooses one place, and the others learn
    little. Divided by the root of {width} they reach {less}.
    Fix: Divide the products by the root of how many each adds up: `q @ k.transpose(-2, -1) / math.sqrt(d)`.
no-loss:
    Fix: Look at what the loss compares, and at the masks in it: it is 0 as well. If they are right, nothing is left to
    learn: choose harder pairs or a larger margin.
other: `{op}` received a gradient and passed on only zeros.
    Fix: Look at its inputs: the function is flat there.
"""
SAID = sentences(WORDS)
CAUSES: list[Cause] = [
    ("zero", lambda shut: shut.name == "normal", *SAID["draws"]),
    ("flat", lambda shut: shut.name in ops.FLAT, *SAID["flat"]),
    ("saturated", lambda shut: shut.one_class, *SAID["one-class"]),
    ("clamp", lambda shut: shut.name in ops.CLAMPS - {"relu6"}, *SAID["clamp"]),
    ("dead-relu", lambda shut: shut.name in ops.RELUS, *SAID["dead-relu"]),
    ("saturated", lambda shut: shut.name in ops.SATURATES and shut.peak > SATURATING, *SAID["saturated"]),
    ("times-zero", lambda shut: shut.factor, *SAID["times-zero"]),
    ("times-zero", lambda shut: shut.name in ops.JOINS, *SAID["joined"]),
    ("times-zero", lambda shut: shut.name in ops.CHOICES, *SAID["chosen"]),
    ("norm-at-zero", lambda shut: "norm" in shut.name and shut.out.peak == 0, *SAID["norm-at-zero"]),
    ("zero", lambda shut: True, *SAID["other"]),
]


def _blocked(seen: Observation) -> Iterator[Match]:
    """Leaves that get only zeros, by the op that lets nothing through."""
    learnt = [leaf for leaf in seen.trained() if leaf.gradients]
    causes: dict[tuple[str, int | None], tuple[Match, list[Leaf]]] = {}
    for leaf in learnt:
        if all(peak == 0 for _, peak in leaf.gradients):
            cause = _cause(seen, seen.passes[leaf.gradients[-1][0] - 1], leaf)
            if cause is not None:
                causes.setdefault((cause.given["kind"], cause.line), (cause, []))[1].append(leaf)
    for match, leaves in causes.values():
        kind, everything = match.given["kind"], len(leaves) == len(learnt)
        times = min(len(leaf.gradients) for leaf in leaves)
        match.names, match.told["times"] = seen.called(leaf.nr for leaf in leaves), times
        match.given["words"] += " The gradient of {names} was exactly 0, in {times} of {times} backward passes."
        match.given["share"] = len(leaves) / len(learnt)
        match.given["certain"] = (everything or kind == "flat") and times > 1 and kind != "zero"
        if kind == "dead-relu" and not any(each.loss for each in seen.passes):
            match.given |= {"certain": False, "fix": SAID["no-loss"][1]}
        # a bias alone whose parts cancel, as before a norm, is not a cause
        once = times == 1 and seen.error is not None and kind in ("zero", "times-zero")  # a state that begins at 0
        if everything or (not once and (kind != "zero" or any(len(leaf.shape) > 1 for leaf in leaves))):
            yield match
    yield from _terms_of_nothing(seen)


def _terms_of_nothing(seen: Observation) -> Iterator[Match]:
    """A flat op in a part of the loss, where the leaves behind it learn from another part."""
    last = {each.line: each for each in seen.passes if each.kind == "backward" and each.done}
    for op in (op for each in last.values() for op in ops.makers(seen, seen.recorded(each)) if op.inputs):
        scores, out = seen.values[op.inputs[0]], seen.values[op.outputs[0]]
        flat = op.name == "normal" or (op.name in ops.FLAT and scores.leaf is None and scores.grad == 0)
        if flat and out.grad and op.recorded:
            match = _of_op(seen, op, scores, [out.nr, scores.nr])
            match.given |= {"words": match.given["words"] + " Nothing behind it learns from that.", "share": 0.5}
            yield match


def _cause(seen: Observation, each: Through, leaf: Leaf) -> Match | None:
    """The op that got a gradient and let none of it through towards the leaf."""
    values, arrived = set(leaf.values), dict(each.reached)

    def shuts(step: Step) -> bool:
        passed = arrived.get(step.given.nr, 0.0 if step.given.nr in values else None)
        return step.op is not None and arrived.get(step.made.nr, 0.0) > LOST and passed == 0

    steps = (first_on_path(seen, values, root, shuts, recorded=True) for root in each.roots)
    step = next((step for step in steps if step is not None), None)
    if step is None or step.op is None or (step.op.name in ops.DISTANCES and step.made.peak == 0):
        return None  # nothing shuts it off, or the model gives what is asked for
    return _of_op(seen, step.op, step.given, step.way[::-1])


def _of_op(seen: Observation, op: Ran, given: Seen, chain: list[int]) -> Match:
    """Why an op lets nothing through to one of its inputs."""
    shut = Shut(seen, op, given)
    kind, _, words, fix = next(cause for cause in CAUSES if cause[1](shut))
    if kind == "zero" and given.peak == 0:  # what follows a bound, such as a square, is flat there
        first = seen.maker(_first_zero(seen, given) or given)
        if first is not None and first.name in ops.CLAMPS | ops.RELUS:
            return _of_op(seen, first, seen.values[first.inputs[0]], chain)
    here, made = layer_line(seen, op), shut.made
    if kind in ("dead-relu", "saturated") and not shut.one_class:
        made = outweighs(seen, given)
    if made is not None and made != here:
        words += " That comes from {made}."
    told: dict[str, Any] = {"op": op.name, "here": Place(here), "made": Place(made), "peak": shut.peak}
    told |= {"shape": str(shut.out.shape), "factor": shut.factor, "cut": shut.out.nr, "where": op.where}
    told["given"] = telling("{here}: " + words, fix, kind=kind)
    return Match(made or here, [here, op], path=chain[::-1], **told)


def _zero_factor(seen: Observation, op: Ran, given: Seen) -> tuple[str, int | None]:
    """What a product is multiplied by and is 0, and the line that made it."""
    factors = [seen.values[nr] for nr in op.inputs]
    if "norm" in op.name:
        factors = [t for t in factors if t.leaf is not None][:1]  # its scale: not its averages, nor its bias
    for other in factors:
        first = _first_zero(seen, other) if other.peak == 0 and other.nr != given.nr else None
        if first is not None and first.leaf is None:
            return other.name or f"the tensor of line {other.line}", first.line
        if first is not None and first.leaf is not None:
            leaf = seen.leaves[first.leaf]
            if any(peak > 0 for _, peak in leaf.gradients):
                break  # it is 0 at the start alone, as in an adapter: steps that move nothing are another cause
            return leaf.name or "a weight", (seen.origin(leaf), *written(leaf))[-1]
    return "the number 0" if 0 in ops.constants(op) else "", None


def _first_zero(seen: Observation, value: Seen) -> Seen | None:
    """The first value that was 0 everywhere, of those that made `value` so; None where a dropout had a part in it."""
    while value.leaf is None and (maker := seen.maker(value)) is not None:
        if "dropout" in maker.name:
            return None
        zeros = [t for t in seen.inputs(value) if t.peak == 0 and (t.floating or maker.name in ops.TURNS)]
        if not zeros:
            break
        value = next((zero for zero in zeros if zero.requires_grad), zeros[0])
    return value


def layer_line(seen: Observation, op: Ran) -> int | None:
    """The line of an op; of a ready-made layer that a line calls without naming it, the line that made the layer."""
    name = op.name.replace("_", "")
    line = seen.parts[op.owner].line if op.library and op.owner is not None else None
    hidden = name not in seen.places.code(op.line).lower().replace("_", "") and name in seen.places.code(line).lower()
    return line if hidden else op.line


def _undivided(seen: Observation) -> Iterator[Match]:
    """Scores of an attention, the products of two projections, that nothing divides by the root of their width."""
    for op in (op for op in seen.ops if op.name == "softmax" and op.inputs and not op.step):  # as they were made
        given = scores = source(seen, op.inputs[0])[0]
        while (maker := source(seen, given.nr)[1]) is not None and maker.name in MASKS | ops.FACTORS:
            learnt = next((nr for nr in maker.inputs if seen.values[nr].requires_grad), None)
            if learnt is None:
                break
            given = source(seen, learnt)[0]
            scores = given if maker.name in MASKS else scores
        if maker is None or maker.name not in ops.SCORES or not all(_projected(seen, nr) for nr in maker.inputs):
            continue
        width, peak, whole = seen.values[maker.inputs[0]].shape[-1], scores.peak or 0.0, given.peak or 0.0
        less = whole / math.sqrt(width)  # that is left where the root divides
        if width >= NARROW and max(WIDE, less * HALF_AS_MUCH) <= peak < math.inf:
            yield Match(maker, [op], peak=peak, width=width, here=op, less=less, cut=op.inputs[0])


def _projected(seen: Observation, nr: int) -> bool:
    """Whether a layer with weights made a value."""
    made = source(seen, nr, ops.TURNS | ops.SPLITS)[1]
    return made is not None and made.name in ops.LAYERS and any(seen.values[nr].leaf is not None for nr in made.inputs)


RULES = [Rule("zero", _blocked), Rule("saturated", _undivided, *SAID["undivided"], share=0.3)]
