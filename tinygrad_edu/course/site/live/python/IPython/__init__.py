"""Stands for IPython where no Jupyter is: `display`, and what `viz.magic` asks of a shell."""

from __future__ import annotations

from typing import Any

from .display import display

__all__ = ["display", "get_ipython"]


def get_ipython() -> Any:
    """The shell of this page; None until the packages of this project are in place."""
    import kernel

    return kernel.shell
