"""Stands for `IPython.core.error`."""

from __future__ import annotations


class UsageError(Exception):
    """What a cell asks for is not here, or not so."""

    def _render_traceback_(self) -> list[str]:
        return [f"UsageError: {self}"]
