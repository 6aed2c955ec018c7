"""Watches a program while it runs: every op, pass, step and mode of either engine, as light summaries.

Ops are seen by a function mode, gradients by hooks on nodes and leaves, modules and optimisers by their base classes' own
methods, which are put back afterwards. Nothing is copied: of a tensor its shape and its largest magnitude are kept.
"""

from __future__ import annotations

import functools
import math
import sys
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any

import numpy as np

from viz.diagnosis.functions import check_function
from viz.diagnosis.observation import Exit, Held, Leaf, Moment, Observation, Part, Ran, Seen, Through, Write
from viz.diagnosis.places import Places
from viz.engines import ACCUMULATE, Engine
from viz.recording.reader import tensors_in

MOST_OPS = 60_000  # that are written down; past them a program runs on unseen
SMALL = 100_000  # numbers, up to which NumPy finds the largest as soon as the engine does
MOST_NODES = 5_000  # that are walked over to find where a value came from
SAMPLE = 64  # numbers of a leaf that are looked at before and after a step
NAMING_PASSES = 5  # backward passes at which the program's variables are looked through
EXITS = {"item", "tolist", "numpy", "__float__", "__int__", "__bool__", "__array__", "__index__"}
PLAIN_VIEWS = {"T", "mT", "H", "mH", "data", "real", "imag"}
ALIASES = {
    "detach", "data", "view", "reshape", "T", "mT", "__getitem__", "squeeze", "unsqueeze", "transpose", "t", "permute",
    "flatten", "expand", "view_as", "narrow", "select", "contiguous", "to", "float", "requires_grad_", "diagonal", "unbind",
}  # fmt: skip
UPDATES = {"sub_", "add_", "__isub__", "__iadd__", "copy_", "addcdiv_", "mul_", "__set__", "lerp_", "__imul__"}


class Observer:
    """Sees one run of a program.

    Args:
        engine: whose ops to see.
        places: the program's text.
    """

    def __init__(self, engine: Engine, places: Places) -> None:
        self.engine = engine
        self.places = places
        self.seen = Observation(engine.name, places)
        self.active = False
        self._module = engine.module
        self._tensor: dict[int, tuple[Any, int, int]] = {}  # id -> weak reference, value, version
        self._leaf: dict[int, tuple[Any, int]] = {}
        self._grads: dict[int, tuple[Any, int]] = {}  # id of a `.grad` -> weak reference, leaf
        self._storage: dict[int, tuple[Any, int]] = {}
        self._parts: dict[int, tuple[Any, int]] = {}
        self._held: dict[int, tuple[Any, int]] = {}
        self._running: list[int] = []  # modules whose forward runs, outermost first
        self._handles: list[Any] = []
        self._hooks_before: list[tuple[Any, Any]] = []
        self._order = 0
        self._pass: Through | None = None
        self._used_grads: dict[int, bool] = {}  # leaf -> a step has used what is in .grad
        self._mixed: set[int] = set()  # leaves whose .grad is a sum with what a step had used
        self._functions: set[type] = set()
        self._within = 0  # calls of ours under way, in which nothing is looked at
        self._objects: dict[int, Any] = {}
        self._inits = 0
        self._nodes: dict[tuple[int, str, int], int] = {}  # by sequence number, name and output: the value
        self._quick = hasattr(engine.module, "aminmax")  # which needs one pass and no memory

    # the run

    @contextmanager
    def watching(self) -> Iterator[Observer]:
        """A context in which everything is seen; what it puts in place is taken away at its end."""
        with ExitStack() as stack:
            stack.callback(self._close)
            stack.enter_context(self._patched())
            stack.enter_context(self._hearing())
            stack.enter_context(self._mode())
            self.active = True
            yield self

    def _close(self) -> None:
        self.active = False
        for handle in self._handles:
            handle.remove()
        for tensor, hooks in self._hooks_before:
            if hooks is None and not getattr(tensor, "_backward_hooks", True):
                tensor._backward_hooks = None
        self._handles.clear()
        self._hooks_before.clear()

    def _mode(self) -> Any:
        observer = self

        class Mode(self.engine.mode_type):  # type: ignore[name-defined, misc]
            def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                return observer._called(func, args, kwargs or {})

        return Mode()

    @contextmanager
    def _hearing(self) -> Iterator[None]:
        """Hear the warnings that the program is given, each with its line; they go on to whoever hears them."""
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            onward = warnings.showwarning

            def show(
                message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None
            ) -> None:
                stack, _ = self.places.stack(sys._getframe(1))
                self.seen.warnings.append((str(message), stack[0] if stack else None))

            warnings.showwarning = show
            try:
                yield
            finally:
                warnings.showwarning = onward

    @contextmanager
    def _patched(self) -> Iterator[None]:
        """Methods of base classes through which modules, optimisers and custom Functions go."""
        replaced: list[tuple[Any, str, Any]] = []

        def replace(owner: Any, name: str, make: Callable[[Any], Any]) -> None:
            own = name in vars(owner)
            before = vars(owner).get(name)
            setattr(owner, name, make(getattr(owner, name)))
            replaced.append((owner, name, before if own else _ABSENT))

        nn, optim = self._module.nn, self._module.optim
        replace(nn.Module, "__call__", self._around_call)
        replace(nn.Module, "__init__", self._around_init)
        replace(nn.Module, "train", self._around_train)
        for name in ("zero_grad",):
            replace(optim.Optimizer, name, self._around_zero)
            replace(nn.Module, name, self._around_zero)
        replace(optim.Optimizer, "add_param_group", self._around_group)
        for kind in _below(optim.Optimizer):
            if "step" in vars(kind) or kind is optim.Optimizer:
                replace(kind, "step", self._around_step)
        apply = self.engine.function_type.apply.__func__  # type: ignore[attr-defined]
        before = vars(self.engine.function_type)["apply"]
        self.engine.function_type.apply = classmethod(self._around_apply(apply))  # type: ignore[attr-defined]
        replaced.append((self.engine.function_type, "apply", before))
        tensor_type: Any = self.engine.tensor_type
        data = vars(tensor_type).get("data")
        if isinstance(data, property) and data.fget is not None:  # this engine's mode does not show it
            tensor_type.data = property(self._around_data(data.fget), self._around_set(data.fset), data.fdel)
            replaced.append((tensor_type, "data", data))
        for name in dir(nn.init):
            function = getattr(nn.init, name)
            if name.endswith("_") and not name.startswith("_") and callable(function):
                replace(nn.init, name, functools.partial(self._around_initialiser, name))
        for name in ("manual_seed", "seed"):
            replace(self._module, name, functools.partial(self._around_seed, self.engine.name))
        try:
            yield
        finally:
            for owner, name, before in reversed(replaced):
                if before is _ABSENT:
                    delattr(owner, name)
                else:
                    setattr(owner, name, before)

    # values and leaves

    def _version(self, tensor: Any) -> int:
        try:
            return int(tensor._version)
        except RuntimeError:
            return 0

    def _known(self, tensor: Any) -> int | None:
        reference, nr, version = self._tensor.get(id(tensor), (None, 0, 0))
        if reference is None or reference() is not tensor:
            return None
        return nr if version == self._version(tensor) else None

    def _remember(self, tensor: Any, nr: int) -> None:
        self._tensor[id(tensor)] = _weak(tensor), nr, self._version(tensor)

    def value(self, tensor: Any, line: int | None = None, op: int | None = None, base: int | None = None) -> int:
        """The number of the value that a tensor is now; a new one where it has not been seen like this."""
        if op is None and (nr := self._known(tensor)) is not None:
            value = self.seen.values[nr]
            if tensor.requires_grad != value.requires_grad:
                value.requires_grad = bool(tensor.requires_grad)
                if value.requires_grad and tensor.is_leaf and value.leaf is None:
                    value.leaf = self.leaf(tensor, line)
            return nr
        nr = len(self.seen.values)
        peak, low = self._peak(tensor)
        value = Seen(
            nr, op, tuple(tensor.shape), self.engine.dtype(tensor), bool(tensor.requires_grad), peak, line, low=low
        )
        self.seen.values.append(value)
        value.base = base
        before = self._tensor.get(id(tensor))
        if before is not None and before[0]() is tensor:
            value.name = self.seen.values[before[1]].name
            value.line = value.line if op is not None else self.seen.values[before[1]].line
        if id(tensor) in self._leaf and self._leaf[id(tensor)][0]() is tensor:
            value.leaf = self._leaf[id(tensor)][1]
        elif tensor.requires_grad and tensor.is_leaf:
            value.leaf = self.leaf(tensor, line)
        if value.leaf is not None:
            self.seen.leaves[value.leaf].values.append(nr)
        elif op is None:
            grad = self._grads.get(id(tensor))
            if grad is not None and grad[0]() is tensor:
                value.of_grad = grad[1]
            elif base is None:
                value.base = self._sharing(tensor)
        self._remember(tensor, nr)
        if op is None and tensor.requires_grad and not tensor.is_leaf:
            self._unseen(tensor, value, line)
        return nr

    def _unseen(self, tensor: Any, value: Seen, line: int | None) -> None:
        """A value with a history that no call showed, as what a fused layer computes: its inputs are read from the graph."""
        try:
            node = tensor.grad_fn
        except RuntimeError:  # a view whose history an in-place change made unreadable
            return
        found: list[int] = []
        met: set[Any] = set()
        stack = [node]
        while stack and len(met) < MOST_NODES:
            one = stack.pop()
            for behind, number in one.next_functions:
                if behind is None or (key := (behind._sequence_nr(), behind.name(), number)) in met:
                    continue
                met.add(key)
                if behind.name() == ACCUMULATE:
                    found.append(self.value(behind.variable, line))
                elif key in self._nodes:
                    found.append(self._nodes[key])
                else:
                    stack.append(behind)
        module = self.seen.parts[self._running[-1]].path if self._running else ""
        name = node.name().partition("Backward")[0].lower()
        lines = (line,) if line is not None else ()
        value.op = len(self.seen.ops)
        made = Ran(
            value.op, name, line, lines, None, module, tuple(dict.fromkeys(found)), (value.nr,), True, True, False
        )
        made.node, made.step = node.name(), self.seen.steps
        self.seen.ops.append(made)
        self._hear_node(node, ((tensor.output_nr, value.nr),))

    def _hear_node(self, node: Any, places: tuple[tuple[int, int], ...]) -> None:
        for number, nr in places:
            self._nodes[node._sequence_nr(), node.name(), number] = nr
        self._handles.append(node.register_prehook(functools.partial(self._gradients, places)))

    def _sharing(self, tensor: Any) -> int | None:
        """The value whose memory a tensor that came from nowhere uses: a `numpy()` there and back."""
        for reference, nr in [self._storage.get(self.engine.storage(tensor), (None, 0))]:
            if reference is not None and reference() is not None:
                return nr
        return None

    def leaf(self, tensor: Any, line: int | None = None) -> int:
        """The number of a leaf; it is listened to from now on."""
        reference, nr = self._leaf.get(id(tensor), (None, 0))
        if reference is not None and reference() is tensor:
            leaf = self.seen.leaves[nr]
            if tensor.requires_grad and not leaf.requires_grad:
                leaf.requires_grad = True
                self._listen(tensor, nr)
            return nr
        nr = len(self.seen.leaves)
        parameter = isinstance(tensor, self._module.nn.Parameter)
        self.seen.leaves.append(Leaf(nr, "", tuple(tensor.shape), bool(tensor.requires_grad), line, parameter))
        self._leaf[id(tensor)] = _weak(tensor), nr
        self._listen(tensor, nr)
        return nr

    def _listen(self, tensor: Any, nr: int) -> None:
        if not (tensor.requires_grad and tensor.is_leaf):
            return
        self._hooks_before.append((tensor, getattr(tensor, "_backward_hooks", None)))
        self._handles.append(tensor.register_hook(lambda gradient: self._leaf_gradient(nr, gradient)))

    def _leaf_gradient(self, nr: int, gradient: Any) -> None:
        current = self._pass
        if not self.active or current is None:
            return
        with self._aside():
            peak, _ = self._peak(gradient)
            before = current.got.get(nr, 0.0)
            current.got[nr] = max(before, peak or 0.0) if not math.isnan(peak or 0.0) else math.nan

    def _peak(self, tensor: Any) -> tuple[float | None, float | None]:
        """The largest magnitude, and for small tensors the smallest number; (None, None) for what has no numbers."""
        try:
            if self.engine.device(tensor) == "cpu" and (tensor.numel() <= SMALL or not self._quick):
                numbers = self.engine.array(tensor)
                if numbers.size == 0:
                    return 0.0, None
                if numbers.dtype.kind not in "fiub":
                    return None, None
                low, high = float(numbers.min()), float(numbers.max())
                return (math.nan if math.isnan(low) or math.isnan(high) else max(abs(low), abs(high))), low
            if not tensor.dtype.is_floating_point:
                return None, None
            low, high = (float(one) for one in self._module.aminmax(tensor.detach()))
            return (math.nan if math.isnan(low) or math.isnan(high) else max(abs(low), abs(high))), low
        except (RuntimeError, TypeError, NotImplementedError, ValueError, AttributeError):
            return None, None

    @contextmanager
    def _aside(self) -> Iterator[None]:
        """A context in which reading a tensor is not seen as the program's."""
        self._within += 1
        try:
            with self.engine.quietly(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield
        finally:
            self._within -= 1

    def _next(self) -> int:
        self._order += 1
        return self._order

    def _tensors(self, things: Any) -> list[Any]:
        found = []
        stack = list(things)[::-1]
        while stack:
            thing = stack.pop()
            if self.engine.is_tensor(thing):
                found.append(thing)
            elif isinstance(thing, (list, tuple)):
                stack.extend(reversed(thing[:4096]))
            elif isinstance(thing, dict):
                stack.extend(reversed(list(thing.values())))
        return found

    # ops

    def _called(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        if not self.active or self._within:
            return func(*args, **kwargs)
        name = getattr(func, "__name__", "")
        if name == "__get__":
            name = getattr(getattr(func, "__self__", None), "__name__", "")
            if name == "grad" and args:
                self._asked(args[0])
            if name not in PLAIN_VIEWS:
                return func(*args, **kwargs)
        elif name == "__set__":
            name = getattr(getattr(func, "__self__", None), "__name__", "")
            if name == "requires_grad" and len(args) == 2:
                result = func(*args, **kwargs)
                self._switched(args[0], bool(args[1]))
                return result
            if name == "data" and len(args) == 2 and self.engine.is_tensor(args[1]):
                return self._set_data(lambda: func(*args, **kwargs), args[0], args[1])
            return func(*args, **kwargs)
        elif name in _IGNORED:
            return func(*args, **kwargs)
        if name in ("backward", "grad"):
            return self._backward(func, name, args, kwargs)
        if len(self.seen.ops) >= MOST_OPS:
            self.seen.cut = True
            return func(*args, **kwargs)
        frame = sys._getframe(2)
        tensors = self._tensors(args) + (self._tensors(kwargs.values()) if kwargs else [])
        if name in EXITS:
            result = func(*args, **kwargs)
            self._left(name, tensors, result, frame)
            return result
        with self._aside():
            lines, where = self.places.stack(frame)
            line = lines[0] if lines else None
            inputs = tuple(self.value(tensor, line) for tensor in tensors)
            versions = [self._version(tensor) for tensor in tensors]
        result = func(*args, **kwargs)
        with self._aside():
            if name == "requires_grad_":
                self._switched(tensors[0], bool(args[1] if len(args) > 1 else kwargs.get("requires_grad", True)))
                return result
            self._ran(name, lines, where, inputs, tensors, versions, result, args, kwargs)
        return result

    def _ran(
        self,
        name: str,
        lines: tuple[int, ...],
        where: Any,
        inputs: tuple[int, ...],
        tensors: list[Any],
        versions: list[int],
        result: Any,
        args: Any,
        kwargs: Any,
    ) -> None:
        seen = self.seen
        line = lines[0] if lines else None
        results = self._tensors((result,))
        changed = [t for t, v in zip(tensors, versions, strict=True) if self._version(t) != v]
        made = [t for t in results if not any(t is one for one in tensors)]
        if not made and not changed:
            return
        owner = self._running[-1] if self._running else None
        part = seen.parts[owner] if owner is not None else None
        op = Ran(
            len(seen.ops), name, line, lines, where, part.path if part is not None else "", inputs, (),
            any(t.requires_grad for t in (*made, *changed)), bool(self._module.is_grad_enabled()), self._inference(),
            part is not None and part.library, bool(changed), _options(args, kwargs), seen.steps, owner,
        )  # fmt: skip
        seen.ops.append(op)
        base = inputs[0] if name in ALIASES and inputs else None
        outputs = [self.value(tensor, line, op.nr, base) for tensor in made]
        for tensor in changed:
            before = self._tensor.get(id(tensor))
            held_by = seen.values[before[1]].base if before is not None else None
            nr = self.value(tensor, line, op.nr, held_by)
            outputs.append(nr)
            self._wrote(tensor, nr, op, inputs)
        op.outputs = tuple(outputs)
        for nr in inputs:
            leaf = seen.values[nr].leaf
            if leaf is not None:
                seen.leaves[leaf].used += 1
                if len(seen.leaves[leaf].used_by) < 200:
                    seen.leaves[leaf].used_by.append(op.nr)
        nodes: dict[int, tuple[Any, list[tuple[int, int]]]] = {}
        for tensor, nr in zip((*made, *changed), outputs, strict=True):
            if tensor.requires_grad and not tensor.is_leaf:
                try:
                    node = tensor.grad_fn
                except RuntimeError:
                    continue
                nodes.setdefault(id(node), (node, []))[1].append((tensor.output_nr, nr))
        for node, places in nodes.values():
            op.node = node.name()
            self._hear_node(node, tuple(places))
        if len(self._handles) > 20_000:
            del self._handles[:10_000]  # of graphs that are long gone

    def _inference(self) -> bool:
        return bool(self._module.is_inference_mode_enabled())

    def _gradients(self, places: tuple[tuple[int, int], ...], gradients: Any) -> None:
        """A node is about to run: the gradients of what its op made have arrived."""
        current = self._pass
        if not self.active or current is None:
            return
        with self._aside():
            for number, nr in places:
                gradient = gradients[number] if number < len(gradients) else None
                if gradient is None:
                    continue
                peak, _ = self._peak(gradient)
                value = self.seen.values[nr]
                value.grad = peak
                value.arrived = len(current.reached)
                if peak is not None:
                    current.reached.append((nr, peak))

    def _left(self, name: str, tensors: list[Any], result: Any, frame: FrameType) -> None:
        with self._aside():
            lines, _ = self.places.stack(frame)
            for tensor in tensors[:1]:
                nr = self.value(tensor, lines[0] if lines else None)
                number = float(result) if isinstance(result, (int, float)) and name != "__bool__" else None
                self.seen.exits.append(Exit(name, nr, lines[0] if lines else None, lines, len(self.seen.ops), number))
                if name in ("numpy", "__array__"):
                    self._storage[self.engine.storage(tensor)] = _weak(tensor), nr

    # leaves: who writes to them, who asks

    def _asked(self, tensor: Any) -> None:
        if id(tensor) in self._leaf and self._leaf[id(tensor)][0]() is tensor:
            self.seen.leaves[self._leaf[id(tensor)][1]].asked = True

    def _switched(self, tensor: Any, wanted: bool) -> None:
        lines, _ = self.places.stack(sys._getframe(2))
        line = lines[0] if lines else None
        with self._aside():
            if tensor.is_leaf and wanted:
                known = self._known(tensor)
                nr = self.leaf(tensor, line)
                self.seen.leaves[nr].frozen_at = None
                if known is not None and self.seen.values[known].leaf is None:
                    self.seen.values[known].leaf = nr
                    self.seen.values[known].requires_grad = True
                    self.seen.leaves[nr].values.append(known)
            elif tensor.is_leaf and not self._running:
                nr = self.leaf(tensor, None)
                self.seen.leaves[nr].requires_grad = False
                self.seen.leaves[nr].frozen_at = line

    def _wrote(self, tensor: Any, nr: int, op: Ran, inputs: tuple[int, ...]) -> None:
        """An op wrote into memory: where that is a leaf's, by name or through `.data`, note it."""
        seen = self.seen
        value: Seen | None = seen.values[nr]
        through = False
        steps = 0
        while value is not None and value.leaf is None and steps < 20:
            maker = seen.ops[value.op] if value.op is not None else None
            through = through or (maker is not None and maker.name in ("data", "detach"))
            value = seen.values[value.base] if value.base is not None else None
            steps += 1
        if value is None or value.leaf is None:
            return
        leaf = seen.leaves[value.leaf]
        kind = "init" if self._inits else "write"
        gradients = self._of_gradients(inputs[1:], value.leaf)
        if op.name in UPDATES and gradients:
            kind = "update"
        write = Write(kind, op.name, op.line, len(seen.passes), self._next(), through_data=through)
        if kind == "update":
            write.ascent = (op.name in ("add_", "__iadd__")) and gradients > 0
            write.ascent = write.ascent or (op.name in ("sub_", "__isub__") and gradients < 0)
            self._stepped_by_hand(value.leaf, write)
        leaf.writes.append(write)

    def _of_gradients(self, inputs: tuple[int, ...], leaf: int) -> int:
        """Whether values come from the leaf's `.grad`: 1, or -1 where the sign was turned; 0 where they do not."""
        for nr in inputs:
            sign, value, far = 1, self.seen.values[nr], 0
            while far < 6:
                if value.of_grad is not None:
                    return sign
                maker = self.seen.maker(value)
                if maker is None or not maker.inputs:
                    break
                if maker.name == "neg" or any(isinstance(o, (int, float)) and o < 0 for o in maker.options.values()):
                    sign = -sign
                value, far = self.seen.values[maker.inputs[0]], far + 1
        return 0

    def _stepped_by_hand(self, nr: int, write: Write) -> None:
        self._used_grads[nr] = True
        stale = (nr,) if nr in self._mixed else ()
        self.seen.moments.append(
            Moment("update", write.line, write.order, nr, passes=len(self.seen.passes), stale=stale)
        )

    def _set_data(self, call: Callable[[], Any], target: Any, new: Any) -> Any:
        """`w.data = …`: a write into the leaf by another tensor."""
        lines, _ = self.places.stack(sys._getframe(2))
        with self._aside():
            if id(target) in self._leaf:
                nr = self.leaf(target)
                known = self._known(new)
                value = self.seen.values[known] if known is not None else None
                gradients = (
                    self._of_gradients(self.seen.ops[value.op].inputs[1:], nr) if value and value.op is not None else 0
                )
                write = Write(
                    "update" if gradients else "write",
                    "data",
                    lines[0] if lines else None,
                    len(self.seen.passes),
                    self._next(),
                    through_data=True,
                )
                if gradients:
                    maker = self.seen.ops[value.op]  # type: ignore[index, union-attr]
                    write.ascent = maker.name in ("add", "__add__") and gradients > 0
                    self._stepped_by_hand(nr, write)
                self.seen.leaves[nr].writes.append(write)
        return call()

    def _around_data(self, read: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def data(tensor: Any) -> Any:
            if not self.active or self._within or not self.places.source.owns(frame := sys._getframe(1)):
                return read(tensor)
            return self._called(_Named("data", read), (tensor,), {}) if frame is not None else None

        return data

    def _around_set(self, write: Callable[[Any, Any], Any] | None) -> Any:
        if write is None:
            return None

        def data(tensor: Any, new: Any) -> None:
            if self.active and not self._within and self.engine.is_tensor(new):
                self._set_data(lambda: write(tensor, new), tensor, new)
            else:
                write(tensor, new)

        return data

    # backward passes

    def _backward(self, func: Any, name: str, args: Any, kwargs: dict[str, Any]) -> Any:
        frame = sys._getframe(3)
        self._harvest(frame)
        place = 3 if name == "grad" else 2
        retain = args[place] if len(args) > place else kwargs.get("retain_graph")
        create = args[place + 1] if len(args) > place + 1 else kwargs.get("create_graph")
        given = args[0] if args else kwargs.get("tensors", kwargs.get("outputs"))
        with self._aside():
            lines, _ = self.places.stack(frame)
            line = lines[0] if lines else None
            roots = [self.value(tensor, line) for tensor in self._tensors([given])]
            loss = None
            for tensor in self._tensors([given])[:1]:
                if tensor.numel() == 1:
                    loss = float(tensor.detach().item())
            current = Through(
                len(self.seen.passes) + 1, name, line, lines, roots, bool(retain), bool(create), len(self.seen.ops),
                self._next(), loss, step=self.seen.steps,
            )  # fmt: skip
            self.seen.passes.append(current)
            if name == "backward":
                self._look_at_grads(current)
        before, self._pass = self._pass, current
        try:
            result = func(*args, **kwargs)
        except BaseException as error:
            current.raised = f"{type(error).__name__}: {error}"
            raise
        finally:
            self._pass = before
        with self._aside():
            current.done = True
            self._after(current, name, args, kwargs, result)
        return result

    def _leaves(self) -> Iterator[tuple[Leaf, Any]]:
        for reference, nr in list(self._leaf.values()):
            tensor = reference()
            if tensor is not None:
                yield self.seen.leaves[nr], tensor

    def _look_at_grads(self, current: Through) -> None:
        """Before a pass: which leaves hold a gradient that a step has used, and that this pass will add to."""
        for leaf, tensor in self._leaves():
            if tensor.grad is None:
                self._used_grads.pop(leaf.nr, None)
                self._mixed.discard(leaf.nr)
            elif self._used_grads.get(leaf.nr) or leaf.nr in self._mixed:
                with self.engine.quietly():
                    peak, _ = self._peak(tensor.grad)
                if peak:
                    current.stale.add(leaf.nr)
                else:
                    self._used_grads.pop(leaf.nr, None)
                    self._mixed.discard(leaf.nr)

    def _after(self, current: Through, name: str, args: Any, kwargs: Any, result: Any) -> None:
        if name == "grad":
            given = args[1] if len(args) > 1 else kwargs.get("inputs")
            for tensor, gradient in zip(self._tensors([given]), self._tensors([result]), strict=False):
                if tensor.is_leaf:
                    nr = self.leaf(tensor)
                    current.got.setdefault(nr, self._peak(gradient)[0] or 0.0)
                    self._grads[id(gradient)] = _weak(gradient), nr
                    if (known := self._known(gradient)) is not None:
                        self.seen.values[known].of_grad = nr
        for nr, peak in current.got.items():
            self.seen.leaves[nr].gradients.append((current.nr, peak))
            if nr in current.stale:
                self._mixed.add(nr)
            self._used_grads.pop(nr, None)
        if name == "backward":
            for leaf, tensor in self._leaves():
                grad = tensor.grad if tensor.is_leaf else None
                if grad is not None:
                    self._grads[id(grad)] = _weak(grad), leaf.nr
                    if (known := self._known(grad)) is not None:
                        self.seen.values[known].of_grad = leaf.nr

    # modules

    def part(self, module: Any, line: int | None = None, stack: tuple[int, ...] = ()) -> int:
        """The number of a module."""
        reference, nr = self._parts.get(id(module), (None, 0))
        if reference is not None and reference() is module:
            return nr
        nr = len(self.seen.parts)
        library = type(module).__module__.partition(".")[0] == self.engine.name
        self.seen.parts.append(Part(nr, type(module).__name__, line, library=library, stack=stack))
        self._parts[id(module)] = _weak(module), nr
        return nr

    def know(self, root: Any, name: str = "") -> None:
        """Learn the paths of a module, of those inside it, and of its parameters; also of those that it merely keeps."""
        with self._aside():
            for path, module in root.named_modules(prefix=name):
                part = self.seen.parts[self.part(module)]
                part.path = part.path or path or type(root).__name__
                part.training = bool(module.training)
                for own, parameter in module.named_parameters(recurse=False):
                    leaf = self.seen.leaves[self.leaf(parameter, part.line)]
                    full = f"{path}.{own}" if path else own
                    leaf.name, leaf.holder, leaf.parameter = leaf.name or full, part.nr, True
                    leaf.line = leaf.line if leaf.line is not None else part.line
                    if leaf.nr not in part.parameters:
                        part.parameters.append(leaf.nr)
                for child in module.children():
                    inner = self.seen.parts[self.part(child)]
                    if part.nr not in inner.parents:
                        inner.parents.append(part.nr)
                for attribute, kept in list(vars(module).items()):
                    if attribute.startswith("_") or not isinstance(kept, (list, tuple, dict)):
                        continue
                    things = list(kept.values()) if isinstance(kept, dict) else list(kept)
                    for number, thing in enumerate(things[:256]):
                        self._loose(thing, module, part, f"{path}.{attribute}[{number}]".lstrip("."), attribute)

    def _loose(self, thing: Any, module: Any, part: Part, path: str, attribute: str) -> None:
        """A module or parameter in a plain list of a module: nobody who asks for parameters() is told of it."""
        if self.engine.is_module(thing) and not any(thing is one for one in module.modules()):
            inner = self.seen.parts[self.part(thing)]
            if inner.registered and not inner.path:
                inner.registered, inner.attribute = False, attribute
                inner.parents.append(part.nr)
                self.know(thing, path)
        elif isinstance(thing, self._module.nn.Parameter) and not any(thing is p for p in module.parameters()):
            leaf = self.seen.leaves[self.leaf(thing)]
            leaf.name = leaf.name or path

    def _around_call(self, call: Any) -> Any:
        @functools.wraps(call)
        def __call__(module: Any, *args: Any, **kwargs: Any) -> Any:
            if not self.active or self._within:
                return call(module, *args, **kwargs)
            nr = self.part(module)
            part = self.seen.parts[nr]
            if not part.called and not self._running:
                self.know(module)
            part.called += 1
            part.training = bool(module.training)
            self._running.append(nr)
            try:
                return call(module, *args, **kwargs)
            finally:
                self._running.pop()

        return __call__

    def _around_init(self, init: Any) -> Any:
        @functools.wraps(init)
        def __init__(module: Any, *args: Any, **kwargs: Any) -> None:
            init(module, *args, **kwargs)
            if self.active and not self._within:
                lines, _ = self.places.stack(sys._getframe(1))
                # A class of the program begins with super().__init__() in a line of its own: what makes it is further out.
                own = type(module).__module__.partition(".")[0] != self.engine.name
                inside = 1 if own and len(lines) > 1 else 0
                self.part(module, lines[inside] if lines else None, lines)

        return __init__

    def _around_train(self, train: Any) -> Any:
        depth = [0]

        @functools.wraps(train)
        def wrapped(module: Any, mode: bool = True) -> Any:
            outer = depth[0] == 0
            depth[0] += 1
            try:
                result = train(module, mode)
            finally:
                depth[0] -= 1
            if self.active and outer and not self._within:
                lines, _ = self.places.stack(sys._getframe(1))
                line = lines[0] if lines else None
                self.seen.moments.append(
                    Moment(
                        "train" if mode else "eval", line, self._next(), self.part(module), passes=len(self.seen.passes)
                    )
                )
                for inner in module.modules():
                    self.seen.parts[self.part(inner)].eval_line = None if mode else line
            return result

        return wrapped

    # optimisers

    def held(self, optimizer: Any, line: int | None = None, made_here: bool = True) -> int:
        """The number of an optimiser, with the leaves that it holds now."""
        reference, nr = self._held.get(id(optimizer), (None, 0))
        if reference is None or reference() is not optimizer:
            nr = len(self.seen.optimizers)
            self.seen.optimizers.append(Held(nr, type(optimizer).__name__, line, None, made_here=made_here))
            self._held[id(optimizer)] = _weak(optimizer), nr
        known = self.seen.optimizers[nr]
        with self._aside():
            for group in optimizer.param_groups:
                rate = group.get("lr")
                known.rate = float(rate) if rate is not None else known.rate
                for tensor in group["params"]:
                    leaf = self.leaf(tensor)
                    if leaf not in known.leaves:
                        known.leaves.append(leaf)
                        self.seen.leaves[leaf].held.append(nr)
        return nr

    def _around_group(self, add: Any) -> Any:
        @functools.wraps(add)
        def add_param_group(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            result = add(optimizer, *args, **kwargs)
            if self.active and not self._within:
                frame = sys._getframe(1)
                lines, _ = self.places.stack(frame)
                self._harvest(frame)
                self.held(optimizer, lines[0] if lines else None)
            return result

        return add_param_group

    def _around_zero(self, zero: Any) -> Any:
        @functools.wraps(zero)
        def zero_grad(owner: Any, *args: Any, **kwargs: Any) -> Any:
            if not self.active or self._within:
                return zero(owner, *args, **kwargs)
            lines, _ = self.places.stack(sys._getframe(1))
            who = -1 if self.engine.is_module(owner) else self.held(owner)
            parameters = list(owner.parameters()) if who == -1 else [p for g in owner.param_groups for p in g["params"]]
            with self._aside():
                nrs = [self.leaf(one) for one in parameters]
            self._within += 1
            try:
                result = zero(owner, *args, **kwargs)
            finally:
                self._within -= 1
            for nr in nrs:
                self._used_grads.pop(nr, None)
                self._mixed.discard(nr)
            self.seen.moments.append(
                Moment(
                    "zero",
                    lines[0] if lines else None,
                    self._next(),
                    who,
                    passes=len(self.seen.passes),
                    stack=lines,
                )
            )
            return result

        return zero_grad

    def _around_step(self, step: Any) -> Any:
        @functools.wraps(step)
        def wrapped(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            if not self.active or self._within or args or kwargs.get("closure") is not None:
                return step(optimizer, *args, **kwargs)
            lines, _ = self.places.stack(sys._getframe(1))
            nr = self.held(optimizer)
            with self._aside():
                parameters = [p for group in optimizer.param_groups for p in group["params"]]
                nrs = [self.leaf(p) for p in parameters]
                empty = not any(p.grad is not None and self._peak(p.grad)[0] for p in parameters)
                before = [self._sample(p) for p in parameters]
            self._within += 1
            try:
                result = step(optimizer, *args, **kwargs)
            finally:
                self._within -= 1
            with self._aside():
                moved, size = 0.0, 0.0
                order = self._next()
                for p, leaf, old in zip(parameters, nrs, before, strict=True):
                    if p.grad is None:
                        continue
                    new = self._sample(p)
                    far = float(np.abs(new - old).max()) if new.size else 0.0
                    large = float(np.abs(old).max()) if old.size else 0.0
                    moved, size = max(moved, far), max(size, large)
                    self.seen.leaves[leaf].writes.append(
                        Write(
                            "step",
                            "step",
                            lines[0] if lines else None,
                            len(self.seen.passes),
                            order,
                            far / large if large else None,
                        )
                    )
                    self.seen.leaves[leaf].size = large
                    if len(p.shape) == 2 and p.shape[0] > 1 and p.numel() <= 100_000:
                        array = self.engine.array(p)
                        self.seen.leaves[leaf].equal_rows.append(bool((array == array[:1]).all()))
                    self._used_grads[leaf] = True
            self.seen.steps += 1
            stale = tuple(leaf for leaf in nrs if leaf in self._mixed)
            relative = moved / size if size else None
            self.seen.moments.append(
                Moment(
                    "step",
                    lines[0] if lines else None,
                    order,
                    nr,
                    "",
                    len(self.seen.passes),
                    empty,
                    stale,
                    relative,
                    lines,
                )
            )
            return result

        return wrapped

    def _sample(self, tensor: Any) -> np.ndarray:
        flat = tensor.detach().reshape(-1)
        stride = max(1, flat.numel() // SAMPLE)
        return np.array(self.engine.array(flat[::stride]), dtype=np.float64)

    # initialisers, seeds, custom Functions

    def _around_initialiser(self, name: str, initialise: Any) -> Any:
        @functools.wraps(initialise)
        def wrapped(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            if not self.active or self._within or not self.engine.is_tensor(tensor):
                return initialise(tensor, *args, **kwargs)
            lines, _ = self.places.stack(sys._getframe(1))
            own = bool(lines) and self.places.source.owns(sys._getframe(1))
            self._inits += 1
            self._within += 1
            try:
                result = initialise(tensor, *args, **kwargs)
            finally:
                self._inits -= 1
                self._within -= 1
            if own and (tensor.requires_grad or id(tensor) in self._leaf):
                nr = self.leaf(tensor)
                self.seen.leaves[nr].writes.append(Write("init", name, lines[0], len(self.seen.passes), self._next()))
            return result

        return wrapped

    def _around_seed(self, who: str, seed: Any) -> Any:
        @functools.wraps(seed)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            if self.active:
                lines, _ = self.places.stack(sys._getframe(1))
                self.seen.moments.append(Moment("seed", lines[0] if lines else None, self._next(), text=who))
            return seed(*args, **kwargs)

        return wrapped

    def _around_apply(self, apply: Any) -> Any:
        @functools.wraps(apply)
        def wrapped(kind: Any, *args: Any, **kwargs: Any) -> Any:
            if not self.active or self._within:
                return apply(kind, *args, **kwargs)
            lines, where = self.places.stack(sys._getframe(1))
            tensors = self._tensors(args)
            with self._aside():
                inputs = tuple(self.value(tensor, lines[0] if lines else None) for tensor in tensors)
                versions = [self._version(tensor) for tensor in tensors]
            ops = len(self.seen.ops)
            result = apply(kind, *args, **kwargs)
            with self._aside():
                del self.seen.ops[ops:]  # what ran inside it is its own affair
                for value in self.seen.values:
                    if value.op is not None and value.op >= ops:
                        value.op = None
                self._ran(f"{kind.__name__}.apply", lines, where, inputs, tensors, versions, result, args, kwargs)
                if kind not in self._functions and self._module.is_grad_enabled() and self._is_own(kind):
                    self._functions.add(kind)
                    found = check_function(self.engine, kind, args, self.places, lines[0] if lines else None)
                    if found is not None:
                        self.seen.functions.append(found)
            return result

        return wrapped

    def _is_own(self, kind: type) -> bool:
        return kind.__module__.partition(".")[0] not in (self.engine.name, "viz")

    # names

    def _harvest(self, frame: FrameType | None) -> None:
        """Learn the names that the program's variables have now."""
        if len(self.seen.passes) > NAMING_PASSES:
            return
        with self._aside():
            while frame is not None:
                if self.places.source.owns(frame):
                    self.names(frame.f_locals)
                    self.alive(frame.f_locals)
                frame = frame.f_back

    def names(self, variables: dict[str, Any]) -> None:
        """Learn what the names of a frame or a namespace stand for."""
        with self._aside():
            for name, thing in list(variables.items()):
                if name.startswith("__") or name in ("T", "torch", "self", "ctx"):
                    continue
                if self.engine.is_module(thing):
                    self.know(thing, name)
                    continue
                if isinstance(thing, type) or callable(thing):
                    continue
                for path, tensor in tensors_in(thing, self.engine):
                    nr = self._known(tensor)
                    if id(tensor) in self._leaf and self._leaf[id(tensor)][0]() is tensor:
                        leaf = self.seen.leaves[self._leaf[id(tensor)][1]]
                        leaf.name = leaf.name or name + path
                    if nr is not None:
                        self.seen.values[nr].name = self.seen.values[nr].name or name + path

    def alive(self, variables: dict[str, Any]) -> None:
        """Note which variables keep values of earlier steps, with their graphs."""
        with self._aside():
            for name, thing in list(variables.items()):
                if name.startswith("__") or not isinstance(thing, (list, tuple, dict, set)):
                    continue
                kept = [
                    tensor
                    for tensor in self._tensors([list(thing) if isinstance(thing, set) else thing])
                    if tensor.requires_grad and not tensor.is_leaf
                ]
                nrs = [nr for tensor in kept if (nr := self._known(tensor)) is not None]
                passes = {self._pass_of(nr) for nr in nrs}
                if len(passes) > 1 and not any(name == known for known, _, _ in self.seen.kept):
                    line = next(
                        (
                            found
                            for method in ("append", "add", "extend", "insert")
                            if (found := self.places.where_called(name, method))
                        ),
                        None,
                    )
                    self.seen.kept.append((name, len(nrs), line))

    def _pass_of(self, nr: int) -> int:
        op = self.seen.values[nr].op
        made = op if op is not None else 0
        return sum(each.done and each.ops <= made for each in self.seen.passes)


_ABSENT = object()
_IGNORED = {
    "dim", "size", "numel", "stride", "is_contiguous", "__len__", "is_floating_point", "nelement", "element_size", "data_ptr",
    "__hash__", "__repr__", "__str__", "__format__", "__iter__", "register_hook", "retain_grad", "_set_grad_enabled",
    "is_complex", "storage_offset", "untyped_storage", "get_device", "type", "ndimension", "is_same_size", "__contains__",
    "_record_function_enter_new", "_record_function_exit._RecordFunction", "manual_seed", "__deepcopy__", "__reduce_ex__",
    "result_type", "is_grad_enabled", "is_inference", "set_default_dtype", "get_default_dtype", "__dir__", "finfo",
    "register_post_accumulate_grad_hook", "zero_grad", "is_nonzero", "allclose", "equal", "is_tensor", "share_memory_",
}  # fmt: skip


class _Named:
    """A function under another name."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.__name__ = name
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)


def _weak(thing: Any) -> Callable[[], Any]:
    try:
        return weakref.ref(thing)
    except TypeError:
        return lambda: thing


def _below(kind: type) -> list[type]:
    found, stack = [], [kind]
    while stack:
        one = stack.pop()
        if one not in found:
            found.append(one)
            stack += one.__subclasses__()
    return found


def _options(args: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {
        str(place): item for place, item in enumerate(args) if isinstance(item, (int, float, str, bool))
    }
    found |= {name: item for name, item in kwargs.items() if isinstance(item, (int, float, str, bool, tuple))}
    return found
