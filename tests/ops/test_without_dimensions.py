"""Writing into a tensor without dimensions: what was written over has no gradient, as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import tinygrad_edu

WRITES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "scatter": lambda T, x, s: T.scatter(x, 0, T.tensor(0), s),
    "scatter of a number": lambda T, x, s: T.scatter(x, 0, T.tensor(0), 5.0),
    "scatter_reduce": lambda T, x, s: T.scatter_reduce(x, 0, T.tensor(0), s, "prod", include_self=False),
    "index_fill": lambda T, x, s: T.index_fill(x, 0, T.tensor(0), s),
    "index_copy": lambda T, x, s: T.index_copy(x, 0, T.tensor(0), s),
    "index_copy of one": lambda T, x, s: T.index_copy(x, 0, T.tensor([0]), s.reshape(1)),
    "index_reduce": lambda T, x, s: T.index_reduce(x, 0, T.tensor([0]), s, "mean", include_self=False),
    "index_add": lambda T, x, s: T.index_add(x, 0, T.tensor(0), s),
    "scatter_add": lambda T, x, s: T.scatter_add(x, 0, T.tensor(0), s),
    "put": lambda T, x, s: x.put(T.tensor(0), s),
    "masked_scatter": lambda T, x, s: T.masked_scatter(x, T.tensor(True), s.reshape(1)),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.filterwarnings("ignore:index_reduce")
def test_what_is_written_over_has_no_gradient(write: Callable[[Any, Any, Any], Any]) -> None:
    found = []
    for T in (torch, tinygrad_edu):
        x, s = T.tensor(2.0, requires_grad=True), T.tensor(3.0, requires_grad=True)
        y = write(T, x * 1, s * 1)
        y.backward()
        found.append((y.item(), x.grad.item(), None if s.grad is None else s.grad.item()))
    assert found[0] == found[1]


@pytest.mark.parametrize("reduce", ["sum", "mean"])
def test_what_is_reduced_may_be_larger_than_its_index_where_it_needs_no_gradient(reduce: str) -> None:
    found = []
    for T in (torch, tinygrad_edu):
        x, s = T.ones(1, 3, requires_grad=True), T.arange(6.0).reshape(2, 3)
        y = (x * 2).scatter_reduce(0, T.zeros(1, 3, dtype=T.int64), s, reduce)
        y.sum().backward()
        found.append((y.tolist(), x.grad.tolist()))
    assert found[0] == found[1]
