"""What the widgets have in common: an ear on a busy page, a still for where no kernel runs, a thread to work in."""

from __future__ import annotations

import asyncio
import signal
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anywidget
import traitlets
from IPython.display import DisplayHandle, display


class Live(anywidget.AnyWidget):
    """A widget of this package; what it is in a saved notebook tells `_still`, and where there is text alone `_text`."""

    own_id = traitlets.Unicode("").tag(sync=True)  # of this widget, by which awake.js finds its model

    _shown: DisplayHandle | None = None

    def __init__(self, **traits: Any) -> None:
        self._home = threading.current_thread()
        self._loop = _running_loop()
        own_id = uuid.uuid4().hex
        super().__init__(own_id=own_id, model_id=own_id, **traits)

    def _begin(self) -> None:
        """Set all that the page is to show at first."""

    def open(self) -> None:
        """Tell the browser of this widget and all that it shows in one message: what came after it might not be heard."""
        if self.comm is None:
            self._begin()
        super().open()

    def _still(self) -> dict[str, str] | None:
        """A picture and a sentence, by MIME type; None for a widget that is nothing without a page."""
        return None

    def _text(self) -> str:
        return f"A widget: {type(self).__name__}"

    def _keep(self) -> None:
        """Put the still as it is now where the one before was shown."""
        if self._shown is not None:
            self._shown.update(self._still(), raw=True)

    def _ipython_display_(self) -> None:
        """Show a still, which a saved notebook keeps, and the live widget in its place."""
        still = self._still()
        if still is not None:
            self._shown = display(still, raw=True, display_id=True)
        data, metadata = self._repr_mimebundle_() or ({}, {})
        display({**data, "text/plain": self._text()}, metadata=metadata, raw=True)

    def _at_home(self, work: Callable[[], None]) -> None:
        """Do `work` in the thread that the widget's cell ran in.

        JupyterLab may deliver what a page says in another one, a subshell. There no interrupt is heard, and what a program
        prints gets mixed up with what a cell prints that runs meanwhile.
        """
        if self._loop is None or threading.current_thread() is self._home:
            work()
        else:
            self._loop.call_soon_threadsafe(work)


@contextmanager
def interruptible() -> Iterator[None]:
    """A context that an interrupt ends with `KeyboardInterrupt`; by itself, a kernel hears none between its messages."""
    if threading.current_thread() is not threading.main_thread():  # nothing is heard there
        yield
        return
    inside = True

    def interrupted(number: int, frame: Any) -> None:
        if inside:  # else it would end the kernel
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
