"""The ops of a run: each call that the engine's function mode shows, with its line, its inputs and its outputs."""

from __future__ import annotations

import dataclasses
import sys
from dataclasses import dataclass, field
from functools import partial
from types import FrameType
from typing import Any

import numpy as np

from viz.diagnosis.families import canonical
from viz.diagnosis.functions import check_function
from viz.diagnosis.observation import Exit, Ran
from viz.diagnosis.watching.passes import Passes
from viz.diagnosis.watching.values import Values
from viz.diagnosis.watching.watch import Call, Hears, Noting, Watch
from viz.diagnosis.watching.writes import Writes
from viz.engines import OF_C

MOST_CHECKS = 4  # of one custom Function
WEIGHED = 256  # ops after which it is asked what watching has cost
PASSES = ("backward", "grad")
EXITS = {"item", "tolist", "numpy", "__float__", "__int__", "__bool__", "__array__", "__index__"}
PLAIN_VIEWS = {"T", "mT", "H", "mH", "data", "real", "imag"}
_ALIASES = """
detach data view reshape T mT __getitem__ squeeze unsqueeze transpose t permute flatten expand view_as narrow select
contiguous to float requires_grad_ diagonal unbind"""
ALIASES = set(_ALIASES.split())
_IGNORED = """
dim size numel stride is_contiguous __len__ is_floating_point nelement element_size data_ptr __hash__ __repr__ __str__
__format__ retain_grad _set_grad_enabled is_complex storage_offset untyped_storage get_device type ndimension
is_same_size __contains__ _record_function_enter_new _record_function_exit._RecordFunction manual_seed __deepcopy__
__reduce_ex__ result_type is_grad_enabled is_inference set_default_dtype get_default_dtype __dir__ finfo
register_post_accumulate_grad_hook zero_grad is_nonzero allclose equal is_tensor share_memory_"""
IGNORED = set(_IGNORED.split())


@dataclass
class Ops:
    """Sees the ops, and the backward passes, which the same mode shows."""

    watch: Watch
    values: Values
    writes: Writes
    passes: Passes
    _checked: dict[type, int] = field(default_factory=dict)  # custom Functions: how often each was checked

    def mode(self) -> Any:
        """The function mode that shows every call."""
        called = self.called

        class Mode(self.watch.engine.mode_type):  # type: ignore[name-defined]
            def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                return called(func, args, kwargs or {})

        return Mode()

    def called(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Run one call, and note it if it is an op, a pass, a write, or an exit from the engine."""
        if self.watch.engine.is_traced():
            return func(*args, **kwargs)
        frame, hears = sys._getframe(2), None
        if not isinstance(func, OF_C):
            with self.watch.aside:
                func = self.watch.engine.as_written(func, frame)
        watch, name = self.watch, getattr(func, "__name__", "")
        if not watch.active or watch.within or (watch.skipping and name not in PASSES):
            return func(*args, **kwargs)
        with watch.aside:
            hears = self._hears(func, name, frame, len(args) + len(kwargs))
        if hears is None:
            return func(*args, **kwargs)
        return watch.heard(hears, func, Call(watch, frame, args, kwargs))

    def _hears(self, func: Any, name: str, frame: FrameType, position: int) -> Hears | None:
        """What notes a call; None for one that is of no interest."""
        if name in ("__get__", "__set__"):
            attribute = getattr(getattr(func, "__self__", None), "__name__", "")
            if name == "__set__":
                return {"data": self.writes.set_data, "requires_grad": self.switches}.get(attribute)
            if attribute == "grad":
                return self.asks
            if attribute not in PLAIN_VIEWS or (attribute == "data" and self._of_engine(frame)):
                return None
            name = attribute
        if name in PASSES:
            return partial(self.passes.runs, name)
        if name in ("requires_grad_", "register_hook"):
            return self.switches if name == "requires_grad_" else self.hooks
        if name in IGNORED and not (name == "type" and position > 1):  # with a type it is a cast
            return None
        if len(self.watch.seen.ops) % WEIGHED == WEIGHED - 1:
            self.watch.weigh(now=True)
        return partial(self.leaves if name in EXITS else self.runs, name)

    def _of_engine(self, frame: FrameType) -> bool:
        """Whether the engine's own code runs, such as gradcheck(), which changes numbers unseen and restores them."""
        return str(frame.f_globals.get("__name__", "")).partition(".")[0] == self.watch.engine.name

    def runs(self, name: str, call: Call) -> Noting:
        """An op."""
        watch, seen = self.watch, self.watch.seen
        tensors = watch.tensors((*call.args, *call.kwargs.values()))
        inputs = tuple(self.values.value(tensor, call.line) for tensor in tensors)
        versions = [watch.version(tensor) for tensor in tensors]
        yield
        result = call.result
        if name == "__iter__":  # rows, one by one
            name, result = "unbind", list(result)
            call.result = iter(result)
        changed = [t for t, v in zip(tensors, versions, strict=True) if watch.version(t) != v]
        results = [t for t in watch.tensors((result,)) if not any(t is operand for operand in tensors)]
        if not results and not changed:
            return
        owner = watch.running[-1] if watch.running else None
        recorded = any(watch.recorded(t) for t in (*results, *changed))
        op = Ran(
            len(seen.ops), canonical(name), call.stack, call.where, inputs, (), recorded,
            bool(watch.module.is_grad_enabled()), bool(watch.module.is_inference_mode_enabled()),
            owner, owner is not None and seen.parts[owner].library, bool(changed),
            _options(call.args, call.kwargs), seen.steps, called=name,
        )  # fmt: skip
        seen.ops.append(op)
        base = inputs[0] if op.name in ALIASES and inputs else None
        op.outputs = tuple(self.values.value(tensor, op.line, op.nr, base) for tensor in results)
        for tensor in changed:
            op.outputs += (self.values.value(tensor, op.line, op.nr),)
            self.writes.wrote(op.outputs[-1], op)
        self.values.used(op)
        self._hear(op, [*results, *changed])

    def _hear(self, op: Ran, tensors: list[Any]) -> None:
        """Listen to the nodes that an op recorded."""
        nodes: dict[int, tuple[Any, list[tuple[int, int]]]] = {}
        for tensor, nr in zip(tensors, op.outputs, strict=True):
            if self.watch.recorded(tensor) and (node := self.watch.node(tensor)) is not None:
                nodes.setdefault(id(node), (node, []))[1].append((tensor.output_nr, nr))
        for node, places in nodes.values():
            op.node = node.name()
            self.values.hear_node(node, tuple(places))

    def applied(self, call: Call) -> Noting:
        """`Function.apply`, which the mode does not show: it counts as one op, whatever ran inside."""
        watch, seen, kind = self.watch, self.watch.seen, call.args[0]
        own = dataclasses.replace(call, args=call.args[1:])
        noting = self.runs(f"{kind.__name__}.apply", own)
        next(noting)
        first, known = len(seen.ops), len(seen.values)
        yield
        inside = {nr for op in seen.ops[first:] for nr in op.inputs}
        del seen.ops[first:]
        for leaf in seen.leaves:
            leaf.used_by = [nr for nr in leaf.used_by if nr < first]
        for value in seen.values[known:]:
            value.op = None
        own.result = call.result
        next(noting, None)
        self._reads(first, {nr for nr in inside if nr < known and seen.values[nr].leaf is not None})
        users = kind.__module__.partition(".")[0] not in (watch.engine.name, "viz")
        checked = self._checked.get(kind, 0)
        if checked < MOST_CHECKS and watch.module.is_grad_enabled() and users:
            found = check_function(watch.engine, kind, own.args, watch.places, call.line)
            seen.functions += [found] if found is not None else []
            grows = found is not None and found.scale == 0  # a factor of 0 may: it is asked again
            self._checked[kind] = checked + 1 if grows else MOST_CHECKS

    def _reads(self, nr: int, leaves: set[int]) -> None:
        """Note that the forward of a Function read leaves that are none of its arguments."""
        ops = self.watch.seen.ops
        op = ops[nr] if nr < len(ops) else None
        if op is not None and (read := tuple(sorted(leaves - {*op.inputs}))):
            op.inputs, op.read = (*op.inputs, *read), read
            self.values.used(op)

    def asks(self, call: Call) -> Noting:
        """`tensor.grad`."""
        self.values.asked(call.args[0], call.line)
        yield

    def hooks(self, call: Call) -> Noting:
        """A hook on a leaf. Its effect on the gradient shows in the steps."""
        tensor = call.args[0]
        if call.line is not None and self.watch.engine.is_tensor(tensor) and self.watch.is_leaf(tensor):
            self.watch.seen.hooks.append((self.values.leaf(tensor, call.line), call.line))
        yield

    def leaves(self, name: str, call: Call) -> Noting:
        """A value leaves the engine."""
        yield
        seen, result = self.watch.seen, call.result
        for tensor in self.watch.tensors(call.args)[:1]:
            single = isinstance(result, (int, float)) or getattr(result, "size", 0) == 1  # a number, or an array of one
            number = float(np.asarray(result).item()) if single and name != "__bool__" else None
            seen.exits.append(Exit(name, self.values.value(tensor, call.line), call.line, len(seen.ops), number))

    def switches(self, call: Call) -> Noting:
        """`requires_grad_(…)`, and `requires_grad = …`."""
        yield
        tensor, watch, leaves = call.args[0], self.watch, self.watch.seen.leaves
        if not watch.is_leaf(tensor):
            return
        if call.given(1, "requires_grad", True):
            leaves[self.values.leaf(tensor, call.line)].frozen_at = None
            self.values.value(tensor, call.line)
        elif not watch.running:
            leaf = leaves[self.values.leaf(tensor)]
            leaf.requires_grad, leaf.frozen_at = False, call.line


def _options(args: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    """The numbers, words and flags of a call, its shapes and lists of dimensions, and the bounds of its slices."""
    options: dict[str, Any] = {}
    for name, item in (*((str(place), item) for place, item in enumerate(args)), *kwargs.items()):
        several = isinstance(item, (tuple, list))
        if isinstance(item, (int, float, str, bool)):
            options[name] = item
        elif several and 0 < len(item) < 9 and all(type(number) is int for number in item):
            options[name] = tuple(item)
        for part in item if isinstance(item, tuple) else (item,):
            for end in ("start", "stop") if isinstance(part, slice) else ():
                bound = getattr(part, end)
                if isinstance(bound, int) or getattr(bound, "shape", None) == ():  # or a tensor of one number
                    options[f"slice.{end}"] = int(bound)
    return options
