"""The first lesson as a student meets it: run all, click `no_grad`, step the gradient to its leaf."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

LESSONS = Path(__file__).parents[2] / "notebooks"
FIRST = "01_slopes_and_local_derivatives"


@pytest.fixture(scope="module")
def lesson(desk: Any) -> Any:
    """The first lesson, with its exercises solved, run from top to bottom."""
    copy = desk.lab.root / f"{FIRST}.ipynb"
    shutil.copy(LESSONS / FIRST / f"{FIRST}.ipynb", copy)
    opened = desk.open(copy)
    opened.run_all()
    assert (
        opened.page.evaluate(
            """() => [...window.jupyterapp.shell.currentWidget.content.model.cells]
            .filter(cell => cell.type === "code")
            .flatMap(cell => [...Array(cell.outputs.length).keys()].map(i => cell.outputs.get(i)))
            .filter(output => output.type === "error").length"""
        )
        == 0
    )
    return opened


def show(lesson: Any, selector: str) -> Any:
    """The first widget of a kind, scrolled to: JupyterLab draws a long notebook as it is looked at."""
    number = lesson.page.evaluate(
        """source => [...window.jupyterapp.shell.currentWidget.content.model.cells]
            .findIndex(cell => cell.type === "code" && cell.sharedModel.getSource().includes(source))""",
        {".tgv-player": ".play()", ".tgv-explorer": "viz.explore("}[selector],
    )
    lesson.page.evaluate(
        """async number => {
            const notebook = window.jupyterapp.shell.currentWidget.content;
            notebook.activeCellIndex = number;
            await notebook.scrollToItem(number, "start");
        }""",
        number,
    )
    widget = lesson.page.locator(selector).first
    widget.locator("svg .node").first.wait_for()
    return widget


def test_the_gradient_is_stepped_to_its_leaf(lesson: Any) -> None:
    player = show(lesson, ".tgv-player")
    player.focus()
    lesson.page.keyboard.press("Home")
    w = player.locator('.tgv-node[aria-label^="name: w;"]')
    assert "12" not in w.text_content()
    while "w.grad" not in player.locator(".tgv-sentence").text_content():
        before = player.locator(".tgv-counter").text_content()
        lesson.page.keyboard.press("ArrowRight")
        assert player.locator(".tgv-counter").text_content() != before, "the last step is reached without w.grad"
    assert "12" in w.text_content()


def test_no_grad_makes_the_graph_lose_its_nodes(lesson: Any) -> None:
    explorer = show(lesson, ".tgv-explorer")
    sides = explorer.locator(".tgv-side")
    recorded = lambda: [sides.nth(i).locator("svg .node.op").count() for i in (0, 1)]  # noqa: E731
    assert recorded() == [4, 4]
    explorer.get_by_role("button", name="no_grad").first.click()
    lesson.page.wait_for_function("document.querySelectorAll('.tgv-explorer .tgv-error').length === 2")
    assert recorded() == [0, 0]
    explorer.get_by_role("button", name="undo").click()
    lesson.page.wait_for_function("document.querySelectorAll('.tgv-explorer .tgv-error').length === 0")
    assert recorded() == [4, 4]


def test_no_text_is_wider_than_the_screen(lesson: Any) -> None:
    wide = lesson.page.evaluate(
        """() => [...document.querySelectorAll(".tgv *")]
            .filter(e => e.getBoundingClientRect().right > window.innerWidth + 1 && !e.closest("svg, .tgv-code, pre"))
            .map(e => e.outerHTML.slice(0, 100))"""
    )
    assert wide == []
