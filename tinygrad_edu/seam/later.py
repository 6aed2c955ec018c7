"""`later`: names that a module imports only on first use, and an explanation for names that it does not have."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

from ..array import absent
from ..core.tensor import Tensor
from .modules import home as home_of
from .modules import known_as
from .names import NAMES

__all__ = ["bind_later", "borrowed", "bring", "later", "names_of"]

PACKAGE = __package__.partition(".")[0]


def names_of(host: str) -> dict[str, str]:
    """Where the names of `host` are that are imported on first use: the module, by the name."""
    return {name: module for module, names in NAMES.get(host, {}).items() for name in names.split()}


def borrowed(host: str, name: str) -> Any:
    """What `extra/` has under this name of `host`, a line of the table."""
    return getattr(importlib.import_module(f"{PACKAGE}.{names_of(host)[name]}"), name)


def bring(host: str, name: str) -> bool:
    """Import the module of `extra/` that has this name of `host`; False if none has."""
    place = names_of(host).get(name)
    if place is not None:
        importlib.import_module(f"{PACKAGE}.{place}")
    return place is not None


def later(
    module: str, advice: str, table: Mapping[str, Any] | None = None, homes: Mapping[str, str] | None = None
) -> Callable[[str], Any]:
    """The `__getattr__` of `module`, for the names that `seam/names.py` has for it; `advice` ends the error for others.

    `table` is filled by the modules that are imported, and is asked first. `homes` has names of modules beside it. If the
    name is that of its home, or of a PyTorch submodule, the result is the module itself.
    """
    host = module.partition(".")[2]
    here: Any = sys.modules[module]
    if not hasattr(here, "__path__"):
        here.__path__ = []  # so that an import from below it is refused by a sentence
    told = f"{PACKAGE}.{known_as(host)}".removesuffix(".")
    places = {**{name: f"{host}.{home}".strip(".") for name, home in (homes or {}).items()}, **names_of(host)}

    def __getattr__(name: str) -> Any:
        place = places.get(name)
        if place is None and home_of(f"{host}.{name}".strip(".")) is not None:
            return importlib.import_module(f"{module}.{name}")
        if place is None and (table is None or name not in table):
            raise AttributeError(
                absent.sentence(name) or f"{told} has no {name!r}. {_close(module, places, name)}{advice}"
            )
        found = importlib.import_module(f"{PACKAGE}.{place}") if place is not None else None
        if table is not None and name in table:
            value = table[name]
        else:
            value = found if str(place).rpartition(".")[2] == name else getattr(found, name)
        setattr(sys.modules[module], name, value)
        return value

    return __getattr__


def _close(module: str, places: Mapping[str, str], name: str) -> str:
    """A question about a name that is spelt almost like `name`; empty if there is none."""
    from difflib import get_close_matches  # only when a program is about to stop

    known = [each for each in (*dir(sys.modules[module]), *places) if not each.startswith("_")]
    near = get_close_matches(name, known, 1, 0.8)
    return f"Did you mean {near[0]}? " if near else ""


class _Later:
    """Stands on Tensor for a method, or a property, of a module that is imported when somebody asks for it.

    That module binds the method itself, in the place of this. `__getattr__` is not used: with it, reading any attribute of a
    tensor that the class has not takes ten times as long.
    """

    def __init__(self, name: str, place: str) -> None:
        self.name, self.place = name, place

    def _found(self) -> None:
        importlib.import_module(f"{PACKAGE}.{self.place}")
        if vars(Tensor)[self.name] is self:
            raise AttributeError(f"{self.place} does not bind {self.name!r}")

    def __get__(self, instance: Any, owner: Any) -> Any:
        self._found()
        return getattr(owner if instance is None else instance, self.name)

    def __set__(self, instance: Any, value: Any) -> None:
        self._found()
        setattr(instance, self.name, value)


def bind_later() -> None:
    """Let Tensor find its methods that are in `extra/`."""
    for name, place in names_of("Tensor").items():
        setattr(Tensor, name, _Later(name, place))
