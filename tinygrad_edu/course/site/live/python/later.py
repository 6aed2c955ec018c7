"""The modules of the packs: those of the start are here, and others are fetched when a program imports one of them.

Compiled modules are imported from memory, so none is looked for, opened and read in the file system of the page.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import marshal
import sys
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import the_page  # registered by worker.js

SITE = Path("/lib/site")
_GZIP = 31  # zlib's code for a gzip stream
_HEAD = 16  # bytes of a compiled file before its code
_INIT = "/__init__"
_compiled: dict[str, tuple[str, bytes]] = {}  # by module: its file, and its code
_packs: dict[str, str] = {}  # by module: the pack that must be fetched
_fetched: set[str] = set()
_asked_at_once = {"numpy.linalg._umath_linalg"}  # their package imports them even if nothing in them is used
when_imported: dict[str, Callable[[ModuleType], None]] = {}  # what to do after a module has loaded


class NotHere(BaseException):  # no `except Exception` of a program may take it for an error of its own
    """A pack is still on its way to a page that cannot ask for one: try again when all are here."""


def put(pack: Any) -> None:
    """Take over the files of an unzipped pack: compiled modules are kept for their import, others become files.

    Args:
        pack: what `archive.packed` wrote, as JavaScript's array of bytes.
    """
    _put(pack.to_bytes())


def _put(data: bytes) -> None:
    at = data.index(b"\n") + 1
    for name, size in json.loads(data[:at]):
        if name.endswith(".pyc"):
            module = name.removesuffix(".pyc").removesuffix(_INIT).replace("/", ".")
            _compiled[module] = f"{SITE}/{name}", data[at + _HEAD : at + size]
        else:
            path = SITE / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data[at : at + size])
        at += size


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
    _put(zlib.decompress(given.to_bytes(), _GZIP))
    _fetched.add(pack)
    for finder in sys.path_importer_cache.values():  # importlib's own function would import half of the library
        if isinstance(finder, importlib.machinery.FileFinder):
            finder.invalidate_caches()


class _Loader(importlib.machinery.SourcelessFileLoader):
    """Loads a module as if from its compiled file."""

    def get_code(self, fullname: str) -> CodeType:
        code: CodeType = marshal.loads(_compiled[fullname][1])
        return code


def _found(name: str) -> Any:
    """The spec of a module, which may have to be fetched; None for one that is in no pack."""
    if name in _packs:
        fetch(_packs[name])
    if name not in _compiled:  # a file: machine code, or a module that was not compiled
        folder = SITE.joinpath(*name.split(".")[:-1])
        return importlib.machinery.PathFinder.find_spec(name, [str(folder)]) if name in _packs else None
    path, _ = _compiled[name]
    return importlib.util.spec_from_file_location(name, path, loader=_Loader(name, path))


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
        if name in _packs and name in _asked_at_once:
            return importlib.util.spec_from_loader(name, _Unloaded)  # type: ignore[arg-type]
        spec = _found(name)
        if spec is not None and name in when_imported:
            load, then = spec.loader.exec_module, when_imported[name]

            def load_and_tell(module: ModuleType) -> None:
                load(module)
                then(module)

            spec.loader.exec_module = load_and_tell
        return spec


def look_there_too() -> None:
    """Find the modules of the packs from now on."""
    index = SITE / "later.json"
    if index.exists():
        _packs.update(json.loads(index.read_bytes()))
    sys.meta_path.insert(0, _Finder)
