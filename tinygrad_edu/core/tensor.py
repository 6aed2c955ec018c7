"""The Tensor, and the graph behind it: a Node for each recorded op, and edges along which gradients flow."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .layers import Declared, DeclaredOfNode, View

__all__ = ["AccumulateGrad", "Node", "Tensor", "bump_version", "gradient_edge", "sequence", "version_of", "wrap"]

Edge = tuple["Node | None", int]
# The order in which nodes are made. Of the nodes that are ready, the engine runs the one made last.
sequence = itertools.count()
new, ndarray = object.__new__, np.ndarray


class Tensor(Declared):
    """An array that autograd can follow. A leaf that `requires_grad` gets a `.grad`; a result has its op as its `grad_fn`."""

    _data: np.ndarray
    _grad_fn: Node | None = None
    _requires_grad: bool = False
    _view: View | None = None  # for a view: what it knows of its base
    # The count of in-place writes, in a list that all tensors on one storage share. None: never written.
    _counter: list[int] | None = None
    output_nr: int = 0  # which output of its `grad_fn` it is
    _grad: Tensor | None = None
    # A weak reference to the AccumulateGrad of a leaf, which lives as long as some graph leads to it; and its class.
    _accumulator: weakref.ref[AccumulateGrad] | None = None
    _ends_in: type[AccumulateGrad]
    # What `engine.py` defines: the method, what does all that it leaves over, and the class of a pass.
    backward: Callable[..., None]
    _backward: Callable[..., None]
    _kind_of_pass: type[Any]

    def __init__(self, data: Any = (), requires_grad: bool = False) -> None:
        self._data, self._requires_grad = np.asarray(data), requires_grad

    @property
    def grad_fn(self) -> Node | None:
        """The node that computed this tensor; None for a leaf."""
        if self._view is not None:
            self._view.follow(self)
        return self._grad_fn

    @property
    def requires_grad(self) -> bool:
        """True if gradients flow to this tensor: a leaf that requires them, or a result computed from one."""
        return self._requires_grad or (self._view is not None and self._view.base._requires_grad)

    @property
    def grad(self) -> Tensor | None:
        """The gradient that has been added up here; None before the first one arrives."""
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        self._grad = value

    def __repr__(self) -> str:
        return f"tensor({self._data})"


def wrap(array: Any, node: Node | None = None) -> Tensor:
    """A Tensor over `array`, which is not copied: the first output of `node`, or a leaf."""
    t = new(Tensor)  # all its attributes are set at once and in order: then they are read faster
    t._data = array if type(array) is ndarray else np.asarray(array)
    t._grad_fn, t._requires_grad = node, node is not None
    t._view = t._counter = None
    t.output_nr = 0
    return t


def version_of(t: Tensor) -> int:
    """The number of in-place writes to the storage of `t` so far."""
    return 0 if t._counter is None else t._counter[0]


def bump_version(t: Tensor) -> None:
    """Count one in-place write to the storage of `t`, so that a node which kept it notices."""
    if t._counter is None:
        t._counter = [0]
    t._counter[0] += 1


class Node(DeclaredOfNode):
    """One recorded op: gradients of its outputs come in, gradients of its inputs go out along `next_functions`."""

    # No `__del__` here or below: CPython frees a long chain of plain instances without recursion.
    # The edges, as two tuples: for each input the node that made it, and which of its outputs it is.
    _next: tuple[Node | None, ...] = ()
    _next_output: tuple[int, ...] = ()
    _seq: int = 0
    # The shape and dtype of each output of the op, hence of each gradient that comes in (None: any dtype).
    _outputs: tuple[tuple[tuple[int, ...], np.dtype | None], ...] = ()
    # None: nothing runs here but the node's own rule. Anything else: the engine leaves the node to `Pass.visit`.
    _around: object = None

    def name(self) -> str:
        """The name PyTorch gives this kind of node, such as `MulBackward0`."""
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[Edge, ...]:
        """For each input of the op: the node that made it and which of its outputs it is; None if it needs no gradient."""
        return tuple(zip(self._next, self._next_output, strict=True))

    def __lt__(self, other: Node) -> bool:
        return False  # the engine's heap asks this about nodes with one sequence number: neither goes first

    def _step(self, grads: list[Any], frees: bool) -> Sequence[Any]:
        """The gradients of the inputs, given those of the outputs, arrays or None; with `frees`, what was kept is freed."""
        raise NotImplementedError


class AccumulateGrad(Node):
    """The end of a path: adds the gradient that arrives to the `.grad` of the leaf it belongs to."""

    _seq = 2**64 - 1  # a leaf is served as soon as it is ready

    def __init__(self, variable: Tensor) -> None:
        self.variable = variable
        self._outputs = ((variable._data.shape, variable._data.dtype),)

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    def accumulate(self, grad: Any, owned: bool) -> None:
        """Add the array `grad` to the leaf's `.grad`. One that is `owned` belongs to nobody else and is kept as it is."""
        leaf, total = self.variable, self.variable._grad
        if grad is None or not leaf._requires_grad:
            return
        if leaf._grad_fn is not None:
            raise RuntimeError(
                "leaf variable has been moved into the graph interior by an op in place. Change a clone() instead."
            )
        expected = (leaf if total is None else total)._data.shape
        if grad.shape != expected:
            a, b = (", ".join(map(str, shape)) for shape in (expected, grad.shape))
            raise RuntimeError(
                f"The size of tensor a ({a}) must match the size of tensor b ({b}): the .data of a leaf was replaced by a tensor of "
                "another shape, and this gradient, or the existing .grad, still has the old one. Set .grad to None and run again."
            )
        if total is None:
            leaf._grad = wrap(grad if owned else np.array(grad, order="C"))
        else:
            # In place: a holder of the old gradient sees the new one, and a graph that saved it will notice.
            np.add(total._data, grad, out=total._data)
            bump_version(total)


Tensor._ends_in = AccumulateGrad


def gradient_edge(t: Tensor) -> Edge:
    """Where the gradient of `t` goes: to its grad_fn and output number, to its AccumulateGrad, or nowhere."""
    node = t.grad_fn if t._view is not None else t._grad_fn
    if node is not None or not t._requires_grad:
        return node, t.output_nr if node is not None else 0
    # The end of a leaf is always the same one while a graph, or somebody, holds it.
    end = t._accumulator() if t._accumulator is not None else None
    if end is None:
        end = t._ends_in(t)
        t._accumulator = weakref.ref(end)
    return end, 0
