"""A tensor's value, and the graph behind it: a Node for each recorded op, and edges along which gradients flow."""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from .layers import Open

sequence = itertools.count()  # in which nodes are made: of those that are ready, the engine runs the one made last
first_asked = threading.Lock()


class TensorBase:
    """A value that autograd can follow. A leaf that `requires_grad` gets a `.grad`; a result has a `grad_fn`."""

    value: Any  # what NumPy returned: an array, or without dimensions NumPy's number, which is ten times faster
    _grad_fn: Node | None = None
    _requires_grad: bool = False
    _view: Any = None  # a layer's: what a view knows of its base
    _counter: list[int] | None = None  # of in-place writes, shared by all tensors on one storage. None: never written
    output_nr: int = 0  # which output of its `grad_fn` it is
    _grad: Any = None
    _accumulator: weakref.ref[AccumulateGrad] | None = None  # of a leaf, which lives as long as some graph leads to it
    _is_visited = False  # whether a pass leaves it to `visit`
    _retains_grad = False
    grad_fn = property(attrgetter("_grad_fn"))  # the node that computed this tensor; None for a leaf
    requires_grad = property(attrgetter("_requires_grad"))
    grad = property(attrgetter("_grad"), lambda self, value: setattr(self, "_grad", value))  # what has been added up

    @property
    def _data(self) -> Any:
        """The value as an array, into which one can write."""
        if type(self.value) is not np.ndarray:
            with first_asked:  # so that two threads get the same one
                self.value = np.asarray(self.value)
        return self.value

    @_data.setter
    def _data(self, array: Any) -> None:
        self.value = array


_results: type[TensorBase] = TensorBase
PLAIN: set[type] = {float, int}  # what an operator takes as it is


def results_are(kind: type[TensorBase]) -> None:
    """From now on each result is of this class, which has more methods."""
    global _results
    _results = kind
    PLAIN.add(kind)


def wrap(value: Any, node: Node | None = None, counter: list[int] | None = None, output_nr: int = 0) -> Any:
    """A tensor over `value`, which is not copied: an output of `node`, or a leaf."""
    t = object.__new__(_results)  # all its attributes are set at once and in order: then they are read faster
    t.value = value
    t._grad_fn, t._requires_grad = node, node is not None
    t._view, t._counter, t.output_nr = None, counter, output_nr
    return t


def shadow(out: Any, output_nr: int = 0) -> Any:
    """A tensor on the storage of `out`, with its counter and without its node, which would keep itself alive."""
    if out._counter is None:
        out._counter = [0]
    return wrap(out._data, None, out._counter, output_nr)


def version_of(t: Any) -> int:
    """The number of in-place writes to the storage of `t` so far."""
    return 0 if t is None or t._counter is None else t._counter[0]


def bump_version(t: Any) -> None:
    """Count one in-place write to the storage of `t`, so that a node which kept it notices."""
    if t._counter is None:
        t._counter = [0]
    t._counter[0] += 1


class Hooks:
    """The hooks of a node, which `Pass.visit` runs."""

    __slots__ = ("post", "pre", "retaining", "tensors")

    def __init__(self) -> None:
        self.retaining: dict[int, weakref.ref[Any]] = {}  # by output: the tensors that asked for `retain_grad`
        self.tensors: dict[int, dict[int, Any]] = {}  # a layer's: hooks of tensors by output, and of the node
        self.pre: dict[int, Any] = {}
        self.post: dict[int, Any] = {}


class Node(Open):
    """One recorded op: gradients of its outputs come in, gradients of its inputs go out along `next_functions`."""

    _next: tuple[Node | None, ...] = ()  # the edges: for each input the node that made it,
    _next_output: tuple[int, ...] = ()  # and which of its outputs it is
    _outputs: tuple[Any, ...] = ()  # shape and dtype of each gradient that comes in; None: any dtype
    _seq: int = 0
    _visited, _is_quiet = False, True  # a pass leaves it to `visit`; NumPy's warnings are off while it runs
    _hooks: Hooks | None = None
    _name = ""  # the name PyTorch gives this kind of node, such as `MulBackward0`, where it is not that of the class

    def name(self) -> str:
        return self._name or type(self).__name__

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """For each input of the op: the node that made it, and as which output; None if it needs no gradient."""
        return tuple(zip(self._next, self._next_output, strict=True))

    def _step(
        self, grads: list[Any], frees: bool = False, create_graph: bool = False, wanted: Sequence[bool] | None = None
    ) -> Sequence[Any]:
        """The inputs' gradients, from those of the outputs; None where there is none. Values, or recorded Tensors.
        wanted: for each edge, whether this pass needs its gradient. frees: what the node keeps is not needed again."""
        raise NotImplementedError(self.name())

    def _release(self) -> None:
        """Free what the node keeps: it has run, and will not run again."""

    def _surround(self) -> Hooks:
        """The hooks of this node, for a layer to add to."""
        if self._hooks is None:
            self._hooks, self._visited = Hooks(), True
        return self._hooks

    def __lt__(self, other: Node) -> bool:
        return False  # the engine's heap asks this about nodes with one sequence number: neither goes first


class AccumulateGrad(Node):
    """The end of a path: adds the gradient that arrives to the `.grad` of the leaf it belongs to."""

    _name, _seq = "torch::autograd::AccumulateGrad", 2**64 - 1  # a leaf is served as soon as it is ready

    def __init__(self, variable: TensorBase) -> None:
        self.variable, self._outputs = variable, ((variable.value.shape, variable.value.dtype),)
        self._next, self._visited = (), variable._is_visited

    def _step(
        self, grads: list[Any], frees: bool = False, create_graph: bool = False, wanted: Any = None
    ) -> Sequence[Any]:
        """Add the gradient to the leaf's `.grad`. With `frees`, an array is nobody else's, and is kept as it is."""
        leaf, total, grad = self.variable, self.variable._grad, grads[0]
        if grad is None or not leaf._requires_grad:
            return ()
        like = (leaf if total is None else total).value.shape
        if leaf._grad_fn is not None or grad.shape != like:
            a, b = (str(shape).strip("(,)") for shape in (like, grad.shape))
            raise RuntimeError(f"The size of tensor a ({a}) must match the size of tensor b ({b}), and a leaf stay one")
        if create_graph:
            leaf._grad = grad if total is None else total + grad
        elif total is None:
            leaf._grad = wrap(grad if frees or type(grad) is not np.ndarray else np.array(grad, order="C"))
        else:  # in place: a holder of the old gradient sees the new one, and a graph that saved it will notice
            np.add(total._data, grad, out=total._data)
            bump_version(total)
        return ()


def gradient_edge(t: Any) -> tuple[Node | None, int]:
    """Where the gradient of an input goes: to its grad_fn and output number, to its AccumulateGrad, or nowhere."""
    if not isinstance(t, TensorBase):
        return None, 0
    node = t._grad_fn if t._view is None else t.grad_fn
    if node is not None or not t._requires_grad:
        return node, t.output_nr if node is not None else 0
    end = t._accumulator() if t._accumulator is not None else None
    if end is None:  # else it is the one that some graph, or somebody, holds
        end = AccumulateGrad(t)
        t._accumulator = weakref.ref(end)
    return end, 0
