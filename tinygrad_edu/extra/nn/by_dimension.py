"""Layers that differ by the number of their dimensions alone: each is written once."""

from __future__ import annotations

from typing import Any

from ...nn import functional as F
from ...nn.module import Module

__all__ = ["by_dimension"]

_WHAT = {1: "sequences", 2: "images", 3: "volumes"}


def by_dimension(
    base: type[Module], name: str, doc: str, dims: tuple[int, ...] = (1, 2, 3), function: str = "", **members: Any
) -> list[Any]:
    """A subclass of `base` for each number of dimensions n: it calls `function` of nn.functional.

    `{n}` in its name and in the text stands for n, `{what}` for what has so many dimensions. For examples, `{twos}` are n sizes
    of 2 and `{ones}` of 1, `{count}` is 2ⁿ, `{last}` is 2ⁿ - 1, and `{half}` is half of that.
    """
    made = []
    for n in dims:
        count = 2.0**n
        sizes = {"twos": ", ".join("2" * n), "ones": ", ".join("1" * n)}
        text = doc.format(n=n, what=_WHAT[n], count=count, last=count - 1, half=(count - 1) / 2, **sizes)
        own: dict[str, Any] = {"_dims": n, "__doc__": text, "__module__": base.__module__, **members}
        if function:
            own["_function"] = staticmethod(getattr(F, function.format(n=n)))
        made.append(type(name.format(n=n), (base,), own))
    return made
