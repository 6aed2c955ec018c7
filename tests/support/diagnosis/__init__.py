"""Programs for `viz.diagnose`, by subject: `programs/*.txt`. The tests use all of them: what it was tuned on.

A program follows its head, `#### name | kinds`. A line that ends in `#!` is one where a person would put the fix; the
mark is taken off before the program runs. `kinds` are the names of the cause that are right. A program in `healthy` is
right, in a style that looks like a mistake: nothing certain may be said of it. Of one in `usual` nothing at all may be
said. A `torch` among the kinds: only PyTorch has what the program calls.

A text that begins with `@@ name` is that program of the same file with other lines: each `@@` begins a place, `-` and
`+` stand before the lines that go and come.

What is in `held_out` was written before the rules were read, and no test runs it: `benchmarks/diagnose.py --held-out`
prints its rates. Change no rule for one of its programs, or it measures nothing any more. Those without kinds are
right.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent / "programs"
# As the groups of trouble, from 1.
SUBJECTS = ("no_gradient", "zero", "not_finite", "sizes", "does_not_learn", "memory", "silent")


@dataclass(frozen=True)
class Program:
    """A program: what is wrong with it, in which group of trouble, and where."""

    name: str
    group: int
    kinds: tuple[str, ...]
    marked: str
    engines: tuple[str, ...] = ("torch", "tinygrad_edu")

    @property
    def program(self) -> str:
        return "\n".join(line.removesuffix("#!").rstrip() for line in self.marked.splitlines())

    @property
    def lines(self) -> set[int]:
        """The lines, from 1, where the cause is."""
        return {number for number, line in enumerate(self.marked.splitlines(), 1) if line.endswith("#!")}


def heads(subject: str) -> Iterator[tuple[str, str, str]]:
    """The programs of a subject: name, what stands behind it in the head, and text."""
    texts: dict[str, str] = {}
    for part in (HERE / f"{subject}.txt").read_text(encoding="utf-8").split("#### ")[1:]:
        head, _, text = part.partition("\n")
        name, _, rest = head.partition(" | ")
        first, _, changes = text.strip("\n").partition("\n")
        texts[name] = _changed(texts[first[3:]], changes) if first.startswith("@@ ") else text.strip("\n")
        yield name, rest, texts[name]


def _changed(text: str, changes: str) -> str:
    """A program with other lines."""
    for place in changes.split("\n@@\n"):
        lines = [(line[:1] or " ", line[1:]) for line in place.split("\n")]
        old, new = ("".join(f"{line}\n" for sign, line in lines if sign in (" ", own)) for own in "-+")
        assert f"\n{text}\n".count(f"\n{old}") == 1, old
        text = f"\n{text}\n".replace(f"\n{old}", f"\n{new}").strip("\n")
    return text


def read(subject: str) -> list[Program]:
    group = SUBJECTS.index(subject) + 1 if subject in SUBJECTS else 0
    made = []
    for name, rest, text in heads(subject):
        kinds = tuple(kind for kind in rest.split() if kind != "torch")
        made.append(Program(name, group, kinds, text, *([("torch",)] if "torch" in rest.split() else [])))
    return made


BROKEN = [program for subject in SUBJECTS for program in read(subject)]
HEALTHY = read("healthy")
USUAL = read("usual")
FIXES = list(heads("fixes"))  # name, words of the fix that fits, program
