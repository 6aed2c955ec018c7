"""`Variable`, the historical name of a Tensor that autograd follows, and `volatile`, the historical `no_grad`.

Until PyTorch 0.4 a Tensor held numbers, and a Variable around it held the history. `volatile=True` meant that no graph
should be built from there on: a result was volatile as soon as one of its inputs was, and nothing on the way was
recorded. Today's PyTorch warns and ignores it. Here it still works, for the one lesson about it:

- the result of an op, an in-place op or a custom Function is volatile if one of its inputs is, whatever the others
  require and whatever the grad mode; it is not recorded, does not require grad and is a leaf;
- an in-place op with a volatile input makes its target volatile, and the base that the target is a view of;
- `detach()` and `.data` return tensors that are not volatile, and so does anything made from plain numbers.
"""

from __future__ import annotations

import threading
import warnings
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..array import dtypes
from ..array.absent import refuse_tensors_of_pytorch
from ..array.tensor import Tensor, wrap
from ..modes import everywhere
from . import grad_mode

__all__ = ["Variable", "VariableMeta"]


class _Volatile:
    """The mark of volatile tensors, and what it means to the ops. They check it only while such a tensor is alive."""

    def __init__(self) -> None:
        self.alive: dict[int, weakref.ref[Tensor]] = {}
        self._inside = threading.local()

    def mark(self, t: Tensor) -> None:
        """Make `t` volatile."""
        t._volatile = True
        key = id(t)
        self.alive[key] = weakref.ref(t, lambda _: self._gone(key))
        everywhere.now("volatile tensors", True)

    def _gone(self, key: int) -> None:
        del self.alive[key]
        if not self.alive:
            everywhere.now("volatile tensors", False)

    def reaches(self, inputs: Iterable[Any]) -> bool:
        """True if one of `inputs` is volatile."""
        return not getattr(self._inside, "op", False) and any(isinstance(x, Tensor) and x._volatile for x in inputs)

    def compute(self, op: Callable[..., Any], *inputs: Any, **settings: Any) -> Any:
        """Run `op` without recording it; its results are volatile."""
        self._inside.op = True
        try:
            with grad_mode.no_grad():
                results = op(*inputs, **settings)
        finally:
            self._inside.op = False
        for t in results if isinstance(results, tuple) else (results,):
            if isinstance(t, Tensor):
                self.mark(t)
        return results

    def write(self, op: Callable[..., Any], target: Tensor, *others: Any, **settings: Any) -> Tensor:
        """Run an in-place op with a volatile input: its target becomes volatile, and loses its history."""
        self.compute(op, target, *others, **settings)
        for t in (target,) if target._view is None else (target, target._view.base):
            t._grad_fn, t.output_nr, t._requires_grad = None, 0, False
            self.mark(t)
        return target


volatile = _volatile_tensors = _Volatile()

_REMOVED = (
    "volatile was removed and now has no effect in PyTorch. Here it means what it meant until PyTorch 0.3: nothing "
    "computed from this tensor is recorded. Use `with no_grad():` instead."
)


def _get_volatile(self: Tensor) -> bool:
    """True if nothing computed from this tensor is recorded: the historical flag, see `autograd.Variable`."""
    return self._volatile


def _set_volatile(self: Tensor, value: bool) -> None:
    warnings.warn(_REMOVED, UserWarning, stacklevel=2)
    if value:
        volatile.mark(self)
    else:
        self._volatile = False


class VolatileMethods:
    """The historical flag of a tensor."""

    volatile = property(_get_volatile, _set_volatile)


class VariableMeta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=VariableMeta):
    """The historical name: `Variable(t)` is a Tensor on the storage of `t`, and every Tensor is a Variable.

    `volatile=True` warns. Nothing computed from it is recorded, as in PyTorch 0.3: see the module's docstring.

    >>> from tinygrad_edu.autograd import Variable
    >>> x = Variable(T.tensor([1.0, 2.0]), requires_grad=True)
    >>> (x * 2).requires_grad, isinstance(x, Variable), type(x) is T.Tensor
    (True, True, True)
    """

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: bool = False) -> Any:
        refuse_tensors_of_pytorch((data,))
        if data is not None and not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        if requires_grad and volatile:
            raise ValueError("Variable can't be volatile and require_grad at the same time!")
        out = wrap(np.zeros(0, dtypes.get_default_dtype().numpy)) if data is None else data.detach()
        if requires_grad:
            out.requires_grad_()
        if volatile:
            warnings.warn(_REMOVED, UserWarning, stacklevel=2)
            _volatile_tensors.mark(out)
        return out
