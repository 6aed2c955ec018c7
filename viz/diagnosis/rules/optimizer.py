"""What an optimizer holds, and how far its steps go."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

from viz.diagnosis.families import ADDITIVE
from viz.diagnosis.finding import number
from viz.diagnosis.observation import Held, Leaf, Moment, Observation, Part, Through, Write
from viz.diagnosis.rules.rule import Match, Rule

LARGEST_RATE = 0.1  # that is usual
AGAIN = 3  # new parameters, each for one pass, that show that each pass makes its own
ENDED = 1e-3  # of its first rate: a training that ends there learns no more
SMALL = 1e-6  # a step, relative to the size of what it changes
STILL = 1e-5  # a change of the loss over all steps, relative to the loss
LEARNT = 1e-10  # a loss, in single precision, that cannot get much smaller
LARGE = 3.0  # times that a loss grows over five passes or more; batches differ, so over fewer it takes
AT_ONCE = 100.0
GONE = 10.0  # all later losses are this many times the first
THROWN = 0.5  # a step, relative to the size of the weights, that throws them around
CAREFUL = 0.02  # likewise: steps that move no weight by more are not what makes a loss grow
LEAP = 2.0  # likewise, if the loss came down again
FALLS = 0.7  # of a part of the loss: below it that part has learnt


def _lost(seen: Observation) -> list[Leaf]:
    """What got gradients and is held by no optimizer, although others step."""
    held = {nr for optimizer in seen.optimizers for nr in optimizer.leaves}
    return [
        leaf
        for leaf in (seen.leaves if seen.optimizers and seen.steps else ())
        if (leaf.parameter or (leaf.name and not leaf.asked and _learns_again(seen, leaf)))
        and leaf.requires_grad
        and leaf.nr not in held
        and leaf.gradients
        and not any(write.kind == "update" or _copied_into(leaf, write) for write in leaf.writes)
        and not _differentiated(seen, leaf)
    ]


def _stale(seen: Observation) -> list[Leaf]:
    """What took the place of what an optimizer still holds."""
    idle = [
        leaf
        for leaf in seen.leaves
        if leaf.held
        and leaf.requires_grad
        and not leaf.gradients
        and not any(seen.ops[nr].recorded for nr in leaf.used_by)
    ]
    fresh = _fresh(seen)
    stale = [leaf for leaf in _lost(seen) if _replaced(seen, leaf, idle)]
    return [leaf for leaf in stale if leaf not in fresh or len(fresh) < AGAIN]


def _replaced_later(seen: Observation) -> Iterator[Match]:
    """New parameters in place of those that the optimizer was given."""
    stale = _stale(seen)
    if not stale:
        return
    leaf, part = stale[0], seen.parts[stale[0].holder] if stale[0].holder is not None else None
    whole = _outermost(seen, part) if part is not None else None
    line = leaf.line if whole is None or (whole.library and leaf.by_hand) else whole.line
    line = seen.places.where_given(leaf.name) or line
    yield Match(
        seen.places.where_put(line) or line,
        [seen.optimizers[0]],
        names=seen.called(one.nr for one in stale),
        made=seen.optimizers[0].line,
        given=STALE,
    )


def _fresh(seen: Observation) -> list[Leaf]:
    """Parameters that belong to no module, or to one that a forward pass made, and each got one gradient."""
    made = Counter(part.line for part in seen.parts)
    passing = {part.nr for part in seen.parts if part.called == 1 and made[part.line] >= AGAIN} | {None}
    return [one for one in _lost(seen) if one.holder in passing and len(one.gradients) == 1 and one.line is not None]


def _each_pass(seen: Observation) -> Iterator[Match]:
    """A new parameter for each pass."""
    fresh = _fresh(seen)
    lines = {seen.origin(leaf) for leaf in fresh}
    if len(fresh) > 1 and len(lines) == 1:
        yield Match(lines.pop(), count=len(fresh), given=EACH_PASS)


STALE = {
    "kind": "stale-optimizer", "certain": True, "share": 1.0, "fix": "Make the optimizer after that, or make it anew there.",
    "words": "{at}, creates new parameters after the optimizer was made in line {made}. The optimizer still holds the old ones, which no op uses any more. "
        "{names} {get} gradients but never change.",
}  # fmt: skip
EACH_PASS = {
    "kind": "made-anew", "fix": "Make it once, in __init__, and use it in forward: `self.w = T.nn.Parameter(…)`.",
    "words": "{at}, made a new parameter for each of {count} passes: none of them is held by an optimizer, and what a gradient says of one is lost with it.",
}  # fmt: skip


def _nobody_steps(seen: Observation) -> Iterator[Match]:
    """What gets gradients and is held by no optimizer: replaced, made anew for each pass, or left out."""
    if stale := list(_replaced_later(seen)):
        yield from stale
        return
    yield from _each_pass(seen)
    yield from _not_held(seen)


def _not_held(seen: Observation) -> Iterator[Match]:
    """Parameters with gradients that never change, for no optimizer holds them."""
    fresh = _fresh(seen)
    lost = [one for one in _lost(seen) if one not in fresh and not _only_looked_at(seen, one)]
    if not lost:
        return
    names = seen.called(leaf.nr for leaf in lost)
    if all(one.parameter and one.holder is None and one.by_hand and "[" in one.name for one in lost):
        words = "{at}, keeps Parameters in a plain list or dict, which parameters() does not look into. {names} got gradients and never changed: no optimizer holds them."
        fix = "Keep them in an nn.ParameterList, or give each a name of its own."
        yield Match(lost[0].line, names=names, given={"kind": "unregistered", "words": words, "fix": fix})
        return
    untouched = [leaf for leaf in lost if not leaf.writes or all(write.kind == "init" for write in leaf.writes)]
    optimizer = seen.optimizers[_nearest(seen, lost)]
    held = {nr for one in seen.optimizers for nr in one.leaves}
    yield Match(
        optimizer, names=names, count=len(lost[0].gradients), kind=optimizer.kind,
        how=_handed(seen, names, optimizer) + ("" if lost[0].parameter else " A module registers only Parameters: `self.w = T.nn.Parameter(…)`."),
        given={"share": len(untouched) / max(1, len(untouched) + len(held))},
    )  # fmt: skip


def _handed(seen: Observation, names: list[str], held: Held) -> str:
    """How to give parameters to an optimizer: what holds others of their own model, or those of another, such as a criterion."""
    own, others = (
        {name.partition(".")[0] for name in some if "." in name} for some in (names, seen.called(held.leaves))
    )
    if len(own) == 1 and len(others) == 1 and own != others and all(map(seen.places.where_given, own | others)):
        return f"Give both to the optimizer: `[*{others.pop()}.parameters(), *{own.pop()}.parameters()]`."
    return "Give it to the optimizer, `model.parameters()`."


def _outermost(seen: Observation, part: Part) -> Part:
    """The whole new module that a new one is part of: no optimizer holds anything of it."""
    for _ in range(16):
        around = (seen.parts[nr] for nr in part.parents)
        new = (one for one in around if one.line and not any(seen.leaves[nr].held for nr in seen.weights(one)))
        whole = next(new, None)
        if whole is None:
            break
        part = whole
    return part


def _only_looked_at(seen: Observation, leaf: Leaf) -> bool:
    """Whether one pass alone brought it a gradient, of which no step made use, while steps used those of other passes."""
    own = {nr for nr, _ in leaf.gradients}
    return len(own) == 1 and any(each.used for each in seen.passes) and not any(seen.passes[nr - 1].used for nr in own)


def _differentiated(seen: Observation, leaf: Leaf) -> bool:
    """Whether it is an input that autograd.grad() takes the derivative by, as the time or place of a differential equation."""
    return not leaf.parameter and any(seen.passes[nr - 1].kind == "grad" for nr, _ in leaf.gradients)


def _copied_into(leaf: Leaf, write: Write) -> bool:
    """Whether a write between its gradients gave it other numbers, as a target network gets those of another."""
    return write.kind == "write" and leaf.gradients[0][0] <= write.after < leaf.gradients[-1][0]


def _learns_again(seen: Observation, leaf: Leaf) -> bool:
    """Whether more than one backward() brought it a gradient: an input that is only looked at is made anew each time."""
    return sum(seen.passes[nr - 1].kind == "backward" for nr, _ in leaf.gradients) > 1


def _replaced(seen: Observation, leaf: Leaf, idle: list[Leaf]) -> bool:
    """Whether an optimizer holds an unused parameter of the same shape, made before it held this one's place."""
    part = seen.parts[leaf.holder] if leaf.holder is not None else None
    if part is None or not part.line or not part.registered or not any(held.line for held in seen.optimizers):
        return False
    return any(
        (old.shape == leaf.shape or (leaf.name and f".{old.name}".endswith(f".{leaf.name}")))
        and _later(seen, leaf, old)
        for old in idle
    )


def _later(seen: Observation, leaf: Leaf, old: Leaf) -> bool:
    """Whether a leaf, or the module that holds it, was made after the optimizer that holds the old one and that still steps."""
    first = min((seen.passes[nr - 1].order for nr, _ in leaf.gradients), default=0)
    stepped = {m.who for m in seen.moments if m.kind == "step" and m.order > first}
    return any(
        leaf.nr >= held.known and (leaf.by_hand or (leaf.holder is not None and leaf.holder >= held.parts))
        for held in (seen.optimizers[nr] for nr in old.held)
        if held.nr in stepped
    )


def _nearest(seen: Observation, lost: list[Leaf]) -> int:
    """The optimizer that should have held them: the one that steps after their passes; of two that hold the same leaves, the later."""
    turns: Counter[int] = Counter()
    for nr in {nr for leaf in lost for nr, _ in leaf.gradients}:
        order = seen.passes[nr - 1].order
        until = next((each.order for each in seen.passes if each.order > order), math.inf)
        after = [moment for moment in seen.moments if moment.kind == "step" and moment.order > order]
        turns.update({m.who for m in after if m.order < until} or {m.who for m in after[:1]})
    alike = Counter(frozenset(held.leaves) for held in seen.optimizers)
    twins = [held.nr for held in seen.optimizers if alike[frozenset(held.leaves)] > 1]
    if twins:
        return max(twins, key=lambda nr: (turns[nr], nr))
    clear = turns and len(set(turns.values())) == len(turns)
    return turns.most_common(1)[0][0] if clear else seen.optimizers[0].nr


def _losses(seen: Observation) -> list[Through]:
    return [each for each in seen.passes if each.loss is not None and each.kind == "backward"]


def _rated(seen: Observation) -> Iterator[tuple[Held, list[Moment]]]:
    """The optimizers with a rate that took steps, with these."""
    for held in seen.optimizers:
        own = [m for m in seen.moments if m.kind == "step" and not m.empty and m.who == held.nr]
        if held.rate is not None and own:
            yield held, own


def _too_small(seen: Observation) -> Iterator[Match]:
    """Steps that move no weight."""
    passes = _losses(seen)
    for held, own in _rated(seen):
        rates = [step.rate for step in own if step.rate is not None]
        fell = bool(rates) and rates[-1] < ENDED * rates[0]  # then it is the later half that goes nowhere
        late = own[len(own) // 2 :] if fell else own
        moved = [step.moved for step in late if step.moved is not None]
        if len(own) < 2 or len(moved) < len(late) or max(moved) >= SMALL or _arrived(seen, held):
            continue
        before = [each for each in passes if len(seen.optimizers) > 1 and seen.stepped_by(each) == held.nr]
        losses = [each.loss or 0.0 for each in before or passes]
        still = len(losses) > 1 and abs(losses[-1] - losses[0]) <= STILL * abs(losses[0])
        told: dict[str, Any] = {
            "names": seen.called(held.leaves),
            "count": len(late),
            "kind": held.kind,
            "moved": max(moved),
        }
        if (
            losses and abs(losses[0]) > LEARNT and (still or (rates and rates[-1] <= rates[0]))
        ):  # a warm-up begins small
            asleep = bool(seen.schedules) and (fell or not any(rates))  # by a rate of 0 that a scheduler set
            line = seen.schedules[-1][1] if asleep else seen.given_in(held, held.rate or 0.0)
            by = f", by the {seen.schedules[-1][0]} of line {line}" if asleep else ""
            yield Match(
                line, [held], rate=f"{held.rate:g}{by}", first=f"{losses[0]:.6g}", last=f"{losses[-1]:.6g}", **told
            )


def _too_large(seen: Observation) -> Iterator[Match]:
    """A loss that grows from step to step, by steps that move the weights far."""
    for who, own in seen.trainings():
        yield from _grows(seen, who, own)


def _grows(seen: Observation, who: int | None, own: list[Through]) -> Iterator[Match]:
    """One training whose loss grows."""
    steps = [one for one in seen.moments if one.kind == "step" and not one.empty and who in (one.who, None)]
    losses = [each.loss or 0.0 for each in own]
    if len(losses) < 3 or not all(math.isfinite(loss) for loss in losses):
        return
    grows = sum(b > a for a, b in itertools.pairwise(losses))
    grown = LARGE if len(losses) >= 5 else AT_ONCE
    updated = (leaf for leaf in seen.leaves if leaf.began and any(write.kind == "update" for write in leaf.writes))
    by_hand = [leaf.size / leaf.began - 1 for leaf in updated]
    far = max([step.moved or 0.0 for step in steps] + by_hand, default=0.0)
    steadily = grows >= 0.7 * (len(losses) - 1) or (far > THROWN and abs(losses[-1]) > AT_ONCE * abs(losses[0]))
    steadily = steadily or (far > THROWN and len(losses) >= 5 and min(losses[1:]) > GONE * abs(losses[0]))
    apart = abs(losses[-1]) > grown * abs(losses[0]) > 0 and losses[-1] > losses[0]
    top = max(losses, key=abs)
    leapt = far > LEAP and abs(top) > AT_ONCE * abs(losses[0]) and losses[-1] > losses[0]
    held = next((held for held, _ in _rated(seen) if who in (held.nr, None)), None)
    line = next((m.line for m in seen.moments if m.kind == "update"), None)
    line = seen.given_in(held, held.rate or 0.0) if held is not None else line
    if far > CAREFUL and ((apart and steadily) or leapt) and (line is not None or held is not None):
        peak = f", with a peak of {number(top)}" if top not in (losses[1], losses[-1]) else ""
        by = (
            f" The {held.kind} takes steps of {number(far)} times the weights' size, at a rate of {held.rate:g}."
            if held
            else ""
        )
        yield Match(line, first=losses[0], second=losses[1], last=losses[-1], peak=peak, by=by, passes=own)


def _arrived(seen: Observation, held: Held) -> bool:
    """Whether the gradients themselves are next to nothing, as at the end of a training: no usual rate would move the weights."""
    moves = [
        peak * LARGEST_RATE > SMALL * seen.leaves[nr].size
        for nr in held.leaves
        for _, peak in seen.leaves[nr].gradients
    ]
    return bool(moves) and not any(moves)


def _made_anew(seen: Observation) -> Iterator[Match]:
    """One line that makes an optimizer for each step: its momentum, or the model itself, begins again each time."""
    lines: dict[int, list[Held]] = {}
    for held in seen.optimizers:
        if held.line is not None and held.made_here:
            lines.setdefault(held.line, []).append(held)
    for line, found in lines.items():
        steps = [sum(m.kind == "step" and m.who == held.nr for m in seen.moments) for held in found]
        if len(found) < 3 or not all(steps) or found[0].kind == "LBFGS":
            continue
        fresh = not any(set(a.leaves) & set(b.leaves) for a, b in itertools.pairwise(found))
        if max(steps) > 1 and not (_repeats(seen, found) if fresh else _forgets(found)):
            continue
        made = seen.leaves[found[-1].leaves[0]] if found[-1].leaves else None
        if fresh and made is not None and made.holder is not None:
            part, loops = seen.parts[made.holder], seen.places.loops(line)
            inside = [one for one in part.stack if loops and loops[0][0] <= one <= loops[0][1]]
            place = inside[0] if inside else part.line  # of a helper that builds it, the call
        else:
            place = made.line if fresh and made is not None else line
        what = "a new model, and what the last one had learnt is gone"
        if not fresh:
            what = "a new optimizer, without the momentum and averages of the last"
        each = "one step" if max(steps) == 1 else f"up to {max(steps)} steps"
        yield Match(place, [line], count=len(found), each=each, what=what, given={"share": 0.8 if fresh else 0.4})
        return


def _repeats(seen: Observation, found: list[Held]) -> bool:
    """Whether each of several trainings, with a model of its own, went through the very same losses."""
    runs = [[each.loss for each in seen.passes if set(held.leaves) & set(each.got)] for held in found]
    return len(runs[0]) > 1 and all(run[: len(runs[-1])] == runs[-1] for run in runs)


def _forgets(found: list[Held]) -> bool:
    """Whether several optimizers that keep averages are the same, and hold the same: each begins to average anew."""
    return len({(held.kind, held.rate, tuple(held.leaves)) for held in found}) == 1 and found[0].kind != "SGD"


def _of_parts(seen: Observation, match: Match) -> bool:
    """Whether what a loss says changes on the way: a part of the sum falls while another grows, or there are ever more classes."""
    passes = [each for each in match.told["passes"] if each.roots]
    parts: list[dict[tuple[int | None, str], float]] = []
    classes = set()
    for each in (passes[0], passes[-1]):
        found: dict[tuple[int | None, str], float] = {}
        stack = [each.roots[0]]
        while stack:
            value = seen.values[stack.pop()]
            maker = seen.maker(value)
            if maker is None:
                continue
            if maker.name in ADDITIVE:
                stack.extend(maker.inputs)
            elif value.peak is not None and value.requires_grad:
                found[maker.line, maker.name] = value.peak
                classes.add(tuple(seen.values[nr].shape[1:] for nr in maker.inputs[:1]))
        parts.append(found)
    falls = any(parts[1].get(part, size) < FALLS * size for part, size in parts[0].items())
    return (falls and len(parts[0]) > 1) or len(classes) > len(parts[0])


def _ascends(seen: Observation, match: Match) -> bool:
    return any(write.ascent for leaf in seen.leaves for write in leaf.writes)


RULES = [
    Rule("not-in-optimizer", _nobody_steps,
        "{names} got gradients in {count} backward passes but never changed: no optimizer holds {them}. {at}, the {kind}, holds others.",
        "{how} If it is frozen on purpose, say so: `p.requires_grad_(False)`."),
    Rule("rate-too-small", _too_small,
        "{count} steps of the {kind} moved the weights by at most {moved} of their size, and the loss from {first} to {last}. Its learning rate is "
        "{rate}.",
        "Try a rate ten to a thousand times larger. Usual rates are 0.1 to 0.01 for SGD and 0.001 for Adam.", share=0.8),
    Rule("rate-too-large", _too_large, "The loss grows: {first} → {second} → … → {last}{peak}.{by}",
        "Make the learning rate ten times smaller, until the loss falls.", (_ascends, _of_parts), share=0.8),
    Rule("made-anew", _made_anew, "{at}, ran {count} times, with {each} each time: each time starts with {what}.",
        "Make the model and its optimizer once, before the loop."),
]  # fmt: skip
