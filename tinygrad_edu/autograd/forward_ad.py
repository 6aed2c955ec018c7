"""Forward mode: a tensor carries a tangent, and every op pushes it on. Exact directional derivatives in one pass."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from ..tensor import Tensor, wrap

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


class _Level:
    """The open level: 0 when none is. Its generation makes tangents of closed levels void."""

    open = False
    generation = 0
    enabled = True


level = _Level()


class UnpackedDualTensor(NamedTuple):
    """A primal value and its tangent (None where there is none)."""

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Open the level at which dual tensors live. Levels do not nest, as in PyTorch."""
    if level.open:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    level.open = True
    level.generation += 1
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the level: the tangents made in it are gone."""
    state = globals()["level"]
    if level not in (None, 0) or not state.open:
        raise RuntimeError("Trying to exit a forward AD level that was not the last one that was created")
    state.open = False


class dual_level:
    """A context manager in which `make_dual` and `unpack_dual` work; tangents are gone after it."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exception: object) -> None:
        exit_dual_level()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A view of `tensor` that carries `tangent`, of the same shape.

    Raises:
        RuntimeError: no level is open, or shapes or dtypes differ.
    """
    state = globals()["level"]
    if not state.open:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    if not (tensor.is_floating_point() and tangent.is_floating_point()):
        which = "primal" if not tensor.is_floating_point() else "tangent"
        raise ValueError(f"Expected {which} to be floating point or complex")
    if tensor._data.shape != tangent._data.shape:
        raise RuntimeError(
            f"Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(tensor.shape)} while the given forward gradient is of size "
            f"{list(tangent.shape)}."
        )
    if tensor._data.dtype != tangent._data.dtype:
        raise RuntimeError(f"Expected tangent of dtype {tensor.dtype}, as its primal has, got {tangent.dtype}")
    dual = tensor.view_as(tensor)
    set_tangent(dual, tangent)
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The primal value and the tangent of a dual tensor; the tangent is None for any other."""
    if not globals()["level"].open:
        return UnpackedDualTensor(tensor, None)
    tangent = tangent_of(tensor)
    if tangent is None:
        return UnpackedDualTensor(tensor, None)
    with _set_fwd_grad_enabled(False):
        primal = tensor.view_as(tensor)
    return UnpackedDualTensor(primal, tangent)


class _set_fwd_grad_enabled:
    """Switch the propagation of tangents off, or on again."""

    def __init__(self, mode: bool) -> None:
        self.mode = mode

    def __enter__(self) -> None:
        self.previous = level.enabled
        level.enabled = self.mode

    def __exit__(self, *exception: object) -> None:
        level.enabled = self.previous


def tangent_of(t: Tensor) -> Tensor | None:
    """The tangent that `t` carries in the open level."""
    if t._tangent is None or not level.open or t._tangent[0] != level.generation:
        return None
    return t._tangent[1]


def set_tangent(t: Tensor, tangent: Tensor) -> None:
    """Let `t` carry `tangent` until the level closes."""
    t._tangent = (level.generation, tangent)


def any_tangent(tensors: Iterable[Any]) -> bool:
    """True if one of `tensors` carries a tangent that is to be pushed on."""
    return level.open and level.enabled and any(tangent_of(t) is not None for t in tensors)


def zero_tangent(t: Tensor) -> Tensor:
    """The tangent of a tensor that does not move."""
    import numpy as np

    return wrap(np.zeros_like(t._data))
