"""What the reader's Python finds when it starts: its standard library, NumPy and our packages, compiled and packed.

A browser that had to compile each module would need ten seconds more for its first picture. So the same Python that will run
there compiles them here, in Node; without a Node the sources are packed, and the site starts later.
"""

from __future__ import annotations

import gzip
import importlib.util
import io
import json
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from .parts import PartError

HERE = Path(__file__).parent
COMPILE_LIMIT_S = 600
NO_NODE = "no Node.js was found, so the site's Python must compile what it imports: its first picture comes later"

# Of Python's library, what the course imports before its first picture; the rest waits in a file of its own.
_AT_START = """
__future__ _collections_abc _colorize _compat_pickle _opcode_metadata _py_warnings _pyodide _pyodide_core
_sitebuiltins _sysconfigdata__emscripten_wasm32-emscripten _weakrefset abc annotationlib ast asyncio base64 bisect builtins bz2 codecs codeop collections
compression concurrent contextlib contextvars copy copyreg ctypes dataclasses datetime decimal difflib dis
encodings enum fnmatch fractions functools genericpath glob graphlib gzip hashlib heapq hmac html importlib
inspect io itertools json keyword linecache locale logging lzma ntpath numbers opcode operator os pathlib
pickle pkgutil platform posixpath pyodide random re reprlib secrets selectors shutil signal site socket ssl
stat statistics string struct subprocess sysconfig tempfile textwrap threading token tokenize traceback types
typing uuid warnings weakref zipfile zipimport
""".split()  # noqa: SIM905 a hundred lines as a list
_ENCODINGS = "__init__ aliases ascii charmap cp437 idna latin_1 punycode raw_unicode_escape unicode_escape utf_16 utf_32 utf_8 utf_8_sig"
_NEVER = ("idlelib", "lib2to3", "test", "tkinter", "turtledemo", "venv", "ensurepip")
_LEFT_OUT_OF_NUMPY = (
    "/tests/",
    "/f2py/",
    "/include/",
    "/typing/",
    "/doc/",
    "/_pyinstaller/",
    "/testing/",
    "/distutils/",
)
_NUMPY_LATER = ("numpy/fft/", "numpy/ma/", "numpy/polynomial/", "numpy/linalg/lapack_lite", "numpy/ctypeslib/")
# The pictures need traitlets for their widgets; IPython and ipywidgets have stand-ins in `python/`.
_PACKAGES = ("tinygrad_edu", "viz", "traitlets")
# Nor what a reader of a page has no use for: the command line, the grader of others' notebooks, files to print.
_LEFT_OUT_OF_OURS = (
    "/traitlets/config/",
    "/traitlets/tests/",
    "/tinygrad_edu/notebooks/",
    "/tinygrad_edu/course/",
    "/tinygrad_edu/exercises/grading/",
    "/tinygrad_edu/exercises/isolation/",
    "/viz/export/fonts/",
    "__pycache__",
)
_WITH_SOURCE = "tinygrad_edu/exercises/answers/"  # a probe is handed on as its source


def stdlib(given: bytes) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """Of `python_stdlib.zip`, what is loaded at the start and what waits until it is asked for, by path."""
    start: dict[str, bytes] = {}
    rest: dict[str, bytes] = {}
    with zipfile.ZipFile(io.BytesIO(given)) as archive:
        for name in archive.namelist():
            top, _, inner = name.partition("/")
            at_start = top.partition(".")[0] in _AT_START
            if top == "encodings":
                at_start = inner.removesuffix(".py") in _ENCODINGS.split()
            if not name.endswith("/") and top not in _NEVER:
                (start if at_start else rest)[name] = archive.read(name)
    return start, rest


def numpy(wheel: bytes) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """Of NumPy's wheel, what is loaded at the start and what waits until it is asked for, by path."""
    start: dict[str, bytes] = {}
    rest: dict[str, bytes] = {}
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        for name in archive.namelist():
            if name.endswith((".py", ".so")) and not any(part in f"/{name}" for part in _LEFT_OUT_OF_NUMPY):
                (rest if name.startswith(_NUMPY_LATER) else start)[name] = archive.read(name)
    return start, rest


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
        if path.is_file() and not any(part in f"/{folder.name}/{name}" for part in _LEFT_OUT_OF_OURS):
            yield name, path.read_bytes()


def compiled(pyodide: dict[str, bytes], *trees: tuple[dict[str, bytes], int]) -> list[dict[str, bytes]]:
    """Each tree of files with its modules compiled by Pyodide's own Python, at the optimisation level beside it.

    Where there is no Node.js the trees come back as they are.

    Raises:
        PartError: Node.js is there and the work failed.
    """
    node = shutil.which("node")
    if node is None:
        return [files for files, _ in trees]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for name, data in pyodide.items():
            (folder / name).write_bytes(data)
        jobs = []
        for number, (files, level) in enumerate(trees):
            (folder / f"{number}.zip").write_bytes(zipped(files))
            jobs.append([f"{number}.zip", level])
        (folder / "jobs.json").write_text(json.dumps(jobs))
        done = subprocess.run(
            [node, str(HERE / "compile.mjs"), scratch],
            capture_output=True,
            text=True,
            timeout=COMPILE_LIMIT_S,
            check=False,
        )
        if done.returncode:
            raise PartError(f"Node.js could not compile the site's Python: {done.stderr.strip()[-2000:]}")
        result = []
        for number, (files, _) in enumerate(trees):
            with zipfile.ZipFile(folder / f"{number}.zip") as archive:
                made = {name: archive.read(name) for name in archive.namelist()}
            kept = {
                name: data for name, data in files.items() if not name.endswith(".py") or name.startswith(_WITH_SOURCE)
            }
            result.append(kept | made)
        return result


def zipped(files: dict[str, bytes]) -> bytes:
    """A zip archive, the same for the same files; its files are as they are, so that gzip can pack all of them at once."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for name, data in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name), data)
    return whole.getvalue()


def packed(files: dict[str, bytes]) -> bytes:
    """All files in one gzip stream: a line of JSON with names and sizes, then their bytes. `worker.js` unpacks it."""
    names = sorted(files)
    head = json.dumps([[name, len(files[name])] for name in names]).encode() + b"\n"
    return gzip.compress(head + b"".join(files[name] for name in names), 9, mtime=0)
