"""Training and evaluation mode where they do harm."""

from __future__ import annotations

import math
from collections.abc import Iterator

from viz.diagnosis.families import LOSSES, TARGETED
from viz.diagnosis.observation import Moment, Observation, Ran
from viz.diagnosis.rules.rule import Match, Rule, telling

NEAR = 6  # ops after a dropout, among which its result is used
MEASURES = TARGETED | {"argmax", "max", "topk", "eq"}  # what an evaluation does with answers
FEW = 16  # runs that are looked at
HEAVY = 0.9  # the share that a dropout drops, from which on hardly anything is left
CHANGED = ("Dropout", "BatchNorm", "InstanceNorm")  # modules that the mode changes
ON_OUTPUTS = telling("{at}: `{name}` drops outputs right before the loss: {p} of what is compared with the targets is 0.",
    "Put dropout between hidden layers, never on the outputs.")  # fmt: skip
HEAVILY = telling("{at}: `{name}` drops {p} of what comes in: hardly anything is left to learn from.",
    "Use a p between 0.1 and 0.5: p is the share that is dropped, not the share that is kept.")  # fmt: skip
EVALUATING = telling("{at}: `{name}` drops values in a forward pass under no_grad: this does not evaluate the whole model.",
    "Call model.eval() before evaluating, and tell F.dropout the mode: `F.dropout(x, p, training=self.training)`.")  # fmt: skip


def _evaluating(seen: Observation) -> Iterator[Match]:
    """Steps between an eval() and the next train() that move what the mode changes."""
    stepped, count = [m for m in seen.moments if m.kind in ("step", "update")], len(seen.optimizers)

    def moved(step: Moment) -> set[int]:
        return {step.who} if step.kind == "update" or step.who >= count else set(seen.optimizers[step.who].leaves)

    for moment in (m for m in seen.moments if m.kind == "eval"):
        until = next((m.order for m in seen.moments if m.kind == "train" and m.order > moment.order), math.inf)
        part, whole = seen.parts[moment.who], {moment.who, *seen.inside(moment.who)}
        changes = {seen.parts[nr].kind for nr in whole if any(one in seen.parts[nr].kind for one in CHANGED)}
        # an op of the model's own is told the mode by `self.training`
        changes |= {op.name for op in seen.ops if "dropout" in op.name and op.owner in whole and op.grad_on}
        own = {leaf for nr in whole for leaf in seen.parts[nr].parameters}
        inside = [step for step in stepped if moment.order < step.order < until and own & moved(step)]
        alone = part.parents or part.kind.startswith("BatchNorm")  # as in fine-tuning, where its statistics are kept
        kept_still = alone and all(kind.startswith("BatchNorm") for kind in changes)
        if inside and changes and not kept_still:
            yield Match(moment, names=[part.path], count=len(inside), layers=sorted(changes))
            return


def _dropping(seen: Observation) -> Iterator[Match]:
    """Dropout, or the statistics of a batch, in evaluation; dropout on the outputs, or of nearly everything."""
    yield from _by_the_batch(seen)
    steps = any(m.kind in ("step", "update") for m in seen.moments)
    dropouts = [op for op in seen.ops if "dropout" in op.name and op.outputs] if steps else []
    learnt = set().union(*(seen.behind(each) for each in seen.passes)) if dropouts else set()
    for op in dropouts:
        p = op.options.get("p", op.options.get("1", 0.5))
        training = op.options.get("training", op.options.get("2", True))
        if training is False or p == 0:
            continue
        users = {one.name in LOSSES for one in seen.users(op.outputs[0]) if one.nr < op.nr + NEAR}
        asked = not op.grad_on and op.owner is not None and seen.steps
        meant = "training=True" in seen.places.code(op.line)
        evaluates = asked and not meant and learnt.isdisjoint(op.outputs)  # it makes no target, as a teacher does
        said = EVALUATING if evaluates else None
        if op.recorded:
            said = ON_OUTPUTS if users == {True} else HEAVILY if p >= HEAVY else None
        if said is not None:
            at = _evaluated(seen, op) if said is EVALUATING else seen.parts[op.owner or 0].line
            yield Match(at if op.library and at else op.line, [op], path=[], name=op.name, p=f"{p:.0%}", given=said)


def _by_the_batch(seen: Observation) -> Iterator[Match]:
    """A batch norm that takes the statistics of the batch, and not those that it has learnt, where answers are measured under no_grad."""
    knows = any(m.kind in ("train", "eval") for m in seen.moments)  # whoever never sets a mode may mean it so
    asked = (op for op in seen.ops if knows and op.step and not op.grad_on and op.owner is not None)
    norms = [op for op in asked if op.name == "batch_norm"]
    batch = [op for op in norms if op.options.get("training", op.options.get("5")) is True][-FEW:]
    learnt = set().union(*(seen.behind(each) for each in seen.passes)) if batch else set()
    for op in batch:
        below = seen.below(op.outputs)
        measured = any(user.name in MEASURES for nr in below for user in seen.users(nr))
        if measured and learnt.isdisjoint(below):
            yield Match(_evaluated(seen, op) or op, [op], path=[], name=op.name, given=STATISTICS)
            return


def _evaluated(seen: Observation, op: Ran) -> int | None:
    """Where a model is evaluated in training mode: the train() since the last step that took evaluation mode away, or the no_grad around it."""
    before = [m for m in seen.moments if m.ops <= op.nr and m.kind in ("step", "train", "eval")]
    step = max((m.order for m in before if m.kind == "step"), default=0)
    modes = [m for m in before if m.order > step and op.owner in {m.who, *seen.inside(m.who)}]
    undone = modes and modes[-1].kind == "train" and any(m.kind == "eval" for m in modes)
    return modes[-1].line if undone else seen.places.switched_off(op.stack)


STATISTICS = telling("{at}: `{name}` takes mean and deviation from the batch that is evaluated, as in training: an answer depends on the rows beside it, and the "
        "statistics that it has learnt move.",
    "Call model.eval() before evaluating, and model.train() before training goes on.", share=0.3)  # fmt: skip
RULES = [
    Rule("eval-mode", _evaluating,
        "{at}, puts the model in evaluation mode, and {count} steps were taken in it: {layers} did not do what is done in training.",
        "Call model.train() before the training steps, after each evaluation.", share=0.7),
    Rule("dropout-active", _dropping, share=0.4),
]  # fmt: skip
