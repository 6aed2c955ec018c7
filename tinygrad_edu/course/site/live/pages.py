"""Puts into a page what makes it live: the list of its cells, the tape of its programs, and the files of the worker."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...working_copy import Notebook
from . import archive, examples, parts
from .needs import parts as parts_of

HERE = Path(__file__).parent
_CHECK = re.compile(r"""\bcheck\(\s*["'](\w+)["']""")
_SCRIPT = '<script type="application/json" id="tgv-live-page">{}</script>'

# What a reader of the first page may do first: press a switch, also one that ends in an error.
_PRESSES = [{"request": {"state": state}} for state in ({"no_grad": [1]}, {"backwards": 2})]

_PIECES = ("network.js", "cause.js")  # what an output draws by a script in JupyterLab
_WIDGETS = {"Explorer": "explorer.js", "MistakeView": "mistake.js"}
# Packs of the standard library that serve no program of a link, which has no files, no network and no other process.
_NOT_FOR_A_LINK = """
asyncio concurrent ctypes email encodings http ipaddress logging mimetypes pydoc ssl tzdata urllib webbrowser xml
zoneinfo
"""

# Runs before and after a lesson, to store PyTorch's answers, including those to each switch of its explorers.
START_TAPE = f"""
import importlib.util as _util
_spec = _util.spec_from_file_location("tape", {str(HERE / "python" / "tape.py")!r})
_tape = _util.module_from_spec(_spec)
_spec.loader.exec_module(_tape)
_tape.start()
"""
SAVE_TAPE = """
import pathlib as _pathlib, sys as _sys
if "viz.widgets.explorer" in _sys.modules:
    _tape.press_every_switch({texts!r})
_tape.save(_pathlib.Path({path!r}))
"""
_FOR_THE_NETWORK = ("_downloads/", "_sources/", "objects.inv")  # what a reader who is offline has no use for
_BEFORE, _AFTER = 2, 1  # how many cells away from an explorer its text may be


def exercises_of(notebook: Notebook) -> list[str]:
    """The exercises that a lesson checks, in order."""
    found = [id for cell in _code(notebook) for id in _CHECK.findall(cell["source"])]
    return list(dict.fromkeys(found))


def save_tape(path: Path, cells: Sequence[Any]) -> str:
    """The cell that saves the tape of a lesson with these `cells` as `path`."""
    explorers = [at for at, cell in enumerate(cells) if cell["cell_type"] == "code" and "explore(" in cell["source"]]
    near = {at for one in explorers for at in range(max(0, one - _BEFORE), one + _AFTER + 1)}
    texts = [cell["source"] for at, cell in enumerate(cells) if at in near and cell["cell_type"] == "markdown"]
    return SAVE_TAPE.format(texts=texts, path=str(path))


def make_live(notebook: Notebook, name: str, lessons: dict[str, list[str]]) -> None:
    """Tell the page about its cells. Changes `notebook`: each code cell gets a class, a last cell has the page's data.

    Args:
        notebook: with its outputs.
        name: of the page, such as `02_building_the_graph`.
        lessons: the exercises of every page of the site.
    """
    code = _code(notebook)
    cells = []
    for cell, part in zip(code, parts_of([cell["source"] for cell in code]), strict=True):
        cell["metadata"].setdefault("tags", []).append(f"cell-{cell['id']}")
        cells.append({"id": cell["id"], "source": cell["source"], "runs": part.runs, "needs": part.needs})
    about = {"page": name, "cells": cells, "exercises": lessons}
    script = _SCRIPT.format(json.dumps(about, ensure_ascii=False).replace("<", "\\u003c"))
    notebook["cells"].append({"cell_type": "markdown", "id": "live", "metadata": {}, "source": script})


def _code(notebook: Notebook) -> Sequence[Any]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


@dataclass(frozen=True)
class Given:
    """Third-party files: Pyodide, its NumPy wheel, Graphviz, the writer of GIFs, the editor's modules by package."""

    python: dict[str, bytes]
    numpy: bytes
    graphviz: bytes
    gif: bytes
    editor: dict[str, bytes]


def gathered(wheel: Path | None = None) -> Given:
    """All parts that a live site needs, from the cache or the network.

    Args:
        wheel: NumPy for Pyodide, if it should not be downloaded.

    Raises:
        PartError: one of them is not available, or Node.js is not.
    """
    archive.node()
    python = parts.files_of(parts.PYODIDE)
    numpy = parts.numpy_wheel(python["pyodide-lock.json"], wheel)
    graphviz = parts.files_of(parts.GRAPHVIZ)["dist/viz.js"]
    editor = {package.name: next(iter(parts.files_of(package).values())) for package in parts.EDITOR}
    gif = next(iter(parts.files_of(parts.GIF).values()))
    return Given(python, numpy, graphviz, gif, editor)


def write_files(folder: Path, first: str, given: Given) -> None:
    """Write everything that a live page loads into `folder`.

    Args:
        folder: to write to.
        first: the cell of the site's first page: what it needs is loaded at the start.
        given: the parts that others built.

    Raises:
        PartError: Node.js could not prepare the site's Python.
    """
    from viz.export import bundle

    python, graphviz = given.python, given.graphviz
    trees = {
        "library": archive.library(python["python_stdlib.zip"]),
        "numpy": archive.numpy(given.numpy),
        "ours": archive.ours(),
    }
    packs = archive.prepared(python, graphviz, trees, first, _PRESSES, examples.FIRST)
    files = {"pyodide.mjs": python["pyodide.mjs"]}
    # Packed, so that a host that packs nothing sends a third; `.gz` would make some hosts unpack it on the way.
    large = {name: python[name] for name in ("pyodide.asm.mjs", "pyodide.asm.wasm")} | {"viz.js": graphviz}
    files |= {f"{name}.pack": gzip.compress(content, 9, mtime=0) for name, content in large.items()}
    files |= {
        "pyodide-lock.json": _short_lock(python["pyodide-lock.json"]),
        "library.pack": gzip.compress(archive.zipped(packs.start["library"]), 9, mtime=0),
        "numpy.pack": archive.packed(packs.start["numpy"]),
        "ours.pack": archive.packed({**packs.start["ours"], "later.json": packs.index()}),
    }
    files |= {f"later/{name}.pack": archive.packed(content) for name, content in packs.later.items()}
    files |= {path.name: path.read_bytes() for path in (HERE / "page").iterdir()}
    files |= {f"pieces/{name}": bundle.script(name).encode() for name in _PIECES}
    files |= {f"explore/{name}": data for name, data in _explore(packs).items()} | {"explore/gifenc.js": given.gif}
    names = {package: f"{package.replace('/', '__').lstrip('@')}.js" for package in given.editor}
    for package, content in given.editor.items():
        files[f"modules/{names[package]}"] = _with_addresses(content, names, "./")
    files["editor.js"] = _with_addresses(files["editor.js"], names, "./modules/")
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def _explore(packs: archive.Packs) -> archive.Files:
    """The files of explore.html: its scripts, the widgets that it may show, its menu, and the packs it needs later."""
    from viz.export import bundle

    widgets = {
        kind: {"module": bundle.script(script), "style": bundle.style("common.css", script)}
        for kind, script in _WIDGETS.items()
    }
    rest = [f"later/{name}.pack" for name in packs.later if name.partition(".")[0] not in _NOT_FOR_A_LINK.split()]
    data = {"widgets.json": widgets, "examples.json": examples.as_data(), "rest.json": {"names": rest}}
    files = {path.name: path.read_bytes() for path in (HERE / "explore").iterdir() if path.suffix in (".js", ".css")}
    files["opened.pack"] = gzip.compress(packs.opened, 9, mtime=0)
    return files | {name: json.dumps(content).encode() for name, content in data.items()}


def finish(site: Path) -> None:
    """Write explore.html into the folder of a live site, and the service worker, which has a list of all its files."""
    (site / "explore.html").write_bytes((HERE / "explore" / "explore.html").read_bytes())
    files = (path for path in sorted(site.rglob("*")) if path.is_file())
    paths = {path.relative_to(site).as_posix(): path for path in files}
    kept = {
        name: hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        for name, path in paths.items()
        if not name.startswith((".", *_FOR_THE_NETWORK))
    }
    worker = (HERE / "offline.js").read_text(encoding="utf-8")
    text = worker.replace("const FILES = {};", f"const FILES = {json.dumps(kept)};")
    (site / "offline.js").write_text(text, encoding="utf-8")


def _with_addresses(module: bytes, names: dict[str, str], folder: str) -> bytes:
    """A module that imports files, not packages: a page that has begun to import takes no import map any more."""

    def address(match: re.Match[str]) -> str:
        return f'{match[1]}"{folder}{names[match[2]]}"' if match[2] in names else match[0]

    return re.sub(r"""(\bfrom\s*|\bimport\s*)["']([^"'.][^"']*)["']""", address, module.decode()).encode()


def _short_lock(lock: bytes) -> bytes:
    """Pyodide's list of packages, left empty: ours are packed separately."""
    return json.dumps({**json.loads(lock), "packages": {}}).encode()
