"""A write to memory that it also reads, that two elements share, or that is too small: PyTorch's numbers or an error."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from support.axes import not_alike

import tinygrad_edu as T

pytestmark = pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")

READ_AND_WRITTEN = {
    "index_add_": lambda T, w, i: w.index_add_(0, i, w),
    "index_copy_": lambda T, w, i: w.index_copy_(0, i, w),
    "put_": lambda T, w, i: w.put_(i, w),
    "scatter_": lambda T, w, i: w.scatter_(0, i, w),
    "scatter_add_": lambda T, w, i: w.scatter_add_(0, i, w.detach()),
    "scatter_reduce_": lambda T, w, i: w.scatter_reduce_(0, i, w, "sum"),
    "assignment": lambda T, w, i: w.__setitem__(i, w),
    "index_put_ of its own indices": lambda T, w, i: i.index_put_((i,), i * 0 + 1),
    "out= in another shape": lambda T, w, i: T.mul(w.view(2, 2), 2, out=w),
    "out= of the same": lambda T, w, i: T.mul(w, 2, out=w),
    "itself": lambda T, w, i: w.mul_(w),
    "out= that becomes smaller": lambda T, w, i: T.mul(T.ones(2), 2, out=w.view(2, 2)[1:]),
    "out= that grows": lambda T, w, i: T.mul(T.ones(7), 2, out=w),
    "resize_ of a view": lambda T, w, i: w.view(2, 2).t().resize_(3).fill_(7),
}


@pytest.mark.parametrize("form", READ_AND_WRITTEN)
def test_a_write_that_meets_other_memory_is_refused_where_pytorch_refuses_it(form: str) -> None:
    def program(T: Any) -> Any:
        w, i = T.arange(4.0), T.tensor([3, 2, 1, 0])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                READ_AND_WRITTEN[form](T, w, i)
            except RuntimeError as error:
                return str(error)[:40], w, i
        return w, i

    assert not_alike([()], program, ignored=(".version: ",)) == []


@pytest.mark.parametrize("write", [lambda v: v.mul_(2), lambda v: v.__setitem__(T.tensor([0, 0]), 0.5)])
def test_no_write_goes_to_windows_that_overlap(write: Any) -> None:
    w = T.arange(4.0)
    with pytest.raises(RuntimeError, match="more than one element"):
        write(w.unfold(0, 2, 1))
    assert w.tolist() == [0, 1, 2, 3]
    write(w.unfold(0, 2, 2))
    w.unfold(0, 2, 1).fill_(3)
    assert w.tolist() == [3, 3, 3, 3]


def test_memory_that_another_tensor_shows_does_not_grow() -> None:
    w = T.zeros(3)
    part = w[:2]
    with pytest.raises(NotImplementedError, match="cannot grow"):
        T.add(T.ones(5), 1, out=w)
    assert part.tolist() == [0, 0]
