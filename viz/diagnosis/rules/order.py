"""zero_grad, backward, step: called in another order than a step needs, or not at all."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator
from typing import Any

from viz.diagnosis.observation import Held, Moment, Observation, by_line
from viz.diagnosis.rules.rule import Match, Rule, sentences, telling

AGAIN = 3  # times that show that it is always so
ENDS = {"step", "update", "zero", "backward"}  # what becomes of gradients
LEFT_OVER = 0.34  # of the passes: what the end of an epoch may leave over
SEVERAL = 1.5  # passes for each step, at least, where gradients of several batches add up


def _called(seen: Observation, method: str) -> tuple[int | None, str]:
    """A line that names a method without parentheses, and a sentence about it."""
    line = seen.places.where_not_called(method)
    return line, f" Line {line}, `{seen.places.code(line)}`, names {method} but does not call it." if line else ""


def _adding(seen: Observation) -> Iterator[Match]:
    """Gradients that a step had used, added to by the next pass."""
    stale = [moment for moment in seen.moments if moment.kind in ("step", "update") and moment.stale]
    if not stale:
        return
    leaves = sorted({nr for step in stale for nr in step.stale})
    mixing = [each for each in seen.passes if each.stale & set(leaves) & set(each.got)]
    own = [each for each in mixing if each.order < stale[0].order]  # the last of them belongs to the step
    adding = next(iter(own[-1:] or mixing), stale[0])
    at, how = _called(seen, "zero_grad")
    line, step = at or adding.line, stale[0].line
    called = re.search(r"([\w.]+)\.step\(", seen.places.code(stale[0].line))
    zero = f"{called[1] if called else 'optimizer'}.zero_grad()" if seen.optimizers else "w.grad = None"
    told: dict[str, Any] = {"adding": adding, "step": step, "times": len(stale), "how": how, "zero": zero}
    yield Match(line, [stale[0]], names=seen.called(leaves), **told)


def _never(seen: Observation) -> Iterator[Match]:
    """Steps without any pass, or passes without any step."""
    steps = [moment for moment in seen.moments if moment.kind == "step"]
    passes = [each for each in seen.passes if each.done and each.kind == "backward"]
    by_hand = any(write.kind == "update" for leaf in seen.leaves for write in leaf.writes)
    if not seen.passes and len(steps) > 1 and any(op.recorded for op in seen.ops):  # else it shows a schedule of rates
        line, how = _called(seen, "backward")
        yield Match(line or steps[0].line, [steps[0]], count=len(steps), step=steps[0], how=how, given=NO_PASS)
    elif not steps and not by_hand and seen.optimizers and len(passes) > 2 and seen.error is None:
        held, (line, how) = seen.optimizers[0], _called(seen, "step")
        at = line or passes[-1].line
        yield Match(at, [passes[-1], held], count=len(passes), held=held.kind, made=held.line, how=how, given=NO_STEP)


def _found_nothing(seen: Observation) -> Iterator[Match]:
    """Steps of an optimizer that all find no gradient, though passes brought some: these come in the wrong order."""
    for held in seen.optimizers:
        own = [moment for moment in seen.moments if moment.kind == "step" and moment.who == held.nr]
        brought = any(set(held.leaves) & set(each.got) for each in seen.passes)
        if own and brought and all(step.empty for step in own):
            match = _lost_before(seen, held, own)
            if match is not None:
                match.names, match.told["count"] = seen.called(sorted(held.leaves)), len(own)
                yield match


def _lost_before(seen: Observation, held: Held, own: list[Moment]) -> Match | None:
    """What took away the gradients that steps look for, or why they never came."""
    last = max((each.order for each in seen.passes if each.order < own[-1].order), default=0)
    zeros = [m for m in seen.moments if m.kind == "zero" and last < m.order < own[-1].order]
    zeroed = (op for op in seen.ops if op.in_place and op.name == "zero_")
    emptied = [op for op in zeroed if seen.values[op.inputs[0]].of_grad in held.leaves]
    if own[0].order < seen.passes[0].order:
        return Match(own[-1], given=telling(*SAID["too-early"], kind="step-before-backward"))
    if zeros:
        return Match(_own_call(seen, zeros[-1]), [zeros[-1], own[-1]], step=own[-1].line)
    if emptied:
        return Match(emptied[-1], [own[-1]], step=own[-1].line)
    if all(each.kind == "grad" for each in seen.passes if each.done):
        return Match(seen.passes[-1], [own[-1]], step=own[-1], given=HANDED_OUT)
    return None


def _thrown(seen: Observation) -> Iterator[Match]:
    """Gradients that are reset before a step used them, in a line whose other passes were used."""
    steps = sum(moment.kind == "step" for moment in seen.moments)
    lost = {nr for moment in seen.moments for nr in moment.thrown if not seen.passes[nr - 1].used}
    for line, ran in by_line(each for each in seen.passes if each.done).items():
        thrown = {each.nr for each in ran} & lost
        many = len(thrown) > max(1, LEFT_OVER * len(ran))
        if many and any(each.used for each in ran) and len(ran) > SEVERAL * steps:
            reset = next(m for m in seen.moments if thrown.intersection(m.thrown))
            yield Match(reset, [line], count=len(ran), back=line, thrown=len(thrown))


def _clips(seen: Observation) -> Iterator[Match]:
    """Clips that find no gradient, or whose result no step uses; or that leave nothing of what they find."""
    clips = by_line(moment for moment in seen.moments if moment.kind == "clip")
    every: list[Any] = [*seen.moments, *seen.passes] if clips else []
    events = sorted((moment.order, moment.kind) for moment in every if moment.kind in ENDS)
    for line, own in clips.items():
        if len(own) >= AGAIN and all(moment.left == 0 and not moment.empty for moment in own):
            yield Match(line, count=len(own), given=TO_ZERO)
        places = [bisect.bisect(events, (moment.order, "")) for moment in own]
        # what becomes of the gradients after each
        follows = ["".join(kind for _, kind in events[index : index + 1]) for index in places]
        vain = [moment.empty or kind in ("zero", "backward") for moment, kind in zip(own, follows, strict=True)]
        if sum(vain) >= AGAIN and all(vain[1:-1]):  # at first a generator is not used up, and nothing follows the last
            yield Match(line, count=sum(vain))


def _own_call(seen: Observation, zero: Moment) -> int | None:
    """The line of a zero_grad(); in a helper that other lines call too, the line that called the helper this time."""
    others = (m for m in seen.moments if m.kind == "zero" and m.line == zero.line and set(m.stack) != set(zero.stack))
    other = next(others, None)
    return zero.line if other is None else next((line for line in zero.stack if line not in other.stack), zero.line)


WORDS = """
to-zero: {at}, makes every gradient 0, each of {count} times: the largest size that it allows is 0.
    Fix: Allow a size above 0, such as 1.0, or leave the line out.
no-pass: {count} steps were taken, in {step}, but no backward pass ran: no step found a gradient.{how}
    Fix: Call backward() before each step: `loss.backward()`.
handed-out: {at}, returns the gradients of {names} and leaves .grad as it is, where the step in {step}, looks: none of
    {count} steps found one.
    Fix: Call backward() instead, or put each into its place before the step: `p.grad = g`.
no-step: {count} backward passes ran, and the {held} of line {made} never took a step.{how}
    Fix: Call step() of the optimizer after backward().
too-early: {at}, steps before the backward() of the same iteration: none of {count} steps found a gradient.
    Fix: Call zero_grad(), backward() and step() in this order.
no-zero-grad: {adding} adds to gradients that a step had already used: nothing reset them. The step in line {step} then
    used the sum, {times} times.{how}
    Fix: Reset the gradients in each step, before backward(): `{zero}`.
zero-before-step: {at}, resets the gradients between backward() and step(): none of {count} steps in line {step} found
    one.
    Fix: Zero the gradients before backward(), or after step().
thrown-away: {at}, resets gradients that no step has used: of {count} passes of line {back}, the gradients of {thrown}
    were thrown away.
    Fix: If gradients should add up over several batches, reset them only after the step, and take a last step for what
    is left of them.
not-kept: {at}, clips nothing, {count} times: no gradient was there, or no step used what it had clipped.
    Fix: Clip between backward() and step(), and give it the parameters anew each time: a generator can be gone through
    once.
"""
SAID = sentences(WORDS)
TO_ZERO = telling(*SAID["to-zero"], kind="times-zero", certain=False, share=0.9)
NO_PASS = telling(*SAID["no-pass"], kind="never-backward")
HANDED_OUT = telling(*SAID["handed-out"], kind="never-backward")
NO_STEP = telling(*SAID["no-step"], kind="never-steps", certain=False)
RULES = [
    Rule("no-zero-grad", _adding, *SAID["no-zero-grad"], certain=True),
    Rule("zero-before-step", _found_nothing, *SAID["zero-before-step"], certain=True, share=1.0),
    Rule("never-backward", _never, certain=True),
    Rule("zero-before-step", _thrown, *SAID["thrown-away"]),
    Rule("not-kept", _clips, *SAID["not-kept"], share=0.5),
]
