"""Wrong but silent: writes behind autograd's back, a backward that disagrees with numbers, steps uphill, a layer used twice."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from viz.diagnosis.families import ERRORS, KEEPS_NOTHING, KEEPS_RESULT
from viz.diagnosis.functions import FAR
from viz.diagnosis.observation import Held, Leaf, Observation, Seen, Through
from viz.diagnosis.rules.rule import Match, Rule


def _data_writes(seen: Observation) -> Iterator[Match]:
    """A write through .data to what a later backward() needs."""
    writes = [(op, _behind_data(seen, seen.values[op.inputs[0]])) for op in seen.ops if op.in_place and op.inputs]
    if all(source is None for _, source in writes):
        return
    first: dict[int, Through] = {}  # pass that goes back through a value
    views: dict[int, list[int]] = {}  # such as w.t()
    for each in (one for one in seen.passes if one.done):
        for nr in seen.recorded(each):
            first.setdefault(nr, each)
    for value in seen.values:
        if value.base is not None and value.requires_grad:
            views.setdefault(value.base, []).append(value.nr)
    for op, source in writes:
        if source is None:
            continue
        values = {source.nr} if source.leaf is None else set(seen.leaves[source.leaf].values)
        taken = sorted(values.union(*(views.get(nr, ()) for nr in values)))
        takers = [user for nr in taken for user in seen.users(nr) if user.nr < op.nr and user.recorded]
        keepers = [user for user in takers if user.name not in KEEPS_NOTHING]
        maker = seen.maker(source) if source.leaf is None else None
        if maker is not None and maker.name in KEEPS_RESULT:
            keepers.append(maker)
        for user in keepers:
            later = next((first[nr] for nr in user.outputs if nr in first and first[nr].ops > op.nr), None)
            if later is not None:
                names = seen.called([source.leaf]) if source.leaf is not None else [source.name]
                yield Match(
                    op, [user, later], names=names, path=[source.nr, *user.outputs[:1]], cut=source.nr,
                    what=user.name, at_use=user.line, back=later.line,
                )  # fmt: skip
                break


def _checked(seen: Observation) -> Iterator[Match]:
    """A custom Function whose backward differs from numerical derivatives of its forward."""
    for check in seen.functions:
        if check.worst < FAR or ((check.flat or check.identity) and not check.missing):
            continue  # the slope of what is flat, or of what gives back its input, is only ever changed on purpose
        span = seen.places.defined(check.name, "backward")
        stands_in = check.flat or check.identity  # a straight-through estimator, or a gradient reversed on purpose
        more = " The sign is reversed." if check.opposite else ""
        more += " The forward is flat there, so this may be a straight-through estimator." if check.flat else ""
        more += " The forward returns its input, so this may be intended." if check.identity and not check.flat else ""
        yield Match(
            check.line, [*([span[1]] if span else []), check.call], names=[check.name], text=check.text, more=more,
            what="gives no gradient for" if check.missing else "disagrees with",
            given={"certain": not stands_in, "share": 0.2 if stands_in else 0.9},
        )  # fmt: skip


def _aliases(seen: Observation) -> Iterator[Match]:
    """A state that was not copied: it holds the very tensors that the steps went on changing."""
    for one in seen.aliases:
        named = seen.places.where_aliased([one.line or 0]) if one.line == one.used else None  # taken and loaded at once
        used = f"line {one.used}, `{seen.places.code(one.used)}`," if one.used else ""
        yield Match(named or one.line, [one.used], text=one.text, used=used)


def _uphill(seen: Observation) -> Iterator[Match]:
    """Updates by hand that add the gradient."""
    writes = [(leaf, write) for leaf in seen.leaves for write in leaf.writes if write.kind == "update" and write.ascent]
    losses = [each.loss for each in seen.passes if each.loss is not None and not each.create]
    rises = sum(b > a for a, b in itertools.pairwise(losses))
    if (
        not writes
        or len(losses) < 2
        or rises < 0.6 * (len(losses) - 1)
        or _on_purpose(seen, [one for one, _ in writes])
    ):
        return
    names = seen.called(dict.fromkeys(leaf.nr for leaf, _ in writes))
    words = "{at}, adds the gradient to {names}, which goes uphill: {first} → {last} in {count} passes."
    given = {"words": words, "fix": "Subtract it to make the loss smaller."}
    yield Match(writes[0][1], names=names, first=losses[0], last=losses[-1], count=len(losses), given=given)


def _on_purpose(seen: Observation, leaves: list[Leaf]) -> bool:
    """Whether it is an input of a network that goes uphill, as in a dream or an attack, and the network itself stays as it is."""
    if any(leaf.parameter for leaf in leaves) or seen.optimizers:
        return False
    others = [leaf for leaf in seen.leaves if leaf.holder is not None and leaf.used_by]
    return bool(others) and not any(write.kind in ("update", "step") for leaf in others for write in leaf.writes)


def _steps_uphill(seen: Observation) -> Iterator[Match]:
    """An optimizer whose every step goes along the gradient, while the loss rises."""
    trainings = seen.trainings()
    for who, own in trainings:
        losses = [each.loss or 0.0 for each in own]
        if who is None or who >= len(seen.optimizers) or len(losses) < 3 or not losses[-1] > losses[0]:
            continue
        held = seen.optimizers[who]
        steps = [m for m in seen.moments if m.kind == "step" and m.who == who and not m.empty]
        root = seen.maker(seen.values[own[-1].roots[0]]) if own[-1].roots else None
        meant = held.maximises and (root is None or root.name not in ERRORS)  # an objective that should grow
        if len(steps) < 3 or not all(step.uphill for step in steps) or meant:
            continue
        written = [
            op.line for op in seen.ops if op.in_place and op.inputs and seen.values[op.inputs[0]].of_grad is not None
        ]
        hooked = [line for nr, line in seen.hooks if nr in held.leaves]
        line = held.line if held.maximises else next(iter((*hooked, *written)), steps[0].line)
        how = "asks for that: maximize=True" if held.maximises else "reverses the sign"
        names = seen.called(held.leaves)
        yield Match(line, [steps[0]], names=names, count=len(steps), first=losses[0], last=losses[-1], how=how)


def _all_uphill(seen: Observation) -> Iterator[Match]:
    """Steps along the gradient, by hand or by an optimizer."""
    yield from _uphill(seen)
    yield from _steps_uphill(seen)


def _used_twice(seen: Observation) -> Iterator[Match]:
    """A layer that two lines of one forward pass use, beside one of the same shape that none does."""
    shapes = {part.nr: [seen.leaves[nr].shape for nr in seen.weights(part)] for part in seen.parts}
    idle = [part for part in seen.parts if not part.called and part.registered and shapes[part.nr]]
    for part in (one for one in idle if not any(seen.leaves[nr].used_by for nr in seen.weights(one))):
        for twin in seen.parts:
            alike = twin.nr != part.nr and twin.called and twin.kind == part.kind and shapes[twin.nr] == shapes[part.nr]
            if not alike or not set(twin.parents) & set(part.parents):
                continue
            used = [seen.ops[nr] for leaf in seen.weights(twin)[:1] for nr in seen.leaves[leaf].used_by]
            lines = list(dict.fromkeys(op.line for op in used))
            if len(lines) < 2:
                continue
            short, other = part.path.rpartition(".")[2], twin.path.rpartition(".")[2]
            code, both = seen.places.code(lines[-1]), " and ".join(map(str, lines))
            changed = code.replace(f"self.{other}", f"self.{short}")
            given = IDLE | ({"change": (code, changed)} if changed != code else {})
            names = [part.path or part.kind]
            yield Match(lines[-1], lines[::-1], names=names, both=both, twin=twin.path, short=short, given=given)
            break


def _shared_by_mistake(seen: Observation) -> Iterator[Match]:
    """One layer where two were meant: by two lines, or by a list that repeats it."""
    yield from _used_twice(seen)
    yield from _repeated(seen)


def _repeated(seen: Observation) -> Iterator[Match]:
    """One layer under several names of one container: the same weights in each place."""
    for part in (one for one in seen.parts if one.repeated > 1 and one.called and seen.weights(one)):
        holder = next((one for one in (seen.parts[nr] for nr in part.parents) if one.line is not None), None)
        line = part.line if holder is None or seen.places.multiplies_a_list(part.line) else holder.line
        if holder is not None and not seen.places.repeats(line):
            added = seen.places.where_called(f"self.{holder.path.rpartition('.')[2]}", "append")
            line = added if seen.places.loops(added) else line
        numbered = len({re.sub(r"\d+", "", name) for name in part.names}) == 1 and not part.names[0].isdigit()
        if not (seen.places.repeats(line) or seen.places.loops(line)):
            if not numbered:
                continue  # one by one, and by name: weights are shared on purpose
            line = seen.places.where_given(f"self.{part.names[-1]}") or line
        made = f"{'T.nn.' if part.library else ''}{part.kind}"
        given = {"words": REPEATED, "fix": "Make one for each place: `[{made}(…) for _ in range({times})]`."}
        yield Match(line, [part], names=[part.path], made=made, times=part.repeated, given=given)


def _unseeded(seen: Observation) -> Iterator[Match]:
    """The same lines trained twice, the same model from other random numbers: what differs is not what was changed."""
    for line, found in _runs(seen):
        first, second = found[0], found[-1]
        turns = [m.who for m in seen.moments if m.kind == "step" and m.who in (first.nr, second.nr)]
        if turns != sorted(turns):
            continue  # two parts of one training run, which take their steps in turn
        compared = (
            (first.rate, first.settings, first.stack[-1:]) != (second.rate, second.settings, second.stack[-1:])
            or _kinds(seen, first) != _kinds(seen, second)
            or (_first_data(seen, first) == _first_data(seen, second) != [] and not _both_used(seen, first, second))
        )
        shapes = [[seen.leaves[nr].shape for nr in held.leaves] for held in (first, second)]
        if len(found) < 2 or shapes[0] != shapes[1] or not compared:
            continue
        began = [next((e for e in seen.passes if set(held.leaves) & set(e.got)), None) for held in (first, second)]
        if began[0] is None or began[1] is None or began[0].loss is None or began[1].loss in (None, began[0].loss):
            continue
        if first.line != second.line and (began[0].line != began[1].line or first.settings == second.settings):
            continue  # two models of one class, for two purposes
        loaded = [write for nr in second.leaves for write in seen.leaves[nr].writes if write.name == "load_state_dict"]
        if loaded and loaded[0].after < began[1].nr:
            continue  # it goes on from a checkpoint
        if any(seen.values[nr].leaf in first.leaves for nr in seen.above(began[1].roots)):
            continue  # the second learns from what the first answers
        if any(moment.kind == "seed" and moment.order > began[0].order for moment in seen.moments):
            continue
        maker = seen.leaves[first.leaves[0]].line or line
        what = "an optimizer" if first.line == line else "a model"
        yield Match(maker, [line], count=len(found), line=line, what=what, first=began[0].loss, second=began[1].loss)
        return


def _behind_data(seen: Observation, value: Seen) -> Seen | None:
    """The value whose memory is written to through `.data`, or None."""
    through = False
    for _ in range(20):
        op = seen.maker(value)
        if op is not None and op.name == "data" and not op.in_place:
            through = True
        if value.base is None:
            break
        value = seen.values[value.base]
        if through and value.requires_grad:
            return value
    return None


def _kinds(seen: Observation, held: Held) -> list[str]:
    """The classes of the layers that a run trains, and of those beside them: two activations may be what is compared."""
    around = {
        nr
        for leaf in held.leaves
        if (holder := seen.leaves[leaf].holder) is not None
        for nr in seen.parts[holder].parents
    }
    return sorted(part.kind for part in seen.parts if around & set(part.parents))


def _runs(seen: Observation) -> Iterator[tuple[int, list[Held]]]:
    """Optimizers that one line made, and those of models that one line made: what may be several runs of one training."""
    by_line: dict[int, list[Held]] = {}
    by_model: dict[int, list[Held]] = {}
    for held in seen.optimizers:
        if held.line is not None and held.made_here and held.leaves:
            by_line.setdefault(held.line, []).append(held)
            if (model := seen.leaves[held.leaves[0]].line) is not None:
                by_model.setdefault(model, []).append(held)
    yield from by_line.items()
    yield from ((line, found) for line, found in by_model.items() if len({held.line for held in found}) > 1)


def _first_data(seen: Observation, held: Held) -> list[tuple[tuple[int, ...], float | None, float | None]]:
    """The size of the data that the first recorded op of a run's first parameter takes: folds have each their own."""
    first = next((seen.ops[nr] for nr in seen.leaves[held.leaves[0]].used_by if seen.ops[nr].recorded), None)
    taken = (seen.values[nr] for nr in (first.inputs if first is not None else ()))
    return [(value.shape, value.peak, value.low) for value in taken if value.leaf is None]


def _both_used(seen: Observation, *runs: Held) -> bool:
    """True if all are evaluated after the last pass, as the members of an ensemble are."""
    end = max((each.ops for each in seen.passes), default=0)
    return all(any(nr >= end for nr in seen.leaves[held.leaves[0]].used_by) for held in runs)


IDLE = {
    "words": "Lines {both} both use {twin}, and nothing uses {names}, which has the same shape.",
    "fix": "Use {short} in one of the two, if that was intended.",
}
REPEATED = "{at}, puts one {made} into {times} places: this does not copy the layer, so all of them share its weights."
RULES = [
    Rule("data-write", _data_writes,
        "{at}, writes through .data over {names} that `{what}` in line {at_use} had saved. Nothing is checked there: backward() in line {back} computed with "
        "the new numbers, and its gradients are wrong.",
        "Write after backward(), or write under no_grad() without .data: then the engine raises an error instead of computing a wrong gradient.",
        certain=True),
    Rule("wrong-backward", _checked, "The backward of {names} {what} what its own forward does: {text}.{more}",
        "Check it against measured slopes while you write it: `T.autograd.gradcheck(F.apply, inputs)` in float64."),
    Rule("reversed", _all_uphill,
        "Each of {count} steps went along the gradient from backward() instead of against it, and the loss rises: {first} → {last}. {at}, {how}.",
        "Leave the sign of the gradient to the optimizer, which subtracts it.", change=lambda code, match: code.replace("+=", "-=")),
    Rule("used-twice", _shared_by_mistake, share=0.6),
    Rule("unseeded", _unseeded,
        "The same training ran {count} times (line {line} made {what} each time). {at}, drew other random numbers each time: the first loss is {first} in one "
        "run and {second} in another. Part of what differs between them is chance.",
        "Seed before each run that you compare, `T.manual_seed(0)`, and give a shuffling loader its own generator; or average over several seeds.", share=0.1),
    Rule("alias", _aliases,
        "{at}, takes the state {text}, without a copy: it holds the very tensors that the steps went on changing. What {used} loads is there already.",
        "Copy it when you take it: `copy.deepcopy(model.state_dict())`.", certain=True, share=0.8),
]  # fmt: skip
