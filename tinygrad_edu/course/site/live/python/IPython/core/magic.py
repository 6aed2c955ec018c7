"""Stands for `IPython.core.magic`: marks on the methods that are magics; `shell.py` reads them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Magics:
    """Methods that are called by `%name` or `%%name`."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell


def magics_class(cls: type) -> type:
    """A class of magics: nothing to do."""
    return cls


def _above(*marks: str) -> Callable[[Any], Any]:
    def mark(method: Any) -> Any:
        method.marks = marks
        return method

    return mark


cell_magic = _above("%%")
line_cell_magic = _above("%", "%%")


def output_can_be_silenced(method: Any) -> Any:
    """As every magic here: a semicolon at the end of the cell keeps its value off the page."""
    return method
