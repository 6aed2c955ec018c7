"""The map of the loss: dark where the loss is low, and every point of every run is told with its numbers."""

import pytest

from viz.widgets.descent import COLUMNS, ROWS, descent


def bowl(w: float, b: float) -> float:
    return (w - 1) ** 2 + (b - 1) ** 2


WINDOW = (-2.0, 2.0, -2.0, 2.0)


def test_the_darkest_cell_holds_the_minimum_and_the_lightest_is_the_far_corner() -> None:
    cells = descent(bowl, {"run": [(0.0, 0.0)]}, WINDOW).map["cells"]
    darkest = cells.index(max(cells))
    column, row = darkest % COLUMNS, darkest // COLUMNS
    assert (-2 + (column + 0.5) * 4 / COLUMNS, 2 - (row + 0.5) * 4 / ROWS) == pytest.approx((1, 1), abs=0.2)
    assert cells[(ROWS - 1) * COLUMNS] == 0


def test_each_point_is_told_with_its_loss() -> None:
    run = descent(bowl, {"run": [(0.0, 0.0), (1.0, 0.5)]}, WINDOW).map["runs"][0]
    assert run["sentences"] == ["Step 0: w = 0, b = 0, loss = 2.", "Step 1: w = 1, b = 0.5, loss = 0.25."]


def test_it_opens_at_the_end_of_the_longest_run() -> None:
    assert descent(bowl, {"a": [(0.0, 0.0)], "b": [(0.0, 0.0)] * 5}, WINDOW).step == 4


@pytest.mark.parametrize("runs", [{}, {"empty": []}])
def test_nothing_to_show_is_refused(runs: dict) -> None:
    with pytest.raises(ValueError, match="no training run to show"):
        descent(bowl, runs, WINDOW)
