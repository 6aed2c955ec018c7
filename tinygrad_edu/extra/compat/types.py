"""Names for annotations (PyTorch: `torch.types`)."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from ...array.dtypes import dtype
from ...array.tensor import Size, device

__all__ = ["Device", "FileLike", "Number", "Storage"]

Number = int | float | bool
Device = Any
FileLike = Any
Storage = Any
_int, _float, _bool, _dtype, _device = builtins.int, builtins.float, builtins.bool, dtype, device
_size = Size | Sequence[int]
_TensorOrTensors = Any
