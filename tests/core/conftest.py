"""The core as its tests here see it: copied to where nothing else of this project is."""

import importlib
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

CORE = Path(__file__).resolve().parents[2] / "tinygrad_edu" / "core"


@pytest.fixture(scope="module")
def heart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The core as a package called `heart`, without the package around it."""
    room = tmp_path_factory.mktemp("alone")
    shutil.copytree(CORE, room / "heart", ignore=shutil.ignore_patterns("__pycache__"))
    sys.path.insert(0, str(room))
    try:
        yield importlib.import_module("heart")
    finally:
        sys.path.remove(str(room))
        for name in [name for name in sys.modules if name.partition(".")[0] == "heart"]:
            del sys.modules[name]
