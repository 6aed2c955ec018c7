"""New tensors: from data, filled with a value, or ranges of numbers."""

from __future__ import annotations

import functools
import inspect
import math
import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...array import absent, dtypes
from ...array.tensor import Tensor, as_array, check_device, wrap
from ...autograd.grad_mode import no_grad
from ...modes import NOT_COUNTED, thread
from ..operands import refuse_cast

__all__ = ["arange", "as_tensor", "asarray", "empty", "empty_like", "eye", "from_numpy", "full", "full_like"]
__all__ += ["linspace", "ones", "ones_like", "scalar_tensor", "tensor", "zeros", "zeros_like"]


def shape_of(size: tuple[Any, ...]) -> tuple[int, ...]:
    """The shape that a call's arguments give: separate sizes as in `zeros(2, 3)`, or one list, `zeros([2, 3])`."""
    if len(size) == 1 and isinstance(size[0], tuple | list):
        size = tuple(size[0])
    for n in size:
        if not hasattr(type(n), "__index__"):
            raise TypeError(f"argument 'size' (position 1) must be tuple of ints, not {type(n).__name__}")
    shape = tuple(operator.index(n) for n in size)
    for n in shape:
        if n < 0:
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {n}: {list(shape)}. A size is 0 or more."
            )
    return shape


def plain(function: Callable[..., Any], name: str = "") -> Callable[..., Any]:
    """`function`, accepting the settings of PyTorch's constructors. Other layouts and devices are refused."""

    # `size=(2, 3)`, for a function that takes `*size`.
    sized = any(p.kind is p.VAR_POSITIONAL for p in inspect.signature(function).parameters.values())

    @functools.wraps(function)
    def call(*args: Any, layout: Any = None, pin_memory: bool = False, memory_format: Any = None, **kwargs: Any) -> Any:
        if layout not in (None, strided):
            raise NotImplementedError(absent.sentence(str(layout)))
        if pin_memory:
            raise NotImplementedError(absent.sentence("pin_memory"))
        check_device(kwargs.get("device"))
        if sized and not args:
            if "size" not in kwargs:
                raise TypeError(f'{name or function.__name__}() missing 1 required positional arguments: "size"')
            args = (kwargs.pop("size"),)
        out = kwargs.pop("out", None)
        made = function(*args, **kwargs)
        return made if out is None else write_out(made, out, function.__name__)

    return call


def write_out(result: Any, out: Any, name: str, operands: Sequence[Any] = ()) -> Any:
    """Write the results of a function of `operands` into the tensor, or the tensors, passed as `out`. Returns them."""
    if isinstance(result, tuple):
        if len(out) != len(result):
            raise TypeError(f"out must hold {len(result)} tensors, but got {len(out)}")
        return type(result)([write_out(r, o, name, operands) for r, o in zip(result, out, strict=True)])
    if not isinstance(out, Tensor):
        raise TypeError(f"argument 'out' must be Tensor, not {type(out).__name__}")
    if thread.state.grad_enabled and (out.requires_grad or result.requires_grad):
        what = "functions with out=... arguments don't support automatic differentiation"
        raise RuntimeError(f"{name}(): {what}, but one of the arguments requires grad. Assign the result to a name.")
    refuse_cast(result, out.dtype)
    if out.shape != result.shape:
        if out.numel():
            shapes = f"output with shape {list(out.shape)} doesn't match the broadcast shape {list(result.shape)}"
            raise RuntimeError(f"{shapes}. Pass an empty tensor as out, or one of the right shape.")
        out._data = np.empty(result.shape, out.value.dtype)
    with no_grad():
        return out.copy_(result)


# The layout of elements in memory; here it is always this one.
strided = "tinygrad_edu.strided"


def finish(array: np.ndarray, requires_grad: bool = False, where: Any = None) -> Tensor:
    """A new tensor that holds `array`; in inference mode, an inference tensor."""
    check_device(where)
    out = wrap(array)
    if thread.state.inference:
        out._counter = NOT_COUNTED
    if requires_grad:
        if array.dtype.kind != "f":
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients, but this one would be "
                f"{out.dtype}. Write the numbers with a decimal point, as in tensor([1., 2.]), or pass a dtype."
            )
        out.requires_grad_()
    return out


def _np(dtype: Any) -> np.dtype:
    return dtypes.get_default_dtype().numpy if dtype is None else dtypes.to_numpy_dtype(dtype)


def tensor(data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A new leaf tensor with a copy of `data`: a number, nested lists, an array, or another tensor's values.

    Python floats become the default dtype (float32); integers become int64.

    >>> T.tensor([[1.0, 2.0], [3.0, 4.0]])
    tensor([[1., 2.],
            [3., 4.]])
    """
    if isinstance(data, Tensor):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone(), and then "
            "requires_grad_(True) if it is a parameter, rather than tinygrad_edu.tensor(sourceTensor).",
            UserWarning,
            stacklevel=4,
        )
    kind = None if dtype is None else dtypes.to_numpy_dtype(dtype)
    if kind is not None and kind.kind in "iu" and not isinstance(data, Tensor | np.ndarray | np.generic):
        low, high = _range(kind)
        wide = as_array(data, np.dtype(np.float64))
        if not np.all((wide >= low) & (wide <= high)):
            raise _overflow(kind.name, kind)
    return finish(as_array(data, kind).copy()[()], requires_grad, device)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """`data` as a tensor. A tensor of that dtype stays itself, an array shares its memory, anything else is copied.

    >>> T.as_tensor([1, 2, 3])
    tensor([1, 2, 3])
    """
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype)
    array = as_array(data, None if dtype is None else dtypes.to_numpy_dtype(dtype))
    return finish(array, False, device)


def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool = False
) -> Tensor:
    """`obj` as a tensor, which shares its memory if possible, unless `copy`.

    >>> T.asarray([1, 2, 3])
    tensor([1, 2, 3])
    """
    made = as_tensor(obj, dtype, device)
    made = made.clone() if copy and (made is obj or isinstance(obj, np.ndarray)) else made
    return made.requires_grad_() if requires_grad else made


def scalar_tensor(s: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A number as a 0-d tensor of the default dtype."""
    return tensor(s, dtype=dtype or dtypes.get_default_dtype(), device=device, requires_grad=requires_grad)


def from_numpy(array: np.ndarray) -> Tensor:
    """A tensor that shares the memory of `array`: writing to one changes the other.

    >>> import numpy
    >>> T.from_numpy(numpy.array([1.0, 2.0]))
    tensor([1., 2.], dtype=tinygrad_edu.float64)
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    if not array.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order: pass array.astype('=f8')."
        )
    values = as_array(array)
    if any(stride < 0 for stride in array.strides):
        raise ValueError("At least one stride in the given numpy array is negative: pass array.copy().")
    if not array.flags.writeable:
        warnings.warn(
            "The given NumPy array is not writable: an in-place op on the tensor will raise. Pass array.copy() "
            "instead.",
            UserWarning,
            stacklevel=2,
        )
    # For a subclass of ndarray, such as `np.matrix`: share its memory, but not its operators.
    return finish(values)


def full(size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor of shape `size` filled with `fill_value`.

    >>> T.full((2,), 7.0)
    tensor([7., 7.])
    """
    size = (size,) if isinstance(size, int | np.integer) else size
    fill_value = dtypes.number(fill_value)
    kind = as_array(fill_value).dtype if dtype is None else dtypes.to_numpy_dtype(dtype)
    value = fill_value._data if isinstance(fill_value, Tensor) else fitted(fill_value, kind)
    return finish(np.full(shape_of((size,)), value, kind), requires_grad, device)


def zeros(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor of shape `size` filled with 0.

    >>> T.zeros(2, 3)
    tensor([[0., 0., 0.],
            [0., 0., 0.]])"""
    return finish(np.zeros(shape_of(size), _np(dtype)), requires_grad, device)


def ones(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor of shape `size` filled with 1."""
    return finish(np.ones(shape_of(size), _np(dtype)), requires_grad, device)


# Uninitialized memory would only confuse a learner, so empty tensors are zeros.
empty = zeros


def full_like(
    input: Tensor, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A tensor with the shape and dtype of `input`, filled with `fill_value`.

    >>> T.full_like(T.zeros(2), 3.0)
    tensor([3., 3.])
    """
    kind, fill_value = _np(dtype or input.dtype), dtypes.number(fill_value)
    value = fill_value._data if isinstance(fill_value, Tensor) else fitted(fill_value, kind)
    return finish(np.full_like(input._data, value, kind), requires_grad, device)


def zeros_like(input: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """Zeros with the shape and dtype of `input`. For an array (inside a backward rule) it returns an array.

    >>> T.zeros_like(T.ones(2))
    tensor([0., 0.])
    """
    if not isinstance(input, Tensor):
        return np.zeros_like(input)
    return full_like(input, 0, dtype=dtype, device=device, requires_grad=requires_grad)


def ones_like(input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones with the shape and dtype of `input`."""
    return full_like(input, 1, dtype=dtype, device=device, requires_grad=requires_grad)


empty_like = zeros_like


def arange(
    start: Any, end: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """start, start + step, …, up to but not including `end`. Integer arguments make int64, floats the default dtype.

    >>> T.arange(1, 7, 2)
    tensor([1, 3, 5])
    """
    if end is None:
        start, end = 0, start
    start, end, step = (_number(v) for v in (start, end, step))
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not math.isfinite(start) or not math.isfinite(end):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    is_float = any(isinstance(v, float) for v in (start, end, step))
    kind = _np(dtype) if dtype is not None or is_float else np.dtype(np.int64)
    if kind.kind != "f":
        start, end, step = int(start), int(end), int(step)
    count = math.ceil((end - start) / step)
    return finish((start + step * np.arange(count, dtype=np.int64)).astype(kind), requires_grad, device)


def _number(value: Any) -> Any:
    """A Python number from a number, or from a tensor or an array with one element."""
    return value.item() if isinstance(value, Tensor | np.generic | np.ndarray) else value


def linspace(
    start: Any, end: Any, steps: int, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """`steps` values from `start` to `end`, both included, evenly spaced.

    >>> T.linspace(0, 1, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    kind = _np(dtype)
    start, end = (fitted(_number(edge), kind).item() for edge in (start, end))
    return finish(np.linspace(start, end, steps).astype(kind), requires_grad, device)


def eye(n: int, m: int | None = None, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """An n×m matrix with ones on the diagonal and zeros elsewhere."""
    return finish(np.eye(*shape_of((n, n if m is None else m)), dtype=_np(dtype)), requires_grad, device)


def as_operand(x: Any) -> Any:
    """A Python number as a 0-d tensor of its default dtype."""
    if isinstance(x, Tensor):
        return x
    x = dtypes.number(x)
    return wrap(np.asarray(x, dtypes.promote([x])))


def as_number(value: Any, like: np.ndarray) -> Any:
    """A Python number in the dtype of `like`, if that can hold it. A float stays a float if `like` holds integers."""
    if not isinstance(value, np.generic | np.ndarray | int | float):
        raise TypeError(f"argument 'value' must be Number, not {type(value).__name__}.")
    return fitted(value, like.dtype) if like.dtype.kind == "f" or isinstance(value, int) else value


def fitted(value: Any, kind: np.dtype) -> np.ndarray:
    """A number converted to a dtype, if that can hold it. An integer dtype drops the fraction of a float."""
    if isinstance(value, complex):
        raise NotImplementedError(absent.sentence("complex64"))
    if kind.kind == "f":
        if dtypes.finfo(dtypes.from_numpy_dtype(kind)).max < abs(value) < np.inf:
            raise _overflow("c10::Half" if kind == np.float16 else "float", kind)
        return np.asarray(value, kind)
    if kind.kind in "iu":
        low, high = _range(kind) if isinstance(value, int) else (np.iinfo(kind).min, np.iinfo(kind).max)
        if not low <= value <= high:
            raise _overflow("int" if kind.name == "int32" else f"{kind.name}_t", kind)
        value = int(value)
    return np.asarray(value).astype(kind)


def _range(kind: np.dtype) -> tuple[int, int]:
    """The numbers that an integer dtype accepts; an unsigned one also accepts negative numbers, which wrap around."""
    high = int(np.iinfo(kind).max)
    return (-high if kind.kind == "u" else -high - 1), high


def _overflow(name: str, kind: np.dtype) -> RuntimeError:
    held: Any = np.iinfo(kind) if kind.kind in "iu" else dtypes.finfo(dtypes.from_numpy_dtype(kind))
    return RuntimeError(
        f"value cannot be converted to type {name} without overflow. {kind.name} holds numbers from {held.min} to "
        f"{held.max}."
    )


class FactoriesMethods:
    """The methods of Tensor that are defined here."""

    layout = property(lambda self: strided)
