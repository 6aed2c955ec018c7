"""Function transforms on both engines: values, structure, nested levels, the caller's graph, and errors."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

import tinygrad_edu as T


def mixed(w: Any, x: Any) -> Any:
    return (w * w * x + w).sum()


WRONG: dict[str, Callable[[Any, Any, Any], Any]] = {
    "a vector": lambda E, w, x: E.func.grad(lambda v: v * x)(w),
    "a number of Python": lambda E, w, x: E.func.grad(lambda v: 3.0)(w),
    "an argument too far": lambda E, w, x: E.func.grad(mixed, argnums=2)(w, x),
    "an argument twice": lambda E, w, x: E.func.grad(mixed, argnums=(0, 0))(w, x),
    "no argument": lambda E, w, x: E.func.grad(mixed, argnums=())(w, x),
    "no note": lambda E, w, x: E.func.grad(mixed, has_aux=True)(w, x),
    "no tensor": lambda E, w, x: E.func.grad(mixed)(2.0, x),
    "a direction of another shape": lambda E, w, x: E.func.jvp(lambda v: v * v, (w,), (E.ones(3),)),
}


@pytest.mark.parametrize("name", WRONG)
def test_both_engines_refuse_the_same(name: str) -> None:
    raised = []
    for E in (torch, T):
        with pytest.raises(Exception) as caught:  # which one it is, PyTorch says
            WRONG[name](E, E.tensor([2.0, 3.0]), E.tensor([5.0, 7.0]))
        raised.append((type(caught.value), str(caught.value).split("torch")[0][:40]))
    assert raised[0] == raised[1]
