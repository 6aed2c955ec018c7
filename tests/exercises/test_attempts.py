"""Answers as students write them: no right one is refused, and the hint names the mistake of a wrong one.

`attempts/right.txt` holds each style once, `attempts/wrong.txt` mistakes written otherwise than their exercise has
them, which `test_every_exercise.py` tries. Beside a wrong one stands the hint that it is told; where nothing stands,
its cause is not among those that an exercise knows, and none may be named. That no slip at all is accepted is proven by
`test_mutants.py`, which makes its wrong answers itself.
"""

import contextlib
import sys
import warnings
from collections import Counter
from pathlib import Path

import pytest
from support.mutation import graded

from tinygrad_edu.exercises import all_exercises, get
from tinygrad_edu.exercises.exercise import PROGRAM, unit_of
from tinygrad_edu.exercises.judging.judge import judge
from tinygrad_edu.exercises.running.probe import use_torch_once
from tinygrad_edu.sandbox.outside import Sandbox

sys.path.insert(0, str(Path(__file__).parent))
from attempts import read

pytestmark = pytest.mark.outer(start=1)

with contextlib.suppress(ImportError):  # what imports seconds of PyTorch on its first use is not the answer's time
    use_torch_once()
RIGHT, WRONG = read("right.txt"), read("wrong.txt")
SECONDS = 2.0


@pytest.mark.parametrize("id", all_exercises())
def test_no_right_answer_is_refused(id):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        verdicts = {a.source: graded(id, a.source, SECONDS) for a in RIGHT if a.id == id}
    assert {source: verdict for source, verdict in verdicts.items() if not verdict.passed} == {}


@pytest.mark.parametrize("id", all_exercises())
def test_a_wrong_answer_is_given_its_own_hint_or_none(id):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        verdicts = [(attempt, graded(id, attempt.source, SECONDS)) for attempt in WRONG if attempt.id == id]
    assert [attempt.source for attempt, verdict in verdicts if verdict.passed] == []
    for attempt, verdict in verdicts:
        told = {mark.failure.misconception for mark in verdict.marks if mark.failure and mark.failure.misconception}
        assert told == set(attempt.told), attempt.source


def test_there_are_several_of_each():
    right, wrong = (Counter(attempt.id for attempt in attempts) for attempts in (RIGHT, WRONG))
    tried = wrong + Counter({id: len(exercise.wrongs) for id, exercise in all_exercises().items()})
    assert min(right[id] for id in all_exercises()) >= 3 and right.total() >= 150
    assert min(wrong[id] for id in all_exercises()) >= 1 and wrong.total() >= 200
    assert min(tried[id] for id in all_exercises()) >= 4 and tried.total() >= 490


@pytest.mark.parametrize("step", [6, pytest.param(1, marks=pytest.mark.long)])
def test_the_sandbox_gives_an_attempt_the_points_and_hints_that_check_gives(step):
    differ = []
    with warnings.catch_warnings(), Sandbox(PROGRAM, ["torch"]) as sandbox:
        warnings.simplefilter("ignore")
        for attempt in RIGHT[::step] + WRONG[::step]:
            exercise = get(attempt.id)
            checked = graded(attempt.id, attempt.source, SECONDS)
            found = judge(exercise, sandbox.run(unit_of(exercise, attempt.source)), seed=0)
            if _told(found) != _told(checked):
                differ.append((attempt.source, found, checked))
    assert differ == []


def _told(verdict):
    return [(mark.points, mark.failure.misconception if mark.failure else "") for mark in verdict.marks]
