"""Stands in for `IPython.core.magic`: it marks the methods that are magics, and `shell.py` reads the marks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Magics:
    """A class whose marked methods run as `%name` or `%%name`."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell


def magics_class(cls: type) -> type:
    """Return the class unchanged."""
    return cls


def _above(*marks: str) -> Callable[[Any], Any]:
    def mark(method: Any) -> Any:
        method.marks = marks
        return method

    return mark


cell_magic = _above("%%")
line_cell_magic = _above("%", "%%")


def output_can_be_silenced(method: Any) -> Any:
    """Return the method unchanged: here, a semicolon at the end of the cell hides the value of any magic."""
    return method
