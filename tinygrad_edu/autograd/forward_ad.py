"""Forward mode: a tensor carries a tangent, and every op pushes it on. Exact directional derivatives in one pass.

A tangent has the memory layout of its tensor, and the tangent of a view is a view of the tangent of its base. So an
in-place write to a base or a view changes both, values and tangents alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ..array.tensor import Tensor, wrap
from ..modes import everywhere, thread
from . import grad_mode
from .inplace import make_view

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


class _Level:
    """The level: 0 while it is open, otherwise there is none. Its generation makes tangents of closed levels void."""

    open = False
    generation = 0
    enabled = True


level = _state = _Level()


class UnpackedDualTensor(NamedTuple):
    """A primal value and its tangent (None where there is none)."""

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Open the level at which dual tensors live, and return its number, 0. Levels do not nest, as in PyTorch.

    >>> from tinygrad_edu.autograd import forward_ad
    >>> level = forward_ad.enter_dual_level()
    >>> x = forward_ad.make_dual(T.tensor(3.0), T.tensor(1.0))
    >>> forward_ad.unpack_dual(x * x).tangent
    tensor(6.)
    >>> forward_ad.exit_dual_level(level=level)
    """
    if _state.open:
        raise RuntimeError(
            "Nested forward mode AD is not supported at the moment. For a second derivative use reverse mode inside: "
            "autograd.grad(…, create_graph=True) of a dual tensor."
        )
    _state.open = True
    _state.generation += 1
    everywhere.now("dual tensors", _state.open)
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the level: the tangents made in it are gone."""
    if level not in (None, 0) or not _state.open:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    _state.open = False
    everywhere.now("dual tensors", _state.open)


class dual_level(grad_mode._Mode):
    """A context manager, and a decorator, in which `make_dual` and `unpack_dual` work; tangents are gone after it.

    >>> with T.autograd.forward_ad.dual_level() as level:
    ...     print(level)
    0
    """

    def __enter__(self) -> int:  # type: ignore[override]
        return enter_dual_level()

    def __exit__(self, *exception: object) -> None:
        exit_dual_level()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A view of `tensor` that carries `tangent`, of the same shape.

    >>> import tinygrad_edu.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     x = fwAD.make_dual(T.tensor(3.0), T.tensor(1.0))
    ...     fwAD.unpack_dual(x * x).tangent
    tensor(6.)
    """
    if level not in (None, 0) or not _state.open:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    for name, t in (("primal", tensor), ("tangent", tangent)):
        if t.value.dtype.kind != "f":
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {t.dtype}")
    if tangent_of(tensor) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not "
            "supported. Use unpack_dual(tensor).primal first."
        )
    if tangent_of(tangent) is not None:
        raise RuntimeError(
            "Setting a forward grad that itself has a forward gradient at the same level 0 is not supported. Use "
            "unpack_dual(tangent).primal first."
        )
    strides = _strides(tensor._data)
    if tensor.value.size and 0 in strides and _strides(tangent._data) != strides:
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "A tangent has the memory layout of its tensor, and this tensor is expanded: make a clone() dual."
        )
    dual = tensor.view_as(tensor)
    # In inference mode nothing is tracked, not even tangents.
    if not thread.state.inference:
        set_tangent(dual, tangent)
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The primal value and the tangent of a dual tensor; the tangent is None for other tensors, and outside the level.

    >>> with T.autograd.forward_ad.dual_level():
    ...     print(T.autograd.forward_ad.unpack_dual(T.tensor(3.0)).tangent)
    None
    """
    tangent = tangent_of(tensor) if level in (None, 0) else None
    if not _state.open:
        return UnpackedDualTensor(tensor, None)
    with _set_fwd_grad_enabled(False):
        primal = tensor.view_as(tensor)
    # A view of a dual tensor without a part in its tangent.
    primal._tangent = (_state.generation, None)
    node: Any = primal._grad_fn
    if node is not None:
        node._name = "Identity"  # what PyTorch calls this node
    return UnpackedDualTensor(primal, tangent)


class _set_fwd_grad_enabled:
    """Inside `with`, tangents are propagated, or not."""

    def __init__(self, mode: bool) -> None:
        self.mode = mode

    def __enter__(self) -> None:
        self.previous = _state.enabled
        _state.enabled = self.mode

    def __exit__(self, *exception: object) -> None:
        _state.enabled = self.previous


def tangent_of(t: Tensor) -> Tensor | None:
    """The tangent that `t` carries in the open level: its own, or, for a view, its part of the tangent of the base."""
    if not _state.open:
        return None
    carried = t._tangent
    if carried is not None and carried[0] == _state.generation:
        return carried[1]
    base = t._view.base if t._view is not None else None
    whole = tangent_of(base) if base is not None else None
    if base is None or whole is None:
        return None
    t._tangent = (_state.generation, _part(whole, base, t))
    return t._tangent[1]


def set_tangent(t: Tensor, tangent: Tensor) -> None:
    """Let `t` carry `tangent`, of its shape, until the level closes."""
    if t.value.shape != tangent.value.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(t.shape)} while the given forward gradient is of size "
            f"{list(tangent.shape)}."
        )
    t._tangent = (_state.generation, _laid_out_as(t, tangent))
    remember_tangent(t)


def remember_tangent(t: Tensor) -> None:
    """Give the tangent of `t` to the node that computed it, for the backward pass in which it finds `t` again."""
    node: Any = t._grad_fn
    if node is not None:
        if node._tangents_of_outputs is None:
            node._tangents_of_outputs = {}
        node._tangents_of_outputs[t.output_nr] = t._tangent


def write_tangent(t: Tensor, tangent: Tensor) -> None:
    """Write the tangent of `t`, which was written in place, and those of its base and of the base's other views."""
    with _set_fwd_grad_enabled(False):
        old = tangent_of(t)
        if old is None and t._view is not None:
            base = t._view.base
            set_tangent(base, zero_tangent(base))
            t._tangent = None
            old = tangent_of(t)
        if old is None:
            set_tangent(t, tangent)
        elif old is not tangent:
            old.copy_(tangent)


def any_tangent(inputs: Iterable[Any]) -> bool:
    """True if one of `inputs` carries a tangent that must be propagated."""
    return (
        _state.open
        and _state.enabled
        and not thread.state.inference
        and any(isinstance(x, Tensor) and tangent_of(x) is not None for x in inputs)
    )


def zero_tangent(t: Tensor) -> Tensor:
    """The tangent of a tensor that does not change."""
    return wrap(np.zeros_like(t._data))


def _strides(array: np.ndarray) -> tuple[int, ...]:
    """The distances in memory between neighbouring elements, along the dimensions that have neighbours."""
    return tuple(s // array.itemsize for s, n in zip(array.strides, array.shape, strict=True) if n > 1)


def _laid_out_as(t: Tensor, tangent: Tensor) -> Tensor:
    """`tangent` itself if it has the memory layout of `t`, else a copy that has it."""
    wanted = _strides(t._data)
    if _strides(tangent._data) == wanted or 0 in wanted:
        return tangent
    with _set_fwd_grad_enabled(False):
        return wrap(np.empty_like(t._data, dtype=tangent.value.dtype)).copy_(tangent)


def _part(tangent: Tensor, base: Tensor, view: Tensor) -> Tensor:
    """The same view of `tangent` as `view` is of `base`, so that gradients and writes go through it."""
    offset = (view._data.ctypes.data - base._data.ctypes.data) // base.value.itemsize
    itemsize = tangent.value.itemsize
    start = np.lib.stride_tricks.as_strided(tangent._data, (tangent.value.size and offset + 1,), (itemsize,))[offset:]
    strides = [s // view.value.itemsize * itemsize for s in view._data.strides]
    part = wrap(np.lib.stride_tricks.as_strided(start, view.value.shape, strides))
    make_view(part, tangent)
    assert part._view is not None
    # Its own grad_fn is made from the base's when it is asked for, as after a write.
    part._view.version = -1
    return part
