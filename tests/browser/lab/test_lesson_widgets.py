"""What a lesson shows beside its widgets in real JupyterLab: covered answers, a first picture, lit nodes."""

import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import expect
from support.harness import eventually

pytestmark = pytest.mark.outer(start=3)
LESSONS = Path(__file__).parents[3] / "notebooks"


def test_what_answers_a_question_is_covered_until_it_was_answered_or_is_wanted_anyway(desk) -> None:
    asked = """
from viz.widgets.predict import predict
predict("What is `2 + 2`?", {"4": "Yes.", "5": "One too many."}, right="4", covers=2)"""
    cells = (asked, "print(2 + 2)", "#!md As `2 + 2` is 4", "print('next')", asked, "4")
    notebook = desk.open(desk.write("covered.ipynb", *cells))
    notebook.run_all()
    cards = notebook.page.locator(".tgv-predict")
    answer, text, after, last = (notebook.page.locator(".jp-Cell").nth(number) for number in (1, 2, 3, 5))
    printed = answer.locator(".jp-OutputArea-output pre")
    expect(cards.first.locator(".tgv-reply")).to_contain_text("covered until then")
    expect(printed).to_be_hidden()
    expect(text.get_by_text("As 2 + 2 is 4")).to_be_hidden()
    expect(after.get_by_text("next", exact=True)).to_be_visible()
    place = answer.bounding_box()
    cards.first.get_by_role("button", name="5").click()
    expect(printed).to_be_visible()
    expect(text.get_by_text("As 2 + 2 is 4")).to_be_visible()
    assert answer.bounding_box()["height"] == place["height"]
    expect(last.locator(".jp-OutputArea-output pre")).to_be_hidden()
    cards.nth(1).get_by_role("button", name="show me anyway").click()
    expect(last.locator(".jp-OutputArea-output pre")).to_be_visible()


def test_after_the_first_shift_and_enter_the_picture_and_its_play_button_are_in_sight(desk) -> None:
    start = desk.lab.root / "00_start_here.ipynb"
    shutil.copy(LESSONS / "00_start_here" / start.name, start)
    _run_first_cell(desk, start, ".tgv-player .tgv-frame svg", ".tgv-player [aria-label=Play]")


def test_a_drawn_network_is_in_sight_though_the_next_cell_is_long(desk) -> None:
    draw = "import torch as t, viz\nviz.draw(t.nn.Sequential(*(t.nn.Linear(4, 4) for _ in range(9))), t.ones(1, 4))"
    _run_first_cell(desk, desk.write("drawn.ipynb", draw, "1\n" * 40), ".tgv-network svg")


def _run_first_cell(desk, path, *parts: str) -> None:
    """Run it by Shift and Enter; then all parts of its output are in sight."""
    notebook = desk.open(path, own_page=True)
    notebook.page.locator(".jp-CodeCell .cm-content").first.click()
    notebook.page.keyboard.press("Shift+Enter")
    view = notebook.page.locator(".jp-WindowedPanel-outer").first.bounding_box()
    for part in parts:
        shown = notebook.page.locator(part).first

        def in_sight(shown=shown) -> bool:
            box = shown.bounding_box()
            return box["y"] >= view["y"] and box["y"] + box["height"] <= view["y"] + view["height"]

        eventually(in_sight, True)


def test_a_word_lights_its_node_in_the_nearest_picture_and_the_node_its_word(desk) -> None:
    play = "import viz\nviz.record('''w = T.tensor(2.0, requires_grad=True)\nL = w * 3\nL.backward()''').play()"
    words = "#!md The [`w`](#node=w) meets the [product](#node=MulBackward0)."
    notebook = desk.open(desk.write("point.ipynb", play, words))
    notebook.run_all()
    page = notebook.page
    frame = page.locator(".tgv-player .tgv-frame")
    expect(frame.locator("g.node").first).to_be_visible()
    lit = frame.locator("g.node[data-tgv-pointed]")
    word, product = page.locator('a[href="#node=w"]'), page.locator('a[href="#node=MulBackward0"]')
    address = page.url
    word.hover()
    expect(lit.locator("text.name")).to_have_text("w")
    product.hover()
    expect(lit).to_contain_text("MulBackward0")
    product.click()
    page.mouse.move(2, 2)
    expect(lit).to_contain_text("MulBackward0")  # a press keeps it
    product.click()
    frame.locator("g.node", has=page.locator("text.name", has_text=re.compile("^w$"))).hover(force=True)
    expect(page.locator("a[data-tgv-pointed]")).to_have_text("w")
    assert page.url == address
