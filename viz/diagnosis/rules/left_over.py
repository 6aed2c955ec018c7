"""What a turn of a training computes, and nothing takes: a term of a loss, the losses of an inner loop, its turns but the last."""

from __future__ import annotations

import bisect
from collections.abc import Iterator

from viz.diagnosis import families as ops
from viz.diagnosis.observation import Observation, Ran, Through, first_and_last
from viz.diagnosis.places import indexed
from viz.diagnosis.rules.rule import Match, telling

SEVERAL = 3  # turns of an inner loop, at least
REDUCES = ops.ADDITIVE | ops.FACTORS | ops.NEGATIONS | ops.AVERAGES | ops.LOSSES  # what ends a term
MADE = {"zeros", "zeros_like", "new_zeros", "ones", "randn", "rand", "full", "tensor"}  # from nothing


def left_over(seen: Observation) -> Iterator[Match]:
    """A term that is left out, losses of which only the last goes back, turns of which only the last counts."""
    for op, each in terms_left_out(seen)[:1]:
        at = seen.places.where_left_out(op.line or 0, seen.values[each.roots[0]].line or 0) or op
        learns = seen.route(op.outputs[0], lambda value: value.leaf is not None and value.requires_grad, recorded=True)
        yield Match(at, [op], made=op, path=learns[::-1], cut=op.outputs[0], given=LEFT_OUT)
    yield from (*_only_the_last(seen), *_begins_again(seen))


def terms_left_out(seen: Observation) -> list[tuple[Ran, Through]]:
    """Numbers of weights that learn, computed in each turn, that neither a loss nor a report ever takes; each with the last pass after it."""
    passes, ends = seen.backwards, [each.ops for each in seen.backwards]
    taken = {one.value for one in seen.exits} | {nr for each in seen.passes for nr in each.roots}
    taken |= {nr for one in seen.kept for nr in one.values}
    last: dict[tuple[int | None, str], dict[int, Ran]] = {}  # of each line, in each turn
    for op in (one for one in seen.ops if one.recorded and one.name in REDUCES and one.line and len(one.outputs) == 1):
        last.setdefault((op.line, op.name), {})[bisect.bisect_right(ends, op.nr)] = op
    found = []
    for turns in last.values() if len(passes) > 1 else ():
        turn = max((one for one in turns if one < len(ends)), default=None)
        made = [seen.values[one.outputs[0]] for one in turns.values()]
        if turn is None or any(one.shown or one.nr in taken or seen.users(one.nr) for one in made):
            continue
        op, each = turns[turn], passes[turn]
        loss = seen.values[each.roots[0]].line or 0
        again = seen.places.assigned(op.line or 0) == seen.places.assigned(loss) != ""  # another takes its place
        if not again and len(turns) >= len(first_and_last(passes)) and _is_term(seen, op, each):
            found.append((op, each))
    return found


def _is_term(seen: Observation, op: Ran, each: Through) -> bool:
    """Whether a value is one number, or one of each row, of weights that the step after a pass changes."""
    value, who = seen.values[op.outputs[0]], seen.stepped_by(each)
    reduced = seen.above([value.nr], lambda one: one.requires_grad and len(one.shape) <= len(value.shape))
    sums = any(one.name in ops.AVERAGES | ops.LOSSES for one in ops.makers(seen, reduced))
    learns = any(who in seen.leaves[leaf].held for leaf in behind(seen, op))
    return learns and (not value.shape or (op.name in ops.ADDITIVE and len(value.shape) == 1 and sums))


def behind(seen: Observation, op: Ran) -> set[int]:
    """The leaves that a gradient to the result of an op would reach."""
    above = seen.above(op.outputs, lambda one: one.requires_grad)
    return {leaf for nr in above if (leaf := seen.values[nr].leaf) is not None}


def _only_the_last(seen: Observation) -> Iterator[Match]:
    """A loss that is computed in each turn of an inner loop, where the pass goes back from that of its last turn alone."""
    passes, ends = seen.backwards, [each.ops for each in seen.backwards]
    taken = {one.value for one in seen.exits}
    losses = (one for one in seen.ops if one.name in ops.TARGETED and one.recorded and one.outputs)
    turns = indexed(((op.line, bisect.bisect_right(ends, op.nr)), op) for op in losses)
    full = [(passes[turn], own) for (_, turn), own in turns.items() if turn < len(passes) and len(own) >= SEVERAL]
    for each, own in full if len(full) == len(passes) > 1 else ():
        made = [seen.values[op.outputs[0]] for op in own]
        lost = [one for one in made if not seen.users(one.nr) and not one.shown and one.nr not in taken | {*each.roots}]
        last = made[-1] not in lost and made[-1].nr in seen.behind(each)
        if len(lost) == len(made) - 1 and last and _inner(seen, own[-1], each):
            yield Match(each, [own[-1]], count=len(made), made=own[-1], given=LAST)
            return


def _inner(seen: Observation, op: Ran, each: Through) -> tuple[int, int] | None:
    """The innermost loop around an op that a pass does not stand in."""
    loops = (loop for line in op.stack for loop in seen.places.loops(line))
    return next((loop for loop in loops if not loop[0] <= (each.line or 0) <= loop[1]), None)


def _begins_again(seen: Observation) -> Iterator[Match]:
    """A state that an inner loop makes anew in each turn: what the turns before the last one computed is lost."""
    passes, ends = seen.backwards, [each.ops for each in seen.backwards]
    weighed = (op for op in seen.ops if op.recorded and any(seen.values[nr].leaf is not None for nr in op.inputs))
    runs = indexed(((op.line, op.name, bisect.bisect_right(ends, op.nr)), op) for op in weighed)
    for (*_, turn), own in runs.items() if len(passes) > 1 else ():
        loop = _inner(seen, own[-1], passes[turn]) if len(own) >= SEVERAL and turn == len(passes) - 1 else None
        needed = seen.behind(passes[turn]) if loop is not None else set()
        if (
            loop is None
            or needed.isdisjoint(own[-1].outputs)
            or any(not needed.isdisjoint(op.outputs) for op in own[:-1])
        ):
            continue
        made = [op for op in ops.makers(seen, seen.above(own[-1].inputs)) if op.name in MADE and not op.recorded]
        for op in (one for one in made if any(loop[0] < line <= loop[1] for line in one.stack)):
            yield Match(
                op, [own[-1]], names=[seen.values[op.outputs[0]].name], count=len(own), user=own[-1], given=AGAIN
            )
            return


LAST = telling("{made}, computes {count} losses in a loop, and {at}, stands behind the loop: it goes back from the last of them alone, and nothing learns from the others.",
    "Indent it, so that it belongs to the loop, with zero_grad() and step().", kind="never-backward", share=0.6)  # fmt: skip
LEFT_OUT = telling("{made}, computes one number of the weights that learn, in each turn, and nothing takes it: {at}, leaves it out of the loss.",
    "Add it to the loss, or leave out the line that computes it.", share=0.4)  # fmt: skip
AGAIN = telling("{at}, begins anew in each turn of the loop: of the {count} runs of {user}, the loss sees the last alone, and what the others computed is lost.",
    "Make it once, in front of the loop, and hand it on from turn to turn.", kind="made-anew", share=0.6)  # fmt: skip
