"""nan and infinity: the first op whose output, or whose gradient, is not finite although its inputs are."""

from __future__ import annotations

import math
from collections.abc import Iterator

from viz.diagnosis.families import ARCS, DIVIDES, HIDERS, LINEAR, NORMS
from viz.diagnosis.finding import Finding, listed, number
from viz.diagnosis.observation import Observation, Ran, Seen, Through

LARGEST_HALF = 65504.0
INSIDE = "Keep its input inside: `x.clamp(-1 + 1e-6, 1 - 1e-6)`. For an angle, `T.atan2(sine, cosine)` has a slope everywhere but at 0."
GROWS = 10.0  # how many times a loss grows over the steps before it becomes nan


def find(seen: Observation) -> Iterator[Finding]:
    """The origin of the first number that is not finite and that reached a loss or a gradient."""
    for each in seen.passes:
        roots = [seen.values[nr] for nr in each.roots]
        bad_roots = [root for root in roots if not root.finite]
        if bad_roots:
            yield from _forward(seen, each, bad_roots[0])
            return
        bad = [nr for nr, peak in each.got.items() if not math.isfinite(peak)]
        if bad:
            yield from _backward(seen, each, bad)
            return


def _forward(seen: Observation, each: Through, root: Seen) -> Iterator[Finding]:
    """The value before the loss where it began."""
    value = _origin(seen, root)
    names = seen.called([value.leaf]) if value.leaf is not None else [value.name] if value.name else []
    steps = any(moment.kind in ("step", "update") for moment in seen.moments)
    if value.leaf is not None and value.requires_grad and steps:
        yield from _diverged(seen, each, names)
        return
    op = seen.maker(value)
    if op is None or not op.inputs:
        line = value.line
        yield Finding(
            "not-finite-input", line, True,
            f"{listed(names) if names else 'A tensor'}, made in line {line}, `{seen.places.code(line)}`, contains "
            "numbers that are not finite before anything is computed with it. They reach the loss of line "
            f"{each.line}.",
            "Look for missing numbers in the data. Fill them with `x = T.nan_to_num(x)`, or drop the rows.",
            names, [line or 0, each.line or 0], 3, path=_way(seen, each, value), cut=value.nr, share=1.0,
        )  # fmt: skip
        return
    if steps and _exploded(seen, each):
        yield from _diverged(seen, each, seen.called(leaf.nr for leaf in seen.trained()))
        return
    kind, text, fix = _explain(seen, op, value)
    yield Finding(
        kind, op.line, True,
        f"Line {op.line}, `{seen.places.code(op.line)}`: {text} It reaches the loss of line {each.line}, which is "
        f"{_said(root)}.",
        fix, names, [op.line or 0], 3, where=op.where, path=_way(seen, each, value), cut=value.nr, share=1.0,
    )  # fmt: skip


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


def behind_zeros(seen: Observation, zeros: Seen) -> Finding | None:
    """Zeros that come from dividing by an infinity: where that infinity began."""
    maker = seen.maker(zeros)
    if maker is None or maker.name not in DIVIDES:
        return None
    infinite = next((one for one in seen.inputs(zeros) if one.peak == math.inf), None)
    op = seen.maker(value := _origin(seen, infinite)) if infinite is not None else None
    if op is None or not op.inputs:
        return None
    kind, text, fix = _explain(seen, op, value)
    return Finding(
        kind, op.line, False,
        f"Line {op.line}, `{seen.places.code(op.line)}`: {text} Line {maker.line}, `{seen.places.code(maker.line)}`, divides by that infinity: the "
        "result is 0 everywhere, and no gradient passes.",
        fix, [value.name] if value.name else [], [op.line or 0, maker.line or 0], 3, where=op.where, path=[value.nr, zeros.nr], cut=value.nr, share=1.0,
    )  # fmt: skip


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


def _diverged(seen: Observation, each: Through, names: list[str]) -> Iterator[Finding]:
    losses = [one.loss for one in seen.passes if one.loss is not None and one.nr <= each.nr]
    held = next((one for one in seen.optimizers if one.rate is not None), None)
    line = (
        seen.given_in(held, held.rate)
        if held
        else next((m.line for m in seen.moments if m.kind == "update"), each.line)
    )
    yield Finding(
        "rate-too-large", line, False,
        f"The loss went {_walk(losses)} before it stopped being finite: each step throws {listed(names)} further than "
        "the last."
        + (f" The learning rate of line {line} is {held.rate:g}." if held and held.rate is not None else ""),
        "Make the learning rate ten times smaller, or clip the gradient before the step.", names, [line or 0, each.line or 0], 5,
        share=1.0,
    )  # fmt: skip


def _walk(losses: list[float]) -> str:
    shown = losses if len(losses) <= 5 else [*losses[:2], *losses[-3:]]
    return " → ".join(number(loss) for loss in shown)


def _explain(seen: Observation, op: Ran, value: Seen) -> tuple[str, str, str]:
    """How an op made a number that is not finite from finite ones."""
    given = [seen.values[nr] for nr in op.inputs]
    low = min((one.low for one in given if one.low is not None), default=None)
    peak = max((one.peak for one in given if one.peak is not None), default=None)
    sizes = f" Its input reaches {number(peak)} in size." if peak is not None else ""
    if value.dtype in ("float16", "half") and op.name not in ("log", "sqrt", "rsqrt"):
        return (
            "half-range",
            f"`{op.name}` exceeds {LARGEST_HALF:g}, the largest number of float16.{sizes}",
            "Compute this in float32, or scale it down first. Use `.float()` here, and half precision where numbers "
            "stay small.",
        )
    if op.name in ("softmax", "log_softmax") and low == -math.inf:
        return (
            "zero-by-zero",
            f"a row of the input of `{op.name}` is minus infinity everywhere: no probability is left to distribute, "
            "and the row is nan.",
            "Leave at least one place of each row unmasked, or set such rows to 0 before you use them.",
        )
    if op.name in ("log", "log2", "log10", "log1p", "logit"):
        how = "0" if low is not None and low >= 0 else f"{number(low or 0.0)}"
        return (
            "log-of-zero",
            f"`{op.name}` received {how}, where it has no finite value.",
            "Use the function that includes the logarithm (log_softmax, cross_entropy, "
            "binary_cross_entropy_with_logits), or keep away from 0: `T.log(p + 1e-8)`.",
        )
    if op.name in ("sqrt", "rsqrt"):
        return (
            "sqrt-at-zero",
            f"`{op.name}` received {number(low) if low is not None else 'a number below 0'}.",
            "Keep the input of the root above 0: `T.sqrt(x.clamp(min=0) + 1e-8)`.",
        )
    if op.name in ("div", "reciprocal", "rdiv"):
        return (
            "zero-by-zero",
            f"`{op.name}` divides by 0." + (" 0 / 0 is nan." if _said(value) == "nan" else ""),
            "Keep the divisor away from 0: `/ total.clamp(min=1)` for a count, `/ (std + 1e-8)` for a deviation.",
        )
    if op.name == "pow" and low is not None and low < 0 and _said(value) == "nan":
        return (
            "sqrt-at-zero",
            f"`{op.name}` received {number(low)}: a number below 0 has no power that is not a whole number.",
            "Keep the base above 0: `x.clamp(min=1e-8) ** p`, or take the power of `x.abs()`.",
        )
    if op.name == "pow" and low == 0 and (peak or 0.0) < 1e6:
        return (
            "zero-by-zero",
            f"`{op.name}` received 0: a negative power of 0 divides by 0.",
            "Keep the base above 0: `(x + 1e-8) ** p`.",
        )
    if op.name in ("exp", "expm1", "pow", "square", "mul", "cosh", "sinh", "cumprod", "prod", "exp2"):
        return (
            "overflow",
            f"`{op.name}` overflows {value.dtype}.{sizes}",
            "Subtract the largest first, or use softmax, log_softmax or logsumexp, which do it for you.",
        )
    if op.name in ARCS and (peak or 0.0) >= 1:
        return "not-finite", f"`{op.name}` is finite only between -1 and 1.{sizes}", INSIDE
    if op.name == "sub" and any(one.peak is not None and math.isinf(one.peak) for one in given):
        return "overflow", "infinity minus infinity is nan.", "Keep both from overflowing first."
    if op.name in ("mean", "std", "var") and any(0 in one.shape or one.shape in ((1,), ()) for one in given):
        return (
            "zero-by-zero",
            f"`{op.name}` of {'nothing' if any(0 in one.shape for one in given) else 'one number'} divides by 0.",
            "Check its length first, or use unbiased=False.",
        )
    return (
        "not-finite",
        f"`{op.name}` gives {_said(value)} for finite inputs.{sizes}",
        "Look at the inputs of this line: print their smallest and largest number.",
    )


def _backward(seen: Observation, each: Through, bad: list[int]) -> Iterator[Finding]:
    """The loss is finite but a gradient is not: the first op that passed on a gradient that is not finite."""
    names = seen.called(bad)
    op, value = _first_bad(seen, each, bad)
    if op is None or value is None:
        yield Finding(
            "not-finite", each.line, True, f"The gradient of {listed(names)} is not finite after line {each.line}.",
            "Look at the ops between it and the loss.", names, [each.line or 0], 3, share=1.0,
        )  # fmt: skip
        return
    given = [seen.values[nr] for nr in op.inputs if seen.values[nr].floating]
    hidden = _hidden(seen, op, value)
    where = hidden[0].line if hidden is not None else None
    if hidden is not None and (value.grad == 0 or not value.finite or hidden[1]):
        kind = "where"
        line = op.line
        text = (
            f"Line {op.line}, `{seen.places.code(op.line)}`: `{op.name}` has no finite slope for some of its inputs, "
            f"and `{hidden[0].name}` in line {where} hides that only in the forward pass. In the backward pass, 0 × "
            "infinity is nan."
        )
        fix = "Make the input safe as well, before the op: `T.where(x > 0, x, T.ones_like(x))` inside, the same condition outside."
    elif op.name in NORMS or "norm" in op.name:
        kind, line = "norm-at-zero", op.line
        text = f"Line {line}, `{seen.places.code(line)}`: `{op.name}` of a vector of zeros has no slope: its gradient is nan."
        fix = "Add a little under the root: `(x.pow(2).sum(1) + 1e-8).sqrt()`, or compare squared distances."
    elif op.name in ("sqrt", "rsqrt", "pow", "std", "var"):
        kind, line = "sqrt-at-zero", op.line
        low = min((one.low for one in given if one.low is not None), default=0.0)
        text = (
            f"Line {line}, `{seen.places.code(line)}`: `{op.name}` at {number(low)}. Its slope there is infinite. The "
            "chain rule turns that into infinity, or into nan where it is multiplied by 0."
        )
        fix = "Keep away from 0: `T.sqrt(x + 1e-8)`."
    elif op.name in ("log", "log2", "log10"):
        kind, line = "log-of-zero", op.line
        text = f"Line {line}, `{seen.places.code(line)}`: the slope of `{op.name}` at 0 is infinite."
        fix = "Use log_softmax or cross_entropy on the scores, or `T.log(p + 1e-8)`."
    elif len(given) > 1 and (endless := next((one for one in given if one.peak == math.inf), None)) is not None:
        kind, line = "not-finite", op.line
        put = f", which line {endless.line} put there," if endless.line not in (None, line) else ""
        text = (
            f"Line {line}, `{seen.places.code(line)}`: `{op.name}` is given an infinity{put} and so has no finite slope with respect to its other input: "
            "in the backward pass, 0 × infinity is nan."
        )
        fix = "Do this before the infinities are put in: a mask of -inf belongs right before the softmax."
    elif op.name in ("div", "reciprocal"):
        kind, line = "zero-by-zero", op.line
        text = f"Line {line}, `{seen.places.code(line)}`: `{op.name}` by 0 has no slope."
        fix = "Keep the divisor away from 0: `/ (x + 1e-8)`."
    elif op.name in ARCS:
        kind, line = "not-finite", op.line
        text = f"Line {line}, `{seen.places.code(line)}`: the slope of `{op.name}` at -1 and 1 is infinite."
        fix = INSIDE
    else:
        half = value.dtype == "float16" or any(one.dtype == "float16" for one in given)
        kind, line = ("half-range" if half else "not-finite"), op.line
        text = f"Line {line}, `{seen.places.code(line)}`: the gradient that `{op.name}` passes on is not finite, but the one it received is."
        fix = (
            "Compute this in float32, or scale the loss before backward() and unscale the gradients after it."
            if half
            else "Look at the inputs of this line: one of them is where the function has no slope."
        )
    yield Finding(
        kind, line, True, text + f" The loss is finite ({number(each.loss or 0.0)}), but the gradient of {listed(names)} is not.", fix,
        names, [line or 0, where or 0] if where else [line or 0], 3, where=op.where,
        path=_way(seen, each, value) or [value.nr], cut=value.nr, share=1.0,
    )  # fmt: skip


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
