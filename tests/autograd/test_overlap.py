"""A write to memory that it reads, that elements share, or that is too small: PyTorch's numbers or an error."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from support.axes import not_alike

import tinygrad_edu as T

pytestmark = pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")

READ_AND_WRITTEN = """w.index_add_(0, i, w); w.index_copy_(0, i, w); w.scatter_(0, i, w);
w.scatter_add_(0, i, w.detach()); w.__setitem__(i, w); i.index_put_((i,), i * 0 + 1);
T.mul(w, 2, out=w); w.mul_(w)""".replace("\n", " ").split("; ")


@pytest.mark.parametrize("form", READ_AND_WRITTEN)
def test_a_write_that_meets_other_memory_is_refused_where_pytorch_refuses_it(form: str) -> None:
    def program(T: Any) -> Any:
        w, i = T.arange(4.0), T.tensor([3, 2, 1, 0])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                eval(form, {"T": T, "w": w, "i": i})
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
    with pytest.raises(RuntimeError, match="match the broadcast shape"):
        T.add(T.ones(5), 1, out=w)
    assert part.tolist() == [0, 0]
