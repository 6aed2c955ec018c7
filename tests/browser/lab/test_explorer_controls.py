"""Each control of the explorer in real JupyterLab: the test uses it as a student does, and both engines answer."""

import re
from typing import Any

import pytest
from playwright.sync_api import expect
from support.hands import Hands
from support.harness import eventually

pytestmark = pytest.mark.outer(start=3)

PROGRAM = """\
x = T.tensor([[1.0, 2.0], [3.0, 4.0]])
w = T.tensor([0.5, -1.0], requires_grad=True)
m = T.tensor([True, False])
f = T.tensor(True)
n = T.tensor(2)
o = T.ones(2, requires_grad=True)
h = (x @ w) * o * m * f
L = (h * n).sum()
L.backward()"""


@pytest.fixture(scope="module")
def opened(desk: Any) -> Hands:
    cell = f"import viz\nexplorer = viz.explore('''{PROGRAM}''')\nexplorer"
    notebook = desk.open(desk.write("controls.ipynb", cell))
    notebook.run_all()
    hands = Hands(notebook)
    hands.root.locator("svg .node").first.wait_for()
    return hands


@pytest.fixture
def hands(opened: Hands) -> Hands:
    """The explorer in its initial state."""
    opened.start_over()
    return opened


@pytest.mark.parametrize(
    ("field", "text", "line", "code"),
    [
        ("x[1, 0]", "5", 1, "x = T.tensor([[1.0, 2.0], [5.0, 4.0]])"),
        ("w[0]", "2.5", 2, "w = T.tensor([2.5, -1.0], requires_grad=True)"),
        ("m[1]", None, 3, "m = T.tensor([True, True])"),
        ("Value of f", None, 4, "f = T.tensor(False)"),
        ("Value of n, as a number", "3.4", 5, "n = T.tensor(3)"),
        ("Shape of o", "2, 2", 6, "o = T.ones((2, 2), requires_grad=True)"),
    ],
    ids=["a matrix", "a vector", "booleans", "a boolean", "a whole number", "a shape"],
)
def test_an_input_has_a_control_of_its_kind(hands: Hands, field: str, text: str | None, line: int, code: str) -> None:
    hands.write(field, text) if text else hands.press(line, field)
    expect(hands.code(line)).to_have_text(code)
    expect(hands.row("w").last).to_have_text("✓")


def test_a_shape_lays_written_numbers_out_anew_and_a_dtype_is_chosen(hands: Hands) -> None:
    hands.write("Shape of x", "3, 2")
    expect(hands.code(1)).to_have_text("x = T.tensor([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]])")
    expect(hands.root.get_by_label("x[2, 1]", exact=True)).to_have_value("2")
    hands.raises("must match")
    hands.choose("dtype of w", "int64")
    expect(hands.code(2)).to_contain_text("dtype=T.int64")
    hands.raises("floating point")


def test_an_invalid_shape_changes_nothing(hands: Hands) -> None:
    hands.write("Shape of o", "two")
    expect(hands.root.get_by_label("Shape of o", exact=True)).to_have_value("2")
    expect(hands.code(6)).to_have_text("o = T.ones(2, requires_grad=True)")


def test_pytorch_has_its_own_default_dtype(hands: Hands) -> None:
    hands.choose("Default dtype of PyTorch", "float64")
    expect(hands.row("w").last).to_have_text("≠")
    differs = hands.root.locator(".tgv-table tbody .tgv-differs span").first
    expect(differs).to_have_attribute("aria-label", re.compile("float32 and float64"))
    hands.choose("Default dtype of PyTorch", "float32")
    expect(hands.row("w").last).to_have_text("✓")


def test_volatile_stops_the_core_and_pytorch_warns(hands: Hands) -> None:
    hands.press(1, "volatile")
    expect(hands.code(1)).to_have_text("x = T.autograd.Variable(T.tensor([[1.0, 2.0], [3.0, 4.0]]), volatile=True)")
    expect(hands.errors).to_have_count(1)
    expect(hands.errors).to_contain_text("line 9, tinygrad_edu")
    expect(hands.errors).to_contain_text("does not require grad")
    expect(hands.badge).to_contain_text("differs")
    expect(hands.sides.nth(1)).to_contain_text("volatile was removed")


def test_any_number_of_backwards(hands: Hands) -> None:
    hands.press(9, "retain_graph")
    hands.write("Number of backward calls", "3")
    hands.agrees("w", "[6, 12]", "[6, 12]", "✓")
    hands.press(9, "clear .grad between")
    hands.agrees("w", "[2, 4]", "[2, 4]", "✓")


@pytest.mark.parametrize(
    ("width", "height"), [(1366, 768), pytest.param(1920, 1080, marks=pytest.mark.long)], ids=["laptop", "desktop"]
)
def test_the_whole_explorer_is_on_the_screen(desk: Any, width: int, height: int) -> None:
    line = "x = T.tensor(2.0)\\nw = T.tensor(0.3, requires_grad=True)\\nd = w * x + 1\\nL = (d - x) ** 2\\nL.backward()"
    notebook = desk.open(desk.write("small.ipynb", f"import viz\nviz.explore('{line}')"), width=width, height=height)
    notebook.run_all()
    small = Hands(notebook)
    small.sides.first.locator("svg .node").first.wait_for()

    def measured() -> tuple[bool, bool, bool]:
        """Whether the explorer is low enough, program and stage are side by side, and anything scrolls sideways."""
        listing, stage = (small.root.locator(name).bounding_box() for name in (".tgv-listing", ".tgv-theatre"))
        low = small.root.bounding_box()["height"] <= (620 if height == 768 else 860)
        sideways = small.root.evaluate("root => root.scrollWidth > root.clientWidth")
        return low, listing["x"] + listing["width"] <= stage["x"] + 1, sideways

    eventually(measured, (True, True, False))
    for line, name in ((1, "requires_grad"), (5, "retain_graph")):
        small.press(line, name)
    changes = small.root.get_by_label("Go back to before a change")
    expect(changes.locator("option").first).to_have_text("2 changes")
    cut = """select => {
      const whole = select.cloneNode(); // of the same length, it would show what it says
      whole.append(select.options[0].cloneNode(true));
      whole.style.cssText = "flex: none; width: auto";
      select.after(whole);
      const missing = whole.offsetWidth - select.offsetWidth;
      whole.remove();
      return missing > 0;
    }"""
    assert not changes.evaluate(cut)


def test_a_layer_of_ones_own_network_is_frozen_and_thawed(desk: Any) -> None:
    cell = """\
import torch, viz
model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
data = torch.ones(4, 2)
def step():
    loss = model(data).pow(2).mean()
    loss.backward()
viz.explore(step)"""
    notebook = desk.open(desk.write("own.ipynb", cell))
    notebook.run_all()
    root = notebook.page.locator(".tgv-explorer")
    pill = root.locator(".tgv-pill").filter(has_text="freeze [0]")
    expect(pill).to_have_attribute("aria-pressed", "false")
    boxes = root.locator(".tgv-network [data-key]")
    before = boxes.evaluate_all("boxes => boxes.map((box) => box.getAttribute('aria-label'))")
    pill.click()
    expect(root.locator(".tgv-account")).to_contain_text("model.0 is frozen")
    expect(root.locator(".tgv-added")).to_have_text("model[0].requires_grad_(False)")
    expect(root.locator(".tgv-network [data-key]").filter(has_text="frozen").first).to_be_visible()
    pill.click()
    expect(root.locator(".tgv-account")).to_contain_text("model.0 learns")
    expect(root.locator(".tgv-network [data-key]").filter(has_text="frozen")).to_have_count(0)
    assert boxes.evaluate_all("boxes => boxes.map((box) => box.getAttribute('aria-label'))") == before
