"""Exported pages in Chromium, with no kernel: a player with module frames in both views, and a comparison."""

import re
from typing import Any

import pytest
from playwright.sync_api import expect
from support.harness import complaints, eventually, new_page

import viz

pytestmark = pytest.mark.outer(start=3)

PROGRAM = """
net = T.nn.Sequential(T.nn.Linear(2, 3), T.nn.ReLU(), T.nn.Linear(3, 1))
loss = net(T.ones(1, 2)).pow(2).mean()
loss.backward()
"""

# Without modules: beside each other, two pictures of those are folded.
PLAIN = """
w = T.tensor(2.0, requires_grad=True)
b = T.tensor(1.0, requires_grad=True)
loss = (w * 3 + b) ** 2
loss.backward()
"""


def opened(browser: Any, path: Any) -> Any:
    page = new_page(browser, viewport={"width": 1920, "height": 1080})  # a smaller stage folds the modules away
    page.goto(path.as_uri())
    expect(page.locator(".tgv svg .node").first).to_be_visible()
    return page


@pytest.fixture(scope="module")
def player(browser: Any, tmp_path_factory: Any) -> Any:
    page = opened(browser, viz.record(PROGRAM).save(tmp_path_factory.mktemp("page") / "net.html"))
    yield page
    page.context.close()


@pytest.fixture(scope="module")
def comparison(browser: Any, tmp_path_factory: Any) -> Any:
    page = opened(browser, viz.compare(PLAIN).save(tmp_path_factory.mktemp("page") / "both.html"))
    yield page
    page.context.close()


@pytest.mark.parametrize(("view", "other"), [("values", "grad_fn"), ("grad_fn", "values")])
def test_each_view_has_its_own_frames_and_its_own_legend(player: Any, view: str, other: str) -> None:
    player.get_by_role("button", name=other).click()
    player.get_by_role("button", name=view).click()
    expect(player.locator(".scope text")).to_have_text(["net", "net.0", "net.2"])
    legend = player.get_by_label("Legend")
    expect(legend.get_by_text("leaf that requires grad")).to_be_visible(visible=view == "values")
    expect(legend.get_by_text("AccumulateGrad, adds into a leaf's .grad")).to_be_visible(visible=view == "grad_fn")
    expect(legend.get_by_text("gradient flowing back (")).to_be_visible()


FAILS = "w = T.tensor(0.5, requires_grad=True)\nh = T.tensor(0.0)"
FAILS += "".join(f"\nh = T.tanh(w * h + {x})\nL = h * h\nL.backward()" for x in (1.0, 0.5))
DIFFERS = "x = T.tensor(3.0, requires_grad=True)\na = x * (2.0 if T.__name__ == 'torch' else 3.0)\n"
DIFFERS += "(a * x + a).backward()"
CUT = "parts => parts.filter(one => one.scrollHeight > one.clientHeight + 1).map(one => one.className)"
BELOW = """nodes => nodes.filter(one => one.checkVisibility() && one.getBoundingClientRect().bottom >
    one.closest(".tgv-stage").getBoundingClientRect().bottom + 0.5).length"""


# As in JupyterLab on two screens.
@pytest.mark.parametrize(("width", "height", "shown"), [(1000, 768, 1), (1552, 1080, 2)])
def test_an_error_is_read_whole_beside_its_picture_and_so_are_two_pictures_or_one(
    fresh: Any, tmp_path: Any, width: int, height: int, shown: int
) -> None:
    page = fresh(viewport={"width": width, "height": height})
    page.goto(viz.record(FAILS).save(tmp_path / "fails.html").as_uri())
    page.locator(".tgv-player").press("End")
    expect(page.locator(".tgv-now")).to_have_attribute("data-phase", "error")
    parts = page.locator(".tgv-bench-now" if shown == 1 else ".tgv-bench-now, .tgv-bench-code")
    eventually(lambda: parts.evaluate_all(CUT), [])
    page.goto(viz.compare(DIFFERS).save(tmp_path / "differs.html").as_uri())
    expect(page.locator(".tgv-frame svg:visible")).to_have_count(shown)
    expect(page.locator(".tgv-frame svg").first).to_contain_text("9 ≠ 6")
    eventually(lambda: page.locator(".tgv-frame .node").evaluate_all(BELOW), 0)


def test_a_click_opens_the_numbers_that_are_there_at_this_step(browser: Any, tmp_path: Any) -> None:
    program = "w = T.tensor([[1.0, -2.0]], requires_grad=True)\nL = (w @ T.ones(2, 1) * 3).sum()\nL.backward()"
    page = opened(browser, viz.record(program).save(tmp_path / "numbers.html"))
    sheet, leaf = page.get_by_role("group", name="Numbers"), page.locator('.tgv-node[aria-label^="name: w;"]')
    page.locator(".tgv-player").press("Home")
    leaf.click()
    # Nothing was there yet: it goes to its step.
    expect(page.locator(".tgv-step-title")).to_contain_text("AccumulateGrad")
    page.locator(".tgv-player").press("Home")
    page.locator(".tgv-player").press("ArrowRight")
    leaf.click()
    expect(sheet.locator("caption")).to_have_text(["value"])
    expect(sheet).to_contain_text("Its gradient is still to come.")
    page.locator(".tgv-player").press("End")
    expect(sheet.locator("caption")).to_have_text(["value", "gradient", re.compile("^by ")])
    sheet.get_by_role("button", name="3").last.click()
    expect(sheet.get_by_role("status")).to_have_text("∂/∂w[0, 1] = 3 × 1 = 3")
    assert complaints(page, ".tgv-player") == []
    page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()
    page.context.close()


def test_a_comparison_is_a_page_whose_pictures_step_together(comparison: Any) -> None:
    pictures = comparison.locator(".tgv-side .tgv-frame svg")
    badge = comparison.locator(".tgv-badge")  # PyTorch's picture is behind it, unless it was opened for a difference
    if badge.get_attribute("aria-expanded") == "false":
        badge.click()
    expect(pictures).to_have_count(2)
    expect(comparison.get_by_role("status")).to_contain_text("agree")
    comparison.get_by_role("button", name="First step").click()
    expect(comparison.locator(".tgv-counter")).to_have_text(re.compile("^1 /"))
    comparison.locator(".tgv-comparison").press("End")
    expect(comparison.locator(".tgv-counter")).to_have_text(re.compile(r"^(\d+) / \1$"))
    comparison.get_by_role("button", name="grad_fn").click()
    expect(pictures.locator(".accumulate")).to_have_count(4)
    assert complaints(comparison, ".tgv-comparison") == []
