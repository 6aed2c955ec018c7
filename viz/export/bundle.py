"""Bundles a widget's JavaScript, and its style, into one text each: a module in a notebook cannot import its neighbours.

The files are ES modules that import one another (`js/` holds what widgets share). A bundle holds exactly what its entry
imports, directly or indirectly; each module keeps its own scope. A style sheet with a module's name belongs to it.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

HERE = Path(__file__).parents[1] / "widgets"

_IMPORT = re.compile(r'^import\s*\{([^}]*)\}\s*from\s*"(\.[^"]+)";\n', re.MULTILINE)
_DEFAULT = re.compile(r"^export default .*;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.MULTILINE)


@functools.cache
def script(name: str) -> str:
    """The module `name`, preceded by everything it imports, as one module."""
    *others, entry = _needed(HERE / name)
    return "".join(map(_enclosed, others)) + _local(entry)


@functools.cache
def style(*names: str) -> str:
    """The style sheets of these modules and of everything they import, the most general first, joined into one.

    A name that ends in `.css` is itself a style sheet.
    """
    files: dict[Path, None] = {}
    for name in names:
        needed = [HERE / name] if name.endswith(".css") else _needed(HERE / name)
        files.update(dict.fromkeys(path.with_suffix(".css") for path in needed))
    return "".join(path.read_text(encoding="utf-8") for path in files if path.exists())


def _needed(entry: Path) -> list[Path]:
    """A module and everything it imports, in an order in which each follows its imports.

    Raises:
        ImportError: two modules import each other; the message names one of them.
    """
    order: list[Path] = []
    under_way: list[Path] = []

    def visit(path: Path) -> None:
        if path in order:
            return
        if path in under_way:
            raise ImportError(f"{path.name} needs itself: {' -> '.join(one.name for one in [*under_way, path])}")
        under_way.append(path)
        for match in _IMPORT.finditer(path.read_text(encoding="utf-8")):
            visit((path.parent / match[2]).resolve())
        order.append(under_way.pop())

    visit(entry.resolve())
    return order


def _scope(path: Path) -> str:
    """The name of a module in a bundle: `$js_dom`."""
    return "$" + re.sub(r"\W", "_", str(path.relative_to(HERE).with_suffix("")))


def _local(path: Path) -> str:
    """The text of a module whose imports refer to the modules before it."""

    def bound(match: re.Match[str]) -> str:
        names = " ".join(match[1].split()).rstrip(",").replace(" as ", ": ")
        return f"const {{ {names} }} = {_scope((path.parent / match[2]).resolve())};\n"

    return _IMPORT.sub(bound, path.read_text(encoding="utf-8"))


def _enclosed(path: Path) -> str:
    """A module as a scope that returns the module's exports, except a widget."""
    text = _DEFAULT.sub("", _local(path))
    names = ", ".join(match[1] for match in _EXPORT.finditer(text))
    return f"const {_scope(path)} = (() => {{\n{_EXPORT.sub('', text)}return {{ {names} }};\n}})();\n"
