"""The tensors that a node saves for its backward, read by PyTorch's public names: `_saved_self`, `saved_tensors`."""

from __future__ import annotations

from typing import Any

from viz.engines import Engine


def is_custom(node: Any) -> bool:
    """Whether `node` belongs to a user's `Function` (its `ctx` is the node)."""
    return hasattr(type(node), "saved_tensors") and not slots(node)


def slots(node: Any) -> list[str]:
    """The names under which a built-in node saves tensors: `self` for `_saved_self`."""
    kind: Any = type(node)
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


def saved_tensors(engine: Engine, node: Any) -> list[tuple[str, Any]]:
    """The tensors that `node` saves, by name; the word "freed", "changed" or "packed" replaces one that can't be read.

    A hook of the program holds a packed one. To unpack it would run its code, such as a whole checkpointed block.
    """
    pairs = [(name, _read(engine, node, name)) for name in slots(node)]
    if pairs or not hasattr(type(node), "saved_tensors"):
        return pairs
    saved = _read(engine, node, "tensors")
    return [("0", saved)] if isinstance(saved, str) else [(str(place), name) for place, name in enumerate(saved or ())]


def is_freed(engine: Engine, node: Any, name: str) -> bool:
    """Whether the engine has freed what `node` saved under `name`."""
    return isinstance(saved := _read(engine, node, "tensors" if name.isdigit() else name), str) and saved == "freed"


def _read(engine: Engine, node: Any, name: str) -> Any:
    try:
        if engine.is_packed(node, name):
            return "packed"
        return getattr(node, "saved_tensors" if name == "tensors" else f"_saved_{name}")
    except RuntimeError as error:
        return "freed" if "freed" in str(error) else "changed"
