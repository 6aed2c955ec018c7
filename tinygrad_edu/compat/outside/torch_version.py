"""Versions that are compared with texts, as in `TorchVersion("2.1") > "1.13"` (PyTorch: `torch.torch_version`)."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["TorchVersion"]


def _parts(version: Any) -> tuple[int, ...]:
    text = ".".join(map(str, version)) if isinstance(version, tuple | list) else str(version)
    return tuple(int(n) for n in re.findall(r"\d+", text.partition("+")[0])[:3])


class TorchVersion(str):
    """A text that is ordered as a version: "2.10" comes after "2.9"."""

    __slots__ = ()

    def __lt__(self, other: Any) -> bool:
        return _parts(self) < _parts(other)

    def __le__(self, other: Any) -> bool:
        return _parts(self) <= _parts(other)

    def __gt__(self, other: Any) -> bool:
        return _parts(self) > _parts(other)

    def __ge__(self, other: Any) -> bool:
        return _parts(self) >= _parts(other)

    def __eq__(self, other: Any) -> bool:
        return _parts(self) == _parts(other)

    def __hash__(self) -> int:
        return str.__hash__(self)
