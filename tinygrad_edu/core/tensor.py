"""The Tensor: an array, and what autograd keeps beside it.

This is the lowest layer. The layers above give Tensor its methods: `array/tensor.py` those of an array,
`autograd` the hooks and `backward`, `ops` the operators and the mathematics.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..array.refusals import REFUSED_IN_GRAPH

if TYPE_CHECKING:
    from ..declared import Declared
    from .node import Node
else:
    Declared = object

__all__ = ["NOT_COUNTED", "Tensor", "View", "bind", "tensor_method", "wrap"]


class Tensor(Declared):
    """An n-dimensional array that autograd can follow. Make one with `tensor`, `zeros`, `ones`, `rand`, …"""

    # These six are set on each tensor as it is made, in this order: an attribute of the instance is read faster.
    _value: Any  # the array; or the number that an op on 0-d tensors gave, until somebody asks for `_data`
    _grad_fn: Node | None = None
    # True for leaves that require a gradient and for every result that was recorded.
    _requires_grad: bool = False
    # For a view: what it knows of the tensor whose storage it shows.
    _view: View | None = None
    # The count of in-place writes, in a list that all tensors on the storage share. None: never written, no views.
    _counter: list[int] | None = None
    output_nr: int = 0

    # What differs from these defaults is set when somebody asks for it.
    _grad: Tensor | None = None
    # A weak reference to the AccumulateGrad of a leaf: it lives as long as some graph leads to it.
    _accumulator: Any = None
    # Hooks of a leaf; those of an intermediate result live on its node, as in PyTorch.
    _hooks: dict[int, Any] | None = None
    _post_accumulate_hooks: dict[int, Any] | None = None
    _retains_grad: bool = False
    # What `grad_dtype` was set to; `...`: nothing, so that gradients have the dtype of the tensor.
    _grad_dtype: Any = ...
    # The tangent of forward-mode differentiation, and the level it belongs to.
    _tangent: Any = None
    name: str | None = None

    # The historical flag, see autograd/variable.py. It is copied and pickled along, so it is no annotated attribute.
    _volatile = False

    @property
    def _data(self) -> np.ndarray:
        """The array. A number becomes one here, for good. Only the core reads `_value`, which may be a number."""
        if type(self._value) is not np.ndarray:
            with first_asked:
                self._value = np.asarray(self._value)
        return self._value

    @_data.setter
    def _data(self, array: np.ndarray) -> None:
        self._value = array

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

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._requires_grad = value  # `array/tensor.py` asks first whether that can be

    @property
    def is_leaf(self) -> bool:
        """True if no recorded op computed this tensor: it requires no grad, or its gradient accumulates in `.grad`."""
        return self.grad_fn is None


class View:
    """What a view knows of the tensor whose storage it shows; `autograd/inplace.py` says what follows for its history."""

    __slots__ = ("base", "creation", "version")

    base: Tensor
    creation: str | None
    version: int

    def follow(self, view: Tensor) -> None:
        """Bring the history of `view` up to date if its storage was written to."""


class _NotCounted(list):
    """The counter of an inference tensor, which counts nothing: a node that wants to keep such a tensor is refused here."""

    def __getitem__(self, index: Any) -> Any:
        raise RuntimeError(REFUSED_IN_GRAPH)


NOT_COUNTED = _NotCounted()

# So that two threads that ask for the array of a number at the same time get the same one.
first_asked = threading.RLock()
new = object.__new__


def wrap(value: Any, node: Node | None = None) -> Tensor:
    """A Tensor over an array, which is not copied, or over a number: the first output of `node`, or a leaf."""
    t = new(Tensor)
    t._value = value
    t._grad_fn = node
    t._requires_grad = node is not None
    t._view = t._counter = None
    t.output_nr = 0
    return t


def bind(name: str, attribute: Any) -> None:
    """Make `attribute` (a function, a property) part of Tensor under `name`: how the layers above extend it."""
    setattr(Tensor, name, attribute)


def tensor_method(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make `function` a method of Tensor under its own name."""
    bind(function.__name__, function)
    return function
