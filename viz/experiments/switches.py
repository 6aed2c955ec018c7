"""The switches of a program, one row each: where it stands, what it is called, what it writes, and what is said of it.

All that knows the switches reads this table: the edits and what reads them back, the sentences, the explorer and its
page, the live page, the tests. A switch that writes around or behind a line, or into a call of backward(), is one row.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from viz.experiments.parts import OUTSIDE, Part, owners
from viz.experiments.program import Line, Program
from viz.recording.recording import Recording
from viz.telling.account import numbers, sizes

State = Mapping[str, Any]  # where the switches stand, by name: plain data, which a link and a notebook keep
Offer = dict[str, Any]  # a switch at its place in a program: plain data, from which a page makes a control
KINDS = {"float": "float32", "int": "int64", "bool": "bool"}  # the dtype of numbers that are written out
DTYPES = ("float64", "float32", "float16", "int64", "bool")
MOST_PASSES = 5
_WHOLE = ("passes", "program", "pytorch")  # what has one entry for the whole program


@dataclass(frozen=True)
class Switch:
    """A row. In its texts, `{name}`, `{line}`, `{value}` and the like stand for what it is pressed at: see `_words`.

    `at` is where it stands: an input, a line or a value that it computes, a network or a part of one, a step (a call
    for what it changes), one of several calls of backward(), all passes, the program, or PyTorch.
    """

    name: str  # its entry in the state; at a call of backward(), its entry below the line
    at: str
    label: str
    title: str
    told: tuple[str, str]  # the change, where it is now on, and off
    code: str = ""  # what it writes around or behind a line, or as an argument
    on: Any = True
    off: Any = False
    keyed: bool = False  # whether its entry has a value for each key; otherwise it lists what the switch is on for
    rare: bool = True  # whether it waits in the menu of its line
    control: str = "pill"
    choices: tuple[Any, ...] = ()
    put: tuple[str, str] | None = None  # the change, where it has no effect: the line was not reached
    at_results: bool = False  # whether it has no effect on a leaf
    unfelt: tuple[str, str] | None = None  # what is said where nothing changes in the graph
    show: Callable[[Any, Any], Any] = lambda old, new: new  # `{value}`, from the old value and the new one

    def entries(self, state: State) -> dict[Any, Any]:
        """What a state has for this switch, by key: a line, a name, a path, or nothing for the whole program."""
        if self.at == "call":
            calls = state.get("passes") or {}
            return {line: asked[self.name] for line, asked in calls.items() if self.name in asked}
        held = state.get(self.name)
        if held is None:
            return {}
        return {"": held} if self.at in _WHOLE else dict(held) if self.keyed else dict.fromkeys(held, True)

    def own(self, program: Program, key: Any) -> Any:
        """Where it stands in the program as written; None where only a run can tell."""
        if self.at == "input":
            return next(
                (getattr(tensor, self.name, self.off) for tensor in program.inputs if tensor.name == key), self.off
            )
        if self.at == "call":
            asked = next((line.passes for line in program.lines if str(line.first) == key), ())
            return self.on if self.name in asked else self.off
        if self.at == "passes":
            return self.on if self.name in program.passes else self.off
        return None if self.at == "part" else self.off

    def written(self, name: str, value: Any = True) -> str:
        """What it writes behind the line that makes `name`."""
        return self.code.format(name=name, value=value, opposite=not value)


def _around(name: str, rare: bool = True) -> Switch:
    return Switch(
        name, "line", name, f"Run line {{line}} under {name}",
        (f"Line {{line}} now runs under {name}", f"Line {{line}} no longer runs under {name}"),
        f"with {{T}}.{name}():", rare=rare,
        put=(f"Line {{line}} is put under {name}", f"Line {{line}} no longer stands under {name}"),
    )  # fmt: skip


def _hook(value: str, label: str, code: str) -> Switch:
    told = f"A hook on {{value_of}} {value}s its gradient", "{value_of} has no hook any more"
    title = f"A hook on {{name}} that {value}s its gradient"
    return Switch(
        "hooks", "value", label, title, told, f"{{name}}.register_hook({code})", on=value, off=None, keyed=True
    )


def _of_call(name: str, label: str, title: str, told: tuple[str, str], **more: Any) -> Switch:
    return Switch(name, "call", label, title, (f"Line {{line}} {told[0]}", f"Line {{line}} {told[1]}"), **more)


def _argument(
    name: str, title: str, told: tuple[str, str], of_call: tuple[str, str], rare: bool = True, **more: Any
) -> tuple[Switch, Switch]:
    """For all passes, and for one call of several."""
    of_all = Switch(name, "passes", name, title, told, "{name}={value}", rare=rare, **more)
    return of_all, _of_call(name, name, title, of_call, rare=rare)


_CALLS: dict[str, Any] = {"on": 2, "off": 1}
_AFTER = "the gradients stay the same; what nodes have saved is "

# In the order in which they stand beside a line, write, and are told.
SWITCHES = (
    Switch("evaluated", "network", "{name}.eval()", "Run {name} in eval mode",
           ("{name} is in eval mode", "{name} is in training mode"), "{name}.eval()"),
    Switch("frozen", "part", "freeze {short}", "Whether {name}, {what}, gets no gradient",
           ("{name} is frozen", "{name} learns"), "{name}.requires_grad_({opposite})", keyed=True),
    Switch("requires_grad", "input", "requires_grad", "Whether {name} requires grad",
           ("{name} requires grad", "{name} requires no grad"), keyed=True, rare=False,
           put=("requires_grad=True is written for {name}", "requires_grad=False is written for {name}")),
    Switch("values", "input", "value", "", ("{name} {value}", "{name} has its own value again"), off=None, keyed=True,
           control="value", unfelt=("every gradient stays as it was.",) * 2,
           show=lambda old, new: f"has the shape {sizes(new)}" if None not in (old, new) and sizes(old) != sizes(new)
           else f"is {numbers(new)}"),
    Switch("shapes", "input", "shape", "", ("{name} has the shape {value}", "{name} has its own shape again"), off=None,
           keyed=True, control="shape", show=lambda old, new: tuple(new or ())),
    Switch("dtypes", "input", "dtype", "", ("{name} is of {value}", "{name} has its own dtype again"), off=None,
           keyed=True, control="choice", choices=DTYPES),
    Switch("volatile", "input", "volatile", "Variable({name}, volatile=True), as until PyTorch 0.3",
           ("{name} is volatile, which PyTorch has ignored since 0.4 and tinygrad_edu takes as PyTorch 0.3 did",
            "{name} is no longer volatile")),
    _around("no_grad", rare=False),
    Switch("detach", "value", "detach", "Cut {name} off from its history",
           ("{value_of} is now cut off from its history", "{value_of} is connected to its history again"),
           "{name} = {name}.detach()", put=("detach() is written for {value_of}", "detach() is gone from {value_of}")),
    _hook("double", "hook ×2", "lambda grad: 2 * grad"),
    _hook("print", "hook print", "print"),
    Switch("retain_grad", "value", "retain_grad", "Keep {name}.grad",
           ("{grad_of} is now kept", "{grad_of} is no longer kept"), "{name}.retain_grad()", rare=False,
           at_results=True, put=("retain_grad() is written for {value_of}", "retain_grad() is gone from {value_of}")),
    _around("inference_mode"),
    Switch("skipped", "step", "leave out", "Do not run line {line}",
           ("Line {line} is left out", "Line {line} runs again")),
    *_argument("retain_graph", "Keep the graph for another pass",
               ("The graph is kept after the first backward()", "The graph is freed by each backward()"),
               ("keeps the graph after its pass", "frees the graph as it runs"), rare=False,
               unfelt=(f"{_AFTER}still alive after the pass, ready for a second one.", f"{_AFTER}freed as they run.")),
    Switch("backwards", "passes", "call it twice", "A second backward() after the first",
               ("backward() is called {times}",) * 2, **_CALLS, rare=False),
    Switch("backwards", "passes", "calls", "Number of backward calls", ("", ""), **_CALLS, control="count",
               choices=tuple(range(1, MOST_PASSES + 1))),
    _of_call("backwards", "call it twice", "A second backward() after this one", ("calls backward() {times}",) * 2,
             **_CALLS, rare=False),
    *_argument("create_graph", "Record the backward pass itself",
               ("The backward pass is itself recorded", "The backward pass is not recorded"),
               ("records its own pass", "does not record its pass")),
    Switch("zero_grad", "passes", "clear .grad between", "Set .grad to None between the passes",
               ("Gradients are cleared between the passes", "Gradients are not cleared between the passes")),
    _of_call("zero_grad", "clear .grad before", "Set .grad to None before this call",
             ("runs with every .grad cleared", "adds to the gradients that are there")),
    Switch("anomaly", "program", "anomaly mode", "Name the forward line behind a bad gradient",
           ("Anomaly mode is on", "Anomaly mode is off"), "with {T}.autograd.detect_anomaly():"),
    Switch("device", "pytorch", "", "", ("PyTorch computes on the GPU", "PyTorch computes on the CPU"), off="cpu"),
    Switch("default_dtype", "pytorch", "", "",
           ("PyTorch makes tensors of {value}", "PyTorch makes tensors of its own default dtype"), off=None,
           unfelt=("the same graph, and the same gradients; tensors of {dtypes}.",) * 2),
)  # fmt: skip
AROUND = tuple(switch for switch in SWITCHES if switch.at == "line")
BEHIND = tuple(switch for switch in SWITCHES if switch.at in ("network", "part", "value"))
PYTORCH = tuple(switch.name for switch in SWITCHES if switch.at == "pytorch")  # these write nothing into the listing
ARGUMENTS = tuple(switch for switch in SWITCHES if switch.at == "passes" and switch.code)


# --- where each is offered ---


def offers(program: Program, values: Sequence[str], parts: Sequence[Part]) -> list[Offer]:
    """The switches at their places in a program: `values` are its tensors, `parts` those of its networks.

    In an offer, `line` and `label` say where its control stands and what is on it, `path` and `item` which entry of the
    state it sets, `on`, `off` and `own` to what, `above` which entries hold where it has none, `names` its subjects.
    """
    places = _Places(program, values, parts)
    lines = [Line(OUTSIDE, OUTSIDE, "given", ()), *program.lines]
    return [_offer(switch, line, *at) for line in lines for switch in SWITCHES for at in places.of(switch, line)]


def _offer(
    switch: Switch, line: Line, key: Any, names: Sequence[str], words: dict[str, str], own: dict[str, Any]
) -> Offer:
    words = {"line": str(line.first), "name": "".join(names), **words}
    label = switch.label.format(**words)
    path = [switch.name, key] if switch.keyed else [switch.name]
    if switch.at == "call":
        path = ["passes", key, switch.name]
    about = {"value": f" of {words['name']}, line {line.first}", "input": f" of {words['name']}"}
    change = label + about.get(switch.at, f", line {line.first}" if switch.at in ("line", "step", "call") else "")
    return {
        "line": line.first, "label": f"{words['name']} " * (switch.at in about and len(line.names) > 1) + label,
        "title": switch.title.format(**words), "called": label, "change": words.get("change", change),
        "names": list(names), "path": path,
        "item": None if switch.keyed or switch.at in ("call", *_WHOLE) else key, "above": [],
        "on": switch.on, "off": switch.off, "own": switch.off, "rare": switch.rare, "control": switch.control,
        "choices": list(switch.choices), **own,
    }  # fmt: skip


_Place = tuple[Any, Sequence[str], dict[str, str], dict[str, Any]]  # a key, names, further words, entries of the offer


class _Places:
    """Where the switches of a program stand: each has a key, the names it is about, and what only its offer has."""

    def __init__(self, program: Program, values: Sequence[str], parts: Sequence[Part]):
        self.program = program
        self.values = values
        self.parts = parts
        self.calls = [line.first for line in program.lines if line.kind == "backward"]
        self.makers = [name for line in program.lines if line.kind == "compute" for name in line.names]

    def of(self, switch: Switch, line: Line) -> Iterator[_Place]:
        first, of_passes = line.first, {"own": switch.own(self.program, str(line.first))}
        if (switch.at, line.kind) in (("line", "compute"), ("step", "call")):
            yield first, line.names, {}, {}
        elif (switch.at, line.kind) == ("value", "compute"):
            for name in line.names:
                if name in self.values:
                    yield f"{name}@{first}" if self.makers.count(name) > 1 else name, [name], {}, {}
        elif switch.at == "input":
            yield from self._inputs(switch, line)
        elif switch.at in ("network", "part"):
            yield from self._parts(switch, line)
        elif switch.at == "call" and line.kind == "backward" and len(self.calls) > 1:
            yield str(first), [], {}, {**of_passes, "above": [[switch.name]]}
        elif (switch.at, [first]) in (("passes", self.calls), ("program", self.calls[-1:])):
            yield "", [], {}, of_passes

    def _inputs(self, switch: Switch, line: Line) -> Iterator[_Place]:
        for tensor in self.program.inputs:
            written = tensor.value is not None  # a field of its numbers also gives them another shape
            dtype = tensor.dtype or KINDS[tensor.kind]
            own = {"value": tensor.value, "shape": None if written else tensor.shape, "choice": dtype}
            stands = own.get(switch.control, switch.own(self.program, tensor.name))
            if tensor.line == line.first and stands is not None:
                yield tensor.name, [tensor.name], {}, {"own": stands}

    def _parts(self, switch: Switch, line: Line) -> Iterator[_Place]:
        parts = [part for part in self.parts if part.line == line.first]
        several = len({part.root for part in parts}) > 1
        for part in parts:
            first, *inner = (part.path.partition(".")[2] or part.path).split(".")
            within = ".".join((f"[{first}]" if first.isdigit() else first, *inner))  # as it is written: model[0]
            short = part.path if several else within
            words = {"short": short, "what": part.title}
            if switch.at == "part":
                above = [[switch.name, owner] for owner in reversed(owners(part.path))]
                own = {"own": part.frozen, "rare": not part.first, "above": above}
                yield part.path, [part.path], {**words, "change": f"freeze {part.path}"}, own
            elif part.path == part.root:
                yield part.path, [part.path], words, {}


# --- a press ---


def _entry(state: Any, path: Sequence[str]) -> Any:
    for key in path:
        state = (state or {}).get(key)
    return state


def standing(state: State, offer: Offer) -> Any:
    """Where a switch stands."""
    if offer["item"] is not None:
        return offer["item"] in (_entry(state, offer["path"]) or [])
    entries = (_entry(state, path) for path in (offer["path"], *offer["above"]))
    return next((entry for entry in entries if entry is not None), offer["own"])


def is_on(state: State, offer: Offer) -> bool:
    """Whether a switch is on; that of a number also where the number is higher."""
    now, on = standing(state, offer), offer["on"]
    return bool(now >= on if type(on) is int else now == on)


def put(state: State, offer: Offer, value: Any) -> dict[str, Any]:
    """The state with a switch set, without entries that are empty or say nothing new. `js/switches.js` does so too."""
    after, path = copy.deepcopy(dict(state)), offer["path"]
    if offer["item"] is not None:
        others = [item for item in after.get(path[0]) or [] if item != offer["item"]]
        after[path[0]] = [*others, offer["item"]] if value else others
        return {name: held for name, held in after.items() if name != path[0] or held}
    holder, key = after, path[-1]
    for outer in path[:-1]:
        holder[outer] = holder = holder.get(outer) or {}
    for other in [other for other in holder if other == key or other.startswith(f"{key}.")]:
        del holder[other]  # what is decided for parts of it, too
    if value != standing(after, offer):
        holder[key] = value
    for depth in range(len(path) - 1, 0, -1):
        if not _entry(after, path[:depth]):
            del _entry(after, path[: depth - 1])[path[depth - 1]]
    return after


def pressed(state: State, offer: Offer) -> dict[str, Any]:
    """The state after a press: what was on is off."""
    return put(state, offer, offer["off"] if is_on(state, offer) else offer["on"])


def presses(offered: Sequence[Offer]) -> list[Offer]:
    """Whatever one press can set: each switch, and each choice of a list as if it were a switch."""
    pills = [offer for offer in offered if offer["control"] == "pill"]
    lists = [offer for offer in offered if offer["control"] == "choice"]
    return pills + [{**offer, "on": choice} for offer in lists for choice in offer["choices"] if choice != offer["own"]]


# --- what is said ---


@dataclass(frozen=True)
class Change:
    """A switch that stands elsewhere than before; `line` is that of what it is about, 0 if it is about none."""

    switch: Switch
    key: Any
    old: Any
    new: Any
    line: int

    def told(self, recording: Recording | None, first: bool = True) -> str:
        """The change in words. A line that was not reached did nothing: then it is said what is written.

        The `first` change begins the sentence.
        """
        off = self.new == self.switch.off
        words = self._words()
        error = None if recording is None else recording.error
        acts = recording is not None and (error is None or self.line < (error["line"] or 0))
        if self.switch.at_results and recording is not None:
            tensor = recording.tensors.get(words["name"])
            acts = acts and not (tensor is not None and tensor["is_leaf"])
        told = self.switch.told if acts or self.switch.put is None else self.switch.put
        text = told[off] if first else told[off][:1].lower() + told[off][1:]
        return text.format(**words)

    def _words(self) -> dict[str, Any]:
        name, _, line = str(self.key).partition("@")
        of = f" of line {line}" if line else ""
        return {
            "name": name,
            "line": self.line,
            "value_of": name + of,
            "grad_of": f"{name}.grad{of}",
            "value": self.switch.show(self.old, self.new),
            "times": "once" if self.new == 1 else "twice" if self.new == 2 else f"{self.new} times",
        }


def changes(was: Program, before: State, now: Program, after: State) -> list[Change]:
    """The switches that stand otherwise than before, in the order of the table."""
    lines = {name: line.first for line in now.lines for name in line.names}
    rows: dict[tuple[str, str], list[Switch]] = {}
    held = {*before, *after}
    for switch in SWITCHES:
        if ("passes" if switch.at == "call" else switch.name) in held:
            rows.setdefault((switch.name, switch.at), []).append(switch)
    offered = []
    for same in rows.values():
        first = same[0]
        olds, news = first.entries(before), first.entries(after)
        for key in dict.fromkeys([*olds, *news]) if first.keyed else sorted({*olds, *news}):
            old, new = olds.get(key, first.own(was, key)), news.get(key, first.own(now, key))
            if first.at == "part":  # an entry says the opposite of what the program does
                old, new = not new if old is None else old, not old if new is None else new
            if old != new:
                switch = next((row for wanted in (new, old) for row in same if row.on == wanted), first)
                name, _, line = str(key).partition("@")
                at = line or (name if name.isdigit() else lines.get(name, 0))
                offered.append(Change(switch, key, old, new, int(at)))
    return offered


def told(changed: Sequence[Change], recording: Recording | None) -> str:
    """The switches that were pressed, in words."""
    return ", ".join(change.told(recording, first=not number) for number, change in enumerate(changed))


def unfelt(changed: Sequence[Change], recording: Recording) -> str:
    """What is said where neither the graph nor a gradient changes, though a switch did."""
    once = [event.kind for event in recording.events].count("backward") == 1
    kinds = sorted({tensor["dtype"] for tensor in recording.tensors.values()})
    for change in changed:
        if change.switch.unfelt and (once or change.switch.at != "passes"):
            return change.switch.unfelt[change.new == change.switch.off].format(dtypes=" and ".join(kinds) or "none")
    return "neither the graph nor a gradient changes."
