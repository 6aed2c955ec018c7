"""What no first picture needs, of Python's library, of NumPy and of ours: fetched when a program imports the first of a pack."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import sys
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import the_page  # registered by worker.js

SITE = Path(__file__).parent
_GZIP = 31  # how zlib is told of a gzip stream
_packs: dict[str, str] = json.loads((SITE / "later.json").read_bytes()) if (SITE / "later.json").exists() else {}
_fetched: set[str] = set()
_asked_at_once = {"numpy.linalg._umath_linalg"}  # which their package imports, whether or not anything of them is used
when_imported: dict[str, Callable[[ModuleType], None]] = {}  # what is to be done after a module was loaded


def fetch(pack: str) -> None:
    """Put the files of a pack beside those that are here."""
    if pack in _fetched:
        return
    data = zlib.decompress(the_page.now(f"later/{pack}.pack").to_bytes(), _GZIP)
    head, _, _ = data.partition(b"\n")
    at = len(head) + 1
    for name, size in json.loads(head):
        path = SITE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data[at : at + size])
        at += size
    _fetched.add(pack)
    for finder in sys.path_importer_cache.values():  # not importlib's own, which imports half of the library for it
        if isinstance(finder, importlib.machinery.FileFinder):
            finder.invalidate_caches()


def _found(name: str) -> Any:
    fetch(_packs[name])
    return importlib.machinery.PathFinder.find_spec(name, [str(SITE.joinpath(*name.split(".")[:-1]))])


class _Unused(ModuleType):
    """A module that is loaded when something of it is asked for."""

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):  # the machinery of imports looks for these
            raise AttributeError(attribute)
        spec = _found(self.__name__)
        loaded = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loaded)
        self.__dict__.update(vars(loaded))
        return getattr(loaded, attribute)


class _Unloaded:
    """The loader of such a module."""

    @staticmethod
    def create_module(spec: Any) -> ModuleType:
        return _Unused(spec.name)

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Not yet."""


class _Finder:
    """Asked first: what is done after an import must not depend on which module of a pack came first."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> Any:
        if name not in _packs:
            return None
        if name in _asked_at_once:
            return importlib.util.spec_from_loader(name, _Unloaded)  # type: ignore[arg-type]
        spec = _found(name)
        if name in when_imported:
            load, then = spec.loader.exec_module, when_imported[name]

            def load_and_tell(module: ModuleType) -> None:
                load(module)
                then(module)

            spec.loader.exec_module = load_and_tell
        return spec


def look_there_too() -> None:
    """Find those modules from now on."""
    sys.meta_path.insert(0, _Finder)
