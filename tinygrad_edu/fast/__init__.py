"""What makes chains of 0-d tensors faster than PyTorch's. Nothing outside knows of it: only the package puts it in, at its end.

1. `numbers.py`: the result of an op on 0-d tensors is a number, until somebody asks for the array.
2. `plans.py`: what a node keeps, and how it is made and run, worked out once for each op and pattern of inputs.
3. `road.py`: an operator between two tensors, and a stretch of a backward pass, without a detour.

Names of nodes, values and errors are those of the plain core: whatever is unusual is left to it.
"""

from __future__ import annotations

import functools
import inspect

from ..array.tensor import own_attributes
from ..core.engine import Pass
from ..ops.binding import between_two
from ..ops.op import Op
from ..tensor import Tensor
from . import plans, road
from .numbers import ArrayOfNumber

__all__ = ["install"]


def install() -> None:
    """Put it in."""
    setattr(Tensor, "_as_number", None)  # noqa: B010
    setattr(Tensor, "_data", ArrayOfNumber())  # noqa: B010
    own_attributes.add("_as_number")
    Op._record, Op._step = classmethod(plans.record), plans.step  # type: ignore[method-assign, assignment]
    Pass.run, Pass.deliver = road.run, road.deliver  # type: ignore[method-assign]
    for symbol in dir(Tensor):
        written = getattr(Tensor, symbol, None) if symbol.startswith("__") else None
        if inspect.isfunction(written) and (known := between_two.get(written)) is not None:
            setattr(Tensor, symbol, functools.wraps(getattr(Tensor, symbol))(road.operator(*known)))
