"""The playground in real JupyterLab: it plays on both engines, nothing moves, keys suffice, axe finds nothing."""

import re
from typing import Any

import pytest
from playwright.sync_api import expect
from support.harness import complaints

pytestmark = pytest.mark.outer(start=3)


@pytest.fixture(scope="module")
def notebook(desk: Any) -> Any:
    opened = desk.open(desk.write("playground.ipynb", "import viz\nshown = viz.playground()\nshown"))
    opened.run_all()
    expect(opened.page.locator(".tgv-playground .tgv-ground-charts > svg")).to_be_attached()
    return opened


@pytest.fixture
def root(notebook: Any) -> Any:
    """The playground at rest, in its initial state."""
    found = notebook.page.locator(".tgv-playground")
    if found.get_by_role("button", name="← back").is_visible():
        found.get_by_role("button", name="← back").click()
    if found.get_by_role("button", name="Pause").is_visible():
        found.get_by_role("button", name="Pause").click()
    if found.get_by_role("button", name="Setting B", exact=True).is_visible():
        found.get_by_role("button", name="Take setting B away").click()
    found.get_by_role("button", name="circles").click()
    found.get_by_role("button", name="Begin anew").click()
    expect(found.locator(".tgv-counter")).to_have_text("step 0")
    return found


def places(root: Any) -> list[Any]:
    """The positions of everything that can be pressed."""
    return root.evaluate(
        """root => [...root.querySelectorAll("button, input, select")].filter(one => one.offsetParent)
            .map(one => one.getBoundingClientRect())
            .map(at => [at.left, at.top, at.width, at.height].map(Math.round))"""
    )


def test_it_plays_on_both_engines_side_by_side_and_nothing_moves(root: Any) -> None:
    expect(root.get_by_role("button", name="Add a second setting")).to_be_visible()
    before = places(root)
    assert root.bounding_box()["height"] <= 620
    root.get_by_role("button", name="Add a second setting").click()
    root.get_by_label("engine").select_option("torch")
    root.get_by_role("button", name="Play").click()
    expect(root.locator(".tgv-counter")).to_have_text(re.compile(r"step \d\d"))
    root.get_by_role("button", name="Pause").click()
    first, second = root.locator(".tgv-ground-told").all_inner_texts()
    assert first.removeprefix("A ") == second.removeprefix("B ")
    expect(root.locator(".tgv-ground-plane .run0, .tgv-ground-plane .run1")).to_have_count(2)
    assert places(root) == before


def test_keys_train_put_points_and_open_a_step(root: Any) -> None:
    page = root.page
    root.get_by_role("button", name="own points").press("Enter")
    root.get_by_role("application").focus()
    for key in ("ArrowRight", "ArrowUp", "Enter"):
        page.keyboard.press(key)
    expect(root.locator(".tgv-ground-plane .point")).to_have_count(7)
    page.keyboard.press("Delete")
    expect(root.locator(".tgv-ground-plane .point")).to_have_count(6)
    root.get_by_role("button", name="Play").focus()
    page.keyboard.press("ArrowRight")
    expect(root.locator(".tgv-counter")).to_have_text("step 1")
    root.get_by_role("button", name="open this step").press("Enter")
    expect(root.get_by_role("button", name="← back")).to_be_focused()
    expect(root.locator(".tgv-player .tgv-title")).to_have_text("Step 1: one pass of the loop")
    assert root.bounding_box()["height"] <= 620
    page.keyboard.press("Escape")
    expect(root.get_by_role("button", name="open this step")).to_be_focused()


def test_impossible_settings_are_reported_and_the_code_is_what_was_set(root: Any) -> None:
    root.get_by_role("textbox", name="rate (lr)").fill("0")
    root.get_by_role("textbox", name="rate (lr)").press("Enter")
    refusal = "the rate (lr) must be larger than 0 and finite, not 0. With a rate of 0 no parameter moves."
    expect(root.locator(".tgv-ground-said")).to_have_text(refusal)
    root.get_by_role("textbox", name="rate (lr)").fill("0.5")
    root.get_by_role("textbox", name="rate (lr)").press("Enter")
    expect(root.locator(".tgv-ground-said")).to_be_empty()
    root.get_by_role("button", name="code").click()
    expect(root.locator(".tgv-ground-listing")).to_contain_text("lr=0.5")
    root.get_by_role("button", name="training").click()


@pytest.mark.parametrize("theme", ["JupyterLab Dark", "JupyterLab Light"])
def test_axe_finds_nothing(notebook: Any, root: Any, theme: str) -> None:
    with notebook.themed(theme):
        assert complaints(notebook.page, ".tgv-playground") == []
        root.get_by_role("button", name="code").click()
        assert complaints(notebook.page, ".tgv-playground") == []
        root.get_by_role("button", name="training").click()
