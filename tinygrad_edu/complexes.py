"""Complex tensors take part only where it is declared and tested: the white list, and the one gate that asks for it.

A rule that is right for real numbers is often wrong for complex ones: PyTorch's gradient of z is that of a real loss with
respect to the conjugate of z, so the rule of a product has a conjugate in it. A wrong gradient would not be noticed. So

- a public function accepts a complex tensor only if `accept` has named it;
- an op accepts one only if it has an `of_complex`, the op with the rules for complex numbers (`ops/complex_numbers/`).

All else raises NotImplementedError. Nobody asks before the first complex tensor exists: `meet` raises the flags that an op
and a public function look at in any case.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np

from . import dtypes
from .core.state import everywhere
from .core.tensor import Tensor

__all__ = ["accept", "check", "holds", "met", "refuse"]


class _Met:
    """Whether there is, or has been, a complex tensor."""

    __slots__ = ("one",)

    def __init__(self) -> None:
        self.one = False


met = _Met()


def meet() -> None:
    """From now on ops and public functions ask whether a tensor is complex."""
    if not met.one:
        met.one = everywhere.modes_seen = True
        everywhere.now("complex tensors", True)


dtypes.on_complex = meet

# The public functions and methods that accept complex tensors.
_accepted: set[str] = set()


def accept(names: str) -> None:
    """The functions of these names, with a space between them, accept complex tensors."""
    _accepted.update(names.split())


def check(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Refuse a call of a public function with a complex tensor that it has no rule for."""
    if met.one and name not in _accepted and (holds(args) or holds(kwargs.values())):
        refuse(name)


def holds(values: Iterable[Any]) -> bool:
    """True if a complex tensor, array or number is among `values`, or in a list among them."""
    for value in values:
        if isinstance(value, Tensor):
            if value.dtype.is_complex:  # of a sparse tensor too
                return True
        elif isinstance(value, complex | np.complexfloating):
            return True
        elif isinstance(value, np.ndarray):
            if value.dtype.kind == "c":
                return True
        elif isinstance(value, list | tuple) and holds(value):
            return True
    return False


def refuse(name: str) -> NoReturn:
    raise NotImplementedError(
        f"{name} is not built for complex tensors. Work with the real and the imaginary part as two real tensors (z.real and "
        "z.imag, or view_as_real(z)), or run the program on PyTorch."
    )
