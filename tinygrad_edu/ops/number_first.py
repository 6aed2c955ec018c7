"""Call forms of years ago, a number before the tensors: `p.add_(-lr, grad)`, `addcmul_(1 - beta, g, g)`. PyTorch warns, and computes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..array.tensor import Tensor
from ..modes import warn_once

__all__ = ["accept", "newer"]

# The names of the numbers, in the order in which they came.
_NUMBERS = {
    **dict.fromkeys(("add", "sub"), ("alpha",)),
    **dict.fromkeys(("addcmul", "addcdiv"), ("value",)),
    **dict.fromkeys(("addbmm", "addmm", "addmv", "addr", "baddbmm"), ("beta", "alpha")),
}


def newer(name: str, args: tuple[Any, ...]) -> tuple[list[Any], dict[str, Any]] | None:
    """The arguments of such a call as they are written today; None if `args` has not this form."""
    names = _NUMBERS.get(name.rstrip("_"), ())
    tensors = [arg for arg in args if isinstance(arg, Tensor)]
    numbers = [arg for arg in args if isinstance(arg, int | float)]
    if not (0 < len(numbers) <= len(names) and len(tensors) > 1 and len(tensors) + len(numbers) == len(args)):
        return None
    if not isinstance(args[-1], Tensor):
        return None
    _warn(name, names[: len(numbers)])
    return tensors, dict(zip(names, numbers, strict=False))


def _warn(name: str, numbers: tuple[str, ...]) -> None:
    listed = ", ".join(f"Number {number}" for number in numbers)
    warn_once(
        f"This overload of {name} is deprecated:\n\t{name}({listed}, Tensor …)\nWrite each number by its name, "
        f"after the tensors: {name}(…, {numbers[0]}=…).",
        stacklevel=5,
    )


def accept(write: Callable[..., Tensor], name: str) -> Callable[..., Tensor]:
    """`write`, an in-place form, with the forms of years ago where it has any."""
    if name.rstrip("_") not in _NUMBERS:
        return write

    @functools.wraps(write)
    def either(*args: Any, **kwargs: Any) -> Tensor:
        try:
            return write(*args, **kwargs)
        except Exception:
            again = None if kwargs else newer(name, args)
            if again is None:
                raise
            return write(*again[0], **again[1])

    return either
