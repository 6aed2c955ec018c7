"""Answers as students write them: right ones in many styles, and wrong ones with the mistake that each holds."""

import re
import textwrap
from pathlib import Path
from typing import NamedTuple


class Attempt(NamedTuple):
    """A cell that somebody might hand in; `told` names the misconceptions whose hint it may be given."""

    id: str
    source: str
    told: tuple[str, ...] = ()


def read(name: str) -> list[Attempt]:
    """The attempts in a file: `== id: head` begins an exercise, `--` an attempt, `# told: a, b` says what it hears."""
    found = []
    for section in re.split(r"(?m)^== ", (Path(__file__).parent / name).read_text())[1:]:
        title, _, text = section.partition("\n")
        id, head = (part.strip() for part in title.split(":", 1))
        defined = re.sub(r"^def |\(.*", "", head)
        for body in re.split(r"(?m)^--\n", text):
            told, body = re.fullmatch(r"(?s)(?:# told: (.*?)\n)?(.*)", body).groups()
            whole = not head or re.search(rf"(?m)^(?:def|class) {defined}\b|^{defined} =", body)
            source = body if whole else f"{head}\n{textwrap.indent(body, '    ')}"
            found.append(Attempt(id, source, tuple(told.split(", ")) if told else ()))
    return found
