"""The ops of a run: each call that the engine's function mode shows, with its line, its inputs and its outputs."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import numpy as np

from viz.diagnosis.families import BOUNDED, canonical
from viz.diagnosis.observation import Exit, Ran
from viz.diagnosis.watching.passes import Passes
from viz.diagnosis.watching.values import MOST_USES, Values
from viz.diagnosis.watching.watch import Watch
from viz.diagnosis.watching.writes import Writes

WEIGHED = 256  # ops after which it is asked what watching has cost
PASSES = ("backward", "grad")
EXITS = {"item", "tolist", "numpy", "__float__", "__int__", "__bool__", "__array__", "__index__"}
PLAIN_VIEWS = {"T", "mT", "H", "mH", "data", "real", "imag"}
ALIASES = {
    "detach", "data", "view", "reshape", "T", "mT", "__getitem__", "squeeze", "unsqueeze", "transpose", "t", "permute",
    "flatten", "expand", "view_as", "narrow", "select", "contiguous", "to", "float", "requires_grad_", "diagonal", "unbind",
}  # fmt: skip
IGNORED = {
    "dim", "size", "numel", "stride", "is_contiguous", "__len__", "is_floating_point", "nelement", "element_size", "data_ptr",
    "__hash__", "__repr__", "__str__", "__format__", "register_hook", "retain_grad", "_set_grad_enabled",
    "is_complex", "storage_offset", "untyped_storage", "get_device", "type", "ndimension", "is_same_size", "__contains__",
    "_record_function_enter_new", "_record_function_exit._RecordFunction", "manual_seed", "__deepcopy__", "__reduce_ex__",
    "result_type", "is_grad_enabled", "is_inference", "set_default_dtype", "get_default_dtype", "__dir__", "finfo",
    "register_post_accumulate_grad_hook", "zero_grad", "is_nonzero", "allclose", "equal", "is_tensor", "share_memory_",
}  # fmt: skip


class Ops:
    """Sees the ops.

    Args:
        watch: the run.
        values: numbers of its values and leaves.
        writes: what was written into leaves.
        passes: its backward passes, which the same mode shows.
    """

    def __init__(self, watch: Watch, values: Values, writes: Writes, passes: Passes) -> None:
        self.watch = watch
        self.values = values
        self.writes = writes
        self.passes = passes

    def mode(self) -> Any:
        """The function mode that shows every call."""
        called = self.called

        class Mode(self.watch.engine.mode_type):  # type: ignore[name-defined, misc]
            def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                return called(func, args, kwargs or {})

        return Mode()

    def called(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Run one call, and note it if it is an op, a pass, a write, or an exit from the engine."""
        watch = self.watch
        if not watch.looking:
            name = getattr(func, "__name__", "") if watch.unwatched else ""
            return self.passes.unwatched(func, name, args, kwargs) if name in PASSES else func(*args, **kwargs)
        name = getattr(func, "__name__", "")
        if name == "__get__":
            name = getattr(getattr(func, "__self__", None), "__name__", "")
            if name == "grad" and args:
                self.asked(args[0])
            if name not in PLAIN_VIEWS or (name == "data" and self._of_engine(sys._getframe(2))):
                return func(*args, **kwargs)
        elif name == "__set__":
            return self._set(func, args, kwargs)
        elif name in IGNORED and not (name == "type" and len(args) + len(kwargs) > 1):  # with a type it is a cast
            if name == "register_hook":
                self._hooked(args)
            return func(*args, **kwargs)
        if name in PASSES:
            return self.passes.run(func, name, args, kwargs)
        if len(watch.seen.ops) % WEIGHED == WEIGHED - 1:
            watch.weigh(now=True)
        frame = sys._getframe(1)
        tensors = watch.tensors(args) + (watch.tensors(kwargs.values()) if kwargs else [])
        if name in EXITS:
            result = func(*args, **kwargs)
            self._left(name, tensors, result, frame)
            return result
        lines, where = watch.places.stack(frame)
        inputs, versions = self.before(tensors, lines)
        result = func(*args, **kwargs)
        if name == "__iter__":  # rows, one by one
            rows = list(result)
            with watch.aside():
                self.ran("unbind", lines, where, inputs, tensors, versions, rows, args, kwargs)
            return iter(rows)
        with watch.aside():
            if name == "requires_grad_":
                self._switched(tensors[0], bool(args[1] if len(args) > 1 else kwargs.get("requires_grad", True)))
            else:
                self.ran(name, lines, where, inputs, tensors, versions, result, args, kwargs)
        return result

    def _of_engine(self, frame: FrameType) -> bool:
        """Whether code of the engine itself runs, such as gradcheck(), which moves numbers behind autograd's back and puts them back."""
        return str(frame.f_globals.get("__name__", "")).partition(".")[0] == self.watch.engine.name

    def before(self, tensors: list[Any], lines: tuple[int, ...]) -> tuple[tuple[int, ...], list[int]]:
        """The values that an op receives, and how often each tensor was changed before it."""
        inputs: tuple[int, ...] = ()
        with self.watch.aside():
            line = lines[0] if lines else None
            inputs = tuple(self.values.value(tensor, line) for tensor in tensors)
        return inputs, [self.watch.version(tensor) for tensor in tensors]

    def ran(
        self,
        name: str,
        lines: tuple[int, ...],
        where: tuple[str, int] | None,
        inputs: tuple[int, ...],
        tensors: list[Any],
        versions: list[int],
        result: Any,
        args: Any,
        kwargs: Any,
    ) -> None:
        """Note an op that has run; `tensors` are its inputs, `versions` how often each was changed before it."""
        watch, seen = self.watch, self.watch.seen
        line = lines[0] if lines else None
        changed = [t for t, v in zip(tensors, versions, strict=True) if watch.version(t) != v]
        made = [t for t in watch.tensors((result,)) if not any(t is one for one in tensors)]
        if not made and not changed:
            return
        called, name = name, canonical(name)
        owner = watch.running[-1] if watch.running else None
        part = seen.parts[owner] if owner is not None else None
        recorded = any(t.requires_grad and not watch.is_leaf(t) for t in (*made, *changed))
        op = Ran(
            len(seen.ops), name, line, lines, where, part.path if part is not None else "", inputs, (), recorded,
            bool(watch.module.is_grad_enabled()), bool(watch.module.is_inference_mode_enabled()),
            part is not None and part.library, bool(changed), _options(args, kwargs), seen.steps, owner,
        )  # fmt: skip
        op.called = called
        seen.ops.append(op)
        base = inputs[0] if name in ALIASES and inputs else None
        outputs = [self.values.value(tensor, line, op.nr, base) for tensor in made]
        if (name in BOUNDED or name == "softmax") and recorded and made:
            dim = op.options.get("dim", op.options.get("1"))
            seen.values[outputs[0]].bound = watch.at_bound(name, made[0], dim)
        for tensor in changed:
            before = self.values.last(tensor)
            nr = self.values.value(tensor, line, op.nr, before.base if before is not None else None)
            outputs.append(nr)
            self.writes.wrote(nr, op)
        op.outputs = tuple(outputs)
        for nr in inputs:
            leaf = seen.values[nr].leaf
            used = seen.leaves[leaf].used_by if leaf is not None else []
            if (
                leaf is not None and len(used) < MOST_USES and not op.name.endswith("_like")
            ):  # those take its shape, as optimizers do
                used.append(op.nr)
        self._hear(op, [*made, *changed])

    def _hear(self, op: Ran, tensors: list[Any]) -> None:
        """Listen to the nodes that an op recorded."""
        nodes: dict[int, tuple[Any, list[tuple[int, int]]]] = {}
        for tensor, nr in zip(tensors, op.outputs, strict=True):
            if tensor.requires_grad and not self.watch.is_leaf(tensor):
                try:
                    node = tensor.grad_fn
                except RuntimeError:  # a view whose history an in-place change made unreadable
                    continue
                nodes.setdefault(id(node), (node, []))[1].append((tensor.output_nr, nr))
        for node, places in nodes.values():
            op.node = node.name()
            self.values.hear_node(node, tuple(places))

    def asked(self, tensor: Any) -> None:
        """Note that the program read a tensor's `.grad`. A tensor that is not a leaf has none."""
        with self.watch.aside():
            leaf = self.values.known_leaf(tensor)
            if leaf is not None:
                leaf.asked = True
            else:
                self.watch.asked_in_vain(tensor, self.values.known(tensor))

    def _hooked(self, args: Any) -> None:
        """Note that the program puts a hook on a leaf. Its effect on the gradient shows in the steps."""
        line = self.watch.line()
        with self.watch.aside():
            if line is not None and self.watch.engine.is_tensor(args[0]) and self.watch.is_leaf(args[0]):
                self.watch.seen.hooks.append((self.values.leaf(args[0], line), line))

    def _left(self, name: str, tensors: list[Any], result: Any, frame: FrameType) -> None:
        """A value left the engine."""
        with self.watch.aside():
            lines, _ = self.watch.places.stack(frame)
            line = lines[0] if lines else None
            for tensor in tensors[:1]:
                nr = self.values.value(tensor, line)
                single = (
                    isinstance(result, (int, float)) or getattr(result, "size", 0) == 1
                )  # a number, or an array of one
                number = float(np.asarray(result).item()) if single and name != "__bool__" else None
                self.watch.seen.exits.append(Exit(name, nr, line, lines, len(self.watch.seen.ops), number))

    def _set(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        name = getattr(getattr(func, "__self__", None), "__name__", "")
        if name == "data" and len(args) == 2 and self.watch.engine.is_tensor(args[1]):
            return self.writes.set_data(lambda: func(*args, **kwargs), args[0], args[1])
        result = func(*args, **kwargs)
        if name == "requires_grad" and len(args) == 2:
            self._switched(args[0], bool(args[1]))
        return result

    def _switched(self, tensor: Any, wanted: bool) -> None:
        line, seen = self.watch.line(), self.watch.seen
        with self.watch.aside():
            if self.watch.is_leaf(tensor) and wanted:
                known = self.values.known(tensor)
                nr = self.values.leaf(tensor, line)
                seen.leaves[nr].frozen_at = None
                if known is not None and seen.values[known].leaf is None:
                    seen.values[known].leaf = nr
                    seen.values[known].requires_grad = True
                    seen.leaves[nr].values.append(known)
            elif self.watch.is_leaf(tensor) and not self.watch.running:
                nr = self.values.leaf(tensor, None)
                seen.leaves[nr].requires_grad = False
                seen.leaves[nr].frozen_at = line


def _whole_numbers(item: Any) -> bool:
    """True if an argument is a shape or a list of dimensions."""
    return isinstance(item, (tuple, list)) and 0 < len(item) < 9 and all(type(one) is int for one in item)


def _options(args: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {
        str(place): item for place, item in enumerate(args) if isinstance(item, (int, float, str, bool))
    }
    found |= {name: item for name, item in kwargs.items() if isinstance(item, (int, float, str, bool, tuple))}
    found |= {str(place): tuple(item) for place, item in enumerate(args) if _whole_numbers(item)}
    for item in args:
        for part in item if isinstance(item, tuple) else (item,):
            if isinstance(part, slice):
                bounds = {f"slice.{name}": getattr(part, name) for name in ("start", "stop")}
                found |= {
                    name: int(bound) for name, bound in bounds.items() if getattr(bound, "shape", bound is None) == ()
                }
                found |= {name: bound for name, bound in bounds.items() if isinstance(bound, int)}
    return found
