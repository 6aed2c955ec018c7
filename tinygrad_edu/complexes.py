"""Complex tensors work only where it is declared and tested: the list of what accepts them, and the check that uses it.

A rule that is right for real numbers is often wrong for complex ones: PyTorch's gradient of z is that of a real loss with
respect to the conjugate of z, so the rule of a product contains a conjugate. A wrong gradient would go unnoticed. So

- a public function accepts a complex tensor only if `accept` has named it;
- an op accepts one only if it has an `of_complex`, the op with the rules for complex numbers (`ops/complex_numbers/`).

Everything else raises NotImplementedError. Nothing is checked before the first complex tensor exists: `meet` then sets the
flags that ops and public functions read anyway.
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
    """Whether a complex tensor exists or has existed."""

    __slots__ = ("one",)

    def __init__(self) -> None:
        self.one = False


met = _Met()


def meet() -> None:
    """From now on ops and public functions check whether a tensor is complex."""
    if not met.one:
        met.one = everywhere.modes_seen = True
        everywhere.now("complex tensors", True)


dtypes.on_complex = meet

# The public functions and methods that accept complex tensors.
_accepted: set[str] = set()


def accept(names: str) -> None:
    """Let the functions with these names, separated by spaces, accept complex tensors."""
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
