"""`testing`: the comparisons that tests for PyTorch use pass, fail and explain as PyTorch's do."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from support.both import attempt, same_on_both

import tinygrad_edu


def pairs(T):
    x = T.tensor([1.0, 2.0, 3.0])
    wide = x.double()
    nan = T.tensor([1.0, float("nan")])
    return {
        "equal": (x, x.clone()),
        "close": (x, x + 1e-6),
        "one apart": (x, T.tensor([1.0, 2.0, 4.0])),
        "two apart": (T.tensor([[1.0, 2.0], [3.0, 4.0]]), T.tensor([[1.0, 2.5], [3.0, 9.0]])),
        "far apart in float64": (wide, wide + 1e-6),
        "scalars": (T.tensor(1.0), T.tensor(2.0)),
        "integers": (T.tensor([1, 2]), T.tensor([1, 3])),
        "booleans": (T.tensor([True, False]), T.tensor([True, True])),
        "shapes": (x, x[:2]),
        "dtypes": (x, wide),
        "nan": (nan, nan.clone()),
        "infinite": (T.tensor([float("inf")]), T.tensor([float("inf")])),
        "nothing": (T.ones(0), T.ones(0)),
        "numbers": (1.0, 1.0 + 1e-12),
        "other numbers": (1.0, 2.0),
        "number and whole number": (1, 1.0),
        "number and tensor": (1.0, x),
        "none": (None, None),
        "none and a tensor": (None, x),
        "lists": ([x, x * 2], [x, x * 2]),
        "lists of two lengths": ([x], [x, x]),
        "in a list": ((x, (x, x)), (x, (x, x + 1))),
        "dicts": ({"a": x, "b": 1}, {"b": 1, "a": x}),
        "dicts of two kinds": ({"a": x}, {"b": x}),
        "in a dict": ({"a": [x]}, {"a": [x + 1]}),
        "texts": ("a", "a"),
        "graphs": (x.clone().requires_grad_() * 2, x * 2),
    }


def strides(T):
    return T.ones(2, 3).t(), T.ones(3, 2)


@same_on_both
def test_two_are_close_or_are_not_as_in_pytorch(T):
    check = T.testing.assert_close
    found = {name: attempt(lambda a=a, b=b: check(a, b)) for name, (a, b) in pairs(T).items()}
    x = T.tensor([1.0, 2.0])
    settings = [
        attempt(lambda: check(x, x + 0.1, rtol=0, atol=0.2)),
        attempt(lambda: check(x, x + 0.1, rtol=0, atol=0.01)),
        attempt(lambda: check(x, x, rtol=0.1)),
        attempt(lambda: check(*pairs(T)["nan"], equal_nan=True)),
        attempt(lambda: check(*pairs(T)["dtypes"], check_dtype=False)),
        attempt(lambda: check(1, 1.0, check_dtype=False)),
        attempt(lambda: check(x, x + 1, msg="mine")),
        attempt(lambda: check(x, x + 1, msg=lambda text: f"mine: {text}")),
        attempt(lambda: check(*strides(T))),
        attempt(lambda: check(*strides(T), check_stride=True)),
        attempt(lambda: check(np.ones(2), np.ones(2) + 1)),
    ]
    return found, settings


@pytest.mark.parametrize("name", ["one apart", "two apart", "in a list"])
def test_the_error_tells_how_many_differ_and_where(name: str) -> None:
    told = []
    for T in (tinygrad_edu, torch):
        with pytest.raises(AssertionError) as raised:
            T.testing.assert_close(*pairs(T)[name])
        told.append(re.sub(r"(\d\.\d{4})\d*", r"\1", str(raised.value)).replace("torch.", "tinygrad_edu."))
    assert told[0] == told[1]


def test_made_tensors_have_the_form_that_is_asked_for() -> None:
    for T in (tinygrad_edu, torch):
        make = T.testing.make_tensor
        x = make((3, 4), dtype=T.float64, device="cpu", low=0.5, high=1, requires_grad=True)
        assert x.requires_grad
        assert (x.shape, x.dtype) == ((3, 4), T.float64)
        assert 0.5 <= x.min().item() <= x.max().item() <= 1
        assert not make(3, 4, dtype=T.float32, device="cpu", noncontiguous=True).is_contiguous()
        assert set(make(200, dtype=T.bool, device="cpu").tolist()) == {False, True}
        whole = make((200,), dtype=T.int64, device="cpu", low=0, high=2, exclude_zero=True)
        assert set(whole.tolist()) == {1}


def test_the_type_of_a_handle_is_where_programs_import_it_from() -> None:
    for T in (tinygrad_edu, torch):
        x = T.ones(2, requires_grad=True)
        with x.register_hook(lambda g: g * 2) as handle:
            assert isinstance(handle, T.utils.hooks.RemovableHandle)
