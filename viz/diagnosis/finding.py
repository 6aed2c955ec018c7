"""A finding: one cause, the line to change, and the evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from viz.diagnosis.change import Change

Named = TypeVar("Named")
GROUPS = {
    1: "no gradient",
    2: "a gradient of zero",
    3: "nan or infinity",
    4: "vanishing or exploding",
    5: "does not learn",
    6: "memory and time",
    7: "wrong but silent",
}


@dataclass
class Trial:
    """What came of a change.

    Attributes:
        cured: True if the claim no longer holds, False if it still does, None if it could not be tried.
        said: what was seen, as the end of a sentence.
        proves: whether that makes the cause certain. It does not where nothing makes use of a gradient that is there now.
        further: where the same was found in another line, what to change in the changed program for that.
        left: the kinds that the rules still find in the changed program; None where it did not run as far as the program did.
    """

    cured: bool | None
    said: str
    further: list[Change] = field(default_factory=list)
    proves: bool = True
    left: list[str] | None = None

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
    """One cause, found in one run of a program.

    Attributes:
        kind: a short name for the cause, such as `detach` or `no-zero-grad`.
        line: the line of the program to change, from 1; None if the program's text has no such line.
        certain: True if what was seen proves the cause; otherwise it is likely.
        message: what happened, with the numbers that were seen.
        fix: what to do, with the changed line if it can be written down.
        tensors: the names of the tensors concerned.
        lines: all lines that take part, the one to change first.
        group: one of the seven kinds of trouble, see `GROUPS`.
        proposed: what should stand in that line, as its rule has it: the line as it is and as it should be.
        changes: all the lines to change; empty where they cannot be written down, or a trial of them did not cure.
        where: file and line of the code that ran, if it is not in the program's own text.
        trial: what came of its changes when the changed program ran again.
        tried: the same in words; empty if it has none.
        follows: the kind of an earlier finding that this one may only be a consequence of; empty if there is none.
        path: values from the parameter to the loss, for the picture; the op that made `cut` is where it goes wrong.
    """

    kind: str
    line: int | None
    certain: bool
    message: str
    fix: str
    tensors: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    group: int = 0
    proposed: tuple[str, str] | None = None
    where: tuple[str, int] | None = None
    path: list[int] = field(default_factory=list)
    cut: int | None = None
    share: float = 0.0  # of the parameters that should learn and that it concerns
    explains_error: bool = False
    follows: str = ""
    changes: list[Change] = field(default_factory=list)
    trial: Trial | None = None
    tried: str = ""

    def __post_init__(self) -> None:
        known = [self.line] if self.line is not None else []
        self.lines = list(dict.fromkeys([*known, *(line for line in self.lines if line is not None)]))

    @property
    def cured(self) -> bool | None:
        """Whether its changes cured; None if that was not tried."""
        return self.trial.cured if self.trial is not None else None

    @property
    def change(self) -> tuple[str, str] | None:
        """The line as it is and as it should be; None where that is not all there is to change."""
        alone = [one for one in self.changes if one.line == self.line and one.new and "\n" not in one.new]
        return (alone[0].old, alone[0].new) if alone and len(self.changes) == 1 else None

    def as_data(self, source: list[str]) -> dict[str, Any]:
        """The finding as plain data; what should stand in a line of the source has its indentation."""
        changes = [one.indented(source[one.line - 1]) for one in self.changes]
        return {
            "kind": self.kind,
            "group": GROUPS.get(self.group, ""),
            "line": self.line,
            "lines": self.lines,
            "certain": self.certain,
            "message": self.message,
            "fix": self.fix,
            "change": list(self.change) if self.change else None,
            "changes": [vars(one) for one in changes],
            "tried": self.tried,
            "tensors": self.tensors,
            "follows": self.follows,
            "file": self.where[0] if self.where else None,
            "file_line": self.where[1] if self.where else None,
        }


def listed(names: list[str], most: int = 4) -> str:
    """Names as English, many of them by module: `model.blocks (24 tensors) and head.bias`, or `a, b and 3 more`."""
    groups = by_module(names, str, most) if len(names) > most else None
    if groups is not None:
        names = [f"{path} ({len(group)} tensors)" if len(group) > 1 else group[0] for path, group in groups.items()]
    shown = names[:most]
    rest = len(names) - len(shown)
    if rest:
        return f"{', '.join(shown)} and {rest} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown) if shown else "nothing"


def by_module(
    things: list[Named], name: Callable[[Named], str], most: int, least: int = 1
) -> dict[str, list[Named]] | None:
    """Things joined by the deepest modules of their names that leave `least` to `most` of them; None where no depth does."""
    for depth in range(max(name(one).count(".") for one in things), 0, -1):
        groups: dict[str, list[Named]] = {}
        for one in things:
            groups.setdefault(".".join(name(one).split(".")[:depth]), []).append(one)
        if least <= len(groups) <= most:
            return groups
    return None


def number(size: float) -> str:
    """A number as a person reads it."""
    return f"{size:.3g}"
