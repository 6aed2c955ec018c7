"""The graph as PyTorch's `torch.autograd.graph` shows it: nodes, edges, saved-tensor hooks, hooks on several tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..array import dtypes
from ..core.tensor import AccumulateGrad, Node, Tensor, gradient_edge, wrap
from ..modes import thread
from ..seam.later import later, names_of
from .hooks import RemovableHandle
from .saved_tensor import SavedTensor, saved_tensors_hooks

__all__ = [
    "AccumulateGrad", "GradientEdge", "Node", "RemovableHandle", "SavedTensor", "get_gradient_edge", "saved_tensors_hooks",
    *names_of("autograd.graph"),
]  # fmt: skip


class TensorMeta(NamedTuple):
    """The shape and dtype that a gradient must have when it arrives."""

    shape: tuple[int, ...]
    dtype: dtypes.dtype | None


class GradientEdge(NamedTuple):
    """An edge of the graph: a node and the number of one of its outputs. Stands for a tensor in `grad` and `backward`.

    >>> import tinygrad_edu as T
    >>> y = T.tensor(3.0, requires_grad=True) ** 2
    >>> edge = T.autograd.graph.get_gradient_edge(y)
    >>> edge.node.name(), edge.output_nr
    ('PowBackward0', 0)
    """

    node: Node
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge along which the gradient of `tensor` flows; usable in `autograd.grad` after the tensor itself is gone.

    >>> import tinygrad_edu as T
    >>> w = T.tensor(3.0, requires_grad=True)
    >>> T.autograd.graph.get_gradient_edge(w * w).node.name()
    'MulBackward0'
    """
    if not tensor.requires_grad:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require gradients. Set "
            "requires_grad=True on it, or on one of the tensors it is computed from."
        )
    node, output_nr = gradient_edge(tensor)
    if node is None:
        raise AssertionError(
            "Expected gradient function to be set: this view was made under no_grad of a tensor that requires grad, so no "
            "graph leads to it."
        )
    return GradientEdge(node, output_nr)


def _call(self: Node, *grads: Tensor) -> Any:
    """Run only this node on gradients of its outputs; the graph behind it is not touched."""
    if len(grads) != len(self._outputs):
        raise TypeError(
            f"expected {len(self._outputs)} arguments, got {len(grads)} instead: {self.name()} takes one gradient for "
            "each output."
        )
    if thread.state.grad_enabled:
        tensors = tuple(self._run(list(grads), True))
    else:
        results = self._run([g._data if isinstance(g, Tensor) else g for g in grads], False)
        tensors = tuple(None if g is None else wrap(np.asarray(g)) for g in results)
    return tensors[0] if len(tensors) == 1 else tensors


class _Face(Node):
    """What a node shows of itself. The methods are copied to `Node` below."""

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict for anything that the user wants to keep with this node."""
        if self._metadata is None:
            self._metadata = {}
        return self._metadata

    @property
    def requires_grad(self) -> bool:
        """Always True: a tensor that needs no gradient has no node."""
        return True

    @property
    def _input_metadata(self) -> tuple[TensorMeta, ...]:
        return tuple(
            TensorMeta(shape, None if dtype is None or dtype.kind == "O" else dtypes.from_numpy_dtype(dtype))
            for shape, dtype in self._outputs
        )

    def _sequence_nr(self) -> int:
        """The order in which this node was made."""
        return self._seq

    def _set_sequence_nr(self, sequence_nr: int) -> None:
        self._seq = sequence_nr

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"


def _run_leaf(self: AccumulateGrad, grads: list[Any], create_graph: bool, wanted: Any = None) -> Sequence[Any]:
    return self._step([grads[0]._data if create_graph and grads[0] is not None else grads[0]], False)


AccumulateGrad._run = _run_leaf  # type: ignore[method-assign]
for _name in ("metadata", "requires_grad", "_input_metadata", "_sequence_nr", "_set_sequence_nr", "__repr__"):
    setattr(Node, _name, vars(_Face)[_name])
Node.__call__ = _call  # type: ignore[method-assign]


__getattr__ = later(__name__, "It is not built here: run the program on PyTorch.")
