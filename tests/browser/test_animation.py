"""The animated SVG in a real browser: it moves by itself, and stands still for those who want that."""

from typing import Any

import pytest
from support.harness import eventually

import viz

pytestmark = pytest.mark.outer(start=3)
PROGRAM = "x = T.tensor(3.0, requires_grad=True)\na = x * x\nL = a * (a + x)\nL.backward()"
SHOWN = """() => [...document.querySelectorAll("text")]
    .filter(text => getComputedStyle(text).visibility === "visible").map(text => text.textContent).join(" ")"""
RUNNING = "() => document.getAnimations().filter(one => one.playState === 'running').length"
AT = """share => {
    for (const one of document.getAnimations()) {
        one.pause();
        one.currentTime = share * one.effect.getComputedTiming().duration;
    }
}"""


def test_it_moves_from_step_to_step(fresh: Any, tmp_path: Any) -> None:
    page = fresh(reduced_motion="no-preference")
    page.goto(viz.record(PROGRAM).save(tmp_path / "flow.svg", animate=True, seconds=0.3).as_uri())
    assert page.evaluate(RUNNING) > 10
    at_first = page.evaluate(SHOWN)
    eventually(lambda: page.evaluate(SHOWN) == at_first, False)  # by itself
    at = {0.0: "Before the first line", 0.42: "Backward starts", 0.99: "The backward pass is over"}
    for share, words in at.items():
        page.evaluate(AT, share)
        assert words in page.evaluate(SHOWN)


def test_it_stands_still_at_the_last_step_where_motion_is_unwanted(fresh: Any, tmp_path: Any) -> None:
    page = fresh(reduced_motion="reduce")
    page.goto(viz.record(PROGRAM).save(tmp_path / "flow.svg", animate=True, seconds=0.1).as_uri())
    assert page.evaluate(RUNNING) == 0
    shown = page.evaluate(SHOWN)
    assert "The backward pass is over" in shown
    assert "grad 135" in shown
