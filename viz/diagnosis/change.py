"""A line of the program and what should stand in its place: a fix as code."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Change:
    """One line of the program and what should stand there."""

    line: int  # its number, from 1
    old: str  # its text, without the indentation
    new: str  # the text in its place: none, one or several lines with the same indentation

    def shown(self) -> list[str]:
        """The change as lines with `-` and `+`; a line that stays is shown with neither."""
        new = self.new.split("\n") if self.new else []
        if self.old not in new:
            return [f"- {self.old}", *(f"+ {line}" for line in new)]
        stays = new.index(self.old)
        return [f"{' ' if index == stays else '+'} {line}" for index, line in enumerate(new)]

    def indented(self, line: str) -> Change:
        """The same with the indentation of that line, which it then can replace as it is."""
        indentation = line[: len(line) - len(line.lstrip())]
        new = [indentation + line for line in self.new.split("\n")] if self.new else []
        return Change(self.line, line, "\n".join(new))


def applied(text: str, changes: list[Change]) -> str:
    """A program's text with the changes made."""
    lines = text.split("\n")
    for change in sorted(changes, key=lambda change: -change.line):
        new = change.indented(lines[change.line - 1]).new
        lines[change.line - 1 : change.line] = [new] if new else []
    return "\n".join(lines)
