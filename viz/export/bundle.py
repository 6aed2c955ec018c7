"""Bundles a widget's JavaScript and style into one text each: modules in a notebook cannot import their neighbours.

The files are ES modules that import one another (`js/` holds what widgets share). A bundle holds exactly what its entry
imports, directly or indirectly; each module keeps its own scope. A style sheet with a module's name belongs to it.
"""

from __future__ import annotations

import functools
import posixpath
import re
from pathlib import Path

HERE = Path(__file__).parents[1] / "widgets"

_IMPORT = re.compile(r'^import\s*\{([^}]*)\}\s*from\s*"(\.[^"]+)";\n', re.MULTILINE)
_DEFAULT = re.compile(r"^export default .*;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.MULTILINE)


@functools.cache
def script(name: str) -> str:
    """The module `name`, preceded by everything it imports, as one module."""
    *others, entry = _needed(name)
    return "".join(map(_enclosed, others)) + _local(entry)


@functools.cache
def style(*names: str) -> str:
    """The style sheets of these modules and of everything they import, the most general first, joined into one.

    A name that ends in `.css` is itself a style sheet.
    """
    sheets: dict[str, None] = {}
    for name in names:
        needed = [name] if name.endswith(".css") else _needed(name)
        sheets.update(dict.fromkeys(f"{script.rpartition('.')[0]}.css" for script in needed))
    return "".join(map(_text, sheets))


@functools.cache
def _text(name: str) -> str:
    """What is in a file of the widgets; empty for a module without a style sheet."""
    path = HERE / name
    return path.read_text(encoding="utf-8") if name.endswith(".js") or path.exists() else ""


def _imported(by: str, address: str) -> str:
    """The name of a file that the module `by` imports from a relative `address`."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(by), address))


def _needed(entry: str) -> list[str]:
    """A module and everything it imports, in an order in which each follows its imports.

    Raises:
        ImportError: two modules import each other; the message names one of them.
    """
    order: list[str] = []
    under_way: list[str] = []

    def visit(name: str) -> None:
        if name in order:
            return
        if name in under_way:
            raise ImportError(f"{name} needs itself: {' -> '.join([*under_way, name])}")
        under_way.append(name)
        for match in _IMPORT.finditer(_text(name)):
            visit(_imported(name, match[2]))
        order.append(under_way.pop())

    visit(entry)
    return order


def _scope(name: str) -> str:
    """The name of a module in a bundle: `$js_dom`."""
    return "$" + re.sub(r"\W", "_", name.removesuffix(".js"))


def _local(name: str) -> str:
    """The text of a module whose imports refer to the modules before it."""

    def bound(match: re.Match[str]) -> str:
        names = " ".join(match[1].split()).rstrip(",").replace(" as ", ": ")
        return f"const {{ {names} }} = {_scope(_imported(name, match[2]))};\n"

    return _IMPORT.sub(bound, _text(name))


@functools.cache
def _enclosed(name: str) -> str:
    """A module as a scope that returns the module's exports, except a widget."""
    text = _DEFAULT.sub("", _local(name))
    names = ", ".join(match[1] for match in _EXPORT.finditer(text))
    return f"const {_scope(name)} = (() => {{\n{_EXPORT.sub('', text)}return {{ {names} }};\n}})();\n"
