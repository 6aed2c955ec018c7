"""A progress bar for what takes long, in a terminal or under a cell."""

from __future__ import annotations

import sys
import time


class Bar:
    """A line that is written over; nothing if the work takes under half a second, or output goes to a file."""

    def __init__(self, total: int, unit: str, wanted: bool = True) -> None:
        self.total, self.unit = total, unit
        shell = getattr(sys.modules.get("IPython"), "get_ipython", bool)()
        notebook = sys.stdout if getattr(shell, "kernel", None) is not None else None
        self.stream = sys.stderr if sys.stderr is not None and sys.stderr.isatty() else notebook
        self.wanted = wanted and total > 0 and self.stream is not None
        self.began = self.last = time.monotonic()
        self.shown = False

    def show(self, done: int) -> None:
        """Say how much is done, at most ten times a second."""
        now = time.monotonic()
        if not self.wanted or now - self.began < 0.5 or now - self.last < 0.1:
            return
        self.last, self.shown = now, True
        full = min(20, 20 * done // self.total)
        self._write(f"\r{'█' * full}{'░' * (20 - full)} {done} of {self.total} {self.unit}")

    def close(self) -> None:
        """Remove the line."""
        if self.shown:
            self._write("\r" + " " * 60 + "\r")

    def _write(self, text: str) -> None:
        assert self.stream is not None
        self.stream.write(text)
        self.stream.flush()
