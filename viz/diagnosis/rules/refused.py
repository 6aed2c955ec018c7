"""What the engine refused outright: the error says that something is wrong, and the finding says what to change."""

from __future__ import annotations

import re
from collections.abc import Iterator

from viz.diagnosis.observation import Observation, Ran
from viz.diagnosis.rules.rule import Match, Rule

NOT_SCALAR = "grad can be implicitly created only for scalar outputs"
COUNT = re.compile(r"function (\w+?)Backward returned an incorrect number of gradients \(expected (\d+), got (\d+)\)")
OWN_VIEW = re.compile(r"Output \d+ of (\w+) is a view and is being modified in-?place.*custom Function", re.DOTALL)
NO_SLOPE = re.compile(r"derivative for (?:aten::)?(\w+) is not implemented")
NOTHING = "'NoneType' object"


Refused = tuple[int, str, str]  # line, its code, and the message


def _error(seen: Observation) -> Refused | None:
    """What the program raised, in a line of its own."""
    if seen.error is None or not seen.error["line"]:
        return None
    return seen.error["line"], seen.places.code(seen.error["line"]), seen.error["message"]


def _several(seen: Observation) -> Iterator[Match]:
    """backward() of several numbers."""
    error = _error(seen)
    if error is None or NOT_SCALAR not in error[2]:
        return
    line, code, _ = error
    each = next((one for one in reversed(seen.passes) if NOT_SCALAR in one.raised), None)
    root = seen.values[each.roots[0]] if each is not None and each.roots else None
    maker = seen.maker(root) if root is not None else None
    made = (
        f", made in line {maker.line}, `{seen.places.code(maker.line)}`,"
        if maker is not None and maker.line not in (None, line)
        else ""
    )
    change = (code, code.replace(".backward(", ".mean().backward(")) if code.count(".backward(") == 1 else None
    shape = f"has the shape {root.shape}" if root is not None else "has several numbers"
    yield Match(line, [maker.line if maker is not None else None], made=made, shape=shape, given={"change": change})


def _miscounted(seen: Observation) -> Iterator[Match]:
    """A backward that returns more gradients than forward has inputs, or fewer."""
    error = _error(seen)
    if error is None:
        return
    line, _, message = error
    if (found := COUNT.search(message)) is not None:
        place = seen.places.where_returns(found[1], "backward") or line
        yield Match(place, [line], names=[found[1]], inputs=int(found[2]), gradients=int(found[3]))


def _own_view(seen: Observation) -> Iterator[Match]:
    """A write into what a Function returned, where that is its own input."""
    error = _error(seen)
    if error is not None and (found := OWN_VIEW.search(error[2])) is not None:
        yield Match(error[0], seen.places.defined(found[1], "forward") or (), names=[found[1]])


def _slopeless(seen: Observation) -> Iterator[Match]:
    """An op that was recorded, although it has no derivative."""
    error = _error(seen)
    found = NO_SLOPE.search(error[2]) if error is not None else None
    made = _without_slope(seen, found[1]) if found is not None else None
    if error is not None and found is not None and made is not None:
        given = (
            {
                "kind": "flat",
                "fix": "Let the gradient pass by: `x + (stepped - x).detach()`, a straight-through estimator.",
            }
            if "floor" in found[1]
            else {}
        )
        yield Match(made, [error[0]], raised=error[0], code=error[1], given=given)


def _none_read(seen: Observation) -> Iterator[Match]:
    """`.grad` was computed with while it was None: no backward() had run, or zero_grad() had taken it away."""
    error = _error(seen)
    asked = [leaf for leaf in seen.leaves if leaf.asked and leaf.requires_grad]
    if error is None or NOTHING not in error[2] or ".grad" not in error[1] or not asked:
        return
    back = [each for each in seen.passes if each.kind == "backward" and each.done]
    zeroed = next((one for one in reversed(seen.moments) if one.kind == "zero"), None)
    names = seen.called(leaf.nr for leaf in asked)
    if not back:
        yield Match(error[0], names=names)
    elif zeroed is not None and zeroed.order > back[-1].order and all(leaf.gradients for leaf in asked):
        words = "{at}, sets each .grad to None, and line {line}, `{code}`, uses it afterwards."
        given = {"kind": "zero-before-step", "words": words, "fix": "Use the gradients before zero_grad()."}
        yield Match(zeroed, [error[0]], names=names, line=error[0], code=error[1], given=given)


def _without_slope(seen: Observation, name: str) -> Ran | None:
    """The last op of this name that was recorded, although it has no derivative."""
    plain = name.replace("_", "")
    for op in reversed(seen.ops):
        if op.recorded and op.outputs and op.name.strip("_").replace("_", "") in (plain, plain.removesuffix("ide")):
            return op
    return None


RULES = [
    Rule("not-scalar", _several, "{at}: what backward() is called on{made} {shape}. A gradient belongs to one number.",
        "Make one number of it first: `loss.mean().backward()`. For a sum weighted by v, `loss.backward(v)`.", certain=True, explains=True),
    Rule("wrong-backward", _miscounted, "{at}: the inputs of the forward of {name} number {inputs}, and the gradients that its backward returns {gradients}.",
        "Return one gradient for each input of forward, in their order, and None for an input that needs none.", certain=True, explains=True),
    Rule("in-place", _own_view,
        "{at}, writes into what {name} returned, and the forward of {name} returned its own input: the write would go past the backward of {name}.",
        "Compute a new value instead of writing: `x = x * 2` for `x *= 2`. Or let the forward of {name} return a new tensor, `return x.clone()`.",
        certain=True, explains=True),
    Rule("cut", _slopeless, "{at}: `{op}` has no gradient. Line {raised}, `{code}`, raised an error when it came to it.",
        "Compute it from ops that have one, or detach() its input if nothing is to learn through it.", certain=True, explains=True),
    Rule("never-backward", _none_read, "{at}, uses .grad, and no backward() has run before it: .grad is None until then.",
        "Call `loss.backward()` first.", certain=True, explains=True),
]  # fmt: skip
