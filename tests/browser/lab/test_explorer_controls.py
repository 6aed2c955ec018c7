"""Each control of the explorer in real JupyterLab: the test uses it as a student does, and both engines answer."""

from __future__ import annotations

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


def test_a_matrix_is_a_table_of_fields(hands: Hands) -> None:
    hands.write("x[1, 0]", "5")
    expect(hands.code(1)).to_have_text("x = T.tensor([[1.0, 2.0], [5.0, 4.0]])")
    hands.agrees("w", "[2, 4]", "[2, 4]", "✓")


def test_a_vector_is_a_row_of_fields(hands: Hands) -> None:
    hands.write("w[0]", "2.5")
    expect(hands.code(2)).to_contain_text("T.tensor([2.5, -1.0]")
    hands.agrees("o", "[1, 0]", "[1, 0]", "✓")


def test_a_vector_of_booleans_is_a_row_of_switches(hands: Hands) -> None:
    hands.press(3, "m[1]")
    expect(hands.code(3)).to_have_text("m = T.tensor([True, True])")
    hands.agrees("w", "[8, 12]", "[8, 12]", "✓")


def test_a_boolean_is_a_switch(hands: Hands) -> None:
    hands.press(4, "Value of f")
    expect(hands.code(4)).to_have_text("f = T.tensor(False)")
    hands.agrees("w", "[0, 0]", "[0, 0]", "✓")


def test_a_whole_number_stays_whole(hands: Hands) -> None:
    hands.write("Value of n, as a number", "3.4")
    expect(hands.code(5)).to_have_text("n = T.tensor(3)")
    hands.agrees("w", "[3, 6]", "[3, 6]", "✓")


def test_a_shape_lays_written_numbers_out_anew(hands: Hands) -> None:
    hands.write("Shape of x", "3, 2")
    expect(hands.code(1)).to_have_text("x = T.tensor([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]])")
    expect(hands.root.get_by_label("x[2, 1]", exact=True)).to_have_value("2")
    hands.raises("must match")


def test_a_shape_is_told_to_a_factory(hands: Hands) -> None:
    hands.write("Shape of o", "2, 2")
    expect(hands.code(6)).to_have_text("o = T.ones((2, 2), requires_grad=True)")
    expect(hands.row("o").last).to_have_text("✓")
    expect(hands.account).to_contain_text("o has the shape (2, 2)")


def test_an_invalid_shape_changes_nothing(hands: Hands) -> None:
    hands.write("Shape of o", "two")
    expect(hands.root.get_by_label("Shape of o", exact=True)).to_have_value("2")
    expect(hands.code(6)).to_have_text("o = T.ones(2, requires_grad=True)")


def test_a_dtype_is_set_per_input(hands: Hands) -> None:
    hands.choose("dtype of w", "int64")
    expect(hands.code(2)).to_contain_text("dtype=T.int64")
    hands.raises("floating point")


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


def test_inference_mode_on_a_line(hands: Hands) -> None:
    hands.press(7, "inference_mode")
    expect(hands.row("h").first).to_have_text("None: requires no grad")
    expect(hands.account).to_contain_text("Line 7 now runs under inference_mode")


def test_a_hook_that_prints(hands: Hands) -> None:
    hands.press(7, "hook print")
    for side in (0, 1):
        expect(hands.sides.nth(side)).to_contain_text("tensor([2., 2.])")


def test_any_number_of_backwards(hands: Hands) -> None:
    hands.press(9, "retain_graph")
    hands.write("Number of backward calls", "3")
    hands.agrees("w", "[6, 12]", "[6, 12]", "✓")
    hands.press(9, "clear .grad between")
    hands.agrees("w", "[2, 4]", "[2, 4]", "✓")


def test_create_graph_records_the_pass(hands: Hands) -> None:
    hands.press(9, "create_graph")
    expect(hands.account).to_contain_text("The backward pass is itself recorded")
    expect(hands.row("w").last).to_have_text("✓")


def test_anomaly_mode_goes_around_the_program(hands: Hands) -> None:
    hands.press(9, "anomaly mode")
    expect(hands.account).to_contain_text("Anomaly mode is on")
    hands.code_box(opened=True)
    expect(hands.result_code).to_contain_text("detect_anomaly()")


def test_the_undo_list_goes_back_to_before_a_change(hands: Hands) -> None:
    hands.press(7, "retain_grad")
    hands.press(8, "no_grad")
    hands.press(7, "detach")
    for place, text in enumerate(("detach h, line 7", "no_grad, line 8", "retain_grad of h, line 7"), start=1):
        expect(hands.undo_list.locator("option").nth(place)).to_have_text(f"before: {text}")
    hands.choose("Go back to before a change", "2")
    state = "print(explorer.state.get('retain_grad'), explorer.state.get('no_grad'))"
    eventually(lambda: hands.notebook.python(state).strip(), "['h'] None")


def test_the_table_needs_no_sideways_scrolling(hands: Hands) -> None:
    table = hands.root.locator(".tgv-table-box")
    eventually(lambda: table.evaluate("box => box.scrollWidth <= box.clientWidth"), True)


def test_a_value_of_several_lines_has_separate_toggles_on_each(desk: Any) -> None:
    program = "w = T.tensor(2.0, requires_grad=True)\\nh = w * 3; h = h * w\\nh.backward()"
    notebook = desk.open(desk.write("lines.ipynb", f"import viz\nviz.explore('{program}')"))
    notebook.run_all()
    hands = Hands(notebook)
    hands.split(True)
    hands.press(2, "detach")
    expect(hands.menu(2).get_by_role("button", name="detach")).to_have_attribute("aria-pressed", "true")
    expect(hands.menu(3).get_by_role("button", name="detach")).to_have_attribute("aria-pressed", "false")
    expect(hands.account).to_contain_text("h of line 2 is now cut off from its history")
    hands.agrees("w", "6", "6", "✓")


@pytest.mark.parametrize(("width", "height"), [(1366, 768), (1920, 1080)])
def test_the_whole_explorer_is_on_the_screen(hands: Hands, desk: Any, width: int, height: int) -> None:
    line = "x = T.tensor(2.0)\\nw = T.tensor(0.3, requires_grad=True)\\nd = w * x + 1\\nL = (d - x) ** 2\\nL.backward()"
    notebook = desk.open(desk.write("small.ipynb", f"import viz\nviz.explore('{line}')"), width=width, height=height)
    notebook.run_all()
    small = Hands(notebook)
    small.sides.first.locator("svg .node").first.wait_for()

    def measured() -> tuple[bool, bool, bool]:
        """Whether the explorer is low enough, program and stage are side by side, and anything scrolls sideways."""
        box = small.root.bounding_box()
        listing, stage = (small.root.locator(name).bounding_box() for name in (".tgv-listing", ".tgv-theatre"))
        sideways = small.root.evaluate("root => root.scrollWidth > root.clientWidth")
        return (
            box["height"] <= (620 if height == 768 else 860),
            listing["x"] + listing["width"] <= stage["x"] + 1,
            sideways,
        )

    eventually(measured, (True, True, False))
