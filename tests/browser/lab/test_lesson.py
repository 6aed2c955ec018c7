"""The first lesson as a student meets it: run all, step the gradient to its leaf."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from support.harness import eventually

pytestmark = pytest.mark.outer(start=3)
LESSONS = Path(__file__).parents[3] / "notebooks"
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


def test_the_gradient_is_stepped_to_its_leaf(lesson: Any) -> None:
    number = lesson.page.evaluate(
        """() => [...window.jupyterapp.shell.currentWidget.content.model.cells]
            .findIndex(cell => cell.type === "code" && cell.sharedModel.getSource().includes(".play()"))"""
    )
    lesson.page.evaluate(
        """async number => {
            const notebook = window.jupyterapp.shell.currentWidget.content;
            notebook.activeCellIndex = number;
            await notebook.scrollToItem(number, "start");
        }""",
        number,
    )
    anyway = lesson.page.get_by_role("button", name="show me anyway")
    while anyway.count():  # what answers a question is covered until then
        anyway.first.click()
    player = lesson.page.locator(".tgv-player").first
    player.locator("svg .node").first.wait_for()
    counter, sentence = player.locator(".tgv-counter"), player.locator(".tgv-sentence")
    w = player.locator('.tgv-node[aria-label^="name: w;"]')
    player.press("Home")
    expect(counter).to_have_text(re.compile("^1 /"))
    expect(w).not_to_contain_text("12")
    steps = int(player.locator(".tgv-scrubber").get_attribute("max")) + 1
    for step in range(2, steps + 1):
        if "w.grad" in sentence.text_content():
            break
        player.press("ArrowRight")
        expect(counter).to_have_text(f"{step} / {steps}")
    expect(sentence).to_contain_text("w.grad")
    expect(w).to_contain_text("12")


def test_no_text_is_wider_than_the_screen(lesson: Any) -> None:
    wide = """() => [...document.querySelectorAll(".tgv *")]
        .filter(e => e.getBoundingClientRect().right > window.innerWidth + 1 && !e.closest("svg, .tgv-code, pre"))
        .map(e => e.outerHTML.slice(0, 100))"""
    eventually(lambda: lesson.page.evaluate(wide), [])
