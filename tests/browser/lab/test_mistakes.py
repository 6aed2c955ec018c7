"""The mistakes and `%%autograd` in real JupyterLab: buttons, keys, themes, a missing kernel, no violation of WCAG."""

from typing import Any

import pytest
from playwright.sync_api import expect
from support.harness import complaints, eventually

pytestmark = pytest.mark.outer(start=3)

MAGIC_LOOP = """%%autograd
def f(v):
    return v * w
z = w + 0
for _ in range(2):
    z = f(z)
z.backward()"""
MAGIC_ERROR = """%%autograd --step
L = w * w
L.backward()
L.backward()"""


@pytest.fixture(scope="module")
def notebook(desk: Any) -> Any:
    opened = desk.open(desk.write("mistake.ipynb", 'import viz\nshown = viz.mistake("second backward")\nshown'))
    opened.run_all()
    opened.page.locator(".tgv-mistake svg .node").first.wait_for()
    return opened


def way(root: Any, label: str) -> Any:
    """The button that tries one way to fix the mistake; what is in the graph may have the same words in its name."""
    return root.locator(".tgv-ways").get_by_role("button", name=label)


@pytest.fixture
def root(notebook: Any) -> Any:
    """The mistake in its initial state, with one graph on the stage, whatever an earlier test left behind."""
    root = notebook.page.locator(".tgv-mistake")
    root.get_by_role("button", name="the mistake", exact=True).click()
    if root.locator(".tgv-badge").get_attribute("aria-expanded") == "true":
        root.locator(".tgv-badge").click()
    expect(root.locator(".tgv-effect")).to_contain_text("Why:")
    return root


def test_beside_any_other_widget_the_wrong_line_is_marked_and_no_line_is_cut(desk: Any) -> None:
    player = "viz.record('w = T.tensor(2.0, requires_grad=True)\\nL = w * w').play()"
    opened = desk.open(desk.write("marked.ipynb", "import viz\nviz.mistake('grad is None')", player))
    opened.run_all()
    opened.page.locator(".tgv-player svg .node").first.wait_for()
    opened.cell(0)
    lesson = opened.page.locator(".tgv-mistake")
    expect(lesson.locator(".tgv-wrong-line")).not_to_have_css("background-color", "rgba(0, 0, 0, 0)")
    lesson.get_by_role("button", name="make the leaf with its final dtype").click()
    expect(lesson.locator(".tgv-new-line").first).not_to_have_css("background-color", "rgba(0, 0, 0, 0)")
    code = lesson.locator(".tgv-mistake-program")
    eventually(lambda: code.evaluate("code => code.scrollWidth <= code.clientWidth"), True)


def test_at_first_nothing_is_tried_and_the_node_that_fails_is_in_sight(root: Any) -> None:
    expect(root.locator(".tgv-error")).to_have_count(1)
    expect(root.locator(".tgv-error")).to_contain_text("tinygrad_edu and PyTorch: RuntimeError, line 5")
    expect(root.locator(".tgv-wrong-line")).to_contain_text("area = w * w")
    expect(root.locator(".tgv-frame .error")).to_have_count(1)
    expect(root.locator(".tgv-ways [aria-pressed=true]")).to_have_text("the mistake")
    expect(root.locator(".tgv-badge")).to_contain_text("agrees ✓")


def test_code_graph_and_steps_of_a_mistake_share_a_screen_of_768_pixels_and_no_fix_moves_them(root: Any) -> None:
    places = """root => [...root.querySelectorAll("button, .tgv-scrubber")]
        .filter(one => one.checkVisibility() && !one.closest(".tgv-frame, .tgv-mistake-program"))
        .map(one => { const { x, y } = one.getBoundingClientRect(); return [x, y]; })"""
    assert root.bounding_box()["height"] <= 620
    before = root.evaluate(places)
    for label in ("compute it in each step", "retain_graph=True"):
        way(root, label).click()
        expect(way(root, label)).to_have_attribute("aria-pressed", "true")
        expect(root.locator(".tgv-effect")).not_to_contain_text("Why:")
        assert root.evaluate(places) == before


def test_what_is_tried_by_key_shows_its_effect_and_pytorch_stands_behind_the_badge(notebook: Any, root: Any) -> None:
    way(root, "retain_graph=True").press("Enter")
    expect(root.locator(".tgv-effect")).to_contain_text("does not fix it")
    expect(root.locator(".tgv-error")).to_contain_text("modified by an inplace operation")
    expect(root.locator(".tgv-new-line")).to_contain_text("loss.backward(retain_graph=True)")
    expect(root.locator(".tgv-gone-line")).to_contain_text("loss.backward()")
    root.locator(".tgv-badge").click()
    expect(root.locator(".tgv-side-title").nth(1)).to_contain_text("PyTorch 2")
    way(root, "compute it in each step").click()
    expect(root.locator(".tgv-effect")).to_contain_text("fixes it")
    expect(root.locator(".tgv-error")).to_have_count(0)
    row = root.locator(".tgv-words tr", has=notebook.page.get_by_role("rowheader", name="w", exact=True))
    expect(row).to_contain_text("0.64")


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_it_is_accessible_in_either_theme(notebook: Any, root: Any, theme: str) -> None:
    way(root, "compute it in each step").click()
    expect(root.locator(".tgv-effect")).to_contain_text("fixes it")
    with notebook.themed(theme):
        assert complaints(notebook.page, ".tgv-mistake") == []


def test_without_a_kernel_what_was_seen_is_there_and_the_rest_says_what_to_do(notebook: Any, root: Any) -> None:
    effect = root.locator(".tgv-effect")
    way(root, "retain_graph=True").click()
    expect(effect).to_contain_text("does not fix it")
    root.get_by_role("button", name="the mistake", exact=True).click()
    notebook.expected.append("Could not send widget sync message")  # JupyterLab's own words about a kernel that is gone
    notebook.page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    way(root, "retain_graph=True").click()
    expect(effect).to_contain_text("does not fix it")
    way(root, "one backward() of the sum").click()
    expect(effect).to_contain_text("run this cell again")


def test_a_cell_under_autograd_grows_its_graph_and_an_exception_has_its_place_and_name(desk: Any) -> None:
    cells = ["%load_ext viz\nimport tinygrad_edu as tg\nw = tg.tensor(2.0, requires_grad=True)", MAGIC_LOOP]
    cells += [MAGIC_ERROR]
    opened = desk.open(desk.write("magic.ipynb", *cells))
    opened.run_all()
    # Run All stops at the cell that raises, after it has shown its picture.
    loop, error = opened.page.locator(".tgv-player"), opened.page.locator(".tgv-player").nth(1)
    expect(loop.first).to_contain_text("w.grad = 12")  # z = w³, through a function in a loop
    expect(error).to_contain_text("Before the first line")
    error.press("End")
    expect(error.locator(".error")).to_have_count(1)
    cell = opened.cell(2)
    expect(cell).to_contain_text('viz.mistake("second backward")')
    written = "[data-mime-type='application/vnd.jupyter.error'], [data-mime-type='application/vnd.jupyter.stderr']"
    expect(cell.locator(written).last).to_contain_text("L.backward()")
