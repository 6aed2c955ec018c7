"""The comparison in real JupyterLab: both engines step together, and what differs is listed."""

from __future__ import annotations

from typing import Any

import pytest

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
    opened.page.locator(".tgv-comparison svg .node").first.wait_for()
    return opened


def test_both_engines_step_together(notebook: Any) -> None:
    root = notebook.page.locator(".tgv-comparison").first
    assert "agree" in root.locator(".tgv-verdict").inner_text()
    root.focus()
    notebook.page.keyboard.press("Home")
    pictures = [root.locator(".tgv-frame svg").nth(side) for side in (0, 1)]
    assert all("grad 4" not in picture.text_content() for picture in pictures)
    notebook.page.keyboard.press("End")
    assert all("grad 4" in picture.text_content() for picture in pictures)


def test_a_difference_is_named(notebook: Any) -> None:
    notebook.cell(2)
    verdict = notebook.page.locator(".tgv-comparison").nth(1).locator(".tgv-verdict")
    assert verdict.get_attribute("data-agree") == "false"
    assert "tinygrad_edu has 2, PyTorch has 3" in verdict.inner_text()


def test_what_compare_gives_back_shows_itself(notebook: Any) -> None:
    cell = notebook.cell(3)
    root = cell.locator(".tgv-comparison")
    root.locator("svg .node").first.wait_for()
    assert "agree: 1 node, 2 tensors" in root.locator(".tgv-verdict").inner_text()
    assert root.locator(".tgv-frame svg").count() == 2
    root.focus()
    notebook.page.keyboard.press("End")
    assert all("grad 4" in text for text in root.locator(".tgv-frame svg").all_text_contents())


def test_everything_compared_stands_in_a_table(notebook: Any) -> None:
    root = notebook.cell(3).locator(".tgv-comparison")
    root.locator("summary", has_text="Everything compared").click()
    table = root.get_by_role("group", name="Everything compared").locator("table")
    heads = table.locator("thead th").all_inner_texts()
    assert heads == ["what", "of", "tinygrad_edu", "PyTorch", "difference", "tolerance", "same"]
    rows = [row.split("\t") for row in table.locator("tbody tr").all_inner_texts()]
    assert ["grad", "w.grad", "4", "4", "0", "1e-04", "✓"] in rows
    assert ["node", "MulBackward0 in line 3", "MulBackward0", "MulBackward0", "", "", "✓"] in rows


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
@pytest.mark.parametrize("number", [0, 1, 2])
def test_axe_finds_nothing_to_complain_of(notebook: Any, theme: str, number: int) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    notebook.theme(theme)
    notebook.cell(number + 1)
    notebook.page.wait_for_timeout(400)
    notebook.page.evaluate(
        "number => document.querySelectorAll('.tgv-comparison')[number].setAttribute('data-looked-at', '')", number
    )
    violations = axe.run(notebook.page, context="[data-looked-at]").response["violations"]
    notebook.page.evaluate("document.querySelector('[data-looked-at]').removeAttribute('data-looked-at')")
    notebook.theme("JupyterLab Light")
    assert [(v["id"], [n["html"][:200] for n in v["nodes"]]) for v in violations] == []
