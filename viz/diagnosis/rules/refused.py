"""What the engine refused outright: the error says that something is wrong, and the finding says what to change."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from viz.diagnosis.finding import Finding
from viz.diagnosis.observation import Moment, Observation, Ran

NOT_SCALAR = "grad can be implicitly created only for scalar outputs"
COUNT = re.compile(r"function (\w+?)Backward returned an incorrect number of gradients \(expected (\d+), got (\d+)\)")
OWN_VIEW = re.compile(r"Output \d+ of (\w+) is a view and is being modified in-?place.*custom Function", re.DOTALL)
NO_SLOPE = re.compile(r"derivative for (?:aten::)?(\w+) is not implemented")
NOT_STATIC = "non-static forward method"
NOTHING = "'NoneType' object"


def find(seen: Observation) -> Iterator[Finding]:
    """Errors about gradients that name no line to change, or another one."""
    if seen.error is None or not seen.error["line"]:
        return
    line, message = seen.error["line"], seen.error["message"]
    code = seen.places.code(line)
    if NOT_SCALAR in message:
        yield _several(seen, line, code)
    elif (found := COUNT.search(message)) is not None:
        name, wanted, got = found[1], int(found[2]), int(found[3])
        place = seen.places.where_returns(name, "backward") or line
        yield Finding(
            "wrong-backward", place, True,
            f"Line {place}, `{seen.places.code(place)}`: the forward of {name} takes {_counted(wanted, 'input')}, and its backward returns "
            f"{_counted(got, 'gradient')}.",
            "Return one gradient for each input of forward, in their order, and None for an input that needs none.", [name], [place, line], 7,
            share=1.0, explains_error=True,
        )  # fmt: skip
    elif (found := OWN_VIEW.search(message)) is not None:
        span = seen.places.defined(found[1], "forward")
        yield Finding(
            "in-place", line, True,
            f"Line {line}, `{code}`, writes into what {found[1]} returned, and the forward of {found[1]} returned its own input: the write would go past "
            f"the backward of {found[1]}.",
            f"Compute a new value instead of writing: `x = x * 2` for `x *= 2`. Or let the forward of {found[1]} return a new tensor, `return x.clone()`.",
            [found[1]], [line, *(span or ())], 6, share=1.0, explains_error=True,
        )  # fmt: skip
    elif (found := NO_SLOPE.search(message)) is not None and (made := _without_slope(seen, found[1])) is not None:
        stairs = "floor" in found[1]
        yield Finding(
            "flat" if stairs else "cut", made.line, True,
            f"Line {made.line}, `{seen.places.code(made.line)}`: `{made.name}` has no gradient"
            + (", for it is a staircase: flat between its steps" if stairs else "")
            + f". Line {line}, `{code}`, raised an error when it came to it.",
            "Let the gradient pass by: `x + (stepped - x).detach()`, a straight-through estimator." if stairs
            else "Compute it from ops that have one, or detach() its input if nothing is to learn through it.",
            [], [made.line or 0, line], 2 if stairs else 1, where=made.where, path=[*made.inputs[:1], *made.outputs[:1]],
            cut=next(iter(made.outputs), None), share=1.0, explains_error=True,
        )  # fmt: skip
    elif NOT_STATIC in message and (place := _not_static(seen)) is not None:
        yield Finding(
            "wrong-backward", place, True,
            f"Line {place}, `{seen.places.code(place)}`, is a method of an instance. A Function has static methods that are given a context, `ctx`.",
            "Write `@staticmethod` above forward and backward, call the first argument ctx, and call `F.apply(x)` instead of `F()(x)`.",
            [], [place, line], 7, share=1.0, explains_error=True,
        )  # fmt: skip
    elif NOTHING in message and ".grad" in code:
        yield from _none_read(seen, line, code)


def _without_slope(seen: Observation, name: str) -> Ran | None:
    """The last op of this name that was recorded, although it has no derivative."""
    plain = name.replace("_", "")
    for op in reversed(seen.ops):
        if op.recorded and op.outputs and op.name.strip("_").replace("_", "") in (plain, plain.removesuffix("ide")):
            return op
    return None


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _several(seen: Observation, line: int, code: str) -> Finding:
    each = next((one for one in reversed(seen.passes) if NOT_SCALAR in one.raised), None)
    root = seen.values[each.roots[0]] if each is not None and each.roots else None
    maker = seen.maker(root) if root is not None else None
    shape = f" has the shape {root.shape}" if root is not None else " has several numbers"
    made = (
        f", made in line {maker.line}, `{seen.places.code(maker.line)}`,"
        if maker is not None and maker.line not in (None, line)
        else ""
    )
    change = (code, code.replace(".backward(", ".mean().backward(")) if code.count(".backward(") == 1 else None
    return Finding(
        "not-scalar", line, True,
        f"Line {line}, `{code}`: what backward() is called on{made}{shape}. A gradient belongs to one number.",
        "Make one number of it first: `loss.mean().backward()`. For a sum weighted by v, `loss.backward(v)`.", [], [line, maker.line or 0 if maker else 0], 1,
        change, share=1.0, explains_error=True,
    )  # fmt: skip


def _not_static(seen: Observation) -> int | None:
    """The forward of a Function that is no static method."""
    for node in seen.places.nodes:
        if isinstance(node, ast.ClassDef) and any(
            ast.unparse(base).rpartition(".")[2] == "Function" for base in node.bases
        ):
            for part in node.body:
                if isinstance(part, ast.FunctionDef) and part.name == "forward" and not part.decorator_list:
                    return part.lineno
    return None


def _none_read(seen: Observation, line: int, code: str) -> Iterator[Finding]:
    """`.grad` was computed with while it was None: no backward() had run, or zero_grad() had taken it away."""
    back = [each for each in seen.passes if each.kind == "backward" and each.done]
    asked = [leaf for leaf in seen.leaves if leaf.asked and leaf.requires_grad]
    if not asked:
        return
    if not back:
        yield Finding(
            "never-backward", line, True, f"Line {line}, `{code}`, uses .grad, and no backward() has run before it: .grad is None until then.",
            "Call `loss.backward()` first.", seen.called(leaf.nr for leaf in asked), [line], 5, share=1.0, explains_error=True,
        )  # fmt: skip
        return
    zeroed: Moment | None = next((one for one in reversed(seen.moments) if one.kind == "zero"), None)
    if zeroed is not None and zeroed.order > back[-1].order and all(leaf.gradients for leaf in asked):
        yield Finding(
            "zero-before-step", zeroed.line, True,
            f"Line {zeroed.line}, `{seen.places.code(zeroed.line)}`, sets each .grad to None, and line {line}, `{code}`, uses it afterwards.",
            "Use the gradients before zero_grad().", seen.called(leaf.nr for leaf in asked), [zeroed.line or 0, line], 5, share=1.0, explains_error=True,
        )  # fmt: skip
