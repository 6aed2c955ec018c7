"""What an optimizer holds, and how far its steps go."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from statistics import median

from viz.diagnosis.finding import number
from viz.diagnosis.observation import ENDED, Held, Leaf, Moment, Observation, by_line
from viz.diagnosis.rules.rule import Match, Rule, telling

LARGEST_RATE = 0.1  # that is usual
AGAIN = 3  # new things of one line that show that each pass, or step, makes its own
SUNK = 0.02  # of its highest rate from the first third on: the schedule is over before the training is
IDLE = 0.4  # of all steps, at next to no rate
LONG = 9  # steps that show it
SMALL = 1e-6  # a step, relative to the size of what it changes
LARGE = 3.0  # times that a loss grows
MOSTLY = 0.7  # of the steps, after which the loss is larger
WILD = 0.05  # a step, relative to the size of the weights, that throws them around
PEAK = 4.0  # times the first loss, which a batch of noise does not reach
NO_BETTER = 0.8  # of the first loss
CAREFUL = 0.02  # steps that move no weight by more are not what makes a loss grow


def _lost(seen: Observation) -> list[Leaf]:
    """What got gradients, is held by no optimizer although others step, and never changes."""
    last = max((m.order for m in seen.moments if m.kind == "step"), default=0)  # what comes later is only measured
    got = (leaf for leaf in (seen.leaves if seen.steps else ()) if leaf.gradients and not leaf.held)
    left = [leaf for leaf in got if seen.passes[leaf.gradients[0][0] - 1].order < last]
    return [leaf for leaf in left if (leaf.parameter or _learns_again(seen, leaf)) and not _changed(leaf)]


def _learns_again(seen: Observation, leaf: Leaf) -> bool:
    """Whether passes brought a named tensor gradients again and again; an input that is only looked at is made anew, or asked for its own."""
    kinds = [seen.passes[nr - 1].kind for nr, _ in leaf.gradients]
    kinds += [one.kind for one in seen.passes if one.kind == "grad" and one.create]  # as of an equation, in its points
    return bool(leaf.name) and not leaf.asked and len(kinds) > 1 and "grad" not in kinds


def _changed(leaf: Leaf) -> bool:
    """Whether an update changed it, or a write between its gradients, as a target network gets the numbers of another."""
    first, last = leaf.gradients[0][0], leaf.gradients[-1][0]
    return any(write.kind == "update" or first <= write.after < last for write in leaf.writes)


def _nobody_steps(seen: Observation) -> Iterator[Match]:
    """What gets gradients and is held by no optimizer: replaced, made anew for each pass, or left out."""
    lost, made = _lost(seen), Counter(part.line for part in seen.parts)
    plain: dict[tuple[int, str], list[Leaf]] = defaultdict(list)  # by the owner of a list, and its name
    for part in (one for one in seen.parts if not one.registered):
        plain[(*part.parents, part.nr)[0], part.attribute] += [one for one in lost if one.nr in seen.weights(part)]
    for leaf in (one for one in lost if one.parameter and one.holder is None and "[" in one.name):  # itself in a list
        path, _, attribute = leaf.name.partition("[")[0].rpartition(".")
        if not path and not seen.places.where_given(f"self.{attribute}"):
            continue
        around = next((part.nr for part in seen.parts if part.path in (path, path or part.kind)), 0)
        plain[around, attribute].append(leaf)
    for (nr, attribute), leaves in plain.items():
        if leaves:
            line, owner = seen.places.where_given(f"self.{attribute}") or leaves[0].line, seen.parts[nr].kind
            names = seen.called(leaf.nr for leaf in leaves)
            yield Match(line, [leaves[0]], names=names, owner=owner, attribute=attribute, given=UNREGISTERED)
    lost = [leaf for leaf in lost if not any(leaf in leaves for leaves in plain.values())]
    passing = {part.nr for part in seen.parts if part.called == 1 and made[part.line] >= AGAIN} | {None}
    fresh = [leaf for leaf in lost if leaf.holder in passing and len(leaf.gradients) == 1 and leaf.line is not None]
    if stale := [leaf for leaf in lost if _replaced(seen, leaf) and (leaf not in fresh or len(fresh) < AGAIN)]:
        names, first = seen.called(leaf.nr for leaf in stale), seen.optimizers[0]
        yield Match(_put_in(seen, stale[0]), [first], names=names, made=first.line, given=STALE)
        return
    lines = {seen.origin(leaf) for leaf in fresh}
    if len(fresh) > 1 and len(lines) == 1:
        yield Match(lines.pop(), count=len(fresh), given=EACH_PASS)
    # what one pass alone reached, of which no step made use, is only looked at
    looked_at = (leaf for leaf in lost if len(leaf.gradients) == 1 and not seen.passes[leaf.gradients[0][0] - 1].used)
    spared = {leaf.nr for leaf in (*fresh, *looked_at)}
    left = [leaf for leaf in lost if leaf.nr not in spared]
    if left:
        optimizer, held = _nearest(seen, left), {nr for one in seen.optimizers for nr in one.leaves}
        how = "" if left[0].parameter else " A module registers only Parameters: `self.w = T.nn.Parameter(…)`."
        untouched = sum(all(write.kind == "init" for write in leaf.writes) for leaf in left)
        yield Match(
            optimizer, names=seen.called(leaf.nr for leaf in left), count=len(left[0].gradients), kind=optimizer.kind, how=how,
            given={"share": untouched / max(1, untouched + len(held))},
        )  # fmt: skip


UNREGISTERED = telling("{at}, keeps modules in a plain list or dict of {owner}, which parameters() does not look into. {names} got gradients, but "
        "no optimizer holds them: they never change.",
    "Keep them in nn.ModuleList: `self.{attribute} = T.nn.ModuleList([…])`.", kind="unregistered", certain=True, share=1.0)  # fmt: skip
STALE = telling("{at}, creates new parameters after the optimizer was made in line {made}. The optimizer still holds the old ones, which no op uses "
        "any more. {names} {get} gradients but never change.",
    "Make the optimizer after that, or make it anew there.", kind="stale-optimizer", certain=True, share=1.0)  # fmt: skip
EACH_PASS = telling("{at}, made a new parameter for each of {count} passes: none of them is held by an optimizer, and what a gradient says of one "
        "is lost with it.",
    "Make it once, in __init__, and use it in forward: `self.w = T.nn.Parameter(…)`.", kind="made-anew")  # fmt: skip


def _replaced(seen: Observation, leaf: Leaf) -> bool:
    """Whether an optimizer that was made before this parameter holds one of its name that gets no gradient any more."""
    earlier = (seen.leaves[nr] for held in seen.optimizers if leaf.nr >= held.known for nr in held.leaves)
    over = (old for old in earlier if not old.gradients or old.gradients[-1][0] < leaf.gradients[0][0])
    return leaf.holder is not None and any(_same_place(old.name, leaf.name) for old in over)


def _same_place(old: str, new: str) -> bool:
    """Whether two names are those of one parameter, or of one layer, as where a norm splits its weight in two."""
    layer = old.rpartition(".")[0]
    return f".{old}".endswith(f".{new}") or ("." in layer and new.startswith(f"{layer}."))


def _put_in(seen: Observation, leaf: Leaf) -> int | None:
    """The line that puts a new parameter, or the whole new module that it is part of, in the place of another."""
    part, line = seen.parts[leaf.holder or 0], leaf.line
    first, last = seen.places.defined(part.kind, "__init__") or (0, -1)
    line = part.line if first <= (line or 0) <= last else line  # where the whole part is made
    while part.line and not any(seen.leaves[nr].held for nr in seen.weights(part)):
        line = leaf.line if part.library and leaf.by_hand else part.line
        around = [seen.parts[nr] for nr in part.parents if nr != part.nr]
        if not around:
            break
        part = around[0]
    return seen.places.where_put(line) or line


def _nearest(seen: Observation, lost: list[Leaf]) -> Held:
    """The optimizer that should have held them: the one that steps after their passes; of two that hold the same leaves, the later."""
    turns = Counter(seen.stepped_by(seen.passes[nr - 1]) for nr in {nr for leaf in lost for nr, _ in leaf.gradients})
    alike = Counter(frozenset(held.leaves) for held in seen.optimizers)
    twins = [held for held in seen.optimizers if alike[frozenset(held.leaves)] > 1]
    roots = {seen.leaves[leaf.nr].name.partition(".")[0] for leaf in lost} - {""}
    meant = (one for one in twins if any(root in seen.places.assigned(one.line or 0) for root in roots))
    return next(meant, twins[-1]) if twins else max(seen.optimizers, key=lambda held: turns[held.nr])


def _strides(seen: Observation) -> Iterator[Match]:
    """Steps that move no weight, or that move the weights so far that the loss grows."""
    for over in (one for one in seen.optimizers if seen.schedules and one.idle > IDLE * one.taken >= IDLE * LONG):
        kind, line = seen.schedules[-1]
        if not _arrived(seen, over):
            yield Match(line, [over], of=over.kind, kind=kind, count=over.idle, every=over.taken, given=OVER)
    for who, own in seen.trainings():
        steps = [m for m in seen.moments if m.kind == "step" and not m.empty and who in (m.who, None)]
        held = next((one for one in seen.optimizers if one.rate is not None and who in (one.nr, None) and steps), None)
        losses = [each.loss or 0.0 for each in own]
        small = _too_small(seen, held, steps, losses) if held is not None else None
        if small is not None:
            yield small
        elif len(losses) > 2 and all(map(math.isfinite, losses)):
            updated = (one for one in seen.leaves if one.began and any(write.kind == "update" for write in one.writes))
            moved = [moment.moved or 0.0 for moment in steps] + [leaf.size / leaf.began - 1 for leaf in updated]
            far, first, last, top = max(moved, default=0.0), losses[0], losses[-1], max(losses, key=abs)
            rises = sum(b > a for a, b in itertools.pairwise(losses)) >= MOSTLY * (len(losses) - 1)
            grew = far > CAREFUL and rises and last > first and abs(last) > LARGE * abs(first) > 0
            ends = median(losses[-(len(losses) // 4 + 1) :])
            wild = far > WILD and top > PEAK * first > 0 and ends > NO_BETTER * first
            updates = (moment.line for moment in seen.moments if moment.kind == "update")
            line = seen.given_in(held, held.rate) if held is not None else next(updates, None)
            meant = any(write.ascent for leaf in seen.leaves for write in leaf.writes)  # the loss is made larger
            if line is not None and (grew or wild) and not meant:
                by = f" Steps reach {number(far)} times the weights' size, at a rate of {held.rate:g}." if held else ""
                peak = f", with a peak of {number(top)}" if top not in (losses[1], last) else ""
                yield Match(line, first=first, second=losses[1], last=last, peak=peak, by=by)


def _too_small(seen: Observation, held: Held, own: list[Moment], losses: list[float]) -> Match | None:
    """Steps of an optimizer that move no weight: by its rate, or by a schedule that is over before the training is."""
    rates = [step.rate for step in own if step.rate is not None] or [held.rate or 0.0]
    most = 1.01 * (held.base or 1.0) ** 2  # where a function for LambdaLR returns a rate, and no factor
    long, by_function = len(rates) >= LONG, any(kind == "LambdaLR" for kind, _ in seen.schedules)
    by_rate = long and by_function and max(rates) <= most < SUNK**2
    sank = by_rate or (long and max(rates[len(rates) // 3 :]) <= SUNK * max(rates))
    fell = sank or rates[-1] <= ENDED * max(rates)  # then it is the later part that goes nowhere
    late = own[len(own) // (3 if sank else 2) :] if fell else own
    moved = [step.moved for step in late if step.moved is not None]
    idle = len(own) > 1 and len(moved) == len(late) and (sank or max(moved) < SMALL) and not _arrived(seen, held)
    warms_up = rates[0] < rates[-1] == max(rates)
    if not idle or (not fell and losses[-1] < losses[0] / 2) or warms_up:
        return None
    by_hand = seen.places.where_rated if fell and not seen.schedules else None
    line = seen.schedules[-1][1] if fell and seen.schedules else by_hand or seen.given_in(held, held.rate)
    by = f", by the {seen.schedules[-1][0]} of line {line}" if fell and seen.schedules else ""
    return Match(
        line, [held], names=seen.called(held.leaves), count=len(late), of=held.kind, moved=max(moved), rate=f"{held.rate:g}{by}",
        first=f"{losses[0]:.6g}", last=f"{losses[-1]:.6g}", given=TOO_SMALL,
    )  # fmt: skip


OVER = telling("{at}: the {kind} is over before the training is. {count} of the {every} steps of the {of} were taken at less than a thousandth of its first rate.",
    "Call the scheduler's step() once for each epoch, if its numbers are meant in epochs; or give it numbers that last for all steps.", kind="rate-too-small")  # fmt: skip
TOO_SMALL = telling("{count} steps of the {of} moved the weights by at most {moved} of their size, and the loss from {first} to {last}. Its learning "
        "rate is {rate}.",
    "Try a rate ten to a thousand times larger. Usual rates are 0.1 to 0.01 for SGD and 0.001 for Adam.", kind="rate-too-small")  # fmt: skip


def _arrived(seen: Observation, held: Held) -> bool:
    """Whether the gradients themselves are next to nothing, as at the end of a training: no usual rate would move the weights."""
    leaves = [seen.leaves[nr] for nr in held.leaves]
    moves = [peak * LARGEST_RATE > SMALL * leaf.size for leaf in leaves for _, peak in leaf.gradients]
    return bool(moves) and not any(moves)


def _made_anew(seen: Observation) -> Iterator[Match]:
    """One line that makes an optimizer for each step: its momentum, or the model itself, begins again each time."""
    for line, found in by_line(held for held in seen.optimizers if held.made_here).items():
        steps = [sum(moment.kind == "step" and moment.who == held.nr for moment in seen.moments) for held in found]
        if line is None or len(found) < AGAIN or not all(steps) or found[0].kind == "LBFGS":
            continue
        fresh = not any(set(a.leaves) & set(b.leaves) for a, b in itertools.pairwise(found))
        # the same optimizer of the same weights: one that keeps averages begins to average anew
        same = len({(held.kind, held.rate, tuple(held.leaves)) for held in found}) == 1 and found[0].kind != "SGD"
        if max(steps) > 1 and not (_repeats(seen, found) if fresh else same):
            continue
        lost = "model, and what the last one had learnt is gone", "optimizer, without the averages of the last"
        each = "one step" if max(steps) == 1 else f"up to {max(steps)} steps"
        stepping = (one.line for one in seen.moments if one.kind == "step" and one.who == found[-1].nr and one.line)
        around = {seen.places.function_around(one) for one in stepping}
        here = (one for one in found[-1].stack if seen.places.function_around(one) in around)  # of a helper, its call
        at, given = _model_made(seen, found[-1]) if fresh else next(here, line), {"share": 0.8 if fresh else 0.4}
        if at is None:  # a copy of another, for a task of its own
            continue
        yield Match(at, [line], count=len(found), each=each, what=lost[not fresh], given=given)
        return
    for leaf in (one for one in seen.trained() if len(one.held) == 1):
        for line, loads in by_line(one for one in leaf.writes if one.name == "load_state_dict").items():
            steps = [
                sum(one.kind == "step" and a.order < one.order < b.order for one in leaf.writes)
                for a, b in itertools.pairwise(loads)
            ]
            if len(loads) >= AGAIN and all(steps) and {one.size for one in loads} == {leaf.began}:
                yield Match(line, names=[leaf.name], count=len(loads), steps=max(steps), given=PUT_BACK)
                return


PUT_BACK = telling("{at}, loads the same numbers {count} times, while one optimizer goes on: the {steps} steps between two of them are lost.",
    "Load them once, before the loop; or make a new optimizer too, if each time is a training of its own.", share=0.6)  # fmt: skip


def _model_made(seen: Observation, held: Held) -> int | None:
    """The line that makes the model that an optimizer holds: of a helper that builds it, the call."""
    leaf = seen.leaves[held.leaves[0]]
    if leaf.holder is None:
        return leaf.line
    part, loops = seen.parts[leaf.holder], seen.places.loops(held.line)
    return next((line for line in part.stack if loops and loops[0][0] <= line <= loops[0][1]), part.line)


def _repeats(seen: Observation, found: list[Held]) -> bool:
    """Whether each of several trainings, with a model of its own, went through the very same losses."""
    runs = [[each.loss for each in seen.passes if set(held.leaves) & set(each.got)] for held in found]
    return len(runs[0]) > 1 and all(run[: len(runs[-1])] == runs[-1] for run in runs)


RULES = [
    Rule("not-in-optimizer", _nobody_steps,
        "{names} got gradients in {count} backward passes but never changed: no optimizer holds {them}. {at}, the {kind}, holds others.",
        "Give it to the optimizer too: `[*model.parameters(), *criterion.parameters()]`.{how} If it is frozen on purpose, say so: `p.requires_grad_(False)`."),
    Rule("rate-too-large", _strides, "The loss grows: {first} → {second} → … → {last}{peak}.{by}",
        "Make the learning rate ten times smaller, until the loss falls.", share=0.8),
    Rule("made-anew", _made_anew, "{at}, ran {count} times, with {each} each time: each time starts with a new {what}.",
        "Make the model and its optimizer once, before the loop."),
]  # fmt: skip
