"""What a teacher sees of a class: exercises, predictions, and a project of which one is enough."""

import json

from support.grading import cell

from tinygrad_edu.exercises import all_exercises, counted, get
from tinygrad_edu.exercises.grading.class_report import _asked, class_report
from tinygrad_edu.exercises.grading.submissions import PREDICTION, read_submissions
from tinygrad_edu.exercises.judging.judge import Failure, Mark, Verdict

QUESTION, CHOICE = next((q, c) for q, asked in _asked().items() for c in asked.choices if c != asked.right)


def verdict(id, points):
    failure = Failure("", "", "", "", "", None, get(id).wrongs[0].name, get(id).wrongs[0].hint)
    return Verdict(id, (Mark("it holds", points, 8, None if points == 8 else failure),))


def test_a_prediction_that_most_missed_is_taught_first() -> None:
    asked = _asked()[QUESTION]
    answers = [{QUESTION: CHOICE}] * 3 + [{QUESTION: asked.right}]
    page = class_report({n: [verdict("mul_backward", 0)] for n in "ab"}, answers)
    taught = page.partition("To teach next")[2].partition("<h2>")[0]
    assert taught.index(f"lesson {asked.lesson}, prediction") < taught.index("mul_backward")
    assert "What they predicted" in page and "3 of 4" in page and "1 of 4" in page


def test_a_choice_that_no_lesson_offers_is_not_on_the_page() -> None:
    page = class_report({"a": [verdict("mul_backward", 8)]}, [{QUESTION: "<b>mine</b>", "my question": CHOICE}])
    assert "mine" not in page and "my question" not in page and "What they predicted" not in page


def test_predictions_are_read_from_a_handed_in_notebook_whatever_else_is_in_it(tmp_path) -> None:
    said = [{"data": {PREDICTION: {"question": "half", "first": None}}}]
    said += [{"data": {PREDICTION: {"question": QUESTION, "first": CHOICE}}}]
    cells = [cell("def mul_backward(): ...", "mul_backward") | {"outputs": said}]
    (tmp_path / "ada.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}}))
    (submission,) = read_submissions(tmp_path, all_exercises())
    assert submission.predicted == ((QUESTION, CHOICE),)


def test_of_the_projects_the_best_one_counts() -> None:
    points = {"mul_backward": 3, "project_gan": 2, "project_policy": 8, "project_language": 0}
    own = [verdict(id, earned) for id, earned in points.items()]
    assert [one.exercise for one in counted(own)] == ["mul_backward", "project_policy"]
