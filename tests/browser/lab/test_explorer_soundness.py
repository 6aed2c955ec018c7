"""The explorer when things go wrong: programs that never end, pages that reload, kernels that restart."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from support.hands import Hands
from support.harness import eventually, uninvited

pytestmark = pytest.mark.outer(start=3)
PROGRAM = "w = T.tensor(2.0, requires_grad=True)\\nL = w * w\\nL.backward()"
RELOADED = """async () => {
    const panel = window.jupyterapp.shell.currentWidget;
    await panel.context.ready;
    await panel.sessionContext.ready;
}"""
RESTARTED = """async () => {
    const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext.session;
    await kernel.restart();
    await kernel.requestExecute({ code: "1" }).done;
}"""


@pytest.fixture(scope="module")
def notebook(desk: Any) -> Any:
    compared = f"viz.compare('{PROGRAM}\\nL.backward()')"
    cells = [f"import viz\nviz.explore('{PROGRAM}')", compared, f"viz.record('{PROGRAM}').play()"]
    opened = desk.open(desk.write("soundness.ipynb", *cells), own_page=True)  # a test loads the page anew
    opened.run_all()
    opened.page.locator(".tgv-explorer svg .node").first.wait_for()
    return opened


def test_a_mistake_that_has_a_lesson_opens_it_below(hands: Hands) -> None:
    hands.press(3, "call it twice")
    see = hands.root.get_by_role("button", name="an example of it")
    see.click()
    lesson = hands.page.locator(".tgv-lesson")
    expect(lesson.locator(".tgv-mistake svg .node").first).to_be_visible()
    expect(lesson).to_contain_text("retain_graph")
    close = lesson.get_by_role("button", name="close this lesson")
    expect(close).to_be_focused()
    close.click()
    expect(lesson).to_be_hidden()
    expect(hands.root).to_be_focused()
    see.click()
    expect(lesson.locator(".tgv-mistake svg .node").first).to_be_visible()
    hands.page.locator(".tgv-lesson").get_by_role("button", name="close this lesson").click()


def test_a_comparison_has_the_code_that_shows_the_lesson(notebook: Any) -> None:
    code = notebook.cell(1).locator(".tgv-lesson-code").first
    expect(code).to_contain_text('viz.mistake("second backward")')
    code.get_by_role("button").click()
    expect(code.get_by_role("button")).to_contain_text("copy")  # once more, after it has told what it did
    assert uninvited.pop() == 'clipboard: viz.mistake("second backward")'


def test_fifty_changes_can_be_undone_and_earlier_ones_are_dropped(hands: Hands) -> None:
    pill = hands.line(2).get_by_role("button", name="retain_grad")
    pill.evaluate("pill => { for (let press = 0; press < 55; press++) pill.click(); }")
    hands.settled()
    expect(pill).to_have_attribute("aria-pressed", "true")
    expect(hands.undo_list.locator("option")).to_have_count(51)
    hands.undo_list.select_option("50")
    hands.settled()
    expect(pill).to_have_attribute("aria-pressed", "true")  # as after the fifth
    expect(hands.undo_list).to_be_hidden()
    hands.agrees("L", "1", "1", "✓")


def test_a_page_that_is_loaded_anew_shows_what_it_showed(notebook: Any, hands: Hands) -> None:
    hands.press(2, "retain_grad")
    notebook.save()
    notebook.page.reload(wait_until="domcontentloaded")
    notebook.page.wait_for_function("window.jupyterapp?.shell?.currentWidget?.content?.model?.cells")
    notebook.page.evaluate(RELOADED)
    notebook.cell(0)
    hands.counts(recorded=1)
    expect(hands.line(2).get_by_role("button", name="retain_grad")).to_have_attribute("aria-pressed", "true")
    hands.agrees("L", "1", "1", "✓")
    hands.press(2, "no_grad")
    hands.counts(recorded=0, unrecorded=1)


def test_a_restarted_kernel_leaves_three_pictures_and_sentences(notebook: Any) -> None:
    notebook.expected.append("Could not restore the debugger state")  # JupyterLab's own words, if it was just asking
    notebook.page.evaluate(RESTARTED)
    for number in range(3):
        cell = notebook.cell(number)
        expect(cell.locator("svg .node, .tgv-fallback img").locator("visible=true").first).to_be_visible()
        expect(cell.locator(".tgv, .tgv-fallback").locator("visible=true").first).to_contain_text("w")
    notebook.cell(0)
    hands = Hands(notebook)
    switch = hands.root.locator(".tgv-pill").first
    before = switch.get_attribute("aria-pressed")
    switch.click()
    expect(hands.account).to_contain_text("Run its cell again")
    expect(switch, "the code in sight is the one that ran").to_have_attribute("aria-pressed", before)
    notebook.run_all()
    notebook.cell(0)
    Hands(notebook).counts(recorded=1)


@pytest.mark.parametrize("begins", ["in a cell", "by a toggle"])
def test_what_never_ends_and_prints_is_interrupted_and_all_goes_on(desk: Any, tmp_path: Path, begins: str) -> None:
    runs, first = tmp_path / "runs", 2.0 if begins == "in a cell" else 1.0
    body = f"open('{runs}', 'a').close(); print('x' * 1_000_000)"
    program = f"a = T.tensor({first})\\nwhile a.item() > 1.5: {body}\\nc = a * a"
    notebook = desk.open(desk.write("endless.ipynb", f'import viz\nviz.explore("{program}")'))
    hands = Hands(notebook)
    if begins == "in a cell":
        notebook.page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }")
    else:
        notebook.run_all()
        hands.counts(recorded=0, unrecorded=1)
        # JupyterLab's first messages come in the thread of the cell, the others not.
        for value in ("1.1", "1.2", "1.3"):
            hands.write("Value of a", value)
        hands.root.get_by_role("slider", name="Value of a", exact=True).fill("2")
    eventually(runs.exists, True)
    notebook.interrupt()
    expect(hands.account).to_contain_text("Not run: stopped")
    hands.write("Value of a", "1")
    hands.agrees("c", "None: requires no grad", "✓")
