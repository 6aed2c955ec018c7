"""zero_grad, backward, step: called in another order than a step needs, or not at all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from viz.diagnosis.observation import Moment, Observation
from viz.diagnosis.rules.rule import Match, Rule

SEVERAL = 1.5  # passes for each step, at least, where gradients of several batches add up


def _called(seen: Observation, method: str) -> tuple[int | None, str]:
    """A line that names a method without parentheses, and a sentence about it."""
    line = seen.places.where_not_called(method)
    return line, f" Line {line}, `{seen.places.code(line)}`, names {method} but does not call it." if line else ""


def _with_call(code: str, match: Match) -> str:
    return f"{code}()" if re.search(r"\.(step|backward|zero_grad)$", code) else code


def _alone(seen: Observation) -> Iterator[Match]:
    """Steps without any backward pass, or backward passes without any step."""
    steps = [moment for moment in seen.moments if moment.kind == "step"]
    passes = [each for each in seen.passes if each.done and each.kind == "backward"]
    learnt = not seen.schedules or any(op.recorded for op in seen.ops)  # else it shows a schedule of rates
    if not seen.passes and len(steps) > 1 and all(step.empty for step in steps) and learnt:
        line, how = _called(seen, "backward")
        yield Match(line or steps[0].line, [steps[0]], count=len(steps), step=steps[0], how=how)
    by_hand = any(write.kind == "update" for leaf in seen.leaves for write in leaf.writes)
    if (
        steps
        or by_hand
        or not seen.optimizers
        or len(passes) < 3
        or seen.error is not None
        or not seen.optimizers[0].made_here
    ):
        return
    held, (line, how) = seen.optimizers[0], _called(seen, "step")
    words = "{count} backward passes ran, and the {held} of line {made} never took a step.{how}"
    given = {"kind": "never-steps", "words": words, "fix": "Call optimizer.step() after backward().", "certain": False}
    yield Match(
        line or passes[-1].line,
        [passes[-1], held],
        count=len(passes),
        held=held.kind,
        made=held.line,
        how=how,
        given=given,
    )


def _adding(seen: Observation) -> Iterator[Match]:
    """Gradients that a step had used, added to by the next pass."""
    stale = [moment for moment in seen.moments if moment.kind in ("step", "update") and moment.stale]
    if not stale:
        return
    leaves = sorted({nr for step in stale for nr in step.stale})
    mixing = [each for each in seen.passes if each.stale & set(leaves) & set(each.got)]
    own = [each for each in mixing if each.order < stale[0].order]  # the last of them belongs to the step
    adding = next(iter(own[-1:] or mixing), stale[0])
    line, how = _called(seen, "zero_grad")
    line = line or adding.line
    code, step = seen.places.code(line), seen.places.code(stale[0].line)
    called = re.search(r"([\w.]+)\.step\(", step)
    zero = f"{called[1] if called else 'optimizer'}.zero_grad()" if seen.optimizers else "w.grad = None"
    before = code.endswith("backward()") and called and seen.optimizers and "closure" not in step
    yield Match(
        line, [stale[0]], names=seen.called(leaves), adding=adding, step=stale[0].line, times=len(stale), how=how, zero=zero,
        given={"change": (code, f"{zero}; {code}")} if before else {},
    )  # fmt: skip


def _empty_steps(seen: Observation) -> Iterator[tuple[list[Moment], set[int], Moment | None, int]]:
    """Of each optimizer that got gradients and whose steps found none: its steps, leaves, the last reset and the last pass before."""
    for held in seen.optimizers:
        steps = [m for m in seen.moments if m.kind == "step" and m.who == held.nr]
        leaves = set(held.leaves)
        if (
            not steps
            or not all(step.empty for step in steps)
            or not any(leaves & set(each.got) for each in seen.passes)
        ):
            continue
        zeros = [m for m in seen.moments if m.order < steps[-1].order and m.kind == "zero"]
        last = max((each.order for each in seen.passes if each.order < steps[-1].order), default=0)
        after = [each for each in seen.passes if each.order > steps[0].order and set(each.got) & leaves]
        if (
            after or steps[-1].order <= last or len({step.passes for step in steps}) > 1
        ):  # else it shows a schedule of rates
            yield steps, leaves, zeros[-1] if zeros else None, last


def _too_early(steps: list[Moment], seen: Observation, zero: Moment | None, last: int) -> bool:
    first = min((each.order for each in seen.passes), default=0)
    return steps[0].order < first or zero is None or last < (steps[-2].order if len(steps) > 1 else 0)


def _found_nothing(seen: Observation) -> Iterator[Match]:
    """Steps that found no gradient, for they came too early or the gradients were set back."""
    for steps, leaves, zero, last in _empty_steps(seen):
        told: dict[str, Any] = {"names": seen.called(sorted(leaves)), "count": len(steps)}
        if _too_early(steps, seen, zero, last):
            words = "{at}, steps before the backward() of the same iteration: none of {count} steps found a gradient."
            given = {
                "kind": "step-before-backward",
                "words": words,
                "fix": "Call zero_grad(), backward() and step() in this order.",
            }
            yield Match(steps[-1], given=given, **told)
        elif zero is not None and zero.order > last:
            yield Match(_own_call(seen, zero), [zero, steps[-1]], step=steps[-1].line, **told)
    yield from _thrown_away(seen)


def _own_call(seen: Observation, zero: Moment) -> int | None:
    """The line of a zero_grad(); of one in a helper that other lines call too, the line that called the helper this time."""
    others = (m for m in seen.moments if m.kind == "zero" and m.line == zero.line and set(m.stack) != set(zero.stack))
    other = next(others, None)
    return zero.line if other is None else next((line for line in zero.stack if line not in other.stack), zero.line)


def _thrown_away(seen: Observation) -> Iterator[Match]:
    """Gradients that were reset before any step used them, while others of the same backward() were used."""
    lost = {nr for moment in seen.moments for nr in moment.thrown if not seen.passes[nr - 1].used}
    for line in dict.fromkeys(each.line for each in seen.passes if each.nr in lost):
        passes = [each.nr for each in seen.passes if each.line == line and each.done]
        thrown = [nr for nr in passes if nr in lost]
        zero = next(moment for moment in seen.moments if set(moment.thrown) & set(thrown))
        if len(thrown) < 2 or not any(seen.passes[nr - 1].used for nr in passes):
            continue
        again = sum(m.kind == "zero" and m.line == zero.line and bool(m.thrown) for m in seen.moments)
        steps = sum(m.kind == "step" for m in seen.moments)
        if 2 * len(thrown) >= len(passes) or (again > 1 and len(passes) > SEVERAL * steps):
            words = "{at}, resets gradients that no step has used: of {count} passes of line {back}, the gradients of {thrown} were thrown away."
            fix = "If gradients should add up over several batches, reset them only after the step, and take a last step for what is left of them."
            given = {"words": words, "fix": fix, "certain": False, "share": 0.9}
            yield Match(zero, [line], count=len(passes), back=line, thrown=len(thrown), given=given)


RULES = [
    Rule("no-zero-grad", _adding,
        "{adding} adds to gradients that a step had already used: nothing reset them. The step in line {step} then used the sum, {times} times.{how}",
        "Reset the gradients in each step, before backward(): `{zero}`.", certain=True, change=_with_call),
    Rule("zero-before-step", _found_nothing,
        "{at}, resets the gradients between backward() and step(): none of {count} steps in line {step} found one.",
        "Zero the gradients before backward(), or after step().", certain=True, share=1.0),
    Rule("never-backward", _alone,
        "{count} steps were taken, in {step}, but no backward pass ran: no step found a gradient.{how}",
        "Call backward() before each step: `loss.backward()`.", certain=True, share=1.0, change=_with_call),
]  # fmt: skip
