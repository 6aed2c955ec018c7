"""A write to memory that it reads, that elements share, or that is too small: PyTorch's numbers or an error."""

from typing import Any

import pytest

import tinygrad_edu as T

pytestmark = pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")


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
