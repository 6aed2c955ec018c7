"""Each control of the explorer in real JupyterLab: it is worked as a student does, and both engines answer."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

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


class Controls:
    """An explorer whose every control is shown."""

    def __init__(self, notebook: Any):
        self.notebook = notebook
        self.page = notebook.page
        self.root = notebook.page.locator(".tgv-explorer").first

    def settled(self) -> None:
        self.page.wait_for_function("document.querySelector('.tgv-explorer')?.getAttribute('aria-busy') !== 'true'")

    def line(self, number: int) -> Any:
        return self.root.locator(".tgv-program li").nth(number - 1)

    def press(self, line: int, name: str) -> None:
        self.line(line).get_by_role("button", name=name).click()
        self.settled()

    def write(self, label: str, text: str) -> None:
        field = self.root.get_by_label(label, exact=True)
        field.fill(text)
        field.dispatch_event("change")
        self.settled()

    def choose(self, label: str, value: str) -> None:
        self.root.get_by_label(label, exact=True).select_option(value)
        self.settled()

    def code(self, line: int) -> str:
        return str(self.line(line).locator("code").inner_text())

    def row(self, name: str) -> list[str]:
        """Value, gradients and verdict of a tensor."""
        row = self.root.locator(".tgv-table tbody tr", has=self.page.locator(f'th:text-is("{name}")'))
        return list(row.locator("td").all_inner_texts())

    def account(self) -> str:
        return str(self.root.locator(".tgv-account").inner_text())

    def sides(self) -> list[str]:
        return list(self.root.locator(".tgv-side").all_inner_texts())


@pytest.fixture(scope="module")
def opened(desk: Any) -> Controls:
    cell = f"import viz\nexplorer = viz.explore('''{PROGRAM}''')\nexplorer"
    notebook = desk.open(desk.write("controls.ipynb", cell))
    notebook.run_all()
    controls = Controls(notebook)
    controls.root.locator("svg .node").first.wait_for()
    controls.root.get_by_role("button", name="more toggles").click()
    return controls


@pytest.fixture
def controls(opened: Controls) -> Any:
    yield opened
    reset = opened.root.get_by_role("button", name="reset")
    if reset.get_attribute("aria-disabled") == "false":
        reset.click()
        opened.settled()


def test_a_matrix_is_a_table_of_fields(controls: Controls) -> None:
    controls.write("x[1, 0]", "5")
    assert controls.code(1) == "x = T.tensor([[1.0, 2.0], [5.0, 4.0]])"
    assert controls.row("w")[1:] == ["[2, 4]", "[2, 4]", "✓"]


def test_a_vector_is_a_row_of_fields(controls: Controls) -> None:
    controls.write("w[0]", "2.5")
    assert "T.tensor([2.5, -1.0]" in controls.code(2)
    assert controls.row("o")[1] == "[1, 0]"


def test_a_vector_of_booleans_is_a_row_of_switches(controls: Controls) -> None:
    controls.press(3, "m[1]")
    assert controls.code(3) == "m = T.tensor([True, True])"
    assert controls.row("w")[1:] == ["[8, 12]", "[8, 12]", "✓"]


def test_a_boolean_is_a_switch(controls: Controls) -> None:
    controls.press(4, "Value of f")
    assert controls.code(4) == "f = T.tensor(False)"
    assert controls.row("w")[1:] == ["[0, 0]", "[0, 0]", "✓"]


def test_a_whole_number_stays_whole(controls: Controls) -> None:
    controls.write("Value of n, as a number", "3.4")
    assert controls.code(5) == "n = T.tensor(3)"
    assert controls.row("w")[1:] == ["[3, 6]", "[3, 6]", "✓"]


def test_a_shape_lays_written_numbers_out_anew(controls: Controls) -> None:
    controls.write("Shape of x", "3, 2")
    assert controls.code(1) == "x = T.tensor([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]])"
    assert controls.root.get_by_label("x[2, 1]", exact=True).input_value() == "2"
    assert "must match" in controls.sides()[0]
    assert "must match" in controls.sides()[1]


def test_a_shape_is_told_to_a_factory(controls: Controls) -> None:
    controls.write("Shape of o", "2, 2")
    assert controls.code(6) == "o = T.ones((2, 2), requires_grad=True)"
    assert controls.row("o")[-1] == "✓"
    assert "o has the shape (2, 2)" in controls.account()


def test_what_is_no_shape_changes_nothing(controls: Controls) -> None:
    controls.write("Shape of o", "two")
    assert controls.root.get_by_label("Shape of o", exact=True).input_value() == "2"
    assert controls.code(6) == "o = T.ones(2, requires_grad=True)"


def test_a_dtype_is_set_per_input(controls: Controls) -> None:
    controls.choose("dtype of w", "int64")
    assert "dtype=T.int64" in controls.code(2)
    assert all("floating point" in side for side in controls.sides())


def test_pytorch_has_a_default_dtype_of_its_own(controls: Controls) -> None:
    controls.choose("Default dtype of PyTorch", "float64")
    assert controls.row("w")[-1] == "≠"
    cell = controls.root.locator(".tgv-table tbody .tgv-differs span").first
    assert "float32 and float64" in cell.get_attribute("aria-label")
    controls.choose("Default dtype of PyTorch", "float32")
    assert controls.row("w")[-1] == "✓"


def test_volatile_stops_the_core_and_pytorch_warns(controls: Controls) -> None:
    controls.press(1, "volatile")
    assert controls.code(1) == "x = T.autograd.Variable(T.tensor([[1.0, 2.0], [3.0, 4.0]]), volatile=True)"
    assert "does not require grad" in controls.sides()[0]
    assert "volatile was removed" in controls.sides()[1]
    assert controls.root.locator(".tgv-side").nth(1).locator(".tgv-error").count() == 0


def test_inference_mode_on_a_line(controls: Controls) -> None:
    controls.press(7, "inference_mode")
    assert controls.row("h")[1] == "None: requires no grad"
    assert "Line 7 now runs under inference_mode" in controls.account()


def test_a_hook_that_prints(controls: Controls) -> None:
    controls.press(7, "hook print")
    assert all("tensor([2., 2.])" in side for side in controls.sides())


def test_any_number_of_backwards(controls: Controls) -> None:
    controls.press(9, "retain_graph")
    controls.write("Number of backward calls", "3")
    assert controls.row("w")[1:3] == ["[6, 12]", "[6, 12]"]
    controls.press(9, "clear .grad between")
    assert controls.row("w")[1:3] == ["[2, 4]", "[2, 4]"]


def test_create_graph_records_the_pass(controls: Controls) -> None:
    controls.press(9, "create_graph")
    assert "The backward pass is itself recorded" in controls.account()
    assert controls.row("w")[-1] == "✓"


def test_anomaly_mode_goes_around_the_program(controls: Controls) -> None:
    controls.press(9, "anomaly mode")
    assert "Anomaly mode is on" in controls.account()
    controls.root.locator("summary", has_text="The code these toggles stand for").click()
    expect(controls.root.locator(".tgv-result-code")).to_contain_text("detect_anomaly()")
    controls.root.locator("summary", has_text="The code these toggles stand for").click()


def test_the_undo_list_goes_back_to_before_a_change(controls: Controls) -> None:
    controls.press(7, "retain_grad")
    controls.press(8, "no_grad")
    controls.press(7, "detach")
    listed = controls.root.get_by_label("Go back to before a change")
    options = listed.locator("option").all_inner_texts()
    assert options[1:4] == ["before: detach h", "before: no_grad, line 8", "before: retain_grad of h"]
    listed.select_option("2")
    controls.settled()
    assert controls.notebook.python("print(explorer.state)").startswith("{'retain_grad': ['h']")


def test_both_pictures_begin_on_a_small_laptops_screen(controls: Controls, desk: Any) -> None:
    line = "x = T.tensor(2.0)\\nw = T.tensor(0.3, requires_grad=True)\\nd = w * x + 1\\nL = (d - x) ** 2\\nL.backward()"
    notebook = desk.open(desk.write("small.ipynb", f"import viz\nviz.explore('{line}')"), width=1366, height=768)
    notebook.run_all()
    root = notebook.page.locator(".tgv-explorer").first
    root.locator("svg .node").nth(1).wait_for()
    root.evaluate("explorer => explorer.scrollIntoView(true)")
    tops = [root.locator(".tgv-side").nth(side).bounding_box() for side in (0, 1)]
    assert tops[0]["y"] == tops[1]["y"]
    assert tops[1]["y"] + 250 < 768
