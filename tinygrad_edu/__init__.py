"""tinygrad_edu: PyTorch's autograd, small enough to read, with PyTorch's names.

>>> import tinygrad_edu as T
>>> w = T.tensor(3.0, requires_grad=True)
>>> y = w * w
>>> y.backward()
>>> w.grad
tensor(6.)
"""

from __future__ import annotations

import math
import os
from typing import Any

from . import autograd, ops, overrides
from .array import absent, dtypes, printing
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
from .array.printing import set_printoptions
from .array.tensor import Size, Tensor, device
from .autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled, set_anomaly_enabled
from .autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .seam import imports
from .seam.later import bind_later, later

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

pi, e, inf, nan, newaxis = math.pi, math.e, math.inf, math.nan, None

# A program that looks for a device continues without one: `"cuda" if T.cuda.is_available() else "cpu"`.
cuda, mps, xpu, accelerator = (absent.Device(name) for name in ("cuda", "mps", "xpu", "accelerator"))


def is_tensor(obj: Any) -> Any:
    """True if `obj` is a Tensor.

    >>> import tinygrad_edu as T
    >>> T.is_tensor([1, 2])
    False
    """
    return isinstance(obj, Tensor)


def numel(input: Tensor) -> Any:
    """The number of elements.

    >>> import tinygrad_edu as T
    >>> T.numel(T.zeros(2, 3))
    6
    """
    return input.numel()


def is_floating_point(input: Tensor) -> Any:
    """True if the elements are floating-point numbers.

    >>> import tinygrad_edu as T
    >>> T.is_floating_point(T.tensor([1, 2]))
    False
    """
    return input.is_floating_point()


def is_complex(input: Tensor) -> Any:
    """True if the elements are complex numbers.

    >>> import tinygrad_edu as T
    >>> T.is_complex(T.tensor([1j])), T.is_complex(T.tensor([1.0]))
    (True, False)
    """
    return input.is_complex()


def is_inference(input: Tensor) -> Any:
    """True if the tensor was made in inference mode.

    >>> import tinygrad_edu as T
    >>> with T.inference_mode():
    ...     x = T.ones(2)
    >>> T.is_inference(x)
    True
    """
    return input.is_inference()


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest dtype that can hold the values of both, by PyTorch's rules.

    >>> import tinygrad_edu as T
    >>> T.promote_types(T.int64, T.float16)
    tinygrad_edu.float16
    """
    return result_type(ops.factories.zeros(1, dtype=type1), ops.factories.zeros(1, dtype=type2))


def can_cast(from_: dtype, to: dtype) -> Any:
    """True if a result of dtype `from_` may be written into a tensor of dtype `to`: floats may not become integers.

    >>> import tinygrad_edu as T
    >>> T.can_cast(T.int64, T.float32), T.can_cast(T.float32, T.int64)
    (True, False)
    """
    return dtypes.category(dtypes.to_numpy_dtype(to)) >= dtypes.category(dtypes.to_numpy_dtype(from_))


def compile(model: Any = None, **settings: Any) -> Any:
    """Return the model or function unchanged, or a decorator that does so: nothing is compiled here.

    >>> import tinygrad_edu as T
    >>> model = T.nn.Linear(2, 1)
    >>> T.compile(model) is model
    True
    """
    return model if model is not None else lambda function: function


__getattr__ = later(
    __name__,
    "If PyTorch has a function of this name, it is not built here. Compute it with NumPy on t.numpy() where no gradient is needed, write it "
    "as a Function, or run the program on PyTorch.",
    ops.functions,
    {
        **{name: name for name in ("func", "jit", "library", "linalg", "nn", "optim", "utils")},
        "default_generator": "ops.creation.random",
        "return_types": "array.return_types",
        "vmap": "func",
    },
)

bind_later()
imports.install()

if os.environ.get("TINYGRAD_EDU_PLAIN", "0") in ("", "0"):
    from .fast import install

    install()
    del install

# As in PyTorch, `print(type(x))` says where users find the class, and not the file that defines it.
for _kind in (Tensor, Size, device, dtype, finfo, iinfo, Generator):
    _kind.__module__ = __name__
