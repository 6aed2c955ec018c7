"""`.grad` is None: which line cut the path from a parameter to the loss."""

from __future__ import annotations

import bisect
import math
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from viz.diagnosis import families as ops
from viz.diagnosis.observation import Exit, Leaf, Observation, Ran, Seen, Through, by_line, first_and_last
from viz.diagnosis.places import once
from viz.diagnosis.rules.rule import Match, Place, Rule, telling

NEEDS_GRAD = "does not require grad"
OFF = "requires-grad-off"
MEANT = {"no-grad", "inference-mode", "detach"}  # as on the way to a target that is not to learn
AGAIN = 2  # runs of a line that show that it stays so
MOST_WAYS = 4  # that are looked at
MOST_EXITS = 64  # of one line before a value was made, whose numbers may be in it
TRIVIAL = {0.0, 1.0, -1.0, 2.0, 0.5}

# How a path can end: what happened, and what to do.
CUTS = {
    "detach": ("{at}, calls detach(): the numbers go on, but the way back to {names} ends here.", "Remove .detach() where the gradient should pass."),
    "data": ("{at}, reads .data: the numbers go on, but the way back to {names} ends here, and nothing is checked.",
        "Compute with the tensor itself instead of .data."),
    "item": ("{at}, turns a tensor into a Python number. A number has no history, so no gradient comes back to {names}.",
        "Compute the loss from the tensor itself; call item() only to print."),
    "numpy": ("{at}, goes to NumPy, which records nothing: no gradient comes back to {names}.",
        "Use the engine's function of the same name. Go to NumPy only to print or plot."),
    "new-tensor": ("{at}, makes a new tensor out of numbers. It is a leaf with no history, so no gradient comes back to {names}.",
        "Join tensors with stack() or cat(), which are recorded: `T.stack(losses)` instead of `T.tensor(losses)`."),
    **dict.fromkeys(("no-grad", "inference-mode"), (
        "{at}, switches recording off: {ran}, ran under it, and no gradient comes back to {names}.", "Move the part that should learn out of the block.")),
    "integer-op": ("{at}, returns integers or booleans (`{op}`), which have no slope: no gradient comes back to {names}.",
        "Use a loss with a slope, such as cross_entropy on the scores; count hits only to report them."),
    OFF: ("{at}, switches requires_grad off for {names}: autograd records nothing there.",
        "Keep requires_grad on for everything that should learn: `p.requires_grad_(True)`."),
    "rebound": ("{at}, makes a new tensor and gives it the parameter's name. The new tensor is not a leaf that requires grad: {names} gets no further "
        "gradient.", "Write into the parameter: `with T.no_grad(): w -= lr * w.grad`, or use an optimizer."),
    "wrong-backward": ("{at}: the result of this Function has no gradient, so none comes back to {names}.",
        "Return a differentiable output, with a gradient for each input that needs one."),
    "cut": ("{at}: `{op}` was not recorded, so no gradient comes back to {names}.", "Keep every op between the parameter and the loss recorded."),
}  # fmt: skip
LEAVES = {"numpy": "numpy", "__array__": "numpy"}  # all else makes a Python number
TAKEN_OUT = {"detach": r"\.detach\(\)", "data": r"\.data\b", "item": r"(\.detach\(\)|\.data)?\.item\(\)"}
UNASKED = telling("Nothing that led to the loss requires grad, so nothing was recorded and backward() raised an error. {names} {are} made without "
        "requires_grad, first in line {first}.",
    "Mark the tensors that should learn when you make them: requires_grad=True.", kind=OFF, certain=True, explains=True)  # fmt: skip
THROWN_AWAY = telling("{at}: nothing goes on from here to the loss, so {names} {get} no gradient: what was computed with {them} is not used.",
    "Use the result: give it a name, and hand it on to what comes next.", kind="unused")  # fmt: skip


@dataclass
class Cut:
    """Where and how the path from a leaf to the loss ends."""

    kind: str
    line: int | None
    op: Ran | None
    path: list[int]
    value: int
    alone: bool = True  # whether no other line cuts it off as well

    def change(self, seen: Observation) -> tuple[str, str] | None:
        """Its line without it."""
        code = seen.places.code(self.line)
        new = re.sub(TAKEN_OUT.get(self.kind, "$"), "", code)
        return (code, new) if new != code else None


@once
def links(seen: Observation) -> dict[int, list[int]]:
    """Maps a value to the values whose numbers reached it through Python, `item()` and back."""
    found: dict[int, list[int]] = {}
    left: dict[int | None, list[Exit]] = {}  # by line, in the order of the run
    for leaving in seen.exits:
        if seen.values[leaving.value].floating and leaving.name != "__bool__":
            left.setdefault(leaving.line, []).append(leaving)
            for op in seen.ops[leaving.op : leaving.op + 200] if leaving.number is not None else ():
                plain = leaving.number in TRIVIAL  # 1 is a common number, so only its use in the same line counts
                if leaving.number in op.options.values() and (not plain or op.line == leaving.line):
                    for nr in op.outputs:
                        found.setdefault(nr, []).append(leaving.value)
    for source in seen.values:
        maker = seen.maker(source)
        born = maker or next(iter(seen.users(source.nr)), None)
        old = maker is None and (source.leaf is not None or source.of_grad is not None)
        if born is None or old or (maker is not None and maker.inputs):
            continue
        for line, exits in left.items():
            before = exits[: bisect.bisect_right(exits, born.nr, key=lambda e: e.op)][-MOST_EXITS:]
            if before and seen.places.flows(line, source.line):
                found.setdefault(source.nr, []).extend(e.value for e in before)
    return found


def _without_gradient(seen: Observation) -> Iterator[Match]:
    """Leaves that got no gradient: the way to the loss is cut, or ends before it, or never began."""
    passes = first_and_last(each for each in seen.passes if each.done or NEEDS_GRAD in each.raised)
    failed = [each for each in passes if each.raised]
    trained = [leaf.nr for leaf in seen.trained()]
    cuts: dict[tuple[str, int | None], tuple[Cut, list[Leaf]]] = {}
    idle: list[Leaf] = []
    for leaf in seen.leaves if passes else ():
        vain: list[Through] = next((before for nr in leaf.held if (before := _in_vain(seen, nr))), [])
        reached = bool(leaf.gradients or leaf.reached_unwatched) and not _only_handed_out(seen, leaf)
        got = reached and not failed and not vain
        learns = leaf.held or leaf.requires_grad or leaf.frozen_at is not None
        follows = sum(one.kind == "write" and one.after > 0 for one in leaf.writes) > 1  # as a target network does
        if got or not learns or (follows and not leaf.held) or _stands_aside(seen, leaf) or _masks(seen, leaf):
            continue
        usual = [each for each in passes if each.kind == "backward" or not leaf.gradients]
        cut = _cut(seen, leaf, failed or vain or usual)
        if cut is not None and (leaf.nr in trained or failed) and not (follows and cut.kind in MEANT):
            cuts.setdefault((cut.kind, cut.line), (cut, []))[1].append(leaf)
        elif cut is None and leaf.requires_grad and leaf.held and not failed and not vain:
            idle.append(leaf)
    # rather than what an input is detached from
    if failed and _without_graph(seen, failed[0].roots, failed[0]) is not None:
        cuts = {key: found for key, found in cuts.items() if any(leaf.held for leaf in found[1])}
    share = 1 / max(1, len(trained))
    for cut, leaves in cuts.values():
        meant = cut.kind == OFF and all(leaf.known for leaf in leaves)  # as where a trunk is frozen
        if failed or not meant:
            match = _cut_match(seen, cut, leaves, bool(failed), 0.0 if meant else len(leaves) * share)
            match.given |= {"certain": False} if any(leaf.gradients for leaf in leaves) and not failed else {}
            yield match
    if failed and not cuts:
        yield from _never_asked(seen, failed[0])
    yield from _left_behind(seen)
    for leaf in (one for one in seen.leaves if one.by_hand and one.holder is not None and not one.used_by):
        part = seen.parts[leaf.holder or 0]
        if part.library and part.called:  # which knows nothing of a name of its user's
            yield Match(leaf.line, names=[leaf.name], kind=part.kind, given=STRAY)
    yield from _unused(seen, [leaf for leaf in idle if not leaf.used_by], share)
    if not seen.cut and len(passes) > 1:
        yield from _unused(seen, [leaf for leaf in idle if leaf.used_by], share)


@once
def _in_vain(seen: Observation, nr: int) -> list[Through]:
    """The passes right before the steps of an optimizer, where none of these found any gradient."""
    steps = [m for m in seen.moments if m.kind == "step" and m.who == nr]
    own, others = set(seen.optimizers[nr].leaves), (one for one in seen.optimizers if one.nr != nr)
    if not steps or not all(step.empty for step in steps) or any(own == set(one.leaves) for one in others):
        return []
    before = ((each for each in reversed(seen.passes) if each.order < step.order) for step in steps[-AGAIN:])
    return [each for one in before if (each := next(one, None)) is not None and each.done and each.kind == "backward"]


def _left_behind(seen: Observation) -> Iterator[Match]:
    """A weight that learnt at first, until numbers computed from it took its place."""
    for leaf in (one for one in seen.trained() if one.gradients and one.used_by):
        first, before = seen.ops[leaf.used_by[0]], set(leaf.values)
        ran = (one for one in seen.at(first.line) if one.name == first.name and one.recorded)
        # none where a value became the leaf only later
        place = next((place for place, nr in enumerate(first.inputs) if nr in before), len(first.inputs))
        later = (one for one in ran if one.nr > leaf.used_by[-1] and len(one.inputs) > place)
        given = [seen.values[one.inputs[place]] for one in later] if place < len(first.inputs) else []
        made = seen.maker(given[0]) if len(given) > AGAIN and not given[0].requires_grad else None
        if made is not None and made.line is not None and not before.isdisjoint(made.inputs):
            yield Match(made, [first], names=[leaf.name], path=[*made.inputs[:1], given[0].nr], given={"kind": "rebound", "certain": False,
                "words": CUTS["rebound"][0], "fix": CUTS["rebound"][1]})  # fmt: skip


def _masks(seen: Observation, leaf: Leaf) -> bool:
    """Whether a parameter that is made without a gradient is a mask, of 0 and 1."""
    first = seen.values[leaf.values[0]] if leaf.values and not leaf.requires_grad else None
    return first is not None and leaf.by_hand and (first.low, first.peak) == (0.0, 1.0)


def _stands_aside(seen: Observation, leaf: Leaf) -> bool:
    """Whether a leaf only served to make another one that learns, or is a table that stays as it is, such as one of sines."""
    learning = (nr for other in seen.leaves if other.gradients for nr in other.values)
    served = not leaf.name and not seen.above(learning, past_leaves=True).isdisjoint(leaf.values)
    looked_up = {seen.ops[nr].name for nr in leaf.used_by} == {"embedding"} and not leaf.requires_grad
    made = seen.parts[leaf.holder].line if leaf.holder is not None else None
    return served or (looked_up and leaf.frozen_at in (None, made))


def _only_handed_out(seen: Observation, leaf: Leaf) -> bool:
    """Whether autograd.grad() alone computed gradients of a leaf, and its optimizer found none of them in its `.grad`."""
    kinds = {seen.passes[nr - 1].kind for nr, _ in leaf.gradients}
    return bool(leaf.held) and kinds == {"grad"} and not any(write.kind == "step" for write in leaf.writes)


def _cut(seen: Observation, leaf: Leaf, passes: list[Through]) -> Cut | None:
    """What cuts a leaf off from a loss, first of all from one that its own optimizer steps after."""
    for some in ([each for each in passes if seen.stepped_by(each) in leaf.held], passes):
        found = [_nearest_cut(seen, {*leaf.values}, root) for each in some for root in each.roots]
        if any(found):
            # the likeliest mistake first: what may be meant comes last
            return min((cut for cut in found if cut is not None), key=lambda cut: (cut.kind in MEANT, len(cut.path)))
    return None


def _nearest_cut(seen: Observation, values: set[int], root: int) -> Cut | None:
    """The cut on the shortest way from leaves to a root; of several ways one that is cut by what nobody writes on purpose."""
    if values.isdisjoint(_reached(seen, root)):
        return None
    # a way through Python may be one that only data take, as actions that were tried
    return _cut_on(seen, values, root, {}) or _cut_on(seen, values, root, links(seen))


def _cut_on(seen: Observation, values: set[int], root: int, extra: dict[int, list[int]]) -> Cut | None:
    """The same, with some links from a value to what its numbers came from by way of Python."""
    first: Cut | None = None
    passed: set[tuple[int | None, str]] = set()
    for _ in range(MOST_WAYS):
        past = frozenset(passed)
        way = seen.route(root, lambda value: value.nr in values, extra, past_leaves=True, past=past)
        found = _along(seen, way[::-1])
        if found is None:
            break
        if found.kind not in MEANT:
            return found
        if first is not None and first.line != found.line:
            first.alone = False
        first = first or found
        passed.add((found.op.line, found.op.name) if found.op is not None else (found.line, ""))
    return first


@once
def _reached(seen: Observation, root: int) -> set[int]:
    """All values that a route from a root can come to."""
    return seen.above([root], past_leaves=True, extra=links(seen))


def _along(seen: Observation, path: list[int]) -> Cut | None:
    """The first step that autograd did not record, on a path from a leaf to a root."""
    for before, value in pairwise(seen.values[nr] for nr in path):
        maker = seen.maker(value)
        if maker is None or before.nr not in maker.inputs:  # by way of Python
            left = next((e for e in seen.exits if e.value == before.nr), None)
            if left is not None:
                rebuilt = left.name == "__float__" and maker is None  # as by torch.Tensor([w[0], w[1]])
                return Cut("new-tensor" if rebuilt else LEAVES.get(left.name, "item"), left.line, None, path, value.nr)
        elif not value.requires_grad or (value.leaf is not None and not maker.recorded):
            return _of_op(seen, maker, before, value, path)
    return None


def _of_op(seen: Observation, op: Ran, before: Seen, value: Seen, path: list[int]) -> Cut:
    """Why an op was not recorded."""
    left = next((e for e in seen.exits if e.value == value.nr and e.line == op.line), None)
    kinds = (
        (LEAVES.get(left.name, "item") if left is not None else "detach", op.name == "detach"),
        ("data", op.name == "data"), ("rebound", not op.in_place and _gradients(seen, op) & {before.leaf}), ("inference-mode", op.inference),
        ("no-grad", not op.grad_on), ("new-tensor", op.name in ops.COPIES), ("integer-op", not value.floating),
        (OFF, not before.requires_grad), ("wrong-backward", op.name.endswith(".apply")), ("cut", True),
    )  # fmt: skip
    kind, line = next(kind for kind, fits in kinds if fits), op.line
    if kind in ("no-grad", "inference-mode"):
        line = seen.places.switched_off(op.stack) or line
    elif kind == OFF and before.leaf is not None:
        leaf = seen.leaves[before.leaf]
        line = leaf.frozen_at or seen.origin(leaf)
    return Cut(kind, line, op, path, value.nr)


def _gradients(seen: Observation, op: Ran) -> set[int | None]:
    """The leaves whose `.grad` an op was given, as it is or after one op more, as in `lr * w.grad`."""
    given = [seen.values[nr] for nr in op.inputs]
    return {one.of_grad for value in given for one in (value, *seen.inputs(value))} - {None}


def _cut_match(seen: Observation, cut: Cut, leaves: list[Leaf], failed: bool, share: float) -> Match:
    words, fix = CUTS[cut.kind]
    words += " None of {count} backward passes gave {them} a gradient."
    if failed:
        words += " backward() itself raised an error, because nothing that led to the loss requires grad."
    certain = cut.alone and (failed or cut.kind != OFF)  # freezing is common
    given = {"kind": cut.kind, "words": words, "fix": fix, "certain": certain, "explains": failed, "share": share}
    return Match(
        cut.line, [cut.op], names=seen.called(leaf.nr for leaf in leaves), path=cut.path, cut=cut.value, ran=cut.op, count=len(seen.passes),
        where=cut.op.where if cut.op else None, op=cut.op.name if cut.op else "", given=given | {"change": cut.change(seen)},
    )  # fmt: skip


def _never_asked(seen: Observation, failed: Through) -> Iterator[Match]:
    """backward() was refused because nothing that led to the loss requires grad, and nothing was cut off."""
    bare = _without_graph(seen, failed.roots, failed)
    if bare is not None:
        yield Match(bare, [failed], given={"kind": "cut", "words": NO_GRAPH, "fix": CREATE_GRAPH, "explains": True})
        return
    above = (seen.values[nr] for nr in seen.above(failed.roots))
    sources = [value for value in above if value.floating and not seen.inputs(value)]
    weights = sorted([value for value in sources if _weighs(seen, value)] or sources, key=lambda one: one.line or 0)
    for first in weights[:1]:
        code = seen.places.code(first.line)
        given = UNASKED | {"change": (code, re.sub(r"\)$", ", requires_grad=True)", code))}
        names = dict.fromkeys(value.name or f"the tensor made in line {value.line}" for value in weights)
        yield Match(first, weights, names=names, first=first.line, given=given)


def _without_graph(seen: Observation, roots: list[int], later: Through) -> Through | None:
    """The autograd.grad() without create_graph from whose gradients values were computed, before a later pass."""
    handed = {seen.values[nr].of_grad for nr in seen.above(roots, past_leaves=True)}
    before = (each for each in reversed(seen.passes) if each.order < later.order and handed & set(each.got))
    return next((each for each in before if each.kind == "grad" and not each.create), None)


def _weighs(seen: Observation, value: Seen) -> bool:
    """Whether a value is what others are multiplied by or looked up in, as weights are; data come first in a product of matrices."""
    return any(
        value.nr in op.inputs[op.name != "embedding" :] if op.name in ops.LAYERS | {"mv", "embedding"}
        else op.name in ops.FACTORS and any(len(value.shape) < len(seen.values[nr].shape) for nr in op.inputs)
        for op in seen.users(value.nr)
    )  # fmt: skip


def _unused(seen: Observation, unused: list[Leaf], share: float) -> Iterator[Match]:
    """Parameters that no op was given, or that lead to no loss: the line that reads their part, and whether it ran, or that makes it."""
    groups: dict[int | None, list[Leaf]] = defaultdict(list)
    idle = {leaf.nr for leaf in unused}
    for leaf in unused:
        groups[_whole(seen, leaf.holder, idle)].append(leaf)
    ran = {line for op in seen.ops for line in op.stack}
    for holder, leaves in groups.items():
        names = seen.called(leaf.nr for leaf in leaves)
        part = seen.parts[holder] if holder is not None else None
        # by a stack of ready-made layers
        copied = part is not None and part.library and part.parents and any(seen.inside(part.nr))
        if copied and any(one.called for one in seen.parts if part is not None and one.kind == part.kind):
            continue
        path = (part.path if part else names[0]).split(".")
        attribute = next((one for one in reversed(path) if one and not one.isdigit()), "")
        reads, made = seen.places.where_read(attribute), (part or leaves[0]).line
        if leaves[0].used_by:
            if _last_turn(seen, seen.ops[leaves[0].used_by[-1]]):
                continue
            line = next((line for line in reads if line in ran), made)
            yield Match(line, names=names, given=THROWN_AWAY | {"share": len(leaves) * share})
            continue
        silent = [line for line in reads if line not in ran and "parameters" not in seen.places.code(line)]
        asleep = [Place(line) for line in silent[:3]]
        condition = next((found for line in silent[:3] if (found := seen.places.condition(line))), None)
        how = "{asleep}, never ran" if asleep else "no op ever received {them}"
        how += ", for line {decides} decides otherwise" if condition else ""
        words = "{names} took part in no op of this run: " + how + ". So no gradient came."
        given = telling(words, "Use it in forward, or leave it out.", kind="unused", share=len(leaves) * share)
        line = condition or (silent[0] if silent else made)
        yield Match(line, asleep, names=names, asleep=next(iter(asleep), None), decides=condition, given=given)


def _last_turn(seen: Observation, op: Ran) -> bool:
    """Whether earlier turns of a loop that an op ends lead to the loss: what the last one makes for the next may be left over."""
    each = next((each for each in seen.passes if each.ops > op.nr), None)
    behind = seen.behind(each) if each is not None else set()
    needed = [one.nr for one in seen.at(op.line) if one.name == op.name and not behind.isdisjoint(one.outputs)]
    inner = (loop for line in op.stack for loop in seen.places.loops(line))
    turns = each is not None and any(not first <= (each.line or 0) <= last for first, last in inner)
    return bool(needed) and max(needed) < op.nr and turns


def _whole(seen: Observation, holder: int | None, idle: set[int]) -> int | None:
    """The outermost module around one of which nothing is used, as a whole network."""
    around = [nr for nr in seen.parts[holder].parents if nr != holder] if holder is not None else []
    whole = [nr for nr in around if seen.parts[nr].path and idle.issuperset(seen.weights(seen.parts[nr]))]
    return _whole(seen, whole[0], idle) if whole else holder


def _lost_in_part(seen: Observation) -> Iterator[Match]:
    """Leaves get gradients, but not from all that they took part in: a term of the loss, or what a layer goes on from, was cut off."""
    learning = {nr for leaf in seen.trained() for nr in leaf.values}
    passes = by_line(each for each in seen.passes if each.kind == "backward" and each.done and each.roots)
    for each in (one for own in passes.values() for one in {own[-1].nr: own[-1], own[0].nr: own[0]}.values()):
        back = seen.recorded(each)
        own = [leaf for leaf in seen.trained() if seen.stepped_by(each) in leaf.held and leaf.nr in each.got]
        values = {nr for leaf in own for nr in leaf.values}
        terms = seen.above(each.roots, lambda one: _summed(seen, one))
        start = max((one.ops for one in seen.passes if one.nr < each.nr), default=0)
        for user in ops.makers(seen, back):
            added = user.name in ops.ADDITIVE and not terms.isdisjoint(user.outputs)
            gradients = [seen.values[nr].of_grad is not None and user.name in ops.ADDITIVE for nr in user.inputs]
            given = [seen.values[nr] for nr in user.inputs if added or user.name in ops.LAYERS or any(gradients)]
            loose = (one for one in given if one.floating and not one.requires_grad)
            left = _as_number(seen, user, start, learning) if added and len(user.inputs) == 1 else None
            if left is not None:
                cut = _nearest_cut(seen, values, left.value) or Cut("item", left.line, None, [left.value], left.value)
                yield _part(seen, cut, user, True)
                return
            for value in (one for one in loose if _single(one) or not added):
                asked = _without_graph(seen, [value.nr], each) if added or any(gradients) else None
                if asked is not None and seen.behind(asked) & learning:
                    yield Match(asked, [user, each], user=user, path=[value.nr, *each.roots[:1]])
                    return
                found = _nearest_cut(seen, values, value.nr) if added or user.name in ops.LAYERS else None
                if found is not None and (
                    added or _beside(seen, found, back, value.nr) or _each_turn(seen, found, user, value.nr, start)
                ):
                    yield _part(seen, found, user, added)
                    return
                behind = [one for one in ops.makers(seen, seen.above([value.nr])) if added and one.nr >= start]
                for op in (one for one in behind if one.name in ops.LOSSES) if found is None else ():
                    yield Match(op, [user], user=user, op=op.name, given=NOTHING_IN_IT)
                    return


def _as_number(seen: Observation, user: Ran, start: int, learning: set[int]) -> Exit | None:
    """What left the engine in this turn as a number, from what learns, and comes back by way of Python in a sum with a number that varies."""
    numbers = {number for one in seen.at(user.line) if one.name == user.name for number in ops.constants(one)} - TRIVIAL
    first = bisect.bisect_left(seen.exits, start, key=lambda one: one.op)
    varies = len(numbers) > 1 and numbers.intersection(ops.constants(user))
    turn = [one for one in seen.exits[first:] if varies and one.op <= user.nr and one.name != "__bool__"]
    flow = (one for one in turn[::-1] if seen.places.flows(one.line, user.line))
    return next((one for one in flow if not learning.isdisjoint(seen.above([one.value]))), None)


def _summed(seen: Observation, value: Seen) -> bool:
    """Whether a value is one number, learnt from, and a sum of others or a multiple of one."""
    op = seen.maker(value)
    return value.requires_grad and _single(value) and op is not None and op.name in ops.ADDITIVE | ops.SCALES


def _single(value: Seen) -> bool:
    return math.prod(value.shape) == 1


def _beside(seen: Observation, found: Cut, back: set[int], taken: int) -> bool:
    """Whether a pass goes back in another way through what no_grad, a draw or detach() cuts off from `taken`.

    Where what is detached goes on to another layer as it is, the part behind the detach() may be a probe.
    """
    kept = [nr for nr in found.path if nr in back and seen.values[nr].leaf is None]
    on = seen.below(kept[-1:], lambda one: one.nr in back) - {*kept}
    goes_on = any(op.name in ops.LAYERS for op in ops.makers(seen, on))
    # not by way of Python, as a state that follows an action, nor a draw of which the loss asks how likely it was
    made = found.op.outputs if found.op is not None else ()
    drawn = seen.below(made, lambda value: not value.requires_grad)
    asked = any(one.recorded and one.name in ops.DIFFERENCES for nr in drawn for one in seen.users(nr))
    by_ops = bool(kept) and not asked and taken in seen.below(made)
    return by_ops and (found.kind == "no-grad" or (found.kind in ("detach", "data") and not goes_on))


def _each_turn(seen: Observation, found: Cut, user: Ran, taken: int, start: int) -> bool:
    """Whether a loop within one turn detaches what the same line made before, and the loss needs it in no other way."""
    source = seen.values[found.op.inputs[0]] if found.op is not None and found.op.inputs else None
    made = seen.maker(source) if source is not None else None
    alike = made is not None and (made.name == user.name or made.owner == user.owner is not None)
    again = made is not None and alike and made.nr >= start and made.line == user.line
    by_ops = found.op is not None and taken in seen.below(found.op.outputs)  # and not as a state that follows an action
    return found.kind in ("detach", "data") and again and by_ops and source is not None and not source.grad


def _part(seen: Observation, cut: Cut, user: Ran, added: bool) -> Match:
    """What `user` adds to the loss, or goes on from, although it was cut off."""
    if added:
        given = CONSTANT | {"kind": cut.kind, "fix": CUTS[cut.kind][1], "change": cut.change(seen)}
        return Match(cut.line, [user, cut.op], user=user, path=cut.path, cut=cut.value, given=given)
    line = seen.places.switched_off(cut.op.stack) if cut.kind == "no-grad" and cut.op is not None else None
    code, given = seen.places.code(cut.op.line if cut.op is not None else None), NOT_RECORDED[cut.kind]
    if line is None and ".sample(" in code:  # a draw, which records nothing by itself
        given = given | {"change": (code, code.replace(".sample(", ".rsample("))}
    return Match(line or cut.op, [cut.op, user], made=cut.op, user=user, path=cut.path, cut=cut.value, given=given)


def _asked_in_vain(seen: Observation) -> Iterator[Match]:
    """The program read `.grad` of a tensor that has none: it was computed, an update made it anew, or it requires no gradient."""
    taken = ((op, {seen.values[nr].leaf for nr in op.inputs} - {None}) for op in seen.ops if not op.in_place)
    updates = {op.nr: op.line for op, leaves in taken if leaves and leaves & _gradients(seen, op)}  # w - lr * w.grad
    above = seen.above([root for each in seen.passes if each.done for root in each.roots])
    error = seen.error["message"] if seen.error is not None else ""
    explains = "NoneType" in error or "can't optimize a non-leaf Tensor" in error
    for nr, read in (*seen.asked_in_vain, *seen.asked_unrequired.items()):
        value = seen.values[nr]
        op = seen.maker(value)
        if op is not None and (value.requires_grad or op.nr in updates):
            rebound = bool(_gradients(seen, op))
            others = [Place(other) for other in dict.fromkeys(updates.values()) if rebound and other != op.line]
            given = REBOUND if rebound else {}
            here = seen.places.function_around(read)  # of a helper, its call
            at = next((line for line in op.stack if seen.places.function_around(line) == here), op.line)
            yield Match(
                at, [op, *others, read], op=op.name, where=op.where, names=[value.name], path=[*op.inputs[:1], nr], cut=nr, read=read, given=given | {"explains": explains},
            )  # fmt: skip
        elif nr in above and value.floating and not any(seen.values[one].requires_grad for one in seen.above([nr])):
            attribute = value.name.rpartition(".")[2]
            line = seen.places.where_given(f"self.{attribute}") or value.line
            yield Match(line, [read], names=[value.name], what=value.name or "the tensor", read=read, given=UNREQUIRED)
            return


STRAY = telling("{at}, gives {names} to a {kind}, which reads no parameter of that name: nothing takes what it holds.",
    "Write the name that the layer uses, such as `weight`.", kind="unused", share=0.5)  # fmt: skip
CONSTANT = {
    "words": "{at}, cuts a term of the loss off, which {user} adds: it is a constant there, and nothing learns from it.", "certain": False,
}  # fmt: skip
NOTHING_IN_IT = telling("{at}: `{op}` compares what nothing that learns had a part in, and {user}, adds it to the loss: it is a constant there.",
    "One of its two sides is to be the answer of what learns.", kind="wrong-loss", certain=False, share=0.5)  # fmt: skip
NOT_RECORDED = {
    "no-grad": telling("{at}: {made}, ran without being recorded, and {user}, goes on from its numbers: nothing in front of it learns from that.",
        "Compute it outside of no_grad, and draw so that a slope is left: `rsample()`, or `mean + std * T.randn_like(std)`.",
        kind="no-grad", certain=False, share=0.5),
    **{kind: telling("{at}, " + does + ", and {user}, goes on from its numbers: nothing in front of it learns from that, although the same loss "
        "reaches it elsewhere.", CUTS[kind][1], kind=kind, certain=False, share=0.5)
        for kind, does in (("detach", "calls detach()"), ("data", "reads .data"))},
}  # fmt: skip
REBOUND = telling(CUTS["rebound"][0], CUTS["rebound"][1] + " Reset the gradient after the update, or the next one is added to it: "
        "`{name}.grad = None`. Change other updates like it in the same way.", kind="rebound")  # fmt: skip
UNREQUIRED = telling("{at}, makes {what} without requires_grad. The loss depends on it, but no gradient is computed for it: its .grad, read in line "
        "{read}, is None.",
    "If it should learn, make it with requires_grad=True, and in a module as a Parameter: `self.w = T.nn.Parameter(…)`.",
    kind=OFF, certain=False, share=0.5)  # fmt: skip
NO_GRAPH = "{at}, computes gradients without create_graph=True, so they have no history, and what is computed from them is a constant."
CREATE_GRAPH = "Ask for a graph of the gradient itself: `create_graph=True`."
RULES = [
    Rule("non-leaf", _asked_in_vain,
        "{at}, computes {name} from another tensor (`{op}`), so {name} is not a leaf. backward() keeps gradients only for leaves: {name}.grad, read "
        "in line {read}, is None.",
        "Make {name} first and switch its gradient on afterwards, with `{name}.requires_grad_()` on a separate line. Or call {name}.retain_grad() "
        "before backward() to look at the gradient.", certain=True, share=1.0),
    Rule("cut", _without_gradient),
    Rule("cut", _lost_in_part, NO_GRAPH + " {user} adds it to the loss, and no weight learns from it.", CREATE_GRAPH, certain=True, share=0.6),
]  # fmt: skip
