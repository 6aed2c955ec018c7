"""Stands in for the debugger, which asks in a terminal: a program that imports it runs up to its start."""

from __future__ import annotations

from typing import Any


def set_trace(*given: Any, **options: Any) -> Any:
    """Refuse: `breakpoint()` comes here too.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError(
        "The debugger needs a terminal, and a page has none: print the value, or step through the picture, which shows "
        "each."
    )


run = runcall = runeval = post_mortem = pm = Pdb = set_trace
