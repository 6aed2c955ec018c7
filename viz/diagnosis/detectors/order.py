"""zero_grad, backward, step: called in another order than a step needs, or not at all."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from viz.diagnosis.detectors.optimizer import wiped
from viz.diagnosis.finding import Finding, listed
from viz.diagnosis.observation import Moment, Observation

SEVERAL = 1.5  # passes for each step, at least, where gradients of several batches add up


def find(seen: Observation) -> Iterator[Finding]:
    """Gradients that add up, are reset before they are used, or never come."""
    steps = [moment for moment in seen.moments if moment.kind in ("step", "update")]
    yield from _adding(seen, [step for step in steps if step.stale])
    yield from _emptied(seen)
    yield from _of_another_loss(seen)
    yield from _thrown_away(seen)
    passes = [each for each in seen.passes if each.done and each.kind == "backward"]
    yield from _never_back(seen)
    if seen.optimizers and not any(step.kind == "step" for step in steps) and len(passes) > 2 and seen.error is None:
        held = seen.optimizers[0]
        if not any(write.kind == "update" for leaf in seen.leaves for write in leaf.writes) and held.made_here:
            named, code, how = _not_called(seen, "step")
            yield Finding(
                "never-steps", named or passes[-1].line, False,
                f"{len(passes)} backward passes ran, and the {held.kind} of line {held.line} never took a step.{how}",
                "Call optimizer.step() after backward().", [], [named or 0, passes[-1].line or 0, held.line or 0], 5,
                (code, f"{code}()") if code.endswith(".step") else None, share=1.0,
            )  # fmt: skip


def _not_called(seen: Observation, method: str) -> tuple[int | None, str, str]:
    """A line that names a method without parentheses, its code, and a sentence about it."""
    line = seen.places.where_not_called(method)
    code = seen.places.code(line)
    return line, code, f" Line {line}, `{code}`, names {method} but does not call it." if line else ""


def _never_back(seen: Observation) -> Iterator[Finding]:
    """Steps without a single backward pass."""
    steps = [moment for moment in seen.moments if moment.kind == "step"]
    if seen.passes or len(steps) < 2 or not all(step.empty for step in steps):
        return
    if seen.schedules and not any(op.recorded for op in seen.ops):
        return  # nothing was computed that could learn: it shows a schedule of rates
    line, code, how = _not_called(seen, "backward")
    yield Finding(
        "never-backward", line or steps[0].line, True,
        f"{len(steps)} steps were taken in line {steps[0].line}, but no backward pass ran: no step found a "
        f"gradient.{how}",
        "Call backward() before each step: `loss.backward()`.", [], [line or 0, steps[0].line or 0], 5,
        (code, f"{code}()") if line and code.endswith(".backward") else None, share=1.0,
    )  # fmt: skip


def _adding(seen: Observation, stale: list[Moment]) -> Iterator[Finding]:
    if not stale:
        return
    leaves = sorted({nr for step in stale for nr in step.stale})
    mixing = [each for each in seen.passes if each.stale & set(leaves) & set(each.got)]
    own = [each for each in mixing if each.order < stale[0].order]  # the last of them belongs to the step
    adding = next(iter(own[-1:] or mixing), None)
    named, _, how = _not_called(seen, "zero_grad")
    line = named or (adding.line if adding is not None else stale[0].line)
    names = seen.called(leaves)
    code = seen.places.code(line)
    called = re.search(r"([\w.]+)\.step\(", seen.places.code(stale[0].line))
    zero = f"{called[1] if called else 'optimizer'}.zero_grad()" if seen.optimizers else "w.grad = None"
    yield Finding(
        "no-zero-grad", line, True,
        f"Line {adding.line if adding else line}, `{seen.places.code(adding.line if adding else line)}`, adds to gradients that a step had already used: nothing reset them. The step in line "
        f"{stale[0].line} then used the sum, {len(stale)} time{'s' if len(stale) > 1 else ''}.{how}",
        f"Reset the gradients in each step, before backward(): `{zero}`.", names, [line or 0, stale[0].line or 0], 5,
        (code, f"{code}()") if named and code.endswith(".zero_grad") else (code, f"{zero}; {code}") if code.endswith("backward()") and called and seen.optimizers and "closure" not in seen.places.code(stale[0].line) else None, share=0.9,
    )  # fmt: skip


def _emptied(seen: Observation) -> Iterator[Finding]:
    """Steps that found no gradient: zeroed just before, or taken before backward()."""
    told = set()
    for optimizer in seen.optimizers:
        steps = [m for m in seen.moments if m.kind == "step" and m.who == optimizer.nr]
        if not steps or not all(step.empty for step in steps) or optimizer.nr in told:
            continue
        told.add(optimizer.nr)
        if wiped(seen) is not None or not any(each.got.get(leaf) for each in seen.passes for leaf in optimizer.leaves):
            continue  # none of them ever got one: other detectors report that
        step = steps[-1]
        before = [m for m in seen.moments if m.order < step.order and m.kind == "zero"]
        last_zero = before[-1] if before else None
        last_pass = max((e.order for e in seen.passes if e.order < step.order), default=0)
        first_pass = min((e.order for e in seen.passes), default=0)
        passes = [each for each in seen.passes if each.order > steps[0].order and set(each.got) & set(optimizer.leaves)]
        if not passes and steps[-1].order > last_pass and len({step.passes for step in steps}) == 1:
            continue  # no backward() between its steps, nor after them: it shows a schedule of rates
        if steps[0].order < first_pass or last_zero is None or last_pass < (steps[-2].order if len(steps) > 1 else 0):
            yield Finding(
                "step-before-backward", step.line, True,
                f"Line {step.line}, `{seen.places.code(step.line)}`, steps before the backward() of the same "
                f"iteration: none of {len(steps)} steps found a gradient.",
                "Call zero_grad(), backward() and step() in this order.", seen.called(optimizer.leaves), [step.line or 0], 5, share=1.0,
            )  # fmt: skip
        elif last_zero.order > last_pass:
            line = _own_call(seen, last_zero)
            yield Finding(
                "zero-before-step", line, True,
                f"Line {line}, `{seen.places.code(line)}`, resets the gradients between "
                f"backward() and step(): none of {len(steps)} steps in line {step.line} found one.",
                "Zero the gradients before backward(), or after step().", seen.called(optimizer.leaves),
                [line or 0, last_zero.line or 0, step.line or 0], 5, share=1.0,
            )  # fmt: skip


def _own_call(seen: Observation, zero: Moment) -> int | None:
    """The line of a zero_grad(); of one in a helper that other lines call too, the line that called the helper this time."""
    others = (m for m in seen.moments if m.kind == "zero" and m.line == zero.line and set(m.stack) != set(zero.stack))
    other = next(others, None)
    return zero.line if other is None else next((line for line in zero.stack if line not in other.stack), zero.line)


def _of_another_loss(seen: Observation) -> Iterator[Finding]:
    """An optimizer none of whose parameters any backward() reached, while what they computed ends in a number nobody used."""
    passes = [each for each in seen.passes if each.kind == "backward" and each.done]
    above = seen.above([root for each in passes for root in each.roots])
    for held in seen.optimizers:
        leaves = [seen.leaves[nr] for nr in held.leaves]
        steps = [m for m in seen.moments if m.kind == "step" and m.who == held.nr]
        if len(steps) < 2 or not all(step.empty for step in steps) or any(leaf.gradients for leaf in leaves):
            continue
        values = {nr for leaf in leaves for nr in leaf.values}
        if not passes or values & above:
            continue
        used = {nr for op in seen.ops for nr in op.inputs}
        ends = [
            value
            for value in seen.values
            if value.requires_grad and value.op is not None and math.prod(value.shape) == 1
        ]
        lost = next((end for end in ends if end.nr not in used and values & seen.above([end.nr])), None)
        if lost is None:
            continue
        line = passes[0].line
        name = lost.name or "a number"
        yield Finding(
            "wrong-loss", line, True,
            f"Line {line}, `{seen.places.code(line)}`, goes back from a loss that {listed(seen.called(held.leaves))} had no part in. What they computed "
            f"ends in {name}, line {lost.line}, `{seen.places.code(lost.line)}`, and no backward() begins there.",
            f"Call backward() of the loss that the model computed{f': `{lost.name}.backward()`' if lost.name.isidentifier() else ''}.",
            seen.called(held.leaves), [line or 0, lost.line or 0], 5, share=1.0,
        )  # fmt: skip
        return


def _thrown_away(seen: Observation) -> Iterator[Finding]:
    """Gradients that were reset before any step used them, while others of the same backward() were used."""
    lost = {nr for moment in seen.moments for nr in moment.thrown if not seen.passes[nr - 1].used}
    for line in dict.fromkeys(each.line for each in seen.passes if each.nr in lost):
        passes = [each.nr for each in seen.passes if each.line == line and each.done]
        thrown = [nr for nr in passes if nr in lost]
        zero = next(moment for moment in seen.moments if set(moment.thrown) & set(thrown))
        if len(thrown) < 2 or not any(seen.passes[nr - 1].used for nr in passes):
            continue
        if len(thrown) < len(passes) / 2 and not _cut_short(seen, passes, zero):
            continue
        yield Finding(
            "zero-before-step", zero.line, False,
            f"Line {zero.line}, `{seen.places.code(zero.line)}`, resets gradients that no step has used: of "
            f"{len(passes)} passes of line {line}, the gradients of {len(thrown)} were thrown away"
            + (", and only the last ones before a step count." if len(thrown) >= len(passes) / 2 else "."),
            "If gradients should add up over several batches, reset them only "
            "after the step, and take a last step for what is left of them.", [], [zero.line or 0, line or 0], 5,
            share=0.9,
        )  # fmt: skip


def _cut_short(seen: Observation, passes: list[int], zero: Moment) -> bool:
    """Whether gradients add up over several batches for a step, and a reset takes the last ones away again and again."""
    again = [moment for moment in seen.moments if moment.kind == "zero" and moment.line == zero.line and moment.thrown]
    steps = [moment for moment in seen.moments if moment.kind == "step"]
    return len(again) > 1 and len(passes) > SEVERAL * len(steps)
