"""Where layers around the core come in.

`Layers` are the points at which the core asks them, `Declared` what an op says for them alone, `State` the modes of a
thread, which they extend. What a point answers in the core alone is written here.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

Open: Any = object  # the type checker lets layers give more attributes to what extends it


class Kept(NamedTuple):
    """A tensor that a Function's node keeps, and the version it has."""

    tensor: Any
    version: int


class Layers:
    """The points at which the core asks the object around it. The core's own answers hold until a layer calls `ask`."""

    def operands(self, op: Any, values: list[Any], settings: dict[str, Any], are_alike: bool) -> tuple[list[Any], Any]:
        """What `forward` computes on, where the inputs are not all floats of one type, or there are settings."""
        return values, settings

    def refusal(self, op: Any, values: Sequence[Any], error: Exception) -> Exception:
        """The error to raise where NumPy cannot compute."""
        return error

    def in_order(self, result: np.ndarray, operands: Sequence[Any]) -> np.ndarray:
        """A matrix that an elementwise op computed, as PyTorch lays it out in memory. NumPy does nearly the same."""
        return result

    def viewed(self, view: Any, source: Any, several: bool) -> None:
        """An op made a view: it shares the memory of `source`, and so its version."""
        source._counter = view._counter = source._counter or [0]

    def computed(self, op: Any, inputs: Any, settings: dict[str, Any], outs: Sequence[Any], node: Any) -> None:
        """An op ran, and a mode of a layer is on."""

    def several(self, op: Any, inputs: Any, settings: dict[str, Any], result: tuple[Any, ...], wanted: bool) -> Any:
        """The outputs of an op that has several."""
        raise NotImplementedError(f"{op._name} has several outputs, which a layer knows")

    def method(self, name: str, tensor: Any, *args: Any, **settings: Any) -> Any:
        """A method of Tensor got more than the core's own form takes, or a mode of a layer is on."""
        other = args[0] if args else None
        if name == "__getitem__":
            raise IndexError(f"the core indexes by integers within bounds and by slices, not by {other!r}")
        if isinstance(other, np.ndarray | np.generic):
            return getattr(tensor, name)(type(tensor)(other))
        if name.startswith("__") and args:
            return NotImplemented
        raise NotImplementedError(f"{name}({other or settings or ''}) of a tensor of {tensor.dtype} is a layer's")

    def write(self, op: Any, target: Any, others: Sequence[Any], settings: dict[str, Any]) -> Any:
        """An op in place. The core alone writes what is not recorded: a layer also rewrites history."""
        if thread.state.recording and any(getattr(x, "requires_grad", False) for x in (target, *others)):
            raise RuntimeError("a Variable that requires grad is used in an in-place operation: write under no_grad()")
        target._data[...] = op.forward(*[getattr(x, "value", x) for x in (target, *others)], **settings)
        target._counter = target._counter or [0]
        target._counter[0] += 1
        return target

    def kept(self, value: Any) -> Any:
        """What a node keeps in place of a Function's tensor, or of a setting that may hold tensors, such as a mask."""
        return Kept(value, (value._counter or [0])[0])

    def unpacked(self, value: Any, create_graph: bool) -> Any:
        """What a rule gets of what `kept` returned, or of a tensor that saved-tensor hooks have packed."""
        if isinstance(value, Kept) and (value.tensor._counter or [0])[0] != value.version:
            raise RuntimeError(self.modified(value.tensor, None, value.version))
        return value.tensor if isinstance(value, Kept) else value

    def attribute(self, node: Any, name: str) -> Any:
        """What a node shows besides the core's own attributes, such as `_saved_self`."""
        raise AttributeError(f"{node.name()!r} object has no attribute {name!r}")

    def attributes(self, node: Any) -> list[str]:
        """The names of those attributes."""
        return []

    def modified(self, t: Any, node: Any, expected: int) -> str:
        """What to say of a saved tensor that was written to."""
        return "one of the variables needed for gradient computation has been modified by an inplace operation"

    def version(self, t: Any) -> int:
        """The version at which a node keeps a tensor that was written to."""
        return t._counter[0] if t._counter is not None else 0

    def release(self, node: Any) -> None:
        """Free what a node keeps that is a tensor, and leave its settings, or what hooks have packed."""
        node._saved, node._versions = (), None

    def output(self, node: Any, out: Any) -> Any:
        """An output that a node kept, as it comes back to a rule that is recorded."""
        return out

    def clone(self, t: Any) -> Any:
        """A copy of a Tensor, in its graph."""
        return t * 1

    def summed(self, node: Any, gradient: Any, shape: tuple[int, ...]) -> Any:
        """The gradient of an operand that was broadcast, summed to its `shape`. It may be a Tensor."""
        sizes = gradient.shape[len(gradient.shape) - len(shape) :]
        if any(n not in (1, m) for n, m in zip(shape, sizes, strict=True)):
            raise RuntimeError(f"{node.name()} returned an invalid gradient: {gradient.shape} does not fit {shape}")
        if not isinstance(gradient, np.ndarray | np.generic):
            return gradient.sum_to_size(shape)
        gradient = gradient.sum(axis=tuple(range(gradient.ndim - len(shape))))
        return gradient.sum(axis=tuple([i for i, size in enumerate(shape) if size == 1]), keepdims=True)

    def cast(self, gradient: Any, dtype: Any) -> Any:
        """A gradient in the type of its tensor. It may be a Tensor."""
        return gradient.astype(dtype)

    def backward(
        self, kind: Any, edge_of: Any, root: Any, gradient: Any, retain: Any, create_graph: bool, inputs: Any
    ) -> None:
        """`backward` where more is asked for than the gradient of a scalar."""
        edge = edge_of(root)
        if edge[0] is None or inputs is not None:
            raise RuntimeError(
                "element 0 of tensors does not require grad, or `inputs` were given, which a layer knows"
            )
        if gradient is None and root.value.size != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs: pass the gradient")
        start = gradient if gradient is not None else type(root)(np.ones_like(root.value))
        task = kind((edge[0],), (edge[1],), create_graph if retain is None else retain)
        task.create_graph = task.visits_all = create_graph
        task.run((start if create_graph else start.value,))

    def gradients(self, ctx: Any, results: Sequence[Any]) -> Sequence[Any]:
        """What the `backward` of a Function returned, one for each tensor among the arguments of `forward`."""
        return [grad for grad, edge in zip(results, ctx._edge_of_argument, strict=True) if edge is not None]

    def outputs(self, ctx: Any, results: Sequence[Any], inputs: Sequence[Any], records: bool) -> Sequence[Any]:
        """The outputs of a Function, with `ctx` as their history. A layer also knows what was written to, and views."""
        ctx._outputs = tuple([(out.value.shape, out.value.dtype) for out in results])
        ctx._saved = tuple([None if t is None else self.kept(t) for t in ctx.to_save or ()])
        if records:
            results = [type(out)(out.value) for out in results]
        for number, out in enumerate(results if records else ()):
            out._grad_fn, out.output_nr, out._requires_grad = ctx, number, True
        return results


around = Layers()


def elsewhere(name: str, tensor: Any, *args: Any, **settings: Any) -> Any:
    """`Layers.method` of the layers around."""
    return around.method(name, tensor, *args, **settings)


def ask(layers: Layers) -> None:
    """From now on the core asks these."""
    global around
    around = layers


class Elementwise(NamedTuple):
    """How the result of an elementwise op lies in memory; the op's rule maps tangents, too."""

    forward: int = 1  # memory order of the first operand, then of the others (1); of the last (-1); row by row (0)
    # Memory order of a gradient: that of grad, then of the saved values; "grad last": these first; "": row by row.
    backward: str = "grad first"


elementwise, by_mask, row_by_row = Elementwise(), Elementwise(backward="grad last"), Elementwise(0, "")
linear = "linear"  # maps tangents as it maps values


class Declared:
    """What an op says of itself for layers alone."""

    promotes = mixes = makes_float = False  # operands of several dtypes: to one, or as they are; integers: to floats
    refuses = ("", "")  # PyTorch's kernel, and the kinds of operands for which it is not implemented
    non_differentiable: tuple[int, ...] = ()  # outputs without a gradient, such as indices
    without_gradient: tuple[str, ...] = ()  # settings that may be tensors, or tuples of these: masks, indices
    apart = idempotent = False  # in place: no operand may show what is written; one value is written everywhere
    jvp: Any = None  # forward mode: elementwise, linear, or a function of the tangents and of what it names after them
    lies: Elementwise | None = None  # of an elementwise op that has a `jvp` of its own
    counts: str | None = None  # a setting that counts as an operand, where these are brought to one dtype
    tangents_by: Any = None  # the op whose `jvp` is used in place of this one's


class State:
    """The modes of a thread. `unusual`: some mode of a layer is on. `task`: the pass that runs."""

    recording, unusual = True, False
    task: Any = None
    _grad_enabled = True

    @property
    def grad_enabled(self) -> bool:
        """Whether ops are recorded, as far as `no_grad` says it."""
        return self._grad_enabled

    @grad_enabled.setter
    def grad_enabled(self, on: bool) -> None:
        self._grad_enabled = on
        self.follow()

    def follow(self) -> None:
        """Set what follows from the modes."""
        self.recording = self._grad_enabled

    def __init__(self) -> None:
        # Entering a context in which NumPy's warnings are off is quicker than `np.errstate`. And whether it is entered.
        context = contextvars.Context()
        context.run(np.seterr, all="ignore")
        self.running, self.is_quiet = context.run, False

    def quietly(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """The result of `function`, without NumPy's warnings: NaN and infinity flow silently, as in PyTorch."""
        if self.is_quiet:
            return function(*args, **kwargs)
        self.is_quiet = True
        try:
            return self.running(function, *args, **kwargs)
        finally:
            self.is_quiet = False


class Thread(threading.local):
    """The thread that runs. Each starts with a `state` of this `kind`, whatever the one that started it had set."""

    kind: type[State] = State

    def __init__(self) -> None:
        self.state = self.kind()


thread = Thread()


class GradMode:
    """Inside `with`, ops are recorded, or not."""

    mode: bool

    def __enter__(self) -> None:
        self.previous, thread.state.grad_enabled = thread.state.grad_enabled, self.mode

    def __exit__(self, *exception: object) -> None:
        thread.state.grad_enabled = self.previous


class no_grad(GradMode):
    """`with no_grad():` ops inside are computed and not recorded."""

    mode = False
