"""Element by element: arithmetic, rounding, clamping, choosing. The line above a rule is its formula."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..tensor import Tensor, bind, wrap
from .binding import functions, operator, public
from .creation import zeros_like
from .op import Op, elementwise, linear

# --- sums and products -----------------------------------------------------------------------------------------------


class Add(Op):
    promotes = True

    def forward(self, other, *, alpha=1):
        if alpha == 1:
            return self + other
        return self + alpha * other

    def grad_self(grad):
        return grad

    def grad_other(grad, alpha):
        return grad if alpha == 1 else grad * alpha

    jvp = elementwise


class Sub(Op):
    promotes = True

    def forward(self, other, *, alpha=1):
        if isinstance(self, np.ndarray) and self.dtype.kind == "b":
            raise RuntimeError(
                "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
                "operator instead."
            )
        return self - (other if alpha == 1 else alpha * other)

    def grad_self(grad):
        return grad

    def grad_other(grad, alpha):
        return -grad if alpha == 1 else grad * -alpha

    jvp = elementwise


class Rsub(Op, name="RsubBackward1"):
    """other - self, for a number `other`."""

    promotes = True

    def forward(self, *, other, alpha=1):
        return other - alpha * self

    def grad_self(grad, alpha):
        return -grad if alpha == 1 else grad * -alpha

    jvp = elementwise


class RsubTensor(Op, name="RsubBackward0"):
    promotes = True

    def forward(self, other, *, alpha=1):
        return other - alpha * self

    def grad_self(grad, alpha):
        return -grad if alpha == 1 else grad * -alpha

    def grad_other(grad):
        return grad

    jvp = elementwise


class Mul(Op):
    promotes = True

    def forward(self, other):
        return self * other

    def grad_self(grad, other):
        return grad * other

    def grad_other(grad, self):
        return grad * self

    jvp = elementwise


class Div(Op):
    promotes = makes_float = True

    def forward(self, other):
        return self / other

    def grad_self(grad, other):
        return grad / other

    # d(s/o)/do = -s/o²
    def grad_other(grad, self, other):
        return -grad * ((self / other) / other)

    jvp = elementwise


class DivRounded(Op, name="DivBackward2"):
    """The quotient rounded to an integer: constant between jumps."""

    promotes = True

    def forward(self, other, *, rounding_mode):
        if rounding_mode == "floor":
            return np.floor_divide(self, other)
        return np.trunc(np.true_divide(self, other)).astype(np.result_type(self, other))

    def grad_self(grad):
        return zeros_like(grad)

    def grad_other(grad):
        return zeros_like(grad)

    jvp = elementwise


class FloorDivide(Op, name="torch::autograd::NotImplemented"):
    promotes = True

    def forward(self, other):
        return np.floor_divide(self, other)

    def gradients(grad, needs_input_grad):
        raise RuntimeError(
            "derivative for aten::floor_divide is not implemented. It is 0 wherever there is one; div(a, b, "
            "rounding_mode='floor') has that."
        )


class Neg(Op):
    def forward(self):
        if self.dtype.kind == "b":
            raise RuntimeError(
                "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use "
                "the `~` or `logical_not()` operator instead."
            )
        return -self

    def grad_self(grad):
        return -grad

    jvp = linear


class Reciprocal(Op):
    makes_float = True

    def forward(self):
        return 1 / self

    # d(1/s) = -1/s²
    def grad_self(grad, result):
        return -grad * (result * result)

    jvp = elementwise


class Remainder(Op):
    """What `self // other` leaves, with the sign of a number `other`."""

    promotes = True

    def forward(self, *, other):
        return np.remainder(self, other)

    def grad_self(grad):
        return grad

    jvp = elementwise


class RemainderTensor(Op, name="RemainderBackward1"):
    promotes = True

    def forward(self, other):
        return np.remainder(self, other)

    def grad_self(grad):
        return grad

    # s - o·⌊s/o⌋
    def grad_other(grad, self, other):
        return -grad * div(self, other, rounding_mode="floor")

    jvp = elementwise


class Fmod(Op):
    """What dividing toward zero leaves, with the sign of `self`."""

    promotes = True

    def forward(self, *, other):
        return np.fmod(self, other)

    def grad_self(grad):
        return grad

    jvp = elementwise


class FmodTensor(Op, name="FmodBackward1"):
    promotes = True

    def forward(self, other):
        return np.fmod(self, other)

    def grad_self(grad):
        return grad

    def grad_other(grad, self, other):
        return -grad * div(self, other, rounding_mode="trunc")

    jvp = elementwise


class Addcmul(Op):
    """self + value·tensor1·tensor2"""

    promotes = True

    def forward(self, tensor1, tensor2, *, value=1):
        return self + value * (tensor1 * tensor2)

    def grad_self(grad):
        return grad

    def grad_tensor1(grad, tensor2, value):
        return grad * (tensor2 * value)

    def grad_tensor2(grad, tensor1, value):
        return grad * (tensor1 * value)

    jvp = elementwise


class Addcdiv(Op):
    """self + value·tensor1/tensor2"""

    promotes = True

    def forward(self, tensor1, tensor2, *, value=1):
        return self + value * (tensor1 / tensor2)

    def grad_self(grad):
        return grad

    def grad_tensor1(grad, tensor2, value):
        return grad * (value / tensor2)

    def grad_tensor2(grad, tensor1, tensor2, value):
        return -grad * (value * tensor1 / (tensor2 * tensor2))

    jvp = elementwise


class Lerp(Op):
    """self + weight·(end - self), for a number `weight`."""

    def forward(self, end, *, weight):
        # From the nearer end, as PyTorch computes it, so that weight 1 gives `end` itself.
        return self + weight * (end - self) if abs(weight) < 0.5 else end - (end - self) * (1 - weight)

    def grad_self(grad, weight):
        return grad * (1 - weight)

    def grad_end(grad, weight):
        return grad * weight

    jvp = elementwise


class LerpTensor(Op, name="LerpBackward1"):
    def forward(self, end, weight):
        return np.where(np.abs(weight) < 0.5, self + weight * (end - self), end - (end - self) * (1 - weight))

    def grad_self(grad, weight):
        return grad * (1 - weight)

    def grad_end(grad, weight):
        return grad * weight

    def grad_weight(grad, self, end):
        return grad * (end - self)

    jvp = elementwise


# --- sign and rounding -----------------------------------------------------------------------------------------------


class Abs(Op):
    def forward(self):
        return np.abs(self)

    # The slope at the kink is 0.
    def grad_self(grad, self):
        return grad * sign(self)

    jvp = elementwise


class _Flat(Op):
    """Constant between jumps."""

    def grad_self(grad):
        return zeros_like(grad)

    jvp = elementwise


class Sign(_Flat):
    def forward(self):
        return np.sign(self) if self.dtype.kind != "b" else self.copy()


class Floor(_Flat):
    def forward(self):
        return np.floor(self).astype(self.dtype, copy=False)


class Ceil(_Flat):
    def forward(self):
        return np.ceil(self).astype(self.dtype, copy=False)


class Trunc(_Flat):
    def forward(self):
        return np.trunc(self).astype(self.dtype, copy=False)


class Round(_Flat):
    """Halves go to the even neighbour."""

    def forward(self):
        return np.round(self)


class RoundDecimals(_Flat, name="RoundBackward1"):
    def forward(self, *, decimals):
        scale = 10.0 ** abs(decimals)
        return (np.round(self * scale) / scale if decimals > 0 else np.round(self / scale) * scale).astype(self.dtype)


class Frac(Op):
    def forward(self):
        return self - np.trunc(self)

    def grad_self(grad):
        return grad

    jvp = elementwise


# --- bounds ----------------------------------------------------------------------------------------------------------


class Clamp(Op, name="ClampBackward1"):
    def forward(self, *, min=None, max=None):
        # The upper bound wins where both cross; nan stays nan.
        out = self if min is None else np.maximum(self, _as_number(min, self))
        return (
            out.copy()
            if max is None and min is None
            else out
            if max is None
            else np.minimum(out, _as_number(max, self))
        )

    # The bounds themselves let the gradient pass.
    def grad_self(grad, self, min, max):
        return where(_between(self, min, max), grad, 0.0)

    jvp = elementwise


class ClampTensor(Op, name="ClampBackward0"):
    """Bounds that are tensors, and may have gradients."""

    promotes = True

    def forward(self, min, max):
        out = self if min is None else np.maximum(self, min)
        return out if max is None else np.minimum(out, max)

    def grad_self(grad, self, min, max):
        return where(_between(self, min, max), grad, 0.0)

    def grad_min(grad, self, min, max):
        below = self < min
        return where(below if max is None else below & (min < max), grad, 0.0)

    def grad_max(grad, self, min, max):
        above = self > max
        return where(above if min is None else above | (max < min), grad, 0.0)

    jvp = elementwise


class ClampMin(Op):
    def forward(self, *, min):
        return np.maximum(self, _as_number(min, self))

    def grad_self(grad, self, min):
        return where(self >= min, grad, 0.0)

    jvp = elementwise


class ClampMax(Op):
    def forward(self, *, max):
        return np.minimum(self, _as_number(max, self))

    def grad_self(grad, self, max):
        return where(self <= max, grad, 0.0)

    jvp = elementwise


class ClampMinTensor(Op, name="ClampMinBackward1"):
    promotes = True

    def forward(self, min):
        return np.maximum(self, min)

    def grad_self(grad, self, min):
        return where(self >= min, grad, 0.0)

    def grad_min(grad, self, min):
        return where(self < min, grad, 0.0)

    jvp = elementwise


class ClampMaxTensor(Op, name="ClampMaxBackward1"):
    promotes = True

    def forward(self, max):
        return np.minimum(self, max)

    def grad_self(grad, self, max):
        return where(self <= max, grad, 0.0)

    def grad_max(grad, self, max):
        return where(self > max, grad, 0.0)

    jvp = elementwise


class Maximum(Op):
    promotes = True

    def forward(self, other):
        return np.maximum(self, other)

    # At a tie both take half.
    def grad_self(grad, self, other):
        return where(self == other, grad / 2, where(self > other, grad, 0.0))

    def grad_other(grad, self, other):
        return where(self == other, grad / 2, where(other > self, grad, 0.0))

    jvp = elementwise


class Minimum(Op):
    promotes = True

    def forward(self, other):
        return np.minimum(self, other)

    def grad_self(grad, self, other):
        return where(self == other, grad / 2, where(self < other, grad, 0.0))

    def grad_other(grad, self, other):
        return where(self == other, grad / 2, where(other < self, grad, 0.0))

    jvp = elementwise


class NanToNum(Op):
    def forward(self, *, nan=None, posinf=None, neginf=None):
        return np.nan_to_num(self, nan=nan or 0.0, posinf=posinf, neginf=neginf)

    def grad_self(grad, self):
        return where(isfinite(self), grad, 0.0)

    jvp = elementwise


# --- choices ---------------------------------------------------------------------------------------------------------


class Where(Op):
    """self where `condition` holds, other elsewhere."""

    promotes = True

    def forward(self, other, *, condition):
        return np.where(condition, self, other)

    def grad_self(grad, condition):
        return where(condition, grad, 0.0)

    def grad_other(grad, condition):
        return where(condition, 0.0, grad)

    jvp = elementwise


class MaskedFill(Op):
    """`value`, a number, where `mask` holds; self elsewhere."""

    def forward(self, *, mask, value):
        return np.where(mask, _as_number(value, self), self)

    def grad_self(grad, mask):
        return where(mask, 0.0, grad)

    jvp = elementwise


class MaskedFillTensor(Op, name="MaskedFillBackward1"):
    """As MaskedFill, for a 0-d tensor that may have a gradient."""

    def forward(self, value, *, mask):
        return np.where(mask, value, self).astype(self.dtype, copy=False)

    def grad_self(grad, mask):
        return where(mask, 0.0, grad)

    def grad_value(grad, mask):
        return where(mask, grad, 0.0).sum()

    def jvp(tangent, value_tangent, mask):
        return where(mask, value_tangent, tangent)


# --- copies ----------------------------------------------------------------------------------------------------------


class Clone(Op):
    def forward(self, *, order="K"):
        return self.copy(order)

    def grad_self(grad):
        return grad

    jvp = linear


class ToCopy(Op):
    """A copy in another dtype; the engine brings the gradient back to the dtype of the input."""

    def forward(self, *, dtype):
        return self.astype(dtype)

    def grad_self(grad):
        return grad

    jvp = linear


# --- functions -------------------------------------------------------------------------------------------------------


def _as_number(value: Any, like: np.ndarray) -> Any:
    """A Python number in the dtype of `like`, so that infinity and large bounds do not widen integers."""
    return np.asarray(value, like.dtype) if like.dtype.kind == "f" else value


def _between(value, min, max):
    """Where `value` keeps to its bounds (nan does)."""
    inside = value == value
    if min is not None:
        inside = inside & ((value >= min) | (value != value))
    if max is not None:
        inside = inside & ((value <= max) | (value != value))
    return inside


def isfinite(input):
    """True where `input` is neither infinite nor nan; as an array, for a mask."""
    return np.isfinite(getattr(input, "_data", input))


@public(inplace=Add, operators=("__add__", "__radd__"))
def add(input, other, *, alpha=1):
    """input + alpha * other, broadcast."""
    return Add.apply(input, other, alpha=alpha)


@public("subtract", inplace=Sub, operators=("__sub__",))
def sub(input, other, *, alpha=1):
    """input - alpha * other, broadcast."""
    return Sub.apply(input, other, alpha=alpha)


@operator("__rsub__")
@public()
def rsub(input, other, *, alpha=1):
    """other - alpha * input."""
    if isinstance(other, int | float):
        return Rsub.apply(input, other=other, alpha=alpha)
    return RsubTensor.apply(input, other, alpha=alpha)


@public("multiply", inplace=Mul, operators=("__mul__", "__rmul__"))
def mul(input, other):
    """input * other, broadcast."""
    return Mul.apply(input, other)


def _div_(self, other, *, rounding_mode=None):
    if rounding_mode is None:
        return Div.apply_(self, other)
    _check_rounding(rounding_mode)
    return DivRounded.apply_(self, other, rounding_mode=rounding_mode)


def _check_rounding(mode):
    if mode not in ("floor", "trunc"):
        raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{mode}'")


@public("divide", inplace=_div_, operators=("__truediv__",))
def div(input, other, *, rounding_mode=None):
    """input / other, broadcast; integers give floats. `rounding_mode` "floor" or "trunc" rounds the quotient."""
    if rounding_mode is None:
        return Div.apply(input, other)
    _check_rounding(rounding_mode)
    return DivRounded.apply(input, other, rounding_mode=rounding_mode)


@public()
def true_divide(input, other):
    """input / other, broadcast; integers give floats."""
    return Div.apply(input, other)


@operator("__rtruediv__")
def __rdiv__(self, other):
    """other / self, which PyTorch computes as a product with the reciprocal."""
    return mul(reciprocal(self), other)


@operator("__floordiv__")
@public(inplace=FloorDivide)
def floor_divide(input, other):
    """⌊input / other⌋."""
    return FloorDivide.apply(input, other)


@operator("__rfloordiv__")
def __rfloordiv__(self, other):
    return FloorDivide.apply(other, self)


@public("negative", inplace=Neg, operators=("__neg__",))
def neg(input):
    """-input."""
    return Neg.apply(input)


@public(inplace=Reciprocal)
def reciprocal(input):
    """1 / input."""
    return Reciprocal.apply(input)


def _remainder_(self, other):
    if isinstance(other, Tensor):
        return RemainderTensor.apply_(self, other)
    return Remainder.apply_(self, other=other)


@public(inplace=_remainder_, operators=("__mod__",))
def remainder(input, other):
    """What dividing `input` by `other` leaves, with the sign of `other`, as Python's %."""
    if isinstance(input, int | float):
        input = _as_operand(input)
    if isinstance(other, int | float):
        return Remainder.apply(input, other=other)
    return RemainderTensor.apply(input, other)


@operator("__rmod__")
def __rmod__(self, other):
    return remainder(other, self)


def _fmod_(self, other):
    if isinstance(other, Tensor):
        return FmodTensor.apply_(self, other)
    return Fmod.apply_(self, other=other)


@public(inplace=_fmod_)
def fmod(input, other):
    """What dividing `input` by `other` leaves, with the sign of `input`, as C's fmod."""
    if isinstance(other, int | float):
        return Fmod.apply(input, other=other)
    return FmodTensor.apply(input, other)


@public(inplace=Addcmul)
def addcmul(input, tensor1, tensor2, *, value=1):
    """input + value * tensor1 * tensor2."""
    return Addcmul.apply(input, tensor1, tensor2, value=value)


@public(inplace=Addcdiv)
def addcdiv(input, tensor1, tensor2, *, value=1):
    """input + value * tensor1 / tensor2."""
    for t in (tensor1, tensor2):
        if t._data.dtype.kind != "f":
            raise RuntimeError(
                "Integer division with addcdiv is no longer supported, and in a future release addcdiv will perform a "
                "true division of tensor1 and tensor2. Make them floats first."
            )
    return Addcdiv.apply(input, tensor1, tensor2, value=value)


def _lerp_(self, end, weight):
    if isinstance(weight, Tensor):
        return LerpTensor.apply_(self, end, weight)
    return Lerp.apply_(self, end, weight=weight)


@public(inplace=_lerp_)
def lerp(input, end, weight):
    """input + weight * (end - input)."""
    _need_same_dtype(input, end)
    if isinstance(weight, int | float):
        return Lerp.apply(input, end, weight=weight)
    return LerpTensor.apply(input, end, weight)


def _need_same_dtype(a, b):
    if a._data.dtype != b._data.dtype:
        raise RuntimeError(f"expected dtype {a.dtype.name} for `end` but got dtype {b.dtype.name}")


@public("absolute", inplace=Abs, operators=("__abs__",))
def abs(input):
    """The absolute value; its slope at 0 is 0."""
    return Abs.apply(input)


@public("sgn", inplace=Sign)
def sign(input):
    """-1, 0 or 1."""
    return Sign.apply(input)


@public(inplace=Floor)
def floor(input):
    """The largest integer not above."""
    return Floor.apply(input)


@public(inplace=Ceil)
def ceil(input):
    """The smallest integer not below."""
    return Ceil.apply(input)


@public("fix", inplace=Trunc)
def trunc(input):
    """Without the fraction."""
    return Trunc.apply(input)


def _round_(self, *, decimals=0):
    return Round.apply_(self) if decimals == 0 else RoundDecimals.apply_(self, decimals=decimals)


@public(inplace=_round_)
def round(input, *, decimals=0):
    """The nearest integer, or multiple of 10**-decimals; halves go to the even one."""
    return Round.apply(input) if decimals == 0 else RoundDecimals.apply(input, decimals=decimals)


@public(inplace=Frac)
def frac(input):
    """The fraction, with the sign of `input`."""
    return Frac.apply(input)


def _clamp_(self, min=None, max=None):
    _check_bounds(min, max)
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        return ClampTensor.apply_(self, _as_bound(min), _as_bound(max))
    return Clamp.apply_(self, min=min, max=max)


def _check_bounds(min, max):
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")


def _as_bound(bound):
    return bound if bound is None or not isinstance(bound, int | float) else _as_operand(bound)


@public("clip", inplace=_clamp_)
def clamp(input, min=None, max=None):
    """input kept between `min` and `max`, numbers or tensors."""
    _check_bounds(min, max)
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        return ClampTensor.apply(input, _as_bound(min), _as_bound(max))
    return Clamp.apply(input, min=min, max=max)


def _clamp_min_(self, min):
    return ClampMinTensor.apply_(self, min) if isinstance(min, Tensor) else ClampMin.apply_(self, min=min)


@public(inplace=_clamp_min_)
def clamp_min(input, min):
    """input, or `min` where that is larger."""
    return ClampMinTensor.apply(input, min) if isinstance(min, Tensor) else ClampMin.apply(input, min=min)


def _clamp_max_(self, max):
    return ClampMaxTensor.apply_(self, max) if isinstance(max, Tensor) else ClampMax.apply_(self, max=max)


@public(inplace=_clamp_max_)
def clamp_max(input, max):
    """input, or `max` where that is smaller."""
    return ClampMaxTensor.apply(input, max) if isinstance(max, Tensor) else ClampMax.apply(input, max=max)


@public()
def maximum(input, other):
    """The larger of two, element by element; at a tie both get half of the gradient."""
    return Maximum.apply(input, other)


@public()
def minimum(input, other):
    """The smaller of two, element by element; at a tie both get half of the gradient."""
    return Minimum.apply(input, other)


@public(inplace=NanToNum)
def nan_to_num(input, nan=None, posinf=None, neginf=None):
    """`nan` (0) for nan, and `posinf`, `neginf` (the largest finite numbers) for the infinities."""
    return NanToNum.apply(input, nan=nan, posinf=posinf, neginf=neginf)


def _as_operand(x: Any) -> Any:
    """A Python number as a 0-d tensor of the dtype it stands for."""
    return x if isinstance(x, Tensor) else wrap(np.asarray(x, dtypes.promote([x])))


def where(condition, input, other):
    """input where `condition` holds, other elsewhere."""
    return Where.apply(input, other, condition=getattr(condition, "_data", condition))


@public(where=(functions,), method=False)
def _where(condition, input=None, other=None):
    """`input` where `condition` holds, `other` elsewhere; with `condition` alone, the indices where it holds."""
    if not isinstance(condition, Tensor):
        raise TypeError(f"where(): argument 'condition' (position 1) must be Tensor, not {type(condition).__name__}")
    if condition._data.dtype != np.bool_:
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype.name}"
        )
    if input is None and other is None:
        return tuple(wrap(i) for i in np.nonzero(condition._data))
    # Numbers promote as numbers: they do not widen a tensor.
    if not isinstance(input, Tensor) and not isinstance(other, Tensor):
        input = _as_operand(input)
    return where(condition, input, other)


functions["where"] = functions.pop("_where")
functions["where"].__name__ = functions["where"].__qualname__ = "where"
bind("where", lambda self, condition, other: functions["where"](condition, self, other))


def _masked_fill_(self, mask, value):
    if isinstance(value, Tensor):
        return MaskedFillTensor.apply_(self, value, mask=mask._data)
    return MaskedFill.apply_(self, mask=mask._data, value=value)


@public(inplace=_masked_fill_)
def masked_fill(input, mask, value):
    """`value` where `mask` holds, input elsewhere."""
    if mask._data.dtype != np.bool_:
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype.name}")
    if isinstance(value, Tensor):
        if value.ndim:
            raise RuntimeError(
                f"masked_fill only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
            )
        return MaskedFillTensor.apply(input, value, mask=mask._data)
    return MaskedFill.apply(input, mask=mask._data, value=value)


@public()
def clone(input, *, memory_format=None):
    """A copy with storage of its own, in the graph."""
    return Clone.apply(input)


def to_copy(input: Any, dtype: np.dtype) -> Any:
    """A copy in another dtype."""
    return ToCopy.apply(input, dtype=dtype)
