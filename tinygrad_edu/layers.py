"""What the package answers at the points at which the core asks: see `core/layers.py`, which lists them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .array.promotion import sum_to_shape
from .array.tensor import Tensor
from .autograd import engine, forward_ad, saved_names
from .autograd.anomaly_mode import remember_forward
from .autograd.applying import outputs_of
from .autograd.inplace import make_view
from .autograd.saved_tensor import SavedTensor, pack_all
from .autograd.variable import volatile
from .core import layers
from .modes import NOT_COUNTED, REFUSED_IN_GRAPH, thread
from .ops import inplace, operands
from .ops.arrays import in_order
from .ops.op import several
from .ops.tangents import push_tangents
from .overrides import behind_core, dispatch
from .refusals import modified, refuse_misfit

__all__ = ["Around"]


class Around(layers.Layers):
    """PyTorch's dtypes, views, modes and messages around the core."""

    def operands(self, op: Any, values: list[Any], settings: dict[str, Any], are_alike: bool) -> tuple[list[Any], Any]:
        return operands.adapted(op, values, settings, are_alike)

    def refusal(self, op: Any, values: Sequence[Any], error: Exception) -> Exception:
        return operands.cannot_compute(op, values, error)

    def in_order(self, result: np.ndarray, operands: Sequence[Any]) -> np.ndarray:
        return in_order(result, operands)

    def viewed(self, view: Any, source: Any, several: bool) -> None:
        state = thread.state
        # Why a view made now cannot be written to later; None if it can.
        mode = "inference" if state.inference else None if state.grad_enabled else "no_grad"
        make_view(view, source, mode or ("multi-output" if several else None))

    def computed(self, op: Any, inputs: Any, settings: dict[str, Any], outs: Sequence[Any], node: Any) -> None:
        state = thread.state
        if volatile.alive and volatile.reaches(inputs):
            for out in outs:
                out._grad_fn, out.output_nr, out._requires_grad = None, 0, False
                volatile.mark(out)
            return
        if state.inference and not op.view:
            for out in outs:
                out._counter = NOT_COUNTED
        if node is not None:
            if state.saved_hooks:
                pack_all(node)
            if state.anomaly:
                remember_forward(node)
        if forward_ad.any_tangent(inputs):
            push_tangents(op.tangents_by or op, inputs, settings, tuple(outs))

    def several(self, op: Any, inputs: Any, settings: dict[str, Any], result: tuple[Any, ...], wanted: bool) -> Any:
        return several(op, inputs, settings, result, wanted)

    def method(self, name: str, tensor: Any, *args: Any, **settings: Any) -> Any:
        call = behind_core[name]
        if thread.state.modes:
            return dispatch(call, (tensor, *args), settings)
        return call(tensor, *args, **settings)

    def write(self, op: Any, target: Any, others: Sequence[Any], settings: dict[str, Any]) -> Any:
        return inplace.write(op, target, tuple(others), settings)

    def kept(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return SavedTensor(value)
        if type(value) is tuple and any(isinstance(v, Tensor) for v in value):
            return tuple([SavedTensor(v) if isinstance(v, Tensor) else v for v in value])
        return value

    def unpacked(self, value: Any, create_graph: bool) -> Any:
        tensors = saved_names.unpacked(value)
        return tensors if create_graph else _plain(tensors)

    def version(self, t: Any) -> int:
        if t._counter is NOT_COUNTED:
            raise RuntimeError(REFUSED_IN_GRAPH)
        return super().version(t)

    def release(self, node: Any) -> None:
        saved_names.release(node)

    def output(self, node: Any, out: Any) -> Any:
        if node._tangents_of_outputs is not None:
            out._tangent = node._tangents_of_outputs.get(out.output_nr)
        return out

    def attribute(self, node: Any, name: str) -> Any:
        return saved_names.attribute(node, name)

    def attributes(self, node: Any) -> list[str]:
        return saved_names.names_of(node)

    def modified(self, t: Any, node: Any, expected: int) -> str:
        return modified(t, node, expected)

    def clone(self, t: Any) -> Any:
        return t.clone()

    def summed(self, node: Any, gradient: Any, shape: tuple[int, ...]) -> Any:
        refuse_misfit(node, tuple(gradient.shape), shape)
        return gradient.sum_to_size(shape) if isinstance(gradient, Tensor) else sum_to_shape(gradient, shape)

    def cast(self, gradient: Any, dtype: Any) -> Any:
        return gradient._to_numpy_dtype(dtype) if isinstance(gradient, Tensor) else gradient.astype(dtype)

    def backward(
        self, kind: Any, edge_of: Any, root: Any, gradient: Any, retain: Any, create_graph: bool, inputs: Any
    ) -> None:
        given = {"gradient": gradient, "retain_graph": retain, "create_graph": create_graph, "inputs": inputs}
        engine.backward_method(root, **given)

    def gradients(self, ctx: Any, results: Sequence[Any]) -> Sequence[Any]:
        checked: Sequence[Any] = ctx._checked(results)
        return checked

    def outputs(self, ctx: Any, results: Sequence[Any], inputs: Sequence[Any], records: bool) -> Sequence[Any]:
        return outputs_of(ctx, results, inputs, records)


def _plain(value: Any) -> Any:
    """The array of a Tensor, or the number of a 0-d one; also for Tensors in a tuple."""
    if isinstance(value, Tensor):
        return value.value if value.value.ndim else value.value[()]
    return tuple([_plain(v) for v in value]) if type(value) is tuple else value


layers.ask(Around())
