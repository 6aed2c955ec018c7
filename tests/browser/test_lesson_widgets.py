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
