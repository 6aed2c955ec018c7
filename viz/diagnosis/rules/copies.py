"""What was to be a copy and is none, weights that are to follow others and do not, results that nobody keeps."""

from __future__ import annotations

from collections.abc import Iterator

from viz.diagnosis import families as ops
from viz.diagnosis.observation import Leaf, Observation, Ran
from viz.diagnosis.rules.memory import sharing
from viz.diagnosis.rules.rule import Match, Rule, telling

BLENDS = {"copy_", "lerp", "add"}  # in place: what makes one weight follow another
PAST = (ops.TURNS - {"clone"}) | ops.FACTORS | ops.SUMS | {"detach", "data"}  # a clone may be of what it was before
AGAIN = 3  # times that show that it is always so


def _no_copy(seen: Observation) -> Iterator[Match]:
    """What was to be a copy is the same tensor: a state that the steps went on changing, or a weight that is to follow others."""
    for one in seen.aliases:
        named = seen.places.where_aliased([one.line or 0]) if one.line == one.used else None  # taken and loaded at once
        used = f"line {one.used}, `{seen.places.code(one.used)}`," if one.used else ""
        own = one.line == one.used and named is None
        yield Match(named or one.line, [one.used], text=one.text, used=used, given=OWN_STATE if own else STATE)
    for op in (one for one in seen.ops if one.name in ops.DIFFERENCES and len(one.inputs) == 2):
        if (itself := _from_itself(seen, op)) is not None:
            yield itself
            return
    for op in seen.ops:
        if op.name not in BLENDS or not op.in_place or op.recorded or len(op.inputs) < 2 or _decays(op):
            continue
        leaves = [_weight(seen, nr) for nr in op.inputs]
        alike = leaves[0] is not None and all(leaf is leaves[0] for leaf in leaves)
        if leaves[0] is not None and alike and not _blends(seen, op.inputs[1], leaves[0]):
            line = seen.places.where_aliased(op.stack) or op
            yield Match(line, [op], names=seen.called([leaves[0].nr]), wrote=op)
            return


def _from_itself(seen: Observation, op: Ran) -> Match | None:
    """A weight less what shares its memory, taken before steps changed both: the difference is 0."""
    one, other = (next((value for value in sharing(seen, nr) if value.leaf is not None), None) for nr in op.inputs)
    second = next((seen.values[nr] for nr in op.inputs if seen.values[nr].leaf is None), None)
    # two views of one value, as for the distances of all pairs, are no mistake
    if one is None or other is None or one.leaf != other.leaf or (one is other and second is not None):
        return None
    line = second.line if second is not None else seen.places.where_aliased(op.stack)
    return Match(line or op.line, [op], names=seen.called([one.leaf or 0]), wrote=op, given=ITSELF)


def _weight(seen: Observation, nr: int) -> Leaf | None:
    """The weight that a value is, or that its first part is computed from."""
    for _ in range(ops.FAR):
        value, op = seen.values[nr], seen.maker(seen.values[nr])
        if value.leaf is not None or value.of_grad is not None:
            return seen.leaves[value.leaf] if value.leaf is not None else None
        if value.base is None and (op is None or op.name not in PAST or not op.inputs):
            break
        nr = value.base if value.base is not None else op.inputs[0]  # type: ignore[union-attr]
    return None


def _blends(seen: Observation, nr: int, leaf: Leaf) -> bool:
    """Whether what a weight is written with has a part that is not its own, as `a * p + b * q` has."""
    op = seen.maker(seen.values[nr])
    parts = [_weight(seen, one) for one in op.inputs] if op is not None and op.name in ops.SUMS else []
    return any(part is not leaf for part in parts)


def _overwritten(seen: Observation) -> Iterator[Match]:
    """Weights that an optimizer trains, and that are made like others which nothing ever changes, again and again: a copy the wrong way."""
    lines: dict[int | None, list[tuple[Ran, Leaf, Leaf]]] = {}
    for op in seen.ops:
        if op.name in BLENDS and op.in_place and not op.recorded and op.step and len(op.inputs) > 1:
            to, other = _weight(seen, op.inputs[0]), _weight(seen, op.inputs[1])
            if to is not None and other is not None and to.held and _stays(other) and other.shape == to.shape:
                lines.setdefault(op.line, []).append((op, to, other))
    for found in lines.values():
        turns = len({op.step for op, _, _ in found})
        if turns >= AGAIN:
            names, others = (seen.called(dict.fromkeys(both[n].nr for _, *both in found)) for n in (0, 1))
            yield Match(found[-1][0], names=names, others=others, count=turns)


def _stays(leaf: Leaf) -> bool:
    """Whether nothing changes a weight once the training has begun."""
    return leaf.holder is not None and not leaf.held and all(write.after == 0 for write in leaf.writes)


def _decays(op: Ran) -> bool:
    """Whether it makes a weight smaller by a part of itself, which is a decay by hand."""
    return min(ops.constants(op), default=0.0) < 0


def _not_written(seen: Observation) -> Iterator[Match]:
    """New numbers for a weight that only the variable of a loop gets: the weight stays as it is."""
    for line, last in seen.places.new_in_loops.items():
        ran = [op for one in range(line, last + 1) for op in seen.at(one)]
        made = [op for op in ran if op.outputs and not op.recorded and not seen.users(op.outputs[-1])]
        weights = [_weight(seen, nr) for op in made[-AGAIN:] for nr in op.inputs]
        kept = [one for one in weights if one is not None and not one.held]
        if len(made) >= AGAIN and len(kept) >= AGAIN:
            yield Match(line, names=seen.called({one.nr: None for one in kept}))


def _thrown_away(seen: Observation) -> Iterator[Match]:
    """A call that changes nothing, and whose result nobody keeps."""
    for line, method in seen.places.not_kept.items():
        ran = (op for op in seen.at(line) if op.called == method and op.inputs and op.outputs and not op.in_place)
        made = [op for op in ran if not _of_a_module(seen, op)]
        if len(made) > 1 and not any(seen.users(nr) for op in made for nr in op.outputs):
            yield Match(made[-1], names=[seen.values[made[-1].inputs[0]].name], path=made[-1].inputs[:1])


def _of_a_module(seen: Observation, op: Ran) -> bool:
    """Whether it is a part of `model.double()` or `model.cuda()`, which keeps what it moves."""
    leaf = seen.values[op.inputs[0]].leaf
    return op.name in ops.MOVES and leaf is not None and seen.leaves[leaf].parameter


OWN_STATE = telling("{at}, loads into a module its own state, {text}: nothing changes.",
    "Load the state of the other module there.", kind="not-kept", certain=True, share=0.8)  # fmt: skip
STATE = telling("{at}, takes the state {text}, without a copy: it holds the very tensors that the steps went on changing. What {used} loads is there already.",
    "Copy it when you take it: `copy.deepcopy(model.state_dict())`.", certain=True, share=0.8)  # fmt: skip
ITSELF = telling("{wrote}, takes what {at}, made of {names}, away from {names} itself. The two share their memory and every step changes both, so the difference is always 0.",
    "Keep a copy of the numbers: `.detach().clone()`.", share=0.7)  # fmt: skip
RULES = [
    Rule("alias", _no_copy,
        "{wrote}, writes {names} into itself: what was to follow it is no copy, but the same tensor. {at}, gives it a second name.",
        "Make a copy of its own there: `copy.deepcopy(model)`.", share=0.5),
    Rule("made-anew", _overwritten,
        "{at}, puts the numbers of {others} into {names}, {count} times while it is trained, and nothing ever changes {others}: what was learnt is written over.",
        "Copy the other way round: from what the optimizer trains to what is to follow it.", share=0.5),
    Rule("rebound", _not_written,
        "{at}, gives new numbers to the loop's own variable: {names} {are} not written to, and {get} none of them.",
        "Write into the weight, under no_grad: `p.copy_(…)`.", share=0.5),
    Rule("not-kept", _thrown_away,
        "{at}: `{op}` returns a new tensor and changes nothing, and nobody keeps what it returns.",
        "Give the result a name, `x = x.{op}(…)`; or write in place, where there is a form with an underscore.", share=0.5),
]  # fmt: skip
