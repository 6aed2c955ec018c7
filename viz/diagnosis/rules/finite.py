"""nan and infinity: the first op whose output, or whose gradient, is not finite although its inputs are."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from viz.diagnosis.families import ARCS, ATTENTIONS, HIDERS, LINEAR, NORMS, PRODUCTS
from viz.diagnosis.finding import number
from viz.diagnosis.observation import Observation, Ran, Seen, Through
from viz.diagnosis.rules.rule import Match, Rule, sentences, telling

GROWS = 10.0  # how many times a loss grows over the steps before it becomes nan
NEAR = 60  # ops behind one that are looked at
ROOTS, QUOTIENTS = {"sqrt", "rsqrt"}, {"div", "reciprocal", "rdiv"}
LOGARITHMS = {"log", "log2", "log10", "log1p", "logit"}
POWERS = {"exp", "expm1", "pow", "square", "mul", "cosh", "sinh", "cumprod", "prod", "exp2"}
SOFTMAXES = {"softmax", "log_softmax"} | ATTENTIONS
WRITTEN = {"__setitem__", "fill", "fill_", "index_fill", "masked_fill"}  # what puts numbers into data


class Made:
    """An op that made a number that is not finite out of finite ones: what the causes below ask of it."""

    def __init__(self, op: Ran, value: Seen, operands: list[Seen]) -> None:
        self.name, self.value, self.nan = op.name, value, _said(value) == "nan"
        self.low = min((operand.low for operand in operands if operand.low is not None), default=None)
        self.peak = max((operand.peak for operand in operands if operand.peak is not None), default=None)
        self.half = value.dtype in ("float16", "half")
        self.infinite = len(operands) > 1 and any(operand.floating and operand.peak == math.inf for operand in operands)
        self.nans = any(operand.floating and math.isnan(operand.peak or 0.0) for operand in operands)


Cause = tuple[str, Callable[[Made], object], str, str]  # kind, pattern, words, fix; the first that fits is the cause
WORDS = """
half: `{op}` exceeds 65504, the largest number of float16.{sizes}
    Fix: Compute this in float32, or scale it down first. Use float() here, and half precision where numbers stay small.
softmax: a row of the input of `{op}` is minus infinity everywhere: no probability is left to distribute, and the row is
    nan.
    Fix: Leave at least one place of each row unmasked, or set such rows to 0 before you use them.
logarithm: `{op}` received {low}, where it has no finite value.
    Fix: Use the function that includes the logarithm (log_softmax, cross_entropy, binary_cross_entropy_with_logits), or
    keep away from 0: `T.log(p + 1e-8)`.
root: `{op}` received {low}.
    Fix: Keep the input of a root above 0, or of any power that is no whole number: `T.sqrt(x.clamp(min=0) + 1e-8)`.
quotient: `{op}` divides by 0: {what}.
    Fix: Keep the divisor away from 0: `/ total.clamp(min=1)` for a count, `/ (std + 1e-8)` for a deviation.
overflow: `{op}` overflows {dtype}.{sizes}
    Fix: Subtract the largest first, or use softmax, log_softmax or logsumexp, which do it for you.
other: `{op}` gives {what} for finite inputs.{sizes}
    Fix: Look at the inputs of this line: print their smallest and largest number.
arc: `{op}` is finite only between -1 and 1.{sizes}
    Fix: Keep its input inside: `x.clamp(-1 + 1e-6, 1 - 1e-6)`. For an angle, atan2() has a slope everywhere but at 0.
slope-of-arc: the slope of `{op}` at -1 and 1 is infinite.
    Fix: Keep its input inside: `x.clamp(-1 + 1e-6, 1 - 1e-6)`. For an angle, atan2() has a slope everywhere but at 0.
slope-of-norm: `{op}` of a vector of zeros has no slope: its gradient is nan.
    Fix: Compare squared distances, or add a little under the root: `(x.pow(2).sum(1) + 1e-8).sqrt()`.
slope-of-root: `{op}` at {low}. Its slope there is infinite. The chain rule turns that into infinity, or into nan where
    it is multiplied by 0.
    Fix: Keep away from 0: `T.sqrt(x + 1e-8)`.
slope-of-logarithm: the slope of `{op}` at 0 is infinite.
    Fix: Use log_softmax or cross_entropy on the scores, or keep away from 0: `T.log(p + 1e-8)`.
times-infinity: `{op}` is given an infinity and so has no finite slope with respect to its other input: in the backward
    pass, 0 × infinity is nan.
    Fix: Do this before the infinities are put in: a mask of -inf belongs right before the softmax.
times-nan: `{op}` is given a nan, which is its slope with respect to its other input: in the backward pass, 0 × nan is
    nan.
    Fix: Take the nan out before this op, with nan_to_num(): what follows hides it only in the forward pass.
slope-of-half: the gradient that `{op}` passes on exceeds half precision.
    Fix: Compute this in float32, or scale the loss before backward() and unscale the gradients after it.
slope-of-other: the gradient that `{op}` passes on is not finite, but the one it received is.
    Fix: Look at the inputs of this line: one of them is where the function has no slope.
where: `{op}` has no finite slope for some of its inputs, and {hides} hides that only in the forward pass. In the
    backward pass, 0 × {times} is nan.
    Fix: Make the input safe as well, before the op: `T.where(x > 0, x, T.ones_like(x))` inside, the same condition
    outside.
warned: {at}: NumPy warned of it, "{text}". What is not finite comes in with {name}, in {made}, and reaches the loss of
    line {back}.
thrown: The loss went {walk} before it stopped being finite: each step throws {names} further than the last.
    Fix: Make the steps smaller, or clip the gradient before them.
unseen: The gradient of {names} is not finite after {at}.
    Fix: Look at the ops between it and the loss.
not-finite-input: {name}, made in {at}, contains numbers that are not finite before anything is computed with it. They
    reach the loss of line {back}.
    Fix: Look for missing numbers in the data. Fill them with nan_to_num(), or drop the rows.
"""
SAID = sentences(WORDS)
FORWARD: list[Cause] = [
    ("half-range", lambda m: m.half and m.name not in ROOTS | LOGARITHMS, *SAID["half"]),
    ("zero-by-zero", lambda m: m.name in SOFTMAXES and m.low == -math.inf, *SAID["softmax"]),
    ("log-of-zero", lambda m: m.name in LOGARITHMS, *SAID["logarithm"]),
    ("sqrt-at-zero", lambda m: m.name in ROOTS or (m.name == "pow" and (m.low or 0.0) < 0 and m.nan), *SAID["root"]),
    (
        "zero-by-zero",
        lambda m: m.name in QUOTIENTS or (m.name == "pow" and m.low == 0 and (m.peak or 0.0) < 1e6),
        *SAID["quotient"],
    ),
    ("overflow", lambda m: m.name in POWERS, *SAID["overflow"]),
    ("not-finite", lambda m: m.name in ARCS and (m.peak or 0.0) >= 1, *SAID["arc"]),
    ("not-finite", lambda m: True, *SAID["other"]),
]
BACKWARD: list[Cause] = [
    ("norm-at-zero", lambda m: m.name in NORMS, *SAID["slope-of-norm"]),
    ("sqrt-at-zero", lambda m: m.name in ROOTS | {"pow", "std", "var"}, *SAID["slope-of-root"]),
    ("log-of-zero", lambda m: m.name in LOGARITHMS, *SAID["slope-of-logarithm"]),
    ("not-finite", lambda m: m.infinite, *SAID["times-infinity"]),
    ("not-finite", lambda m: m.nans, *SAID["times-nan"]),
    ("not-finite", lambda m: m.name in ARCS, *SAID["slope-of-arc"]),
    ("half-range", lambda m: m.half, *SAID["slope-of-half"]),
    ("not-finite", lambda m: True, *SAID["slope-of-other"]),
]
HIDDEN: Cause = ("where", lambda m: True, *SAID["where"])


def _explained(seen: Observation, op: Ran, value: Seen, causes: list[Cause], end: str, **told: Any) -> Match:
    """A match with the first cause of a table that fits."""
    made = Made(op, value, [seen.values[nr] for nr in op.inputs])
    kind, _, words, fix = next(cause for cause in causes if cause[1](made))
    low = made.low if made.low is not None else "a number below 0"
    sizes = f" Its input reaches {number(made.peak)} in size." if made.peak is not None else ""
    told |= {"times": "nan" if made.nans else "infinity", "what": _said(value), "dtype": value.dtype}
    given = telling("{at}: " + words + end, fix, kind=kind)
    return Match(op, cut=value.nr, low=low, below=(made.low or 0.0) < 0, sizes=sizes, given=given, **told)


def _broken(seen: Observation) -> Iterator[Match]:
    """The first number that is not finite: of a loss, or, where all losses are finite, of a gradient alone."""
    for each in seen.passes:
        root = next((seen.values[nr] for nr in each.roots if not seen.values[nr].finite), None)
        bad = [nr for nr, peak in each.got.items() if not math.isfinite(peak)]
        if root is not None or bad:
            yield _forward(seen, each, root) if root is not None else _backward(seen, each, bad)
            return


def _forward(seen: Observation, each: Through, root: Seen) -> Match:
    """The value before the loss where it began: data, steps that were too long, or an op."""
    path = _begins(seen, root)
    value = seen.values[path[0]]
    op = seen.maker(value)
    names = seen.called([value.leaf]) if value.leaf is not None else [value.name]
    moved = any(moment.kind in ("step", "update") for moment in seen.moments)
    learnt = value.leaf is not None and value.requires_grad and moved
    written = op is not None and op.name in WRITTEN and not value.requires_grad
    if not learnt and (op is None or not op.inputs or written):
        text, line = next(iter(seen.warned), ("", value.line))
        told: dict[str, Any] = {"text": text, "made": value, "given": {"words": SAID["warned"][0]} if text else {}}
        return Match(line, [value, each], names=names, path=path, cut=value.nr, back=each.line, **told)
    losses = [before.loss for before in seen.passes[: each.nr] if before.loss is not None and before.line == each.line]
    if op is None or learnt or _grew(losses):
        return _thrown(seen, each, losses, names if learnt else seen.called(leaf.nr for leaf in seen.trained()))
    end = f" It reaches the loss of line {each.line}, which is {_said(root)}."
    return _explained(seen, op, value, FORWARD, end, names=names, path=path)


def _grew(losses: list[float]) -> bool:
    """Whether a loss grew until it was not finite."""
    whole = [abs(loss) for loss in losses if math.isfinite(loss)]
    return len(whole) >= 3 and whole[-1] > GROWS * whole[0]


def _thrown(seen: Observation, each: Through, losses: list[float], names: list[str]) -> Match:
    """Steps that were too long."""
    steps = (moment for moment in seen.moments if moment.kind == "update")
    line = next((maker.line for maker in (*seen.optimizers, *steps)), None)
    shown = losses if len(losses) <= 5 else [*losses[:2], *losses[-3:]]
    return Match(line, [each], names=names, walk=" → ".join(map(number, shown)), given=THROWN)


def _backward(seen: Observation, each: Through, bad: list[int]) -> Match:
    """The loss is finite but a gradient is not: the first op that passed on a gradient that is not finite."""
    names, first = seen.called(bad), _first_bad(seen, each, bad)
    if first is None:
        return Match(each, names=names, given=telling(*SAID["unseen"], kind="not-finite"))
    op, value = first
    hider = _hider(seen, op, value)
    hidden = hider is not None and (value.grad == 0 or not value.finite)
    end = f" The loss is finite ({number(each.loss or 0.0)}), but the gradient of {{names}} is not."
    hides = f"`{hider.name}` in line {hider.line}" if hider is not None else ""
    told = {"path": seen.route(each.roots[0], lambda reached: reached is value)[::-1] or [value.nr], "hides": hides}
    return _explained(seen, op, value, [HIDDEN] if hidden else BACKWARD, end, lines=[hider], names=names, **told)


THROWN = telling(*SAID["thrown"], kind="exploding", certain=False)
RULES = [Rule("not-finite-input", _broken, *SAID["not-finite-input"], certain=True, share=1.0)]


def _said(value: Seen) -> str:
    return "nan" if math.isnan(value.peak or 0.0) else "infinite"


def _begins(seen: Observation, root: Seen) -> list[int]:
    """The path to the loss from the nearest value that is not finite although its inputs are."""

    def begins(value: Seen) -> bool:
        worse = [source for source in seen.inputs(value, past_leaves=False) if not source.finite]
        op = seen.maker(value)
        masked = op is not None and op.name in SOFTMAXES and any(source.low == -math.inf for source in worse)
        return not value.finite and (not worse or masked)  # a mask that leaves nothing in a row

    return seen.route(root.nr, begins)[::-1] or [root.nr]


def _first_bad(seen: Observation, each: Through, bad: list[int]) -> tuple[Ran, Seen] | None:
    """The op that turned a finite gradient into one that is not, and its output; a linear op as the last choice."""
    broken = {nr for leaf in bad for nr in seen.leaves[leaf].values}
    broken |= {nr for nr, peak in each.reached if not math.isfinite(peak)}
    # whose gradient is broken, and of no value that was computed from them
    first = {nr for nr in broken if not any(out in broken for user in seen.users(nr) for out in user.outputs)}
    whole = (seen.values[nr] for nr, peak in each.reached if math.isfinite(peak))
    made = [(op, value) for value in whole if (op := seen.maker(value)) is not None and first & set(op.inputs)]
    return min(made, key=lambda pair: _harmless(seen, pair[0]), default=None)


def _harmless(seen: Observation, op: Ran) -> bool:
    """Whether an op is linear, and no product with what is not finite."""
    return op.name in LINEAR and (op.name not in PRODUCTS or all(seen.values[nr].finite for nr in op.inputs))


def _hider(seen: Observation, op: Ran, value: Seen) -> Ran | None:
    """The op behind another, past linear ones, that selects numbers and so can hide a nan or an infinity."""
    carried = {value.nr}
    for later in seen.ops[op.nr + 1 : op.nr + NEAR]:
        if carried & set(later.inputs):
            if later.name in HIDERS:
                return later
            carried |= set(later.outputs) if later.name in LINEAR else set()
    return None
