"""New tensors: from data, filled with a value, or ranges of numbers."""

from __future__ import annotations

import functools
import inspect
import math
import operator
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...array import absent, dtypes
from ...array.tensor import Tensor, as_array, bind, check_device, wrap
from ...autograd import forward_ad
from ...autograd.grad_mode import no_grad
from ...autograd.inplace import owner, refuse_shared_memory
from ...modes import NOT_COUNTED, everywhere, thread
from ..operands import refuse_cast

__all__ = [
    "arange",
    "as_tensor",
    "empty",
    "empty_like",
    "eye",
    "from_numpy",
    "full",
    "full_like",
    "linspace",
    "ones",
    "ones_like",
    "tensor",
    "zeros",
    "zeros_like",
]


def shape_of(size: tuple[Any, ...]) -> tuple[int, ...]:
    """The shape given by the arguments of a call: separate sizes as in `zeros(2, 3)`, or one list as in `zeros([2, 3])`.

    Raises:
        TypeError: a size is not an integer.
        RuntimeError: a size is negative.
    """
    if len(size) == 1 and isinstance(size[0], tuple | list):
        size = tuple(size[0])
    for n in size:
        if not hasattr(type(n), "__index__"):
            raise TypeError(f"argument 'size' (position 1) must be tuple of ints, not {type(n).__name__}")
    shape = tuple(operator.index(n) for n in size)
    for n in shape:
        if n < 0:
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {n}: {list(shape)}. A size must be 0 or more; -1 for "
                "the remaining size works only in view and reshape."
            )
    return shape


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, accepting the common settings of PyTorch's constructors. They have no effect here.

    Raises:
        NotImplementedError: the call asks for a layout, a device or an `out` that is not built.
    """

    # `size=(2, 3)`, for a function that takes `*size`.
    sized = any(p.kind is p.VAR_POSITIONAL for p in inspect.signature(function).parameters.values())

    @functools.wraps(function)
    def call(*args: Any, layout: Any = None, pin_memory: bool = False, memory_format: Any = None, **kwargs: Any) -> Any:
        if layout not in (None, strided):
            raise NotImplementedError(absent.sentence(str(layout)) or f"the layout {layout} is not built: use strided.")
        if pin_memory:
            raise NotImplementedError(absent.sentence("pin_memory"))
        check_device(kwargs.get("device"))
        if sized and not args and "size" in kwargs:
            args = (kwargs.pop("size"),)
        out = kwargs.pop("out", None)
        return (
            function(*args, **kwargs) if out is None else write_out(function(*args, **kwargs), out, function.__name__)
        )

    return call


def write_out(result: Any, out: Any, name: str, operands: Sequence[Any] = ()) -> Any:
    """Write the results of a function of `operands` into the tensor, or the tensors, passed as `out`. Returns them.

    Raises:
        RuntimeError: the dtype of `out` cannot hold the result, a gradient would have to flow into it, or it shows a part of
            an operand's memory.
    """
    if isinstance(result, tuple):
        if len(out) != len(result):
            raise TypeError(f"out must hold {len(result)} tensors, but got {len(out)}")
        return type(result)([write_out(r, o, name, operands) for r, o in zip(result, out, strict=True)])
    if not isinstance(out, Tensor):
        raise TypeError(f"argument 'out' must be Tensor, not {type(out).__name__}")
    if everywhere.in_force and any(forward_ad.tangent_of(t) is not None for t in (result, out)):
        raise NotImplementedError(
            f"Trying to use forward AD with {name}_out that does not support it because it is an out= function. Assign the result "
            "to a name instead."
        )
    _refuse_out(name, result, out)
    # Nothing of this is differentiable.
    compared = result._data.dtype.kind == "b" and name not in ("cat", "stack", "sum")
    if thread.state.grad_enabled and (out.requires_grad or result.requires_grad) and not compared:
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
            "requires grad. Assign the result to a name instead."
        )
    refuse_cast(result, out.dtype)
    is_list = bool(operands) and isinstance(operands[0], list | tuple)
    refuse_shared_memory(out, operands[0] if is_list else operands, apart=is_list)
    if out.shape != result.shape:
        if any(np.may_share_memory(out._data, x._data) for x in operands if isinstance(x, Tensor)):
            raise RuntimeError(
                f"output with shape {list(out.shape)} doesn't match the broadcast shape {list(result.shape)}. It is an operand too, "
                "so it cannot change its shape."
            )
        if out.numel():
            warnings.warn(
                f"An output with one or more elements was resized since it had shape {list(out.shape)}, which does not match "
                f"the required output shape {list(result.shape)}. Pass an empty tensor, or one of the right shape.",
                UserWarning,
                stacklevel=4,
            )
        resize(out, tuple(result.shape))  # the write below is the only one that is counted
    with no_grad():
        return out.copy_(result)


_ONLY_RETURNED = ("argwhere", "cdist", "cov", "einsum", "isclose", "isfinite", "isinf", "isnan", "isreal", "positive", "prelu", "relu", "selu")  # fmt: skip
_OF_BOOLEANS = ("isin", "isneginf", "isposinf", "signbit")
_OF_ONE_TYPE = ("abs", "bitwise_not", "ceil", "floor", "frac", "neg", "round", "sgn", "sign", "trunc")  # fmt: skip
_PRODUCTS = ("bmm", "matmul", "mm", "mv")


def _refuse_out(name: str, result: Tensor, out: Tensor) -> None:
    """Refuse an `out` that the function does not accept."""
    if name in _ONLY_RETURNED:
        raise TypeError(f"{name}() got an unexpected keyword argument 'out'. Assign the result to a name instead.")
    if name in _OF_BOOLEANS and out.dtype.name != "bool":
        raise RuntimeError(f"{name} does not support non-boolean outputs.")
    if name in _OF_ONE_TYPE and out.dtype is not result.dtype:
        raise RuntimeError(f"Found dtype {out.dtype.legacy_name} but expected {result.dtype.legacy_name}")
    if name in _PRODUCTS and out.dtype is not result.dtype:
        raise RuntimeError(f"Expected out tensor to have dtype {result.dtype}, but got {out.dtype} instead")


def resize(t: Tensor, shape: tuple[int, ...]) -> None:
    """Let `t` show its memory, from its first element on, row by row in another shape. Memory that is too short grows.

    Raises:
        NotImplementedError: it would have to grow, and other tensors show it, too.
    """
    count, shared = math.prod(shape), t._view is not None or _is_held(t)
    array, memory = t._data, owner(t._data)
    room = (memory.ctypes.data + memory.nbytes - array.ctypes.data) // array.itemsize
    if not memory.flags.forc or not array.size:
        memory, room = array, array.size
    flat = np.lib.stride_tricks.as_strided(array, (min(room, count),), (array.itemsize,))
    if count > room:
        if shared:
            raise NotImplementedError(
                f"memory that other tensors show cannot grow from {room} to {count} elements here: they would have to move with "
                "it. Use a new tensor instead."
            )
        flat = np.concatenate([flat, np.zeros(count - room, flat.dtype)])
    t._data = flat.reshape(shape)


def _is_held(t: Tensor) -> bool:
    """True if something else has the array of a tensor, too, or shows its memory."""

    def holders(array: np.ndarray) -> int:
        return sys.getrefcount(array if array.base is None else array.base)

    alone = wrap(np.empty(1) if t._data.base is None else np.empty(1)[:])
    return holders(t._data) > holders(alone._data)


class _Layout:
    """The layout of elements in memory; here it is always strided."""

    def __repr__(self) -> str:
        return "tinygrad_edu.strided"


strided = _Layout()
bind("layout", property(lambda self: strided))


def finish(array: np.ndarray, requires_grad: bool = False, where: Any = None) -> Tensor:
    """A new tensor that holds `array`; in inference mode, an inference tensor."""
    check_device(where)
    out = wrap(array)
    if thread.state.inference:
        out._counter = NOT_COUNTED
    if requires_grad:
        if array.dtype.kind not in "fcV":
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients, but this one would be "
                f"{out.dtype}. Write the numbers with a decimal point, as in tensor([1., 2.]), or pass a dtype."
            )
        out.requires_grad_()
    return out


def _np(dtype: Any) -> np.dtype:
    return dtypes.get_default_dtype().numpy if dtype is None else dtypes.to_numpy_dtype(dtype)


def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Tensor:
    """A new leaf tensor with a copy of `data`: a number, nested lists, an array, or another tensor's values.

    Python floats become the default dtype (float32); integers become int64.

    Example:
        >>> tensor([[1.0, 2.0], [3.0, 4.0]])
        tensor([[1., 2.],
                [3., 4.]])
    """
    if isinstance(data, Tensor):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than tinygrad_edu.tensor(sourceTensor).",
            UserWarning,
            stacklevel=4,
        )
    kind = None if dtype is None else dtypes.to_numpy_dtype(dtype)
    if kind is not None and kind.kind in "iu" and not isinstance(data, Tensor | np.ndarray | np.generic):
        low, high = _range(kind)
        wide = as_array(data, np.dtype(np.float64))
        if not np.all((wide >= low) & (wide <= high)):
            raise _overflow(kind.name, kind)
    return finish(as_array(data, kind).copy(), requires_grad, device)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """`data` as a tensor. A tensor of that dtype is returned unchanged, an array shares its memory, anything else is copied.

    >>> import tinygrad_edu as T
    >>> T.as_tensor([1, 2, 3])
    tensor([1, 2, 3])
    """
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype)
    array = as_array(data, None if dtype is None else dtypes.to_numpy_dtype(dtype))
    return finish(array, False, device)


def from_numpy(array: np.ndarray) -> Tensor:
    """A tensor that shares the memory of `array`: writing to one changes the other.

    >>> import tinygrad_edu as T
    >>> import numpy
    >>> T.from_numpy(numpy.array([1.0, 2.0]))
    tensor([1., 2.], dtype=tinygrad_edu.float64)
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    if not array.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion between byte orders is "
            "currently not supported: pass array.astype(array.dtype.newbyteorder('='))."
        )
    dtypes.from_numpy_dtype(array.dtype)
    if any(stride < 0 for stride in array.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
            "currently supported. (You can probably work around this by making a copy of your array with array.copy().)"
        )
    if not array.flags.writeable:
        warnings.warn(
            "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. Here an in-place "
            "op on the tensor will raise. Pass array.copy() if you mean to write to it.",
            UserWarning,
            stacklevel=2,
        )
    # For a subclass of ndarray, such as `np.matrix`: share its memory, but not its operators.
    return finish(np.asarray(array))


def full(size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor of shape `size` filled with `fill_value`.

    >>> import tinygrad_edu as T
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

    >>> import tinygrad_edu as T
    >>> T.zeros(2, 3)
    tensor([[0., 0., 0.],
            [0., 0., 0.]])
    """
    return finish(np.zeros(shape_of(size), _np(dtype)), requires_grad, device)


def ones(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor of shape `size` filled with 1.

    >>> import tinygrad_edu as T
    >>> T.ones(2, dtype=T.int64)
    tensor([1, 1])
    """
    return finish(np.ones(shape_of(size), _np(dtype)), requires_grad, device)


# Uninitialized memory would only confuse a learner, so empty tensors are zeros.
empty = zeros


def full_like(
    input: Tensor, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A tensor with the shape and dtype of `input`, filled with `fill_value`.

    >>> import tinygrad_edu as T
    >>> T.full_like(T.zeros(2), 3.0)
    tensor([3., 3.])
    """
    array = input._data
    out = full(array.shape, fill_value, dtype=dtype or input.dtype, device=device, requires_grad=requires_grad)
    if not array.flags.c_contiguous and 0 not in array.strides:
        # In the order of its elements in memory, as PyTorch does.
        out._data = np.full_like(array, out._data.flat[0] if array.size else 0, dtype=out._data.dtype, subok=False)
    return out


def zeros_like(input: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """Zeros with the shape and dtype of `input`. For an array (inside a backward rule) it returns an array.

    >>> import tinygrad_edu as T
    >>> T.zeros_like(T.ones(2))
    tensor([0., 0.])
    """
    if not isinstance(input, Tensor):
        return np.zeros_like(input)
    return full_like(input, 0, dtype=dtype, device=device, requires_grad=requires_grad)


def ones_like(input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones with the shape and dtype of `input`.

    >>> import tinygrad_edu as T
    >>> T.ones_like(T.tensor([1.0, 2.0]))
    tensor([1., 1.])
    """
    return full_like(input, 1, dtype=dtype, device=device, requires_grad=requires_grad)


empty_like = zeros_like


def arange(
    start: Any, end: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """start, start + step, …, up to but not including `end`. Integer arguments make int64, floats the default dtype.

    >>> import tinygrad_edu as T
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
    if kind.kind not in "fV":
        start, end, step = int(start), int(end), int(step)
    count = math.ceil((end - start) / step)
    return finish((start + step * np.arange(count)).astype(kind), requires_grad, device)


def _number(value: Any) -> Any:
    """A Python number from a number, or from a tensor or an array with one element."""
    if isinstance(value, complex):
        raise TypeError(absent.sentence("complex"))
    return value.item() if isinstance(value, Tensor | np.generic | np.ndarray) else value


def linspace(
    start: Any, end: Any, steps: int, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """`steps` values from `start` to `end`, both included, evenly spaced.

    >>> import tinygrad_edu as T
    >>> T.linspace(0, 1, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    kind = _np(dtype)
    start, end = ends(start, end, steps)
    for edge in (start, end):
        fitted(edge, kind)
    if kind.kind in "iu":
        start, end = int(start), int(end)
    return finish(np.linspace(start, end, steps).astype(kind), requires_grad, device)


def ends(start: Any, end: Any, steps: int) -> tuple[Any, Any]:
    """The ends of a range of `steps` numbers; 0-d tensors are accepted in place of numbers.

    Raises:
        RuntimeError: a tensor is not 0-d, or `steps` is negative.
    """
    if any(isinstance(v, Tensor) and v.ndim for v in (start, end)):
        raise RuntimeError("linspace only supports 0-dimensional start and end tensors")
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    return _number(start), _number(end)


def eye(n: int, m: int | None = None, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """An n×m matrix with ones on the diagonal and zeros elsewhere.

    >>> import tinygrad_edu as T
    >>> T.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    for name, size in (("n", n), ("m", n if m is None else m)):
        if size < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {size}")
    return finish(np.eye(n, m, dtype=_np(dtype)), requires_grad, device)


def as_operand(x: Any) -> Any:
    """A Python number as a 0-d tensor of its default dtype."""
    if isinstance(x, Tensor):
        return x
    x = dtypes.number(x)
    return wrap(np.asarray(x, dtypes.promote([x])))


def as_number(value: Any, like: np.ndarray) -> Any:
    """A Python number in the dtype of `like`. A float stays a float if `like` holds integers.

    Raises:
        RuntimeError: the dtype cannot hold it.
    """
    if not isinstance(value, np.generic | np.ndarray | int | float | complex):
        raise TypeError(f"argument 'value' must be Number, not {type(value).__name__}.")
    return fitted(value, like.dtype) if like.dtype.kind in "fV" or isinstance(value, int) else value


def fitted(value: Any, kind: np.dtype) -> np.ndarray:
    """A number converted to a dtype. An integer dtype drops the fraction of a float.

    Raises:
        RuntimeError: the dtype cannot hold it.
    """
    if isinstance(value, complex) and kind.kind != "c":
        raise RuntimeError(
            f"value cannot be converted to type {kind.name} without overflow: it has an imaginary part. Make the tensor "
            "complex first, as in t.to(complex64)."
        )
    if kind.kind in "fV":
        if dtypes.finfo(dtypes.from_numpy_dtype(kind)).max < abs(value) < np.inf:
            raise _overflow({"float16": "c10::Half", "bfloat16": "c10::BFloat16"}.get(kind.name, "float"), kind)
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
        f"value cannot be converted to type {name} without overflow. {kind.name} holds numbers from {held.min} to {held.max}."
    )
