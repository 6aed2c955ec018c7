"""What widgets share: sending their state at once, a still picture for saved notebooks, and the thread they work in."""

from __future__ import annotations

import asyncio
import base64
import json
import signal
import threading
import uuid
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anywidget
import traitlets
from IPython import get_ipython
from IPython.display import DisplayHandle, display

from viz.widgets.library import LOADER, library_of


class Live(anywidget.AnyWidget):
    """A widget of this package. `_still` is its form in a saved notebook, `_text` its plain text form."""

    own_id = traitlets.Unicode("").tag(sync=True)  # the id by which awake.js finds this widget's model
    library = traitlets.Unicode("").tag(sync=True)  # the id of the widget that holds the code; empty: this one has it

    _shown: DisplayHandle | None = None

    def __init__(self, **traits: Any) -> None:
        self._home = threading.current_thread()
        self._loop = _running_loop()
        own_id = uuid.uuid4().hex
        library = library_of(type(self))
        if library:
            self._esm, self._css = LOADER, ""
        super().__init__(own_id=own_id, model_id=own_id, library=library, **traits)

    def _begin(self) -> None:
        """Set everything that the page shows at first."""

    def open(self) -> None:
        """Send the browser this widget and all that it shows in one message: later messages might be missed."""
        if self.comm is None:
            self._begin()
        super().open()

    def _still(self) -> dict[str, str] | None:
        """A picture and a sentence, by MIME type; None for a widget that needs a page."""
        return None

    def _text(self) -> str:
        return f"A widget: {type(self).__name__}"

    def _keep(self) -> None:
        """Replace the previous still by the current one."""
        if self._shown is not None:
            self._shown.update(self._still(), raw=True)

    def _ipython_display_(self) -> None:
        """Show a still, which a saved notebook stores, and the live widget in its place."""
        _close_those_of_an_earlier_run(self)
        still = self._still()
        if still is not None:
            self._shown = display(still, raw=True, display_id=True)
        data, metadata = self._repr_mimebundle_() or ({}, {})
        text = self._text() if still is None else ""  # else it stands above, also in what is converted or printed
        display({**data, "text/plain": text}, metadata=metadata, raw=True)

    def _at_home(self, work: Callable[[], None]) -> None:
        """Do `work` in the thread in which the widget's cell ran.

        JupyterLab may deliver a page's messages in another thread, a subshell. Interrupts do not reach it, and a
        program's output would mix with that of a running cell.
        """
        if self._loop is None or threading.current_thread() is self._home:
            work()
        else:
            self._loop.call_soon_threadsafe(work)


def packed(value: Any, widget: Any = None) -> str:
    """A large trait as a notebook stores it: an eighth of its JSON. `pack.js` reads it."""
    return base64.b64encode(zlib.compress(json.dumps(value).encode())).decode()


_of_cells: dict[str, tuple[str, int, list[Live]]] = {}
"""For each cell its last run, the number of this run, and the widgets that it showed."""


def _close_those_of_an_earlier_run(shown: Live) -> None:
    """Close what an earlier run of this cell showed, and take its result out of `Out`.

    Nobody sees it any more, but a kernel keeps every open widget, and IPython keeps the last thousand results.
    """
    shell: Any = get_ipython()
    parent = getattr(shell, "parent_header", None) or {}
    cell = (parent.get("metadata") or {}).get("cellId")  # JupyterLab, Notebook 7 and VS Code say which cell runs
    if cell is None:
        return
    run = parent["header"]["msg_id"]
    earlier, number, widgets = _of_cells.get(cell, ("", 0, []))
    elsewhere = [widget for other, (*_, held) in _of_cells.items() if other != cell for widget in held]
    if earlier != run:
        for widget in widgets:
            if widget is not shown and not any(widget is held for held in elsewhere):
                widget.layout.close()
                widget.close()
        shell.user_ns.get("_oh", {}).pop(number, None)
        for names in (shell.user_ns, shell.user_ns_hidden):
            names.pop(f"_{number}", None)
        widgets = []
    _of_cells[cell] = run, shell.displayhook.prompt_count, [*widgets, shown]


@contextmanager
def interruptible() -> Iterator[None]:
    """A context where an interrupt raises `KeyboardInterrupt`; otherwise a kernel ignores it between its messages."""
    if threading.current_thread() is not threading.main_thread():  # signals do not arrive there
        yield
        return
    inside = True

    def interrupted(number: int, frame: Any) -> None:
        if inside:  # otherwise it would end the kernel
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        inside = False
        signal.signal(signal.SIGINT, before)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
