"""What programs write out of habit: older constructors, and settings for machines and speed that change nothing here."""

from __future__ import annotations

import sys
from typing import Any

from ..dtypes import bool_, dtype, float32, float64, int64
from ..ops.creation.factories import tensor, zeros
from ..tensor import Size, Tensor, bind
from . import absent

__all__ = [
    "BoolTensor", "DoubleTensor", "FloatTensor", "LongTensor", "backends", "contiguous_format", "get_num_threads",
    "preserve_format", "set_float32_matmul_precision", "set_num_threads", "use_deterministic_algorithms",
]  # fmt: skip

backends = absent.Switches()
# So that it may be imported as well: `import tinygrad_edu.backends.cudnn as cudnn`.
sys.modules["tinygrad_edu.backends"] = backends  # type: ignore[assignment]
sys.modules["tinygrad_edu.backends.cudnn"] = backends.cudnn

# What `memory_format=…` may be: `zeros_like(p, memory_format=T.preserve_format)`.
contiguous_format, preserve_format = "contiguous_format", "preserve_format"


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Nothing to do: all is computed in the same order each time."""


def set_num_threads(num: int) -> None:
    """Nothing to do: NumPy's products of matrices have threads of their own (the environment's OMP_NUM_THREADS)."""


def get_num_threads() -> int:
    """1."""
    return 1


def set_float32_matmul_precision(precision: str) -> None:
    """Nothing to do: products of float32 are computed in float32."""


def _made(data: tuple[Any, ...], kind: dtype) -> Tensor:
    if not data or isinstance(data[0], int | Size):
        return zeros(*(data or (0,)), dtype=kind)
    return tensor(data[0], dtype=kind)


def FloatTensor(*data: Any) -> Tensor:
    """A float32 tensor of data, `FloatTensor([1, 2])`, or of a shape, `FloatTensor(2, 3)`."""
    return _made(data, float32)


def DoubleTensor(*data: Any) -> Tensor:
    """A float64 tensor of data, or of a shape."""
    return _made(data, float64)


def LongTensor(*data: Any) -> Tensor:
    """An int64 tensor of data, or of a shape."""
    return _made(data, int64)


def BoolTensor(*data: Any) -> Tensor:
    """A tensor of booleans, of data or of a shape."""
    return _made(data, bool_)


def new(self: Tensor, *data: Any) -> Tensor:
    """A tensor of data, or of a shape, in the dtype of this one."""
    return _made(data, self.dtype)


bind("new", new)
