"""Generated from the exercises themselves: every right answer earns all, every wrong one fails with its own hint."""

import pytest

from tinygrad_edu.exercises import all_exercises, check

RIGHT = [(e.id, i) for e in all_exercises().values() for i in range(len(e.rights))]
WRONG = [(e.id, wrong.name) for e in all_exercises().values() for wrong in e.wrongs]


@pytest.mark.parametrize(("id", "i"), RIGHT, ids=lambda v: str(v))
def test_a_right_answer_earns_every_point(id, i):
    report = check(id, all_exercises()[id].rights[i])
    assert report.passed, report
    assert report.points == all_exercises()[id].points


@pytest.mark.parametrize(("id", "name"), WRONG, ids=lambda v: str(v))
def test_a_wrong_answer_fails_with_its_own_hint(id, name):
    wrong = next(wrong for wrong in all_exercises()[id].wrongs if wrong.name == name)
    report = check(id, wrong.answer)
    failures = [mark.failure for mark in report.verdict.marks if mark.failure]
    assert failures, f"{name} passes"
    assert {failure.misconception for failure in failures} == {name}
    assert wrong.hint in repr(report)


@pytest.mark.parametrize("id", all_exercises())
def test_an_exercise_has_two_right_answers_and_distinct_mistakes(id):
    exercise = all_exercises()[id]
    hints = [wrong.hint for wrong in exercise.wrongs]
    assert len(exercise.rights) >= 2
    assert hints and len(set(hints)) == len(hints)
    assert len({wrong.name for wrong in exercise.wrongs}) == len(hints)
    assert len({criterion.statement for criterion in exercise.criteria}) == len(exercise.criteria)
