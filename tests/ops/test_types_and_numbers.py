"""Each function of elements with each type, beside numbers and tensors of other types: PyTorch's type and numbers, or its error."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch

import tinygrad_edu

pytestmark = [pytest.mark.outer, pytest.mark.filterwarnings("ignore")]

TWO = """add sub mul div floor_divide remainder fmod pow maximum minimum fmax fmin atan2 hypot logaddexp logaddexp2 copysign eq lt
logical_and logical_xor bitwise_and bitwise_left_shift xlogy ldexp heaviside float_power gcd lcm nextafter dist rsub isclose inner"""
ONE = """abs acos ceil cos deg2rad digamma erf erfinv exp exp2 expm1 floor frac lgamma log log1p logit neg rad2deg reciprocal round rsqrt
sigmoid sign sgn sin sinc sqrt square tan tanh trunc nan_to_num isnan signbit logical_not bitwise_not i0 logcumsumexp:0 cumsum:0 cumprod:0
sum mean prod std var amax median nanmedian logsumexp:0 norm all argmax count_nonzero nansum nanmean quantile:0.5 diff trapezoid"""
MORE = (
    "T.clamp(x,0,1)", "T.clamp(x,0.5,1)", "T.clamp(x,max=0.5)", "T.where(x>1,x,0.5)", "T.addcmul(x,x,x,value=0.5)", "T.pow(2,x)", "2.5**x",
    "T.addcdiv(x,x,x+1)", "x%2", "5//x", "x/2", "x<<1", "x.round(decimals=1)", "T.trace(x.reshape(2,3))", "T.cov(x)", "T.lerp(x,x,0.5)",
    "T.matmul(x.reshape(2,3),x.reshape(3,2))", "T.dot(x.flatten(),x.flatten())", "T.cdist(x.reshape(2,3),x.reshape(2,3))", "F.softplus(x)",
    "T.addbmm(x[:1].reshape(1,1),x.reshape(2,1,3),x.reshape(2,3,1))", "x.fill_(-1.5)", "x.scatter(0,T.tensor([0]),-2)", "F.gelu(x)", "F.elu(x)",
    "F.cosine_similarity(x,x.to(T.float16)*1.37+0.3,0)",
)  # fmt: skip
# As in PyTorch but for the type of the error: who asks first.
OTHER_ERROR = ("bitwise_left_shift_", "bitwise_and_", "bitwise_not()", "gcd_", "lcm_")


def programs() -> list[str]:
    found = list(MORE)
    for name in TWO.split():
        operands = [
            "2",
            "0.5",
            "True",
            "x",
            *(f"x.to(T.{d})" for d in ("int64", "float16", "bool")),
            "T.ones((),dtype=T.float64)",
        ]
        found += [f"T.{name}(x,{y})" for y in operands] + [f"T.{name}(2,x)"]
        found += [
            f"x.{name}_({y})"
            for y in (*operands[:4], "x.to(T.float64)", "x.to(T.bool)")
            if hasattr(torch.Tensor, f"{name}_")
        ]
    for entry in ONE.split():
        name, _, given = entry.partition(":")
        found += [f"x.{name}({given})"] + [f"x.{name}_()"] * (not given and hasattr(torch.Tensor, f"{name}_"))
    return found


def outcome(T: Any, program: str, dtype: str, shape: tuple[int, ...]) -> Any:
    x = T.tensor([2, 1, 3, 0, 1, 2][: 6 if shape else 1], dtype=getattr(T, dtype)).reshape(shape)
    try:
        result = eval(program, {"T": T, "F": T.nn.functional, "x": x})
    except NotImplementedError as error:
        return "NotImplementedError" if "not implemented for" in str(error) else "refused"
    except AttributeError as error:
        return "refused" if "rarely used" in str(error) else "AttributeError"
    except Exception as error:
        return type(error).__name__
    result = result[0] if isinstance(result, tuple) else result
    return (
        (str(result.dtype).rpartition(".")[2], np.asarray(result.tolist(), float))
        if hasattr(result, "dtype")
        else result
    )


def same(a: Any, b: Any, dtype: str) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        close = 2e-2 if "float16" in (dtype, a[0]) else 1e-4
        return bool(a[0] == b[0] and a[1].shape == b[1].shape and np.allclose(a[1], b[1], close, close, equal_nan=True))
    return b == "refused" or (type(a) is type(b) is str and a == b) or a == b


@pytest.mark.parametrize("program", programs())
def test_types_and_numbers_are_those_of_pytorch(program: str) -> None:
    wrong = []
    for dtype in ("float32", "float16", "int64", "bool", "uint8"):
        for shape in ((6,), ()):
            if not shape and re.search(r"reshape|T.tensor", program):
                continue
            a, b = (outcome(T, program, dtype, shape) for T in (torch, tinygrad_edu))
            are_errors = isinstance(a, str) and isinstance(b, str) and any(name in program for name in OTHER_ERROR)
            if not same(a, b, dtype) and not are_errors:
                wrong.append((dtype, shape, a, b))
    assert wrong == []
