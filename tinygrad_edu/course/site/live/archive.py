"""The files that the reader's Python starts with: its standard library, NumPy and our packages, compiled and packed.

The Python that will run in the page compiles them here, in Node; doing that in a browser would delay the first picture
by ten seconds. It also draws that picture, which shows what modules it needs. Those are loaded at the start, and each
of the others with its neighbours when a program imports it.
"""

from __future__ import annotations

import gzip
import importlib.util
import io
import json
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .parts import PartError

HERE = Path(__file__).parent
PREPARE_LIMIT_S = 600
NO_NODE = (
    "A live site needs Node.js to be built: it compiles the Python of the pages. Install it (https://nodejs.org), or "
    "build without --live."
)

Files = dict[str, bytes]  # by path

# The optimisation level of each tree: assertions and docstrings of others are not shipped; ours are needed by `help`.
_TREES = {"library": 2, "numpy": 2, "ours": 0}
_EXTENSION = ".cpython-314-wasm32-emscripten.so"
# Pyodide imports these before any of our programs, and it imports different ones in Node and in a browser.
_PYODIDE = ("pyodide", "_pyodide", "_sysconfigdata__emscripten_wasm32-emscripten")
# NumPy imports this at its start; `later.py` delays it until a matrix is factored.
_WAITS = ("numpy.linalg._umath_linalg",)
_EMPTY = ("numpy/_core/_add_newdocs.py", "numpy/_core/_add_newdocs_scalars.py")  # docstrings of functions written in C
# Of the standard library: what needs a desktop, a terminal, a server, another process or a database, and has none here;
# what works on programs and packages rather than in them; and what stands in for modules written in C.
_NEVER = """
_pydatetime _pyio _pyrepl bdb cProfile compileall configparser curses dbm doctest ensurepip ftplib idlelib imaplib
lib2to3 mailbox modulefinder multiprocessing optparse pdb pickletools plistlib poplib profile pstats pydoc_data smtplib
socketserver sqlite3 tarfile test tkinter tomllib trace turtledemo unittest venv wave wsgiref xmlrpc zipapp
"""
_IMPORTER = "later.py"  # imports what is in the packs, so it is not in one of them
_FOR_HELP = ("_pyrepl/__init__.py", "_pyrepl/pager.py")
_LEFT_OUT_OF_NUMPY = re.compile("/(tests|f2py|include|typing|doc|_pyinstaller|testing|distutils)/")
# The pictures need traitlets, and a lesson needs the time zones; IPython and ipywidgets have stand-ins in `python/`.
_PACKAGES = ("tinygrad_edu", "viz", "traitlets", "tzdata")
# A page also has no use for the command line, the grader, and files to print.
_LEFT_OUT_OF_OURS = re.compile(
    r"/traitlets/(config|tests)/|/tinygrad_edu/(notebooks|course|exercises/grading)/|/viz/export/fonts/|__pycache__"
    r"|/tinygrad_edu/exercises/running/cells\.py"
    r"|/tinygrad_edu/sandbox/(inside|instruments|landlock|limits|outside|python_only)\.py"
)
# A probe is sent as its source text; lesson 8 copies the heart of the engine, to run it alone.
_WITH_SOURCE = ("tinygrad_edu/exercises/answers/", "tinygrad_edu/core/")


@dataclass(frozen=True)
class Packs:
    """What a page loads at the start, by tree; and what it loads on demand, by the name of a pack."""

    start: dict[str, Files]
    later: dict[str, Files] = field(default_factory=dict)
    opened: bytes = b"null"  # JSON: what explore.html shows of its first program, before its Python has started

    def index(self) -> bytes:
        """Where each delayed module is found: JSON, the pack by the module's name."""
        found = {module_of(path): pack for pack, files in self.later.items() for path in files}
        return json.dumps({module: pack for module, pack in sorted(found.items()) if module}).encode()


def library(given: bytes) -> Files:
    """The part of `python_stdlib.zip` that is useful in a page."""
    with zipfile.ZipFile(io.BytesIO(given)) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        never = _NEVER.split()
        taken = [name for name in names if name.partition("/")[0].removesuffix(".py") not in never]
        found = {name: archive.read(name) for name in [*taken, *_FOR_HELP] if name in names}
    return {**found, _IMPORTER: (HERE / "python" / _IMPORTER).read_bytes()}


def numpy(wheel: bytes) -> Files:
    """The part of NumPy's wheel that computes."""
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        names = [name for name in archive.namelist() if name.endswith((".py", ".so"))]
        taken = [name for name in names if not _LEFT_OUT_OF_NUMPY.search(f"/{name}")]
        return {name: _without_docs(name, archive.read(name)) for name in taken}


def _without_docs(name: str, source: bytes) -> bytes:
    return b"" if name in _EMPTY else source


def ours() -> dict[str, bytes]:
    """Our packages, traitlets and the stand-ins of this folder, by path."""
    found = {f"{name}/{path}": data for name in _PACKAGES for path, data in _files(_home(name))}
    return found | dict(_files(HERE / "python"))


def _home(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise PartError(f"No module named {package!r}: pip install 'tinygrad-edu[site]'")
    return Path(spec.origin).parent


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not _LEFT_OUT_OF_OURS.search(f"/{folder.name}/{name}"):
            yield name, path.read_bytes()


def node() -> str:
    """Where Node.js is.

    Raises:
        PartError: there is none.
    """
    found = shutil.which("node")
    if found is None:
        raise PartError(NO_NODE)
    return found


def prepared(
    pyodide: Files, graphviz: bytes, trees: dict[str, Files], first: str, presses: list[dict[str, Any]], opening: str
) -> Packs:
    """The trees compiled by Pyodide's own Python, and split into what a page needs for its first picture and the rest.

    Args:
        pyodide: its files.
        graphviz: `viz.js`.
        trees: `library`, `numpy` and `ours`.
        first: the cell that draws the first picture, by a widget.
        presses: the first changes a reader may make in that widget, as the page would send them.
        opening: the program that explore.html shows first.

    Raises:
        PartError: there is no Node.js, or the work failed.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        _write(folder, {**pyodide, "viz.mjs": graphviz})
        for tree, files in trees.items():
            _write(folder / tree, files)
        jobs = {"trees": _TREES, "first": first, "presses": presses, "opening": opening}
        (folder / "jobs.json").write_text(json.dumps(jobs))
        command = [node(), str(HERE / "prepare.mjs"), scratch]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PREPARE_LIMIT_S, check=False)
        if done.returncode:
            raise PartError(f"Node.js could not prepare the site's Python: {done.stderr.strip()[-2000:]}")
        used = json.loads((folder / "used.json").read_text())
        opened = (folder / "opened.json").read_bytes()
        for tree, files in trees.items():
            trees[tree] = {
                name: data for name, data in files.items() if not name.endswith(".py") or name.startswith(_WITH_SOURCE)
            } | {
                path.relative_to(folder / tree).as_posix(): path.read_bytes()
                for path in folder.joinpath(tree).rglob("*.pyc")
            }
    return replace(parted(trees, set(used["modules"]) - set(_WAITS), used["opened"]), opened=opened)


def _write(folder: Path, files: Files) -> None:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def parted(trees: dict[str, Files], modules: set[str], opened: list[str]) -> Packs:
    """Split compiled trees: at the start come the `modules`, and the data files that were `opened`."""
    start: dict[str, Files] = {tree: {} for tree in trees}
    later: dict[str, Files] = {}
    for tree, files in trees.items():
        for path, data in files.items():
            module = module_of(path)
            at_start = module in modules or module.partition(".")[0] in _PYODIDE
            if not module:
                # No import brings what a widget's page is made of: exported pictures read it, whoever asked for them.
                at_start = path.startswith("viz/widgets/") or any(one.endswith(f"/{path}") for one in opened)
            if at_start:
                start[tree][path] = data
            else:
                later.setdefault(_pack_of(path), {})[path] = data
    return Packs(start, later)


def module_of(path: str) -> str:
    """The name of the module in a file; empty if the file is not a module.

    >>> module_of("viz/widgets/__init__.pyc"), module_of("viz/widgets/player.js")
    ('viz.widgets', '')
    """
    for ending in (_EXTENSION, ".pyc", ".py"):
        if path.endswith(ending):
            return path.removesuffix(ending).removesuffix("/__init__").replace("/", ".")
    return ""


def _pack_of(path: str) -> str:
    """What is loaded together: a module of the library, or the second level of one of our packages or of NumPy."""
    levels = 2 if path.startswith(("numpy/", "tinygrad_edu/", "viz/")) else 1
    return ".".join(path.split("/")[:levels]).partition(".py")[0].partition(".cpython")[0]


def zipped(files: dict[str, bytes]) -> bytes:
    """A zip archive that is the same for the same files. It is uncompressed, so that gzip can pack all at once."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for name, data in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name), data)
    return whole.getvalue()


def packed(files: dict[str, bytes]) -> bytes:
    """All files in one gzip stream: a line of JSON with names and sizes, then their bytes. `later.py` unpacks it."""
    names = sorted(files)
    head = json.dumps([[name, len(files[name])] for name in names]).encode() + b"\n"
    return gzip.compress(head + b"".join(files[name] for name in names), 9, mtime=0)
