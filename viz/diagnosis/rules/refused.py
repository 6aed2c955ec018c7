"""What the engine refused outright: the error says that something is wrong, and the finding says what to change."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from viz.diagnosis.observation import Observation
from viz.diagnosis.rules.rule import Match, Rule, telling

Finder = Callable[[Observation, int, re.Match[str]], Match | None]


def _refused(seen: Observation) -> Iterator[Match]:
    """What the program raised, in a line of its own, by a table of messages."""
    error = seen.error or {}
    for message, kind, words, fix, find in REFUSALS if error.get("line") else ():
        said = re.search(message, error["message"], re.DOTALL)
        match = find(seen, error["line"], said) if said is not None else None
        if match is not None:
            match.given = {"kind": kind, "words": words, "fix": fix} | match.given
            yield match


def _here(seen: Observation, line: int, said: re.Match[str]) -> Match:
    """The line that raised, and what the message names."""
    return Match(line, names=said.groups())


def _nothing_held(seen: Observation, line: int, said: re.Match[str]) -> Match:
    """An optimizer of no parameters: they were frozen after they had learnt, or are those of modules in a plain list."""
    frozen = [leaf for leaf in seen.leaves if leaf.frozen_at is not None and leaf.gradients and not leaf.requires_grad]
    if frozen:
        names = seen.called(leaf.nr for leaf in frozen)
        return Match(frozen[0].frozen_at, [line], names=names, made=line, given=FROZEN)
    listed = (seen.places.where_given(f"self.{part.attribute}") for part in seen.parts if not part.registered)
    return Match(next(listed, None) or line, [line], made=line)


FROZEN = telling("{at}, switches requires_grad off for {names}, which had learnt before, and line {made} finds nothing left that learns.",
    "Switch it on again before the training goes on. To evaluate, `with T.no_grad():` is enough.", kind="requires-grad-off")  # fmt: skip


def _not_kept(seen: Observation, line: int, said: re.Match[str]) -> Match:
    """A tensor of inference mode that a recorded op needs: where the mode begins."""
    began = (seen.places.switched_off(op.stack) for op in reversed(seen.ops) if op.inference)
    return Match(next(began, None) or line, [line], used=line)


def _miscounted(seen: Observation, line: int, said: re.Match[str]) -> Match:
    """A backward that returns more gradients than forward has inputs, or fewer."""
    place = seen.places.where_returns(said[1], "backward") or line
    return Match(place, [line], names=[said[1]], inputs=said[2], gradients=said[3])


def _slopeless(seen: Observation, line: int, said: re.Match[str]) -> Match | None:
    """The last op of this name that was recorded, although it has no derivative."""
    recorded = (op for op in reversed(seen.ops) if op.recorded and op.outputs)
    made = next((op for op in recorded if op.name.replace("_", "") == said[1].replace("_", "")), None)
    if made is None:
        return None
    given = {"kind": "flat"} if "floor" in said[1] else {}
    return Match(made, [line], raised=line, code=seen.places.code(line), given=given)


def _none_read(seen: Observation, line: int, said: re.Match[str]) -> Match | None:
    """`.grad` was computed with while it was None: no backward() had run, or zero_grad() had taken it away."""
    code, asked = seen.places.code(line), [leaf for leaf in seen.leaves if leaf.asked and leaf.requires_grad]
    if ".grad" not in code or not asked:
        return None
    back = [each for each in seen.passes if each.kind == "backward" and each.done]
    zeroed = next((one for one in reversed(seen.moments) if one.kind == "zero"), None)
    names = seen.called(leaf.nr for leaf in asked)
    if back and zeroed is not None and zeroed.order > back[-1].order and all(leaf.gradients for leaf in asked):
        words = "{at}, sets each .grad to None, and line {line}, `{code}`, uses it afterwards."
        given = {"kind": "zero-before-step", "words": words, "fix": "Use the gradients before zero_grad()."}
        return Match(zeroed, [line], names=names, line=line, code=code, given=given)
    return None if back else Match(line, names=names)


REFUSALS: tuple[tuple[str, str, str, str, Finder], ...] = (
    # the message, the kind, the words, what to do, and how the line to change is found
    ("grad can be implicitly created only for scalar outputs", "not-scalar",
        "{at}: backward() is called on several numbers. A gradient belongs to one number.",
        "Make one number of them first, by mean() or sum(). Or give backward() one weight for each number.",
        _here),
    (r"function (\w+?)Backward returned an incorrect number of gradients \(expected (\d+), got (\d+)\)", "wrong-backward",
        "{at}: the inputs of the forward of {name} number {inputs}, and the gradients that its backward returns {gradients}.",
        "Return one gradient for each input of forward, in their order, and None for an input that needs none.", _miscounted),
    (r"Output \d+ of (\w+) is a view and is being modified in-?place.*custom Function", "in-place",
        "{at}, writes into what {name} returned, and the forward of {name} returned its own input: the write would go past the backward of {name}.",
        "Compute a new value instead of writing. Or let the forward of {name} return a clone().", _here),
    (r"derivative for (?:aten::)?(\w+) is not implemented", "cut",
        "{at}: `{op}` has no gradient. Line {raised}, `{code}`, raised an error when it came to it.",
        "Compute it from ops that have one, or let the gradient pass by, with a straight-through estimator: `x + (stepped - x).detach()`.", _slopeless),
    ("'NoneType' object", "never-backward", "{at}, uses .grad, and no backward() has run before it: .grad is None until then.",
        "Call backward() first.", _none_read),
    ("used in an in-place operation", "in-place", "{at}, writes into a leaf that requires grad, and autograd records: the value before would be lost.",
        "Write under no_grad, as an optimizer does, or into a clone() of it.", _here),
    ("appears to not have been used in the graph", "unused", "{at}, asks for the gradient of a tensor that the result was not computed from.",
        "Compute the result from it; or say allow_unused=True, and take None for an answer.", _here),
    ("got an empty parameter list", "unregistered", "{at}: parameters() does not look into a plain list or dict, and the optimizer of line {made} got nothing.",
        "Keep the layers as attributes of the model, and several in nn.ModuleList.", _nothing_held),
    ("Inference tensors cannot be saved for backward", "inference-mode", "{at}, makes tensors that no gradient can ever pass by. Line {used} needs one for "
        "backward().", "Use no_grad in place of inference_mode, or make a clone() of it outside.", _not_kept),
)  # fmt: skip
RULES = [Rule("not-scalar", _refused, certain=True, explains=True)]
