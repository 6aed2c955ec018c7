"""The small widgets of the lessons, in real JupyterLab: predict, and the slider on a tangent."""

from playwright.sync_api import expect

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
    notebook = desk.open(desk.write("predict.ipynb", PREDICT))
    notebook.run_all()
    card = notebook.page.locator(".tgv-predict")
    reply = card.locator(".tgv-reply")
    expect(reply).to_have_text("Choose before you read on.")
    card.get_by_role("button", name="<b>5</b>").click()  # what a lesson says is text, never HTML
    expect(reply).to_have_text("One too many.")
    card.get_by_role("button", name="4").press("Enter")
    expect(reply).to_have_text("Yes: 2 + 2 is 4.")
    expect(card.locator("button[data-verdict=right]")).to_have_text("✓ 4")
    assert notebook.python("print(asked.tried)").strip() == "['<b>5</b>', '4']"


def test_the_tangent_follows_the_slider_by_mouse_key_and_python(desk) -> None:
    notebook = desk.open(desk.write("slope.ipynb", SLOPE))
    notebook.run_all()
    card = notebook.page.locator(".tgv-slope")
    numbers = card.locator(".tgv-numbers .of-tangent")
    expect(numbers).to_have_text("At x = 1 the curve is at 1 and its slope is 2.")
    card.get_by_label("x", exact=True).press("ArrowRight")
    expect(numbers).to_have_text("At x = 1.1 the curve is at 1.21 and its slope is 2.2.")
    assert notebook.python("print(curve.index)").strip() == "41"
    card.get_by_label("h", exact=True).press("End")
    expect(card.locator("output").nth(1)).to_have_text("0.001")
    notebook.python("curve.index = 60")
    expect(numbers).to_have_text("At x = 3 the curve is at 9 and its slope is 6.")
    assert (
        card.locator(".tgv-curve").get_attribute("aria-label").startswith("The curve of x². At x = 3 the curve is at 9")
    )


DESCENT = """
from viz.widgets.descent import descent
path = [(2.0 * 0.5 ** k, -1.0) for k in range(4)]
walk = descent(lambda w, b: w * w + b * b, {"halving": path, "standing": [(1.0, 1.0)]}, (-3, 3, -2, 2))
walk
"""


def test_the_path_grows_with_the_slider_and_changes_with_the_run(desk) -> None:
    notebook = desk.open(desk.write("descent.ipynb", DESCENT))
    notebook.run_all()
    card = notebook.page.locator(".tgv-descent")
    numbers = card.locator(".tgv-numbers")
    expect(numbers).to_have_text("Step 3: w = 0.25, b = −1, loss = 1.0625.")
    expect(card.locator(".dot")).to_have_count(4)
    card.get_by_label("step", exact=True).press("ArrowLeft")
    expect(numbers).to_have_text("Step 2: w = 0.5, b = −1, loss = 1.25.")
    expect(card.locator(".dot")).to_have_count(3)
    card.get_by_role("button", name="standing").click()
    expect(numbers).to_have_text("Step 0: w = 1, b = 1, loss = 2.")
    assert notebook.python("print(walk.run, walk.step)").strip() == "1 2"
