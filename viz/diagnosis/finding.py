"""A finding: one cause, the line to change, and the evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from viz.diagnosis.change import Change
from viz.diagnosis.kinds import TELLS

Named = TypeVar("Named")
GROUPS = {1: "no gradient", 2: "a gradient of zero", 3: "nan or infinity", 4: "vanishing or exploding"}
GROUPS |= {5: "does not learn", 6: "memory and time", 7: "wrong but silent"}


@dataclass
class Trial:
    """What came of a change."""

    cured: bool | None  # whether the claim no longer holds; None if it could not be tried
    said: str  # what was seen, as the end of a sentence
    proves: bool = True  # that the cause is certain; a new gradient that nothing uses proves nothing

    @property
    def sentence(self) -> str:
        """What a report says of it."""
        if self.cured:
            return f"Tried: the changed program ran again for {self.said}, and this was gone."
        if self.cured is None:
            return f"A change of the program could not be tried, so it is not shown: {self.said}."
        return f"A change of the program was tried in vain, so it is not shown: {self.said}."


@dataclass(eq=False)
class Finding:
    """One cause, found in one run of a program."""

    kind: str  # a short name for the cause, such as `detach`: see `KINDS`
    line: int | None  # of the program, the one to change, from 1; None if the program's text has no such line
    certain: bool  # what was seen proves the cause, and a trial confirmed it; otherwise it is likely
    message: str  # what happened, with the numbers that were seen
    fix: str  # what to do, in words
    tensors: list[str] = field(default_factory=list)  # the names of those concerned
    lines: list[int] = field(default_factory=list)  # all that take part, the one to change first
    group: int = 0  # see `GROUPS`
    told: dict[str, Any] = field(default_factory=dict)  # what its words name, of which a fix as code is made
    where: tuple[str, int] | None = None  # file and line of the code that ran, if it is not in the program's own text
    path: list[int] = field(default_factory=list)  # values from the parameter to the loss, for the picture
    cut: int | None = None  # the value whose op is where it goes wrong
    share: float = 0.0  # of the parameters that should learn and that it concerns
    explains_error: bool = False
    changes: list[Change] = field(default_factory=list)  # all the lines to change; none where a trial did not cure
    trial: Trial | None = None  # what came of these

    def __post_init__(self) -> None:
        known = [self.line] if self.line is not None else []
        self.lines = list(dict.fromkeys([*known, *(line for line in self.lines if line is not None)]))

    @property
    def tried(self) -> str:
        """What came of its changes, in words; empty if they were not tried."""
        return self.trial.sentence if self.trial is not None else ""

    @property
    def sure(self) -> str:
        """How far it can be trusted, in a word."""
        return "certain" if self.certain else "possible" if self.kind in TELLS else "likely"

    @property
    def change(self) -> tuple[str, str] | None:
        """The line as it is and as it should be; None where that is not all there is to change."""
        alone = [
            change for change in self.changes if change.line == self.line and change.new and "\n" not in change.new
        ]
        return (alone[0].old, alone[0].new) if alone and len(self.changes) == 1 else None

    def as_data(self, source: list[str]) -> dict[str, Any]:
        """The finding as plain data; what should stand in a line of the source has its indentation."""
        told = ("kind", "line", "lines", "certain", "message", "fix", "change", "tried", "tensors")
        file, file_line = self.where or (None, None)
        changes = [vars(change.indented(source[change.line - 1])) for change in self.changes]
        more = {"group": GROUPS[self.group], "changes": changes, "file": file, "file_line": file_line}
        return {name: getattr(self, name) for name in told} | more


def listed(names: list[str], most: int = 4) -> str:
    """Names as English, many of them by module: `model.blocks (24 tensors) and head.bias`, or `a, b and 3 more`."""
    groups = by_module(names, str, most) if len(names) > most else None
    if groups is not None:
        names = [f"{path} ({len(group)} tensors)" if len(group) > 1 else group[0] for path, group in groups.items()]
    shown = [*names[:most], f"{len(names) - most} more"] if len(names) > most else names
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown) or "nothing"


def by_module(
    things: list[Named], name: Callable[[Named], str], most: int, least: int = 1
) -> dict[str, list[Named]] | None:
    """Things grouped by the deepest modules of their names that give `least` to `most` groups; None if none do."""
    for depth in range(max(name(thing).count(".") for thing in things), 0, -1):
        groups: dict[str, list[Named]] = {}
        for thing in things:
            groups.setdefault(".".join(name(thing).split(".")[:depth]), []).append(thing)
        if least <= len(groups) <= most:
            return groups
    return None


def number(size: float) -> str:
    """A number as a person reads it."""
    return f"{size:.3g}"
