"""The ops, a file a family, and their binding to the names that users call: functions, methods, operators, in-place forms."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes, overrides
from ..overrides import overridable
from ..tensor import Tensor, device, wrap
from . import compare, creation, index, linalg, pointwise, reduce, shape
from .op import Op, elementwise, linear

__all__ = ["Op", "elementwise", "functions", "linear"]

# The public functions, by name: what `tinygrad_edu.<name>` is.
functions: dict[str, Callable[..., Any]] = {}


def _refuse_non_tensors(function: Callable[..., Any]) -> Callable[..., Any]:
    """The functions of `ops` take arrays too, for the rules; a user's call has to begin with a Tensor."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if overrides.modes.stack:
            return overrides.dispatch(call, args, kwargs)
        if args and isinstance(args[0], Tensor):
            return function(*args, **kwargs)
        if any(isinstance(a, Tensor) for a in (*args, *kwargs.values())):
            return function(*args, **kwargs)
        given = type(args[0]).__name__ if args else "nothing"
        raise TypeError(
            f"{function.__name__}(): argument 'input' (position 1) must be Tensor, not {given}. Make one with "
            "tinygrad_edu.tensor(…)."
        )

    return call


def _public(function: Callable[..., Any], *names: str, method: bool = True) -> None:
    call = _refuse_non_tensors(function)
    for name in names or (function.__name__,):
        functions[name] = call
        if method:
            setattr(Tensor, name, call)


_BOTH = [
    pointwise.add, pointwise.sub, pointwise.mul, pointwise.div, pointwise.neg, pointwise.abs, pointwise.sign,
    pointwise.reciprocal, pointwise.pow, pointwise.sqrt, pointwise.square, pointwise.exp, pointwise.log, pointwise.sin,
    pointwise.cos, pointwise.tanh, pointwise.sigmoid, pointwise.relu, pointwise.clamp, pointwise.maximum,
    pointwise.minimum, pointwise.clone,
    compare.eq, compare.ne, compare.lt, compare.le, compare.gt, compare.ge, compare.bitwise_and, compare.bitwise_or,
    compare.bitwise_xor, compare.bitwise_not, compare.isnan, compare.equal, compare.allclose,
    reduce.sum, reduce.mean, reduce.max, reduce.min, reduce.all, reduce.any, reduce.argmax, reduce.argmin,
    shape.reshape, shape.flatten, shape.permute, shape.transpose, shape.t, shape.unsqueeze, shape.squeeze,
    shape.broadcast_to,
    linalg.dot, linalg.mv, linalg.mm, linalg.bmm, linalg.matmul, linalg.addmm,
    index.select, index.narrow, index.index_put, index.as_strided,
]  # fmt: skip
_METHODS = [shape.view, shape.view_as, shape.reshape_as, shape.expand, shape.expand_as, shape.sum_to_size]
_ALIASES = {
    "subtract": pointwise.sub,
    "multiply": pointwise.mul,
    "divide": pointwise.div,
    "true_divide": pointwise.div,
    "negative": pointwise.neg,
    "absolute": pointwise.abs,
    "clip": pointwise.clamp,
    "greater": compare.gt,
    "less": compare.lt,
    "swapaxes": shape.transpose,
    "rsub": pointwise.rsub,
}
_CREATION = [getattr(creation, name) for name in creation.__all__]

for _function in _BOTH:
    _public(_function)
for _name, _function in _ALIASES.items():
    _public(_function, _name)
for _function in _METHODS:
    setattr(Tensor, _function.__name__, _refuse_non_tensors(_function))
for _function in _CREATION:
    functions[_function.__name__] = overridable(_function)
functions["empty"] = overridable(creation.zeros, "empty")
functions["empty_like"] = overridable(creation.zeros_like, "empty_like")


def _where(condition: Any, input: Any = None, other: Any = None) -> Any:
    """`input` where `condition` holds, `other` elsewhere."""
    if not isinstance(condition, Tensor):
        raise TypeError(f"where(): argument 'condition' (position 1) must be Tensor, not {type(condition).__name__}")
    return pointwise.where(condition, _as_operand(input), _as_operand(other))


def _as_operand(x: Any) -> Any:
    return x if isinstance(x, Tensor) else wrap(np.asarray(x, dtypes.promote([x])))


functions["where"] = overridable(_where, "where")
Tensor.where = overridable(lambda self, condition, other: _where(condition, self, other), "where")

# --- operators -------------------------------------------------------------------------------------------------------

_OPERANDS = (Tensor, int, float, np.ndarray, np.generic)


def _operator(name: str, function: Callable[..., Any]) -> None:
    @functools.wraps(function)
    def operator(self: Tensor, other: Any) -> Any:
        if not isinstance(other, _OPERANDS):
            return NotImplemented
        if overrides.modes.stack:
            return overrides.dispatch(operator, (self, other), {})
        if isinstance(other, np.ndarray | np.generic):
            other = creation.as_tensor(other)
        return function(self, other)

    setattr(Tensor, name, operator)


def _reflected_div(self: Tensor, other: Any) -> Tensor:
    """other / self, which PyTorch computes as a product with the reciprocal."""
    return pointwise.mul(pointwise.reciprocal(self), other)


def _reflected_pow(self: Tensor, other: Any) -> Tensor:
    return pointwise.pow(other, self)


def _reflected_matmul(self: Tensor, other: Any) -> Tensor:
    return linalg.matmul(other, self)


for _name, _function in {
    "add": pointwise.add, "radd": pointwise.add, "sub": pointwise.sub, "rsub": pointwise.rsub, "mul": pointwise.mul,
    "rmul": pointwise.mul, "truediv": pointwise.div, "rtruediv": _reflected_div, "pow": pointwise.pow,
    "rpow": _reflected_pow, "matmul": linalg.matmul, "rmatmul": _reflected_matmul, "eq": compare.eq, "ne": compare.ne,
    "lt": compare.lt, "le": compare.le, "gt": compare.gt, "ge": compare.ge, "and": compare.bitwise_and,
    "or": compare.bitwise_or, "xor": compare.bitwise_xor,
}.items():  # fmt: skip
    _operator(f"__{_name}__", _function)

for _name, _function in {
    "__neg__": pointwise.neg, "__abs__": pointwise.abs, "__invert__": compare.bitwise_not, "__getitem__": index.getitem,
}.items():  # fmt: skip
    setattr(Tensor, _name, overridable(_function))
Tensor.__pos__ = lambda self: self
Tensor.__setitem__ = overridable(Tensor.__setitem__)

# --- in place --------------------------------------------------------------------------------------------------------


def _inplace(name: str, function: Callable[..., Any]) -> None:
    call = overridable(function, name)
    setattr(Tensor, name, call)


_inplace("add_", lambda self, other, *, alpha=1: pointwise.Add.apply_(self, other, alpha=alpha))
_inplace("sub_", lambda self, other, *, alpha=1: pointwise.Sub.apply_(self, other, alpha=alpha))
_inplace("mul_", lambda self, other: pointwise.Mul.apply_(self, other))
_inplace("div_", lambda self, other: pointwise.Div.apply_(self, other))
_inplace("clamp_", lambda self, min=None, max=None: pointwise.Clamp.apply_(self, min=min, max=max))
for _name, _op in {
    "neg_": pointwise.Neg, "abs_": pointwise.Abs, "reciprocal_": pointwise.Reciprocal, "sqrt_": pointwise.Sqrt,
    "exp_": pointwise.Exp, "log_": pointwise.Log, "sin_": pointwise.Sin, "cos_": pointwise.Cos, "tanh_": pointwise.Tanh,
    "sigmoid_": pointwise.Sigmoid, "relu_": pointwise.Relu,
}.items():  # fmt: skip
    _inplace(_name, functools.partial(lambda op, self: op.apply_(self), _op))


def _pow_(self: Tensor, exponent: Any) -> Tensor:
    """self ** exponent, written into this tensor."""
    if isinstance(exponent, Tensor):
        return pointwise.PowTensor.apply_(self, exponent)
    return pointwise.Pow.apply_(self, exponent=exponent)


_inplace("pow_", _pow_)
_inplace("copy_", index.copy_)
_inplace("zero_", index.zero_)
_inplace("fill_", index.fill_)
_inplace(
    "index_put_",
    lambda self, indices, values, accumulate=False: index.IndexPut.apply_(
        self, values, indices=tuple(getattr(i, "_data", i) for i in indices), accumulate=accumulate
    ),
)
for _name, _method in {"iadd": "add_", "isub": "sub_", "imul": "mul_", "itruediv": "div_", "ipow": "pow_"}.items():
    setattr(Tensor, f"__{_name}__", getattr(Tensor, _method))

# --- detach, casts, small methods ------------------------------------------------------------------------------------


def detach(self: Tensor) -> Tensor:
    """The same values on the same storage, outside the graph; a write to one is a write to the other, and is counted."""
    out = wrap(self._data)
    if self._counter is None and not self._inference:
        self._counter = [0]
    out._counter = self._counter
    out._inference = self._inference
    return out


def detach_(self: Tensor) -> Tensor:
    """Cut this tensor out of the graph: it becomes a leaf."""
    if self._is_view():
        raise RuntimeError("Can't detach views in-place. Use detach() instead.")
    self._grad_fn, self.output_nr, self._requires_grad, self._retains_grad = None, 0, False, False
    return self


def _to_numpy_dtype(self: Tensor, d: np.dtype) -> Tensor:
    return self if self._data.dtype == d else pointwise.to_copy(self, d)


def to(self: Tensor, *args: Any, dtype: Any = None, device: Any = None, copy: bool = False, **ignored: Any) -> Tensor:
    """This tensor in another dtype; itself if it has that dtype already. The only device is the CPU."""
    for a in args:
        if isinstance(a, Tensor):
            dtype = a.dtype
        elif isinstance(a, dtypes.dtype):
            dtype = a
        elif isinstance(a, str) or type(a).__name__ == "device":
            device = a
    if device is not None:
        _check_device(device)
    if dtype is None:
        return self.clone() if copy else self
    kind = dtypes.to_numpy_dtype(dtype)
    if self._data.dtype == kind:
        return self.clone() if copy else self
    return pointwise.to_copy(self, kind)


def _check_device(where: Any) -> None:
    if not isinstance(where, device):
        device(where)


def type_as(self: Tensor, other: Tensor) -> Tensor:
    """This tensor in the dtype of `other`."""
    return _to_numpy_dtype(self, other._data.dtype)


def contiguous(self: Tensor) -> Tensor:
    """Itself if its elements lie in row-major order, else a copy in which they do."""
    return self if self.is_contiguous() else pointwise.clone(self)


def numpy_transpose(self: Tensor) -> Tensor:
    """The dimensions in reverse order."""
    return shape.t(self) if self.ndim == 2 else shape.permute(self, tuple(reversed(range(self.ndim))))


def _iterate(self: Tensor) -> Any:
    """The slices along the first dimension."""
    if self.ndim == 0:
        raise TypeError("iteration over a 0-d tensor")
    return (index.select(self, 0, i) for i in range(self.shape[0]))


for _function in (detach, detach_, to, type_as, contiguous):
    setattr(Tensor, _function.__name__, overridable(_function))
functions["detach"] = Tensor.detach
Tensor._to_numpy_dtype = _to_numpy_dtype
Tensor.T = property(numpy_transpose)
Tensor.mT = property(lambda self: shape.transpose(self, -2, -1))
Tensor.__iter__ = _iterate
for _name, _dtype in {
    "double": dtypes.float64, "float": dtypes.float32, "half": dtypes.float16, "long": dtypes.int64, "int": dtypes.int32,
    "short": dtypes.int16, "char": dtypes.int8, "byte": dtypes.uint8, "bool": dtypes.bool_,
}.items():  # fmt: skip
    setattr(
        Tensor, _name, overridable(functools.partial(lambda d, self: _to_numpy_dtype(self, d.numpy), _dtype), _name)
    )


def _new(name: str) -> Callable[..., Any]:
    make = getattr(creation, name)

    def method(self: Tensor, *args: Any, dtype: Any = None, **kwargs: Any) -> Tensor:
        return make(*args, dtype=self.dtype if dtype is None else dtype, **kwargs)

    method.__doc__ = f"As `{name}`, in the dtype of this tensor."
    return method


for _name in ("zeros", "ones", "full", "empty", "tensor"):
    setattr(Tensor, f"new_{_name}", _new(_name))
