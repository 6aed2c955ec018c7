"""Turns a recording into pictures and steps: what each step means, in words and as patches, is decided here alone."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from viz import grid as grids
from viz import layout as layouts
from viz import notation, shapes, svg
from viz.graph import Array, Op, Saved, Value
from viz.notation import brief, scalar
from viz.recording import Event, Gradient, Recording
from viz.svg import State
from viz.theme import text_width

VIEWS = ("values", "grad_fn")
WIDE = 1240.0  # pixels; a wider left-to-right picture is drawn top to bottom instead
TOO_WIDE = 1.5 * WIDE  # past this, not even a picture that is to keep its direction stays left to right
LISTED = 12  # entries of a panel beside the picture
LAYERS = 8  # gradients of one value that are drawn; more come as text alone
LEGEND = {
    "leaf": "leaf that requires grad",
    "input": "leaf that does not",
    "value": "result of a recorded op",
    "result": "result that is not recorded",
    "op": "op, with its backward node",
    "unrecorded": "op that ran but was not recorded",
    "accumulate": "AccumulateGrad, adds into a leaf's .grad",
    "saved": "saved tensor (struck through: freed)",
    "share": "shares memory with",
    "forward": "value flowing forward",
    "back": "gradient flowing back",
}


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


class _Stage:
    """The state of one view as it changes; each step's changes become a patch."""

    def __init__(self) -> None:
        self.state: dict[str, State] = {}
        self.first: dict[str, State] = {}
        self.patches: list[dict[str, dict[str, Any]]] = []
        self.widest: dict[str, dict[str, str]] = {}
        self._change: dict[str, dict[str, Any]] = {}
        self._passing: dict[str, str] = {}

    def set(self, key: str, classes: str | None = None, **text: str) -> None:
        """Give an element its classes (None: leave them) and texts from this step on."""
        state = self.state.setdefault(key, State())
        change = self._change.setdefault(key, {})
        if classes is not None:
            self._passing.pop(key, None)
            state.classes = change["class"] = classes
        for slot, words in text.items():
            state.text[slot] = words
            change.setdefault("text", {})[slot] = words
            widest = self.widest.setdefault(key, {})
            if text_width(words, 10) > text_width(widest.get(slot, ""), 10):
                widest[slot] = words

    def passing(self, key: str, classes: str, after: str, **text: str) -> None:
        """Give an element classes for this step alone, and what it has after it."""
        self.set(key, classes, **text)
        self._passing[key] = after

    def close(self) -> None:
        """End the step."""
        self.patches.append(self._change)
        self._change = {}
        leaving, self._passing = self._passing, {}
        for key, after in leaving.items():
            self.set(key, after)


def scene(
    recording: Recording,
    identity: str | None = None,
    title: str = "",
    views: tuple[str, ...] = VIEWS,
    theme: str = "auto",
    direction: dict[str, str] | None = None,
) -> dict[str, Any]:
    """All that a player needs to show `recording`, as plain data; see the contract in the design.

    Args:
        recording: what to show.
        identity: prefix of all element ids, unique on the page; made up when not given.
        title: heading of the player.
        views: which views to prepare.
        theme: `"auto"`, `"light"` or `"dark"`.
        direction: of a view, `"LR"` or `"TB"`; what fits a page when not given.
    """
    identity = identity or new_identity()
    director = Director(recording)
    wanted = direction or {}
    pictures = {view: director.picture(view, f"{identity}{view[0]}", theme, wanted.get(view)) for view in views}
    return {
        "schema": 1,
        "id": identity,
        "engine": recording.engine,
        "title": title or f"{recording.engine}, step by step",
        "source": recording.source,
        "views": pictures,
        "steps": [vars(step) for step in director.steps],
        "details": director.details(),
        "legend": director.legend(),
        "stdout": recording.stdout,
        "error": recording.error,
    }


def frame(scene: dict[str, Any], view: str, step: int) -> str:
    """The picture of one step of a scene as SVG, from the scene alone: what the player shows there.

    Raises:
        IndexError: the scene has no such step.
    """
    picture = scene["views"][view]
    patches = picture["patches"]
    if not -len(patches) <= step < len(patches):
        raise IndexError(f"step must be from 0 to {len(patches) - 1}, not {step}")
    classes: dict[str, str] = {}
    words: dict[str, str] = {}
    for patch in patches[: step % len(patches) + 1]:
        for key, change in patch.items():
            if "class" in change:
                classes[key] = change["class"]
            words.update({f"{key}-{slot}": text for slot, text in change.get("text", {}).items()})
    prefix = re.escape(picture["id"])

    def group(match: re.Match[str]) -> str:
        state = classes.get(match["key"])
        if state is None:
            return match[0]
        return f'{match["head"]}class="{match["base"]} {state}" data-base="{match["base"]}"'.replace(' "', '"')

    def text(match: re.Match[str]) -> str:
        return f"{match['head']}{svg.escape(words[match['key']])}<" if match["key"] in words else match[0]

    drawn = re.sub(
        rf'(?P<head><g id="{prefix}-(?P<key>\w+)" )class="[^"]*" data-base="(?P<base>[^"]*)"', group, picture["svg"]
    )
    return re.sub(rf'(?P<head><text id="{prefix}-(?P<key>\w+-\w+)"[^>]*>)[^<]*<', text, drawn)


_counter = iter(range(1, 1 << 62))


def new_identity() -> str:
    """A prefix for ids that no other picture of this process, nor likely of this page, has."""
    import secrets

    return f"g{secrets.token_hex(3)}{next(_counter)}"


class Director:
    """Plays a recording once and writes down every step for every view."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.graph = recording.graph
        self.stages = {view: _Stage() for view in VIEWS}
        self.steps: list[Step] = []
        self.layers: dict[str, list[grids.Grid]] = {}
        self._leaf_of = self.graph.accumulators()
        self._inbox: dict[tuple[str, int], list[Gradient]] = {}
        self._expected: dict[str, int] = {}
        self._received: dict[str, Array | None] = {}
        self._saved: dict[str, str] = {}
        self._saved_before: dict[str, str] = {}
        self._pass = 0
        self._order = 0
        self._total = 0
        self._play()

    # steps

    def _set(self, key: str, classes: str | None = None, **text: str) -> None:
        for stage in self.stages.values():
            stage.set(key, classes, **text)

    def _passing(self, key: str, classes: str, after: str, **text: str) -> None:
        for stage in self.stages.values():
            stage.passing(key, classes, after, **text)

    def _close(self, step: Step) -> None:
        step.saved = self._saved_now()
        waiting = [(node, sent) for (node, _), sent in self._inbox.items() if sent]
        step.inbox = [[self._node_title(node), _joined(sent)] for node, sent in waiting[:LISTED]]
        if len(waiting) > LISTED:
            step.inbox.append(["and more", f"{len(waiting) - LISTED} inboxes"])
        if len(step.ready) > LISTED:
            step.ready = [*step.ready[:LISTED], f"and {len(step.ready) - LISTED} more"]
        self.steps.append(step)
        for stage in self.stages.values():
            stage.close()

    def _saved_now(self) -> list[list[str]]:
        """Saved buffers and their states: all of them while they are few, else counts and what has just changed."""
        before, self._saved_before = self._saved_before, dict(self._saved)
        if len(self._saved) <= LISTED:
            return [[self._saved_title(key), state] for key, state in self._saved.items()]
        changed = [key for key, state in self._saved.items() if before.get(key) != state]
        counts = Counter(self._saved.values())
        listed = [[self._saved_title(key), self._saved[key]] for key in changed[:LISTED]]
        return listed + [[f"{count} in all", state] for state, count in counts.items()]

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
                self._create(events[position : position + used])
            elif event.kind == "op":
                self._op(event)
            elif event.kind == "backward":
                rest = [later for later in events[position:] if later.pass_nr == event.pass_nr]
                self._backward(event, rest)
            elif event.kind == "run":
                while position + used < len(events) and events[position + used].kind not in (
                    "run",
                    "done",
                    "backward",
                    "raised",
                    "error",
                ):
                    used += 1
                group = events[position : position + used]
                # a node may run others in its own backward (a checkpoint does), and be done only after them
                own = [one for one in group if one.node in (None, event.node) and one.kind not in ("op", "create")]
                self._run(own)
                for one in group:
                    if one.kind == "send" and one.node != event.node:
                        self._finishes(one)
                    elif one.kind == "freed" and one.node != event.node:
                        self._free(self.graph.ops[one.node or ""])
                    elif one.kind == "op":
                        self._op(one, "backward")
                    elif one.kind == "create":
                        self._create([one], "backward")
            elif event.kind == "done":
                self._done(event)
            elif event.kind == "raised":
                self._raised(event)
            elif event.kind == "error":
                self._error(event)
            position += used

    def _start(self) -> None:
        for value in self.graph.values.values():
            self._set(value.key, "pending")
        for op in self.graph.ops.values():
            self._set(op.key, "pending")
            for slot, key in enumerate(op.inputs):
                if key is not None:
                    self._set(f"e{op.key}i{slot}", "pending")
            for key in op.outputs:
                self._set(f"e{key}", "pending")
            for slot, (key, _) in enumerate(op.next):
                if key is not None:
                    self._set(f"n{op.key}i{slot}", "pending")
        for key in self._leaf_of:
            self._set(key, "pending")
        for stage in self.stages.values():
            stage.first = {key: State(state.classes, dict(state.text)) for key, state in stage.state.items()}
        self._close(Step("start", "Before the first line", "Nothing has run yet."))

    def _create(self, events: list[Event], phase: str = "forward") -> None:
        words = []
        for event in events:
            value = self.graph.values[event.values[0]]
            self._appear(value)
            about = "requires grad" if value.requires_grad else "requires no grad"
            words.append(f"{value.title} = {brief(value.array)}, a leaf that {about}")
        names = ", ".join(self.graph.values[event.values[0]].title for event in events)
        self._close(Step(phase, f"{phase.title()}: {names}", _sentence("; ".join(words)), events[0].line))

    def _appear(self, value: Value) -> None:
        texts = {"value": grids.words(value.array)}
        if value.array is not None and value.array.shape:
            self.stages["values"].set(f"{value.key}x", "on")
        if value.requires_grad and value.kind == "leaf":
            before = self.stages["values"].state.get(value.shares or "", State()).text.get("grad", "")
            texts["grad"] = before if before and value.how_shared == "in-place" else "grad: none yet"
        self._passing(value.key, "now", "done", **texts)
        if value.accumulate:
            self._set(value.accumulate, "done")

    def _op(self, event: Event, phase: str = "forward") -> None:
        op = self.graph.ops[event.node or ""]
        mathematics = notation.symbol(op)
        self._passing(op.key, "now", "done")
        for slot, key in enumerate(op.inputs):
            if key is not None:
                self._set(f"e{op.key}i{slot}", "")
        for slot, (node, _) in enumerate(op.next):
            if node is not None:
                self._set(f"n{op.key}i{slot}", "")
        results = []
        for key in op.outputs:
            value = self.graph.values[key]
            self._set(f"e{key}", "")
            self._appear(value)
            if value.array is not None:
                again = f" in place, version {value.version}" if value.how_shared == "in-place" else ""
                results.append(f"{value.title} = {brief(value.array)}{again}")
        for position, saved in enumerate(op.saved):
            self._set(f"{op.key}s{position}", "")
            self._saved[f"{op.key}s{position}"] = "alive" if saved.state == "freed" else saved.state
        operands = [brief(self.graph.values[key].array) for key in op.inputs if key is not None]
        words = f"{mathematics} of {' and '.join(filter(None, operands))}" if any(operands) else mathematics
        words += f" gives {', '.join(results)}" if results else ""
        if op.recorded:
            words += f", recorded as {op.name}"
            kept = [self._saved_name(op, saved) for saved in op.saved]
            words += f", which keeps {' and '.join(kept)} for the backward pass" if kept else ""
        else:
            words += "; it is not recorded, so no gradient will flow through it"
        place = f" inside {op.scope}" if op.scope else ""
        self._close(Step(phase, f"{phase.title()}: {mathematics}{place}", _sentence(words), event.line))

    def _backward(self, event: Event, rest: list[Event]) -> None:
        self._pass = event.pass_nr
        self._order = 0
        self._total = sum(1 for later in rest if later.kind == "run")
        self._inbox.clear()
        self._received.clear()
        self._expected = {}
        for later in rest:
            if later.kind == "send":
                for gradient in later.gradients:
                    if gradient.value is not None and gradient.array is not None:
                        self._expected[gradient.value] = self._expected.get(gradient.value, 0) + 1
        for stage in self.stages.values():
            for key, state in list(stage.state.items()):
                if state.classes == "has-grad" and key.startswith(("b", "n")):
                    stage.set(key, "", label="")
        for value in self.graph.values.values():
            if value.kind == "value" and self.stages["values"].state[value.key].text.get("grad"):
                self._set(value.key, None, grad="", note="")
                self._show_layer(value, None)
        roots = [self.graph.values[key] for key in event.values]
        first = next((later for later in rest if later.kind == "run"), None)
        seed = ""
        if first is not None and first.gradients:
            seed = f" with the gradient {brief(first.gradients[0].array)}"
        for root in roots:
            self._passing(root.key, "ready", "done")
        names = ", ".join(root.title for root in roots) or "the roots"
        which = f" {event.pass_nr}" if event.pass_nr > 1 else ""
        self._close(
            Step(
                "backward",
                f"Backward{which} starts at {names}",
                f"The backward pass starts at {names}{seed}: {names} changes by 1 when {names} changes by 1."
                if seed.endswith(" 1")
                else f"The backward pass starts at {names}{seed}.",
                event.line,
                [self._node_title(key) for key in event.ready],
            )
        )

    def _run(self, events: list[Event]) -> None:
        event = events[0]
        self._order += 1
        key = event.node or ""
        op = self.graph.ops.get(key)
        title = f"Backward, step {self._order} of {self._total}: "
        if op is None:
            leaf = self._leaf_of.get(key)
            self._accumulate(events, leaf, key, title)
            return
        mathematics = notation.symbol(op)
        upstream: Array | None = None
        parts = []
        for gradient in event.gradients:
            upstream = upstream or gradient.array
            self._inbox.pop((key, gradient.output_nr), None)
            if gradient.value is not None:
                self._arrived(self.graph.values[gradient.value], gradient.array)
                self.stages["values"].set(f"b{gradient.value}", "has-grad")
        self._passing(key, "running", "has-grad")
        self.stages["grad_fn"].set(key, None, grad=f"grad {brief(upstream)}")
        for later in events[1:]:
            if later.kind == "send":
                for position, gradient in enumerate(later.gradients):
                    parts.append(self._send(op, gradient, position, upstream))
            elif later.kind == "hook":
                before, after = later.gradients
                name = self.graph.values[later.values[0]].title
                parts.append(f"a hook on {name} makes {brief(after.array)} of {brief(before.array)}")
            elif later.kind == "freed":
                self._free(op)
        last = events[-1]
        for waiting in last.ready:
            self._passing(waiting, "ready", "done")
        words = f"{mathematics} receives {brief(upstream)}"
        if parts:
            words += " and sends " + ", and ".join(filter(None, parts))
        self._close(
            Step(
                "backward",
                f"{title}{mathematics} runs, {op.name}",
                _sentence(words),
                event.line,
                [self._node_title(waiting) for waiting in last.ready],
            )
        )

    def _finishes(self, event: Event) -> None:
        op = self.graph.ops[event.node or ""]
        parts = [self._send(op, gradient, position, None) for position, gradient in enumerate(event.gradients)]
        words = f"{notation.symbol(op)} is done and sends {', and '.join(filter(None, parts)) or 'nothing'}"
        ready = [self._node_title(waiting) for waiting in event.ready]
        self._close(
            Step("backward", f"Backward: {self._node_title(op.key)} is done", _sentence(words), event.line, ready)
        )

    def _arrived(self, value: Value, array: Array | None) -> None:
        note = "" if value.kind == "leaf" else "retained" if value.retains_grad else "not kept"
        text = {"grad": f"grad {grids.words(array)}".strip()}
        if note and grids.grid("", array) is not None:
            text["grad"] += f", {note}"
        elif note:
            text["note"] = note
        self._set(value.key, None, **text)
        self._show_layer(value, array)

    def _show_layer(self, value: Value, array: Array | None) -> None:
        """Show the picture of a gradient in the value's box; a gradient seen before is not drawn again."""
        stage = self.stages["values"]
        layers = self.layers.setdefault(value.key, [])
        drawn = grids.grid(f"{value.key}d{len(layers)}", array)
        shown = next((one for one in layers if stage.state.get(one.key, State()).classes == "grad-grid on"), None)
        if shown is not None:
            stage.set(shown.key, "")
        if drawn is None or len(layers) >= LAYERS:
            if not layers:
                del self.layers[value.key]
            return
        same = next((one for one in layers if one.cells == drawn.cells), None)
        if same is None:
            layers.append(drawn)
        stage.set((same or drawn).key, "grad-grid on")

    def _send(self, op: Op, gradient: Gradient, position: int, upstream: Array | None) -> str:
        slot = self._slot(op, gradient, position)
        value = self.graph.values[gradient.value] if gradient.value is not None else None
        product, factor, one_line = _product(upstream, gradient.array)
        text = {"label": product} if not factor else {"label": factor, "label2": product}
        back, node = f"b{op.key}i{slot}", f"n{op.key}i{slot}"
        for stage, key in ((self.stages["values"], back), (self.stages["grad_fn"], node)):
            stage.passing(key, "running", "has-grad", **text)
        if value is None or gradient.node is None:
            return one_line
        if gradient.array is None:
            return f"no gradient to {value.title}"
        waiting = self._inbox.setdefault((gradient.node, gradient.output_nr), [])
        waiting.append(gradient)
        expected = self._expected.get(value.key, 1)
        already = _joined(waiting)
        if expected > 1 or value.kind == "leaf":
            self._set(value.key, None, grad=f"inbox {already}")
        else:
            self._arrived(value, gradient.array)
        if value.accumulate:
            self.stages["grad_fn"].set(value.accumulate, None, grad=f"inbox {already}")
        return f"{one_line} to {value.title}"

    def _slot(self, op: Op, gradient: Gradient, position: int) -> int:
        # gradients come in the order of the slots that lead somewhere
        open_slots = [slot for slot, (node, _) in enumerate(op.next) if node is not None]
        return open_slots[position] if position < len(open_slots) else position

    def _accumulate(self, events: list[Event], leaf: Value | None, key: str, title: str) -> None:
        event = events[0]
        name = leaf.title if leaf is not None else key
        arrived = event.gradients[0].array if event.gradients else None
        waiting = self._inbox.pop((key, 0), [])
        total = arrived
        for later in events[1:]:
            if later.kind == "accumulate":
                total = later.total
        words = f"AccumulateGrad adds {brief(arrived)} into {name}.grad"
        if len(waiting) > 1:
            met = _joined(waiting)
            words = f"{met} = {brief(arrived)} have met in the inbox of {name}; "
            words += f"AccumulateGrad runs once and adds the sum into {name}.grad"
        if brief(total) != brief(arrived):
            words += f", which becomes {brief(total)}: it was not zeroed"
        self._passing(key, "running", "has-grad", grad=f"grad {brief(arrived)}")
        if leaf is not None:
            self._passing(leaf.key, "running", "done has-grad", grad=f"grad {grids.words(total)}".strip())
            self._show_layer(leaf, total)
        last = events[-1]
        for ready in last.ready:
            self._passing(ready, "ready", "done")
        self._close(
            Step(
                "backward",
                f"{title}{name} receives its gradient, AccumulateGrad",
                _sentence(words),
                event.line,
                [self._node_title(ready) for ready in last.ready],
            )
        )

    def _free(self, op: Op) -> None:
        for position, _ in enumerate(op.saved):
            self._set(f"{op.key}s{position}", "freed")
            self._saved[f"{op.key}s{position}"] = "freed"

    def _done(self, event: Event) -> None:
        words = [
            f"{name}.grad = {brief(_array(state['grad']))}"
            for name, state in self.recording.tensors.items()
            if state["grad"] is not None and state["is_leaf"]
        ]
        last = event is self.recording.events[-1]
        returned = [
            f"{_joined(sent)} for {name}"
            for (node, number), sent in self._inbox.items()
            if (name := self._gradient_of(node, number))
        ]
        self._inbox.clear()
        text = "Every gradient has arrived"
        if returned:
            text += f"; it returns {', '.join(returned)}, and adds nothing to any .grad"
        elif last and words:
            text += f": {', '.join(words[:8])}"
        self._close(Step("end" if last else "backward", "The backward pass is over", _sentence(text), event.line))

    def _gradient_of(self, node: str, number: int) -> str:
        if node in self._leaf_of:
            return self._leaf_of[node].title
        op = self.graph.ops[node]
        return next((self.graph.values[k].title for k in op.outputs if self.graph.values[k].output_nr == number), "")

    def _raised(self, event: Event) -> None:
        self._inbox.clear()
        if event.node:
            self._passing(event.node, "error", "done")
        name = event.text.partition(":")[0]
        where = self._node_title(event.node) if event.node else "The backward pass"
        self._close(Step("error", f"{where} raises {name}", f"{event.text} The program catches it.", event.line))

    def _error(self, event: Event) -> None:
        if event.node:
            self._set(event.node, "error")
        about = self.recording.error or {}
        self._close(
            Step("error", f"{about.get('type', 'Error')} in the {about.get('phase', '')} pass", event.text, event.line)
        )

    # words

    def _node_title(self, key: str) -> str:
        if key in self._leaf_of:
            return f"AccumulateGrad({self._leaf_of[key].title})"
        op = self.graph.ops.get(key)
        return f"{notation.symbol(op)} {op.name}" if op is not None else key

    def _saved_name(self, op: Op, saved: Saved) -> str:
        if saved.value is not None:
            return self.graph.values[saved.value].title
        return saved.text or f"its {saved.name}"

    def _saved_title(self, key: str) -> str:
        match = re.fullmatch(r"(o\d+)s(\d+)", key)
        assert match is not None
        op = self.graph.ops[match[1]]
        saved = op.saved[int(match[2])]
        return f"{notation.symbol(op)} saved {saved.name} ({self._saved_name(op, saved)})"

    # pictures

    def picture(self, view: str, identity: str, theme: str, direction: str | None = None) -> dict[str, Any]:
        """Base SVG and patches of one view."""
        stage = self.stages[view]
        drawing = shapes.drawing(self.graph, view, rooms(stage), self.layers)
        patches = [translated(patch, drawing) for patch in stage.patches]
        if patches:
            patches[0] = {}
        placed = arrange(drawing, direction)
        text = svg.write(
            drawing,
            placed,
            identity,
            stage.first,
            f"Graph of the program, {view} view",
            self.describe(),
            theme,
        )
        return {"svg": text, "patches": patches, "id": identity, "direction": placed.direction}

    def describe(self) -> str:
        """The picture in a sentence, for who cannot see it."""
        ops = sum(op.recorded for op in self.graph.ops.values())
        values = len(self.graph.values)
        return f"{values} values, {ops} recorded ops, {len(self.graph.ops) - ops} not recorded."

    def details(self) -> dict[str, list[list[str]]]:
        """Everything known about each element, for who points at it."""
        about: dict[str, list[list[str]]] = {}
        for value in self.graph.values.values():
            rows = [["name", value.title]]
            if len(value.names) > 1:
                rows.append(["also called", ", ".join(value.names[1:])])
            rows.append(["shape", f"{notation.shape(value.shape)} {value.dtype}".strip()])
            if value.array is not None:
                rows.append(["value", brief(value.array)])
            rows.append(["requires_grad", str(value.requires_grad)])
            rows.append(["is_leaf", str(value.kind != "value")])
            if value.op is not None:
                rows.append(["made by", self._node_title(value.op)])
            if value.shares is not None:
                rows.append(["shares memory with", self.graph.values[value.shares].title])
            rows.append(["version", str(value.version)])
            about[value.key] = rows
            if value.accumulate:
                about[value.accumulate] = [["node", "AccumulateGrad"], ["leaf", value.title]]
        for op in self.graph.ops.values():
            rows = [["op", notation.symbol(op)]]
            rows.append(["node", op.name] if op.recorded else ["recorded", "no"])
            if op.sequence_nr is not None:
                rows.append(["sequence number", str(op.sequence_nr)])
            rows += [[f"saved {saved.name}", self._saved_name(op, saved)] for saved in op.saved]
            if op.constants:
                rows.append(["constants", ", ".join(op.constants)])
            if op.line is not None:
                rows.append(["line", str(op.line)])
            about[op.key] = rows
        return about

    def legend(self) -> list[dict[str, str]]:
        """What this picture uses, and nothing else."""
        kinds = {value.kind for value in self.graph.values.values()}
        kinds |= {"op" if op.recorded else "unrecorded" for op in self.graph.ops.values()}
        if any(op.saved for op in self.graph.ops.values()):
            kinds.add("saved")
        if any(value.shares for value in self.graph.values.values()):
            kinds.add("share")
        if self._leaf_of:
            kinds.add("accumulate")
        if self.graph.ops:
            kinds.add("forward")
        if any(event.kind == "run" for event in self.recording.events):
            kinds.add("back")
        return [{"kind": kind, "label": label} for kind, label in LEGEND.items() if kind in kinds]


def _array(data: dict[str, Any] | None) -> Array | None:
    return None if data is None else Array(**data)


def _joined(gradients: list[Gradient]) -> str:
    """Gradients that meet, as a sum: `9 + 63 + 63`, or how many when they are many."""
    if len(gradients) > 4:
        return f"{len(gradients)} gradients"
    return " + ".join(brief(gradient.array) or "none" for gradient in gradients)


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _product(upstream: Array | None, sent: Array | None) -> tuple[str, str, str]:
    """What a link carries: the product, the factors it came from, and both on one line."""
    if sent is None:
        return "none", "", "no gradient"
    whole = brief(sent)
    above, below = scalar(upstream), scalar(sent)
    if above is None or below is None or not above or below - below != 0:
        return whole, "", whole
    local = notation.number(below / above)
    if local == "1":
        return whole, "", f"{brief(upstream)} · 1 = {whole}"
    return f"= {whole}", f"{brief(upstream)} × {local}", f"{brief(upstream)} · {local} = {whole}"


def rooms(stage: _Stage) -> dict[str, dict[str, str]]:
    rooms = {}
    for key, slots in stage.widest.items():
        rooms[key] = dict(slots)
        if "label2" in slots:
            rooms[key]["label"] = f"{slots['label']}\n{slots['label2']}"
    return rooms


_LOUDEST = ("error", "running", "now", "ready")


def translated(patch: dict[str, dict[str, Any]], drawing: shapes.Drawing) -> dict[str, dict[str, Any]]:
    """A patch for what is drawn: a fold shows the loudest state of what happens inside it, and none of its texts."""
    keys = drawing.keys
    rows = drawing.rows
    made: dict[str, dict[str, Any]] = {}
    for key, change in patch.items():
        if key in keys:
            made[key] = change
            if "text" in change:
                fitting = {
                    slot: rows[key, slot].cut(text) for slot, text in change["text"].items() if (key, slot) in rows
                }
                made[key] = {**change, "text": {**change["text"], **fitting}}
            continue
        stands = drawing.alias.get(key)
        if stands is None or stands not in keys or "class" not in change:
            continue
        states = [change["class"], made.get(stands, {}).get("class", "done")]
        states.sort(key=lambda state: next((n for n, word in enumerate(_LOUDEST) if word in state), len(_LOUDEST)))
        made[stands] = {"class": states[0]}
    return made


def fits_across(drawing: shapes.Drawing) -> bool:
    """Whether the longest row fits a page, as far as can be told before anything is laid out."""
    if len(drawing.boxes) > 60:
        return False
    width = {box.key: box.width for box in drawing.boxes}
    below: dict[str, list[tuple[str, float]]] = {key: [] for key in width}
    waits = dict.fromkeys(width, 0)
    for link in drawing.links:
        if link.kind != "share":
            below[link.tail].append((link.head, max(24.0, link.room[0])))
            waits[link.head] += 1
    reach = dict(width)
    ready = [key for key, count in waits.items() if not count]
    while ready:
        key = ready.pop()
        for head, gap in below[key]:
            reach[head] = max(reach[head], reach[key] + gap + width[head])
            waits[head] -= 1
            if not waits[head]:
                ready.append(head)
    return max(reach.values(), default=0.0) <= WIDE


def arrange(drawing: shapes.Drawing, direction: str | None = None) -> layouts.Layout:
    """Lay a picture out in a direction, `"LR"` or `"TB"`; without one, left to right where that fits a page.

    Asked for left to right, a picture that nobody could read so is laid out top to bottom all the same.
    """
    sizes = [(box.key, box.width, box.height) for box in drawing.boxes]
    ends = [(link.key, link.tail, link.head, *link.room) for link in drawing.links]
    loose = {link.key for link in drawing.links if link.kind == "share"}
    if direction == "LR" or (direction is None and fits_across(drawing)):
        placed = layouts.place(sizes, ends, "LR", loose)
        if placed.width <= (WIDE if direction is None else TOO_WIDE):
            return placed
    return layouts.place(sizes, ends, "TB", loose)
