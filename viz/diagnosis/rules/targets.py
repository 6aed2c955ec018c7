"""What a loss takes for given, and learns all the same: the target of a bootstrap, the advantage of a policy."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator

from viz.diagnosis import families as ops
from viz.diagnosis.observation import Observation, Ran, Through, first_and_last
from viz.diagnosis.rules.objective import is_likelihood
from viz.diagnosis.rules.rule import Match, Rule, telling

NEAR = 64  # runs of a line that are looked at
PAST = ops.TURNS | ops.CHOSEN | ops.NEGATIONS | {"gather", "clamp"}


def _learns_its_target(seen: Observation) -> Iterator[Match]:
    """A sum of data and of what the same weights answer, which a loss pulls to their other answer, or weighs a likelihood by."""
    slopes = any(each.kind == "grad" and each.create for each in seen.passes)  # as in the residual of an equation
    for each in first_and_last(one for one in seen.passes if one.kind == "backward" and one.done and not slopes):
        for op in ops.makers(seen, seen.recorded(each)):
            users = {user.name for user in seen.users(op.outputs[0]) if user.recorded}
            squared = op.name in ops.DIFFERENCES and bool(users) and users <= ops.MAGNITUDES
            compares = op.name in ops.DISTANCES or squared
            if not compares and op.name not in ops.PRODUCTS:
                continue
            for target, other in itertools.permutations(op.inputs[:2], 2):
                sum_of = mixed(seen, target) if seen.values[other].requires_grad else None
                if sum_of is None or not (compares or _likely(seen, other)) or not _apart(seen, target, other):
                    continue
                if _stepped(seen, each, sum_of, other if compares else None):
                    yield _attached(seen, op, sum_of, seen.values[target].name or "this", compares)
                    return


def _apart(seen: Observation, one: int, other: int) -> bool:
    """Whether neither of two values is made from the other, as a mean for a variance is, nor both in the same way."""
    return other not in seen.above([one]) and one not in seen.above([other]) and mixed(seen, other) is None


def _attached(seen: Observation, op: Ran, sum_of: Ran, name: str, compares: bool) -> Match:
    """The target as a whole, or the factor where it weighs: its error may be learnt from in another term."""
    at, given = (sum_of, BOOTSTRAP) if compares else (op, ADVANTAGE)
    factor, whole = rf"(\* ?{re.escape(name)})(?! ?[.(\[\w]| ?\*\*)", r"^(\w+ = )(.+)$"
    code = seen.places.code(at.line)
    new = re.sub(whole, r"\1(\2).detach()", code) if compares else re.sub(factor, r"\1.detach()", code)
    given = given | ({"change": (code, new)} if new != code else {})
    learnt = {nr for nr in sum_of.inputs if seen.values[nr].requires_grad}
    path = seen.route(op.outputs[0], lambda value: value.nr in learnt, recorded=True)[::-1]
    return Match(at, [op, sum_of], path=path, cut=sum_of.outputs[0], user=op, made=sum_of, what=name, given=given)


def mixed(seen: Observation, nr: int) -> Ran | None:
    """The op that adds data to something learnt, or takes one from the other, of which a value is a multiple."""
    for _ in range(ops.FAR):
        op = ops.source(seen, nr, PAST)[1]
        learnt = [one for one in op.inputs if seen.values[one].requires_grad] if op is not None else []
        if op is None or not learnt or op.name not in ops.ADDITIVE | ops.FACTORS | {"where"}:
            break
        if op.name in ops.ADDITIVE and _takes_data(seen, op):
            return op
        nr = learnt[0]
    return None


def _takes_data(seen: Observation, op: Ran) -> bool:
    """Whether an op takes data beside what is learnt: a tensor without a history, or a number, that is another each time."""
    given = [seen.values[nr] for nr in op.inputs]
    if any(one.floating and not one.requires_grad and one.leaf is None and math.prod(one.shape) > 1 for one in given):
        return True
    ran = [one for one in seen.at(op.line) if one.name == op.name][:NEAR]
    free = ((one, [seen.values[nr].peak for nr in one.inputs if not seen.values[nr].requires_grad]) for one in ran)
    return len({(*peaks, *ops.constants(one)) for one, peaks in free}) > 1


def _likely(seen: Observation, nr: int) -> bool:
    """Whether a value is the logarithm of a probability, or the ratio of two."""
    op = ops.source(seen, nr, PAST | ops.AVERAGES)[1]
    if op is None or op.name != "exp":
        return op is not None and is_likelihood(seen, op)
    less = ops.source(seen, op.inputs[0], PAST)[1]
    learnt = [one for one in less.inputs if seen.values[one].requires_grad] if less is not None else []
    return less is not None and less.name in ops.DIFFERENCES and len(learnt) == 1


def _stepped(seen: Observation, each: Through, sum_of: Ran, other: int | None) -> bool:
    """Whether the optimizer of a pass changes what is mixed in; with `other`, whether the same weights made that."""
    who = seen.stepped_by(each)
    common = {leaf.nr for leaf in seen.trained() if who in leaf.held or not leaf.held}
    for nr in (*sum_of.outputs[:1], *(() if other is None else (other,))):
        above = seen.above([nr], lambda value: value.requires_grad)
        common &= {leaf for one in above if (leaf := seen.values[one].leaf) is not None}
    return bool(common)


BOOTSTRAP = telling("{at}, computes a target from data and from what the same weights answer, and {user}, compares their other answer with it. The gradient goes into "
        "both: the target moves towards the answer, instead of the answer towards the target.",
    "Take the target for given: compute it under no_grad, or detach() it.")  # fmt: skip
ADVANTAGE = telling("{at}, weighs a likelihood by {what}, and the gradient goes into that too: what {made}, takes from the data, changes so that the product falls, "
        "and not so that it is right.",
    "Weigh the likelihood by the number alone: `.detach()`.")  # fmt: skip
RULES = [Rule("wrong-loss", _learns_its_target, share=0.5)]
