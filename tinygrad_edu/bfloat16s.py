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

from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np

from . import dtypes
from .core.op import Op
from .core.state import everywhere
from .core.tensor import Tensor

__all__ = ["accept", "check", "computed", "holds", "met", "narrow", "refuse", "wide"]


class _Met:
    """Whether a bfloat16 tensor exists or has existed."""

    __slots__ = ("one",)

    def __init__(self) -> None:
        self.one = False


met = _Met()


def meet() -> None:
    """From now on ops and public functions look for bfloat16."""
    if not met.one:
        met.one = everywhere.modes_seen = True
        everywhere.now("bfloat16 tensors", True)
        kinds: list[type[Op]] = [Op]
        for kind in kinds:  # which grows on the way
            kinds += kind.__subclasses__()
            if "_plans" in vars(kind):
                kind._plans.clear()


dtypes.on_bfloat16 = meet

# The public functions and methods that accept bfloat16 tensors.
_accepted: set[str] = set()


def accept(names: str) -> None:
    """Let the functions with these names, separated by spaces, accept bfloat16 tensors."""
    _accepted.update(names.split())


def check(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Refuse a call of a public function with a bfloat16 tensor that it is not tested with."""
    if met.one and name not in _accepted and (holds(args) or holds(kwargs.values())):
        refuse(name)


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


def wide(value: Any) -> Any:
    """An array, or each in a tuple, in float32 if it holds bfloat16."""
    if isinstance(value, np.ndarray | np.generic):
        return value.astype(np.float32) if value.dtype.kind == "V" else value
    return tuple([wide(v) for v in value]) if type(value) is tuple else value


def narrow(value: Any) -> Any:
    """An array of float32 rounded to bfloat16."""
    if isinstance(value, np.ndarray | np.generic) and value.dtype == np.float32:
        return np.asarray(value).astype(dtypes.bfloat16.numpy)
    return value


def rounded(value: Any) -> Any:
    """An array of float32 whose numbers are rounded to those of bfloat16."""
    return wide(narrow(value))


def addend(p: np.ndarray, number: float) -> float:
    """The factor or summand `number` of a sum with `p`, which PyTorch rounds if `p` holds bfloat16."""
    return float(rounded(np.float32(number))) if p.dtype.kind == "V" else number


def _rounded(x: Any) -> Any:
    """A number beside a tensor, rounded."""
    return narrow(x) if isinstance(x, np.ndarray) and not x.ndim else x
