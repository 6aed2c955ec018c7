"""JavaScript for a widget that uses the player's parts: one text, since a widget's module cannot import a neighbour."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent


_IMPORT = re.compile(r'import .* from "\./([\w.]+)";')
_WIDGET = "export default {"


def script(name: str) -> str:
    """The module of a widget, with the neighbours that it imports in front of it in place of the imports.

    What all widgets have goes into what it exports: see `awake.js`.
    """
    order: list[str] = []
    waiting = [name, "awake.js"]
    while waiting:
        found = waiting.pop()
        if found in order:
            order.remove(found)  # whoever needs it comes later
        order.append(found)
        waiting += _IMPORT.findall((HERE / found).read_text(encoding="utf-8"))
    parts = []
    for found in reversed(order):
        dropped = ("import ",) if found == name else ("import ", "export default ")
        lines = (HERE / found).read_text(encoding="utf-8").splitlines(keepends=True)
        parts += [line for line in lines if not line.startswith(dropped)]
    return "".join(parts).replace(_WIDGET, f"{_WIDGET} initialize: stayAwake,")


def style(*names: str) -> str:
    """Stylesheets joined into one."""
    return "".join((HERE / name).read_text(encoding="utf-8") for name in names)
