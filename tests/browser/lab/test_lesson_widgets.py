"""The small widgets of the lessons, in real JupyterLab: predict, and the slider on a tangent."""

import json
import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import expect
from support.harness import eventually

from viz.widgets.predict import CHOSEN

pytestmark = pytest.mark.outer(start=3)

LESSONS = Path(__file__).parents[3] / "notebooks"
PREDICT = """
from viz.widgets.predict import predict
asked = predict("What is `2 + 2`?", {"4": "Yes: `2 + 2` is 4.", "<b>5</b>": "One too many."}, right="4")
asked
"""
SLOPE = """
from viz.widgets.slope import slope
curve = slope(lambda x: x ** 2, "x²", x=1.0, chords=True)
curve
"""


def test_each_choice_gets_its_own_reply_and_python_sees_what_was_tried(desk) -> None:
    path = desk.write("predict.ipynb", PREDICT)
    notebook = desk.open(path)
    notebook.run_all()
    card = notebook.page.locator(".tgv-predict")
    reply = card.locator(".tgv-reply")
    expect(reply).to_have_text("Choose before you read on.")
    card.get_by_role("button", name="<b>5</b>").click()  # what a lesson says is text, never HTML
    expect(reply).to_have_text("One too many.")
    card.get_by_role("button", name="4").press("Enter")
    expect(reply).to_have_text("Yes: 2 + 2 is 4.")
    expect(card.locator("button[data-verdict=right]")).to_have_text("✓ 4")
    eventually(lambda: notebook.python("print(asked.tried)").strip(), "['<b>5</b>', '4']")
    notebook.save()
    (kept,) = (
        out["data"][CHOSEN] for out in json.loads(path.read_text())["cells"][0]["outputs"] if CHOSEN in out["data"]
    )
    assert kept == {"question": "What is `2 + 2`?", "first": "<b>5</b>"}


def test_what_answers_a_question_is_covered_until_it_was_answered_or_is_wanted_anyway(desk) -> None:
    asked = """
from viz.widgets.predict import predict
predict("What is `2 + 2`?", {"4": "Yes.", "5": "One too many."}, right="4", covers=2)"""
    notebook = desk.open(
        desk.write("covered.ipynb", asked, "print(2 + 2)", "#!md As `2 + 2` is 4", "print('next')", asked, "4")
    )
    notebook.run_all()
    cards = notebook.page.locator(".tgv-predict")
    answer, text, after, last = (notebook.page.locator(".jp-Cell").nth(number) for number in (1, 2, 3, 5))
    printed = answer.locator(".jp-OutputArea-output pre")
    expect(cards.first.locator(".tgv-reply")).to_contain_text("covered until then")
    expect(printed).to_be_hidden()
    expect(text.get_by_text("As 2 + 2 is 4")).to_be_hidden()
    expect(after.get_by_text("next", exact=True)).to_be_visible()
    place = answer.bounding_box()
    cards.first.get_by_role("button", name="5").click()
    expect(printed).to_be_visible()
    expect(text.get_by_text("As 2 + 2 is 4")).to_be_visible()
    assert answer.bounding_box()["height"] == place["height"]
    expect(last.locator(".jp-OutputArea-output pre")).to_be_hidden()
    cards.nth(1).get_by_role("button", name="show me anyway").click()
    expect(last.locator(".jp-OutputArea-output pre")).to_be_visible()


def test_after_the_first_shift_and_enter_the_picture_and_its_play_button_are_in_sight(desk) -> None:
    start = desk.lab.root / "00_start_here.ipynb"
    shutil.copy(LESSONS / "00_start_here" / start.name, start)
    notebook = desk.open(start, own_page=True)
    notebook.page.locator(".jp-CodeCell .cm-content").first.click()
    notebook.page.keyboard.press("Shift+Enter")
    view = notebook.page.locator(".jp-WindowedPanel-outer").first.bounding_box()
    for part in (".tgv-player .tgv-frame svg", ".tgv-player [aria-label=Play]"):
        shown = notebook.page.locator(part).first

        def in_sight(shown=shown) -> bool:
            box = shown.bounding_box()
            return box["y"] >= view["y"] and box["y"] + box["height"] <= view["y"] + view["height"]

        eventually(in_sight, True)


def test_the_tangent_follows_the_slider_by_mouse_key_and_python(desk) -> None:
    notebook = desk.open(desk.write("slope.ipynb", SLOPE))
    notebook.run_all()
    card = notebook.page.locator(".tgv-slope")
    numbers = card.locator(".tgv-numbers .of-tangent")
    expect(numbers).to_have_text("At x = 1 the curve is at 1 and its slope is 2.")
    card.get_by_label("x", exact=True).press("ArrowRight")
    expect(numbers).to_have_text("At x = 1.1 the curve is at 1.21 and its slope is 2.2.")
    eventually(lambda: notebook.python("print(curve.index)").strip(), "41")
    card.get_by_label("h", exact=True).press("Home")
    expect(card.locator("output").nth(1)).to_have_text("0.001")
    notebook.python("curve.index = 60")
    expect(numbers).to_have_text("At x = 3 the curve is at 9 and its slope is 6.")
    said = re.compile("^The curve of x². At x = 3 the curve is at 9")
    expect(card.locator(".tgv-curve")).to_have_attribute("aria-label", said)


TRAINING = """
import viz
def bowl(T, lr=0.25, zero_grad=True):
    w = T.tensor(2.0, requires_grad=True)
    loss = lambda: w * w
    while True:
        if zero_grad:
            w.grad = None
        loss().backward()
        yield loss, {"w": w}
        with T.no_grad():
            w -= lr * w.grad
walk = viz.train(bowl, steps=4, beside=[{"zero_grad": False}])
walk
"""


def test_a_training_run_is_followed_step_by_step_continues_and_runs_again_beside(desk) -> None:
    notebook = desk.open(desk.write("training.ipynb", TRAINING))
    notebook.run_all()
    card = notebook.page.locator(".tgv-training")
    numbers = card.locator(".tgv-numbers")
    expect(numbers).to_have_text("Step 3: loss = 0.0625. w = 0.25, w.grad = 0.5.")
    card.get_by_label("step", exact=True).press("ArrowLeft")
    expect(numbers).to_have_text("Step 2: loss = 0.25. w = 0.5, w.grad = 1.")
    expect(card.locator('[data-step="3"]').first).to_be_hidden()
    card.get_by_role("button", name="zero_grad=False").click()
    expect(numbers).to_have_text("Step 2: loss = 0.25. w = −0.5, w.grad = 5.")
    card.get_by_role("button", name="40 more steps").press("Enter")
    expect(card.get_by_label("step", exact=True)).to_have_attribute("max", "43")
    card.get_by_label("lr").fill("0.5")
    card.get_by_role("button", name="run it beside").click()
    expect(card.get_by_role("button", name="lr=0.5")).to_have_attribute("aria-pressed", "true")
    lengths = "print([len(run.steps) for run in walk.runs])"
    eventually(lambda: notebook.python(lengths).strip(), "[44, 44, 44]")


def test_a_word_lights_its_node_in_the_nearest_picture_and_the_node_its_word(desk) -> None:
    play = "import viz\nviz.record('''w = T.tensor(2.0, requires_grad=True)\nL = w * 3\nL.backward()''').play()"
    notebook = desk.open(
        desk.write("point.ipynb", play, "#!md The [`w`](#node=w) meets the [product](#node=MulBackward0).")
    )
    notebook.run_all()
    page = notebook.page
    frame = page.locator(".tgv-player .tgv-frame")
    expect(frame.locator("g.node").first).to_be_visible()
    lit = frame.locator("g.node[data-tgv-pointed]")
    word, product = page.locator('a[href="#node=w"]'), page.locator('a[href="#node=MulBackward0"]')
    address = page.url
    word.hover()
    expect(lit.locator("text.name")).to_have_text("w")
    product.hover()
    expect(lit).to_contain_text("MulBackward0")
    product.click()
    page.mouse.move(2, 2)
    expect(lit).to_contain_text("MulBackward0")  # a press keeps it
    product.click()
    frame.locator("g.node", has=page.locator("text.name", has_text=re.compile("^w$"))).hover(force=True)
    expect(page.locator("a[data-tgv-pointed]")).to_have_text("w")
    assert page.url == address
