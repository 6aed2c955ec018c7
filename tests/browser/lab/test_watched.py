"""A watched training in real JupyterLab: renewed while its cell runs, read by keyboard alone, no finding of axe."""

import re
from typing import Any

import pytest
from playwright.sync_api import expect
from support.harness import complaints

pytestmark = pytest.mark.outer(start=3)

SETUP = """
import time
import tinygrad_edu as T
import viz
from tinygrad_edu import nn
go_on = True
model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = T.optim.SGD(model.parameters(), lr=0.05)
x = T.randn(32, 3)
"""
# It runs until it has been renewed some times: how long that takes is the machine's business.
LOOP = """
w = viz.watch(model, every=2)
with w:
    began = time.monotonic()
    while time.monotonic() - began < 600 and (w._shown is None or w._shown.renewed < 3 or w.steps < 40):
        optimizer.zero_grad()
        (model(x) - x.sum(1, keepdim=True)).square().mean().backward()
        optimizer.step()
        time.sleep(0.01)
"""


@pytest.fixture(scope="module")
def notebook(desk: Any) -> Any:
    count = (
        "from viz.widgets.watched import WatchView\nWatchView.renewed = 0\nshow = WatchView.show\n"
        "def counted(self):\n    self.renewed += 1\n    show(self)\nWatchView.show = counted\n"
    )
    opened = desk.open(desk.write("watched.ipynb", SETUP + count, LOOP))
    opened.run_all()
    expect(opened.page.locator(".tgv-watched-maps svg g.map").first).to_be_attached()
    return opened


@pytest.fixture
def root(notebook: Any) -> Any:
    return notebook.page.locator(".tgv-watched")


def test_it_is_renewed_while_the_cell_runs_and_rests_at_its_end(notebook: Any, root: Any) -> None:
    assert int(notebook.python("print(w._shown.renewed)")) >= 3
    steps = int(notebook.python("print(w.columns[-1].step)"))
    expect(root.locator(".tgv-watched-where")).to_have_text(re.compile(rf"^Step {steps}: loss"))
    expect(root.locator(".tgv-watched-light.tgv-watched-runs")).to_have_count(0)
    assert root.bounding_box()["height"] <= 620
    expect(root.locator(".tgv-watched-wide image")).to_have_count(8)  # four maps, four legends


def test_arrows_tell_the_numbers_of_a_cell(notebook: Any, root: Any) -> None:
    told = root.locator(".tgv-watched-cell")
    root.get_by_role("application").focus()
    notebook.page.keyboard.press("Home")
    expect(told).to_contain_text("0, step 1. gradient norm: ")
    expect(root.locator(".tgv-watched-wide .cursor")).to_have_count(4)
    notebook.page.keyboard.press("ArrowDown")
    notebook.page.keyboard.press("ArrowRight")
    expect(told).to_contain_text("2, step 2. gradient norm: ")
    wanted = float(notebook.python("print(w.columns[1].values['gradient'][1])"))
    shown = re.search(r"gradient norm: (\S+);", told.inner_text())
    assert shown is not None and float(shown[1]) == pytest.approx(wanted, rel=1e-2)
    notebook.page.keyboard.press("Escape")
    expect(told).to_contain_text("Point at a cell")


@pytest.mark.parametrize("theme", ["JupyterLab Dark", "JupyterLab Light"])
def test_axe_finds_nothing(notebook: Any, theme: str) -> None:
    with notebook.themed(theme):
        assert complaints(notebook.page, ".tgv-watched") == []
