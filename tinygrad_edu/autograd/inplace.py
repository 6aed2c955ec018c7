"""What an in-place write does to the history of a tensor, of its base, and of the other views of the base."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..array.memory import is_dense, overlaps_itself, owner, positions, steps
from ..array.tensor import Tensor
from ..core.graph import Node, gradient_edge, sequence
from ..core.op import BACKWARD_TWICE
from ..modes import NOT_COUNTED, thread
from .hooks import around

__all__ = ["CopySlices", "ViewInfo", "check_inplace", "make_view", "rebase_history", "view_index"]


class ViewInfo:
    """What a view knows of the tensor whose storage it shows.

    `version` is the version of the storage at which the view's own `grad_fn` was made: when the storage has been
    written to since, the history has to be read from the base again. `creation` tells why an in-place write through
    this view may be impossible: None where it is possible, else "multi-output", "no_grad", "custom" or "inference".
    """

    __slots__ = ("base", "creation", "version")

    def __init__(self, base: Tensor, creation: str | None, version: int) -> None:
        self.base = base
        self.creation = creation
        self.version = version

    def follow(self, view: Tensor) -> None:
        if view._counter is not None and view._counter[0] != self.version:
            regenerate_history(view)


def make_view(out: Tensor, source: Tensor, creation: str | None = None) -> None:
    """Let `out`, which shows the storage of `source`, share its version counter and know its base."""
    if source._counter is NOT_COUNTED:
        # Neither versions nor history: there is nothing to share.
        out._counter = NOT_COUNTED
        return
    if source._counter is None:
        source._counter = [0]
    out._counter = source._counter
    if source._view is not None:
        base, creation = source._view.base, creation or source._view.creation
    else:
        base = source
    out._view = ViewInfo(base, creation, out._counter[0])


def view_index(base: np.ndarray, view: np.ndarray) -> np.ndarray:
    """For each element of `view`, the position in `base` (in row-major order) that it shows."""
    if view.size and owner(view) is not owner(base):
        raise NotImplementedError("a view, or its base, was given other memory by .data or set_: copy it first")
    shown = positions(view) + (view.ctypes.data - base.ctypes.data) // base.itemsize
    if base.flags.c_contiguous:
        return shown
    of_base = positions(base)
    index = np.zeros(of_base.max(initial=0) + 1, np.int64)
    index[of_base.reshape(-1)] = np.arange(base.size)
    return index[shown]


_AMBIGUOUS = (
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both "
    "the view and the inplace either both inside the {} block (if you don't want the inplace to be tracked) or both "
    "outside (if you want the inplace to be tracked)."
)
_WHY_FORBIDDEN = {
    "no_grad": _AMBIGUOUS.format("no_grad"),
    "inference": _AMBIGUOUS.format("inference_mode"),
    "multi-output": (
        "This view is the output of a function that returns multiple views. Such functions do not allow the output "
        "views to be modified inplace. You should replace the inplace operation by an out-of-place one."
    ),
    "custom": (
        "This view was created inside a custom Function (or because an input was returned as-is) and the autograd "
        "logic to handle view+inplace would override the custom backward associated with the custom Function, leading "
        "to incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of the custom "
        "Function."
    ),
}


def _refuse_forbidden_view(t: Tensor, view: ViewInfo, indirect: bool) -> None:
    """Raise if the history of this view cannot be rewritten; `indirect`: because its base was written to."""
    if view.creation is None:
        return
    written = "its base or another view of its base has been" if indirect else "is being"
    if view.creation in ("no_grad", "inference") or t._grad_fn is None:
        mode = "inference" if view.creation == "inference" else "no_grad"
        under = "in normal mode" if view.creation == "inference" else "with grad mode enabled"
        which = (
            "A view was" if t._grad_fn is None else f"Output {t.output_nr} of {_kind(t)} is a view of a view which was"
        )
        what = f"{which} created in {mode} mode and {written} modified inplace {under}."
    else:
        what = f"Output {t.output_nr} of {_kind(t)} is a view and {written} modified inplace."
    raise RuntimeError(f"{what} {_WHY_FORBIDDEN[view.creation]}")


def _kind(t: Tensor) -> str:
    assert t._grad_fn is not None
    return t._grad_fn.name().rstrip("0123456789").removesuffix("Backward")


def regenerate_history(self: Tensor) -> None:
    """The storage of this view was written to: its history is now the base's, seen through the view."""
    view = self._view
    assert view is not None and self._counter is not None
    if self._grad_fn is not None or view.base.requires_grad:
        _refuse_forbidden_view(self, view, indirect=True)
        before = self._grad_fn, self.output_nr
        self._grad_fn, self.output_nr, self._requires_grad = view.base._as_strided_node(self), 0, True
        _move_retained(self, *before)
    view.version = self._counter[0]


def check_inplace(t: Tensor, record: bool) -> None:
    """Refuse an in-place write that would lose history, make a wrong gradient, or change an inference tensor.

    Such a tensor may be written in its mode. Where the write is recorded, `t` may be no leaf that requires grad, no
    view of one, and no view that cannot follow.
    """
    view = t._view
    if record and view is not None:
        _refuse_forbidden_view(t, view, indirect=False)
        if t.requires_grad and view.base._grad_fn is None:
            raise RuntimeError(
                "a view of a leaf Variable that requires grad is being used in an in-place operation. Change a clone() "
                "of it. Or work under no_grad, as an optimizer does, if the change should not be differentiated."
            )
    if record and t.requires_grad and t._grad_fn is None:
        raise RuntimeError(
            "a leaf Variable that requires grad is being used in an in-place operation. Its old value would be lost: "
            "change a clone() of it. Or work under no_grad, as an optimizer does, if the change should not be "
            "differentiated."
        )
    if t._counter is NOT_COUNTED and not thread.state.inference:
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get a "
            "normal tensor before doing inplace update."
        )


def refuse_shared_memory(t: Tensor, others: Sequence[Any], apart: bool = False) -> None:
    """Refuse a write to elements that share one memory location, as after `expand`, or that another operand reads.

    An operand may be what is written itself, except where the op needs both `apart`.
    """
    a = t._data
    if not a.flags.c_contiguous and overlaps_itself(a):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation."
        )
    for other in others:
        if isinstance(other, Tensor) and (b := other._data) is not None and owner(b) is owner(a):
            same = a.ctypes.data == b.ctypes.data and a.shape == b.shape and steps(a) == steps(b)
            overlap = is_dense(a) and is_dense(b) and np.may_share_memory(a, b)
            if (apart and other is t) or (overlap and (apart or not same)):
                raise RuntimeError(
                    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
                    "single memory location. Please clone() the tensor before performing the operation."
                )


def rebase_history(t: Tensor, node: Node, output_nr: int = 0) -> None:
    """`node` has written to `t` in place: it becomes the history of `t`, and of the base if `t` is a view."""
    view = t._view
    if view is None or view.creation is not None:
        before = t._grad_fn, t.output_nr
        t._grad_fn, t.output_nr, t._requires_grad = node, output_nr, True
        _move_retained(t, *before)
        return
    base = view.base
    slices = CopySlices(base, t, node)
    rebase_history(base, slices)
    # The view's own history is now the base's, seen through the view.
    regenerate_history(t)


def _move_retained(t: Tensor, node: Node | None, output_nr: int) -> None:
    """`retain_grad` now asks for the gradient of `t` after the write, not at its old place in the graph."""
    if t._retains_grad and node is not None and t._grad_fn is not None:
        around(node).retaining.pop(output_nr, None)
        t._grad_fn._surround().retaining[t.output_nr] = weakref.ref(t)


class CopySlices(Node):
    """The history of a base after `node` wrote to a part of it through a view.

    Backward: the gradient of the part goes through `node`; the gradient of the rest passes by; both together are the
    gradient of the base as it was.
    """

    _visited = True

    def __init__(self, base: Tensor, view: Tensor, node: Node) -> None:
        self._node: Node | None = node
        self._index: np.ndarray | None = view_index(base._data, view._data)
        self._outputs = ((base.value.shape, base.value.dtype),)
        # The first edge of the node belongs to the part that was written to; replace it by the base.
        self._next, self._next_output = zip(gradient_edge(base), *node.next_functions[1:], strict=True)
        self._seq = next(sequence)

    def name(self) -> str:
        return "torch::autograd::CopySlices"

    @property
    def _is_quiet(self) -> bool:  # type: ignore[override]
        """Whether the node that it runs is a user's."""
        return self._node is None or self._node._is_quiet

    def _step(
        self, grads: list[Any], frees: bool = False, create_graph: bool = False, wanted: Sequence[bool] | None = None
    ) -> Sequence[Any]:
        grad = grads[0]
        if grad is None:
            return [None] * len(self._next)
        if self._node is None or self._index is None:
            raise RuntimeError(BACKWARD_TWICE)
        flat = grad.reshape(-1)
        first, *others = self._node._step([flat[self._index]], False, create_graph, wanted)
        piece = first if first is not None else flat[self._index] * 0
        shape, _ = self._outputs[0]
        if create_graph:
            before = flat.index_put((self._index,), piece)
        else:
            before = flat.copy()
            before[self._index] = piece
        if frees:
            self._release()
        return [before.reshape(shape) if wanted is None or wanted[0] else None, *others]

    def _release(self) -> None:
        # Dropped, not released: if a gradient was recorded, the node is part of that graph by itself and runs there.
        self._node = self._index = None
