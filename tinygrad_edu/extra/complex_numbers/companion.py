"""Complex tensors work only where it is declared and tested: the list of what accepts them, and the check that uses it.

A rule that is right for real numbers is often wrong for complex ones: PyTorch's gradient of z is that of a real loss with
respect to the conjugate of z, so the rule of a product contains a conjugate. A wrong gradient would go unnoticed. So

- a public function accepts a complex tensor only if `accept` has named it;
- an op accepts one only if it has an `of_complex`, the op with the rules for complex numbers (`rules.py`).

Everything else raises NotImplementedError. Nothing is checked before the first complex tensor exists: `meet` then sets the
flags that ops and public functions read anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

import numpy as np

from ...array.companions import GO_ON, Companion, companions
from ...core.tensor import Tensor

__all__ = ["accept", "holds", "refuse"]


# The public functions and methods that accept complex tensors.
_accepted: set[str] = set()


def accept(names: str) -> None:
    """Let the functions with these names, separated by spaces, accept complex tensors."""
    _accepted.update(names.split())


def holds(values: Iterable[Any]) -> bool:
    """True if a complex tensor, array or number is among `values`, or in a list among them."""
    for value in values:
        if isinstance(value, Tensor):
            if value.dtype.is_complex:  # of a sparse tensor too
                return True
        elif isinstance(value, complex | np.complexfloating):
            return True
        elif isinstance(value, np.ndarray):
            if value.dtype.kind == "c":
                return True
        elif isinstance(value, list | tuple) and holds(value):
            return True
    return False


def refuse(name: str) -> NoReturn:
    raise NotImplementedError(
        f"{name} is not built for complex tensors. Work with the real and the imaginary part as two real tensors (z.real and "
        "z.imag, or view_as_real(z)), or run the program on PyTorch."
    )


class _Complex(Companion):
    """What ops and public functions ask about complex tensors."""

    kind = "c"

    def call(self, call: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if name not in _accepted and (holds(args) or holds(kwargs.values())):
            refuse(name)
        return GO_ON

    def holds(self, values: Iterable[Any]) -> bool:
        return holds(values)

    def refuse(self, name: str) -> NoReturn:
        refuse(name)

    def rules_for(self, op: Any, inputs: Sequence[Any], outs: Sequence[Any]) -> Any:
        if not _takes_part(inputs, outs):
            return op
        rules = op.of_complex
        if rules is None:
            refuse(op._name.rpartition("::")[2].rstrip("0123456789").removesuffix("Backward"))
        return rules

    def recorded(
        self, op: Any, state: Any, inputs: Sequence[Any], settings: dict[str, Any], outs: Sequence[Any], node: Any
    ) -> Any:
        """Record the run by the rules for complex numbers, in place of what `apply` has recorded."""
        if not _takes_part(inputs, outs):
            return node
        wanted = (
            state.recording and op._differentiable and any([isinstance(x, Tensor) and x.requires_grad for x in inputs])
        )
        node = op._record_several(inputs, settings, outs) if wanted else None
        for number, out in enumerate(outs[: op.visible_outputs]):
            takes_part = node is not None and number not in op.non_differentiable and out._data.dtype.kind in "fc"
            out._grad_fn, out.output_nr, out._requires_grad = (node, number, True) if takes_part else (None, 0, False)
        return node


def _takes_part(inputs: Sequence[Any], outs: Sequence[Any]) -> bool:
    return holds(inputs) or any(out._data.dtype.kind == "c" for out in outs)


_companion = _Complex()


def meet() -> None:
    """From now on ops and public functions check whether a tensor is complex."""
    if _companion not in companions:
        companions.insert(0, _companion)
