"""Wrong but silent: writes behind autograd's back, a backward that disagrees with numbers, steps uphill, a layer used twice."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterator

from viz.diagnosis.families import KEEPS_NOTHING, KEEPS_RESULT, makers
from viz.diagnosis.functions import FAR
from viz.diagnosis.observation import Held, Observation, Part, Seen, by_line
from viz.diagnosis.rules.memory import sharing
from viz.diagnosis.rules.rule import Match, Rule, telling


def _data_writes(seen: Observation) -> Iterator[Match]:
    """A write through .data to what a later backward() needs."""
    in_place = [(op, _behind_data(seen, op.inputs[0])) for op in seen.ops if op.in_place and op.inputs]
    writes = [(op, source) for op, source in in_place if source is not None]
    views: dict[int, list[int]] = defaultdict(list)  # such as w.t()
    for value in (one for one in seen.values if one.base is not None and one.requires_grad):
        views[value.base or 0].append(value.nr)
    passes = [each for each in seen.passes if each.done and writes]
    first = {nr: each for each in reversed(passes) for nr in seen.recorded(each)}  # pass that goes back through a value
    for op, source in writes:
        values = {source.nr} if source.leaf is None else set(seen.leaves[source.leaf].values)
        taken = sorted(values.union(*(views[nr] for nr in values)))
        takers = [user for nr in taken for user in seen.users(nr) if user.nr < op.nr]
        keepers = [user for user in takers if user.name not in KEEPS_NOTHING]
        keepers += [maker for maker in makers(seen, [source.nr]) if maker.name in KEEPS_RESULT]
        back = ((user, first[nr]) for user in keepers for nr in user.outputs if nr in first and first[nr].ops > op.nr)
        for user, later in list(back)[:1]:
            names = seen.called([source.leaf]) if source.leaf is not None else [source.name]
            path = [source.nr, *user.outputs[:1]]
            yield Match(op, [user, later], names=names, path=path, cut=source.nr, what=user, back=later.line)


def _checked(seen: Observation) -> Iterator[Match]:
    """A custom Function whose backward differs from numerical derivatives of its forward."""
    for check in seen.functions:
        stands_in = check.flat or check.identity  # a straight-through estimator, or a gradient reversed on purpose
        if check.worst < FAR or (stands_in and not check.missing):
            continue
        span = seen.places.defined(check.name, "backward")
        yield Match(
            check.line, [*(span or ())[1:], check.call], names=[check.name], text=check.text, more=" The sign is reversed." if check.opposite else "",
            what="gives no gradient for" if check.missing else "disagrees with", given={"certain": not stands_in, "share": 0.2 if stands_in else 0.9},
        )  # fmt: skip


def _shared(seen: Observation) -> Iterator[Match]:
    """One layer where two were meant: two lines use it, beside one of its shape that none does, or a list repeats it."""
    weights = {part.nr: [seen.leaves[nr] for nr in seen.weights(part)] for part in seen.parts}
    shapes = {nr: [leaf.shape for leaf in own] for nr, own in weights.items()}
    used = {nr: [op for leaf in own for op in leaf.used_by] for nr, own in weights.items()}
    idle = [part for part in seen.parts if shapes[part.nr] and not used[part.nr]]
    for part, twin in itertools.product(idle, seen.parts):
        alike = twin.kind == part.kind and shapes[twin.nr] == shapes[part.nr] and set(twin.parents) & set(part.parents)
        lines = list(dict.fromkeys(seen.ops[nr].line for nr in used[twin.nr])) if alike else []
        if len(lines) > 1:
            short, other = part.path.rpartition(".")[2], twin.path.rpartition(".")[2]
            code, both = seen.places.code(lines[-1]), " and ".join(map(str, lines))
            given = IDLE | {"change": (code, code.replace(f"self.{other}", f"self.{short}"))}
            yield Match(lines[-1], lines[::-1], names=[part.path], both=both, twin=twin.path, short=short, given=given)
    for part in (one for one in seen.parts if one.repeated > 1 and one.called and shapes[one.nr]):
        line = _repeated(seen, part)
        if line is not None:
            yield Match(line, [part], names=[part.path], made=part.kind, times=part.repeated, given=REPEATED)


def _repeated(seen: Observation, part: Part) -> int | None:
    """The line that puts one layer under several names of one container; None where they share weights on purpose."""
    holder = next((one for one in (seen.parts[nr] for nr in part.parents) if one.line is not None), None)
    line = part.line if holder is None or seen.places.multiplies_a_list(part.line) else holder.line
    if holder is not None and not seen.places.repeats(line):
        added = seen.places.where_grown(f"self.{holder.path.rpartition('.')[2]}", None)
        line = added if seen.places.loops(added) else line
    if seen.places.repeats(line) or seen.places.loops(line):
        return line
    if len({re.sub(r"\d+", "", name) for name in part.names}) > 1 or part.names[0].isdigit():
        return None  # one by one, and by name
    return seen.places.where_given(f"self.{part.names[-1]}") or line


def _unseeded(seen: Observation) -> Iterator[Match]:
    """The same lines trained twice, the same model from other random numbers: what differs is not what was changed."""
    for line, found in _runs(seen).items():
        first, second = found[0], found[-1]
        one, two = (next((e for e in seen.passes if set(held.leaves) & set(e.got)), None) for held in (first, second))
        if one is None or two is None or one.loss is None or two.loss in (None, one.loss):
            continue
        turns = [m.who for m in seen.moments if m.kind == "step" and m.who in (first.nr, second.nr)]
        shapes = [[seen.leaves[nr].shape for nr in held.leaves] for held in (first, second)]
        changed = [(held.rate, held.settings, held.stack[-1:], _kinds(seen, held)) for held in (first, second)]
        loaded = (w for nr in second.leaves for w in seen.leaves[nr].writes if w.name == "load_state_dict")
        alike = one.line == two.line and first.settings != second.settings
        meant = (
            turns != sorted(turns)  # two parts of one training run, which take their steps in turn
            or shapes[0] != shapes[1]
            or changed[0] == changed[1]  # on purpose: the folds of a validation, or an ensemble
            or (first.line != second.line and not alike)  # two purposes
            or any(write.after < two.nr for write in loaded)  # it goes on from a checkpoint
            or any(seen.values[nr].leaf in first.leaves for nr in seen.above(two.roots))  # it learns from the first
            or any(moment.kind == "seed" and moment.order > one.order for moment in seen.moments)
        )
        if not meant:
            maker, what = seen.leaves[first.leaves[0]].line or line, "an optimizer" if first.line == line else "a model"
            yield Match(maker, [line], count=len(found), line=line, what=what, first=one.loss, second=two.loss)
            return


def _behind_data(seen: Observation, nr: int) -> Seen | None:
    """The value whose memory is written to through `.data`, or None."""
    chain = sharing(seen, nr)
    taken = [place for place, one in enumerate(chain) if any(op.name == "data" for op in makers(seen, [one.nr]))]
    return next((one for one in chain[taken[0] + 1 :] if one.requires_grad), None) if taken else None


def _kinds(seen: Observation, held: Held) -> list[str]:
    """The classes of the layers that a run trains, and of those beside them: two activations may be what is compared."""
    holders = {seen.leaves[nr].holder for nr in held.leaves}
    around = {nr for part in seen.parts if part.nr in holders for nr in part.parents}
    return sorted(part.kind for part in seen.parts if around & set(part.parents))


def _runs(seen: Observation) -> dict[int | None, list[Held]]:
    """Optimizers that one line made, and those of models that one line made: what may be several runs of one training."""
    made = [held for held in seen.optimizers if held.made_here and held.leaves]
    runs: dict[int | None, list[Held]] = by_line(made)
    for held in made:
        line = seen.leaves[held.leaves[0]].line
        if line is not None and line != held.line:
            runs.setdefault(line, []).append(held)
    return runs


IDLE = telling("Lines {both} both use {twin}, and nothing uses {names}, which has the same shape.",
    "Use {short} in one of the two, if that was intended.")  # fmt: skip
REPEATED = telling("{at}, puts one {made} into {times} places: this does not copy the layer, so all of them share its weights.",
    "Make one for each place: `[{made}(…) for _ in range({times})]`.")  # fmt: skip
RULES = [
    Rule("data-write", _data_writes,
        "{at}, writes through .data over {names} that {what}, had saved. Nothing is checked there: backward() in line {back} computed with the new "
        "numbers, and its gradients are wrong.",
        "Write after backward(), or write under no_grad() without .data: then the engine raises an error instead of computing a wrong gradient.",
        certain=True),
    Rule("wrong-backward", _checked, "The backward of {names} {what} what its own forward does: {text}.{more}",
        "Check it against measured slopes while you write it: `T.autograd.gradcheck(F.apply, inputs)` in float64."),
    Rule("used-twice", _shared, share=0.6),
    Rule("unseeded", _unseeded,
        "The same training ran {count} times (line {line} made {what} each time). {at}, drew other random numbers each time: the first loss is {first} in one "
        "run and {second} in another. Part of what differs between them is chance.",
        "Seed before each run that you compare, `T.manual_seed(0)`, and give a shuffling loader its own generator; or average over several seeds.", share=0.1),
]  # fmt: skip
