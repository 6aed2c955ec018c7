"""Stands in for `IPython.core.error`."""

from __future__ import annotations


class UsageError(Exception):
    """A cell uses a magic that does not exist, or uses it wrongly."""

    def _render_traceback_(self) -> list[str]:
        return [f"UsageError: {self}"]
