"""Models from the network: nothing is downloaded here (PyTorch: `torch.hub`, `torch.utils.model_zoo`)."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

__all__ = ["HASH_REGEX", "get_dir", "load", "load_state_dict_from_url", "load_url", "set_dir", "urlparse"]

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")  # the hash at the end of a file's name, by which a download is checked

_dir: list[str] = []


def _refused(*args: Any, **kwargs: Any) -> Any:
    raise NotImplementedError(
        "hub: nothing is downloaded here. Write the module in the program, and load a file of weights with load()."
    )


load = load_state_dict_from_url = load_url = download_url_to_file = list = help = _refused


def _get_torch_home() -> str:
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return str(Path(os.environ.get("TORCH_HOME", f"{cache}/torch")).expanduser())


def get_dir() -> str:
    """The folder in which PyTorch keeps downloads; nothing is written there."""
    return _dir[0] if _dir else f"{_get_torch_home()}/hub"


def set_dir(d: str) -> None:
    """What `get_dir` returns from now on."""
    _dir[:] = [str(d)]
