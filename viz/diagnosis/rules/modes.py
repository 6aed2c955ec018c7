"""Training and evaluation mode where they do harm."""

from __future__ import annotations

import math
from collections.abc import Iterator

from viz.diagnosis.families import LOSSES
from viz.diagnosis.observation import Moment, Observation, Ran
from viz.diagnosis.rules.rule import Match, Rule

NEAR = 6  # ops after a dropout, among which its result is used
HEAVY = 0.9  # the share that a dropout drops, from which on hardly anything is left


def _evaluating(seen: Observation) -> Iterator[Match]:
    """Steps between an eval() and the next train() that move what the mode changes."""
    stepped = [m for m in seen.moments if m.kind in ("step", "update")]
    learns = {leaf for held in seen.optimizers for leaf in held.leaves}
    for moment in (m for m in seen.moments if m.kind == "eval"):
        until = next((m.order for m in seen.moments if m.kind == "train" and m.order > moment.order), math.inf)
        part, whole = seen.parts[moment.who], {moment.who, *seen.inside(moment.who)}
        changes = {
            kind
            for nr in whole
            if any(one in (kind := seen.parts[nr].kind) for one in ("Dropout", "BatchNorm", "InstanceNorm"))
        }
        told = (
            op for op in seen.ops if "dropout" in op.name and op.owner in whole and op.grad_on
        )  # as by `self.training`
        changes |= {op.name for op in told}
        own = {leaf for nr in whole for leaf in seen.parts[nr].parameters}
        inside = [step for step in stepped if moment.order < step.order < until and own & _moved_by(seen, step)]
        norms = all(kind.startswith("BatchNorm") for kind in changes)
        kept_still = norms and (
            bool(part.parents) or (part.library and part.kind.startswith("BatchNorm"))
        )  # a part alone, as in fine-tuning
        if inside and changes and own & learns and not kept_still:
            yield Match(moment, names=[part.path], count=len(inside), layers=sorted(changes))
            return


def _training(op: Ran) -> object:
    """What a dropout was told of the mode."""
    return op.options.get("training", op.options.get("2", True))


def _moved_by(seen: Observation, step: Moment) -> set[int]:
    """The leaves that a step, or an update by hand, may have moved."""
    by_hand = step.kind == "update" or step.who >= len(seen.optimizers)
    return {step.who} if by_hand else set(seen.optimizers[step.who].leaves)


def _dropping(seen: Observation) -> Iterator[Match]:
    """Dropout in evaluation, on the outputs, or of nearly everything."""
    if not any(m.kind in ("step", "update") for m in seen.moments):
        return
    for op in seen.ops:
        p = op.options.get("p", op.options.get("1", 0.5))
        if "dropout" not in op.name or not op.outputs or _training(op) is False or p == 0:
            continue
        users = [one.name in LOSSES for one in seen.users(op.outputs[0]) if one.nr < op.nr + NEAR]
        on_outputs = bool(users) and all(users) and op.recorded
        heavy = isinstance(p, float) and p >= HEAVY and op.recorded
        made = seen.parts[op.owner].line if op.library and op.owner is not None and (heavy or on_outputs) else None
        if on_outputs:
            text = f"drops outputs right before the loss: {p:.0%} of what is compared with the targets is 0."
            fix = "Put dropout between hidden layers, never on the outputs."
        elif heavy:
            text = f"drops {p:.0%} of what comes in: hardly anything is left to learn from."
            fix = "Use a p between 0.1 and 0.5: p is the share that is dropped, not the share that is kept."
        elif not op.grad_on and op.owner is not None and seen.steps:
            text = "drops values in a forward pass under no_grad: this does not evaluate the whole model."
            fix = "Call model.eval() before evaluating, and tell F.dropout the mode: `F.dropout(x, p, training=self.training)`."
        else:
            continue
        yield Match(made or op.line, [op], path=[], name=op.name, text=text, given={"fix": fix})


RULES = [
    Rule("eval-mode", _evaluating,
        "{at}, puts the model in evaluation mode, and {count} steps were taken in it: {layers} did not do what is done in training.",
        "Call model.train() before the training steps, after each evaluation.", share=0.7),
    Rule("dropout-active", _dropping, "{at}: `{name}` {text}", share=0.4),
]  # fmt: skip
