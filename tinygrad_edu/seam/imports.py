"""Imports of PyTorch's modules: find the module here that holds their names, or raise an explanation.

`import tinygrad_edu.nn.modules.conv` finds `nn`, which has all the layers. `import tinygrad_edu.export` raises an ImportError
that says what to do instead. One finder stands before Python's own, which takes a folder that an older version has left
behind, with compiled files in it, for a package. The other stands behind it, and explains what nothing has found.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from ..array import absent
from .modules import home

__all__ = ["install"]

_PACKAGE = __name__.partition(".")[0]

_OBJECTS = ("cuda", "mps", "xpu", "accelerator", "backends")  # objects that may be imported like modules


class _Loader:
    """Lets Python make an empty module. `importlib.abc` has a class for it, whose import takes a quarter of the whole package's."""

    def create_module(self, spec: ModuleSpec) -> None:
        """Python's own way."""


class _Elsewhere(_Loader):
    """Makes a module that has the contents of another one."""

    def __init__(self, home: str) -> None:
        self.home = home

    def exec_module(self, module: ModuleType) -> None:
        found = importlib.import_module(f"{_PACKAGE}.{self.home}" if self.home else _PACKAGE)
        module.__doc__, module.__path__ = found.__doc__, []  # type: ignore[attr-defined]
        names = getattr(found, "__all__", None)
        module.__all__ = names if names is not None else [n for n in vars(found) if not n.startswith("_")]  # type: ignore[attr-defined]
        below = module.__name__.partition(".")[2]

        def __getattr__(name: str) -> Any:
            if home(f"{below}.{name}") is not None:
                return importlib.import_module(f"{_PACKAGE}.{below}.{name}")
            try:
                return getattr(found, name)
            except AttributeError as error:
                if "has no attribute" not in str(error) or name.startswith("__"):
                    raise
                raise AttributeError(
                    f"{_PACKAGE}.{below} has no {name!r}: it is not built here. Leave it out, or run the program on PyTorch."
                ) from None

        module.__getattr__ = __getattr__  # type: ignore[method-assign]
        module.__dir__ = lambda: dir(found)  # type: ignore[method-assign]


class _Object(_Loader):
    """Allows importing an object such as `cuda` as a module."""

    def __init__(self, path: str) -> None:
        self.path = path

    def exec_module(self, module: ModuleType) -> None:
        thing: Any = sys.modules[_PACKAGE]
        for name in self.path.split("."):
            try:
                thing = getattr(thing, name)
            except AttributeError as error:
                raise ModuleNotFoundError(str(error)) from None
        module.__path__ = []  # type: ignore[attr-defined]
        module.__getattr__ = lambda name: getattr(thing, name)  # type: ignore[method-assign]


class _Homes:
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, name = fullname.partition(".")
        place = home(name) if package == _PACKAGE else None
        return None if place is None else ModuleSpec(fullname, _Elsewhere(place), is_package=True)  # type: ignore[arg-type]


class _NotFound:
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, name = fullname.partition(".")
        if package != _PACKAGE or not name or name.rpartition(".")[2].startswith("__"):
            return None
        if name.partition(".")[0] in _OBJECTS and "amp" not in name:
            return ModuleSpec(fullname, _Object(name), is_package=True)  # type: ignore[arg-type]
        # No name, so that `from tinygrad_edu import …` does not replace this message by Python's own.
        raise ModuleNotFoundError(_sentence(fullname))


def _sentence(fullname: str) -> str:
    above, _, last = fullname.rpartition(".")
    place = sys.modules.get(above)
    why = absent.sentence(last) or absent.sentence(fullname.split(".")[1])
    if why is None and place is not None:
        try:
            getattr(place, last)
        except AttributeError as error:
            why = str(error)
    return f"cannot import name {last!r} from {above!r}: {why or 'it is not built here. Run the program on PyTorch.'}"


def install() -> None:
    """Register the finders of the imports from this package: before Python's own, and behind it."""
    if not any(isinstance(finder, _NotFound) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Homes())
        sys.meta_path.append(_NotFound())
