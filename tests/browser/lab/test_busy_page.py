"""Widgets on a page so busy that anywidget gives up on them: each still receives what Python sends."""

from typing import Any

import pytest
from playwright.sync_api import expect
from support.hands import Hands

pytestmark = pytest.mark.outer(start=3)
PROGRAM = "w = T.tensor(2.0, requires_grad=True)\\nL = w * w\\nL.backward()"
TRAINED = """
def bowl(T):
    w = T.tensor(2.0, requires_grad=True)
    while True:
        w.grad = None
        (w * w).backward()
        yield lambda: w * w, {"w": w}
        with T.no_grad():
            w -= 0.1 * w.grad
viz.train(bowl, steps=3, progress=False)
"""
CELLS = [f"import viz\nviz.explore('{PROGRAM}')", f"player = viz.record('{PROGRAM}').play()\nplayer", TRAINED]
# What happens on a page that is busy for two seconds: the time is up before the module is there.
TOO_LATE = """() => {
    AbortSignal.timeout = () => {
        const late = new AbortController();
        queueMicrotask(() => late.abort());
        return late.signal;
    };
}"""


@pytest.fixture(scope="module")
def notebook(desk: Any) -> Any:
    opened = desk.open(desk.write("late.ipynb", *CELLS), own_page=True)  # it makes every module of the page late
    opened.page.evaluate(TOO_LATE)
    opened.run_all()
    return opened


def test_anywidget_gives_up_on_a_page_that_is_busy(notebook: Any) -> None:
    expect(notebook.page.locator(".tgv").first).to_be_visible()
    assert any("[anywidget] Failed to initialize model." in error for error in notebook.errors)


def test_an_explorer_answers(notebook: Any) -> None:
    notebook.cell(0)
    hands = Hands(notebook)
    hands.counts(recorded=1)
    hands.press(2, "retain_grad")
    hands.agrees("L", "1", "1", "✓")
    hands.root.get_by_role("button", name="grad_fn").click()
    expect(hands.root.locator("svg .node.accumulate")).to_have_count(2)


def test_a_player_goes_where_python_says(notebook: Any) -> None:
    notebook.cell(1)
    counter = notebook.page.locator(".tgv-player .tgv-counter")
    expect(counter).to_contain_text("2 / ")
    notebook.python("player.step = 2")
    expect(counter).to_contain_text("3 / ")


def test_training_continues(notebook: Any) -> None:
    notebook.cell(2)
    card = notebook.page.locator(".tgv-training")
    card.get_by_role("button", name="40 more steps").click()
    expect(card.get_by_label("step", exact=True)).to_have_attribute("max", "42")
