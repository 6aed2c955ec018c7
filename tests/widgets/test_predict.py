"""A prediction: what is asked, and what is refused."""

import pytest

from tinygrad_edu.exercises.grading.submissions import PREDICTION
from viz.widgets.predict import CHOSEN, predict

CHOICES = {"4": "Yes.", "5": "One too many."}


def test_nothing_is_chosen_and_nothing_is_revealed_at_first() -> None:
    question = predict("What is 2 + 2?", CHOICES, right="4")
    assert (question.tried, question.reveal) == ([], "")


def test_a_right_choice_that_is_not_offered_is_refused_with_the_choices() -> None:
    with pytest.raises(ValueError, match="'6' is not among '4', '5'"):
        predict("What is 2 + 2?", CHOICES, right="6")


def test_without_a_widget_its_text_remains(capsys: pytest.CaptureFixture[str]) -> None:
    predict("What is 2 + 2?", CHOICES, right="4")._ipython_display_()
    assert "Predict. What is 2 + 2?  (4 / 5)" in capsys.readouterr().out


def test_a_negative_number_of_cells_to_cover_is_refused() -> None:
    with pytest.raises(ValueError, match="it cannot be -1"):
        predict("What is 2 + 2?", CHOICES, right="4", covers=-1)


def test_a_saved_notebook_keeps_the_first_choice_and_no_later_one() -> None:
    question = predict("What is 2 + 2?", CHOICES, right="4")
    assert question._still()[CHOSEN] == {"question": "What is 2 + 2?", "first": None}
    question.tried = ["5"]
    question.tried = ["5", "4"]
    assert question._still()[CHOSEN]["first"] == "5" and "Chosen first: 5." in question._still()["text/plain"]
    assert CHOSEN == PREDICTION
