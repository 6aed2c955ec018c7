"""Plays a recording once. Only here is it decided what each step means, in words and in changes to the pictures."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from viz.frames.beside import Beside, both
from viz.frames.buffers import Buffers
from viz.frames.flow import Flow
from viz.frames.stage import Stage
from viz.frames.words import NONE, WORKED_OUT, Words, arrived, hooked, joined, sentence
from viz.picture import grid as grids
from viz.picture.svg import State
from viz.recording import notation
from viz.recording.graph import Op, Value, array_of
from viz.recording.notation import brief, listed, short
from viz.recording.recording import Event, Recording

VIEWS = ("values", "grad_fn")
LISTED = 12  # entries of a panel beside the picture; leaves that are named in one step
_AFTER_A_RUN = ("run", "done", "backward", "raised", "error")  # the next event of one of these kinds is not of its step
TOLD = 135  # characters of the gradients that the last sentence lists: it has two lines


@dataclass
class Step:
    """One frame of the player."""

    phase: str
    title: str
    sentence: str
    line: int | None = None
    ready: list[str] = field(default_factory=list)
    inbox: list[list[str]] = field(default_factory=list)
    saved: list[list[str]] = field(default_factory=list)


class Director:
    """Plays a recording once and writes every step for every view; `beside` has another engine's other numbers."""

    def __init__(self, recording: Recording, beside: Recording | None = None) -> None:
        self.recording = recording
        self._beside = None if beside is None else Beside(recording, beside)
        self.graph = recording.graph
        self.stages = {view: Stage() for view in VIEWS}
        self.steps: list[Step] = []
        self.flow = Flow(self.graph, self.stages, self._beside)
        self.layers = self.flow.layers
        self.words = Words(self.graph)
        self._buffers = Buffers(self.words, LISTED)
        self._passes: dict[int, list[Event]] = {}
        for event in recording.events:
            self._passes.setdefault(event.pass_nr, []).append(event)
        self._order = 0
        self._total = 0
        self._after = False  # a backward pass has begun, and nothing was recorded since
        self._hooks: list[Event] = []  # hooks that ran since the last node
        self._hooks_of: list[Event] = []  # hooks of the node that is running
        self._play()

    # steps

    def _passing(self, key: str, classes: str, after: str, **text: str) -> None:
        for stage in self.stages.values():
            stage.passing(key, classes, after, **text)

    def _close(self, step: Step) -> None:
        step.saved = self._buffers.rows()
        inbox = self.flow.inbox
        # If there are many, show those that received something: a reader looks for changes, and a long run stays small.
        listed_ones = inbox if len(inbox) <= LISTED else [key for key in self.flow.touched if key in inbox][:LISTED]
        step.inbox = [[self.words.node(key[0]), joined(inbox[key])] for key in listed_ones]
        if len(inbox) > len(step.inbox):
            step.inbox.append(["and more", f"{len(inbox) - len(step.inbox)} inboxes wait"])
        self.flow.touched.clear()
        if len(step.ready) > LISTED:
            step.ready = [*step.ready[:LISTED], f"and {len(step.ready) - LISTED} more"]
        self.steps.append(step)
        for stage in self.stages.values():
            stage.close()

    def _play(self) -> None:
        self._start()
        events = self.recording.events
        position = 0
        while position < len(events):
            event = events[position]
            used = 1
            if event.kind == "create":
                while (
                    position + used < len(events)
                    and events[position + used].kind == "create"
                    and events[position + used].line == event.line
                ):
                    used += 1
                in_pass = self.graph.values[event.values[0]].scope == "backward"
                self._create(events[position : position + used], "backward" if in_pass else "forward")
            elif event.kind == "op":
                self._op(event, self.graph.ops[event.node or ""].during)
            elif event.kind == "backward":
                self._backward(event)
            elif event.kind == "run":
                while position + used < len(events) and events[position + used].kind not in _AFTER_A_RUN:
                    used += 1
                group = events[position : position + used]
                # a node may run others in its own backward (as a checkpoint does) and finish only after them
                own = [
                    nested
                    for nested in group
                    if nested.node in (None, event.node) and nested.kind not in ("op", "create")
                ]
                self._run(own)
                for nested in group:
                    if nested.kind == "send" and nested.node != event.node:
                        self._finishes(nested)
                    elif nested.kind == "freed" and nested.node != event.node:
                        self._free(self.graph.ops[nested.node or ""])
                    elif nested.kind == "op":
                        self._op(nested, "backward")
                    elif nested.kind == "create" and self.graph.values[nested.values[0]].names:
                        self._create([nested], "backward")
                    elif nested.kind == "create":  # a number that a rule needs is not a nested of the program
                        self._appear(self.graph.values[nested.values[0]])
            elif event.kind == "hook":
                self._hooks.append(event)
            elif event.kind == "done":
                self._done(event)
            elif event.kind == "raised":
                self._raised(event)
            elif event.kind == "error":
                self._error(event)
            position += used

    def _start(self) -> None:
        for value in self.graph.values.values():
            self.flow.set(value.key, "pending")
        for op in self.graph.ops.values():
            self.flow.set(op.key, "pending")
            for slot, key in enumerate(op.inputs):
                if key is not None:
                    self.flow.set(f"e{op.key}i{slot}", "pending")
            for key in op.outputs:
                self.flow.set(f"e{key}", "pending")
            for slot, (key, _) in enumerate(op.next):
                if key is not None:
                    self.flow.set(f"n{op.key}i{slot}", "pending")
        for key in self.words.leaf_of:
            self.flow.set(key, "pending")
        for stage in self.stages.values():
            stage.first = {key: State(state.classes, dict(state.text)) for key, state in stage.state.items()}
        if self.recording.events:
            self._close(Step("start", "Before the first line", "Nothing has run yet."))
        else:
            self._close(Step("start", "No tensor", "It has run to its end and made no tensor, so there is no graph."))

    def _create(self, events: list[Event], phase: str = "forward") -> None:
        values = [self.graph.values[event.values[0]] for event in events]
        words = []
        kinds: dict[str, list[str]] = {}
        for value in values:
            self._appear(value)
            grad = "grad" if value.requires_grad else "no grad"
            if value.how_shared == "in-place":
                words.append(f"{value.title} = {brief(value.array)} now: its memory was written to")
                kinds.setdefault("were written to", []).append(value.title)
            else:
                words.append(f"{value.title} = {brief(value.array)}, a leaf that requires {grad}")
                kinds.setdefault(f"require {grad}", []).append(value.title)
        names = ", ".join(value.title for value in values)
        if len(values) > LISTED:  # the parameters of a network
            names = f"{len(values)} leaves"
            words = [
                f"{len(titles)} {kind}, {' … '.join((titles[0], *titles[1:][-1:]))}" for kind, titles in kinds.items()
            ]
        self._close_in(phase, names, "; ".join(words), events[0].line)

    def _close_in(self, phase: str, told: str, words: str, line: int | None) -> None:
        """Close a step of a pass, or of neither: what comes after a backward pass and before the next forward pass."""
        phase = "outside" if phase == "forward" and self._after else phase
        self._close(Step(phase, told if phase == "outside" else f"{phase.title()}: {told}", sentence(words), line))

    def _appear(self, value: Value) -> None:
        other = self._beside.value(value) if self._beside is not None else None
        texts = {"value": both(grids.words(value.array), other)}
        if value.array is not None and value.array.shape:
            self.stages["values"].set(f"{value.key}x", "on")
        if value.requires_grad and value.kind == "leaf":
            before = self.stages["values"].state.get(value.shares or "", State()).text.get("grad", "")
            texts["grad"] = before if before and value.how_shared == "in-place" else notation.held(None)
            texts["short"] = texts["grad"]
        self._passing(value.key, "now", "done", **texts)
        if value.accumulate:
            self.flow.set(value.accumulate, "done")

    def _op(self, event: Event, phase: str = "forward") -> None:
        op = self.graph.ops[event.node or ""]
        mathematics = notation.symbol(op)
        self._passing(op.key, "now", "done")
        for slot, key in enumerate(op.inputs):
            if key is not None:
                self.flow.set(f"e{op.key}i{slot}", "")
        for slot, (node, _) in enumerate(op.next):
            if node is not None:
                self.flow.set(f"n{op.key}i{slot}", "")
        results = []
        for key in op.outputs:
            value = self.graph.values[key]
            self.flow.set(f"e{key}", "")
            self._appear(value)
            again = f" in place, version {value.version}" if value.how_shared == "in-place" else ""
            number = f" = {brief(value.array)}" if value.array is not None else ""
            results.append(f"{value.title}{number}{again}")
        for position, saved in enumerate(op.saved):
            self.flow.set(f"{op.key}s{position}", "")
            self._buffers.set(op, position, "alive" if saved.state == "freed" else saved.state)
        words = notation.applied(op, lambda key: self.words.operand(key, op.called.get(key, "")))
        words += f" gives {', '.join(results)}" if results else ""
        if op.recorded:
            words += f", recorded as {op.name}"
            kept = Counter(self.words.saved(op, saved) for saved in op.saved)
            names = [f"{name} twice" if count == 2 and name != WORKED_OUT else name for name, count in kept.items()]
            if any(saved.state == "packed" for saved in op.saved):
                words += "; a hook receives what it saves for the backward pass"
            elif kept:
                words += f", which keeps {listed(names)} for the backward pass"
        else:
            words += "; it is not recorded, so no gradient will flow through it"
        if phase == "forward" and (op.recorded or op.module):
            self._after = False
        if op.whole:
            phase, words = "outside", self.words.whole(op)
        place = f" inside {op.scope}" if op.scope else f" in {op.module}" if op.module else ""
        self._close_in(phase, f"{mathematics}{place}", words, event.line)

    def _backward(self, event: Event) -> None:
        rest = self._passes[event.pass_nr]
        self._after, self._order = True, 0
        self._total = sum(1 for later in rest if later.kind == "run")
        self._hooks = []
        self.flow.begin(rest)
        roots = [self.graph.values[key] for key in event.values]
        first = next((later for later in rest if later.kind == "run"), None)
        seed = ""
        if first is not None and len(roots) == 1:
            changed = next((later for later in rest[: rest.index(first)] if later.kind == "hook"), first)
            # A node has one for each of its outputs, and the pass begins at one of them.
            began = next((gradient.array for gradient in changed.gradients if gradient.array is not None), None)
            seed = f" with the gradient {brief(began)}" if began is not None else ""
        for root in roots:
            self._passing(root.key, "ready", "done")
        names = ", ".join(root.title for root in roots) or "the roots"
        which = f" {event.pass_nr}" if event.pass_nr > 1 else ""
        why = f": {names} changes by 1 when {names} changes by 1." if seed.endswith(" 1") else "."
        words = f"The backward pass starts at {names}{seed}{why}"
        self._close(Step("backward", f"Backward{which} starts at {names}", words, event.line, self._ready(event)))

    def _run(self, events: list[Event]) -> None:
        event = events[0]
        self._show_hooks(event.node or "")
        self._order += 1
        key = event.node or ""
        op = self.graph.ops.get(key)
        title = f"Backward, step {self._order} of {self._total}: "
        if op is None:
            leaf = self.words.leaf_of.get(key)
            self._accumulate(events, leaf, key, title)
            return
        mathematics = notation.symbol(op)
        parts = []
        before = self._hooks_before()
        upstream = self.flow.receive(key, event.gradients)
        self._passing(key, "running", "has-grad")
        for later in events[1:]:
            if later.kind == "send":
                for position, gradient in enumerate(later.gradients):
                    parts.append(self.flow.send(op, gradient, position, upstream))
            elif later.kind == "hook":
                self._hooks.append(later)
            elif later.kind == "freed":
                self._free(op)
        ready = self._light_up(events[-1])
        words = "; ".join([*before, f"{mathematics} receives {arrived(event.gradients, self.graph)}"])
        if parts:
            words += " and sends " + ", and ".join(filter(None, parts))
        self._close(Step("backward", f"{title}{mathematics} runs, {op.name}", sentence(words), event.line, ready))

    def _ready(self, event: Event) -> list[str]:
        return [self.words.node(key) for key in event.ready]

    def _light_up(self, event: Event) -> list[str]:
        """The same, and show them in the pictures."""
        for key in event.ready:
            self._passing(key, "ready", "done")
        return self._ready(event)

    def _show_hooks(self, node: str) -> None:
        """A step for each hook that changed a gradient since the last node. They belong to the node that comes next."""
        for event in self._hooks:
            before, after = (gradient.array for gradient in event.gradients)
            if before == after:
                continue
            value = self.graph.values[event.values[0]]
            waiting = self.flow.inbox.get((node, value.output_nr if node in self.graph.ops else 0), [])
            first = value.key not in self.flow.hooked
            met = joined(waiting) if first and 1 < len(waiting) <= 4 else ""
            self.flow.change(value, met, before, after)
            self._passing(value.key, "now", "done")
            words = f"{met}{' = ' if met else ''}{brief(before)} has arrived at {value.title}. "
            words += f"A hook on {value.title} turns it into {brief(after)} and passes that on."
            title = f"Backward: a hook on {value.title}"
            self._close(Step("backward", title, words, event.line, self._ready(event)))

    def _hooks_before(self) -> list[str]:
        """The text for hooks that ran since the last node and changed nothing."""
        self._hooks_of, self._hooks = self._hooks, []
        return [
            hooked(self.graph.values[hook.values[0]].title, hook.gradients[0])
            for hook in self._hooks_of
            if hook.gradients[0].array == hook.gradients[1].array
        ]

    def _finishes(self, event: Event) -> None:
        op = self.graph.ops[event.node or ""]
        parts = [self.flow.send(op, gradient, position, None) for position, gradient in enumerate(event.gradients)]
        words = f"{notation.symbol(op)} is done and sends {', and '.join(filter(None, parts)) or 'nothing'}"
        title = f"Backward: {self.words.node(op.key)} is done"
        self._close(Step("backward", title, sentence(words), event.line, self._ready(event)))

    def _accumulate(self, events: list[Event], leaf: Value | None, key: str, title: str) -> None:
        event = events[0]
        name = leaf.title if leaf is not None else key
        arrived = event.gradients[0].array if event.gradients else None
        waiting = self.flow.inbox.pop((key, 0), [])
        words = self._hooks_before()
        if len(waiting) > 1:
            whole = self._hooks_of[0].gradients[0].array if self._hooks_of else arrived
            met = f", {brief(whole)} in all," if len(waiting) > 4 else f" = {brief(whole)}"
            words.insert(0, f"{joined(waiting)}{met} have met in the inbox of {name}")
        total = arrived
        for later in events[1:]:
            if later.kind == "accumulate":
                total = later.total
            elif later.kind == "hook":
                self._hooks.append(later)
        if arrived is None:
            stays = "None" if total is None else brief(total)
            words.append(f"AccumulateGrad receives no gradient, so {name}.grad stays {stays}")
        elif len(waiting) > 1:
            words.append(
                "AccumulateGrad runs once and adds "
                f"{'the sum' if not self._hooks_of else brief(arrived)} into {name}.grad"
            )
        else:
            words.append(f"AccumulateGrad adds {brief(arrived)} into {name}.grad")
        if arrived is not None and brief(total) != brief(arrived):
            words[-1] += f", which becomes {brief(total)}: it was not zeroed"
        self._passing(key, "running", "has-grad", grad=NONE if arrived is None else notation.gradient(arrived))
        for view, end in (("values", leaf.key if leaf is not None else key), ("grad_fn", key)):
            if arrived is None:
                break
            if len(waiting) > 1 and end not in self.flow.hooked:
                self.stages[view].move("at", end, joined(waiting), brief(arrived))
            self.stages[view].move("into", end, short(arrived), short(total))
        if leaf is not None:
            other = self._beside.gradient(leaf, total, event.pass_nr, left=True) if self._beside is not None else None
            text = notation.held(None) if total is None else both(f".grad {grids.words(total)}".strip(), other)
            brief_text = both(notation.held(total), other, few=True)
            for passing in {leaf.key, *(sent.value or leaf.key for sent in waiting)}:  # also the version that was used
                self._passing(
                    passing, "running", "done" if total is None else "done has-grad", grad=text, short=brief_text
                )
            self.flow.show(leaf, total)
        title += f"{name} receives {'no' if arrived is None else 'its'} gradient, AccumulateGrad"
        ready = self._light_up(events[-1])
        self._close(Step("backward", title, sentence("; ".join(words)), event.line, ready))

    def _free(self, op: Op) -> None:
        for position, _ in enumerate(op.saved):
            self.flow.set(f"{op.key}s{position}", "freed")
            self._buffers.set(op, position, "freed")

    def _done(self, event: Event) -> None:
        words = [
            f"{name}.grad = {brief(array_of(state['grad']))}"
            for name, state in self.recording.tensors.items()
            if state["grad"] is not None and state["is_leaf"]
        ]
        last = event is self.recording.events[-1]
        returned = [
            f"{joined(sent)} for {name}"
            for (node, number), sent in self.flow.inbox.items()
            if (name := self.words.gradient_of(node, number))
        ]
        self.flow.inbox.clear()
        text = "Every gradient has arrived"
        if returned:
            text += f"; it returns {', '.join(returned)}, and adds nothing to any .grad"
        elif last and words:
            told = 1
            while told < len(words) and len(", ".join(words[: told + 1])) <= TOLD:
                told += 1
            text += f": {', '.join(words[:told])}{f', and {len(words) - told} more' if told < len(words) else ''}"
        self._close(Step("end" if last else "backward", "The backward pass is over", sentence(text), event.line))

    def _raised(self, event: Event) -> None:
        self.flow.inbox.clear()
        if event.node:
            self._passing(event.node, "error", "done")
        name = event.text.partition(":")[0]
        where = self.words.node(event.node) if event.node else "The backward pass"
        self._close(Step("error", f"{where} raises {name}", f"{event.text} The program catches it.", event.line))

    def _error(self, event: Event) -> None:
        if event.node:
            self.flow.set(event.node, "error")
        about = self.recording.error or {}
        name = about.get("type", "Error")
        title = (
            f"{name} in the {about.get('phase', '')} pass" if len(self.steps) > 1 else f"{name} before anything has run"
        )
        self._close(Step("error", title, event.text, event.line))
