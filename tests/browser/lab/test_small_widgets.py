"""Prediction, slope, builder and a diagnosis on one page of real JupyterLab: no violation of WCAG, and they outlive their kernel."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect
from support.harness import complaints

pytestmark = pytest.mark.outer(start=3)

CELLS = (
    """
from viz.widgets.predict import predict
predict("What is `2 + 2`?", {"4": "Yes: `2 + 2` is 4.", "5": "One too many."}, right="4")
""",
    """
from viz.widgets.slope import slope
slope(lambda x: x ** 2, "x²", x=1.0, chords=True)
""",
    """
from viz.widgets.builder import build
build({"w": 3.0, "x": 2.0}, requires_grad=["w"])
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
    expect(opened.page.locator(".tgv-builder .tgv-built-said")).to_contain_text("Choose one or two values")
    expect(opened.page.locator(".tgv-diagnosis .tgv-cause")).to_be_attached()
    return opened


@pytest.mark.parametrize("theme", ["JupyterLab Dark", "JupyterLab Light"])
def test_axe_finds_nothing(notebook: Any, theme: str) -> None:
    with notebook.themed(theme):
        for widget in (".tgv-predict", ".tgv-slope", ".tgv-builder", ".tgv-diagnosis"):
            expect(notebook.page.locator(widget)).to_be_attached()
            assert complaints(notebook.page, widget) == []


def test_a_report_steps_the_gradient_back_to_where_it_ends(notebook: Any) -> None:
    report = notebook.page.locator(".tgv-diagnosis")
    path = report.locator(".tgv-cause")
    expect(path.locator("svg .error")).to_contain_text("detach")
    path.get_by_role("button", name="One step", exact=True).press("Enter")
    expect(path.locator(".tgv-cause-said")).to_contain_text("Backward:")
    path.get_by_role("button", name="Last step").press("Enter")
    expect(path.locator(".tgv-cause-said")).to_contain_text("model.0.weight.grad stays None")
    report.get_by_text("layer by layer").click()
    expect(report.get_by_text("largest gradient")).to_be_visible()


def test_after_a_restart_they_still_answer_and_the_builder_keeps_its_picture(notebook: Any) -> None:
    page = notebook.page
    page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    card = page.locator(".tgv-predict")
    card.get_by_role("button", name="5").press("Enter")
    expect(card.locator(".tgv-reply")).to_have_text("One too many.")
    curve = page.locator(".tgv-slope")
    curve.get_by_label("x", exact=True).press("End")
    expect(curve.locator(".of-tangent")).to_have_text("At x = 3 the curve is at 9 and its slope is 6.")
    built = page.locator(".tgv-builder")
    built.locator('.tgv-built-value[data-name="w"]').press("Enter")
    built.locator('[data-op="square"]').press("Enter")
    expect(built.locator(".tgv-built-said")).to_contain_text("If no kernel runs: run this cell again")
    expect(built.locator("svg .node").first).to_be_attached()
