"""A student's progress: reads the notebooks of the working copy and judges their answers again."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..exercises import all_exercises, counted
from ..exercises.exercise import PROGRAM, unit_of
from ..exercises.judging.judge import Verdict, judge
from ..exercises.judging.report import BAD, GOOD
from ..sandbox.outside import Sandbox
from .answers import begun, lesson_notebooks
from .own_engine import PIECES, current
from .own_engine.ladder import RUNGS, standing


@dataclass(frozen=True)
class Lesson:
    """A lesson and its progress: `verdicts` has an entry for each exercise, None for one that was not started."""

    number: int
    title: str
    verdicts: Mapping[str, Verdict | None]
    out_of: int
    note: str = ""  # of a lesson without points

    @property
    def points(self) -> int:
        """The points earned so far."""
        return sum(verdict.points for verdict in counted(v for v in self.verdicts.values() if v))


@dataclass(frozen=True, repr=False)
class Progress:
    """The progress in every lesson of the course. Shows itself in a notebook and in a terminal."""

    folder: Path
    lessons: tuple[Lesson, ...]

    @property
    def points(self) -> int:
        """The points earned in all lessons together."""
        return sum(lesson.points for lesson in self.lessons)

    @property
    def out_of(self) -> int:
        """The points that can be earned in all lessons together."""
        return sum(lesson.out_of for lesson in self.lessons)

    def __repr__(self) -> str:
        lines = [f"{self.points} of {self.out_of} points, from the notebooks in {self.folder}"]
        for lesson in self.lessons:
            done = lesson.note or f"{lesson.points} of {lesson.out_of}"
            lines.append(f"{lesson.number}. {lesson.title}: {done}")
            lines += [f"   {sign} {id}" for id, verdict in lesson.verdicts.items() for sign, _, _ in [_state(verdict)]]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr style="background:none"><td style="text-align:left;white-space:nowrap">{lesson.number}. '
            f"{html.escape(lesson.title)}</td>{_cells(lesson)}</tr>"
            for lesson in self.lessons
        )
        return (
            f'<div style="color:var(--jp-ui-font-color1,inherit)"><b>{self.points} of {self.out_of} points</b>'
            f"<table>{rows}</table></div>"
        )


def _cells(lesson: Lesson) -> str:
    if lesson.note:
        return f'<td colspan="3" style="text-align:left">{html.escape(lesson.note)}</td>'
    return (
        f'<td><progress max="{lesson.out_of}" value="{lesson.points}" style="width:8em" '
        f'aria-label="lesson {lesson.number}"></progress></td>'
        f'<td style="white-space:nowrap">{lesson.points} of {lesson.out_of}</td>'
        f'<td style="text-align:left">{"".join(_mark(id, verdict) for id, verdict in lesson.verdicts.items())}</td>'
    )


def _state(verdict: Verdict | None) -> tuple[str, str, str]:
    """The sign, the word and the colour for the state of an exercise."""
    if verdict is None:
        return "·", "not begun", "inherit"
    return ("✓", "solved", GOOD) if verdict.passed else ("◐", "begun", BAD)


def _mark(id: str, verdict: Verdict | None) -> str:
    sign, word, colour = _state(verdict)
    return (
        f'<span style="margin-right:14px;white-space:nowrap" title="{word}"><b style="color:{colour}" role="img" '
        f'aria-label="{word}">{sign}</b> <a href="{html.escape(_links().get(id, ""))}">{html.escape(id)}</a></span> '
    )


@cache
def _links() -> dict[str, str]:
    """Where each exercise stands, seen from another lesson's folder: its notebook, and the heading above its answer."""
    found, heading = {}, ""
    for path, notebook in lesson_notebooks().items():
        for cell in notebook["cells"]:
            text = "".join(cell["source"])
            heading = next((line for line in text.splitlines() if line.startswith("### Exercise")), heading)
            if id := cell["metadata"].get("nbgrader", {}).get("grade_id"):
                found[id] = f"../{path.parent.name}/{path.name}#{heading[4:].replace('`', '').replace(' ', '-')}"
    return found


_judged: dict[str, Verdict] = {}  # by all that an answer's verdict depends on


def progress(folder: Path | str | None = None) -> Progress:
    """The progress in the working copy `folder`; by default the one around the current notebook's folder.

    Each answer runs separately in the grader's sandbox; unchanged answer cells do not run at all, and what was judged
    once is not judged again. If several notebooks answer an exercise, the best one counts. Raises `FileNotFoundError`
    if the folder does not exist.

    >>> from tinygrad_edu.course.working_copy import lessons_root
    >>> progress(lessons_root() / "01_slopes_and_local_derivatives").points
    9
    """
    folder = Path(folder) if folder else Path.cwd().parent
    if not folder.is_dir():
        raise FileNotFoundError(f"no working copy of the lessons at {folder}")
    units = [(exercise, unit_of(exercise, **vars(answer))) for exercise, answer in begun(folder)]
    work = {json.dumps(unit): (exercise, unit) for exercise, unit in units}
    new = [key for key in work if key not in _judged]
    if new:
        from viz.progress import Bar

        bar = Bar(len(new), "answers are judged")
        engines = {engine for key in new for engine in work[key][0].engines}
        pool = ThreadPoolExecutor(1)  # runs the next answer while one is judged
        with Sandbox(PROGRAM, engines) as sandbox, ExitStack() as stack:
            stack.callback(pool.shutdown, cancel_futures=True)
            probed = pool.map(lambda key: sandbox.run(work[key][1]), new)
            for done, (key, result) in enumerate(zip(new, probed, strict=True)):
                bar.show(done)
                _judged[key] = judge(work[key][0], result)
        bar.close()
    best: dict[str, Verdict] = {}
    for key, (exercise, _) in work.items():
        best[exercise.id] = max(best.get(exercise.id, _judged[key]), _judged[key], key=lambda verdict: verdict.points)
        if _judged[key].trouble:  # a busy machine may be the cause
            del _judged[key]
    lessons = []
    for number, title in _titles().items():
        mine = [exercise for exercise in all_exercises().values() if exercise.lesson == number]
        total = sum({exercise.choice or exercise.id: exercise.points for exercise in mine}.values())
        note = "" if mine else _of_engine(folder)
        lessons.append(Lesson(number, title, {exercise.id: best.get(exercise.id) for exercise in mine}, total, note))
    return Progress(folder, tuple(lessons))


def _of_engine(folder: Path) -> str:
    """How many pieces of the engine are a student's own, and how far it climbs. It runs here, as in its lesson."""
    try:
        engine = current(folder)
    except ValueError as error:  # a file that cannot be read
        return str(error)
    said = f"{len(engine.mine)} of {len(PIECES)} pieces are yours"
    if not engine.mine:
        return said
    height = standing(engine)
    ladder = "".join("\u25ae" if n < height else "\u25af" for n in range(len(RUNGS)))
    nearest = "" if height == len(RUNGS) else f"; the next is \u201c{RUNGS[height].name}\u201d"
    return f"{said}, and it stands on {height} of {len(RUNGS)} rungs {ladder}{nearest}"


def _titles() -> dict[int, str]:
    """The title of each numbered lesson, from its first heading: `# 3. Order and accumulation`."""
    titles = {}
    for notebook in lesson_notebooks().values():
        number, dot, title = (
            "".join(notebook["cells"][0]["source"]).partition("\n")[0].removeprefix("# ").partition(". ")
        )
        if dot:
            titles[int(number)] = title
    return titles
