"""What a program prints, captured up to a limit."""

from __future__ import annotations

import io

PRINTED = 100_000  # characters of a program's output that are kept


class Printed(io.StringIO):
    """Captures what a program prints, up to a limit, so that even a program that prints a gigabyte can be recorded."""

    def write(self, text: str) -> int:
        room = PRINTED - self.tell()
        if 0 < room < len(text):
            super().write(text[:room])
            super().write(f"\n… output beyond {PRINTED:,} characters is not kept\n")
            self.write = len  # type: ignore[method-assign, assignment] # what write returns; and not seen by a tracer
        elif room > 0:
            super().write(text)
        return len(text)
