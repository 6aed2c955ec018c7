"""Stands in for `IPython.display`, as far as lessons and pictures use it."""

from __future__ import annotations

import uuid
from typing import Any

import kernel


class DisplayHandle:
    """A place on the page whose content can be replaced."""

    def __init__(self, display_id: str | None = None) -> None:
        self.display_id = display_id or uuid.uuid4().hex

    def update(self, thing: Any, raw: bool = False, **options: Any) -> None:
        """Show something else in its place."""
        kernel.display_data(thing if raw else kernel.bundle(thing), self.display_id, update=True)

    def display(self, thing: Any, raw: bool = False, **options: Any) -> None:
        """Show it here for the first time."""
        kernel.display_data(thing if raw else kernel.bundle(thing), self.display_id)


def display(*things: Any, raw: bool = False, display_id: Any = None, **options: Any) -> DisplayHandle | None:
    """Show each of `things` in its richest form. With a `display_id`, returns a handle that can replace it."""
    handle = None
    if display_id is not None:
        handle = DisplayHandle(None if display_id is True else str(display_id))
    for thing in things:
        if raw:
            kernel.display_data(thing, handle and handle.display_id)
        elif handle is not None:
            handle.display(thing)
        else:
            kernel.show(thing)
    return handle


class _Text:
    kind = "text/plain"

    def __init__(self, data: str = "") -> None:
        self.data = data

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        return {self.kind: self.data}


class HTML(_Text):
    """Markup as it is."""

    kind = "text/html"


class SVG(_Text):
    """A drawing."""

    kind = "image/svg+xml"


class Markdown(_Text):
    """Text that the page shows as it is: the page does not render Markdown."""

    kind = "text/markdown"


def clear_output(wait: bool = False) -> None:
    """Remove what the cell has shown so far."""
    kernel.send({"type": "clear", "cell": kernel._cell})
