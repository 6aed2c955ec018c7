"""The glossary: every term with the sentence that introduces it, collected from the lessons themselves."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from .working_copy import lessons_root

_DEFINITION = re.compile(r"^> \*\*(?P<term>.+?)\*\*.*(?:\n> .*)*", re.MULTILINE)


@dataclass(frozen=True)
class Entry:
    """A term, the lesson that introduces it, and the sentence that does, as Markdown."""

    term: str
    lesson: int
    text: str


class Glossary(tuple[Entry, ...]):
    """The entries in alphabetical order. They show themselves in a notebook and in a terminal."""

    def __repr__(self) -> str:
        return "\n".join(f"{entry.text} (lesson {entry.lesson})" for entry in self)

    def _repr_markdown_(self) -> str:
        return "\n".join(f"- {entry.text} *(lesson {entry.lesson})*" for entry in self)


def glossary() -> Glossary:
    """The terms of the course: every quotation in a lesson that opens with a bold word.

    >>> glossary()[0].term
    'accumulation'
    """
    entries = []
    for path in sorted(lessons_root().glob("[0-9][0-9]_*/*.ipynb")):
        for cell in json.loads(path.read_bytes())["cells"]:
            if cell["cell_type"] != "markdown":
                continue
            for found in _DEFINITION.finditer("".join(cell["source"])):
                text = " ".join(line.removeprefix("> ") for line in found[0].splitlines())
                entries.append(Entry(found["term"], int(path.name[:2]), text))
    return Glossary(sorted(entries, key=lambda entry: (entry.term.lower(), entry.lesson)))
