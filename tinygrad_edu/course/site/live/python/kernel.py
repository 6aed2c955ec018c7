"""Runs the cells of a page: the part of Jupyter's kernel that a lesson needs, and nothing else.

The worker provides `send(message)`. Every message is a dict of plain data with a `type`.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import inspect
import io
import itertools
import sys
import time
import traceback
import types
from collections.abc import Callable, Iterator
from typing import Any

send: Callable[[dict[str, Any]], None] = lambda message: None  # noqa: E731 the worker replaces it
_main = types.ModuleType("__main__")  # where the cells of the page live
namespace = _main.__dict__
widgets: dict[str, Any] = {}  # by model id: those that the page may write to
touched = ""  # the model id of the one that was opened or changed last
_cell = ""  # the cell whose output is being written
shell: Any = None  # stands in for IPython's; the worker makes it

_FORMS = {"_repr_html_": "text/html", "_repr_svg_": "image/svg+xml", "_repr_markdown_": "text/markdown"}


PAUSE_S = 0.05  # between two messages with what a cell prints: a page cannot draw thousands a second
MOST_PRINTED = 200_000  # characters of one run that are sent

_printed: list[tuple[str, str]] = []  # not yet sent: name of the stream, text
_since = 0.0  # when the last of it was sent
_left = MOST_PRINTED


class _Stream(io.TextIOBase):
    def __init__(self, name: str) -> None:
        self.name = name

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        global _left
        if text and _left > 0:
            _printed.append((self.name, text[:_left]))
            _left -= len(text)
            if _left <= 0:
                _printed.append(
                    (self.name, f"\n… more was printed; these are its first {MOST_PRINTED:,} characters.\n")
                )
            # At the end of a line if it comes soon: after a `print` a program may never end, or print word by word.
            pause = PAUSE_S if text.endswith("\n") else 4 * PAUSE_S
            if _left <= 0 or time.monotonic() - _since > pause:
                flush()
        return len(text)


def flush() -> None:
    """Send what was printed. Whoever sends something else calls this first, so that all comes in order."""
    global _since
    for name, group in itertools.groupby(_printed, key=lambda one: one[0]):
        send({"type": "stream", "cell": _cell, "name": name, "text": "".join(text for _, text in group)})
    _printed.clear()
    _since = time.monotonic()


@contextlib.contextmanager
def output() -> Iterator[None]:
    """A context in which what is printed goes to the page."""
    global _left
    _left = MOST_PRINTED
    try:
        with contextlib.redirect_stdout(_Stream("stdout")), contextlib.redirect_stderr(_Stream("stderr")):
            yield
    finally:
        flush()


async def run(cell: str, source: str) -> bool:
    """Run one cell and send what it shows. Returns whether it ran to its end."""
    global _cell
    _cell = cell
    filename = shell.begin(source)
    namespace.setdefault("display", display)  # as in IPython
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
            shell.end(source, None, well=False)
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


def display(*things: Any, **options: Any) -> Any:
    """IPython's `display`, which a notebook has without importing it."""
    from IPython.display import display as shown

    return shown(*things, **options)


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
    global touched
    if model in widgets:
        touched = model
        with output():
            try:
                widgets[model].receive(changes)
            except Exception as error:
                _tell(error, "")
