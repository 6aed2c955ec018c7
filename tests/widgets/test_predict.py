"""A prediction: what is asked, and what is refused."""

import pytest

from viz.widgets.predict import predict

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
