"""Gradients during a backward pass, as the pictures show them: on links, in inboxes, and in their values."""

from __future__ import annotations

from viz.frames.beside import Beside, both
from viz.frames.stage import Stage
from viz.frames.words import NONE, briefly, joined, product, travels
from viz.picture import grid as grids
from viz.picture.svg import State
from viz.recording import notation
from viz.recording.graph import Array, Graph, Op, Value
from viz.recording.notation import brief
from viz.recording.recording import Event, Gradient

LAYERS = 8  # gradients of one value that are drawn; further ones are only text


class Flow:
    """Shows the gradients of one pass after another on the stages of all views."""

    def __init__(self, graph: Graph, stages: dict[str, Stage], beside: Beside | None = None) -> None:
        self.graph = graph
        self.beside = beside
        self.number = 0  # the number of the pass
        self.stages = stages
        self.layers: dict[str, list[grids.Grid]] = {}  # the drawn gradients of each value
        self.inbox: dict[tuple[str, int], list[Gradient]] = {}  # gradients that wait, per node and output
        self.touched: dict[tuple[str, int], None] = {}  # inboxes that received something in this step
        self.hooked: dict[str, Array | None] = {}  # values whose gradient a hook has changed, with what had arrived
        self._expected: dict[str, int] = {}
        self._lit: dict[tuple[str, str], None] = {}  # views and links that show a gradient of this pass
        self._given: dict[str, None] = {}  # results that have a gradient of this pass

    def begin(self, events: list[Event]) -> None:
        """Start a pass with these events."""
        self.inbox.clear()
        self.number = events[0].pass_nr if events else 0
        self.hooked = {}
        self._expected = {}
        for event in events:
            if event.kind == "send":
                for gradient in event.gradients:
                    if gradient.value is not None and gradient.array is not None:
                        self._expected[gradient.value] = self._expected.get(gradient.value, 0) + 1
        self._forget()

    def receive(self, key: str, gradients: list[Gradient]) -> Array | None:
        """A node takes the contents of its inboxes. Returns the gradient that came, if there is only one."""
        for gradient in gradients:
            waiting = self.inbox.pop((key, gradient.output_nr), [])
            if len(waiting) > 1 and gradient.value is not None and gradient.value not in self.hooked:
                for view, end in (("values", gradient.value), ("grad_fn", key)):
                    self.stages[view].move("at", end, joined(waiting), brief(gradient.array))
            if gradient.value is not None and gradient.array is not None:
                self.arrived(self.graph.values[gradient.value], gradient.array, gradient.held)
                self.stages["values"].set(f"b{gradient.value}", "has-grad")
                self._lit["values", f"b{gradient.value}"] = None
        there = [gradient for gradient in gradients if gradient.array is not None]
        text = notation.gradient(there[0].array) if len(there) == 1 else f"{len(there)} gradients"
        if 1 < len(there) <= 3:
            text = f"grad {', '.join(brief(gradient.array) for gradient in there)}"
        self.stages["grad_fn"].set(key, None, grad=text if there else NONE)
        self._given[key] = None
        return there[0].array if len(there) == 1 else None

    def set(self, key: str, classes: str | None = None, **text: str) -> None:
        """Change an element in every view."""
        for stage in self.stages.values():
            stage.set(key, classes, **text)

    def _forget(self) -> None:
        """Remove what the previous pass has shown on links and in values; its `.grad` stays."""
        for view, key in self._lit:
            stage = self.stages[view]
            shown = stage.state[key].text
            stage.set(key, "", **{slot: "" for slot in ("label", "label2") if slot in shown})
        self._lit.clear()
        for key in self._given:
            value = self.graph.values.get(key)
            if value is not None:
                self.set(key, None, grad="", short="")
                self.show(value, None)
            else:
                self.stages["grad_fn"].set(key, None, grad="")
        self._given.clear()

    def change(self, value: Value, met: str, before: Array | None, after: Array | None) -> None:
        """A hook on a value replaces the gradient that has arrived there, of several that have `met`."""
        first = self.hooked.setdefault(value.key, before)
        self.set(value.key, None, grad=f"grad {brief(first)} → {brief(after)}", short=notation.gradient(after))
        self.stages["values"].move("at", value.key, met, brief(before), brief(after))

    def arrived(self, value: Value, array: Array | None, held: Array | None = None) -> None:
        """The gradient of a value is complete; `held` is in its `.grad` by now."""
        text = {"grad": f"grad {grids.words(array)}".strip(), "short": notation.gradient(array)}
        if value.key in self.hooked:
            text["grad"] = f"grad {brief(self.hooked[value.key])} → {brief(array)}"
        other = self.beside.gradient(value, array, self.number) if self.beside is not None else None
        text = {slot: both(words, other, slot == "short") for slot, words in text.items()}
        if held is not None:
            text["note"] = notation.held(held)
        elif value.kind != "leaf" and not value.retains_grad:
            text["note"] = ".grad stays None"
        if value.kind == "value":
            self._given[value.key] = None
        self.set(value.key, None, **text)
        self.show(value, array)

    def show(self, value: Value, array: Array | None) -> None:
        """Show the picture of a gradient in the value's box; a gradient seen before is not drawn again."""
        stage = self.stages["values"]
        layers = self.layers.setdefault(value.key, [])
        drawn = grids.grid(f"{value.key}d{len(layers)}", array)
        shown = next((layer for layer in layers if stage.state.get(layer.key, State()).classes == "grad-grid on"), None)
        if shown is not None:
            stage.set(shown.key, "")
        if drawn is None or len(layers) >= LAYERS:
            if not layers:
                del self.layers[value.key]
            return
        same = next((layer for layer in layers if layer.cells == drawn.cells), None)
        if same is None:
            layers.append(drawn)
        stage.set((same or drawn).key, "grad-grid on")

    def send(self, op: Op, gradient: Gradient, position: int, upstream: Array | None) -> str:
        """An op sends a gradient, number `position` of all that it sends. Returns the words for it."""
        slot = self._slot(op, gradient, position)
        value = self.graph.values[gradient.value] if gradient.value is not None else None
        whole, factor, one_line = product(upstream, gradient.array)
        text = {"label": whole} if not factor else {"label": factor, "label2": whole}
        back, node = f"b{op.key}i{slot}", f"n{op.key}i{slot}"
        for view, key in (("values", back), ("grad_fn", node)):
            self.stages[view].passing(key, "running", "has-grad", **text)
            if gradient.array is not None:
                self.stages[view].move("along", key, *travels(upstream, gradient.array))
            self._lit[view, key] = None
        if value is None or gradient.node is None:
            return one_line
        if gradient.array is None:
            return f"no gradient to {value.title}"
        waiting = self.inbox.setdefault((gradient.node, gradient.output_nr), [])
        waiting.append(gradient)
        self.touched[gradient.node, gradient.output_nr] = None
        expected = self._expected.get(value.key, 1)
        already = joined(waiting)
        if expected > 1 or value.kind == "leaf":
            self.set(value.key, None, grad=f"inbox {already}", short=f"in {briefly(waiting)}")
            if value.kind == "value":
                self._given[value.key] = None
        else:
            self.arrived(value, gradient.array)
        if value.accumulate:
            self.stages["grad_fn"].set(value.accumulate, None, grad=f"inbox {already}")
            self._given[value.accumulate] = None
        return f"{one_line} to {value.title}"

    def _slot(self, op: Op, gradient: Gradient, position: int) -> int:
        # gradients come in the order of the slots that have a target
        open_slots = [slot for slot, (node, _) in enumerate(op.next) if node is not None]
        return open_slots[position] if position < len(open_slots) else position
