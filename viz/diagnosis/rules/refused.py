"""What the engine refused outright: the error says that something is wrong, and the finding says what to change."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from viz.diagnosis.observation import Observation
from viz.diagnosis.rules.rule import Match, Rule, sentences, telling


def _refused(seen: Observation) -> Iterator[Match]:
    """What the program raised, in a line of its own, by a table of messages."""
    error = seen.error or {}
    for message, kind, find in REFUSALS if error.get("line") else ():
        if message in error["message"]:
            match = find(seen, error["line"])
            match.given = telling(*SAID[kind], kind=kind) | match.given
            yield match


def _nothing_held(seen: Observation, line: int) -> Match:
    """An optimizer without parameters: they had learnt and were then frozen, or their modules are in a plain list."""
    frozen = [leaf for leaf in seen.leaves if leaf.frozen_at is not None and leaf.gradients and not leaf.requires_grad]
    if frozen:
        names, told = seen.called(leaf.nr for leaf in frozen), telling(*SAID["frozen"], kind="requires-grad-off")
        return Match(frozen[0].frozen_at, [line], names=names, made=line, given=told)
    listed = (seen.places.where_given(f"self.{part.attribute}") for part in seen.parts if not part.registered)
    return Match(next(listed, None) or line, [line], made=line)


def _not_saved(seen: Observation, line: int) -> Match:
    """A tensor of inference mode that a recorded op needs: where the mode begins."""
    began = (seen.places.switched_off(op.stack) for op in reversed(seen.ops) if op.inference)
    return Match(next(began, None) or line, [line], used=line)


def _too_few(seen: Observation, line: int) -> Match:
    """A Function whose backward does not answer for each input."""
    name, wanted, got = COUNTED.findall(seen.error["message"] if seen.error else "")[0]
    return Match(seen.places.where_returns(name, "backward") or line, [line], names=[name], wanted=wanted, got=got)


WORDS = """
wrong-backward: {at}: the backward of {name} returns {got} gradients where {wanted} are due, one
    for each input of its forward.
    Fix: Return one for each, in their order, and None for what needs none.
frozen: {at}, switches requires_grad off for {names}, which had learnt before, and line {made} finds nothing left that
    learns.
    Fix: Switch it on again before the training goes on. To evaluate, `with T.no_grad():` is enough.
not-scalar: {at}: backward() is called on several numbers. A gradient belongs to one number.
    Fix: Make one number of them first, by mean() or sum(). Or give backward() one weight for each number.
unregistered: {at}: parameters() does not look into a plain list or dict, and the optimizer of line {made} got nothing.
    Fix: Keep the layers as attributes of the model, and several in nn.ModuleList.
inference-mode: {at}, makes tensors that no gradient can ever pass by. Line {used} needs one for backward().
    Fix: Use no_grad in place of inference_mode, or make a clone() of it outside.
"""
SAID = sentences(WORDS)
COUNTED = re.compile(r"(\w+?)(?:Backward)? returned .*expected (\d+), got (\d+)")
# What a message contains, the kind of the finding, and how the line to change is found.
REFUSALS: tuple[tuple[str, str, Callable[[Observation, int], Match]], ...] = (
    ("grad can be implicitly created only for scalar outputs", "not-scalar", lambda seen, line: Match(line)),
    ("got an empty parameter list", "unregistered", _nothing_held),
    ("incorrect number of gradients", "wrong-backward", _too_few),
    ("Inference tensors cannot be saved for backward", "inference-mode", _not_saved),
)
RULES = [Rule("not-scalar", _refused, certain=True, explains=True)]
