"""The Tensor, and the graph behind it: a Node for each recorded op, and edges along which gradients flow."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from .layers import Open

form_of: Callable[[Any], tuple[tuple[int, ...], Any]] = attrgetter("_data.shape", "_data.dtype")
sequence = itertools.count()  # in which nodes are made: of those that are ready, the engine runs the one made last


class Tensor:
    """An array that autograd can follow. A leaf that `requires_grad` gets a `.grad`; a result has its op as its `grad_fn`."""

    _data: np.ndarray
    _grad_fn: Node | None = None
    _requires_grad: bool = False
    _view: Any = None  # a layer's: what a view knows of its base
    _counter: list[int] | None = None  # of in-place writes, shared by all tensors on one storage. None: never written
    output_nr: int = 0  # which output of its `grad_fn` it is
    _grad: Any = None
    _accumulator: weakref.ref[AccumulateGrad] | None = None  # of a leaf, which lives as long as some graph leads to it
    _ends_in: type[AccumulateGrad] | None = None  # a layer's own kind of it
    grad_fn = property(attrgetter("_grad_fn"))  # the node that computed this tensor; None for a leaf
    requires_grad = property(attrgetter("_requires_grad"))
    grad = property(attrgetter("_grad"), lambda self, value: setattr(self, "_grad", value))  # what has been added up

    def __init__(self, data: Any = (), requires_grad: bool = False) -> None:
        self._data, self._requires_grad = np.asarray(data), requires_grad


_results = Tensor


def results_are(kind: type[Tensor]) -> None:
    """From now on each result is of this class: a layer's own, which has more methods."""
    global _results
    _results = kind


def wrap(array: Any, node: Node | None = None, counter: list[int] | None = None, output_nr: int = 0) -> Tensor:
    """A Tensor over `array`, which is not copied: an output of `node`, or a leaf."""
    t = object.__new__(_results)  # all its attributes are set at once and in order: then they are read faster
    t._data = array if type(array) is np.ndarray else np.asarray(array)
    t._grad_fn, t._requires_grad = node, node is not None
    t._view, t._counter, t.output_nr = None, counter, output_nr
    return t


def shadow(out: Tensor, output_nr: int = 0) -> Tensor:
    """A tensor on the storage of `out`, with its counter and without its node, which would keep itself alive."""
    out._counter = [0] if out._counter is None else out._counter
    return wrap(out._data, None, out._counter, output_nr)


def version_of(t: Tensor | None) -> int:
    """The number of in-place writes to the storage of `t` so far."""
    return 0 if t is None or t._counter is None else t._counter[0]


def bump_version(t: Tensor) -> None:
    """Count one in-place write to the storage of `t`, so that a node which kept it notices."""
    t._counter = [0] if t._counter is None else t._counter
    t._counter[0] += 1


class Node(Open):
    """One recorded op: gradients of its outputs come in, gradients of its inputs go out along `next_functions`."""

    _next: tuple[Node | None, ...] = ()  # the edges: for each input the node that made it,
    _next_output: tuple[int, ...] = ()  # and which of its outputs it is
    _outputs: tuple[Any, ...] = ()  # shape and dtype of each gradient that comes in; None: any dtype
    _seq: int = 0
    _around: object = None  # what a layer runs around the node's own rule: the engine leaves it to `Pass.visit`
    _step: Callable[..., Sequence[Any]]  # from the gradients of the outputs, arrays or None, to those of the inputs

    _name = ""  # the name PyTorch gives this kind of node, such as `MulBackward0`, where it is not that of the class

    def name(self) -> str:
        return self._name or type(self).__name__

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """For each input of the op: the node that made it and which of its outputs it is; None if it needs no gradient."""
        return tuple(zip(self._next, self._next_output, strict=True))

    def __lt__(self, other: Node) -> bool:
        return False  # the engine's heap asks this about nodes with one sequence number: neither goes first


class AccumulateGrad(Node):
    """The end of a path: adds the gradient that arrives to the `.grad` of the leaf it belongs to."""

    _name, _seq = "torch::autograd::AccumulateGrad", 2**64 - 1  # a leaf is served as soon as it is ready

    def __init__(self, variable: Tensor) -> None:
        self.variable, self._outputs = variable, (form_of(variable),)

    def _step(self, grads: list[Any], frees: bool, owned: bool = False) -> Sequence[Any]:
        """Add the gradient to the leaf's `.grad`. An array that is `owned` belongs to nobody else and is kept as it is."""
        leaf, total, grad = self.variable, self.variable._grad, grads[0]
        if grad is None or not leaf._requires_grad:
            return ()
        like = (leaf if total is None else total)._data.shape
        if leaf._grad_fn is not None or grad.shape != like:
            a, b = (str(shape).strip("(,)") for shape in (like, grad.shape))
            raise RuntimeError(f"The size of tensor a ({a}) must match the size of tensor b ({b}), and a leaf stay one")
        if total is None:
            leaf._grad = wrap(grad if owned else np.array(grad, order="C"))
        else:  # in place: a holder of the old gradient sees the new one, and a graph that saved it will notice
            np.add(total._data, grad, out=total._data)
            bump_version(total)
        return ()


def gradient_edge(t: Any) -> tuple[Node | None, int]:
    """Where the gradient of an input goes: to its grad_fn and output number, to its AccumulateGrad, or nowhere."""
    if not isinstance(t, Tensor):
        return None, 0
    node = t._grad_fn if t._view is None else t.grad_fn
    if node is not None or not t._requires_grad:
        return node, t.output_nr if node is not None else 0
    end = t._accumulator() if t._accumulator is not None else None
    if end is None:  # else it is the one that some graph, or somebody, holds
        end = (t._ends_in or AccumulateGrad)(t)
        t._accumulator = weakref.ref(end)
    return end, 0
