"""Questions from earlier lessons, asked again: first those that were answered wrongly, each time with other numbers."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import tinygrad_edu

from .bank import TEMPLATES, Question, Template, every, question

RECORD = ".tinygrad-edu-review.json"
SCHEMA = 1
COUNT = 2


@dataclass
class Memory:
    """A student's answers by question: how often asked, how often right in a row, and when last asked."""

    path: Path | None = None
    asked: dict[str, int] = field(default_factory=dict)
    row: dict[str, int] = field(default_factory=dict)
    last: dict[str, int] = field(default_factory=dict)
    wrong: dict[str, int] = field(default_factory=dict)  # misconceptions, and how often they were chosen

    @classmethod
    def of(cls, folder: Path) -> Memory:
        """The memory of a working copy. One that cannot be read is begun anew, and the old file is kept beside it."""
        path = folder / RECORD
        try:
            held = json.loads(path.read_text(encoding="utf-8"))
            if held.pop("schema") != SCHEMA:
                raise ValueError
            return cls(path, **{name: dict(held[name]) for name in ("asked", "row", "last", "wrong")})
        except FileNotFoundError:
            return cls(path)
        except (ValueError, KeyError, TypeError, AttributeError):
            path.replace(path.with_suffix(".old.json"))
            return cls(path)

    def note(self, asked: Question, chosen: str) -> None:
        """Remember an answer."""
        name = asked.template.name
        self.asked[name] = self.asked.get(name, 0) + 1
        self.row[name] = self.row.get(name, 0) + 1 if chosen == asked.right else 0
        self.last[name] = max(self.last.values(), default=0) + 1
        if chosen in asked.misconceptions:
            misconception = asked.misconceptions[chosen]
            self.wrong[misconception] = self.wrong.get(misconception, 0) + 1
        if self.path is not None:
            held = {"schema": SCHEMA, "asked": self.asked, "row": self.row, "last": self.last, "wrong": self.wrong}
            self.path.write_text(json.dumps(held, indent=1), encoding="utf-8")

    def next(self, before: int, count: int = COUNT) -> list[Question]:
        """The questions whose turn it is, of the lessons before a lesson; if there are enough, each of another one."""

        def turn(template: Template) -> tuple[bool, bool, int, int]:
            name = template.name
            missed = self.row.get(name) == 0
            return not missed, name in self.asked, self.row.get(name, 0), self.last.get(name, -template.lesson)

        waiting = sorted((one for one in TEMPLATES if one.lesson < before), key=turn)
        chosen: list[Template] = []
        for other_lesson in (True, False):
            for one in waiting:
                met = one in chosen or (other_lesson and one.lesson in {each.lesson for each in chosen})
                if len(chosen) < count and not met:
                    chosen.append(one)
        return [question(one, self.asked.get(one.name, 0), tinygrad_edu) for one in chosen]


class Review:
    """The questions of one review, as predictions below a cell."""

    def __init__(self, questions: list[Question], memory: Memory) -> None:
        from viz.widgets.predict import predict

        self.memory = memory
        self.predictions = [
            predict(f"From lesson {one.template.lesson}: {one.text}", one.choices, one.right) for one in questions
        ]
        for asked, prediction in zip(questions, self.predictions, strict=True):
            prediction.observe(self._noting(asked), "tried")

    def _noting(self, asked: Question) -> Callable[[Any], None]:
        def note(change: Any) -> None:
            if len(change["new"]) == 1:  # the first choice counts
                self.memory.note(asked, change["new"][0])

        return note

    def __repr__(self) -> str:
        return (
            "\n".join(prediction._text() for prediction in self.predictions)
            or "There is no earlier lesson to ask about."
        )

    def _ipython_display_(self) -> None:
        for prediction in self.predictions:
            prediction._ipython_display_()


def review(lesson: int, folder: Path | str | None = None) -> Review:
    """Ask two questions from the lessons before `lesson`: first those answered wrongly, then new ones, then the oldest.

    Args:
        lesson: the number of the lesson that asks.
        folder: the working copy, where answers are remembered; by default the one around the current notebook's folder.

    >>> review(1)
    There is no earlier lesson to ask about.
    """
    memory = Memory.of(Path(folder) if folder else Path.cwd().parent)
    return Review(memory.next(lesson), memory)


def ask(memory: Memory, before: int) -> int:
    """Ask in a terminal until each question has its right answer; store the first choices. Returns an exit status."""
    questions = memory.next(before)
    if not questions:
        print("There is no earlier lesson to ask about.")
    for one in questions:
        choices = list(one.choices)
        print(f"\nLesson {one.template.lesson}. {one.text}")
        for number, choice in enumerate(choices, 1):
            print(f"  {number}  {choice}")
        chosen = ""
        while chosen != one.right:
            try:
                typed = input("Your choice: ").strip()
            except EOFError:
                print()
                return 1
            if not typed.isdecimal() or not 1 <= int(typed) <= len(choices):
                print(f"Type a number from 1 to {len(choices)}.")
                continue
            if not chosen:
                memory.note(one, choices[int(typed) - 1])
            chosen = choices[int(typed) - 1]
            print(one.choices[chosen])
    return 0


def gift() -> str:
    """The whole bank in the GIFT format, which Moodle and others import: one category for each lesson."""
    parts, lesson = [], 0
    for one in every(tinygrad_edu):
        if one.template.lesson != lesson:
            lesson = one.template.lesson
            parts.append(f"$CATEGORY: tinygrad-edu/lesson {lesson}")
        choices = "\n".join(
            f"  {'=' if choice == one.right else '~'}{_of_gift(choice)} # {_of_gift(reply)}"
            for choice, reply in one.choices.items()
        )
        parts.append(f"::{one.template.name}, {one.variant + 1}:: [html]{_of_gift(_code(one.text))} {{\n{choices}\n}}")
    return "\n\n".join(parts) + "\n"


def _code(text: str) -> str:
    pieces = escape(text, quote=False).split("`")
    return "".join(f"<code>{piece}</code>" if place % 2 else piece for place, piece in enumerate(pieces))


def _of_gift(text: str) -> str:
    """Text in which no character has a meaning of GIFT's own."""
    for sign in "\\~=#{}:":
        text = text.replace(sign, f"\\{sign}")
    return text
