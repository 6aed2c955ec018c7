"""The modules of Python's library and of NumPy that no lesson needs: fetched when a program imports the first of them."""

from __future__ import annotations

import gzip
import importlib
import importlib.machinery
import io
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

FOLDER = Path("/lib/rest")


class _Finder:
    """Asked last, when a module is nowhere else."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> Any:
        top = name.partition(".")[0]
        if top not in sys.stdlib_module_names and not name.startswith("numpy."):
            return None
        if not FOLDER.exists():
            import the_page

            FOLDER.mkdir()
            with zipfile.ZipFile(io.BytesIO(gzip.decompress(the_page.now("rest.zip.gz").to_bytes()))) as archive:
                archive.extractall(FOLDER)
            importlib.invalidate_caches()
        return importlib.machinery.PathFinder.find_spec(name, [str(FOLDER.joinpath(*name.split(".")[:-1]))])


def look_there_too() -> None:
    """Find those modules from now on."""
    sys.meta_path.append(_Finder)
