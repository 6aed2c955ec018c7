"""Stands for IPython where no Jupyter is: `display`, and no shell."""

from __future__ import annotations

from .display import display

__all__ = ["display", "get_ipython"]


def get_ipython() -> None:
    """No shell: cells are run by `kernel.py`."""
