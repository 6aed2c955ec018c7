"""The tensors that a node saves for its backward, read by PyTorch's public names: `_saved_self`, `saved_tensors`."""

from __future__ import annotations

from typing import Any


def is_custom(node: Any) -> bool:
    """Whether `node` belongs to a user's `Function` (its `ctx` is the node)."""
    return hasattr(type(node), "saved_tensors") and not slots(node)


def slots(node: Any) -> list[str]:
    """The names under which a built-in node saves tensors: `self` for `_saved_self`."""
    kind = type(node)
    if kind.__dir__ is not object.__dir__:  # what it saves differs from node to node
        return _slots(dir(node))
    if kind not in _slots_of:
        _slots_of[kind] = _slots(dir(kind))
    return _slots_of[kind]


_slots_of: dict[type, list[str]] = {}


def _slots(attributes: list[str]) -> list[str]:
    prefix = "_raw_saved_"
    names = [name[len(prefix) :] for name in attributes if name.startswith(prefix)]
    return [name for name in names if name != "tensors"]


def saved_tensors(node: Any) -> list[tuple[str, Any]]:
    """The tensors that `node` saves, by name; the word "freed" or "changed" replaces one that can no longer be read."""
    found: list[tuple[str, Any]] = []
    for name in slots(node):
        try:
            found.append((name, getattr(node, f"_saved_{name}")))
        except RuntimeError as error:
            found.append((name, _why(error)))
    if not found and hasattr(type(node), "saved_tensors"):
        try:
            found = [(str(position), saved) for position, saved in enumerate(node.saved_tensors)]
        except RuntimeError as error:
            found = [("0", _why(error))]
    return found


def is_freed(node: Any, name: str) -> bool:
    """Whether the engine has freed what `node` saved under `name`."""
    try:
        getattr(node, "saved_tensors" if name.isdigit() else f"_saved_{name}")
    except RuntimeError as error:
        return _why(error) == "freed"
    return False


def _why(error: RuntimeError) -> str:
    return "freed" if "freed" in str(error) else "changed"
