"""Numbers in the place of 0-d arrays: NumPy computes ten times faster with them."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from ..core.tensor import Node, Tensor

__all__ = ["ArrayOfNumber", "of_number", "operand"]

# So that two threads that ask for the array of a number at the same time get the same one.
first_asked = threading.RLock()
new, ndarray = object.__new__, np.ndarray


class ArrayOfNumber:
    """The attribute `_data` of a tensor that has none yet: the number in `_as_number` becomes an array here, for good.

    It has no `__set__`. So Python finds the array itself in every other tensor, and never comes by here.
    """

    def __get__(self, t: Any, kind: type | None = None) -> Any:
        if t is None:
            return self
        with first_asked:
            own = vars(t)
            if "_data" not in own:
                own["_data"] = np.asarray(t._as_number)
                t._as_number = None
        return own["_data"]


def of_number(number: Any, node: Node) -> Tensor:
    """A Tensor that holds a number, the first output of `node`."""
    t = new(Tensor)
    t._as_number = number
    t._grad_fn = node
    t._requires_grad = True
    t._view = t._counter = None
    t.output_nr = 0
    return t


def operand(t: Tensor) -> Any:
    """What to compute with in place of `t`: its number, or its array if that has dimensions."""
    if t._as_number is not None:
        return t._as_number
    array = t._data
    return array if array.ndim else array[()]
