"""Tensors of the device "meta": a shape and a dtype without numbers.

`module.to("meta")` gives a module such parameters, as ensembles want it: `func.functional_call` puts others in their place. No
op can be run on them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array.tensor import Tensor, device
from ...nn.parameter import Parameter

__all__ = ["to_meta"]

META = device("meta")


class _Form(np.ndarray):
    """The array of a tensor of the device "meta": it has a shape and a dtype, and no op computes with it."""

    def refuse(self) -> None:
        """Say so."""
        raise NotImplementedError(
            "Cannot copy out of meta tensor; no data! A tensor of the device 'meta' has only a shape and a dtype. Use "
            "module.to_empty(device='cpu') and load_state_dict to give a module numbers, or call it by func.functional_call."
        )


class _WithoutNumbers:
    """What a tensor of the device "meta" has in place of an array."""

    is_meta = True
    is_cpu = False
    device = META
    form: Any

    @property
    def _data(self) -> Any:
        return self.form

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        return self.form.refuse()

    cpu = item = tolist = numpy = __array__ = __bool__ = __float__ = __int__ = __getitem__ = clone = to_dense = _refuse

    def detach(self) -> Any:
        """The same outside the graph."""
        return _made(MetaTensor, self.form, False)

    def to(self: Any, *args: Any, **kwargs: Any) -> Any:
        """The tensor itself, for "meta"; there is nothing that could be copied elsewhere."""
        return self if str((args or (kwargs.get("device"),))[0]) == "meta" else self._refuse()

    def __deepcopy__(self: Any, memo: Any) -> Any:
        return _made(type(self), self.form, self.requires_grad)

    def __repr__(self: Any, **ignored: Any) -> str:
        grad = ", requires_grad=True" if self.requires_grad else ""
        heading = "Parameter containing:\n" if isinstance(self, Parameter) else ""
        return f"{heading}tensor(..., device='meta', size={tuple(self.form.shape)}{grad})"


class MetaTensor(_WithoutNumbers, Tensor):  # type: ignore[misc, override]
    """A tensor of the device "meta"."""


class MetaParameter(_WithoutNumbers, Parameter):  # type: ignore[misc, override]
    """A parameter of the device "meta"."""


def _made(kind: Any, like: np.ndarray, requires_grad: bool) -> Any:
    made = object.__new__(kind)
    made.form = np.broadcast_to(np.zeros((), like.dtype), like.shape).view(_Form)  # one number, however large the shape
    made._requires_grad = requires_grad
    return made


def to_meta(t: Tensor) -> Any:
    """A tensor or parameter of the same shape and dtype, without its numbers."""
    return _made(MetaParameter if isinstance(t, Parameter) else MetaTensor, t._data, t.requires_grad)
