"""`.grad` is None: which line cut the path from a parameter to the loss."""

from __future__ import annotations

import bisect
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from viz.diagnosis import families as ops
from viz.diagnosis.finding import listed
from viz.diagnosis.observation import Exit, Leaf, Observation, Part, Ran, Seen, Through
from viz.diagnosis.rules.rule import Match, Place, Rule, placed

NOT_A_LEAF = "can't optimize a non-leaf Tensor"
NEEDS_GRAD = "does not require grad"
MEANT = {"no-grad", "inference-mode", "detach"}  # as on the way to a target that is not to learn
FEW = 2  # passes at each end of a loop that are walked
MOST_WAYS = 4  # that are looked at
MOST_EXITS = 64  # of one line before a value was made, whose numbers may be in it
DRAWS = {"normal", "bernoulli", "multinomial", "rand_like", "poisson"}  # what is drawn is no number of the loss
AGAIN = 2  # steps that find nothing, from which on a freeze is no turn of two trainings
TRIVIAL = {0.0, 1.0, -1.0, 2.0, 0.5}


@dataclass
class Cut:
    """Where and how the path from a leaf to the loss ends."""

    kind: str
    line: int | None
    op: Ran | None
    path: list[int]
    value: int
    lines: list[int]


def links(seen: Observation) -> dict[int, list[int]]:
    """Maps a value to the values whose numbers reached it through Python, `item()` and back: an index, built once."""
    if seen.links is None:
        seen.links = _linked(seen)
    return seen.links


def _linked(seen: Observation) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    sources = [value for value in seen.values if value.op is None or not seen.ops[value.op].inputs]
    first_use: dict[int, int] = {}
    for op in seen.ops:
        for nr in op.inputs:
            first_use.setdefault(nr, op.nr)
    left: dict[int | None, list[Exit]] = {}  # by line, in the order of the run
    for leaving in seen.exits:
        if seen.values[leaving.value].floating and leaving.name != "__bool__":
            left.setdefault(leaving.line, []).append(leaving)
    for source in sources:
        born = source.op if source.op is not None else first_use.get(source.nr)
        made_by_op = source.op is not None and source.leaf is not None
        if born is None or not (made_by_op or (source.leaf is None and source.of_grad is None)):
            continue
        for line, exits in left.items():
            before = exits[: bisect.bisect_right(exits, born, key=lambda e: e.op)]
            flows = bool(before) and seen.places.flows(line, source.line)
            reach = before[-MOST_EXITS:] if flows else [e for e in before[-MOST_EXITS:] if e.value == source.base]
            if reach:
                found.setdefault(source.nr, []).extend(e.value for e in reach)
    for leaving in (one for exits in left.values() for one in exits):
        if leaving.number is not None:
            plain = leaving.number in TRIVIAL  # 1 is a common number, so only its use in the same line counts
            for op in seen.ops[leaving.op : leaving.op + 200]:
                if leaving.number in op.options.values() and (not plain or op.line == leaving.line):
                    for nr in op.outputs:
                        found.setdefault(nr, []).append(leaving.value)
    return found


def _without_gradient(seen: Observation) -> Iterator[Match]:
    passes = _first_and_last([each for each in seen.passes if each.done or NEEDS_GRAD in each.raised])
    if not passes:
        return
    failed = next((each for each in passes if each.raised), None)
    trained = list(seen.trained())
    handed_out = [leaf for leaf in seen.leaves if failed is None and _only_handed_out(seen, leaf)]
    idle = [leaf for leaf in seen.leaves if not leaf.gradients or failed is not None] + handed_out
    if not idle and failed is None:
        return
    ways = links(seen)
    cuts: dict[tuple[str, int | None], tuple[Cut, list[Leaf]]] = {}
    unused: list[Leaf] = []
    dropped: list[Leaf] = []
    for leaf in idle:
        if leaf.reached_unwatched and failed is None:
            continue
        wanted = leaf.held or (leaf.requires_grad and not any(each.held for each in seen.leaves))
        if not leaf.requires_grad and leaf.frozen_at is None and not leaf.held:
            continue
        if _on_the_way_to_a_leaf(seen, leaf):
            continue
        if leaf in handed_out:
            through = [each for each in passes if each.kind == "backward"]
        else:
            through = passes if not leaf.gradients else [failed] if failed else []
        cut = _cut(seen, leaf, through, ways)
        if cut is None:
            if leaf.requires_grad and (leaf.held or leaf.holder is not None) and not leaf.used_by:
                unused.append(leaf)
            elif leaf.requires_grad and leaf.held and failed is None and not seen.cut and len(passes) > 1:
                dropped.append(leaf)
            continue
        if wanted or failed is not None:
            cuts.setdefault((cut.kind, cut.line), (cut, []))[1].append(leaf)
    for cut, leaves in cuts.values():
        yield _cut_match(seen, cut, leaves, len(trained), failed)
    if failed is not None and not any(leaf.requires_grad for _, leaves in cuts.values() for leaf in leaves):
        yield from _never_asked(seen, failed, cuts)
    yield from _unused(seen, unused, len(trained))
    yield from _dropped(seen, dropped, len(trained))


def _first_and_last(passes: list[Through]) -> list[Through]:
    """The first and the last passes of each line: a loop repeats itself, and each is walked for each leaf."""
    lines: dict[int | None, list[Through]] = {}
    for each in passes:
        lines.setdefault(each.line, []).append(each)
    kept = {each.nr for own in lines.values() for each in own[:FEW] + own[-FEW:]}
    return [each for each in passes if each.nr in kept or each.raised]


def _on_the_way_to_a_leaf(seen: Observation, leaf: Leaf) -> bool:
    """Whether a leaf without a name only served to make another one that learns: `t.requires_grad_().to(d).detach().requires_grad_()`."""
    if leaf.name or leaf.held or leaf.holder is not None or not leaf.values:
        return False
    learning = (nr for other in seen.leaves if other.gradients for nr in other.values)
    return not seen.above(learning, past_leaves=True).isdisjoint(leaf.values)


def _only_handed_out(seen: Observation, leaf: Leaf) -> bool:
    """Whether autograd.grad() alone computed gradients of a leaf, and no step of its optimizer found anything in its `.grad`."""
    if not leaf.held or not leaf.gradients or any(seen.passes[nr - 1].kind == "backward" for nr, _ in leaf.gradients):
        return False
    steps = any(moment.kind == "step" and moment.who in leaf.held for moment in seen.moments)
    return steps and not any(write.kind == "step" for write in leaf.writes)


def _constant_terms(seen: Observation) -> Iterator[Match]:
    """A term of a loss that no weight learns from, although it was computed from what is to learn: its history was cut, or never kept."""
    inner = [each for each in seen.passes if each.kind == "grad" and each.done and not each.create]
    learning = {nr for leaf in seen.trained() for nr in leaf.values}
    last = {each.line: each for each in seen.passes if each.kind == "backward" and each.done and each.roots}
    for each in last.values() if seen.steps else ():
        before = [one for one in inner if one.order < each.order and one.got]
        terms = list(_added(seen, each.roots[0]))
        for op, term in terms:
            handed = {seen.values[nr].of_grad for nr in seen.above([term], past_leaves=True)} - {None}
            asked = next((one for one in reversed(before) if handed & set(one.got)), None)
            if asked is not None and seen.behind(asked) & learning:
                yield Match(asked, [op, each], op=op.name, added=op, path=[term, *each.roots[:1]])
                return
        moved = seen.stepped_by(each)
        for op, term in terms if moved is not None else ():
            found = _ends_before(
                seen, term, [leaf for leaf in seen.trained() if moved in leaf.held and leaf.nr in each.got]
            )
            drawn = found is not None and found.op is not None and found.op.name in DRAWS
            if found is not None and not drawn:
                words = "{at}, cuts a term of the loss off, which {added} adds: it is a constant there, and nothing learns from it."
                given = {
                    "kind": found.kind,
                    "words": words,
                    "fix": FIXES[found.kind],
                    "change": _change(seen, found),
                    "certain": False,
                }
                yield Match(
                    found.line,
                    [op.line, *found.lines],
                    op=op.name,
                    added=op,
                    path=found.path,
                    cut=found.value,
                    given=given,
                )


def _ends_before(seen: Observation, term: int, leaves: list[Leaf]) -> Cut | None:
    """Where the way from leaves to a term of a loss ends, if there is one."""
    found = [cut for leaf in leaves if (cut := _nearest_cut(seen, leaf, term, links(seen))) is not None]
    known = [cut for cut in found if cut.kind in {*TAKEN_OUT, "new-tensor", "no-grad", "integer-op"}]
    return min(known, key=_weight, default=None)


def _added(seen: Observation, root: int) -> Iterator[tuple[Ran, int]]:
    """The additions that a loss ends in, each with a term that needs no gradient."""
    stack, met = [root], set()
    while stack:
        op = seen.maker(seen.values[stack.pop()])
        if op is None or op.nr in met or not op.outputs or math.prod(seen.values[op.outputs[0]].shape) != 1:
            continue
        met.add(op.nr)
        learnt = [nr for nr in op.inputs if seen.values[nr].requires_grad]
        if op.name in ops.ADDITIVE:
            for nr in dict.fromkeys(op.inputs):
                value = seen.values[nr]
                if value.floating and math.prod(value.shape) == 1 and not value.requires_grad:
                    yield op, nr
            stack += learnt
        elif op.name in ops.SCALES and len(learnt) == 1 and len(op.inputs) == 1:
            stack += learnt


def _cut(seen: Observation, leaf: Leaf, passes: list[Through], ways: dict[int, list[int]]) -> Cut | None:
    best: Cut | None = None
    own = [each for each in passes if each.raised] or [
        each for each in passes if leaf.held and seen.stepped_by(each) in leaf.held
    ]
    for each in [*own, *(each for each in passes if each not in own)]:
        if best is not None and each not in own and own:
            break
        for root in each.roots:
            found = _nearest_cut(seen, leaf, root, ways)
            if found is not None and (best is None or _weight(found) < _weight(best)):
                best = found
    return best


def _weight(cut: Cut) -> tuple[bool, int]:
    return cut.kind in MEANT, len(cut.path)


def _nearest_cut(seen: Observation, leaf: Leaf, root: int, ways: dict[int, list[int]]) -> Cut | None:
    """The cut on the shortest way from a leaf to a root; of several ways one that is cut by what nobody writes on purpose."""
    values = set(leaf.values)
    first: Cut | None = None
    passed: set[int | None] = set()
    for _ in range(MOST_WAYS):
        chain = seen.route(root, lambda value: value.nr in values, ways, past_leaves=True, past_lines=frozenset(passed))
        found = _along(seen, chain[::-1], ways) if chain else None
        if found is None:
            break
        if found.kind not in MEANT:
            return found
        first = first or found
        fresh = {found.line, found.op.line if found.op is not None else found.line} - passed
        if not fresh:
            break
        passed |= fresh
    return first


def _along(seen: Observation, path: list[int], ways: dict[int, list[int]]) -> Cut | None:
    """The first op that autograd did not record, on a path from a leaf to a root."""
    before = seen.values[path[0]]
    for place, nr in enumerate(path[1:], 1):
        value = seen.values[nr]
        maker = seen.maker(value)
        if (
            before.nr in ways.get(nr, [])
            and maker is None
            and (wrote := seen.maker(before)) is not None
            and wrote.in_place
        ):
            return Cut("data", wrote.line, wrote, path, before.nr, [wrote.line or 0])
        left = _left(seen, before, maker)
        if before.nr in ways.get(nr, []) and (maker is None or before.nr not in maker.inputs) and left is not None:
            kind = "new-tensor" if left.name == "__float__" and _rebuilt(seen, left.line) else _leaving(left)
            return Cut(kind, left.line, None, path, nr, [left.line or 0])
        if maker is not None and (not value.requires_grad or (value.leaf is not None and not maker.recorded)):
            return _of_op(seen, maker, before, value, path, place, ways)
        before = value
    return None


def _left(seen: Observation, value: Seen, maker: Ran | None) -> Exit | None:
    """Where a value left the engine on its way to an op: the last exit before the op whose number can have reached it."""
    exits = [e for e in seen.exits if e.value == value.nr]
    before = [e for e in exits if maker is not None and e.op <= maker.nr and seen.places.flows(e.line, maker.line)]
    return before[-1] if before else next(iter(exits), None)


def _rebuilt(seen: Observation, line: int | None) -> bool:
    """Whether a line calls a constructor that reads numbers out of the tensors that it is given."""
    return any(line in seen.places.where_made(name) for name in ops.COPIES)


def _leaving(left: Exit) -> str:
    return "numpy" if left.name in ("numpy", "__array__") else "item"


def _of_op(
    seen: Observation, op: Ran, before: Seen, value: Seen, path: list[int], place: int, ways: dict[int, list[int]]
) -> Cut:
    lines = [op.line] if op.line is not None else []
    kind, line = "cut", op.line
    if op.name == "detach":
        kind = "detach"
        left = next((e for e in seen.exits if e.value == value.nr and e.line == op.line), None)
        if left is not None:
            kind = _leaving(left)
    elif op.name == "data":
        kind = "data"
    elif any(seen.values[nr].of_grad is not None or _near_grad(seen, nr) for nr in op.inputs) and not op.in_place:
        kind = "rebound"
    elif not op.grad_on or op.inference:
        kind = "inference-mode" if op.inference else "no-grad"
        line = seen.places.switched_off(op.stack) or op.line
    elif op.name in ops.COPIES:
        kind = "new-tensor"
    elif not value.floating:
        kind, line = "integer-op", _picked(seen, op, value)
    elif not before.requires_grad:
        kind = "requires-grad-off"
        line = (
            (seen.leaves[before.leaf].frozen_at or seen.origin(seen.leaves[before.leaf]))
            if before.leaf is not None
            else op.line
        )
    elif op.name.endswith(".apply"):
        kind = "wrong-backward"
    return Cut(kind, line, op, path, value.nr, [line or 0, *lines])


def _picked(seen: Observation, op: Ran, value: Seen) -> int | None:
    """The line that picks the indices of what has values as well, as `found.indices` after `found = x.topk(3)`."""
    if any(seen.values[nr].floating for nr in op.outputs):
        user = next((one for one in seen.users(value.nr) if one.nr > op.nr), None)
        words = (".indices", "[1]")
        here, there = (seen.places.code(one.line) if one is not None else "" for one in (op, user))
        if user is not None and any(word in there for word in words) and not any(word in here for word in words):
            return user.line
    return op.line


def _near_grad(seen: Observation, nr: int) -> bool:
    return any(seen.values[one].of_grad is not None for one in _makers_inputs(seen, nr))


def _makers_inputs(seen: Observation, nr: int) -> tuple[int, ...]:
    maker = seen.maker(seen.values[nr])
    return () if maker is None else maker.inputs


SAYS = {
    "detach": "{at}, calls detach(): the numbers go on, but the way back to {names} ends here.",
    "data": "{at}, reads .data: the numbers go on, but the way back to {names} ends here, and nothing is checked.",
    "item": "{at}, turns a tensor into a Python number. A number has no history, so no gradient comes back to {names}.",
    "numpy": "{at}, goes to NumPy, which records nothing: no gradient comes back to {names}.",
    "new-tensor": "{at}, makes a new tensor out of numbers. It is a leaf with no history, so no gradient comes back to {names}.",
    "no-grad": "{at}, switches recording off: `{op}` in line {ran} ran under it, and no gradient comes back to {names}.",
    "inference-mode": "{at}, switches recording off for good: `{op}` in line {ran} ran under it, and no gradient comes back to {names}.",
    "integer-op": "{at}, returns integers or booleans (`{op}`), which have no slope: no gradient comes back to {names}.",
    "requires-grad-off": "{at}, switches requires_grad off for {names}: autograd records nothing there.",
    "rebound": "{at}, makes a new tensor and gives it the parameter's name. The new tensor is not a leaf that requires grad: {names} gets no further gradient.",
    "wrong-backward": "{at}: the result of this Function has no gradient, so none comes back to {names}.",
    "cut": "{at}: `{op}` was not recorded, so no gradient comes back to {names}.",
}
FIXES = {
    "detach": "Remove .detach() where the gradient should pass.",
    "data": "Compute with the tensor itself instead of .data.",
    "item": "Compute the loss from the tensor itself; call item() only to print.",
    "numpy": "Use the engine's function of the same name. Go to NumPy only to print or plot.",
    "new-tensor": "Join tensors with stack() or cat(), which are recorded: `T.stack(losses)` instead of `T.tensor(losses)`.",
    "no-grad": "Move the part that should learn out of the no_grad block.",
    "inference-mode": "Move the part that should learn out of the inference_mode block.",
    "integer-op": "Use a loss with a slope, such as cross_entropy on the scores; count hits only to report them.",
    "requires-grad-off": "Keep requires_grad on for everything that should learn: `p.requires_grad_(True)`.",
    "rebound": "Write into the parameter: `with T.no_grad(): w -= lr * w.grad`, or use an optimizer.",
    "wrong-backward": "Return a differentiable output, with a gradient for each input that needs one.",
    "cut": "Keep every op between the parameter and the loss recorded.",
}
TAKEN_OUT = {"detach": ".detach()", "data": ".data", "item": ".item()", "numpy": ".detach().numpy()"}


def _cut_match(seen: Observation, cut: Cut, leaves: list[Leaf], trained: int, failed: Through | None) -> Match:
    words = SAYS[cut.kind] + " None of {count} backward passes gave {them} a gradient."
    if failed is not None:
        words += " backward() itself raised an error, because nothing that led to the loss requires grad."
    held = all(leaf.held for leaf in leaves)
    alone = not seen.optimizers and any(leaf.asked for leaf in leaves)
    certain = failed is not None or ((held or alone or not seen.optimizers) and not _on_purpose(seen, cut, leaves))
    if failed is None and cut.kind == "requires-grad-off":
        certain = False  # freezing is common, and so are weights that are computed from others once
    given = {"kind": cut.kind, "words": words, "fix": _fix(seen, cut), "certain": certain, "change": _change(seen, cut),
             "explains": failed is not None, "share": len(leaves) / max(1, trained)}  # fmt: skip
    op = cut.op
    return Match(
        cut.line, cut.lines, names=seen.called(leaf.nr for leaf in leaves), path=cut.path, cut=cut.value, where=op.where if op else None,
        op=op.name if op else "", ran=op.line if op else cut.line, count=len(seen.passes), given=given,
    )  # fmt: skip


def _fix(seen: Observation, cut: Cut) -> str:
    """What to change, where the usual words for a kind do not fit how its numbers are used."""
    return FIXES[cut.kind]


def _on_purpose(seen: Observation, cut: Cut, leaves: list[Leaf]) -> bool:
    """True if the cut looks intended: a part in evaluation mode, or one that is updated in another way."""
    if any(write.kind == "write" for leaf in leaves for write in leaf.writes):
        return True
    holders = [seen.parts[leaf.holder] for leaf in leaves if leaf.holder is not None]
    if (
        holders
        and all(not part.training for part in holders)
        and any(part.training for part in seen.parts if part.called)
    ):
        return True
    return (
        not any(leaf.held for leaf in leaves)
        and cut.kind in ("no-grad", "inference-mode", "detach", "data")
        and not any(leaf.asked for leaf in leaves)
        and bool(holders)
    )


def _change(seen: Observation, cut: Cut) -> tuple[str, str] | None:
    code = seen.places.code(cut.line)
    out = TAKEN_OUT.get(cut.kind, "")
    out = next((whole for whole in (".detach().item()", ".data.item()") if cut.kind == "item" and whole in code), out)
    writes = cut.kind == "data" and re.search(r"\.data(\.\w+_\(|\s*[-+*/]?=)", code)
    if cut.kind == "numpy" or not out or writes or code.count(out) != 1:
        return None
    return code, code.replace(out, "")


def _never_asked(
    seen: Observation, failed: Through, cuts: dict[tuple[str, int | None], tuple[Cut, list[Leaf]]]
) -> Iterator[Match]:
    """backward() was refused because nothing that led to the loss requires grad, and nothing was cut off."""
    if any(cut.kind == "requires-grad-off" for cut, _ in cuts.values()):
        return
    given: dict[str, Any] = {"kind": "requires-grad-off", "certain": True, "explains": True}
    above = seen.above(failed.roots)
    bare = [each for each in seen.passes if each.kind == "grad" and each.done and not each.create]
    if bare and any(seen.values[nr].of_grad is not None for nr in above):
        yield Match(bare[-1], [failed], added=failed, given={"kind": "cut", "explains": True})
        return
    frozen = [leaf for leaf in seen.leaves if leaf.frozen_at is not None and above & set(leaf.values)]
    if frozen:
        words = (
            SAYS["requires-grad-off"]
            + " Nothing else that led to the loss requires grad, so backward() raised an error."
        )
        fix = "Freeze before you add the part that should learn, or switch it on again: `p.requires_grad_(True)`."
        yield Match(
            frozen[0].frozen_at,
            names=seen.called(leaf.nr for leaf in frozen),
            given=given | {"words": words, "fix": fix},
        )
        return
    sources = [seen.values[nr] for nr in above if seen.values[nr].floating and not seen.inputs(seen.values[nr])]

    def weight(value: Seen) -> tuple[bool, bool, int]:
        held = value.leaf is not None and bool(seen.leaves[value.leaf].held)
        return held, _weighs(seen, value), -(value.line or 0)

    ranked = sorted(sources, key=weight, reverse=True)
    if not ranked:
        return
    first = ranked[0]
    alike = [value for value in ranked if weight(value)[:2] == weight(first)[:2]] if any(weight(first)[:2]) else ranked
    code = seen.places.code(first.line)
    if code.endswith(")") and code.count("(") == code.count(")") and "from_numpy" not in code:
        given["change"] = code, f"{code[:-1]}, requires_grad=True)"
    names = dict.fromkeys(value.name or f"the tensor made in line {value.line}" for value in alike)
    words = "Nothing that led to the loss requires grad, so nothing was recorded and backward() raised an error. {names} {are} made without " \
        "requires_grad, first in line {first}."  # fmt: skip
    fix = "Mark the tensors that should learn when you make them: requires_grad=True."
    yield Match(first, alike, names=names, first=first.line, given=given | {"words": words, "fix": fix})


def _weighs(seen: Observation, value: Seen) -> bool:
    """Whether a value is what others are multiplied by or looked up in, as weights are; data come first in a product of matrices."""
    for op in seen.users(value.nr):
        if op.name in ops.LAYERS | {"matmul", "mm", "mv", "embedding"}:
            return value.nr in op.inputs[1:] or (op.name == "embedding" and value.floating)
        if op.name in ops.FACTORS and len(op.inputs) == 2:
            other = next((seen.values[nr] for nr in op.inputs if nr != value.nr), value)
            return len(value.shape) < len(other.shape)
    return False


def _unused(seen: Observation, unused: list[Leaf], trained: int) -> Iterator[Match]:
    groups: dict[int | None, list[Leaf]] = {}
    idle = {leaf.nr for leaf in unused}
    for leaf in unused:
        groups.setdefault(_whole(seen, leaf.holder, idle), []).append(leaf)
    ran = {line for op in seen.ops for line in op.stack}
    for holder, leaves in groups.items():
        names = seen.called(leaf.nr for leaf in leaves)
        part = seen.parts[holder] if holder is not None else None
        if part is not None and not any(leaf.held for leaf in leaves):
            continue  # a model of an earlier cell, or one that others are copied from
        path = (part.path if part else names[0]).split(".")
        attribute = next((one for one in reversed(path) if one and not one.isdigit()), "")
        asleep = [line for line in seen.places.where_read(attribute) if line not in ran and attribute]
        asleep = [line for line in asleep if "parameters" not in seen.places.code(line)]
        condition = next((found for line in asleep if (found := seen.places.condition(line))), None)
        line = condition or (asleep[0] if asleep else None) or (part.line if part else leaves[0].line)
        how = "no op ever received {them}"
        if asleep:
            how = "{asleep}, never ran" + (", for line {decides} decides otherwise" if condition else "")
        yield Match(
            line, asleep[:3], names=names, asleep=Place(asleep[0]) if asleep else None, decides=condition,
            was="was" if len(names) == 1 else "were",
            given={"kind": "unused", "words": "{names} {was} in no op of this run: " + how + ". So no gradient came.", "certain": False,
                   "fix": "Use it in forward, or leave it out of the model.", "share": len(leaves) / max(1, trained)},
        )  # fmt: skip


def _whole(seen: Observation, holder: int | None, idle: set[int]) -> int | None:
    """The outermost module around one of which nothing is used, as a whole network."""
    for _ in range(16):
        around = [nr for nr in (seen.parts[holder].parents if holder is not None else ()) if nr != holder]
        whole = next(
            (nr for nr in around if seen.parts[nr].path and idle.issuperset(seen.weights(seen.parts[nr]))), None
        )
        if whole is None:
            break
        holder = whole
    return holder


def _dropped(seen: Observation, lost: list[Leaf], trained: int) -> Iterator[Match]:
    """Parameters that ops use and that an optimizer holds, although nothing of it arrives at a loss: where the way on from them ends."""
    ends: dict[int | None, tuple[Ran, list[Leaf]]] = {}
    for leaf in lost:
        last = next((seen.ops[nr] for nr in leaf.used_by if seen.ops[nr].recorded and seen.ops[nr].outputs), None)
        for _ in range(MOST_EXITS if last is not None else 0):
            ahead = [op for op in seen.users(last.outputs[0]) if op.recorded and op.outputs]  # type: ignore[union-attr]
            if not ahead:
                break
            last = ahead[-1]
        if last is not None:
            line = seen.places.thrown_away(last.stack) or last.line
            ends.setdefault(line, (last, []))[1].append(leaf)
    for line, (op, leaves) in ends.items():
        words = "{at}: nothing goes on from here to the loss, so {names} {get} no gradient: what was computed with {them} is not used."
        fix = "Use the result: give it a name, and hand it on to what comes next."
        given = {"kind": "unused", "words": words, "fix": fix, "certain": False, "share": len(leaves) / max(1, trained)}
        yield Match(
            line,
            [op],
            names=seen.called(leaf.nr for leaf in leaves),
            path=[*op.inputs[:1], *op.outputs[:1]],
            given=given,
        )


def _rebound_or_non_leaf(seen: Observation) -> Iterator[Match]:
    """The program read `.grad` of a tensor that is not a leaf: a scaled weight, or an update that made a new tensor.

    An update under no_grad makes one that requires no grad at all.
    """
    told: set[int | None] = set()
    updates = _rebinding(seen)
    asked = seen.asked_unrequired.items()
    unrequired = [(nr, line) for nr, line in asked if (made := seen.maker(seen.values[nr])) and made.line in updates]
    for nr, line in (*seen.asked_in_vain, *unrequired):
        value = seen.values[nr]
        op = seen.maker(value)
        if op is None or op.line in told:
            continue
        told.add(op.line)
        read = re.findall(r"([\w.\[\]]+)\.grad\b", seen.places.code(line))
        name = read[0] if len(read) == 1 else value.name or "it"
        rebound = any(seen.values[nr].of_grad is not None or _near_grad(seen, nr) for nr in op.inputs)
        others = [Place(other) for other in updates if rebound and other != op.line]
        given: dict[str, Any] = {
            "explains": seen.error is not None
            and any(word in seen.error["message"] for word in ("NoneType", NOT_A_LEAF))
        }
        if rebound:
            words, fix = SAYS["rebound"], FIXES["rebound"]
            if others:
                words += f" So {'does' if len(others) == 1 else 'do'} {{others}}."
                fix += " Change {also} in the same way."
            if not re.search(r"zero_grad|\.grad = None|\.grad\.zero_|\.grad\.data\.zero_", seen.places.text):
                fix += " Reset the gradient after the update, or the next one is added to it: `{name}.grad = None`."
            given |= {"kind": "rebound", "words": words, "fix": fix}
        yield Match(
            op, [*others, line], names=[name], path=[*op.inputs[:1], nr], cut=nr, read=line, given=given,
            others=listed([placed(seen, one.line) for one in others]), also=listed([f"line {one.line}" for one in others]),
        )  # fmt: skip


def _rebinding(seen: Observation) -> list[int]:
    """The lines that compute a new tensor from a leaf and its own gradient: updates whose result is no such leaf."""
    found = []
    for op in seen.ops:
        leaves = {seen.values[nr].leaf for nr in op.inputs} - {None}
        if op.line is None or op.in_place or op.line in found or not leaves:
            continue
        gradients = {seen.values[one].of_grad for nr in op.inputs for one in (nr, *_makers_inputs(seen, nr))} - {None}
        if leaves & gradients:
            found.append(op.line)
    return found


def _frozen(seen: Observation) -> Iterator[Match]:
    """A weight that is frozen where that makes no sense: its optimizer goes on stepping, or it is 0 everywhere and stays so."""
    for leaf in (one for one in seen.leaves if one.frozen_at is not None and not one.requires_grad and one.used_by):
        last = seen.passes[leaf.gradients[-1][0] - 1].order if leaf.gradients else math.inf
        later = sum(
            moment.kind == "step" and moment.who in leaf.held and moment.order > last for moment in seen.moments
        )
        value = seen.values[leaf.values[-1]]
        if later >= AGAIN:
            yield Match(
                leaf.frozen_at,
                names=seen.called([leaf.nr]),
                why=f"{later} more steps of its optimizer found no gradient",
                given=FROZEN,
            )
        elif not leaf.gradients and leaf.by_hand and value.peak == 0 and len(leaf.shape) > 1:
            yield Match(
                leaf.frozen_at,
                names=seen.called([leaf.nr]),
                why="it is 0 everywhere and stays so, so it adds nothing",
                given=FROZEN,
            )


def _drawn_away(seen: Observation) -> Iterator[Match]:
    """What a layer is given was drawn from what its own optimizer trains, and a draw that nobody records has no slope."""
    last = {each.line: each for each in seen.passes if each.kind == "backward" and each.done and each.roots}
    for each in last.values():
        held = {leaf.nr for leaf in seen.trained() if seen.stepped_by(each) in leaf.held}
        behind = seen.recorded(each)
        for nr in seen.behind(each):
            op, value = seen.maker(seen.values[nr]), seen.values[nr]
            if op is None or op.name not in DRAWS or op.recorded or not value.floating:
                continue
            from_it = {seen.values[one].leaf for one in seen.above(op.inputs, past_leaves=True)}
            drawn = [one for one in seen.below(nr) & seen.behind(each) if not seen.values[one].requires_grad]
            users = [user for one in sorted(drawn) for user in seen.users(one)]
            taken = [user for user in users if user.name in ops.LAYERS and behind & set(user.outputs)]
            if held & from_it and taken:
                code = seen.places.code(op.line)
                change = (code, code.replace(".sample()", ".rsample()")) if ".sample()" in code else None
                yield Match(op, [taken[0]], layer=taken[0], cut=nr, given=DRAWN | {"change": change})


def _off(seen: Observation) -> Iterator[Match]:
    """requires_grad is off for what the program treats as learning."""
    yield from _asked_unrequired(seen)
    yield from _frozen(seen)


def _lost_in_part(seen: Observation) -> Iterator[Match]:
    """A leaf gets gradients, but not from all that it took part in."""
    yield from _constant_terms(seen)
    yield from _drawn_away(seen)


FROZEN = {
    "words": "{at}, switches requires_grad off for {names}, and {why}.",
    "fix": "Switch it on again where this part is to learn, or freeze by a test that leaves it out: print the names that stay trainable.",
}
DRAWN = {
    "kind": "no-grad", "certain": False, "share": 0.5, "fix": "Draw so that a slope is left: `rsample()`, or `mean + std * T.randn_like(std)`.",
    "words": "{at}: `{op}` draws numbers without recording anything, and {layer} goes on from them: nothing in front of it learns from that.",
}  # fmt: skip


def _asked_unrequired(seen: Observation) -> Iterator[Match]:
    """The program read `.grad` of a tensor that the loss depends on but that requires no gradient."""
    above = seen.above([root for each in seen.passes if each.done for root in each.roots])
    for nr, read in seen.asked_unrequired.items():
        value = seen.values[nr]
        if nr not in above or not value.floating or any(seen.values[one].requires_grad for one in seen.above([nr])):
            continue
        attribute = value.name.rpartition(".")[2]
        line = seen.places.where_given(f"self.{attribute}") or seen.places.where_registered(attribute) or value.line
        yield Match(line, [read], names=[value.name], what=value.name or "the tensor", read=read)
        return


def _unregistered(seen: Observation) -> Iterator[Match]:
    """Modules in a plain list: they get gradients, but no optimizer knows them."""
    if not seen.optimizers:
        return
    lists: dict[tuple[int, str], list[Part]] = {}
    for part in seen.parts:
        if not part.registered:
            lists.setdefault((part.parents[0] if part.parents else part.nr, part.attribute), []).append(part)
    for (nr, attribute), parts in lists.items():
        inside = [part.nr for part in parts]
        for place in inside:  # it grows: modules inside them are added
            inside += [one.nr for one in seen.parts if place in one.parents and one.nr not in inside]
        leaves = [seen.leaves[leaf] for one in inside for leaf in seen.parts[one].parameters]
        lost = [leaf for leaf in leaves if leaf.gradients and not leaf.held]
        if not lost:
            continue
        line = seen.places.where_given(f"self.{attribute}") or parts[0].line
        yield Match(
            line, [parts[0]], names=seen.called(leaf.nr for leaf in lost), owner=seen.parts[nr].kind, attribute=attribute,
        )  # fmt: skip


RULES = [
    Rule("non-leaf", _rebound_or_non_leaf,
        "{at}, computes {name} from another tensor (`{op}`), so {name} is not a leaf. backward() keeps gradients only for leaves: {name}.grad, read "
        "in line {read}, is None.",
        "Make {name} first and switch its gradient on afterwards, with `{name}.requires_grad_()` on a separate line. Or call {name}.retain_grad() "
        "before backward() to look at the gradient.", certain=True, share=1.0),
    Rule("unregistered", _unregistered,
        "{at}, keeps modules in a plain list or dict of {owner}, which parameters() does not look into. {names} got gradients, but no optimizer holds them: they "
        "never change.",
        "Keep them in nn.ModuleList: `self.{attribute} = T.nn.ModuleList([…])`.", certain=True, share=1.0),
    Rule("cut", _without_gradient),
    Rule("requires-grad-off", _off,
        "{at}, makes {what} without requires_grad. The loss depends on it, but no gradient is computed for it: its .grad, read in line {read}, is "
        "None.",
        "If it should learn, make it with requires_grad=True, and in a module as a Parameter: `self.w = T.nn.Parameter(…)`.", share=0.5),
    Rule("cut", _lost_in_part,
        "{at}, computes gradients without create_graph=True, so they have no history. What {added} adds to the loss was computed from them: it is "
        "a constant, and no weight learns from it.",
        "Ask for a graph of the gradient itself: `create_graph=True`.", certain=True, share=0.6),
]  # fmt: skip
