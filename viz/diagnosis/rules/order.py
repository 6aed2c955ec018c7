"""zero_grad, backward, step: called in another order than a step needs, or not at all."""

from __future__ import annotations

import re
from collections.abc import Iterator

from viz.diagnosis.observation import Moment, Observation
from viz.diagnosis.rules.rule import Match, Rule

SEVERAL = 1.5  # passes for each step, at least, where gradients of several batches add up


def _called(seen: Observation, method: str) -> tuple[int | None, str]:
    """A line that names a method without parentheses, and a sentence about it."""
    line = seen.places.where_not_called(method)
    return line, f" Line {line}, `{seen.places.code(line)}`, names {method} but does not call it." if line else ""


def _with_call(code: str, match: Match) -> str:
    return f"{code}()" if re.search(r"\.(step|backward|zero_grad)$", code) else code


def _steps_alone(seen: Observation) -> Iterator[Match]:
    steps = [moment for moment in seen.moments if moment.kind == "step"]
    line, how = _called(seen, "backward")
    if not seen.passes and len(steps) > 1 and all(step.empty for step in steps):
        yield Match(line or steps[0].line, [steps[0]], count=len(steps), step=steps[0], how=how)


def _shows_a_schedule(seen: Observation, match: Match) -> bool:
    """Whether nothing was computed that could learn: it shows a schedule of rates."""
    return bool(seen.schedules) and not any(op.recorded for op in seen.ops)


def _passes_alone(seen: Observation) -> Iterator[Match]:
    passes = [each for each in seen.passes if each.done and each.kind == "backward"]
    stepped = any(moment.kind == "step" for moment in seen.moments)
    if seen.optimizers and not stepped and len(passes) > 2 and seen.error is None and seen.optimizers[0].made_here:
        held = seen.optimizers[0]
        line, how = _called(seen, "step")
        yield Match(
            line or passes[-1].line, [passes[-1], held], count=len(passes), held=held.kind, made=held.line, how=how
        )


def _by_hand(seen: Observation, match: Match) -> bool:
    return any(write.kind == "update" for leaf in seen.leaves for write in leaf.writes)


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


def _before_backward(seen: Observation) -> Iterator[Match]:
    for steps, leaves, zero, last in _empty_steps(seen):
        if _too_early(steps, seen, zero, last):
            yield Match(steps[-1], names=seen.called(sorted(leaves)), count=len(steps))


def _reset_before(seen: Observation) -> Iterator[Match]:
    for steps, leaves, zero, last in _empty_steps(seen):
        if zero is not None and zero.order > last and not _too_early(steps, seen, zero, last):
            line = _own_call(seen, zero)
            yield Match(
                line, [zero, steps[-1]], names=seen.called(sorted(leaves)), count=len(steps), step=steps[-1].line
            )


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
            yield Match(zero, [line], count=len(passes), back=line, thrown=len(thrown))


RULES = [
    Rule("no-zero-grad", _adding,
        "{adding} adds to gradients that a step had already used: nothing reset them. The step in line {step} then used the sum, {times} times.{how}",
        "Reset the gradients in each step, before backward(): `{zero}`.", certain=True, change=_with_call),
    Rule("step-before-backward", _before_backward,
        "{at}, steps before the backward() of the same iteration: none of {count} steps found a gradient.",
        "Call zero_grad(), backward() and step() in this order.", certain=True, share=1.0),
    Rule("zero-before-step", _reset_before,
        "{at}, resets the gradients between backward() and step(): none of {count} steps in line {step} found one.",
        "Zero the gradients before backward(), or after step().", certain=True, share=1.0),
    Rule("zero-before-step", _thrown_away,
        "{at}, resets gradients that no step has used: of {count} passes of line {back}, the gradients of {thrown} were thrown away.",
        "If gradients should add up over several batches, reset them only after the step, and take a last step for what is left of them."),
    Rule("never-backward", _steps_alone,
        "{count} steps were taken, in {step}, but no backward pass ran: no step found a gradient.{how}",
        "Call backward() before each step: `loss.backward()`.", (_shows_a_schedule,), certain=True, share=1.0, change=_with_call),
    Rule("never-steps", _passes_alone,
        "{count} backward passes ran, and the {held} of line {made} never took a step.{how}",
        "Call optimizer.step() after backward().", (_by_hand,), share=1.0, change=_with_call),
]  # fmt: skip
