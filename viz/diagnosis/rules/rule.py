"""A rule declares one cause: the pattern to find in a run, and the words for what happened and what to do."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from viz.diagnosis.finding import Finding, listed, number
from viz.diagnosis.kinds import KINDS
from viz.diagnosis.observation import Observation, Ran


@dataclass
class Place:
    """A line that words name."""

    line: int | None


class Match:
    """What a pattern found, as the words need it.

    Args:
        at: the op, pass, write or line to change.
        lines: other lines that take part, or what has one.
        names: of the tensors concerned.
        path: values for the picture, from the parameter to the loss; by default through the op.
        cut: the value where it goes wrong; by default the op's result.
        given: what replaces the defaults of the rule: `kind`, `words`, `fix`, `certain`, `share`, `explains`.
        told: values for the `{names}` in the words. One that has a line is written as `line 3, `code``.
    """

    def __init__(
        self, at: Any, lines: Sequence[Any] = (), *, names: Iterable[str] = (), path: Sequence[int] | None = None,
        cut: int | None = None, where: tuple[str, int] | None = None, given: dict[str, Any] | None = None, **told: Any,
    ) -> None:  # fmt: skip
        op = at if isinstance(at, Ran) else None
        self.at = at
        self.line: int | None = getattr(at, "line", at)
        self.lines = [getattr(line, "line", line) for line in lines]
        self.names = [name for name in names if name]
        self.path = list(path) if path is not None else [*op.inputs[:1], *op.outputs[:1]] if op is not None else []
        self.cut = cut if cut is not None or op is None else next(iter(op.outputs), None)
        self.where = where or (op.where if op is not None else None)
        self.given = given or {}
        self.told = told


def telling(words: str, fix: str, **more: Any) -> dict[str, Any]:
    """The `given` of a `Match` for which the rule's own words do not fit."""
    return {"words": words, "fix": fix} | more


def sentences(text: str) -> dict[str, tuple[str, str]]:
    """Read a text into (what happened, what to do) by name: `name: …` begins an entry, `Fix: …` the second part."""
    said = {}
    for paragraph in re.split(r"\n(?=\S)", text.strip()):
        name, words = " ".join(paragraph.split()).split(": ", 1)
        happened, _, fix = words.partition("Fix: ")
        said[name] = happened.strip(), fix
    return said


@dataclass(frozen=True)
class Rule:
    """One cause."""

    kind: str  # see `KINDS`
    pattern: Callable[[Observation], Iterable[Match]]  # finds it in an observation
    words: str = ""  # what happened, with `{at}`, `{op}`, `{names}` and what the match tells
    fix: str = ""  # what to do, likewise
    certain: bool = False  # whether what was seen proves it. It is called certain only if a trial confirms it
    share: float = 0.9  # of the parameters that it concerns, where the pattern does not know
    explains: bool = False  # whether it is the cause of the error that the program raised

    def findings(self, seen: Observation) -> Iterator[Finding]:
        """What it finds, each cause once for a line."""
        told: set[tuple[str, int | None]] = set()
        for match in self.pattern(seen):
            given = match.given
            kind = given.get("kind", self.kind)
            if (kind, match.line) in told:
                continue
            told.add((kind, match.line))
            certain, explains = given.get("certain", self.certain), given.get("explains", self.explains)
            share = given.get("share", 1.0 if explains else self.share)
            words = said(seen, match, given.get("words", self.words))
            fix = _of_this_program(seen, said(seen, match, given.get("fix", self.fix)))
            about = match.names, match.lines, KINDS[kind], match.told, match.where, match.path, match.cut
            yield Finding(kind, match.line, certain, words, fix, *about, share, explains)


def _of_this_program(seen: Observation, fix: str) -> str:
    """A fix without each example (after a colon) that uses a name which the program does not have."""

    def kept(match: re.Match[str]) -> str:
        codes = re.findall(r"`([^`]*)`", match[0])
        names = {name for code in codes for name in NAME.findall(code)}
        return (
            match[0] if names <= seen.places.names and not any(re.search(r"\w\.\d+\.", code) for code in codes) else ""
        )

    return EXAMPLE.sub(kept, fix)


EXAMPLE = re.compile(r": `[^`]*`(?:`[^`]*`|[^`])*?(?=\.(?: |$))")  # to the end of its sentence
NAME = re.compile(r"(?<![\w.])[^\W\d]\w*(?!\w|=[^=])")  # neither an attribute nor a keyword's


class _Words(string.Formatter):
    """Puts what was seen into words."""

    def __init__(self, seen: Observation) -> None:
        self._seen = seen

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, float) and not format_spec:
            return number(value)
        if isinstance(value, list):
            return listed([str(item) for item in value])
        if hasattr(value, "line"):
            return placed(self._seen, value.line)
        return str(super().format_field(value, format_spec))


def placed(seen: Observation, line: int | None) -> str:
    """A line and its code, within a sentence."""
    return f"line {line}, `{seen.places.code(line)}`" if line is not None else "an op"


def said(seen: Observation, match: Match, words: str) -> str:
    """The words with what was seen."""
    at, many = placed(seen, match.line), len(match.names) > 1
    told = {"at": at, "At": at[0].upper() + at[1:], "op": getattr(match.at, "name", ""), "names": match.names}
    told |= {"name": (*match.names, "it")[0], "them": "them" if many else "it"}
    told |= {"are": "are" if many else "is", "get": "get" if many else "gets"}
    words = re.sub(r"(^|\. )\{at\}", r"\1{At}", words)
    text = _Words(seen).vformat(words, (), told | match.told)
    return text[0].upper() + text[1:] if text.startswith("line ") else text
