"""The animated SVG in a real browser: it moves by itself, and stands still for who wants that."""

from __future__ import annotations

from typing import Any

import viz

PROGRAM = "x = T.tensor(3.0, requires_grad=True)\na = x * x\nL = a * (a + x)\nL.backward()"
SHOWN = """() => [...document.querySelectorAll("text")]
    .filter(text => getComputedStyle(text).visibility === "visible").map(text => text.textContent).join(" ")"""


def test_it_moves_from_step_to_step(browser: Any, tmp_path: Any) -> None:
    page = browser.new_page(reduced_motion="no-preference")
    page.goto(viz.record(PROGRAM).save(tmp_path / "flow.svg", animate=True, seconds=0.3).as_uri())
    for word in ("Before the first line", "Backward starts", "The backward pass is over"):
        page.wait_for_function(f"({SHOWN})().includes('{word}')")
    page.close()


def test_it_stands_still_at_the_last_step_where_motion_is_unwanted(browser: Any, tmp_path: Any) -> None:
    page = browser.new_page(reduced_motion="reduce")
    page.goto(viz.record(PROGRAM).save(tmp_path / "flow.svg", animate=True, seconds=0.1).as_uri())
    shown = page.evaluate(SHOWN)
    assert "The backward pass is over" in shown
    assert "grad 135" in shown
    page.wait_for_timeout(500)
    assert page.evaluate(SHOWN) == shown
    page.close()
