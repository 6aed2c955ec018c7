"""`Parameter`: a tensor that a Module registers for training."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..array import dtypes
from ..array.absent import answer
from ..array.tensor import share_storage
from ..modes import NOT_COUNTED, thread
from ..ops.creation.factories import finish
from ..tensor import Tensor

__all__ = ["Parameter", "clear_gradient"]


class Parameter(Tensor):
    """A leaf tensor that requires grad. As an attribute of a Module it is found by `parameters()`.

    >>> T.nn.Parameter(T.zeros(2)).requires_grad
    True
    """

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Parameter:
        if data is not None and not isinstance(data, Tensor):
            raise TypeError(
                f"a Parameter holds a Tensor, but got {type(data).__name__}. Make one with tinygrad_edu.tensor(…)."
            )
        p = object.__new__(cls)
        p._requires_grad = False
        if data is not None:
            share_storage(p, data)
        else:
            p._data = np.zeros(0, dtypes.get_default_dtype().numpy)
            p._counter = NOT_COUNTED if thread.state.inference else None
        if requires_grad:
            p.requires_grad_()
        return p

    def __init__(self, data: Any = None, requires_grad: bool = True) -> None:
        pass

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        # A copy is trained separately, so it does not copy the gradient.
        new = type(self)(finish(self._data.copy()), self.requires_grad)
        memo[id(self)] = new
        return new

    # It prints its own heading, then the tensor it holds.
    _prints_as_tensor = True

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()


def clear_gradient(p: Tensor, set_to_none: bool) -> None:
    """Reset the gradient of `p` to None; or write zeros into it, which every reference to it sees."""
    grad = p._grad
    if set_to_none or grad is None:
        p._grad = None
        return
    if grad.grad_fn is None:
        grad.requires_grad_(False)
    else:
        grad.detach_()
    grad.zero_()


__getattr__ = answer(__name__)
