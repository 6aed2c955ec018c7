"""Named tuples for ops that return several results (PyTorch: `torch.return_types`)."""

from __future__ import annotations

import sys
from operator import itemgetter
from typing import Any

__all__ = ["named"]


class _Named(tuple[Any, ...]):
    """A tuple with field names. It is made from a sequence and prints as PyTorch's does."""

    __slots__ = ()
    _names: tuple[str, ...] = ()

    def __repr__(self) -> str:
        shown = [f"{name}={value!r}" for name, value in zip(self._names, self, strict=True)]
        return f"tinygrad_edu.return_types.{type(self).__name__}(\n" + ",\n".join(shown) + ")"


def named(name: str, *fields: str) -> Any:
    """The named tuple that the op `name` returns."""
    places = {field: property(itemgetter(i)) for i, field in enumerate(fields)}
    kind = type(name, (_Named,), {"__slots__": (), "__module__": __name__, "_names": fields, **places})
    setattr(sys.modules[__name__], name, kind)
    return kind
