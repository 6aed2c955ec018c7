"""Generated from the exercises themselves: every right answer earns all, every wrong one fails with its own hint."""

import importlib
import inspect
import pkgutil

import pytest

from tinygrad_edu.exercises import all_exercises, answers, check, get
from tinygrad_edu.exercises.exercise import Exercise
from tinygrad_edu.exercises.judging.judge import known

RIGHT = [(e.id, i) for e in all_exercises().values() for i in range(len(e.rights))]
WRONG = [(e.id, wrong.name) for e in all_exercises().values() for wrong in e.wrongs]


@pytest.mark.parametrize(("id", "i"), RIGHT, ids=lambda v: str(v))
def test_a_right_answer_earns_every_point(id, i):
    report = check(id, all_exercises()[id].rights[i])
    assert report.passed, report
    assert report.points == all_exercises()[id].points


@pytest.mark.outer
@pytest.mark.parametrize(("id", "name"), WRONG, ids=lambda v: str(v))
def test_a_wrong_answer_fails_with_its_own_hint_and_a_picture_and_is_not_told_the_solution(id, name):
    wrong = next(wrong for wrong in all_exercises()[id].wrongs if wrong.name == name)
    report = check(id, wrong.answer)
    failures = [mark.failure for mark in report.verdict.marks if mark.failure]
    assert failures, f"{name} passes"
    assert {failure.misconception for failure in failures} == {name}
    text = repr(report)
    assert wrong.hint in text
    for right in get(id).rights:  # no line of a body is told, and no right value as a whole
        for line in inspect.getsource(right).splitlines() if callable(right) else ():
            line = line.strip().removeprefix("return ")
            assert len(line) < 20 or line.startswith(("@", "def ", "class ", "for ", "raise ")) or line not in text
        assert callable(right) or repr(right) not in text
    if get(id).drawing:
        pytest.importorskip("viz.draw")
        before, *after = report._repr_html_().split("<svg")
        assert (len(after), before.count("✗")) == (1, 1), "one picture, below its own input"


@pytest.mark.parametrize("id", all_exercises())
def test_an_exercise_has_two_right_answers_and_distinct_mistakes(id):
    exercise = all_exercises()[id]
    hints = [wrong.hint for wrong in exercise.wrongs]
    assert len(exercise.rights) >= (2 if callable(exercise.rights[0]) else 1)
    assert hints and len(set(hints)) == len(hints)
    assert len({wrong.name for wrong in exercise.wrongs}) == len(hints)
    assert len({criterion.statement for criterion in exercise.criteria}) == len(exercise.criteria)


@pytest.mark.parametrize("id", all_exercises())
def test_the_reference_raises_nothing_but_what_pytorch_raises(id):
    """If a reference failed by accident, every answer that fails in the same way would look right."""
    exercise = get(id)
    right = known(exercise, 0, exercise.engines).right
    raised = {data["raised"] for data in right.values() if isinstance(data, dict) and "raised" in data}
    assert raised <= {"RuntimeError"}


def test_no_exercise_hides_another_behind_its_id():
    modules = [importlib.import_module(f"{answers.__name__}.{m.name}") for m in pkgutil.iter_modules(answers.__path__)]
    written = {id(value) for module in modules for value in vars(module).values() if isinstance(value, Exercise)}
    assert written == {id(exercise) for exercise in all_exercises().values()}


def test_the_course_has_its_exercises():
    exercises = all_exercises().values()
    assert {exercise.lesson for exercise in exercises} == set(range(1, 16)) - {11}  # lesson 11 puts answers together
    assert len(exercises) >= 30
    assert sum(len(exercise.wrongs) for exercise in exercises) >= 80


class Nothing:
    def __init__(self, *arguments):
        pass


@pytest.mark.outer
@pytest.mark.parametrize("id", [exercise.id for exercise in all_exercises().values() if callable(exercise.rights[0])])
def test_doing_nothing_earns_nothing_and_handing_an_argument_back_is_no_solution(id):
    if inspect.isclass(get(id).rights[0]):
        assert check(id, Nothing).points == 0
        return
    assert check(id, lambda *arguments: None).points == 0
    for place in range(2):
        assert not check(id, lambda *arguments, place=place: arguments[place]).passed
    assert not check(id, lambda *arguments: list(arguments[-1])).passed
