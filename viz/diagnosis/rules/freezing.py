"""What a program freezes: a part that had just begun to learn, and one that is new."""

from __future__ import annotations

from collections.abc import Iterator

from viz.diagnosis.observation import Leaf, Observation
from viz.diagnosis.places import indexed
from viz.diagnosis.rules.rule import Match, Rule, sentences, telling

AGAIN = 2  # steps that find nothing, from which on a freeze is no turn of two trainings


def _frozen(seen: Observation) -> Iterator[Match]:
    """What was switched off in a training, or although it is new."""
    frozen = [leaf for leaf in seen.leaves if leaf.frozen_at is not None and leaf.used_by and not leaf.requires_grad]
    for leaf in (leaf for leaf in frozen if leaf.gradients):
        count = _steps_since(seen, leaf)
        if count >= AGAIN:
            yield Match(leaf.frozen_at, names=seen.called([leaf.nr]), count=count)
    # of one network what one line freezes, beside what was trained or loaded before
    for (line, _), leaves in indexed(((leaf.frozen_at, leaf.name.partition(".")[0]), leaf) for leaf in frozen).items():
        new = [leaf for leaf in leaves if not leaf.known and "." in leaf.name]
        if new and len(new) < len(leaves) and seen.steps:
            yield Match(line, names=seen.called(leaf.nr for leaf in new), given=telling(*SAID["new"], share=0.5))


def _steps_since(seen: Observation, leaf: Leaf) -> int:
    """The steps of the optimizer that had trained a leaf, after the one for its last gradient; not those of others."""
    last = seen.passes[leaf.gradients[-1][0] - 1]
    who = seen.stepped_by(last)
    return sum(m.kind == "step" and m.who == who and m.order > last.order for m in seen.moments) - 1


WORDS = """
new: {at}, switches requires_grad off for {names} too, which nothing has trained yet: it stays as it was made, beside
    what was trained before.
    Fix: Leave out what is new: freeze first and replace the layer afterwards, or freeze by a test that spares it.
requires-grad-off: {at}, switches requires_grad off for {names}, and {count} more steps of its optimizer found no
    gradient.
    Fix: Switch it on again where this part is to learn, or freeze by a test that leaves it out: print the names that
    stay trainable.
"""
SAID = sentences(WORDS)
RULES = [Rule("requires-grad-off", _frozen, *SAID["requires-grad-off"], share=0.5)]
