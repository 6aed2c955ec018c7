"""Layers that differ by the number of their dimensions alone: each is written once."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from ..ops.binding import IN_WORDS
from . import functional as F
from .module import Module

__all__ = ["by_dimension"]


def by_dimension(base: type[Module], name: str, doc: str, function: str = "", **members: Any) -> list[Any]:
    """A subclass of `base` for 1, 2 and 3 dimensions, which calls `function` of nn.functional.

    `{n}` in a name and in the text stands for the number, other words as in `IN_WORDS`.
    """
    classes = []
    for n, words in IN_WORDS.items():
        text = doc.format(n=n, **words)
        call: Any = base.__init__  # an own one, since Python names it where arguments are missing
        init = FunctionType(call.__code__, call.__globals__, "__init__", call.__defaults__, call.__closure__)
        init.__qualname__, init.__kwdefaults__ = f"{name.format(n=n)}.__init__", call.__kwdefaults__
        own: dict[str, Any] = {"_dims": n, "__doc__": text, "__module__": base.__module__, "__init__": init, **members}
        if function:
            own["_function"] = staticmethod(getattr(F, function.format(n=n)))
        classes.append(type(name.format(n=n), (base,), own))
    return classes
