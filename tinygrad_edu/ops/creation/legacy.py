"""Older constructors, such as `FloatTensor([1, 2])` and `LongTensor(2, 3)`."""

from __future__ import annotations

from typing import Any

from ...array.dtypes import LEGACY, bool_, dtype, float16, float32, float64, int8, int16, int32, int64, uint8
from ...array.tensor import Size, Tensor
from .factories import tensor, zeros

__all__ = ["BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor"]
__all__ += ["LongTensor", "ShortTensor"]


def _made(data: tuple[Any, ...], kind: dtype) -> Tensor:
    if not data or isinstance(data[0], int | Size):
        return zeros(*(data or (0,)), dtype=kind)
    if isinstance(data[0], Tensor):
        if data[0].dtype is not kind:
            raise TypeError(
                f"expected TensorOptions(dtype={kind.name}) (got TensorOptions(dtype={data[0].dtype.name})): the "
                "tensor is not converted. Write t.to(dtype)."
            )
        return data[0][...]
    return tensor(data[0], dtype=kind)


class _LegacyType(type):
    """The metaclass of `FloatTensor` and others. Calling one makes a tensor; tensors of its dtype are instances."""

    dtype: dtype

    def __call__(cls, *data: Any) -> Tensor:
        return _made(data, cls.dtype)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"


def _legacy(kind: dtype) -> Any:
    name = f"{kind.legacy_name}Tensor"
    doc = f"A tensor of {kind.name}, made from data, as in `{name}([1, 2])`, or from a shape, as in `{name}(2, 3)`."
    made = _LegacyType(name, (), {"dtype": kind, "__doc__": doc, "__module__": __name__})
    LEGACY[made] = kind  # for `t.type(T.FloatTensor)`
    return made


FloatTensor, DoubleTensor, HalfTensor = _legacy(float32), _legacy(float64), _legacy(float16)
LongTensor, IntTensor, ShortTensor = _legacy(int64), _legacy(int32), _legacy(int16)
CharTensor, ByteTensor, BoolTensor = _legacy(int8), _legacy(uint8), _legacy(bool_)


def new(self: Tensor, *data: Any) -> Tensor:
    """A tensor made from data, or from a shape, in the dtype of this one."""
    return _made(data, self.dtype)


class LegacyMethods:
    """The methods of Tensor that are defined here."""

    new = new
