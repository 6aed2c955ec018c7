"""Fetches modules that the first picture does not need: a pack is loaded when a program imports one of its modules."""

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
_GZIP = 31  # zlib's code for a gzip stream
_packs: dict[str, str] = json.loads((SITE / "later.json").read_bytes()) if (SITE / "later.json").exists() else {}
_fetched: set[str] = set()
_asked_at_once = {"numpy.linalg._umath_linalg"}  # their package imports them even if nothing in them is used
when_imported: dict[str, Callable[[ModuleType], None]] = {}  # what to do after a module has loaded


class NotHere(BaseException):  # no `except Exception` of a program may take it for an error of its own
    """A pack is still on its way to a page that is given its packs and cannot ask for one: try again when all are here."""


def fetch(pack: str) -> None:
    """Fetch a pack and put its files beside those that are already here."""
    if pack in _fetched:
        return
    given = the_page.now(f"later/{pack}.pack")
    if given is None:
        raise NotHere(pack)
    if given is False:
        raise ModuleNotFoundError(
            f"No module named {pack!r} on this page: a program has no files, no network and no terminal here."
        )
    data = zlib.decompress(given.to_bytes(), _GZIP)
    head, _, _ = data.partition(b"\n")
    at = len(head) + 1
    for name, size in json.loads(head):
        path = SITE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data[at : at + size])
        at += size
    _fetched.add(pack)
    for finder in sys.path_importer_cache.values():  # importlib's own function would import half of the library
        if isinstance(finder, importlib.machinery.FileFinder):
            finder.invalidate_caches()


def _found(name: str) -> Any:
    fetch(_packs[name])
    return importlib.machinery.PathFinder.find_spec(name, [str(SITE.joinpath(*name.split(".")[:-1]))])


class _Unused(ModuleType):
    """A module that loads when its first attribute is read."""

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):  # the import machinery looks for these
            raise AttributeError(attribute)
        spec = _found(self.__name__)
        loaded = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loaded)
        self.__dict__.update(vars(loaded))
        return getattr(loaded, attribute)


class _Unloaded:
    """The loader of an `_Unused` module."""

    @staticmethod
    def create_module(spec: Any) -> ModuleType:
        return _Unused(spec.name)

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Do nothing: the module loads when it is used."""


class _Finder:
    """Stands first in `sys.meta_path`, so that `when_imported` runs whichever module of a pack is imported first."""

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
    """Find the modules of the packs from now on."""
    sys.meta_path.insert(0, _Finder)
