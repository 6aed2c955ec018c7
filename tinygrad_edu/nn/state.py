"""Load saved values into a module, and report what did not fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..array.tensor import Size, Tensor, wrap
from ..modes import bump_version
from .parameter import Parameter

__all__ = ["IncompatibleKeys", "load", "load_part"]


class IncompatibleKeys(NamedTuple):
    """The keys that `load_state_dict` could not match. It prints under PyTorch's name, with an underscore."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


def load(module: Any, state_dict: Any, strict: bool, assign: bool) -> IncompatibleKeys:
    """Copy values into the parameters and buffers of `module` by path, as described at `Module.load_state_dict`."""
    if not isinstance(state_dict, Mapping):
        raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
    versions = getattr(state_dict, "_metadata", {})
    found = IncompatibleKeys([], [])
    errors: list[str] = []

    def visit(part: Any, entries: dict[str, Any], prefix: str) -> None:
        metadata = {**versions.get(prefix[:-1], {}), "assign_to_params_buffers": assign}
        part._load_from_state_dict(entries, prefix, metadata, True, *found, errors)
        for name, child in part._modules.items():
            if child is not None:
                inner = f"{prefix}{name}."
                visit(child, {key: value for key, value in entries.items() if key.startswith(inner)}, inner)

    visit(module, dict(state_dict), "")
    for what, keys in (("Unexpected", found.unexpected_keys), ("Missing", found.missing_keys)):
        if strict and keys:
            errors.insert(0, f"{what} key(s) in state_dict: {', '.join(map(repr, keys))}. ".replace("'", '"'))
    if errors:
        raise RuntimeError(f"Error(s) in loading state_dict for {type(module).__name__}:\n\t" + "\n\t".join(errors))
    return found


def load_part(
    part: Any,
    state_dict: dict[str, Any],
    prefix: str,
    metadata: dict[str, Any],
    strict: bool,
    missing: list[str],
    unexpected: list[str],
    errors: list[str],
) -> None:
    """Load the entries of a single module. This is `Module._load_from_state_dict`, which programs extend."""
    own = dict(part._saved_entries())
    for name, target in own.items():
        key = prefix + name
        if key in state_dict:
            assign = metadata.get("assign_to_params_buffers", False)
            _take(part, name, key, target, state_dict[key], assign, errors)
        # PyTorch before 0.4.1 did not count batches, so files of that time, and some programs, omit the count.
        elif strict and (name != "num_batches_tracked" or metadata.get("version", 1) >= 2):
            missing.append(key)
    extra = f"{prefix}_extra_state"
    if hasattr(part, "set_extra_state"):
        if extra in state_dict:
            part.set_extra_state(state_dict[extra])
        elif strict:
            missing.append(extra)
        own["_extra_state"] = None
    for key in state_dict if strict else ():
        if key.startswith(prefix):
            name, _, inner = key[len(prefix) :].partition(".")
            if name not in (part._modules if inner else own):
                unexpected.append(key)


def _take(part: Any, name: str, key: str, target: Tensor, value: Any, assign: bool, errors: list[str]) -> None:
    array = value._data if isinstance(value, Tensor) else np.asarray(value)
    if hasattr(target, "materialize"):
        target.materialize(array.shape)
    if array.shape != target.value.shape:
        errors.append(
            f"size mismatch for {key}: copying a param with shape {Size(array.shape)} from checkpoint, the shape "
            f"in current model is {target.shape}."
        )
    elif assign:
        # As in PyTorch, the module holds another tensor from now on; an optimizer made before does not know it.
        given = value if isinstance(value, Tensor) else wrap(array)
        if isinstance(target, Parameter):
            given = given if isinstance(given, Parameter) else Parameter(given, requires_grad=False)
            given.requires_grad_(target.requires_grad)
        setattr(part, name, given)
    else:
        # This is an in-place write, so backward raises if the old value was saved.
        target._data[...] = array
        bump_version(target)
