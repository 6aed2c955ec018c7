"""`later`: names that a module imports only on first use, and an explanation for names that it does not have."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

from . import absent
from .homes import home as home_of

__all__ = ["later"]


def _close(module: str, homes: Mapping[str, str], name: str) -> str:
    """A question about a name that is spelt almost like `name`; empty if there is none."""
    from difflib import get_close_matches  # only when a program is about to stop

    known = [each for each in (*dir(sys.modules[module]), *homes) if not each.startswith("_")]
    near = get_close_matches(name, known, 1, 0.8)
    return f"Did you mean {near[0]}? " if near else ""


def later(module: str, homes: Mapping[str, str], advice: str) -> Callable[[str], Any]:
    """The `__getattr__` of `module`. `homes` maps each name to the module below that holds it, or
    beside it if a dot comes first; `advice` ends the error.

    If the name is that of its home module, or of a PyTorch submodule, the result is the module itself.
    """

    def __getattr__(name: str) -> Any:
        home = homes.get(name)
        if home is None and home_of(f"{module}.{name}".partition(".")[2]) is not None:
            return importlib.import_module(f"{module}.{name}")
        if home is None:
            raise AttributeError(
                absent.sentence(name) or f"{module} has no {name!r}. {_close(module, homes, name)}{advice}"
            )
        found = importlib.import_module(f".{home}", module)
        value = found if home.rpartition(".")[2] == name else getattr(found, name)
        setattr(sys.modules[module], name, value)
        return value

    return __getattr__
