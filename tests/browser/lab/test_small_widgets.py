"""Prediction, slope, builder and a diagnosis in real JupyterLab: no violation of WCAG; they outlive their kernel."""

import json
import re
from typing import Any

import pytest
from playwright.sync_api import expect
from support.harness import complaints, eventually

from viz.widgets.predict import CHOSEN

pytestmark = pytest.mark.outer(start=3)

CELLS = (
    """
from viz.widgets.predict import predict
asked = predict("What is `2 + 2`?", {"4": "Yes: `2 + 2` is 4.", "<b>5</b>": "One too many."}, right="4")
asked
""",
    """
from viz.widgets.slope import slope
curve = slope(lambda x: x ** 2, "x²", x=1.0, chords=True)
curve
""",
    """
from viz.widgets.builder import build
built = build({"w": 3.0, "x": 2.0}, requires_grad=["w"])
built.steps = [["mul", "w", "x"]]
built
""",
    """%%diagnose
model = T.nn.Sequential(T.nn.Linear(2, 4), T.nn.Tanh(), T.nn.Linear(4, 1))
optimizer = T.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    hidden = model[1](model[0](T.ones(3, 2))).detach()
    loss = model[2](hidden).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
)


@pytest.fixture(scope="module")
def notebook(desk: Any) -> Any:
    opened = desk.open(desk.write("small_widgets.ipynb", *CELLS))
    opened.run_all()
    expect(opened.page.locator(".tgv-builder .tgv-built-said")).to_contain_text("p = w * x gives 6")
    expect(opened.page.locator(".tgv-diagnosis .tgv-cause")).to_be_attached()
    return opened


@pytest.mark.parametrize("theme", ["JupyterLab Dark", "JupyterLab Light"])
def test_axe_finds_nothing(notebook: Any, theme: str) -> None:
    with notebook.themed(theme):
        for widget in (".tgv-predict", ".tgv-slope", ".tgv-builder", ".tgv-diagnosis"):
            expect(notebook.page.locator(widget)).to_be_attached()
            assert complaints(notebook.page, widget) == []


def test_a_report_steps_the_gradient_back_to_where_it_ends(notebook: Any) -> None:
    path = notebook.page.locator(".tgv-diagnosis").locator(".tgv-cause")
    expect(path.locator("svg .error")).to_contain_text("detach")
    path.get_by_role("button", name="One step", exact=True).press("Enter")
    expect(path.locator(".tgv-cause-said")).to_contain_text("Backward:")
    path.get_by_role("button", name="Last step").press("Enter")
    expect(path.locator(".tgv-cause-said")).to_contain_text("model.0.weight.grad stays None")


def test_each_choice_gets_its_own_reply_and_python_sees_what_was_tried(notebook: Any) -> None:
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
    outputs = json.loads(notebook.path.read_text())["cells"][0]["outputs"]
    (kept,) = (out["data"][CHOSEN] for out in outputs if CHOSEN in out["data"])
    assert kept == {"question": "What is `2 + 2`?", "first": "<b>5</b>"}


def test_the_tangent_follows_the_slider_by_mouse_key_and_python(notebook: Any) -> None:
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


def test_after_a_restart_they_still_answer_and_the_builder_keeps_its_picture(notebook: Any) -> None:
    page = notebook.page
    page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    card = page.locator(".tgv-predict")
    card.get_by_role("button", name="5").press("Enter")
    expect(card.locator(".tgv-reply")).to_have_text("One too many.")
    curve = page.locator(".tgv-slope")
    curve.get_by_label("x", exact=True).press("Home")
    expect(curve.locator(".of-tangent")).to_have_text("At x = −3 the curve is at 9 and its slope is −6.")
    built = page.locator(".tgv-builder")
    built.locator('.tgv-built-value[data-name="w"]').press("Enter")
    built.locator('[data-op="square"]').press("Enter")
    expect(built.locator(".tgv-built-said")).to_contain_text("Run its cell again")
    expect(built.locator("svg .node").first).to_be_attached()
