"""What was to be a copy and is none, weights that are to follow others and do not, results that nobody keeps."""

from __future__ import annotations

from collections.abc import Iterator

from viz.diagnosis import families as ops
from viz.diagnosis.observation import Leaf, Observation, Part, Ran, first_and_last
from viz.diagnosis.rules.memory import sharing
from viz.diagnosis.rules.rule import Match, Rule, telling

BLENDS = {"copy_", "lerp", "add"}  # in place: what makes one weight follow another
PAST = (ops.TURNS - {"clone"}) | ops.FACTORS | ops.SUMS | {"detach", "data"}  # a clone may be of what it was before
HALF = 0.5  # of new numbers: slow weights take less
MANY = 20  # steps, at least, in which a copy should be brought up to date
AGAIN = 3  # times that show that it is always so


def _copies(seen: Observation) -> Iterator[Match]:
    """What was to be a copy, and to follow or to stay, and does not."""
    yield from (*_no_copy(seen), *_overwritten(seen), *_follows_at_once(seen), *_follows_never(seen))


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
    views = [value for nr in op.inputs if (value := seen.values[nr]).leaf is None]
    second = min(views, key=lambda value: value.base or value.nr, default=None)
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
            yield Match(found[-1][0], names=names, others=others, count=turns, given=OVER)


def _follows_at_once(seen: Observation) -> Iterator[Match]:
    """Slow weights, which no optimizer holds, that take most of the new numbers each time."""
    shares: dict[int | None, list[tuple[Ran, Leaf, float]]] = {}
    for op in (one for one in seen.ops if one.name in BLENDS | {"data"} and one.step and len(one.inputs) > 1):
        slow = _weight(seen, op.inputs[0]) if not op.recorded and (op.in_place or op.name == "data") else None
        share = _new(seen, op) if slow is not None and not slow.held and slow.holder is not None else None
        if share is not None and slow is not None:
            shares.setdefault(op.line, []).append((op, slow, share))
    for found in shares.values():
        op, _, share = found[-1]
        if len({one.step for one, _, _ in found}) >= AGAIN and HALF < share < 1 and found[0][2] == share:
            yield Match(op, names=seen.called(slow.nr for _, slow, _ in found), share=f"{share:.3g}", given=FAST)
            return


def _follows_never(seen: Observation) -> Iterator[Match]:
    """A copy of a network that had not learnt yet, at which a loss aims, and that nothing ever brings up to date."""
    whole_first = sorted(seen.parts, key=lambda part: -len(seen.weights(part))) if seen.steps >= MANY else []
    for part in whole_first:
        leaves = [seen.leaves[nr] for nr in seen.weights(part)]
        if not leaves or not all(_stays(leaf) and not leaf.gradients for leaf in leaves):
            continue
        twin, ran = _twin(seen, part), {one.line or 0 for leaf in leaves for one in leaf.writes}
        used = {nr for leaf in leaves for one in leaf.used_by for nr in seen.ops[one].outputs}
        aims = any(used & seen.behind(each) for each in first_and_last(seen.passes))
        if twin is not None and aims and not seen.places.may_write(ran):
            own, other = part.path or part.kind, twin.path or twin.kind
            made = max(ran, default=0) or part.line or seen.places.where_given(part.path)
            yield Match(made, names=[own], twin=other, count=seen.steps, given=NEVER)
            return


def _new(seen: Observation, op: Ran) -> float | None:
    """The share of a weight that an optimizer trains, in what a blend writes: `a * slow + b * new`, `slow.lerp_(new, b)`."""
    trained = [leaf is not None and bool(leaf.held) for leaf in (_weight(seen, nr) for nr in op.inputs[1:2])]
    if op.name == "lerp" or (op.name == "add" and "alpha" in op.options):
        return (*ops.constants(op), None)[0] if any(trained) else None
    made = ops.source(seen, op.inputs[1], ops.TURNS | {"detach", "data"})[1]
    for nr in made.inputs if made is not None and made.name in ops.SUMS else ():
        maker, leaf = seen.maker(seen.values[nr]), _weight(seen, nr)
        if leaf is not None and leaf.held and maker is not None and maker.name in ops.PRODUCTS:
            return (*ops.constants(maker), None)[0]
    return None


def _twin(seen: Observation, part: Part) -> Part | None:
    """A module of the same kind that is trained, and began with the same numbers."""

    def began(one: Part) -> list[tuple[tuple[int, ...], float | None]]:
        """The shapes of its weights, and what they held when they were used first."""
        used = [leaf for nr in seen.weights(one) if (leaf := seen.leaves[nr]).used_by]
        first = [(leaf, nr) for leaf in used for nr in seen.ops[leaf.used_by[0]].inputs if _weight(seen, nr) is leaf]
        return [(leaf.shape, seen.values[nr].peak) for leaf, nr in first]

    own = began(part)
    for one in (one for one in seen.parts if one is not part and one.kind == part.kind):
        if own and began(one) == own and any(seen.leaves[nr].gradients for nr in seen.weights(one)):
            return one
    return None


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


OVER = telling("{at}, puts the numbers of {others} into {names}, {count} times while it is trained, and nothing ever changes {others}: what was learnt is written over.",
    "Copy the other way round: from what the optimizer trains to what is to follow it.", kind="made-anew", share=0.5)  # fmt: skip
FAST = telling("{at}: of what it writes into {names}, which are to follow slowly, {share} is new: they take nearly all of each step.",
    "Keep most of what was there: `slow = 0.99 * slow + 0.01 * new`.", share=0.5)  # fmt: skip
NEVER = telling("{at}, makes {names} a copy of {twin}. In {count} steps nothing brings it up to date, and what it answers is what the loss aims at: that is still what the untrained "
        "network says.",
    "Copy the weights again every so many steps, `target.load_state_dict(online.state_dict())`, or a little of them after each.", share=0.5)  # fmt: skip
OWN_STATE = telling("{at}, loads into a module its own state, {text}: nothing changes.",
    "Load the state of the other module there.", kind="not-kept", certain=True, share=0.8)  # fmt: skip
STATE = telling("{at}, takes the state {text}, without a copy: it holds the very tensors that the steps went on changing. What {used} loads is there already.",
    "Copy it when you take it: `copy.deepcopy(model.state_dict())`.", certain=True, share=0.8)  # fmt: skip
ITSELF = telling("{wrote}, takes what {at}, made of {names}, away from {names} itself. The two share their memory and every step changes both, so the difference is always 0.",
    "Keep a copy of the numbers: `.detach().clone()`.", share=0.7)  # fmt: skip
RULES = [
    Rule("alias", _copies,
        "{wrote}, writes {names} into itself: what was to follow it is no copy, but the same tensor. {at}, gives it a second name.",
        "Make a copy of its own there: `copy.deepcopy(model)`.", share=0.5),
    Rule("rebound", _not_written,
        "{at}, gives new numbers to the loop's own variable: {names} {are} not written to, and {get} none of them.",
        "Write into the weight, under no_grad: `p.copy_(…)`.", share=0.5),
    Rule("not-kept", _thrown_away,
        "{at}: `{op}` returns a new tensor and changes nothing, and nobody keeps what it returns.",
        "Give the result a name, `x = x.{op}(…)`; or write in place, where there is a form with an underscore.", share=0.5),
]  # fmt: skip
