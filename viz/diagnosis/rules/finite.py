"""nan and infinity: the first op whose output, or whose gradient, is not finite although its inputs are."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from viz.diagnosis.families import ARCS, HIDERS, LINEAR, NORMS
from viz.diagnosis.finding import number
from viz.diagnosis.observation import Observation, Ran, Seen, Through
from viz.diagnosis.rules.rule import Match, Rule

GROWS = 10.0  # how many times a loss grows over the steps before it becomes nan
ROOTS, LOGARITHMS, QUOTIENTS = (
    {"sqrt", "rsqrt"},
    {"log", "log2", "log10", "log1p", "logit"},
    {"div", "reciprocal", "rdiv"},
)
POWERS = {"exp", "expm1", "pow", "square", "mul", "cosh", "sinh", "cumprod", "prod", "exp2"}
SOFTMAXES = {"softmax", "log_softmax"}
ARC = "Keep its input inside: `x.clamp(-1 + 1e-6, 1 - 1e-6)`. For an angle, `T.atan2(sine, cosine)` has a slope everywhere but at 0."


class Made:
    """An op that made a number that is not finite out of finite ones: what the causes below ask of it."""

    def __init__(self, seen: Observation, op: Ran, value: Seen) -> None:
        given = [seen.values[nr] for nr in op.inputs]
        self.name, self.value = op.name, value
        self.low = min((one.low for one in given if one.low is not None), default=None)
        self.peak = max((one.peak for one in given if one.peak is not None), default=None)
        self.nan = value.peak is not None and math.isnan(value.peak)
        self.half = any(one.dtype in ("float16", "half") for one in (value, *given))
        self.infinite = next(
            (one for one in given if one.floating and one.peak is not None and math.isinf(one.peak)), None
        )
        self.several = len([one for one in given if one.floating]) > 1
        self.few = any(0 in one.shape or one.shape in ((1,), ()) for one in given)


Cause = tuple[str, Callable[[Made], object], str, str]  # kind, pattern, words, fix; the first that fits is the cause
FORWARD: list[Cause] = [
    ("half-range", lambda m: m.value.dtype in ("float16", "half") and m.name not in ROOTS | {"log"},
        "`{op}` exceeds 65504, the largest number of float16.{sizes}",
        "Compute this in float32, or scale it down first. Use `.float()` here, and half precision where numbers stay small."),
    ("zero-by-zero", lambda m: m.name in SOFTMAXES and m.low == -math.inf,
        "a row of the input of `{op}` is minus infinity everywhere: no probability is left to distribute, and the row is nan.",
        "Leave at least one place of each row unmasked, or set such rows to 0 before you use them."),
    ("log-of-zero", lambda m: m.name in LOGARITHMS, "`{op}` received {low}, where it has no finite value.",
        "Use the function that includes the logarithm (log_softmax, cross_entropy, binary_cross_entropy_with_logits), or keep away from 0: "
        "`T.log(p + 1e-8)`."),
    ("sqrt-at-zero", lambda m: m.name in ROOTS, "`{op}` received {low}.", "Keep the input of the root above 0: `T.sqrt(x.clamp(min=0) + 1e-8)`."),
    ("zero-by-zero", lambda m: m.name in QUOTIENTS, "`{op}` divides by 0: {what}.",
        "Keep the divisor away from 0: `/ total.clamp(min=1)` for a count, `/ (std + 1e-8)` for a deviation."),
    ("sqrt-at-zero", lambda m: m.name == "pow" and (m.low or 0) < 0 and m.nan,
        "`{op}` received {low}: a number below 0 has no power that is not a whole number.",
        "Keep the base above 0: `x.clamp(min=1e-8) ** p`, or take the power of `x.abs()`."),
    ("zero-by-zero", lambda m: m.name == "pow" and m.low == 0 and (m.peak or 0.0) < 1e6, "`{op}` received 0: a negative power of 0 divides by 0.",
        "Keep the base above 0: `(x + 1e-8) ** p`."),
    ("overflow", lambda m: m.name in POWERS, "`{op}` overflows {dtype}.{sizes}",
        "Subtract the largest first, or use softmax, log_softmax or logsumexp, which do it for you."),
    ("not-finite", lambda m: m.name in ARCS and (m.peak or 0.0) >= 1, "`{op}` is finite only between -1 and 1.{sizes}", ARC),
    ("overflow", lambda m: m.name == "sub" and m.infinite is not None, "infinity minus infinity is nan.", "Keep both from overflowing first."),
    ("zero-by-zero", lambda m: m.name in ("mean", "std", "var") and m.few, "`{op}` of one number, or of none, divides by 0.",
        "Check its length first, or use unbiased=False."),
    ("not-finite", lambda m: True, "`{op}` gives {what} for finite inputs.{sizes}",
        "Look at the inputs of this line: print their smallest and largest number."),
]  # fmt: skip
BACKWARD: list[Cause] = [
    ("norm-at-zero", lambda m: m.name in NORMS or "norm" in m.name, "`{op}` of a vector of zeros has no slope: its gradient is nan.",
        "Add a little under the root: `(x.pow(2).sum(1) + 1e-8).sqrt()`, or compare squared distances."),
    ("sqrt-at-zero", lambda m: m.name in ROOTS | {"pow", "std", "var"},
        "`{op}` at {low}. Its slope there is infinite. The chain rule turns that into infinity, or into nan where it is multiplied by 0.",
        "Keep away from 0: `T.sqrt(x + 1e-8)`."),
    ("log-of-zero", lambda m: m.name in LOGARITHMS, "the slope of `{op}` at 0 is infinite.",
        "Use log_softmax or cross_entropy on the scores, or `T.log(p + 1e-8)`."),
    ("not-finite", lambda m: m.several and m.infinite is not None and m.infinite.peak == math.inf,
        "`{op}` is given an infinity and so has no finite slope with respect to its other input: in the backward pass, 0 × infinity is nan.",
        "Do this before the infinities are put in: a mask of -inf belongs right before the softmax."),
    ("zero-by-zero", lambda m: m.name in QUOTIENTS, "`{op}` by 0 has no slope.", "Keep the divisor away from 0: `/ (x + 1e-8)`."),
    ("not-finite", lambda m: m.name in ARCS, "the slope of `{op}` at -1 and 1 is infinite.", ARC),
    ("half-range", lambda m: m.half, "the gradient that `{op}` passes on is not finite, but the one it received is.",
        "Compute this in float32, or scale the loss before backward() and unscale the gradients after it."),
    ("not-finite", lambda m: True, "the gradient that `{op}` passes on is not finite, but the one it received is.",
        "Look at the inputs of this line: one of them is where the function has no slope."),
]  # fmt: skip
HIDDEN: Cause = ("where", lambda m: True,
    "`{op}` has no finite slope for some of its inputs, and {hides} hides that only in the forward pass. In the backward pass, 0 × infinity is nan.",
    "Make the input safe as well, before the op: `T.where(x > 0, x, T.ones_like(x))` inside, the same condition outside.")  # fmt: skip


def _explained(seen: Observation, op: Ran, value: Seen, causes: list[Cause], end: str, match: Match) -> Match:
    """The match with the first cause of a table that fits."""
    made = Made(seen, op, value)
    kind, _, words, fix = next(cause for cause in causes if cause[1](made))
    match.given |= {"kind": kind, "words": "{at}: " + words + end, "fix": fix}
    match.told |= {
        "low": made.low if made.low is not None else "a number below 0", "what": _said(value), "dtype": value.dtype,
        "sizes": f" Its input reaches {number(made.peak)} in size." if made.peak is not None else "",
    }  # fmt: skip
    return match


def _first(seen: Observation) -> tuple[Through, Seen | None, list[int]] | None:
    """The first pass with a loss, or with gradients, that are not finite: that loss, and these leaves."""
    for each in seen.passes:
        root = next((seen.values[nr] for nr in each.roots if not seen.values[nr].finite), None)
        bad = [nr for nr, peak in each.got.items() if not math.isfinite(peak)]
        if root is not None or bad:
            return each, root, bad
    return None


def _forward(seen: Observation) -> Iterator[Match]:
    """The value before the loss where it began: data, steps that were too long, or an op."""
    found = _first(seen)
    if found is None or found[1] is None:
        return
    each, root = found[0], found[1]
    value = _origin(seen, root)
    names = seen.called([value.leaf]) if value.leaf is not None else [value.name]
    steps = any(moment.kind in ("step", "update") for moment in seen.moments)
    op = seen.maker(value)
    path = _way(seen, each, value)
    learnt = value.leaf is not None and value.requires_grad and steps
    written = op is not None and op.name in WRITTEN and not value.requires_grad
    if not learnt and (op is None or not op.inputs or written):
        yield Match(value.line, [each], names=names, path=path, cut=value.nr, back=each.line)
    elif learnt or (steps and _exploded(seen, each)):
        held = next((one for one in seen.optimizers if one.rate is not None), None)
        update = next((m.line for m in seen.moments if m.kind == "update"), each.line)
        losses = [one.loss for one in seen.passes if one.loss is not None and one.nr <= each.nr]
        yield Match(
            seen.given_in(held, held.rate) if held else update, [each], path=[],
            names=names if learnt else seen.called(leaf.nr for leaf in seen.trained()),
            walk=_walk(losses), rate=f" The learning rate is {held.rate:g}." if held is not None else "",
            given={"kind": "rate-too-large", "certain": False, "words": THROWN, "fix": "Make the learning rate ten times smaller, or clip the gradient before the step."},
        )  # fmt: skip
    elif op is not None:
        end = f" It reaches the loss of line {each.line}, which is {_said(root)}."
        yield _explained(seen, op, value, FORWARD, end, Match(op, names=names, path=path, cut=value.nr))


def _backward(seen: Observation) -> Iterator[Match]:
    """The loss is finite but a gradient is not: the first op that passed on a gradient that is not finite."""
    found = _first(seen)
    if found is None or found[1] is not None:
        return
    each, _, bad = found
    names, (op, value) = seen.called(bad), _first_bad(seen, each, bad)
    if op is None or value is None:
        given = {
            "kind": "not-finite",
            "words": "The gradient of {names} is not finite after {at}.",
            "fix": "Look at the ops between it and the loss.",
        }
        yield Match(each, names=names, given=given)
        return
    hidden = _hidden(seen, op, value)
    hides = hidden is not None and (value.grad == 0 or not value.finite or hidden[1])
    match = Match(
        op, [hidden[0]] if hidden is not None else [], names=names, path=_way(seen, each, value) or [value.nr], cut=value.nr,
        hides=f"`{hidden[0].name}` in line {hidden[0].line}" if hidden is not None else "",
    )  # fmt: skip
    end = f" The loss is finite ({number(each.loss or 0.0)}), but the gradient of {{names}} is not."
    yield _explained(seen, op, value, [HIDDEN] if hides else BACKWARD, end, match)


WRITTEN = {"__setitem__", "fill", "fill_", "index_fill", "masked_fill"}  # what puts numbers into data


def _broken(seen: Observation) -> Iterator[Match]:
    """The first number that is not finite: of a forward pass, or of a gradient alone."""
    yield from _forward(seen)
    yield from _backward(seen)


THROWN = "The loss went {walk} before it stopped being finite: each step throws {names} further than the last.{rate}"
RULES = [
    Rule("not-finite-input", _broken,
        "{name}, made in {at}, contains numbers that are not finite before anything is computed with it. They reach the loss of line {back}.",
        "Look for missing numbers in the data. Fill them with `x = T.nan_to_num(x)`, or drop the rows.", certain=True, share=1.0),
]  # fmt: skip


def _origin(seen: Observation, value: Seen) -> Seen:
    """The first value that was not finite, of those that made `value` so."""
    for _ in range(len(seen.values)):
        worse = [one for one in seen.inputs(value) if not one.finite]
        if not worse or (value.leaf is not None and value.requires_grad):
            break
        if _all_masked(seen.maker(value), value, worse[0]):
            break
        value = worse[0]
    return value


def _all_masked(op: Ran | None, value: Seen, given: Seen) -> bool:
    """True if a softmax made nan from a row of minus infinity: a mask that leaves nothing in the row."""
    nan = value.peak is not None and math.isnan(value.peak)
    return op is not None and op.name in ("softmax", "log_softmax") and nan and given.low == -math.inf


def _said(value: Seen) -> str:
    return "nan" if value.peak is not None and math.isnan(value.peak) else "infinite"


def _way(seen: Observation, each: Through, value: Seen) -> list[int]:
    for root in each.roots:
        chain = seen.route(root, lambda one: one.nr == value.nr)
        if chain:
            return chain[::-1]
    return []


def _exploded(seen: Observation, each: Through) -> bool:
    """True if the loss grew from pass to pass until it was nan."""
    losses = [
        abs(one.loss) for one in seen.passes if one.line == each.line and one.loss is not None and one.nr < each.nr
    ]
    losses = [loss for loss in losses if math.isfinite(loss)]
    return len(losses) >= 3 and losses[-1] > GROWS * losses[0] and losses[-1] > losses[-2]


def _walk(losses: list[float]) -> str:
    shown = losses if len(losses) <= 5 else [*losses[:2], *losses[-3:]]
    return " → ".join(number(loss) for loss in shown)


def _first_bad(seen: Observation, each: Through, bad: list[int]) -> tuple[Ran | None, Seen | None]:
    """The op whose output got a finite gradient and whose input, or whose leaf, got one that is not.

    Of several that one value went into, it is the one that is not linear: a product does no harm.
    """
    arrived = dict(each.reached)
    leaves = {nr for leaf in bad for nr in seen.leaves[leaf].values}
    order = {nr: place for place, (nr, _) in enumerate(each.reached)}
    linear: tuple[Ran, Seen, int] | None = None
    for nr, peak in each.reached:
        value = seen.values[nr]
        op = seen.maker(value)
        if op is None or not math.isfinite(peak):
            continue
        for one in op.inputs:
            after = arrived.get(one)
            late = order.get(one, len(order)) > order[nr]
            if (after is not None and not math.isfinite(after) and late) or (one in leaves):
                others = [
                    user for user in _users(seen, one) if user != nr and not math.isfinite(arrived.get(user, 0.0))
                ]
                if others or (linear is not None and linear[2] != one):
                    continue
                if op.name not in LINEAR:
                    return op, value
                linear = linear or (op, value, one)
    return linear[:2] if linear is not None else (None, None)


def _users(seen: Observation, nr: int) -> list[int]:
    return [out for op in seen.users(nr) for out in op.outputs]


def _hidden(seen: Observation, op: Ran, value: Seen) -> tuple[Ran, bool] | None:
    """An op after `op` that selects values and so can hide nan or infinity, and whether it hid any."""
    carried = {value.nr}
    for later in seen.ops[op.nr + 1 : op.nr + 60]:
        if not carried & set(later.inputs):
            continue
        if later.name in HIDERS:
            result = [seen.values[nr] for nr in later.outputs]
            return later, not value.finite and all(one.finite for one in result)
        if later.name in LINEAR:
            carried |= set(later.outputs)
    return None
