"""The graph as PyTorch's `torch.autograd.graph` shows it: nodes and saved-tensor hooks."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn, cast

import numpy as np

from ..array import dtypes
from ..array.absent import answer
from ..array.tensor import Tensor, wrap
from ..core.graph import AccumulateGrad, Node
from ..modes import quiet, thread
from .saved_tensor import SavedTensor as SavedTensor
from .saved_tensor import saved_tensors_hooks as saved_tensors_hooks


class TensorMeta(NamedTuple):
    """The shape and dtype that a gradient must have when it arrives."""

    shape: tuple[int, ...]
    dtype: dtypes.dtype | None


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
