"""Putting saved values back into a module, and saying what did not fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..core.node import bump_version
from ..tensor import Size, Tensor, wrap

__all__ = ["IncompatibleKeys", "load"]


class IncompatibleKeys(NamedTuple):
    """What `load_state_dict` found no place for: PyTorch prints it under this name, with an underscore."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


def load(module: Any, state_dict: Any, strict: bool, assign: bool) -> IncompatibleKeys:
    """Copy values into the parameters and buffers of `module` by path, as `Module.load_state_dict` says."""
    if not isinstance(state_dict, Mapping):
        raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
    state_dict = dict(state_dict)
    before: tuple[list[str], list[str], list[str]] = [], [], []
    for path, part in module.named_modules(remove_duplicate=False):
        prefix = f"{path}." if path else ""
        for hook in part._state_hooks_at("load_pre"):
            hook(part, state_dict, prefix, {"version": 1}, strict, *before)
        if part._has_extra_state() and f"{prefix}_extra_state" in state_dict:
            part.set_extra_state(state_dict.pop(f"{prefix}_extra_state"))
    own = {
        f"{path}.{name}" if path else name: t
        for path, part in module.named_modules(remove_duplicate=False)
        for name, t in part._saved_entries()
    }
    # Batches were not counted before PyTorch 0.4.1: files of that time, and programs, leave them out.
    missing = [key for key in own if key not in state_dict and not key.endswith("num_batches_tracked")]
    unexpected = [key for key in state_dict if key not in own]
    missing, unexpected, errors = before[0] + missing, before[1] + unexpected, before[2]
    found = IncompatibleKeys(missing, unexpected)
    for _, part in module.named_modules(remove_duplicate=False):
        for hook in part._state_hooks_at("load_post"):
            hook(part, found)
    for what, keys in (("Missing", missing), ("Unexpected", unexpected)):
        if strict and keys:
            errors.append(f"{what} key(s) in state_dict: {', '.join(map(repr, keys))}. ".replace("'", '"'))
    for key, target in own.items():
        if key not in state_dict:
            continue
        value = state_dict[key]
        array = value._data if isinstance(value, Tensor) else np.asarray(value)
        if hasattr(target, "materialize"):
            target.materialize(array.shape)
        if array.shape != target._data.shape:
            errors.append(
                f"size mismatch for {key}: copying a param with shape {Size(array.shape)} from checkpoint, the shape "
                f"in current model is {target.shape}."
            )
        elif assign:
            target.data = wrap(array)
        else:
            # A write, so that what saved the old value is refused in backward.
            target._data[...] = array
            bump_version(target)
    if errors:
        raise RuntimeError(f"Error(s) in loading state_dict for {type(module).__name__}:\n\t" + "\n\t".join(errors))
    return found
