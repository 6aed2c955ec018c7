"""The builder in real JupyterLab: clicks and keys make a graph, and Python knows about it."""

from typing import Any

import pytest
from playwright.sync_api import expect
from support.harness import eventually

pytestmark = pytest.mark.outer(start=3)

BUILD = """
from viz.widgets.builder import build
built = build({"w": 3.0, "x": 2.0}, requires_grad=["w"])
built
"""


@pytest.fixture(scope="module")
def notebook(desk: Any) -> Any:
    opened = desk.open(desk.write("builder.ipynb", BUILD))
    opened.run_all()
    return opened


@pytest.fixture
def card(notebook: Any) -> Any:
    notebook.python("built.steps = [['exp', 'w']]; built.steps = []")
    card = notebook.page.locator(".tgv-builder")
    card.get_by_role("button", name="values", exact=True).click()
    chosen = card.locator('.tgv-built-value[aria-pressed="true"]')
    while chosen.count():
        chosen.first.click()
    expect(card.locator(".tgv-built-said")).to_contain_text("Choose one or two values")
    return card


def chip(card: Any, name: str) -> Any:
    return card.locator(f'.tgv-built-value[data-name="{name}"]')


def test_clicks_build_a_graph_and_show_its_code(notebook: Any, card: Any) -> None:
    chip(card, "w").click()
    chip(card, "x").click()
    expect(chip(card, "x")).to_contain_text("2nd")
    card.locator('[data-op="mul"]').click()
    expect(card.locator(".tgv-built-said")).to_have_text("p = w * x gives 6, and leaves the node MulBackward0 behind.")
    chip(card, "p").click()
    card.locator('[data-op="square"]').click()
    expect(chip(card, "q")).to_contain_text("q = 36")
    card.get_by_role("button", name="backward()").click()
    expect(chip(card, "w")).to_contain_text("grad 24")
    expect(card.locator(".tgv-built-code")).to_contain_text("q.backward()")
    steps = "[['mul', 'w', 'x'], ['square', 'p'], ['backward']]"
    eventually(lambda: notebook.python("print(built.steps)").strip(), steps)
    card.get_by_role("button", name="grad_fn").click()
    expect(card.locator(".tgv-built svg .node.accumulate")).to_have_count(1)


def test_it_is_built_by_keyboard_alone(card: Any) -> None:
    chip(card, "x").press("Space")
    expect(chip(card, "x")).to_be_focused()
    card.locator('[data-op="mul"]').press("Enter")
    expect(card.locator(".tgv-built-said")).to_contain_text("p = x * x gives 4. Nothing in it requires a gradient")
    card.get_by_role("button", name="undo").press("Enter")
    expect(chip(card, "p")).to_have_count(0)


def test_an_error_is_shown_and_the_next_click_takes_it_back(notebook: Any, card: Any) -> None:
    chip(card, "x").click()
    card.locator('[data-op="exp"]').click()
    card.get_by_role("button", name="backward()").click()
    expect(card.locator(".tgv-built-wrong")).to_contain_text("element 0 of tensors does not require grad")
    chip(card, "w").click()
    card.locator('[data-op="square"]').click()
    expect(chip(card, "q")).to_contain_text("q = 9")
    eventually(lambda: notebook.python("print(built.steps)").strip(), "[['exp', 'x'], ['square', 'w']]")


def test_an_op_of_nothing_asks_for_a_value(card: Any) -> None:
    card.locator('[data-op="add"]').click()
    expect(card.locator(".tgv-built-said")).to_have_text("+ of what? Choose two values first.")
