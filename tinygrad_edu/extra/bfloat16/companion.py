"""bfloat16 tensors work only where it is declared and tested: the list of what accepts them, and how their ops compute.

NumPy computes with the type of ml_dtypes number by number: sums lose what is small, and a product with a float becomes
float32. PyTorch computes an op in float32, and rounds its result once. So

- a public function accepts a bfloat16 tensor only if `accept` has named it;
- an op accepts one only if its `of_bfloat16` says how (`ops/bfloat16.py`): `computed` then converts what comes in and rounds
  what goes out.

Everything else raises NotImplementedError. Nothing is checked before the first bfloat16 tensor exists: `meet` then sets the
flags that ops and public functions read anyway, and has the plans of all ops made anew.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

import numpy as np

from ...array import dtypes
from ...array.companions import GO_ON, Companion, companions
from ...array.dtypes import narrow, rounded, wide
from ...core.tensor import Tensor, wrap
from ...modes import thread

__all__ = ["accept", "computed", "holds", "narrow", "refuse", "wide"]


# The public functions and methods that accept bfloat16 tensors.
_accepted: set[str] = set()


def accept(names: str) -> None:
    """Let the functions with these names, separated by spaces, accept bfloat16 tensors."""
    _accepted.update(names.split())


def holds(values: Iterable[Any]) -> bool:
    """True if a bfloat16 tensor, array or dtype is among `values`, or in a list among them."""
    for value in values:
        if isinstance(value, Tensor):
            if value.dtype is dtypes.bfloat16:  # of a sparse tensor too
                return True
        elif isinstance(value, np.ndarray | np.generic):
            if value.dtype.kind == "V":
                return True
        elif (
            value is dtypes.bfloat16
            or (isinstance(value, np.dtype) and value.kind == "V")
            or (isinstance(value, list | tuple) and holds(value))
        ):
            return True
    return False


def refuse(name: str) -> NoReturn:
    raise NotImplementedError(
        f"{name} is not built for bfloat16 tensors. Compute it in float32, as in t.float(), and convert the result; or run the "
        "program on PyTorch."
    )


# --- how an op computes ----------------------------------------------------------------------------------------------


class Way:
    """How an op computes with bfloat16.

    moves: it changes no number, as a view: it gets the arrays themselves.
    full: a number beside a tensor keeps the precision of float32; else it is rounded too.
    rounds: settings that are rounded too.
    fused: the gradient is computed in one piece, in float32; else op by op, each rounded.
    forward: takes the place of the op's own, and gets bfloat16; what it returns is rounded.
    """

    __slots__ = ("forward", "full", "fused", "moves", "rounds")

    def __init__(
        self, *, moves: bool = False, full: bool = False, rounds: str = "", fused: bool = False, forward: Any = None
    ) -> None:
        self.moves, self.full, self.rounds, self.fused, self.forward = moves, full, rounds.split(), fused, forward


def computed(op: Any, *arrays: Any, **settings: Any) -> Any:
    """What `op.forward` gives: in float32 if bfloat16 comes in, and then rounded once."""
    if not (holds(arrays) or holds(settings.values())):
        return op.forward(*arrays, **settings)
    way = op.of_bfloat16
    if way is None:
        refuse(name_of(op))
    if way.moves:
        return op.forward(*arrays, **settings)
    if not way.full:
        arrays = tuple([_rounded(x) for x in arrays])
    kind = settings.get("dtype")
    if kind is not None and kind.kind == "V":
        refuse(f"{name_of(op)} with dtype=bfloat16")
    for name in way.rounds:
        if isinstance(settings.get(name), int | float):
            settings[name] = float(rounded(np.float32(settings[name])))
    if way.forward is not None:
        result = way.forward(*arrays, **settings)
    else:
        result = op.forward(*map(wide, arrays), **{name: wide(value) for name, value in settings.items()})
    if kind is not None:
        return result
    if type(result) is not tuple:
        return narrow(result)
    seen = len(result) if op.visible_outputs is None else op.visible_outputs
    return (*map(narrow, result[:seen]), *result[seen:])


def name_of(op: Any) -> str:
    """The name of an op as it stands in a sentence."""
    name: str = op._name.rpartition("::")[2].rstrip("0123456789").removesuffix("Backward")
    return name


def _rounded(x: Any) -> Any:
    """A number beside a tensor, rounded."""
    return narrow(x) if isinstance(x, np.ndarray) and not x.ndim else x


class _BFloat16(Companion):
    """What ops and public functions ask about bfloat16."""

    kind = "V"

    def call(self, call: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if name not in _accepted and (holds(args) or holds(kwargs.values())):
            refuse(name)
        return GO_ON

    def holds(self, values: Iterable[Any]) -> bool:
        return holds(values)

    def refuse(self, name: str) -> NoReturn:
        refuse(name)

    def forward_of(self, op: Any, forward: Callable[..., Any]) -> Callable[..., Any]:
        return functools.partial(computed, op)

    def recorded(
        self, op: Any, state: Any, inputs: Sequence[Any], settings: dict[str, Any], outs: Sequence[Any], node: Any
    ) -> Any:
        """Record the run if `apply` has not: it looks for NumPy's own floating-point types."""
        if not (holds(inputs) or holds(outs)):
            return node
        if any(isinstance(x, Tensor) and x._tangent is not None for x in inputs):
            self.pushed(op, inputs)
        wanted = op._differentiable and any([isinstance(x, Tensor) and x.requires_grad for x in inputs])
        if node is None and state.recording and wanted and holds(outs):
            node = op._record_several(inputs, settings, outs)
        for number, out in enumerate(outs[: op.visible_outputs]):
            if node is not None and number not in op.non_differentiable and out._data.dtype.kind == "V":
                out._grad_fn, out.output_nr, out._requires_grad = node, number, True
        if node is not None:
            node._companion = self
            node._around = node._around or ()  # its rules run in a way of their own
        return node

    def written(self, node: Any, inputs: Sequence[Any]) -> None:
        if holds(inputs):
            node._companion = self
            node._around = node._around or ()  # its rules run in a way of their own

    def pushed(self, op: Any, inputs: Sequence[Any]) -> None:
        if holds(inputs):
            refuse(op if isinstance(op, str) else f"forward mode of {name_of(op)}")

    def run(self, node: Any, grads: list[Any], wanted: Sequence[bool] | None) -> Sequence[Any]:
        way = node.of_bfloat16
        if way is not None and way.fused:
            return node._run_rules([wide(grad) for grad in grads], False, wanted, wide)  # type: ignore[no-any-return]
        return _op_by_op(node, grads, wanted)


def _op_by_op(node: Any, grads: Sequence[Any], wanted: Sequence[bool] | None) -> Sequence[Any]:
    """The rules with Tensors, as under `create_graph`, and unrecorded: each of their ops rounds what it computes."""
    state = thread.state
    mode, modes = state.grad_enabled, state.modes
    state.grad_enabled, state.modes = False, []
    try:
        tensors = [None if grad is None else wrap(np.asarray(grad)) for grad in grads]
        results = [_plain(result) for result in node._run(tensors, True, wanted)]
    finally:
        state.grad_enabled, state.modes = mode, modes
    # The engine may have to sum them: in float32, and it rounds what it has summed.
    fits = zip(results, node._next, node._next_output, strict=True)
    return [
        r if r is None or receiver is None or r.shape == receiver._outputs[nr][0] else wide(r)
        for r, receiver, nr in fits
    ]


def _plain(value: Any) -> Any:
    """The array of a Tensor, or the number of a 0-d one."""
    if isinstance(value, Tensor):
        return value._data if value._data.ndim else value._data[()]
    return value


_companion = _BFloat16()


def meet() -> None:
    """From now on ops and public functions look for bfloat16."""
    if _companion not in companions:
        companions.append(_companion)
