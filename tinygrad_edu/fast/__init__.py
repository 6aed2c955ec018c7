"""What makes chains of 0-d tensors faster than PyTorch's. Nothing outside knows of it: only the package puts it in, at its end.

1. `numbers.py`: the result of an op on 0-d tensors is a number, until somebody asks for the array.
2. `plans.py`: what a node keeps, and how it is made and run, worked out once for each op and pattern of inputs.
3. `road.py`: an operator between two tensors, and a stretch of a backward pass, without a detour.

Names of nodes, values and errors are those of the plain core: whatever is unusual is left to it. `TINYGRAD_EDU_PLAIN=1` leaves
this folder out.
"""

from __future__ import annotations

import functools

from ..array.tensor import Tensor, bind, own_attributes
from ..core.engine import Pass
from ..ops.binding import between_two
from ..ops.op import Op
from . import plans, road
from .numbers import ArrayOfNumber

__all__ = ["install"]


def install() -> None:
    """Put it in."""
    bind("_as_number", None)
    bind("_data", ArrayOfNumber())
    own_attributes.add("_as_number")
    Op._record, Op._step = classmethod(plans.record), plans.step  # type: ignore[method-assign, assignment]
    Pass.run, Pass.deliver = road.run, road.deliver  # type: ignore[method-assign]
    for symbol, (op, function, otherwise) in between_two.items():
        call = road.operator(op, function, otherwise)
        bind(symbol, functools.wraps(getattr(Tensor, symbol))(call))
