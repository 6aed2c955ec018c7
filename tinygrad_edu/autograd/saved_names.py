"""What a node of a built-in op keeps, under PyTorch's names: `_saved_self`, `_raw_saved_self`; and how it is freed."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..array.tensor import Tensor, wrap
from ..core.graph import version_of
from ..core.op import ASIDE, BACKWARD_TWICE, ELSEWHERE, FREED, INPUT, OUTPUT, Op, names_in
from ..refusals import modified
from .saved_tensor import SavedTensor, pack

__all__ = ["attribute", "names_of", "release", "unpacked"]

# Settings that are no tensors.
_PLAIN = (int, float, bool, str, type(None))


def attribute(node: Any, name: str) -> Any:
    """An attribute that shows what `node` keeps."""
    if isinstance(node, Op):
        for prefix, read in (("_saved_", _saved), ("_raw_saved_", _raw_saved)):
            asked = name.removeprefix(prefix)
            if asked != name and asked in _all_needs(type(node)):
                return read(node, asked)
    raise AttributeError(f"{node.name()!r} object has no attribute {name!r}")


def names_of(node: Any) -> list[str]:
    """The names of these attributes."""
    needs = _all_needs(type(node))
    kept = dict(zip(node._plan.names, node._saved or (FREED,) * len(node._plan.names), strict=True))
    raw = [n for n in needs if n not in kept or _shows_raw(node, n, kept[n])]
    return [*(f"_saved_{n}" for n in needs), *(f"_raw_saved_{n}" for n in raw)]


def release(node: Any) -> None:
    """Free what stands for a tensor in what `node` keeps. Settings stay; a node that freed nothing may run again."""
    plan, kept, freed = node._plan, list(node._saved), False
    for slot, (kind, _, name) in enumerate(plan.parts):
        if "_sym_" in name and kind == ELSEWHERE:
            continue
        value, goes = kept[slot], kind in (INPUT, OUTPUT, ASIDE)
        if not isinstance(value, Tensor) and type(value) not in _PLAIN:
            goes = _frees(node, name, value) or goes
        if goes:
            kept[slot], freed = FREED, True
    if freed:
        node._saved, node._versions = tuple(kept), None


def unpacked(value: Any) -> Any:
    """What was packed in `value`, as tensors."""
    if type(value) is SavedTensor:
        return value.for_backward()
    return tuple([unpacked(v) for v in value]) if _holds_saved(value) else value


def _all_needs(op: type[Op]) -> list[str]:
    joint = getattr(op, "gradients", None)
    needs = dict.fromkeys(
        n for names in (*[asked for _, asked in op._rules], names_in(joint) if joint else ()) for n in names
    )
    return [n for n in needs if n != "needs_input_grad" and not n.startswith("_")]


def _saved(node: Any, name: str) -> Any:
    if name not in node._plan.names:
        return None
    slot = node._plan.names.index(name)
    saved = node._saved[slot] if node._saved else FREED
    if isinstance(saved, Tensor):
        return _tensor(node, slot)
    if saved is FREED:
        raise RuntimeError(BACKWARD_TWICE)
    if isinstance(saved, SavedTensor):
        return saved.tensor()
    if _holds_saved(saved):
        return tuple(None if isinstance(s, slice) else unpacked(s) for s in saved)
    if isinstance(saved, np.ndarray) or (name in node._inputs and isinstance(saved, int | float)):
        return wrap(np.asarray(saved))
    return saved


def _tensor(node: Any, slot: int) -> Any:
    """The saved tensor at `slot`, as it was in the forward pass."""
    output_nr = next(number for place, _, number in node._plan.tensors if place == slot)
    if node._versions is None:
        raise RuntimeError(BACKWARD_TWICE)
    t, version = node._saved[slot], node._versions[slot]
    if version != version_of(t):
        raise RuntimeError(modified(t, t.grad_fn if output_nr is None else node, version))
    return t if output_nr is None else node._output_of(t, output_nr)


def _raw_saved(node: Any, name: str) -> Any:
    """The saved value as saved tensors that accept hooks. A tensor, a number or an array becomes one on demand."""
    if name not in node._plan.names:
        return SavedTensor.nothing
    slot = node._plan.names.index(name)
    saved = node._saved[slot] if node._saved else FREED
    if saved is FREED:
        return SavedTensor.freed
    if not _shows_raw(node, name, saved):
        raise AttributeError(f"{node._name!r} object has no attribute '_raw_saved_{name}'")
    # The caller may register hooks on it.
    node._surround()
    if isinstance(saved, Tensor):
        pack(node, slot)
        return node._saved[slot]
    if saved is None:
        return SavedTensor.nothing
    if _stands_for_tensor(node, name, saved):
        dtype = node._outputs[0][1]
        parts = [
            SavedTensor(wrap(np.asarray(s, None if isinstance(s, np.ndarray) else dtype)))
            if isinstance(s, np.ndarray | int | float)
            else s
            for s in (saved if isinstance(saved, tuple) else (saved,))
        ]
        saved = tuple(parts) if isinstance(saved, tuple) else parts[0]
        node._saved = (*node._saved[:slot], saved, *node._saved[slot + 1 :])
    if isinstance(saved, tuple):
        return tuple(s if isinstance(s, SavedTensor) else SavedTensor.nothing for s in saved)
    return saved


def _shows_raw(node: Any, name: str, saved: Any) -> bool:
    """True for what PyTorch shows as `_raw_saved_…`: a value that is, or could be, saved as a tensor."""
    if isinstance(saved, tuple):
        return not getattr(node, "_variadic", False) and (_holds_saved(saved) or _stands_for_tensor(node, name, saved))
    if isinstance(saved, Tensor | SavedTensor) or saved is FREED:
        return True
    tensors = name in node._inputs or name in node.without_gradient
    return (tensors and saved is None) or _stands_for_tensor(node, name, saved)


def _frees(node: Any, name: str, value: Any) -> bool:
    saved = [part for part in (value if isinstance(value, tuple) else (value,)) if type(part) is SavedTensor]
    for part in saved:
        part.free()
    return bool(saved) or _stands_for_tensor(node, name, value)


def _stands_for_tensor(node: Any, name: str, value: Any) -> bool:
    """True for what PyTorch saves, and frees, as a tensor: a number in place of a tensor, a mask, or indices."""
    if name.startswith("_"):
        return False
    parts = value if isinstance(value, tuple) else (value,)
    return name in node._inputs or any(isinstance(part, np.ndarray) for part in parts)


def _holds_saved(saved: Any) -> bool:
    """True for a tuple that contains saved tensors: the inputs of a variadic op, or indices."""
    return type(saved) is tuple and any(type(s) is SavedTensor for s in saved)
