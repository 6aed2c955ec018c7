"""Wrong but silent: writes through .data, a backward that disagrees with numbers, steps uphill, a layer used twice."""

from __future__ import annotations

import bisect
import itertools
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from viz.diagnosis.families import KEEPS_NOTHING, KEEPS_RESULT, makers
from viz.diagnosis.functions import FAR
from viz.diagnosis.observation import Observation, Part, Ran, Seen, Through
from viz.diagnosis.rules.memory import sharing
from viz.diagnosis.rules.rule import Match, Rule, sentences, telling


def _data_writes(seen: Observation) -> Iterator[Match]:
    """A write through .data to what a later backward() needs."""
    in_place = [(op, _behind_data(seen, op.inputs[0])) for op in seen.ops if op.in_place and op.inputs]
    writes = [(op, source) for op, source in in_place if source is not None]
    views: dict[int, list[int]] = defaultdict(list)  # such as w.t()
    for value in (value for value in seen.values if value.base is not None and value.requires_grad):
        views[value.base or 0].append(value.nr)
    passes = [each for each in seen.passes if each.done and writes]
    first = {nr: each for each in reversed(passes) for nr in seen.recorded(each)}  # pass that goes back through a value
    kept: dict[int, list[tuple[Ran, Through]]] = {}  # what keeps a value, or one of a leaf, for a pass, in order
    for op, source in writes:
        key = source.nr if source.leaf is None else ~source.leaf
        if key not in kept:
            values = {source.nr} if source.leaf is None else set(seen.leaves[source.leaf].values)
            taken = values.union(*(views[nr] for nr in values))
            keepers = [user for nr in taken for user in seen.users(nr) if user.name not in KEEPS_NOTHING]
            keepers += [maker for maker in makers(seen, values) if maker.name in KEEPS_RESULT]
            pairs = ((user, first[nr]) for user in keepers for nr in user.outputs if nr in first)
            kept[key] = sorted(pairs, key=lambda pair: pair[0].nr)
        index = bisect.bisect_left(kept[key], op.nr, key=lambda pair: pair[0].nr)
        while index and kept[key][index - 1][1].ops > op.nr:
            index -= 1
        if index < len(kept[key]) and kept[key][index][0].nr < op.nr:
            user, back = kept[key][index]
            names = seen.called([source.leaf]) if source.leaf is not None else [source.name]
            path = [source.nr, *user.outputs[:1]]
            yield Match(op, [user, back], names=names, path=path, cut=source.nr, what=user, back=back.line)


def _checked(seen: Observation) -> Iterator[Match]:
    """A custom Function whose backward differs from numerical derivatives of its forward."""
    for check in seen.functions:
        stands_in = check.flat or check.identity  # a straight-through estimator, or a gradient reversed on purpose
        if check.worst < FAR or (stands_in and not check.missing):
            continue
        span = seen.places.defined(check.name, "backward")
        what = "gives no gradient for" if check.missing else "disagrees with"
        more = " The sign is reversed." if check.opposite else ""
        told = {"certain": not stands_in, "share": 0.2 if stands_in else 0.9}
        lines = [*(span or ())[1:], check.call]
        yield Match(check.line, lines, names=[check.name], text=check.text, what=what, more=more, given=told)


def _second_order(seen: Observation) -> Iterator[Match]:
    """A custom Function with a right gradient but a wrong second derivative, where gradients are differentiated."""
    for check in seen.functions if any(each.create for each in seen.passes) else ():
        if check.second:
            yield Match(
                seen.places.where_returns(check.name, "backward") or check.call, [check.call], names=[check.name]
            )


def _shared(seen: Observation) -> Iterator[Match]:
    """One layer where two were meant: two lines use it and an unused one has its shape, or a list repeats it."""
    weights = {part.nr: [seen.leaves[nr] for nr in seen.weights(part)] for part in seen.parts}
    shapes = {nr: [leaf.shape for leaf in own] for nr, own in weights.items()}
    # by a module, and not by what counts or saves all weights
    uses = {nr: [seen.ops[op] for leaf in own for op in leaf.used_by] for nr, own in weights.items()}
    used = {nr: [op for op in own if op.owner is not None] for nr, own in uses.items()}
    idle = [part for part in seen.parts if shapes[part.nr] and not used[part.nr]]
    for part, twin in itertools.product(idle, seen.parts):
        alike = twin.kind == part.kind and shapes[twin.nr] == shapes[part.nr] and set(twin.parents) & set(part.parents)
        lines = list(dict.fromkeys(_call(seen, op, twin) for op in used[twin.nr])) if alike else []
        if len(lines) > 1:
            short, other = part.path.rpartition(".")[2], twin.path.rpartition(".")[2]
            told: dict[str, Any] = {"twin": twin.path, "short": short, "other": other, "given": telling(*SAID["idle"])}
            both = " and ".join(map(str, lines))
            yield Match(lines[-1], lines[::-1], names=[part.path], both=both, **told)
    for part in (part for part in seen.parts if len(part.names) > 1 and part.called and shapes[part.nr]):
        holder = next((seen.parts[nr] for nr in part.parents if seen.parts[nr].line is not None), None)
        if holder is not None and all(name.isdigit() for name in part.names):  # and not by names, as of tied weights
            yield Match(holder, [part], names=[part.path], made=part.kind, times=len(part.names), given=REPEATED)


def _call(seen: Observation, op: Ran, part: Part) -> int | None:
    """The line that calls a module in which an op ran."""
    first, last = seen.places.defined(part.kind, "forward") or (0, -1)
    return next((line for line in op.stack if not first <= line <= last), op.line)


def _behind_data(seen: Observation, nr: int) -> Seen | None:
    """The value whose memory is written to through `.data`, or None."""
    chain = sharing(seen, nr)
    taken = [index for index, link in enumerate(chain) if any(op.name == "data" for op in makers(seen, [link.nr]))]
    return next((link for link in chain[taken[0] + 1 :] if link.requires_grad), None) if taken else None


WORDS = """
idle: Lines {both} both use {twin}, and nothing uses {names}, which has the same shape.
    Fix: Use {short} in one of the two, if that was intended.
repeated: {at}, puts one {made} into {times} places: this does not copy the layer, so all of them share its weights.
    Fix: Make one for each place: `[{made}(…) for _ in range({times})]`.
data-write: {at}, writes through .data over {names} that {what}, had saved. Nothing is checked there: backward() in line
    {back} computed with the new numbers, and its gradients are wrong.
    Fix: Write after backward(), or write under no_grad() without .data: then the engine raises an error instead of
    computing a wrong gradient.
wrong-backward: The backward of {names} {what} what its own forward does: {text}.{more}
    Fix: Check it against measured slopes while you write it, with gradcheck() in float64.
second-order: The gradient that {names} returns is right, but its own derivative is not: to a backward that is
    differentiated again, what forward made and kept is a constant.
    Fix: Compute it anew in backward from the inputs, which `ctx.save_for_backward` keeps; `T.autograd.gradgradcheck`
    tells.
"""
SAID = sentences(WORDS)
REPEATED = telling(*SAID["repeated"])
RULES = [
    Rule("data-write", _data_writes, *SAID["data-write"], certain=True),
    Rule("wrong-backward", _checked, *SAID["wrong-backward"]),
    Rule("wrong-backward", _second_order, *SAID["second-order"], share=0.5),
    Rule("used-twice", _shared, share=0.6),
]
