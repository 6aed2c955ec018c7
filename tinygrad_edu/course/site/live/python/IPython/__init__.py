"""Stands in for IPython outside Jupyter: `display`, and the shell that `viz.magic` needs."""

from __future__ import annotations

from typing import Any

from .display import display

__all__ = ["display", "get_ipython"]


def get_ipython() -> Any:
    """The shell of this page, or None until the packages of this project are in place."""
    import kernel

    return kernel.shell
