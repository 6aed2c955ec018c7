"""Reads tensors and nodes of either engine into a `Graph`, using only PyTorch's public graph protocol."""

from __future__ import annotations

import dataclasses
import itertools
import math
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np

from viz.engines import ACCUMULATE, Engine
from viz.recording.graph import Array, Graph, Op, Saved, Value
from viz.recording.recording import Event
from viz.recording.saved import is_custom, saved_tensors
from viz.recording.source import Source
from viz.recording.summary import measured, summarise
from viz.recording.unseen import is_ours, note

OWN = {"result", "result0", "result1", "result2", "mask", "indices", "total_weight", "save_mean", "save_invstd"}
_NUMBERS = {"PowBackward0": "_saved_exponent", "MulBackward1": "_saved_other"}  # PowBackward1 saves a tensor
LIGHT_PAST = 3000  # nodes read at once
Answer = TypeVar("Answer")
LIBRARIES = "torch.nn.", "tinygrad_edu.nn"  # where layers come from that everybody knows
ITEMS_LOOKED_AT = 64  # of a list, tuple or dict, when looking for the tensors in it


def legible(text: str) -> str:
    """`text` in a form that can be written to any file: an unpaired surrogate becomes a question mark."""
    return text.encode("utf-8", "replace").decode()


def described(error: BaseException, source: Source) -> dict[str, Any]:
    """An error that ended a program, as plain data: type, message and the program's line."""
    line = next((line for _, line in reversed(source.frames(error))), None)
    message = str(error) or ("stopped by Ctrl-C" if isinstance(error, KeyboardInterrupt) else "")
    if isinstance(error, SyntaxError) and error.filename == source.filename:
        line, message = error.lineno, error.msg  # its text names a file that does not exist
    return {"type": type(error).__name__, "message": legible(message), "line": line}


def ended(error: BaseException, source: Source, events: list[Event], failed: tuple[Any, str | None]) -> dict[str, Any]:
    """An error as `described`, with the phase and the node.

    It becomes the last of the events. `failed` has the error that ended a backward pass, and the node that raised it.
    """
    phase, node = ("backward", failed[1]) if failed[0] is error else ("forward", None)
    about = described(error, source)
    if events and events[-1].kind == "raised":  # the program did not catch it
        events.pop()
    events.append(Event("error", about["line"], node, text=f"{about['type']}: {about['message']}"))
    return about | {"phase": phase, "node": node}


def tensors_in(thing: Any, engine: Engine) -> Iterator[tuple[str, Any]]:
    """The tensors in `thing` with the path to each (``""``, ``"[0]"``, ``".weight"``), one level deep."""
    if engine.is_tensor(thing):
        yield "", thing
    elif engine.is_module(thing):
        for name, parameter in engine.held(thing, again=True):  # a tied parameter by each of its names
            if engine.is_ready(parameter):
                yield f".{name}", parameter
    else:
        yield from ((f"[{key!r}]", item) for key, item in items_of(thing) if engine.is_tensor(item))


def items_of(thing: Any) -> Iterable[tuple[Any, Any]]:
    """What stands in a list, tuple or dict, by its place or key; nothing for anything else."""
    if not isinstance(thing, (list, tuple, dict)):
        return ()
    return itertools.islice(thing.items() if isinstance(thing, dict) else enumerate(thing), ITEMS_LOOKED_AT)


def nested_tensors(thing: Any, engine: Engine, path: str = "") -> Iterator[tuple[str, Any]]:
    """The tensors in `thing` at any depth of lists, tuples, dicts and dataclasses, in order, with the path to each."""
    if engine.is_tensor(thing):
        yield path, thing
    elif isinstance(thing, dict):
        for key, item in thing.items():
            yield from nested_tensors(item, engine, f"{path}[{key!r}]")
    elif isinstance(thing, (list, tuple)):
        names = getattr(thing, "_fields", None)
        for position, item in enumerate(thing):
            yield from nested_tensors(item, engine, f"{path}.{names[position]}" if names else f"{path}[{position}]")
    elif dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        for field in dataclasses.fields(thing):
            yield from nested_tensors(getattr(thing, field.name, None), engine, f"{path}.{field.name}")


def about_module(engine: Engine, module: Any) -> dict[str, Any]:
    """The class of an `nn.Module`, its number of parameters, its settings and the paths of its buffers, if any.

    `library` says that it is a layer of the engine, `loops` that it runs its parameters again and again.
    """
    sizes = (math.prod(parameter.shape) for parameter in engine.parameters(module) if engine.is_ready(parameter))
    about: dict[str, Any] = {"class": engine.kind(module), "parameters": sum(sizes)}
    if type(module).__module__.startswith(LIBRARIES):
        about["library"] = True
    if isinstance(module, engine.module.nn.RNNBase):
        about["loops"] = True
    if settings := engine.why_closed(module) or _settings(module):
        about["settings"] = settings
    if buffers := [name for name, buffer in module._buffers.items() if buffer is not None]:
        about["buffers"] = buffers
    return about


def _settings(module: Any) -> str:
    """What a module was told when it was made, as far as a picture should say it: `kernel 3×3, stride 2, padding 1`."""
    settings = []
    for names, word, ordinary in _SETTINGS:
        value = next((held for name in names if (held := vars(module).get(name)) is not None), None)
        if isinstance(value, (int, float, str)) and not isinstance(value, bool):
            plain = f"{value:.3g}" if isinstance(value, float) else str(value)
        elif isinstance(value, (tuple, list)) and value and all(isinstance(size, int) for size in value):
            plain = str(value[0]) if len({*value}) == 1 and word != "kernel" else "×".join(map(str, value))
        else:
            continue
        if plain != ordinary:
            settings.append(f"{word} {plain}")
    return ", ".join(settings)


_SETTINGS = (  # attributes, the word for them, and the value that goes without saying
    (("kernel_size",), "kernel", ""),
    (("stride",), "stride", "1"),
    (("padding",), "padding", "0"),
    (("dilation",), "dilation", "1"),
    (("groups",), "groups", "1"),
    (("num_heads", "n_heads", "n_head", "nhead", "heads"), "heads", ""),
    (("p",), "p", ""),
    (("negative_slope",), "slope", ""),
    (("num_layers",), "layers", "1"),
)


def _none() -> None:
    """What a reference to nothing gives."""


class Reader:
    """Gives every tensor and node that it is shown a key, and adds what it reads to `graph`.

    Args:
        engine: the engine of these tensors.
        unused: tells whether the value of a key has not been used yet; such a value is filled, not changed.
        keep: keep references to nodes (then the object identifies a node), or not (then its sequence number does).
        lazy: leave numbers in `uncopied` for `copy_those`, because not all of them may be shown.
        on_op: called with each new op and its node, in the order in which the nodes were made.
        on_accumulate: called with each AccumulateGrad node.
    """

    def __init__(
        self,
        engine: Engine,
        keep: bool,
        lazy: bool = False,
        on_op: Callable[[Op, Any], None] | None = None,
        on_accumulate: Callable[[Any], None] | None = None,
        unused: Callable[[str], bool] = lambda key: False,
    ) -> None:
        self.engine = engine
        self.graph = Graph()
        self._keep = keep
        self._lazy = lazy
        self.uncopied: dict[str, Any] = {}
        self._on_op = on_op
        self._on_accumulate = on_accumulate
        self._unused = unused
        self._named_inside: set[str] = set()  # values named inside a function that the program calls
        self._kept: list[Any] = []
        self._op_of: dict[Any, str] = {}
        self._tensor: dict[int, tuple[Callable[[], Any], str]] = {}
        self._holder: dict[str, Callable[[], Any]] = {}  # value -> the tensor that last had it
        self._unplaced: list[int] = []  # tensors whose address is not in `_at` yet
        self._at: dict[int, list[int]] = {}  # address -> tensors seen there
        self._output: dict[tuple[str, int], str] = {}
        self._storage: dict[int, str] = {}

    # values

    def value(self, tensor: Any, line: int | None = None, made: bool = False, look: bool = False) -> str:
        """The key of `tensor` as it is now. After an in-place change it is a new value in the old one's memory.

        `w.data -= …` and a batch norm's running means count no version: `look` compares a leaf's numbers with the copy.
        """
        node = self.grad_fn(tensor)
        if node is not None:
            key = self.output(self.node(node), tensor.output_nr)
            value = self.graph.values[key]
            if value.shape is None or value.array is None:
                self._fill(value, tensor, line)
            value.retains_grad = bool(tensor.retains_grad)
            self._see(tensor, key)
            return key
        version = self.version(tensor)
        reference, key = self._tensor.get(id(tensor), (None, ""))
        if reference is not None and reference() is tensor:
            value = self.graph.values[key]
            if value.kind != "value" and value.version == version and not (look and self._differs(tensor, value)):
                if tensor.requires_grad and value.kind != "leaf":
                    value.kind, value.requires_grad = "leaf", True
                elif not tensor.requires_grad and value.kind == "leaf":
                    value.kind, value.requires_grad = "input", False
                return key
            if value.kind in ("leaf", "input") and self._unused(key):
                value.version, value.array, value.requires_grad = version, self.copy(tensor), bool(tensor.requires_grad)
                value.kind = "leaf" if value.requires_grad else "input"
                return key
        else:
            key = ""
        new = Value(f"v{len(self.graph.values)}", "leaf" if tensor.requires_grad else "result" if made else "input")
        self.graph.values[new.key] = new
        self._fill(new, tensor, line)
        if key:
            old = self.graph.values[key]
            new.shares, new.how_shared = key, "in-place"
            new.name, new.names, new.scope = old.name, list(old.names), old.scope
            if key in self._named_inside:
                self._named_inside.add(new.key)
        if not new.name and new.kind == "input":
            new.name = self._gradient_name(tensor)
            new.names = [new.name] if new.name else []
        self._see(tensor, new.key)
        return new.key

    def _see(self, tensor: Any, key: str) -> None:
        reference = self._reference(tensor)
        before, _ = self._tensor.get(id(tensor), (None, ""))
        if before is not None and before() is not tensor:
            del self._tensor[id(tensor)]  # of one that is gone: a new tensor at its address comes last
        self._tensor[id(tensor)] = reference, key
        self._holder[key] = reference
        self._unplaced.append(id(tensor))

    def _gradient_name(self, tensor: Any) -> str:
        """`w.grad` for the tensor that is the gradient of a leaf `w`."""
        shape = self.engine.shape(tensor)  # the same: to ask each leaf takes long where there are thousands
        for reference, key in list(self._tensor.values()):
            value = self.graph.values[key]
            if value.kind == "leaf" and value.shape == shape and value.name:
                other = reference()
                if other is not None and self.is_leaf(other) and other.grad is tensor:
                    return f"{value.name}.grad"
        return ""

    def passed_on(self, tensor: Any) -> str:
        """The key of a new value: a module returned `tensor` unchanged, which from now on stands for its output."""
        key = self.value(tensor)
        old = self.graph.values[key]
        new = Value(f"v{len(self.graph.values)}", old.kind if old.kind == "value" else "result", shape=old.shape)
        new.dtype, new.device, new.requires_grad, new.version = old.dtype, old.device, old.requires_grad, old.version
        new.array, new.shares, new.how_shared = old.array, key, "view"
        self.graph.values[new.key] = new
        node = self.grad_fn(tensor)
        if node is not None:
            self._output[self.node(node), tensor.output_nr] = new.key
        self._see(tensor, new.key)
        return new.key

    def forget(self, tensor: Any) -> None:
        """Keep no reference to a tensor."""
        known, key = self._tensor.get(id(tensor), (None, ""))
        if known is not None:
            self._tensor[id(tensor)] = _none, key
            self._holder.update((held, _none) for held, holder in list(self._holder.items()) if holder is known)

    def close(self) -> None:
        """Keep no reference to any."""
        self._tensor.clear()
        self._holder.clear()

    def known(self, tensor: Any) -> str | None:
        """The key under which exactly this tensor was last seen, or None; checks nothing else."""
        reference, key = self._tensor.get(id(tensor), (None, ""))
        return key if reference is not None and reference() is tensor else None

    def seen(self) -> list[tuple[Any, str]]:
        """Every tensor seen that still exists, with its key."""
        pairs = ((reference(), key) for reference, key in self._tensor.values())
        return [(tensor, key) for tensor, key in pairs if tensor is not None]

    def has(self, tensor: Any) -> bool:
        """Whether `tensor` belongs to the graph read so far."""
        node = self.grad_fn(tensor)
        if node is not None:
            key = self._op_of.get(self.identity(node))
            return key is not None and (key, tensor.output_nr) in self._output
        return self.known(tensor) is not None

    def output(self, op: str, number: int) -> str:
        """The key of an op's output, whether or not a tensor was seen for it."""
        key = self._output.get((op, number))
        if key is None:
            value = Value(f"v{len(self.graph.values)}", "value", requires_grad=True, op=op, output_nr=number)
            value.line = self.graph.ops[op].line
            self.graph.values[value.key] = value
            self._output[op, number] = key = value.key
            outputs = self.graph.ops[op].outputs
            outputs.append(key)
            if len(outputs) > 1:
                outputs.sort(key=lambda k: self.graph.values[k].output_nr)
        return key

    def retained(self, key: str) -> Array | None:
        """The `.grad` of a value on whose tensor the program called `retain_grad`."""
        tensor = self._holder.get(key, _none)()
        return self.copy(tensor.grad) if tensor is not None and tensor.retains_grad else None

    def adopt(self, op: str, key: str) -> None:
        """Make a value that has no history an output of an op, such as the indices of a maximum."""
        value, outputs = self.graph.values[key], self.graph.ops[op].outputs
        # The engine may know this output although it is not differentiable: then a value for it exists already.
        for place in outputs:
            told = self.graph.values[place]
            if told.array is None and told.shape == value.shape and told.dtype == value.dtype:
                outputs[outputs.index(place)] = self._output[op, told.output_nr] = key
                value.output_nr = told.output_nr
                break
        else:
            value.output_nr = len(outputs)
            outputs.append(key)
        value.op, value.kind = op, "result"

    def _differs(self, tensor: Any, value: Value) -> bool:
        array = None if value.array is None else self.copy(tensor)
        # nan is not equal to itself, but has the same text.
        return array is not None and array != value.array and repr(array) != repr(value.array)

    def bind(self, name: str, tensor: Any, line: int | None = None, look: bool = False, inside: bool = False) -> str:
        """Give the value of `tensor` the name that the program uses for it.

        A name from inside a function, such as the `module` of `self.apply(init)`, gives way to the name that the
        program itself uses, also in earlier versions.
        """
        key = self.value(tensor, line, look=look)
        value = self.graph.values[key]
        name = legible(name)
        if name not in value.names:
            value.names.append(name)
            if not value.name and inside:
                self._named_inside.add(key)
            value.name = value.name or name
        if not inside and key in self._named_inside:
            now: str | None = key
            while now is not None and now in self._named_inside:
                self._named_inside.discard(now)
                old = self.graph.values[now]
                old.name, old.names = name, [name]
                now = old.shares if old.how_shared == "in-place" else None
        return key

    def _fill(self, value: Value, tensor: Any, line: int | None) -> None:
        value.shape = self.engine.shape(tensor)
        value.dtype = self.engine.dtype(tensor)
        value.device = self.engine.device(tensor)
        value.requires_grad = bool(tensor.requires_grad)
        value.version = self.version(tensor)
        value.line = line if value.line is None else value.line
        if self._lazy:
            self.uncopied[value.key] = tensor
        else:
            value.array = self.copy(tensor)
        storage = self.engine.storage(tensor)
        if storage:
            owner = self._storage.get(storage)
            own = self.known(tensor)  # if it was written to; what else has this memory shares only its version
            if owner is not None and (not self._is_alias(tensor, owner) or not (own is None or tensor._is_view())):
                owner = own
            if owner is not None and owner != value.key and not value.shares:
                value.shares = owner
                value.how_shared = "view" if tensor._is_view() else "detach" if own is None else "in-place"
            self._storage[storage] = value.key

    def _is_alias(self, tensor: Any, owner: str) -> bool:
        # Memory is reused after a tensor dies, so the address proves nothing: look for a living tensor that has it.
        storage = self.engine.storage(tensor)
        other = self._holder.get(owner, _none)()
        if other is not None:
            return other is tensor or self.engine.storage(other) == storage
        base = tensor._base
        return base is not None and self.known(base) is not None

    def copy_those(self, shown: Callable[[str], bool]) -> None:
        """Copy the numbers that were left for later, for the values that are `shown`."""
        for key, tensor in self.uncopied.items():
            if shown(key):
                self.graph.values[key].array = self.copy(tensor)
        self.uncopied.clear()

    def copy(self, tensor: Any) -> Array | None:
        """The numbers of `tensor` as plain data, or None if it has none to copy."""
        numbers = self.numbers(tensor)
        return None if numbers is None else summarise(numbers, self.engine.dtype(tensor))

    def measure(self, tensor: Any) -> Array | None:
        """The shape and the norm of `tensor`, or None if it has no numbers to read."""
        numbers = self.numbers(tensor)
        return None if numbers is None else measured(numbers, self.engine.dtype(tensor))

    def numbers(self, tensor: Any) -> np.ndarray | None:
        """The numbers of `tensor`; None for no tensor, and for one that has none to read, such as a batched one."""
        if tensor is None or getattr(tensor, "is_meta", False):
            return None
        return self.ask(self.engine.array, None, tensor)

    def is_leaf(self, tensor: Any) -> bool:
        """Whether `tensor` is a leaf; a view whose history cannot be read is none."""
        return bool(self.ask(getattr, False, tensor, "is_leaf"))

    def ask(self, question: Callable[..., Answer], otherwise: Answer, *about: Any) -> Answer:
        """The answer to a question about objects of the program; `otherwise`, and a note of it, if that raises."""
        try:
            return question(*about)
        except Exception as error:
            if not is_ours(error):
                raise
            note(self.graph, error, "this tensor")
            return otherwise

    def _reference(self, tensor: Any) -> Callable[[], Any]:
        if self._keep:
            return lambda: tensor
        try:
            return weakref.ref(tensor)
        except TypeError:
            return lambda: tensor

    @staticmethod
    def version(tensor: Any) -> int:
        try:
            return int(tensor._version)
        except RuntimeError:  # inference tensors have no version
            return 0

    @staticmethod
    def grad_fn(tensor: Any) -> Any:
        try:
            return tensor.grad_fn
        except RuntimeError:  # an in-place change made the view's history unreadable
            return None

    # nodes

    def identity(self, node: Any) -> Any:
        """The identity of `node`: the object itself, or its sequence number if no reference is kept."""
        return id(node) if self._keep else (node._sequence_nr(), node.name())

    def key_of(self, node: Any) -> str | None:
        """The key of a node seen before (for AccumulateGrad, that of its leaf), or None."""
        if node.name() == ACCUMULATE:
            # A leaf that was changed in place since this edge was seen is a new value with the same node.
            return self.graph.values[self.accumulator(node)].accumulate
        return self._op_of.get(self.identity(node))

    def node(self, node: Any, line: int | None = None) -> str:
        """The key of `node`. It and all new nodes behind it become ops, oldest first."""
        key = self._op_of.get(self.identity(node))
        if key is not None:
            return key
        fresh = self._behind(node)
        light = len(fresh) > LIGHT_PAST  # too many to look at: skip details of single ops
        for identity, current in fresh:
            if self._keep:
                self._kept.append(current)
            op = Op(f"o{len(self.graph.ops)}", current.name(), sequence_nr=current._sequence_nr(), line=line)
            self.graph.ops[op.key] = op
            self._op_of[identity] = op.key
        for identity, current in fresh:
            op = self.graph.ops[self._op_of[identity]]
            for behind, number in current.next_functions:
                if behind is None:
                    op.inputs.append(None)
                    op.next.append((None, 0))
                    continue
                source = self._op_of.get(self.identity(behind))
                if source is None:
                    leaf = self.graph.values[self.accumulator(behind)]
                    op.inputs.append(leaf.key)
                    op.next.append((leaf.accumulate, number))
                else:
                    op.inputs.append(self.output(source, number))
                    op.next.append((source, number))
            if not light:
                self.ask(self._describe, None, op, current)
            if self._on_op is not None:
                self._on_op(op, current)
        return self._op_of[self.identity(node)]

    def _behind(self, node: Any) -> list[tuple[Any, Any]]:
        """`node` and all new nodes behind it, with their identities, in the order in which they were made."""
        fresh: dict[Any, Any] = {}
        stack = [node]
        while stack:
            current = stack.pop()
            identity = self.identity(current)
            if identity in fresh or identity in self._op_of:
                continue
            fresh[identity] = current
            stack += [behind for behind, _ in current.next_functions if behind is not None]
        ops = [(identity, current) for identity, current in fresh.items() if current.name() != ACCUMULATE]
        ops.sort(key=lambda item: item[1]._sequence_nr())
        return ops

    def _describe(self, op: Op, node: Any) -> None:
        op.custom = is_custom(node)
        self._read_metadata(op, node)
        number = getattr(node, _NUMBERS[op.name], None) if op.name in _NUMBERS else None
        if isinstance(number, (int, float)):
            op.constants.append(f"{number:.6g}")
        self._read_saved(op, node)

    def accumulator(self, node: Any) -> str:
        """The key of the leaf of an AccumulateGrad node."""
        key = self.value(node.variable)
        value = self.graph.values[key]
        if value.accumulate is None:
            value.accumulate = f"a{key[1:]}"
        if self._keep:
            self._kept.append(node)
        if self._on_accumulate is not None:
            self._on_accumulate(node)
        return key

    def _read_metadata(self, op: Op, node: Any) -> None:
        for number, about in enumerate(getattr(node, "_input_metadata", ())):
            value = self.graph.values[self.output(op.key, number)]
            shape = None if getattr(about, "is_nested_tensor", False) else getattr(about, "shape", None)
            if value.shape is None and shape is not None:
                value.shape = self.engine.shape(about)
                value.dtype = str(about.dtype).rpartition(".")[2]

    def _read_saved(self, op: Op, node: Any) -> None:
        for name, saved in saved_tensors(self.engine, node):
            if isinstance(saved, str):
                op.saved.append(Saved(name, state=saved))
            elif self.engine.is_tensor(saved):
                key, shape = self.match(saved), self.engine.shape(saved)
                if key is None and self._keep and not saved.requires_grad and name not in OWN:
                    key = self._known_by_being_saved(op, saved)
                number = self._number(saved) if key is None and shape == [] and name not in OWN else ""
                op.saved.append(Saved(name, key, shape, self.version(saved), number))

    def _number(self, scalar: Any) -> str:
        return self.ask(lambda: f"{scalar.item():.6g}", "")

    def _known_by_being_saved(self, op: Op, saved: Any) -> str | None:
        """An input without grad has no edge in the engine's graph, but an op that saves it reveals it."""
        if None not in op.inputs:
            return None
        slot = op.inputs.index(None)
        # How PyTorch saves a Python number.
        if self.engine.shape(saved) == [] and self.engine.dtype(saved) in ("float64", "int64"):
            op.constants.append(self._number(saved))
            return None
        op.inputs[slot] = key = self.value(saved)
        return key

    def match(self, tensor: Any) -> str | None:
        """The value of a saved tensor: what it was seen as, or a living one of the same memory, shape and version."""
        key = self.known(tensor)
        if key is not None:
            return key
        node = self.grad_fn(tensor)
        if node is not None and self.identity(node) in self._op_of:
            return self.value(tensor)
        for identity in self._in_place(self._address(tensor)):
            reference, key = self._tensor[identity]
            other = reference()
            if (
                other is not None
                and self.graph.values[key].version == self.version(tensor)
                and self.engine.shape(other) == self.engine.shape(tensor)
            ):
                return key
        return None

    def _in_place(self, pointer: int) -> list[int]:
        """The tensors that were seen at the address `pointer`, in order; some may be gone."""
        for identity in self._unplaced:
            other = self._tensor[identity][0]()
            place = 0 if other is None else self._address(other)
            if place and identity not in self._at.setdefault(place, []):
                self._at[place].append(identity)
        self._unplaced.clear()
        return self._at.get(pointer, [])

    def _address(self, tensor: Any) -> int:
        place = self.engine.storage(tensor)
        return place and place + int(tensor.storage_offset() * tensor.element_size())
