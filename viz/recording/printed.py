"""What a program prints, captured up to a limit."""

from __future__ import annotations

import io
from typing import Any

PRINTED = 100_000  # characters of a program's output that are kept
AT_ONCE = 2_000  # characters of it that are shown as it runs


class Printed(io.StringIO):
    """Captures what a program prints, up to a limit, so that even a program that prints a gigabyte can be recorded.

    The first `AT_ONCE` are also shown in `through`, at once and so in their place among what else the program writes.
    """

    def __init__(self, through: Any = None) -> None:
        super().__init__()
        self._through = through

    def write(self, text: str) -> int:
        at = self.tell()
        room = PRINTED - at
        shown = text if len(text) <= room else f"{text[:room]}\n… output beyond {PRINTED:,} characters is not kept\n"
        super().write(shown)
        if self._through is not None and at < AT_ONCE:
            self._through.write(shown[: AT_ONCE - at])
        if shown is not text:
            self.write = len  # type: ignore[method-assign, assignment] # what write returns; and not seen by a tracer
        return len(text)

    def flush(self) -> None:
        if self._through is not None:
            self._through.flush()
