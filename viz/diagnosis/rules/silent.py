"""Wrong but silent: writes behind autograd's back, a backward that disagrees with numbers, steps uphill, a layer used twice."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from viz.diagnosis.families import ERRORS, KEEPS_NOTHING, KEEPS_RESULT
from viz.diagnosis.finding import Finding, listed, number
from viz.diagnosis.functions import FAR
from viz.diagnosis.observation import Held, Leaf, Observation, Seen, Through


def find(seen: Observation) -> Iterator[Finding]:
    """Causes that no engine reports."""
    yield from _data_writes(seen)
    yield from _functions(seen)
    yield from _uphill(seen)
    yield from _steps_uphill(seen)
    yield from _used_twice(seen)
    yield from _repeated(seen)
    yield from _unseeded(seen)
    yield from _aliases(seen)


def _data_writes(seen: Observation) -> Iterator[Finding]:
    told = set()
    for op in seen.ops:
        if not op.in_place or not op.inputs or op.line in told:
            continue
        source = _behind_data(seen, seen.values[op.inputs[0]])
        if source is None:
            continue
        values = {source.nr} if source.leaf is None else set(seen.leaves[source.leaf].values)
        for value in seen.values:  # views of it, such as w.t()
            if value.base in values and value.requires_grad:
                values.add(value.nr)
        for each in seen.passes:
            if each.ops <= op.nr or not each.done:
                continue
            behind = seen.recorded(each)
            earlier = {
                nr
                for one in seen.passes
                if one.nr < each.nr and one.done and one.ops <= op.nr
                for nr in seen.recorded(one)
            }
            users = [
                user
                for user in seen.ops[: op.nr]
                if values & set(user.inputs)
                and user.recorded
                and user.name not in KEEPS_NOTHING
                and set(user.outputs) & (behind - earlier)
            ]
            maker = seen.maker(source)
            kept = (
                source.leaf is None
                and source.nr in behind - earlier
                and maker is not None
                and maker.name in KEEPS_RESULT
            )
            if not users and not kept:
                continue
            told.add(op.line)
            user = users[0] if users else maker
            assert user is not None
            names = seen.called([source.leaf]) if source.leaf is not None else [source.name] if source.name else []
            yield Finding(
                "data-write", op.line, True,
                f"Line {op.line}, `{seen.places.code(op.line)}`, writes through .data over {listed(names) if names else 'a value'} that `{user.name}` in line "
                f"{user.line} had saved. Nothing is checked there: backward() in line {each.line} computed with the new numbers, and its "
                "gradients are wrong.",
                "Write after backward(), or write under no_grad() without .data: then the engine raises an error "
                "instead of computing a wrong gradient.",
                names, [op.line or 0, user.line or 0, each.line or 0], 7, where=op.where, path=[source.nr, *user.outputs[:1]], cut=source.nr,
                share=0.9,
            )  # fmt: skip
            break


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


def _functions(seen: Observation) -> Iterator[Finding]:
    for check in seen.functions:
        if check.worst < FAR or (check.flat and not check.missing) or (check.identity and not check.missing):
            continue  # the slope of what is flat, or of what gives back its input, is only ever changed on purpose
        span = seen.places.defined(check.name, "backward")
        line = check.line
        stands_in = check.flat or check.identity  # a straight-through estimator, or a gradient reversed on purpose
        what = "gives no gradient for" if check.missing else "disagrees with"
        yield Finding(
            "wrong-backward", line, not stands_in,
            f"The backward of {check.name}{f' in line {line}' if line else ''} {what} what its own forward does: {check.text}."
            + (" The sign is reversed." if check.opposite else "")
            + (" The forward is flat there, so this may be a straight-through estimator." if check.flat else "")
            + (" The forward returns its input, so this may be intended." if check.identity and not check.flat else ""),
            "Check it against measured slopes while you write it: `T.autograd.gradcheck(F.apply, "
            "inputs)` in float64.", [check.name],
            [line or 0, *([span[1]] if span else []), check.call or 0], 7, share=0.9 if not stands_in else 0.2,
        )  # fmt: skip


def _aliases(seen: Observation) -> Iterator[Finding]:
    """Two names for one network or one state, where a copy was intended."""
    two_names = any(one.kind != "state" for one in seen.aliases)
    for one in seen.aliases:
        if two_names and one.kind == "state" and one.line == one.used:
            continue  # loaded as it was taken, so it changes nothing: the two names already explain it
        code = seen.places.code(one.line)
        if one.kind == "shallow" and seen.steps:
            yield Finding(
                "alias", one.line, True,
                f"Line {one.line}, `{code}`, copies {one.text} with copy.copy(): the second network is new, and the parameters in it are those of the "
                f"first. All {seen.steps} steps changed both.",
                "Copy the parameters too: `copy.deepcopy(…)`.", [], [one.line or 0], 7,
                (code, code.replace("copy.copy(", "copy.deepcopy(")) if "copy.copy(" in code else None, share=0.8,
            )  # fmt: skip
        elif one.kind == "data" and seen.steps:
            yield Finding(
                "alias", one.line, False,
                f"Line {one.line}, `{code}`, does not copy: {one.text}, and all that follow, have one memory from there on. Each step changes both.",
                "Write the numbers into its own memory: `target.data.copy_(source.data)`, or load_state_dict().", [], [one.line or 0], 7,
                (code, re.sub(r"\.data = (.+)$", r".data.copy_(\1)", code)) if ".data = " in code else None, share=0.8,
            )  # fmt: skip
        elif one.kind == "state":
            yield Finding(
                "alias", one.line, True,
                f"Line {one.line}, `{code}`, takes the state {one.text}, without a copy: it holds the very tensors that the steps went on "
                f"changing. Line {one.used}, `{seen.places.code(one.used)}`, loads what is there already.",
                "Copy it when you take it: `copy.deepcopy(model.state_dict())`.", [], [one.line or 0, one.used or 0], 7, share=0.8,
            )  # fmt: skip
        elif seen.steps:
            yield Finding(
                "alias", one.line, False,
                f"Line {one.line}, `{code}`: {one.text} are two names of one network. Whatever changes one changes the other.",
                "Make a copy: `copy.deepcopy(…)`, or a second network with load_state_dict().", [], [one.line or 0], 7, share=0.7,
            )  # fmt: skip


def _uphill(seen: Observation) -> Iterator[Finding]:
    writes = [(leaf, write) for leaf in seen.leaves for write in leaf.writes if write.kind == "update" and write.ascent]
    if not writes or _climbs_on_purpose(seen, [leaf for leaf, _ in writes]):
        return
    losses = [each.loss for each in seen.passes if each.loss is not None and not each.create]
    rises = sum(b > a for a, b in itertools.pairwise(losses))
    if len(losses) < 2 or rises < 0.6 * (len(losses) - 1):
        return
    line = writes[0][1].line
    code = seen.places.code(line)
    names = seen.called(dict.fromkeys(leaf.nr for leaf, _ in writes))
    yield Finding(
        "reversed", line, False,
        f"Line {line}, `{code}`, adds the gradient to {listed(names)}, which goes uphill: {number(losses[0])} → {number(losses[-1])} in {len(losses)} "
        "passes.",
        "Subtract it to "
        "make the loss "
        "smaller.", names, [line or 0], 7, (code, code.replace("+=", "-=")) if "+=" in code else None, share=0.9,
    )  # fmt: skip


def _climbs_on_purpose(seen: Observation, leaves: list[Leaf]) -> bool:
    """Whether it is an input of a network that goes uphill, as in a dream or an attack, and the network itself stays as it is."""
    if any(leaf.parameter for leaf in leaves) or seen.optimizers:
        return False
    others = [leaf for leaf in seen.leaves if leaf.holder is not None and leaf.used]
    return bool(others) and not any(write.kind in ("update", "step") for leaf in others for write in leaf.writes)


def _steps_uphill(seen: Observation) -> Iterator[Finding]:
    """An optimizer whose every step goes along the gradient, while the loss rises."""
    losses = [each.loss for each in seen.passes if each.loss is not None and each.kind == "backward"]
    if len(losses) < 3 or len({each.line for each in seen.passes}) != 1 or not losses[-1] > losses[0]:
        return
    for held in seen.optimizers:
        steps = [m for m in seen.moments if m.kind == "step" and m.who == held.nr and not m.empty]
        if len(steps) < 3 or not all(step.uphill for step in steps):
            continue
        root = seen.maker(seen.values[seen.passes[-1].roots[0]]) if seen.passes[-1].roots else None
        if held.maximises and (root is None or root.name not in ERRORS):
            continue  # an objective that should grow
        changed = [
            op.line for op in seen.ops if op.in_place and op.inputs and seen.values[op.inputs[0]].of_grad is not None
        ]
        hooked = [line for nr, line in seen.hooks if nr in held.leaves]
        line = held.line if held.maximises else next(iter((*hooked, *changed)), steps[0].line)
        yield Finding(
            "reversed", line, False,
            f"Each of {len(steps)} steps went along the gradient from backward() instead of against it, and the loss "
            f"rises: {number(losses[0])} → {number(losses[-1])}. Line {line}, `{seen.places.code(line)}`, "
            + ("asks for that: maximize=True." if held.maximises else "reverses the sign."),
            "Leave the sign of the gradient to the optimizer, which subtracts it.", seen.called(held.leaves), [line or 0, steps[0].line or 0], 7,
            share=0.9,
        )  # fmt: skip
        return


def _used_twice(seen: Observation) -> Iterator[Finding]:
    """A layer that two lines of one forward pass use, beside one of the same shape that none does."""
    for part in seen.parts:
        own = seen.weights(part)
        if part.called or not own or not part.registered:
            continue
        shapes = [seen.leaves[nr].shape for nr in own]
        if any(seen.leaves[nr].used for nr in own):
            continue
        for twin in seen.parts:
            if (
                twin.nr == part.nr
                or not twin.called
                or twin.kind != part.kind
                or not set(twin.parents) & set(part.parents)
            ):
                continue
            if [seen.leaves[nr].shape for nr in seen.weights(twin)] != shapes:
                continue
            used = [seen.ops[nr] for leaf in seen.weights(twin)[:1] for nr in seen.leaves[leaf].used_by]
            lines = list(dict.fromkeys(op.line for op in used))
            if len(lines) < 2:
                continue
            line = lines[-1]
            names = [part.path or part.kind]
            short, other = part.path.rpartition(".")[2], twin.path.rpartition(".")[2]
            code = seen.places.code(line)
            change = (code, code.replace(f"self.{other}", f"self.{short}")) if f"self.{other}" in code else None
            yield Finding(
                "used-twice", line, False,
                f"Lines {' and '.join(str(one) for one in lines)} both use {twin.path}, and nothing uses {part.path}, which has the same shape.",
                f"Use {short} in one of the "
                "two, if that was intended.", names, [one for one in reversed(lines) if one], 7, change, share=0.6,
            )  # fmt: skip
            break


def _repeated(seen: Observation) -> Iterator[Finding]:
    """One layer under several names of one container: the same weights in each place."""
    for part in seen.parts:
        if part.repeated < 2 or not part.called or not seen.weights(part):
            continue
        holder = next((one for one in (seen.parts[nr] for nr in part.parents) if one.line is not None), None)
        line = part.line if holder is None or seen.places.multiplies_a_list(part.line) else holder.line
        if holder is not None and not seen.places.repeats(line):
            added = seen.places.where_called(f"self.{holder.path.rpartition('.')[2]}", "append")
            line = added if seen.places.loops(added) else line
        numbered = len({re.sub(r"\d+", "", name) for name in part.names}) == 1 and not part.names[0].isdigit()
        if numbered and not (seen.places.repeats(line) or seen.places.loops(line)):
            line = seen.places.where_given(f"self.{part.names[-1]}") or line
        elif not (seen.places.repeats(line) or seen.places.loops(line)):
            continue  # one by one, and by name: weights are shared on purpose
        code = seen.places.code(line)
        yield Finding(
            "used-twice", line, False,
            f"Line {line}, `{code}`, puts one {part.kind} into {part.repeated} places: this does not copy the layer, "
            "so all of them share its weights.",
            f"Make one for each place: `[{'T.nn.' if part.library else ''}{part.kind}(…) for _ in range({part.repeated})]`.", [part.path], [line or 0, part.line or 0], 7, share=0.6,
        )  # fmt: skip


def _unseeded(seen: Observation) -> Iterator[Finding]:
    """The same lines trained twice, the same model from other random numbers: what differs is not what was changed."""
    for line, found in _runs(seen):
        first, second = found[0], found[-1]
        turns = [m.who for m in seen.moments if m.kind == "step" and m.who in (first.nr, second.nr)]
        if turns != sorted(turns):
            continue  # two parts of one training run, which take their steps in turn
        compared = (
            first.rate != second.rate or first.settings != second.settings or first.stack[-1:] != second.stack[-1:]
        )
        compared = compared or _kinds(seen, first) != _kinds(seen, second)
        compared = compared or (_same_data(seen, first, second) and not _both_used(seen, first, second))
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
        seeds = [moment for moment in seen.moments if moment.kind == "seed" and moment.order > began[0].order]
        if seeds and not _own_generator(seen):
            continue
        maker = _drawn(seen, first, second, began[1]) or seen.leaves[first.leaves[0]].line or line
        code = seen.places.code(maker)
        yield Finding(
            "unseeded", maker, False,
            f"The same training ran {len(found)} times (line {line} made {'an optimizer' if first.line == line else 'a model'} each time), and line {maker}, `{code}`, drew other "
            f"random numbers each time: the first loss is {number(began[0].loss)} in one run and "
            f"{number(began[1].loss or 0.0)} in another. Part of what differs between them is chance.",
            "Seed before each run that you compare, `T.manual_seed(0)`, and give a shuffling loader its own generator; or average over "
            "several seeds.", [], [maker, line], 7, share=0.1,
        )  # fmt: skip
        return


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


def _own_generator(seen: Observation) -> bool:
    """Whether a loader shuffles by a generator of its own, which a seed does not set back."""
    loaders = [seen.places.code(line) for line in seen.places.where_made("DataLoader")]
    return any("shuffle=True" in code and "generator=" in code for code in loaders)


def _drawn(seen: Observation, first: Held, second: Held, begun: Through) -> int | None:
    """Where two runs begin with the same weights: the line that drew the data, or their order, for the second."""
    begins = [_first_taken(seen, held, of_leaf=True) for held in (first, second)]
    if not begins[0] or begins[0] != begins[1]:
        return None
    loaders = [one for one in seen.places.where_made("DataLoader") if "shuffle=True" in seen.places.code(one)]
    if loaders:
        return loaders[-1]
    drawn = [
        op
        for op in seen.ops[: begun.ops]
        if op.name in ("randperm", "randn", "rand", "randint", "randn_like", "rand_like")
    ]
    orders = [op for op in drawn if op.name == "randperm"]
    return (orders or drawn)[-1].line if drawn else None


def _same_data(seen: Observation, *runs: Held) -> bool:
    """Whether the first thing that each run computes with is the same data: folds have each their own."""
    begun = [_first_taken(seen, held, of_leaf=False) for held in runs]
    return bool(begun[0]) and begun[0] == begun[-1]


def _first_taken(
    seen: Observation, held: Held, of_leaf: bool
) -> list[tuple[tuple[int, ...], float | None, float | None]]:
    """The size of what the first recorded op of a run's first parameter takes: the parameters, or the data."""
    first = next((seen.ops[nr] for nr in seen.leaves[held.leaves[0]].used_by if seen.ops[nr].recorded), None)
    taken = (seen.values[nr] for nr in (first.inputs if first is not None else ()))
    return [(value.shape, value.peak, value.low) for value in taken if (value.leaf is not None) == of_leaf]


def _both_used(seen: Observation, *runs: Held) -> bool:
    """True if all are evaluated after the last pass, as the members of an ensemble are."""
    end = max((each.ops for each in seen.passes), default=0)
    return all(any(nr >= end for nr in seen.leaves[held.leaves[0]].used_by) for held in runs)
