"""Steps that are taken in evaluation mode."""

from __future__ import annotations

import math
from collections.abc import Iterator

from viz.diagnosis.observation import Moment, Observation
from viz.diagnosis.rules.rule import Match, Rule, sentences

CHANGED = ("Dropout", "BatchNorm", "InstanceNorm")  # modules that the mode changes


def _evaluating(seen: Observation) -> Iterator[Match]:
    """Steps between an eval() and the next train() that move what the mode changes."""
    stepped, count = [m for m in seen.moments if m.kind in ("step", "update")], len(seen.optimizers)

    def moved(step: Moment) -> set[int]:
        return {step.who} if step.kind == "update" or step.who >= count else set(seen.optimizers[step.who].leaves)

    for moment in (m for m in seen.moments if m.kind == "eval"):
        until = next((m.order for m in seen.moments if m.kind == "train" and m.order > moment.order), math.inf)
        part, whole = seen.parts[moment.who], {moment.who, *seen.inside(moment.who)}
        changes = {seen.parts[nr].kind for nr in whole if any(kind in seen.parts[nr].kind for kind in CHANGED)}
        # an op of the model's own is told the mode by `self.training`
        changes |= {op.name for op in seen.ops if "dropout" in op.name and op.owner in whole and op.grad_on}
        own = {leaf for nr in whole for leaf in seen.parts[nr].parameters}
        inside = [step for step in stepped if moment.order < step.order < until and own & moved(step)]
        alone = part.parents or part.kind.startswith("BatchNorm")  # as in fine-tuning, where its statistics are kept
        kept_still = alone and all(kind.startswith("BatchNorm") for kind in changes)
        if inside and changes and not kept_still:
            yield Match(moment, names=[part.path], count=len(inside), layers=sorted(changes))
            return


WORDS = """
eval-mode: {at}, puts the model in evaluation mode, and {count} steps were taken in it: {layers} did not do what is done
    in training.
    Fix: Call train() of the model before the training steps, after each evaluation.
"""
SAID = sentences(WORDS)
RULES = [Rule("eval-mode", _evaluating, *SAID["eval-mode"], share=0.7)]
