"""Runs the cells of a page: the part of Jupyter's kernel that a lesson needs, and nothing else.

The worker provides `send(message)`. Every message is a dict of plain data with a `type`.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import inspect
import io
import sys
import traceback
import types
from collections.abc import Callable, Iterator
from typing import Any

send: Callable[[dict[str, Any]], None] = lambda message: None  # noqa: E731 the worker replaces it
_main = types.ModuleType("__main__")  # where the cells of the page live
namespace = _main.__dict__
widgets: dict[str, Any] = {}  # by model id: those that the page may write to
_cell = ""  # the cell whose output is being written
shell: Any = None  # stands in for IPython's; the worker makes it

_FORMS = {
    "_repr_html_": "text/html",
    "_repr_svg_": "image/svg+xml",
    "_repr_markdown_": "text/markdown",
}


class _Stream(io.TextIOBase):
    def __init__(self, name: str) -> None:
        self.name = name

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if text:
            send({"type": "stream", "cell": _cell, "name": self.name, "text": text})
        return len(text)


@contextlib.contextmanager
def output() -> Iterator[None]:
    """A context in which what is printed goes to the page."""
    with contextlib.redirect_stdout(_Stream("stdout")), contextlib.redirect_stderr(_Stream("stderr")):
        yield


async def run(cell: str, source: str) -> bool:
    """Run one cell and send what it shows. Returns whether it ran to its end."""
    global _cell
    _cell = cell
    filename = shell.begin(source)
    sys.modules["__main__"] = _main
    with output():
        try:
            value = await _execute(source, filename)
            if value is not None:
                namespace["_"] = value
                show(value, is_result=True)
            shell.end(source, value, well=True)
        except BaseException as error:
            _tell(error, filename)
            return False
    return True


async def _execute(source: str, filename: str) -> Any:
    """Run a cell. Returns the value of its last line if that is an expression."""
    if source.lstrip().startswith("%"):
        value = shell.magic(source)
        return None if source.rstrip().endswith(";") else value
    tree = ast.parse(source, filename)
    last = tree.body[-1] if tree.body else None
    shown = last.value if isinstance(last, ast.Expr) and not source.rstrip().endswith(";") else None
    if shown is not None:
        tree.body.pop()
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    if tree.body:
        await _done(eval(compile(tree, filename, "exec", flags, dont_inherit=True), namespace))
    if shown is None:
        return None
    return await _done(eval(compile(ast.Expression(shown), filename, "eval", flags, dont_inherit=True), namespace))


async def _done(value: Any) -> Any:
    return await value if inspect.iscoroutine(value) else value


def _tell(error: BaseException, filename: str) -> None:
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename != filename:
        frames = frames.tb_next
    own = getattr(error, "_render_traceback_", None)
    lines = own() if own is not None else traceback.format_exception(type(error), error, frames)
    if isinstance(error, ModuleNotFoundError) and error.name == "torch":
        lines = [*lines, "PyTorch does not run in a browser: use `tinygrad_edu` here, or JupyterLab for both."]
    text = "".join(line.rstrip("\n") + "\n" for line in lines)
    send({"type": "error", "cell": _cell, "name": type(error).__name__, "text": text})


def bundle(thing: Any) -> dict[str, str]:
    """What can be shown of `thing`, by MIME type."""
    made = getattr(thing, "_repr_mimebundle_", None)
    given = made() if made is not None else {}
    data = dict(given[0] if isinstance(given, tuple) else given or {})
    for method, kind in _FORMS.items():
        text = getattr(thing, method, lambda: None)() if kind not in data else None
        if text is not None:
            data[kind] = text
    picture = getattr(thing, "_repr_png_", lambda: None)()
    if isinstance(picture, bytes):
        data["image/png"] = base64.b64encode(picture).decode()
    data.setdefault("text/plain", repr(thing))
    return data


def show(thing: Any, is_result: bool = False) -> None:
    """Show a value as Jupyter would: by its own method if it has one, otherwise in its richest form."""
    own = getattr(type(thing), "_ipython_display_", None)
    if own is not None:
        own(thing)
    else:
        display_data(bundle(thing), is_result=is_result)
    _progress(thing)


def display_data(
    data: dict[str, Any], handle: str | None = None, update: bool = False, is_result: bool = False
) -> None:
    """Send what is shown. With `update`, it replaces what was shown before under the same `handle`."""
    kind = "update" if update else "display"
    send({"type": kind, "cell": _cell, "data": data, "handle": handle, "result": is_result})


def _progress(thing: Any) -> None:
    """Tell the page about an exercise that was just checked: the page stores the student's progress."""
    verdict: Any = getattr(thing, "verdict", None)
    if type(verdict).__name__ == "Verdict":
        message = {"type": "checked", "exercise": verdict.exercise, "points": verdict.points, "of": verdict.out_of}
        send(message)


def receive(model: str, changes: dict[str, Any]) -> None:
    """Take over what the page changed in a widget."""
    if model in widgets:
        with output():
            try:
                widgets[model].receive(changes)
            except Exception as error:
                _tell(error, "")
