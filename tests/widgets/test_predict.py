"""A prediction: what is asked, and what is refused."""

from typing import Any

import pytest

from tinygrad_edu.exercises.grading.submissions import PREDICTION
from viz.widgets.predict import CHOSEN, predict

CHOICES = {"4": "Yes.", "5": "One too many."}


@pytest.mark.parametrize(
    ("given", "message"),
    [({"right": "6"}, "'6' is not among '4', '5'"), ({"right": "4", "covers": -1}, "it cannot be -1")],
)
def test_what_cannot_be_asked_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        predict("What is 2 + 2?", CHOICES, **given)


def test_without_a_widget_its_text_remains_and_nothing_is_revealed(capsys: pytest.CaptureFixture[str]) -> None:
    question = predict("What is 2 + 2?", CHOICES, right="4")
    assert (question.tried, question.reveal) == ([], "")
    question._ipython_display_()
    assert "Predict. What is 2 + 2?  (4 / 5)" in capsys.readouterr().out


def test_a_saved_notebook_keeps_the_first_choice_and_no_later_one() -> None:
    question = predict("What is 2 + 2?", CHOICES, right="4")
    assert question._still()[CHOSEN] == {"question": "What is 2 + 2?", "first": None}
    question.tried = ["5"]
    question.tried = ["5", "4"]
    assert question._still()[CHOSEN]["first"] == "5" and "Chosen first: 5." in question._still()["text/plain"]
    assert CHOSEN == PREDICTION
