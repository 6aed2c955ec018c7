"""Who writes to a leaf, and whether a step has used the contents of its `.grad`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from viz.diagnosis.observation import Ran, Through, Write
from viz.diagnosis.watching.values import Values
from viz.diagnosis.watching.watch import Call, Noting, Watch

MOST_AHEAD = 12  # values that are asked whether a gradient went into them
UPDATES = {"sub", "add", "mul", "copy_", "addcdiv", "lerp", "__set__"}  # in place


@dataclass
class Writes:
    """Notes what changes leaves: by hand, through `.data`, by a step."""

    watch: Watch
    values: Values
    _used: set[int] = field(default_factory=set)  # leaves whose .grad a step has used
    _mixed: set[int] = field(default_factory=set)  # leaves whose .grad is a sum that includes what a step had used
    _waiting: dict[int, set[int]] = field(default_factory=dict)  # leaf: passes whose gradients no step has used yet

    def note(self, nr: int, kind: str, name: str, line: int | None, order: int = 0) -> Write:
        """Note a write into a leaf; `order` as in `Watch.moment`."""
        write = Write(kind, name, line, len(self.watch.seen.passes), order or self.watch.following())
        self.watch.seen.leaves[nr].writes.append(write)
        return write

    def initialised(self, name: str, call: Call) -> Noting:
        """`nn.init.…_` in a line of the program."""
        yield
        tensor = call.given(0, "tensor")
        if call.own and (tensor.requires_grad or self.values.known_leaf(tensor) is not None):
            self.note(self.values.leaf(tensor), "init", name, call.line)

    def wrote(self, nr: int, op: Ran) -> None:
        """Note that an op wrote value `nr` into the memory of a leaf, by name or through `.data`."""
        value = self.watch.seen.values[nr]
        while value.leaf is None and value.base is not None:
            value = self.watch.seen.values[value.base]
        if value.leaf is not None:
            self._wrote(value.leaf, op.name, op.line, op if op.name in UPDATES else None)

    def set_data(self, call: Call) -> Noting:
        """`w.data = …`: another tensor replaces the leaf's memory."""
        seen, (tensor, source) = self.watch.seen, call.args[:2]
        leaf, known = self.values.known_leaf(tensor), self.values.known(source)
        own = leaf is not None and call.own  # `model.to(device)` moves it, and writes nothing
        if leaf is not None and own:
            self._wrote(leaf.nr, "data", call.line, seen.maker(seen.values[known]) if known is not None else None)
        yield
        if own and known is not None:
            on = bool(self.watch.module.is_grad_enabled())
            op = Ran(len(seen.ops), "data", call.stack, call.where, (known,), (), False, on, in_place=True)
            seen.ops.append(op)
            op.outputs = (self.values.value(tensor, call.line, op.nr),)

    def _wrote(self, nr: int, name: str, line: int | None, op: Ran | None) -> None:
        """Note a write into a leaf: an update, if `op` took gradients in."""
        gradients = self._of_gradients(op.inputs[1:]) if op is not None else 0
        write = self.note(nr, "update" if gradients else "write", name, line)
        if gradients and op is not None:
            if op.in_place and _turns(op):
                gradients = -gradients  # add_(w.grad, alpha=-lr)
            write.ascent = (op.name == "add" and gradients > 0) or (op.name == "sub" and gradients < 0)
            stale = self.stale([nr])
            self.stepped(nr)
            self.watch.moment("update", (line,) if line is not None else (), write.order, who=nr, stale=stale)

    def _of_gradients(self, inputs: tuple[int, ...]) -> int:
        """Whether values come from a `.grad`: 1, or -1 where the sign was turned; 0 where they do not."""
        seen = self.watch.seen
        queue = [(1, nr) for nr in inputs]
        for sign, nr in queue:
            value = seen.values[nr]
            if value.of_grad is not None:
                return sign
            maker = seen.maker(value)
            for position, source in enumerate(maker.inputs if maker is not None and len(queue) < MOST_AHEAD else ()):
                turns = maker is not None and (
                    maker.name == "neg" or _turns(maker) or (maker.name == "sub" and position == 1)
                )
                queue.append((-sign if turns else sign, source))
        return 0

    # the contents of .grad

    def stepped(self, leaf: int) -> None:
        """Note that a step has used the leaf's `.grad`."""
        self._used.add(leaf)
        for nr in self._waiting.pop(leaf, ()):
            self.watch.seen.passes[nr - 1].used = True

    def thrown_away(self, leaves: list[int]) -> tuple[int, ...]:
        """The passes whose gradients are about to be reset although no step has used them."""
        return tuple(sorted({nr for leaf in leaves for nr in self._waiting.get(leaf, ())}))

    def emptied(self, leaf: int) -> None:
        """Note that the leaf's `.grad` was set to zero or None."""
        self._used.discard(leaf)
        self._mixed.discard(leaf)
        self._waiting.pop(leaf, None)

    def stale(self, leaves: list[int]) -> tuple[int, ...]:
        """The leaves whose `.grad` is a sum that includes what a step had already used."""
        return tuple(leaf for leaf in leaves if leaf in self._mixed)

    def before_pass(self, current: Through) -> None:
        """Before a pass: which leaves hold a gradient that a step has used, and that this pass will add to."""
        for leaf, tensor in self.values.leaves():
            used = leaf.nr in self._used or leaf.nr in self._mixed
            if tensor.grad is None or (used and not self.watch.peak(tensor.grad)):
                self.emptied(leaf.nr)
            elif used:
                current.stale.add(leaf.nr)

    def after_pass(self, current: Through) -> None:
        """After a pass: gradients that it added to used ones are now mixed."""
        for nr, peak in current.got.items():
            self.watch.seen.leaves[nr].gradients.append((current.nr, peak))
            if nr in current.stale:
                self._mixed.add(nr)
            self._used.discard(nr)
            if peak and math.isfinite(peak):
                self._waiting.setdefault(nr, set()).add(current.nr)


def _turns(op: Ran) -> bool:
    """Whether an op was given a number below 0, and so turns a sign."""
    return any(isinstance(option, (int, float)) and option < 0 for option in op.options.values())
