"""The small widgets of the lessons, in real JupyterLab: predict, and the slider on a tangent."""

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
    assert reply.inner_text() == "Choose before you read on."
    card.get_by_role("button", name="<b>5</b>").click()  # what a lesson says is text, never HTML
    assert reply.inner_text() == "One too many."
    card.get_by_role("button", name="4").press("Enter")
    assert reply.inner_text() == "Yes: 2 + 2 is 4."
    assert card.locator("[data-verdict=right]").first.inner_text() == "✓ 4"
    assert notebook.python("print(asked.tried)").strip() == "['<b>5</b>', '4']"


def test_the_tangent_follows_the_slider_by_mouse_key_and_python(desk) -> None:
    notebook = desk.open(desk.write("slope.ipynb", SLOPE))
    notebook.run_all()
    card = notebook.page.locator(".tgv-slope")
    numbers = card.locator(".tgv-numbers .of-tangent")
    assert numbers.inner_text() == "At x = 1 the curve is at 1 and its slope is 2."
    card.get_by_label("x", exact=True).press("ArrowRight")
    assert numbers.inner_text() == "At x = 1.1 the curve is at 1.21 and its slope is 2.2."
    assert notebook.python("print(curve.index)").strip() == "41"
    card.get_by_label("h", exact=True).press("End")
    assert card.locator("output").nth(1).inner_text() == "0.001"
    notebook.python("curve.index = 60")
    notebook.page.wait_for_function("document.querySelector('.of-tangent').textContent.includes('slope is 6')")
    assert card.get_by_role("img").get_attribute("aria-label").startswith("The curve of x². At x = 3 the curve is at 9")
