"""Folds in the player: opened and closed by pointer and by key, in a page that has no kernel and no network."""

import re
from typing import Any

import pytest
from playwright.sync_api import expect
from support.harness import complaints, new_page

import viz

pytestmark = pytest.mark.outer(start=3)
LONG = "w = T.tensor(1.0, requires_grad=True)\ny = w\nfor i in range(200):\n"
LONG += "    y = y * 1.001 if i % 2 else y + w\ny.backward()"


@pytest.fixture(scope="module")
def page(browser: Any, tmp_path_factory: Any) -> Any:
    address = viz.record(LONG).save(tmp_path_factory.mktemp("page") / "long.html").as_uri()
    opened = new_page(browser)
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.goto(address)
    yield opened
    opened.context.close()
    assert errors == []


@pytest.fixture
def whole(page: Any) -> Any:
    """The page with every fold closed, at the first step of the values view."""
    if page.locator(".tgv-path").is_visible():
        page.get_by_role("button", name="Whole graph").click()
    expect(page.locator(".tgv-path")).to_be_hidden()
    page.get_by_role("button", name="values").click()
    page.locator(".tgv-player").press("Home")
    expect(page.locator(".tgv-counter")).to_have_text(re.compile("^1 /"))
    return page


def opened(page: Any, depth: int) -> Any:
    """Wait until the way back from what is shown has `depth` buttons; the way."""
    way = page.locator(".tgv-path")
    expect(way.locator("button")).to_have_count(depth)
    return way


def open_first(page: Any) -> Any:
    page.locator(".tgv-opens").first.click()
    return opened(page, 1)


def names(page: Any) -> list[str]:
    return page.locator(".tgv-frame .tgv-node").evaluate_all("nodes => nodes.map(node => node.dataset.key)")


def test_a_click_opens_a_fold_with_its_count_and_a_click_closes_it(whole: Any) -> None:
    before = names(whole)
    expect(whole.locator(".tgv-opens").first).to_contain_text("198 ops")
    way = open_first(whole)
    expect(way.locator("button")).to_have_text("Whole graph")
    expect(way.locator("[aria-current]")).to_contain_text("99 ×")
    assert len(names(whole)) > len(before)
    whole.get_by_role("button", name="Whole graph").click()
    expect(way).to_be_hidden()
    assert names(whole) == before


def test_keys_open_and_close_and_leave_the_focus_where_it_was(whole: Any) -> None:
    fold = whole.locator(".tgv-opens").first
    key = fold.get_attribute("data-key")
    fold.press("Enter")
    opened(whole, 1)
    whole.locator(".tgv-opens").first.press("Enter")
    opened(whole, 2)
    expect(whole.locator(".tgv-opens")).to_have_count(0)
    whole.keyboard.press("Escape")
    opened(whole, 1)
    whole.keyboard.press("Escape")
    expect(whole.locator(f'.tgv-node[data-key="{key}"]')).to_be_focused()


def test_steps_go_on_inside_a_fold_and_come_back_exactly(whole: Any) -> None:
    open_first(whole)
    whole.locator(".tgv-opens").first.press("Enter")
    opened(whole, 2)
    player, counter = whole.locator(".tgv-player"), whole.locator(".tgv-counter")
    nodes = whole.locator(".tgv-frame .node")
    classes = "nodes => nodes.map(node => node.getAttribute('class').trim()).join()"
    seen = []
    for step in range(1, 9):
        expect(counter).to_have_text(re.compile(f"^{step} /"))
        seen.append(nodes.evaluate_all(classes))
        player.press("ArrowRight")
    assert len(set(seen)) > 4
    for step in range(8, 0, -1):
        player.press("ArrowLeft")
        expect(counter).to_have_text(re.compile(f"^{step} /"))
        assert nodes.evaluate_all(classes) == seen[step - 1]


def test_the_other_view_shows_the_same_fold_and_says_where_nothing_happens_inside(whole: Any) -> None:
    way = open_first(whole)
    inside = way.text_content()
    whole.locator(".tgv-player").press("End")
    expect(whole.locator(".tgv-elsewhere")).to_have_text("nothing changes in here at this step")
    assert complaints(whole, ".tgv-player") == []
    whole.locator(".tgv-player").press("v")
    whole.locator(".tgv-frame svg[id$=g] .beyond").first.wait_for(state="attached")
    expect(way).to_have_text(inside)
    expect(whole.locator(".tgv-opens").first).to_be_visible()
