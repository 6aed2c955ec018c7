"""Which parameters no step moves, and steps along the gradient."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from viz.diagnosis import families as ops
from viz.diagnosis.observation import Held, Leaf, Observation, Through
from viz.diagnosis.rules.order import AGAIN
from viz.diagnosis.rules.rule import Match, Rule, sentences, telling


def _lost(seen: Observation) -> list[Leaf]:
    """What got gradients, is held by no optimizer although others step, and never changes."""
    last = max((m.order for m in seen.moments if m.kind == "step"), default=0)  # a later pass only measures
    got = (leaf for leaf in (seen.leaves if seen.steps else ()) if leaf.gradients and not leaf.held)
    left = [leaf for leaf in got if seen.passes[leaf.gradients[0][0] - 1].order < last]
    return [leaf for leaf in left if (leaf.parameter or _learns_again(seen, leaf)) and not _changed(leaf)]


def _learns_again(seen: Observation, leaf: Leaf) -> bool:
    """Whether a named tensor got several gradients; an input under study is made anew, or asked for its own."""
    kinds = [seen.passes[nr - 1].kind for nr, _ in leaf.gradients]
    kinds += [run.kind for run in seen.passes if run.kind == "grad" and run.create]  # as of an equation, in its points
    return bool(leaf.name) and not leaf.asked and len(kinds) > 1 and "grad" not in kinds


def _changed(leaf: Leaf) -> bool:
    """Whether an update changed it, or a write between its gradients, as in a target network that copies another."""
    first, last = leaf.gradients[0][0], leaf.gradients[-1][0]
    return any(write.kind == "update" or first <= write.after < last for write in leaf.writes)


def _nobody_steps(seen: Observation) -> Iterator[Match]:
    """What gets gradients and is held by no optimizer: replaced, made anew for each pass, or left out."""
    lost, parts = _lost(seen), Counter(part.line for part in seen.parts)
    plain: dict[tuple[int, str], list[Leaf]] = defaultdict(list)  # by the owner of a list, and its name
    for part in (part for part in seen.parts if not part.registered):
        plain[(*part.parents, part.nr)[0], part.attribute] += [leaf for leaf in lost if leaf.nr in seen.weights(part)]
    # Those that are themselves in a list.
    for leaf in (leaf for leaf in lost if leaf.parameter and leaf.holder is None and "[" in leaf.name):
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
    passing = {part.nr for part in seen.parts if part.called == 1 and parts[part.line] >= AGAIN} | {None}
    fresh = [leaf for leaf in lost if leaf.holder in passing and len(leaf.gradients) == 1 and leaf.line is not None]
    if stale := [leaf for leaf in lost if _replaced(seen, leaf) and (leaf not in fresh or len(fresh) < AGAIN)]:
        names, first = seen.called(leaf.nr for leaf in stale), seen.optimizers[0]
        yield Match(_put_in(seen, stale[0]), [first], names=names, made=first.line, given=STALE)
        return
    lines = {seen.origin(leaf) for leaf in fresh}
    if len(fresh) > 1 and len(lines) == 1:
        yield Match(lines.pop(), count=len(fresh), given=telling(*SAID["each-pass"]))
    # what one pass alone reached, of which no step made use, is only looked at
    looked_at = (leaf for leaf in lost if len(leaf.gradients) == 1 and not seen.passes[leaf.gradients[0][0] - 1].used)
    spared = {leaf.nr for leaf in (*fresh, *looked_at)}
    left = [leaf for leaf in lost if leaf.nr not in spared]
    if left:
        optimizer, held = _nearest(seen, left), {nr for each in seen.optimizers for nr in each.leaves}
        how = "" if left[0].parameter else " A module registers only Parameters: `self.w = T.nn.Parameter(…)`."
        untouched = sum(all(write.kind == "init" for write in leaf.writes) for leaf in left)
        count, names = len(left[0].gradients), seen.called(leaf.nr for leaf in left)
        told = {"share": untouched / max(1, untouched + len(held))}
        yield Match(optimizer, names=names, count=count, kind=optimizer.kind, how=how, given=told)


WORDS = """
unregistered: {at}, keeps modules in a plain list or dict of {owner}, which parameters() does not look into. {names} got
    gradients, but no optimizer holds them: they never change.
    Fix: Keep them in nn.ModuleList: `self.{attribute} = T.nn.ModuleList([…])`.
stale: {at}, creates new parameters after the optimizer was made in line {made}. The optimizer still holds the old ones,
    which no op uses any more. {names} {get} gradients but never change.
    Fix: Make the optimizer after that, or make it anew there.
each-pass: {at}, made a new parameter for each of {count} passes: none of them is held by an optimizer, and what a
    gradient says of one is lost with it.
    Fix: Make it once, in __init__, and use it in forward: `self.w = T.nn.Parameter(…)`.
not-in-optimizer: {names} got gradients in {count} backward passes but never changed: no optimizer holds {them}. {at},
    the {kind}, holds others.
    Fix: Give it to the optimizer too.{how} If it is frozen on purpose, switch its requires_grad off.
reversed: Each of {count} steps went along the gradient from backward() instead of against it, and the loss rises:
    {first} → {last}. {at}, {how}.
    Fix: Leave the sign of the gradient to the optimizer, which subtracts it; by hand, subtract it too.
"""
SAID = sentences(WORDS)
UNREGISTERED = telling(*SAID["unregistered"], kind="unregistered", certain=True, share=1.0)
STALE = telling(*SAID["stale"], kind="stale-optimizer", certain=True, share=1.0)


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
    """The optimizer that should hold them: it steps after their passes; of two with the same leaves, the later one."""
    turns = Counter(seen.stepped_by(seen.passes[nr - 1]) for nr in {nr for leaf in lost for nr, _ in leaf.gradients})
    alike = Counter(frozenset(held.leaves) for held in seen.optimizers)
    twins = [held for held in seen.optimizers if alike[frozenset(held.leaves)] > 1]
    roots = {seen.leaves[leaf.nr].name.partition(".")[0] for leaf in lost} - {""}
    meant = (twin for twin in twins if any(root in seen.places.assigned(twin.line or 0) for root in roots))
    return next(meant, twins[-1]) if twins else max(seen.optimizers, key=lambda held: turns[held.nr])


def _along_the_gradient(seen: Observation) -> Iterator[Match]:
    """Steps of an optimizer, or updates by hand, that all go along the gradient, while the loss rises."""
    for who, own in seen.trainings():
        first, last = own[0].loss or 0.0, own[-1].loss or 0.0
        if last > first:
            by_hand = who is None or not 0 <= who < len(seen.optimizers)
            match = _updates_along(seen, own) if by_hand else _steps_along(seen, seen.optimizers[who or 0], own)
            if match is not None:
                match.told |= {"first": first, "last": last}
                yield match


def _updates_along(seen: Observation, own: list[Through]) -> Match | None:
    """Updates by hand that all add the gradient of what learns, and not of an input, as an attack does."""
    learning = [leaf for leaf in seen.leaves if leaf.parameter or not seen.parts]
    writes = [(leaf.nr, write) for leaf in learning for write in leaf.writes if write.kind == "update"]
    if not writes or not all(write.ascent for _, write in writes):
        return None
    return Match(writes[0][1], names=seen.called(nr for nr, _ in writes), count=len(own), how="adds the gradient")


def _steps_along(seen: Observation, held: Held, own: list[Through]) -> Match | None:
    """Steps of an optimizer along the gradient: it maximises an error, or something turned the gradient's sign."""
    steps = [m for m in seen.moments if m.kind == "step" and m.who == held.nr and not m.empty]
    meant = held.maximises and not any(op.name in ops.ERRORS for op in ops.makers(seen, own[-1].roots))
    if len(steps) < AGAIN or not all(step.uphill for step in steps) or meant:
        return None
    of_grad = (op for op in seen.ops if op.in_place and op.inputs and seen.values[op.inputs[0]].of_grad is not None)
    turned = [line for nr, line in seen.hooks if nr in held.leaves] + [op.line for op in of_grad]
    line = held.line if held.maximises else (*turned, steps[0].line)[0]
    how = "asks for that: maximize=True" if held.maximises else "reverses the sign"
    return Match(line, [steps[0]], names=seen.called(held.leaves), count=len(steps), how=how)


RULES = [
    Rule("not-in-optimizer", _nobody_steps, *SAID["not-in-optimizer"]),
    Rule("reversed", _along_the_gradient, *SAID["reversed"]),
]
