"""Folds in the player: opened and closed by pointer and by key, in a page that has no kernel and no network."""

from __future__ import annotations

from typing import Any

import pytest

import viz

LONG = (
    "w = T.tensor(1.0, requires_grad=True)\ny = w\nfor i in range(200):\n"
    "    y = y * 1.001 if i % 2 else y + w\ny.backward()"
)


@pytest.fixture(scope="module")
def page(browser: Any, tmp_path_factory: Any) -> Any:
    address = viz.record(LONG).save(tmp_path_factory.mktemp("page") / "long.html").as_uri()
    opened = browser.new_page()
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.goto(address)
    yield opened
    opened.close()
    assert errors == []


@pytest.fixture
def whole(page: Any) -> Any:
    """The page with every fold closed, at the first step of the values view."""
    if page.locator(".tgv-path").is_visible():
        page.get_by_role("button", name="Whole graph").click()
    page.get_by_role("button", name="values").click()
    page.locator(".tgv-player").focus()
    page.keyboard.press("Home")
    return page


def path(page: Any) -> list[str]:
    return [one.strip() for one in page.locator(".tgv-path").inner_text().split("›")]


def names(page: Any) -> list[str]:
    return page.locator(".tgv-frame .tgv-node").evaluate_all("nodes => nodes.map(node => node.dataset.key)")


def test_a_click_opens_a_fold_with_its_count_and_a_click_closes_it(whole: Any) -> None:
    before = names(whole)
    fold = whole.locator(".tgv-opens").first
    assert "198 ops" in fold.text_content()
    fold.click()
    whole.locator(".tgv-path").wait_for()
    assert path(whole)[0] == "Whole graph"
    assert "99 ×" in path(whole)[1]
    assert len(names(whole)) > len(before)
    whole.get_by_role("button", name="Whole graph").click()
    assert names(whole) == before
    assert whole.locator(".tgv-path").is_hidden()


def test_keys_open_and_close_and_leave_the_focus_where_it_was(whole: Any) -> None:
    key = whole.locator(".tgv-opens").first.get_attribute("data-key")
    whole.locator(".tgv-opens").first.focus()
    whole.keyboard.press("Enter")
    whole.locator(".tgv-path").wait_for()
    whole.locator(".tgv-opens").first.focus()
    whole.keyboard.press("Enter")
    whole.wait_for_function("document.querySelectorAll('.tgv-path button').length === 2")
    assert whole.locator(".tgv-opens").count() == 0
    whole.keyboard.press("Escape")
    whole.wait_for_function("document.querySelectorAll('.tgv-path button').length === 1")
    whole.keyboard.press("Escape")
    assert whole.evaluate("document.activeElement.dataset.key") == key


def test_steps_go_on_inside_a_fold_and_come_back_exactly(whole: Any) -> None:
    whole.locator(".tgv-opens").first.click()
    whole.locator(".tgv-path").wait_for()
    whole.locator(".tgv-opens").first.focus()
    whole.keyboard.press("Enter")
    whole.wait_for_function("document.querySelectorAll('.tgv-path button').length === 2")
    classes = "nodes => nodes.map(node => node.getAttribute('class').trim()).join()"
    seen = []
    for _ in range(8):
        seen.append(whole.locator(".tgv-frame .node").evaluate_all(classes))
        whole.keyboard.press("ArrowRight")
    assert len(set(seen)) > 4
    for before in reversed(seen):
        whole.keyboard.press("ArrowLeft")
        assert whole.locator(".tgv-frame .node").evaluate_all(classes) == before


def test_the_other_view_shows_the_same_fold(whole: Any) -> None:
    whole.locator(".tgv-opens").first.click()
    whole.locator(".tgv-path").wait_for()
    inside = path(whole)
    whole.keyboard.press("v")
    whole.wait_for_function("document.querySelector('.tgv-frame svg[id$=g] .beyond')")
    assert path(whole) == inside
    assert whole.locator(".tgv-opens").first.is_visible()


def test_where_nothing_happens_inside_the_player_says_so(whole: Any) -> None:
    whole.locator(".tgv-opens").first.click()
    whole.locator(".tgv-path").wait_for()
    whole.keyboard.press("End")
    assert whole.locator(".tgv-elsewhere").text_content() == "nothing changes in here at this step"


def test_axe_has_nothing_to_say_about_an_open_fold(whole: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    whole.locator(".tgv-opens").first.click()
    whole.locator(".tgv-path").wait_for()
    whole.wait_for_timeout(400)
    violations = axe.run(whole, context=".tgv-player").response["violations"]
    assert [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in violations] == []
