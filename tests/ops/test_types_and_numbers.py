"""Each function of elements with each type, beside numbers and other types: PyTorch's type and numbers, or error."""

import re
from typing import Any

import numpy as np
import pytest
import torch

import tinygrad_edu

pytestmark = [pytest.mark.outer, pytest.mark.filterwarnings("ignore")]
TWO = """add sub mul div floor_divide remainder fmod pow maximum minimum atan2 logaddexp eq lt logical_and logical_xor
bitwise_and isclose inner"""
ONE = """abs acos ceil cos erf exp expm1 floor frac log log1p logit neg reciprocal round rsqrt sigmoid sign sin sqrt
square tan tanh trunc nan_to_num isnan logical_not bitwise_not cumsum:0 cumprod:0 sum mean prod std var amax median
logsumexp:0 norm all argmax count_nonzero"""
MORE = """T.clamp(x,0,1); T.clamp(x,0.5,1); T.clamp(x,max=0.5); T.where(x>1,x,0.5); T.addcmul(x,x,x,value=0.5);
T.pow(2,x); 2.5**x; T.addcdiv(x,x,x+1); x%2; 5//x; x/2; x.round(decimals=1); T.trace(x.reshape(2,3)); T.lerp(x,x,0.5);
F.softplus(x); F.gelu(x); T.matmul(x.reshape(2,3),x.reshape(3,2)); T.dot(x.flatten(),x.flatten()); F.elu(x);
x.fill_(-1.5); x.scatter(0,T.tensor([0]),-2); F.cosine_similarity(x,x.to(T.float16)*1.37+0.3,0);
F.rms_norm(x.reshape(2,3),(3,)); T.manual_seed(0) and x.clone().uniform_(); T.manual_seed(0) and x.clone().normal_();
T.manual_seed(0) and T.bernoulli(x.clamp(0,1)); T.manual_seed(0) and x.clone().exponential_()"""
# As in PyTorch but for the type of the error: who asks first.
OTHER_ERROR = ("bitwise_and_", "bitwise_not()")


def programs() -> list[str]:
    """All forms of a function: with numbers, with tensors of other types, in place."""
    found = MORE.replace("\n", " ").split("; ")
    numbers = ["2", "0.5", "True", "x"]
    operands = [*numbers, *(f"x.to(T.{d})" for d in ("int64", "float16", "bool")), "T.ones((),dtype=T.float64)"]
    for name in TWO.split():
        found += [f"T.{name}(x,{y})" for y in operands] + [f"T.{name}(2,x)"]
        if hasattr(tinygrad_edu.Tensor, f"{name}_") and not name.startswith("logical"):
            found += [f"x.{name}_({y})" for y in (*numbers, "x.to(T.float64)", "x.to(T.bool)")]
    for entry in ONE.split():
        name, _, given = entry.partition(":")
        found += [f"x.{name}({given})"] + [f"x.{name}_()"] * (not given and hasattr(tinygrad_edu.Tensor, f"{name}_"))
    return found


def outcome(T: Any, program: str, dtype: str, shape: tuple[int, ...]) -> Any:
    x = T.tensor([2, 1, 3, 0, 1, 2][: 6 if shape else 1], dtype=getattr(T, dtype)).reshape(shape)
    try:
        result = eval(program, {"T": T, "F": T.nn.functional, "x": x})
    except NotImplementedError as error:
        return "NotImplementedError" if "not implemented for" in str(error) else "refused"
    except Exception as error:
        return type(error).__name__
    result = result[0] if isinstance(result, tuple) else result
    if not hasattr(result, "dtype"):
        return result
    return str(result.dtype).rpartition(".")[2], np.asarray(result.tolist(), float)


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
