"""Stands in for IPython's shell, as far as `viz.magic` and a check need it: magics, past cells, listeners."""

from __future__ import annotations

import contextlib
import linecache
import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import kernel

_MAGIC = re.compile(r"\s*(%%?)(\w+)[ \t]*([^\n]*)\n?(.*)", re.DOTALL)
_FOR_TORCH = re.compile(r"^\s*(import|from)\s+torch\b", re.MULTILINE)
HONEST = (
    "<code>torch</code> is <code>tinygrad_edu</code> here, not PyTorch: the same names and rules, computed in this "
    "page with NumPy."
)
_OTHERS = (
    "of the commands that begin with %, a page has %%autograd, %%diagnose and %autograd, each at the top of its cell. "
    "The others are Jupyter's."
)


def filename(number: int) -> str:
    """The file name that a traceback shows for the cell with this number."""
    return f"<ipython-input-{number}>"


class Shell:
    """The shell as a magic sees it."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.user_ns = namespace
        self._magics: dict[tuple[str, str], Any] = {}
        self._listeners: list[tuple[str, Any]] = []
        self.history_manager = SimpleNamespace(input_hist_parsed=[""])
        self.compile = SimpleNamespace(cache=self._cache)
        self.magics_manager = SimpleNamespace(registry={})
        self.events = SimpleNamespace(
            register=lambda *listener: self._listeners.append(listener),
            unregister=lambda *listener: self._listeners.remove(listener),
        )
        namespace["In"] = self.history_manager.input_hist_parsed

    def begin(self, source: str) -> str:
        """Note that a cell is about to run. Returns the file name of its code."""
        self.history_manager.input_hist_parsed.append(source)
        return self._cache(source, len(self.history_manager.input_hist_parsed) - 1)

    @staticmethod
    def _cache(source: str, number: int) -> str:
        name = filename(number)
        linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
        return name

    def end(self, source: str, value: Any, well: bool) -> None:
        """Tell the listeners that a cell has run."""
        for event, listener in list(self._listeners):
            if event == "post_execute":
                listener()
            elif not source.lstrip().startswith("%"):  # they expect a cell in Python
                listener(SimpleNamespace(info=SimpleNamespace(raw_cell=source), success=well, result=value))

    @staticmethod
    def transform_cell(source: str) -> str:
        """Return the source unchanged: here, only Python can stand below a magic."""
        return source

    def register_magics(self, magics: Any) -> None:
        """Register the magics of a class."""
        made = self.magics_manager.registry[magics.__name__] = magics(self)
        for name in dir(magics):
            for marks in getattr(getattr(magics, name), "marks", ()):
                self._magics[marks, name] = getattr(made, name)

    def magic(self, source: str) -> Any:
        """Run a cell that begins with a magic. Returns its value.

        Raises:
            UsageError: there is no magic of that name here.
        """
        from IPython.core.error import UsageError

        import viz

        viz.load_ipython_extension(self)
        found = _MAGIC.fullmatch(source)
        marks, name, line, cell = found.groups() if found is not None else ("", "", "", "")
        if (marks, name, line.strip()) == ("%", "load_ext", "viz") and not cell.strip():
            return None
        magic = self._magics.get((marks, name))
        if magic is None or (marks == "%" and cell.strip()):
            raise UsageError(_OTHERS)
        if marks == "%":
            return magic(line)
        if not _FOR_TORCH.search(cell):
            return magic(line, cell)
        kernel.display_data({"text/html": f"<p class='live-note'>{HONEST}</p>"})
        with self._torch_stands_in():
            return magic(line, cell)

    @contextlib.contextmanager
    def _torch_stands_in(self) -> Iterator[None]:
        """A context in which a program that imports `torch` gets `tinygrad_edu`: no browser can run PyTorch itself."""
        from viz import engines
        from viz.recording import own
        from viz.recording.record import namespace_for

        used, core = own.engines_of, engines.load(engines.CORE)
        self.user_ns["__builtins__"] = namespace_for(core, {})["__builtins__"]
        own.engines_of = lambda program, inputs: [engines.CORE]
        try:
            yield
        finally:
            own.engines_of = used
            del self.user_ns["__builtins__"]
