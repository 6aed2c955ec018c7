"""The comparison in real JupyterLab: both engines step together, and what differs is listed."""

from typing import Any

import pytest
from playwright.sync_api import expect
from support.harness import complaints

pytestmark = pytest.mark.outer(start=3)
AGREE = "w = T.tensor(2.0, requires_grad=True)\\nL = w * w\\nL.backward()"
DIFFER = "v = T.tensor(2.0, requires_grad=True)\\nk = 3.0 if T.__name__ == 'torch' else 2.0\\n(v * k).backward()"


@pytest.fixture(scope="module")
def notebook(desk: Any) -> Any:
    indented = AGREE.replace("\\n", "\n    ")
    cells = ["%load_ext viz", f"%%autograd --compare\n{AGREE}".replace("\\n", "\n")]
    cells.append(f"%%autograd --compare\n{DIFFER}".replace("\\n", "\n"))
    cells.append(f"import viz\ndef f(T):\n    {indented}\nviz.compare(f)")
    opened = desk.open(desk.write("comparison.ipynb", *cells))
    opened.run_all()
    return opened


def comparison(notebook: Any, cell: int) -> Any:
    """The comparison below a cell, drawn."""
    root = notebook.cell(cell).locator(".tgv-comparison")
    root.locator("svg .node").first.wait_for()
    return root


def pictures(root: Any) -> list[Any]:
    """Both engines' graphs, which a press on the badge puts beside each other."""
    badge = root.locator(".tgv-badge")
    if badge.get_attribute("aria-expanded") == "false":
        badge.click()
    expect(root.locator(".tgv-frame svg")).to_have_count(2)
    return [root.locator(".tgv-frame svg").nth(side) for side in (0, 1)]


def test_both_engines_step_together(notebook: Any) -> None:
    root = comparison(notebook, 1)
    expect(root.locator(".tgv-verdict")).to_contain_text("agree")
    root.press("Home")
    for picture in pictures(root):
        expect(picture).not_to_contain_text("grad 4")
    root.press("End")
    for picture in pictures(root):
        expect(picture).to_contain_text("grad 4")


def test_that_pytorch_agrees_is_a_badge_on_one_large_graph(notebook: Any) -> None:
    root = comparison(notebook, 1)
    badge = root.locator(".tgv-badge")
    if badge.get_attribute("aria-expanded") == "true":
        badge.click()
    expect(badge).to_contain_text("PyTorch 2.13.0 agrees ✓")
    expect(root.locator(".tgv-frame svg:visible")).to_have_count(1)


def test_a_difference_is_named(notebook: Any) -> None:
    verdict = comparison(notebook, 2).locator(".tgv-verdict")
    expect(verdict).to_have_attribute("data-agree", "false")
    expect(verdict).to_contain_text("tinygrad_edu has 2, PyTorch has 3")


def test_what_compare_gives_back_shows_itself_with_a_table_of_everything_compared(notebook: Any) -> None:
    root = comparison(notebook, 3)
    expect(root.locator(".tgv-verdict")).to_contain_text("agree: 1 node, 2 tensors")
    box = root.locator("details.tgv-code-box")
    if box.get_attribute("open") is None:
        box.locator("summary", has_text="Everything compared").click()
    table = root.get_by_role("group", name="Everything compared").locator("table")
    heads = ["what", "of", "tinygrad_edu", "PyTorch", "difference", "tolerance", "same"]
    expect(table.locator("thead th")).to_have_text(heads)
    grad = table.locator("tbody tr", has=notebook.page.locator('td:text-is("grad")'))
    expect(grad.locator("th, td")).to_have_text(["grad", "w.grad", "4", "4", "0", "1e-04", "✓"])


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_axe_finds_nothing_to_complain_of(notebook: Any, theme: str) -> None:
    with notebook.themed(theme):
        for number in (1, 2, 3):
            comparison(notebook, number)  # what is out of sight is not drawn, and axe would not look at it
            found = complaints(notebook.page, f'.jp-Cell[data-windowed-list-index="{number}"] .tgv-comparison')
            assert found == []
