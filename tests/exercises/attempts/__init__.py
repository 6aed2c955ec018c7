"""Answers as students write them: right ones in many styles, and wrong ones with the mistake that each holds."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import NamedTuple


class Attempt(NamedTuple):
    """A cell that somebody might hand in; `told` names the misconceptions whose hint it may be given."""

    id: str
    number: int
    source: str
    told: tuple[str, ...] = ()


def read(name: str) -> list[Attempt]:
    """The attempts in a file: `== id: head` begins an exercise, `--` the next attempt, `# told: a, b` says what it is told."""
    found = []
    for section in re.split(r"(?m)^== ", (Path(__file__).parent / name).read_text())[1:]:
        title, _, text = section.partition("\n")
        id, _, head = title.partition(":")
        for number, body in enumerate(re.split(r"(?m)^--\n", text)):
            first, _, rest = body.partition("\n")
            told = (
                tuple(word.strip() for word in first.removeprefix("# told:").split(",")) if "# told:" in first else ()
            )
            body = rest if told else body
            head = head.strip()
            name = re.sub(r"^def |\(.*", "", head)
            whole = not head or re.search(rf"(?m)^(?:def|class) {name}\b|^{name} =", body)
            source = body if whole else f"{head}\n{textwrap.indent(body, '    ')}"
            found.append(Attempt(id, number, source, told))
    return found
