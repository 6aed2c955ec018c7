"""Training runs in real JupyterLab: they move, stop, continue, outlive their kernel, and work by keyboard alone."""

from typing import Any

import pytest
from playwright.sync_api import expect
from support.harness import complaints, eventually

pytestmark = pytest.mark.outer(start=3)

# Steps that take a while, and more of them than anyone waits for: a run that ends was stopped.
SETUP = """
import time
import viz
from viz.widgets import training
training.MORE = 100_000
def bowl(T, lr=0.25, zero_grad=True):
    w = T.tensor(2.0, requires_grad=True)
    loss = lambda: w * w
    while True:
        time.sleep(0.005)
        if zero_grad:
            w.grad = None
        loss().backward()
        yield loss, {"w": w}
        with T.no_grad():
            w -= lr * w.grad
first, second = viz.train(bowl, steps=4, progress=False), viz.train(bowl, steps=3, progress=False)
"""
BAR = "document.querySelectorAll('.tgv-training .tgv-bar')[number]"


class Card:
    """One training widget on the page."""

    def __init__(self, notebook: Any, number: int):
        self.notebook, self.page, self.number = notebook, notebook.page, number
        self.root = notebook.page.locator(".tgv-training").nth(number)
        self.bar = self.root.get_by_role("progressbar")
        self.note = self.root.locator(".tgv-note")
        self.slider = self.root.get_by_label("step", exact=True)
        self.sentence = self.root.locator(".tgv-numbers")
        self.more = self.root.get_by_role("button", name="more steps")
        self.stop = self.root.get_by_role("button", name="stop")

    def moves(self) -> None:
        """Wait until the bar stands further to the right than now."""
        expect(self.bar).to_be_visible()
        now = self.page.evaluate(f"number => {BAR}.value", self.number)
        moved = f"([number, now]) => !{BAR}.hidden && {BAR}.value > now"
        self.page.wait_for_function(moved, arg=[self.number, now], polling=50)

    def stopped(self) -> int:
        """Wait until the run has stopped; how many steps there are, in the kernel and on the page."""
        expect(self.bar).to_be_hidden()
        steps = int(self.notebook.python(f"print(len({('first', 'second')[self.number]}.runs[0].steps))"))
        expect(self.root.locator(".tgv-counted")).to_be_empty()
        return steps


@pytest.fixture(scope="module")
def notebook(desk: Any) -> Any:
    opened = desk.open(desk.write("training_runs.ipynb", SETUP, "first", "second"))
    opened.run_all()
    expect(opened.page.locator(".tgv-training svg.tgc .plane").nth(3)).to_be_attached()
    return opened


@pytest.fixture
def card(notebook: Any) -> Card:
    """The first card, both at rest whatever an earlier test has left."""
    for one in (Card(notebook, 1), Card(notebook, 0)):
        if one.bar.is_visible():
            one.stop.click()
            one.stopped()
    return Card(notebook, 0)


def test_it_is_worked_by_keyboard_alone(card: Card) -> None:
    page = card.page
    start = "Step 0: loss = 4. w = 2, w.grad = 4."
    card.slider.focus()
    page.keyboard.press("Home")
    expect(card.sentence).to_have_text(start)
    page.keyboard.press("ArrowRight")
    expect(card.sentence).to_have_text("Step 1: loss = 1. w = 1, w.grad = 2.")
    page.keyboard.press("Home")
    page.keyboard.press("Tab")
    expect(card.more).to_be_focused()
    page.keyboard.press("Enter")
    card.moves()
    page.keyboard.press("Tab")
    expect(card.stop).to_be_focused()
    page.keyboard.press("Space")
    card.stopped()
    expect(card.sentence).to_have_text(start)  # what is looked at stays
    page.keyboard.press("Tab")
    expect(card.root.get_by_label("lr")).to_be_focused()
    page.keyboard.type("0.5")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(card.root.get_by_role("button", name="lr=0.5")).to_have_attribute("aria-pressed", "true")
    expect(card.bar).to_be_hidden()
    card.slider.focus()
    page.keyboard.press("End")
    expect(card.sentence).to_contain_text("loss = 0. w = 0, w.grad = 0.")
    card.root.get_by_role("button", name="as written").press("Enter")
    card.slider.press("End")


def test_the_kernels_interrupt_stops_it_too_and_it_goes_on(card: Card) -> None:
    card.more.click()
    card.moves()

    def interrupted() -> bool:
        """Interrupt again, as a student would: between two steps a kernel misses an interrupt."""
        card.notebook.interrupt()
        try:
            expect(card.bar).to_be_hidden(timeout=10_000)
        except AssertionError:
            return False
        return True

    eventually(interrupted, True)
    steps = card.stopped()
    assert card.notebook.python("print(1 + 1)").strip() == "2"
    card.more.click()
    card.moves()
    card.stop.click()
    assert card.stopped() > steps


def test_two_on_a_page_do_not_disturb_each_other_and_a_cell_runs_beside_them(notebook: Any, card: Card) -> None:
    other = Card(notebook, 1)
    expect(other.sentence).to_have_text("Step 2: loss = 0.25. w = 0.5, w.grad = 1.")
    card.more.click()
    other.more.click()
    card.moves()
    other.moves()
    expect(card.note).to_have_text("Running…")
    assert notebook.python("print(6 * 7)").strip() == "42"
    card.moves()
    card.stop.click()
    assert 4 < card.stopped() < 100_000
    other.moves()
    other.stop.click()
    other.stopped()


@pytest.mark.parametrize("theme", ["JupyterLab Dark", "JupyterLab Light"])
def test_axe_finds_nothing_running_or_not(notebook: Any, card: Card, theme: str) -> None:
    other = Card(notebook, 1)
    with notebook.themed(theme):
        assert complaints(notebook.page, ".tgv-training") == []
        other.more.click()
        other.moves()
        found = complaints(notebook.page, ".tgv-training")
        other.stop.click()
        other.stopped()
    assert found == []


def test_a_restarted_kernel_leaves_the_picture_and_a_sentence(notebook: Any, card: Card) -> None:
    notebook.page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    expect(card.root.locator("svg.tgc .path").first).to_be_attached()
    card.slider.press("Home")
    expect(card.sentence).to_contain_text("Step 0: loss = 4.")
    card.more.click()
    expect(card.note).to_contain_text("Run its cell again.")
