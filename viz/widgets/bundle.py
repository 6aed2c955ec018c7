"""JavaScript for a widget that uses the player's parts: one text, since a widget's module cannot import a neighbour."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent


def script(name: str) -> str:
    """The module `name` with the player's parts in front of it, in place of its import."""
    parts = (HERE / "player.js").read_text(encoding="utf-8").replace("export default { render };", "")
    own = (HERE / name).read_text(encoding="utf-8")
    lines = own.splitlines(keepends=True)
    imports = [number for number, line in enumerate(lines) if line.startswith("import ") and "./player.js" in line]
    for number in imports:
        lines[number] = ""
    return parts + "".join(lines)


def style(*names: str) -> str:
    """Stylesheets joined into one."""
    return "".join((HERE / name).read_text(encoding="utf-8") for name in names)
