"""Functions over lists of tensors, as optimizers call them: `_foreach_add_(params, grads, alpha=-lr)`. Each runs as a loop.

They begin with an underscore in PyTorch, and third-party optimizers use them all the same (PyTorch: `torch._foreach_add`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...ops import functions
from ...tensor import Tensor

__all__: list[str] = []

_UNARY = [
    "abs",
    "acos",
    "asin",
    "atan",
    "ceil",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "expm1",
    "floor",
    "frac",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "neg",
    "reciprocal",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
]
_BINARY = ["add", "clamp_max", "clamp_min", "div", "maximum", "minimum", "mul", "pow", "sub"]
_TERNARY = ("addcdiv", "addcmul", "lerp")
_OF_PLACES = {"maximum": "clamp_min", "minimum": "clamp_max"}  # beside a number


def _checked(self: Any, name: str) -> list[Tensor]:
    if not isinstance(self, list | tuple):
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got ({type(self).__name__}, ...). Pass a list of tensors, "
            "such as list(model.parameters())."
        )
    if not self:
        raise RuntimeError("Tensor list must have at least one tensor. The list is empty.")
    for i, t in enumerate(self):
        if not isinstance(t, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(t).__name__}.")
    return list(self)


def _spread(value: Any, count: int) -> list[Any]:
    """`value` for each of the tensors: the items of a list, or the same for all."""
    if not isinstance(value, list | tuple):
        return [value] * count
    if len(value) != count:
        if isinstance(value[0] if value else None, Tensor):
            raise RuntimeError(f"Tensor lists must have the same number of tensors, got {count} and {len(value)}.")
        raise RuntimeError("Tensor list must have same number of elements as scalar list.")
    return list(value)


def _number(value: Any) -> Any:
    if isinstance(value, Tensor) and value.dim() > 0:
        raise RuntimeError(
            f"scalar tensor expected to be 0 dim but it has {value.dim()} dimensions and {value.numel()} elements."
        )
    return value


def _unary(name: str, in_place: bool) -> Callable[..., Any]:
    def call(self: Any) -> Any:
        made = [getattr(t, f"{name}_" if in_place else name)() for t in _checked(self, f"_foreach_{name}")]
        return self if in_place else tuple(made)

    return call


def _binary(name: str, in_place: bool) -> Callable[..., Any]:
    def call(self: Any, other: Any = None, *, alpha: Any = None, rounding_mode: Any = None, **named: Any) -> Any:
        if other is None:  # by PyTorch's other names: scalar, scalars, tensor, exponent
            (other,) = named.values()
        if name == "pow" and not in_place and isinstance(self, int | float):
            return tuple(functions["pow"](self, e) for e in _checked(other, "_foreach_pow"))
        tensors = _checked(self, f"_foreach_{name}")
        settings = {k: v for k, v in (("alpha", alpha), ("rounding_mode", rounding_mode)) if v is not None}
        made = []
        for t, operand in zip(tensors, _spread(_number(other), len(tensors)), strict=True):
            place = name if isinstance(operand, Tensor) else _OF_PLACES.get(name, name)
            value = getattr(t, place if not in_place or not hasattr(t, f"{place}_") else f"{place}_")(
                operand, **settings
            )
            made.append(t.copy_(value) if in_place and value is not t else value)
        return self if in_place else tuple(made)

    return call


def _ternary(name: str, in_place: bool) -> Callable[..., Any]:
    def call(self: Any, tensor1: Any, tensor2: Any = None, *scalars: Any, value: Any = 1, **named: Any) -> Any:
        if tensor2 is None:
            (tensor2,) = named.values()
        elif named:
            scalars = tuple(named.values())
        tensors = _checked(self, f"_foreach_{name}")
        n = len(tensors)
        method = f"{name}_" if in_place else name
        if name == "lerp":
            rows = zip(tensors, _spread(tensor1, n), _spread(_number(tensor2), n), strict=True)
            made = [getattr(t, method)(end, weight) for t, end, weight in rows]
        else:
            values = scalars[0] if scalars else value
            values = values.tolist() if isinstance(values, Tensor) else values
            rows = zip(tensors, _spread(tensor1, n), _spread(tensor2, n), _spread(values, n), strict=True)  # type: ignore[assignment]
            made = [getattr(t, method)(a, b, value=v) for t, a, b, v in rows]  # type: ignore[misc]
        return self if in_place else tuple(made)

    return call


def _foreach_norm(self: Any, ord: Any = 2, dtype: Any = None) -> Any:
    return tuple(functions["norm"](t, ord, dtype=dtype) for t in _checked(self, "_foreach_norm"))


def _foreach_powsum(self: Any, ord: Any = 2, dtype: Any = None) -> Any:
    return tuple(t.abs().pow(ord).sum(dtype=dtype) for t in _checked(self, "_foreach_powsum"))


def _foreach_max(self: Any) -> Any:
    return tuple(t.max() for t in _checked(self, "_foreach_max"))


def _foreach_clone(self: Any, memory_format: Any = None) -> Any:
    return tuple(t.clone() for t in _checked(self, "_foreach_clone"))


def _foreach_mm(self: Any, mat2: Any) -> Any:
    tensors = _checked(self, "_foreach_mm")
    return tuple(a.mm(b) for a, b in zip(tensors, _spread(mat2, len(tensors)), strict=True))


def _foreach_zero_(self: Any) -> Any:
    for t in _checked(self, "_foreach_zero_"):
        t.zero_()
    return self


def _foreach_copy_(self: Any, src: Sequence[Tensor], non_blocking: bool = False) -> Any:
    tensors = _checked(self, "_foreach_copy_")
    for t, value in zip(tensors, _spread(src, len(tensors)), strict=True):
        t.copy_(value)
    return self


def _amp_foreach_non_finite_check_and_unscale_(self: Any, found_inf: Tensor, inv_scale: Tensor) -> None:
    for t in self:
        if not bool(t.isfinite().all()):
            found_inf.fill_(1.0)
        t.mul_(inv_scale)


for _names, _make in ((_UNARY, _unary), (_BINARY, _binary), (_TERNARY, _ternary)):
    for _name in _names:
        globals()[f"_foreach_{_name}"] = _make(_name, False)
        globals()[f"_foreach_{_name}_"] = _make(_name, True)
NAMES = tuple(name for name in globals() if name.startswith(("_foreach_", "_amp_foreach_")))
