"""The graph as PyTorch's `torch.autograd.graph` shows it: nodes, edges, saved-tensor hooks."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn, cast

import numpy as np

from ..array import dtypes
from ..array.absent import answer
from ..array.tensor import Tensor, wrap
from ..core.graph import AccumulateGrad, Node, gradient_edge
from ..modes import quiet, thread
from .saved_tensor import SavedTensor as SavedTensor
from .saved_tensor import saved_tensors_hooks as saved_tensors_hooks


class TensorMeta(NamedTuple):
    """The shape and dtype that a gradient must have when it arrives."""

    shape: tuple[int, ...]
    dtype: dtypes.dtype | None


class GradientEdge(NamedTuple):
    """An edge of the graph: a node and the number of one of its outputs. Stands for a tensor in `grad` and `backward`.

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
            "Expected gradient function to be set: this view was made under no_grad of a tensor that requires grad, so "
            "no graph leads to it."
        )
    return GradientEdge(node, output_nr)


def _call(self: Node, *grads: Tensor) -> Any:
    """Run only this node on gradients of its outputs; the graph behind it is not touched."""
    if len(grads) != len(self._outputs):
        raise TypeError(
            f"expected {len(self._outputs)} arguments, got {len(grads)} instead: {self.name()} takes one gradient for "
            "each output."
        )
    if thread.state.grad_enabled and not isinstance(self, AccumulateGrad):
        tensors = tuple(self._step(list(grads), False, True))
    else:
        values = [g.value if isinstance(g, Tensor) else g for g in grads]
        results = quiet(self._step, values) if self._is_quiet else self._step(values)
        tensors = tuple(None if g is None else wrap(np.asarray(g)) for g in results)
    return tensors[0] if len(tensors) == 1 else tensors


class _Face(Node):
    """What a node shows of itself. The methods are copied to `Node` below."""

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict for anything that the user wants to keep with this node."""
        node: Any = self
        if node._metadata is None:
            node._metadata = {}
        return cast("dict[Any, Any]", node._metadata)

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

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"


for _name in ("metadata", "requires_grad", "_input_metadata", "_sequence_nr", "__repr__"):
    setattr(Node, _name, vars(_Face)[_name])
Node.__call__ = _call  # type: ignore[method-assign]


def save_on_cpu(*args: Any, **kwargs: Any) -> NoReturn:
    """Refused: it moves what is saved from a GPU to the CPU, and here everything is on the CPU already."""
    raise NotImplementedError("save_on_cpu is not built: tinygrad_edu computes only on the CPU. Leave it out.")


__getattr__ = answer(__name__)
