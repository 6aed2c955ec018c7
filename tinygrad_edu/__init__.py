"""tinygrad_edu: PyTorch's autograd, small enough to read, with PyTorch's names.

>>> import tinygrad_edu as T
>>> w = T.tensor(3.0, requires_grad=True)
>>> y = w * w
>>> y.backward()
>>> w.grad
tensor(6.)
"""

from __future__ import annotations

import importlib
import math
from typing import TYPE_CHECKING, Any

from . import autograd, ops, overrides
from .array import absent, dtypes
from .array.absent import answer
from .array.dtypes import (
    bfloat16,
    complex64,
    complex128,
    dtype,
    finfo,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    get_default_dtype,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    result_type,
    set_default_dtype,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .array.tensor import Size, device
from .autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled, set_anomaly_enabled
from .autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .printing import set_printoptions
from .settings import (
    are_deterministic_algorithms_enabled,
    channels_last,
    compile,
    contiguous_format,
    get_default_device,
    get_num_threads,
    preserve_format,
    set_default_device,
    set_float32_matmul_precision,
    set_num_threads,
    use_deterministic_algorithms,
)
from .tensor import Tensor

if TYPE_CHECKING:
    from . import backends, distributions, func, jit, library, linalg, nn, optim, utils

# The version of PyTorch that is followed: programs and libraries compare `torch.__version__`. Ours is in `_version.py`.
__version__ = "2.13.0"

double, float, half = float64, float32, float16
long, int, short = int64, int32, int16
cfloat, cdouble = complex64, complex128
bool = dtypes.bool_

from .array.generator import Generator  # noqa: E402
from .ops.creation import random  # noqa: E402

globals().update(ops.functions)
from .ops.creation.factories import strided  # noqa: E402
from .ops.creation.legacy import (  # noqa: E402
    BoolTensor,
    ByteTensor,
    CharTensor,
    DoubleTensor,
    FloatTensor,
    HalfTensor,
    IntTensor,
    LongTensor,
    ShortTensor,
)

pi, e, inf, nan, newaxis = math.pi, math.e, math.inf, math.nan, None

# A program that looks for a device continues without one: `"cuda" if T.cuda.is_available() else "cpu"`.
cuda, mps, xpu, accelerator = (absent.Device(name) for name in ("cuda", "mps", "xpu", "accelerator"))


def is_tensor(obj: Any) -> Any:
    """True if `obj` is a Tensor.

    >>> T.is_tensor([1, 2])
    False
    """
    return isinstance(obj, Tensor)


def numel(input: Tensor) -> Any:
    """The number of elements.

    >>> T.numel(T.zeros(2, 3))
    6
    """
    return input.numel()


def is_floating_point(input: Tensor) -> Any:
    """True if the elements are floating-point numbers.

    >>> T.is_floating_point(T.tensor([1, 2]))
    False
    """
    return input.is_floating_point()


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest dtype that can hold the values of both, by PyTorch's rules.

    >>> T.promote_types(T.int64, T.float16)
    tinygrad_edu.float16
    """
    return result_type(ops.factories.zeros(1, dtype=type1), ops.factories.zeros(1, dtype=type2))


# Subjects that are imported when a program names them.
_ON_FIRST_USE = ("backends", "distributions", "func", "jit", "library", "linalg", "nn", "optim", "utils")
_missing = absent.answer(__name__)


def __getattr__(name: str) -> Any:
    if name in _ON_FIRST_USE:
        return importlib.import_module(f"{__name__}.{name}")
    if name in ("load", "save"):
        from . import serialization

        return getattr(serialization, name)
    if not name.startswith("_"):
        from .nn import functional

        if name in ops.functions:
            return globals().setdefault(name, ops.functions[name])
    return _missing(name)


absent.explain_imports()

# As in PyTorch, `print(type(x))` says where users find the class, and not the file that defines it.
for _kind in (Tensor, Size, device, dtype, finfo, iinfo, Generator):
    _kind.__module__ = __name__
