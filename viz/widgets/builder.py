"""A builder: click an op to apply it to the chosen values, and the graph grows. The code is shown beside it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from keyword import iskeyword
from typing import Any

import traitlets

from viz.export import bundle
from viz.recording.notation import number
from viz.recording.record import record
from viz.telling.explain import explain
from viz.widgets import fallback
from viz.widgets.live import Live

# name: (what the button says, how many values it takes, the code)
OPS = {
    "add": ("+", 2, "{} + {}"),
    "sub": ("−", 2, "{} - {}"),
    "mul": ("×", 2, "{} * {}"),
    "div": ("÷", 2, "{} / {}"),
    "square": ("(·)²", 1, "{} ** 2"),
    "exp": ("exp", 1, "T.exp({})"),
    "log": ("ln", 1, "T.log({})"),
    "relu": ("relu", 1, "T.relu({})"),
    "detach": ("detach", 1, "{}.detach()"),
}
NAMES = list("pqrstuvabcdefghijklmno")
VIEWS = ("values", "grad_fn")
STAGE = 560.0  # pixels beside the code in a notebook on a laptop


class Builder(Live):
    """Shows a graph that grows by clicks. This is what `build` returns.

    Traits: `start` (the initial values), `steps` (the clicks: `[op, name, …]`, or `["backward"]`), `view`; all can be
    set from Python. `result` holds the code, the values and the pictures.
    """

    _esm = bundle.script("builder.js")
    _css = bundle.style("builder.js")

    ops: traitlets.List[Any] = traitlets.List().tag(sync=True)
    start: traitlets.List[Any] = traitlets.List().tag(sync=True)
    steps: traitlets.List[Any] = traitlets.List().tag(sync=True)
    view = traitlets.Enum(VIEWS, "values").tag(sync=True)
    result = traitlets.Dict().tag(sync=True)

    def __init__(self, start: Sequence[Mapping[str, Any]], engine: str, **traits: Any) -> None:
        self._engine = engine
        ops = [{"name": name, "label": label, "takes": takes} for name, (label, takes, _) in OPS.items()]
        super().__init__(ops=ops, start=[dict(each) for each in start], **traits)
        self.observe(lambda change: self._at_home(self._begin), ["start", "steps"])

    @traitlets.validate("start")
    def _named(self, proposal: dict[str, Any]) -> list[dict[str, Any]]:
        for each in proposal["value"]:
            if not _is_name(each["name"]):
                raise traitlets.TraitError(f"{each['name']!r} cannot be the name of a value here")
        return list(proposal["value"])

    @traitlets.validate("steps")
    def _known(self, proposal: dict[str, Any]) -> list[list[str]]:
        """Steps come from a browser and become code, so only known ops on known names are accepted."""
        names = {each["name"] for each in self.start}
        free = self._free()
        for step in proposal["value"]:
            op, *operands = step
            if op == "backward" and not operands:
                continue
            if op not in OPS or len(operands) != OPS[op][1] or not names.issuperset(operands) or not free:
                raise traitlets.TraitError(f"not a step of this builder: {step!r}")
            names.add(free.pop(0))
        return list(proposal["value"])

    def _free(self) -> list[str]:
        """The names for results, in order."""
        taken = {each["name"] for each in self.start}
        return [name for name in NAMES if name not in taken]

    def _begin(self) -> None:
        lines, names = self._program()
        recording = record("\n".join(lines), self._engine)
        error = recording.error
        order = {name: place for place, name in enumerate([*(each["name"] for each in self.start), *names])}
        values = [
            {
                "name": name,
                "text": number(tensor["value"]["data"]) if tensor["value"]["data"] is not None else "",
                "requires_grad": tensor["requires_grad"],
                "start": name in {each["name"] for each in self.start},
                "grad": number(tensor["grad"]["data"]) if tensor["grad"] else "",
            }
            for name, tensor in sorted(recording.tensors.items(), key=lambda item: order.get(item[0], 0))
        ]
        self.result = {
            "code": lines,
            "values": values,
            "svgs": {view: recording.picture(view=view, width=STAGE).svg for view in VIEWS},
            "sentence": self._sentence(lines, names, recording),
            "error": bool(error),
            "full": len(names) == len(self._free()),
        }
        self._keep()

    def _program(self) -> tuple[list[str], list[str]]:
        """The lines of code, and the names of the results."""
        lines = []
        for each in self.start:
            tail = ", requires_grad=True" if each["requires_grad"] else ""
            lines.append(f"{each['name']} = T.tensor({float(each['value'])!r}{tail})")
        free = self._free()
        names: list[str] = []
        for op, *operands in self.steps:
            last = names[-1] if names else self.start[-1]["name"]
            if op == "backward":
                lines.append(f"{last}.backward()")
            else:
                names.append(free.pop(0))
                lines.append(f"{names[-1]} = {OPS[op][2].format(*operands)}")
        return lines, names

    def _sentence(self, lines: list[str], names: list[str], recording: Any) -> str:
        if recording.error:
            kind, message = recording.error["type"], recording.error["message"]
            return f"{lines[-1]} raises {kind}: {message.partition('. ')[0]}. {explain(kind, message)}".strip()
        if not self.steps:
            return "Choose one or two values, then an operation."
        if self.steps[-1][0] == "backward":
            got = [f"{name}.grad = {number(t['grad']['data'])}" for name, t in recording.tensors.items() if t["grad"]]
            return f"{lines[-1]}: {', '.join(got) or 'no leaf got a gradient'}."
        name = names[-1]
        tensor = recording.tensors[name]
        told = f"{lines[-1]} gives {number(tensor['value']['data'])}"
        if tensor["grad_fn"]:
            return f"{told}, and leaves the node {tensor['grad_fn']} behind."
        if self.steps[-1][0] == "detach":
            return f"{told}: the same number, with no node behind it."
        return f"{told}. Nothing in it requires a gradient, so no node is made."

    def _still(self) -> dict[str, str]:
        text = self.result["sentence"]
        picture = fallback.picture([self.result["svgs"][self.view]], "Build a graph.", text)
        return {"text/html": picture, "text/plain": f"Build a graph. {text}"}

    def _text(self) -> str:
        return "A builder of graphs"


def _is_name(text: str) -> bool:
    spelt = re.fullmatch(r"[A-Za-z_]\w*", text, re.ASCII)
    return spelt is not None and not iskeyword(text) and text not in ("T", "torch")


def build(values: Mapping[str, float], requires_grad: Sequence[str] = (), engine: str = "tinygrad_edu") -> Builder:
    """Build a graph by clicking: choose values, click an op, and it is applied to them.

    Args:
        values: the initial numbers, by name.
        requires_grad: the names of those that require a gradient; a click changes it.
        engine: `"tinygrad_edu"` or `"torch"`.

    Raises:
        ValueError: a name is not a valid Python name, or no value was given.

    >>> build({"w": 3.0, "x": 2.0}, requires_grad=["w"]).result["code"]
    ['w = T.tensor(3.0, requires_grad=True)', 'x = T.tensor(2.0)']
    """
    for name in values:
        if not _is_name(name):
            raise ValueError(f"{name!r} cannot be the name of a value here")
    if not values:
        raise ValueError("a graph needs a value to start with, such as build({'w': 3.0})")
    unknown = set(requires_grad) - set(values)
    if unknown:
        raise ValueError(f"requires_grad names {', '.join(sorted(unknown))}, but values does not")
    start = [{"name": name, "value": value, "requires_grad": name in requires_grad} for name, value in values.items()]
    return Builder(start, engine)
