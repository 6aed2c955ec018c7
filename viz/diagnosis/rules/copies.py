"""Copies that are none: they share the storage of the original."""

from __future__ import annotations

from collections.abc import Iterator

from viz.diagnosis import families as ops
from viz.diagnosis.observation import Leaf, Observation, Ran
from viz.diagnosis.rules.memory import sharing
from viz.diagnosis.rules.rule import Match, Rule, sentences, telling

BLENDS = {"copy_", "lerp", "add"}  # in place: what makes one weight follow another
PAST = (ops.TURNS - {"clone"}) | ops.FACTORS | ops.SUMS | {"detach", "data"}  # a clone may be of what it was before


def _no_copy(seen: Observation) -> Iterator[Match]:
    """A copy that is the same tensor: a state that later steps changed, or a weight that should follow others."""
    for alias in seen.aliases:
        at_once = alias.line == alias.used  # taken and loaded in one line
        named = seen.places.where_aliased([alias.line or 0]) if at_once else None
        used = f"line {alias.used}, `{seen.places.code(alias.used)}`," if alias.used else ""
        own = at_once and named is None
        yield Match(named or alias.line, [alias.used], text=alias.text, used=used, given=OWN_STATE if own else STATE)
    for op in (op for op in seen.ops if op.name in ops.DIFFERENCES and len(op.inputs) == 2):
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
        if value.base is not None:
            nr = value.base
        elif op is None or op.name not in PAST or not op.inputs:
            break
        else:
            nr = op.inputs[0]
    return None


def _blends(seen: Observation, nr: int, leaf: Leaf) -> bool:
    """Whether the value written into a weight is partly another tensor's, as `a * p + b * q` is."""
    op = seen.maker(seen.values[nr])
    parts = [_weight(seen, source) for source in op.inputs] if op is not None and op.name in ops.SUMS else []
    return any(part is not leaf for part in parts)


def _decays(op: Ran) -> bool:
    """Whether an op shrinks a weight by a share of itself: weight decay by hand."""
    return min(ops.constants(op), default=0.0) < 0


WORDS = """
own-state: {at}, loads into a module its own state, {text}: nothing changes.
    Fix: Load the state of the other module there.
state: {at}, takes the state {text}, without a copy: it holds the very tensors that the steps went on changing. What
    {used} loads is there already.
    Fix: Copy it when you take it: `copy.deepcopy(model.state_dict())`.
itself: {wrote}, takes what {at}, made of {names}, away from {names} itself. The two share their memory and every step
    changes both, so the difference is always 0.
    Fix: Keep a copy of the numbers: `.detach().clone()`.
alias: {wrote}, writes {names} into itself: what was to follow it is no copy, but the same tensor. {at}, gives it a
    second name.
    Fix: Make a copy of its own there: `copy.deepcopy(model)`.
"""
SAID = sentences(WORDS)
OWN_STATE = telling(*SAID["own-state"], kind="not-kept", certain=True, share=0.8)
STATE = telling(*SAID["state"], certain=True, share=0.8)
ITSELF = telling(*SAID["itself"], share=0.7)
RULES = [Rule("alias", _no_copy, *SAID["alias"], share=0.5)]
