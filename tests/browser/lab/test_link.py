"""The button for a link in real JupyterLab: the explorer and `%%autograd` copy an address that carries the program."""

from typing import Any

import pytest
from playwright.sync_api import expect

from viz.export.link import unpacked

pytestmark = pytest.mark.outer(start=3)
BASE = "https://example.org/explore.html"
PROGRAM = "w = T.tensor(2.0, requires_grad=True)\nL = w * w\nL.backward()"
CLIPBOARD = "() => { window.copied = []; navigator.clipboard.writeText = async text => { window.copied.push(text); }; }"
CELLS = {"player": f"%%autograd\n{PROGRAM}"}
CELLS["explorer"] = (
    f"import os\nos.environ['TINYGRAD_EDU_EXPLORE'] = '{BASE}'\nimport viz\nviz.explore('''{PROGRAM}''')"
)


def test_the_explorer_and_autograd_copy_a_link_of_their_program(desk: Any) -> None:
    path = desk.write("links.ipynb", CELLS["explorer"], "import tinygrad_edu as T", CELLS["player"])
    notebook = desk.open(path, own_page=True)  # whose clipboard is another one
    notebook.run_all()
    page = notebook.page
    page.evaluate(CLIPBOARD)
    buttons = page.get_by_role("button", name="copy link")
    expect(buttons).to_have_count(2)
    for button in (buttons.first, buttons.last):
        button.click()
    expect(page.get_by_text("The link is copied.")).to_have_count(2)
    copied = page.evaluate("window.copied")
    assert all(one.startswith(BASE + "#1.") for one in copied)
    assert {unpacked(one)["p"].strip() for one in copied} == {PROGRAM}
