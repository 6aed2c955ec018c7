"""What an op of several results returns: a tuple whose fields have names (PyTorch: `torch.return_types`)."""

from __future__ import annotations

import sys
from operator import itemgetter
from typing import Any

__all__ = ["named"]


class _Named(tuple[Any, ...]):
    """A tuple with names, made from a sequence of its fields; it is shown as PyTorch shows its own."""

    __slots__ = ()
    _names: tuple[str, ...] = ()

    def __repr__(self) -> str:
        shown = [f"{name}={value!r}" for name, value in zip(self._names, self, strict=True)]
        return f"{__name__}.{type(self).__name__}(\n" + ",\n".join(shown) + ")"


def named(name: str, *fields: str) -> Any:
    """The type of what the op `name` returns."""
    places = {field: property(itemgetter(i)) for i, field in enumerate(fields)}
    kind = type(name, (_Named,), {"__slots__": (), "__module__": __name__, "_names": fields, **places})
    setattr(sys.modules[__name__], name, kind)
    return kind
