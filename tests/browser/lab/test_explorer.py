"""The explorer in real JupyterLab: each toggle is clicked, and the graph, the table and the sentence answer."""

import base64
import json
import re
from typing import Any

import pytest
from playwright.sync_api import TimeoutError, expect
from support.hands import Hands
from support.harness import complaints, eventually
from support.stage_programs import LINE

pytestmark = pytest.mark.outer(start=3)
CELL = f"import viz\nexplorer = viz.explore('''{LINE}''')\nexplorer"


@pytest.fixture(scope="module")
def notebook(desk: Any) -> Any:
    other = "other = viz.explore('u = T.tensor(3.0)\\nv = u * u')\nother"
    opened = desk.open(desk.write("explorer.ipynb", CELL, other))
    opened.run_all()
    opened.page.locator(".tgv-explorer svg .node").first.wait_for()
    return opened


def test_no_grad_takes_the_nodes_out_of_both_graphs_and_disturbs_no_other_explorer(hands: Hands) -> None:
    other = Hands(hands.notebook, number=1).root
    before = other.text_content()
    hands.counts(recorded=4)
    hands.agrees("w", "−1.2", "−1.2", "✓")
    hands.press(5, "no_grad")
    hands.counts(recorded=0, unrecorded=4)
    expect(hands.account).to_contain_text("line 5 now runs under no_grad", ignore_case=True)
    hands.raises("RuntimeError", "This tensor has no graph")
    expect(hands.code(5)).to_have_text("with T.no_grad():    d = w * x + b")
    hands.press(5, "no_grad")
    hands.counts(recorded=4)
    expect(hands.errors).to_have_count(0)
    assert other.text_content() == before


def test_a_second_backward_raises_unless_the_graph_is_kept(hands: Hands) -> None:
    hands.press(7, "call it twice")
    hands.raises("retain_graph=True")
    expect(hands.code(7)).to_have_text("L.backward()L.backward()")
    line = "([row]) => [row, row.parentElement].map((each) => each.getBoundingClientRect())"
    row, listing = hands.line(7).evaluate_all(line)
    assert listing["top"] <= row["top"] < row["bottom"] <= listing["bottom"] + 1, "the line that failed is in sight"
    hands.button("keep the graph: retain_graph=True")
    expect(hands.errors).to_have_count(0)
    hands.agrees("w", "−2.4", "−2.4", "✓")
    expect(hands.line(7).get_by_role("button", name="retain_graph")).to_have_attribute("aria-pressed", "true")
    expect(hands.account).to_contain_text("the error is gone")


def test_an_unavailable_device_is_greyed_out_with_the_reason(hands: Hands) -> None:
    choice = hands.root.get_by_role("group", name="Device of PyTorch").get_by_role("button").nth(1)
    title = hands.root.locator(".tgv-side-title").nth(1)
    reason = hands.notebook.python("print(explorer.program['devices']['cuda'])").strip()
    if not reason:
        choice.click()
        expect(title).to_contain_text("GPU")
        return
    expect(choice).to_have_attribute("aria-disabled", "true")
    expect(title).to_contain_text(reason)
    choice.click(force=True)
    hands.settled()
    assert hands.notebook.python("print(explorer.state.get('device', 'cpu'))").strip() == "cpu"


def test_a_slider_sets_a_value_and_the_code_shows_it(hands: Hands) -> None:
    hands.write("Value of w", "1")
    expect(hands.code(3)).to_contain_text("T.tensor(1.0")
    hands.agrees("w", "4.4", "4.4", "✓")


def test_rare_switches_wait_in_the_menu_of_their_line(hands: Hands) -> None:
    expect(hands.root.get_by_role("button", name="detach")).to_have_count(0)
    hands.press(5, "hook ×2")
    hands.agrees("w", "−2.4", "−2.4", "✓")
    hands.press(5, "hook ×2")
    hands.press(5, "detach")
    expect(hands.row("w").first).to_have_text("None: no gradient has arrived")
    hands.menu(5).press("Escape")
    more = hands.line(5).get_by_role("button", name="More switches of line 5, 1 on")
    expect(more, "a switch that is on stays in sight").to_be_focused()
    expect(hands.code(5)).to_have_text("d = w * x + bd = d.detach()")


def test_undo_goes_back_one_change_at_a_time_or_to_before_one(hands: Hands) -> None:
    hands.press(5, "retain_grad")
    hands.press(6, "retain_grad")
    hands.button("undo")
    expect(hands.row("L").first).to_have_text("None: not a leaf, no retain_grad()")
    expect(hands.row("d").first).to_have_text("−0.6")
    hands.button("undo")
    expect(hands.row("d").first).to_have_text("None: not a leaf, no retain_grad()")
    hands.button("redo")
    expect(hands.row("d").first).to_have_text("−0.6")
    hands.root.press("Control+z")
    expect(hands.row("d").first).to_have_text("None: not a leaf, no retain_grad()")
    hands.press(5, "retain_grad")
    hands.press(6, "no_grad")
    hands.press(5, "detach")
    for place, text in enumerate(("detach of d, line 5", "no_grad, line 6", "retain_grad of d, line 5"), start=1):
        expect(hands.undo_list.locator("option").nth(place)).to_have_text(f"before: {text}")
    hands.choose("Go back to before a change", "2")
    state = "print(explorer.state.get('retain_grad'), explorer.state.get('no_grad'))"
    eventually(lambda: hands.notebook.python(state).strip(), "['d'] None")


def test_the_code_is_there_to_copy(hands: Hands) -> None:
    engine = hands.root.get_by_label("Engine of the code")
    hands.press(5, "no_grad")
    hands.code_box(opened=True)
    engine.select_option("T")
    expect(hands.result_code).to_contain_text("with T.no_grad():")
    engine.select_option("torch")
    expect(hands.result_code).to_contain_text("import torch")
    text = hands.result_code.inner_text().replace("\u200b", "")
    assert text.startswith("import torch\n\nx = torch.tensor(2.0)\n")
    assert "with torch.no_grad():\n    d = w * x + b\n" in text
    error = hands.notebook.python(f"try:\n    exec({text!r})\nexcept RuntimeError as e:\n    print(e)")
    assert "does not require grad" in error


def test_a_saved_notebook_keeps_the_picture_of_the_last_change(hands: Hands) -> None:
    def kept() -> list[str]:
        """The still pictures in the file after it was saved again."""
        hands.notebook.save()
        outputs = json.loads(hands.notebook.path.read_text())["cells"][0]["outputs"]
        return ["".join(output["data"]["text/html"]) for output in outputs if "text/html" in output["data"]]

    hands.press(5, "no_grad")
    eventually(lambda: ["Line 5 now runs under no_grad" in still for still in kept()], [True])
    picture = base64.b64decode(kept()[0].partition("base64,")[2].partition('"')[0]).decode()
    assert "not recorded" in picture


def test_the_state_is_a_trait_that_python_reads_and_sets(hands: Hands) -> None:
    hands.press(5, "retain_grad")
    eventually(lambda: hands.notebook.python("print(explorer.state['retain_grad'])").strip(), "['d']")
    hands.notebook.python("explorer.state = {'no_grad': [6]}")
    hands.raises("RuntimeError")
    expect(hands.line(6).get_by_role("button", name="no_grad")).to_have_attribute("aria-pressed", "true")


def test_the_listing_is_edited_by_hand_and_a_syntax_error_keeps_the_graph(hands: Hands) -> None:
    hands.button("edit")
    expect(hands.editor).to_be_focused()
    hands.editor.fill(LINE.replace("w * x", "w * x * x").replace("d = ", "with T.no_grad():\n    d = "))
    expect(hands.account).to_contain_text("rewritten")
    hands.counts(recorded=0, unrecorded=5)
    hands.editor.fill(LINE.replace("w * x", "w *(x"))
    expect(hands.account).to_contain_text("this is not Python")
    expect(hands.root.locator(".tgv-copy .tgv-failed")).to_have_text("d = w *(x + b")
    hands.counts(recorded=0, unrecorded=5)
    expect(hands.badge).to_contain_text("not run yet")
    hands.editor.fill(LINE.replace("w * x", "w * x * x"))
    hands.counts(recorded=5)
    expect(hands.badge).to_contain_text("agrees")
    hands.editor.press("Escape")
    expect(hands.code(5)).to_have_text("d = w * x * x + b")
    hands.press(5, "no_grad")
    hands.counts(recorded=0, unrecorded=5)
    hands.button("undo")
    hands.counts(recorded=5)
    hands.button("reset")
    expect(hands.account).to_contain_text("The program is as it was written")
    assert hands.listed() == LINE


def test_any_number_of_the_code_is_dragged_and_the_sentence_looks_back_to_where_it_began(hands: Hands) -> None:
    changes = hands.undo_list.locator("option").count()
    box = hands.line(6).locator(".tgv-drag").bounding_box()
    hands.page.mouse.move(box["x"] + 3, box["y"] + 5)
    hands.page.mouse.down()
    hands.page.mouse.move(box["x"] + 5, box["y"] + 5)
    hands.page.mouse.move(box["x"] + 7, box["y"] + 5)
    hands.page.mouse.up()
    hands.settled()
    expect(hands.code(6)).to_have_text("L = (d - y) ** 4")
    expect(hands.account).to_contain_text("w.grad = −0.108 × 2 = −0.216 (was −1.2)")
    expect(hands.undo_list.locator("option"), "a drag is one change").to_have_count(changes + 1)
    slider = hands.root.get_by_label("Number 1 in line 6", exact=True)
    slider.press("ArrowLeft")
    expect(hands.code(6)).to_have_text("L = (d - y) ** 3")
    expect(slider).to_be_focused()
    expect(hands.root.get_by_label("Value of x", exact=True)).to_have_attribute("step", "0.05")


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_axe_finds_nothing_to_complain_of(hands: Hands, theme: str) -> None:
    hands.press(7, "call it twice")
    with hands.notebook.themed(theme):
        assert complaints(hands.page, ".tgv-explorer") == []


def test_a_click_on_a_node_opens_its_numbers_and_they_follow_a_change(hands: Hands) -> None:
    hands.split(False)
    hands.root.locator("svg .node.leaf", has_text="w").first.click()
    sheet = hands.root.get_by_role("group", name="Numbers", exact=True)
    expect(sheet).to_contain_text("∂/∂w = −0.6 × 2 = −1.2")
    hands.write("Value of w", "0.6")
    expect(sheet).to_contain_text("∂/∂w = 0.6 × 2 = 1.2")
    expect(hands.root.locator(".tgv-lit .tgv-plate").first).to_be_visible()
    sheet.get_by_role("button", name="0.6").click()
    expect(sheet).to_contain_text("no op made it")
    leaf = hands.root.locator("svg .node.leaf", has_text="w").first
    leaf.press("Escape")
    expect(sheet).to_be_hidden()
    expect(leaf).to_have_attribute("aria-label", re.compile(r"\.grad 2\.4|\.grad 1\.2"))


def test_a_program_that_never_ends_is_stopped_from_the_explorer_and_reset_works(desk: Any) -> None:
    cell = "import viz\nviz.explore('a = T.tensor(1.0)\\nwhile a.item() > 1.5: pass\\nc = a * a')"
    notebook = desk.open(desk.write("stopped.ipynb", cell))
    notebook.run_all()
    hands = Hands(notebook)
    hands.root.locator("svg .node").first.wait_for()
    hands.root.get_by_role("slider", name="Value of a", exact=True).fill("2")
    expect(hands.account).to_contain_text("Kernel > Interrupt")
    stop = hands.root.get_by_role("button", name="stop", exact=True)
    eventually(lambda: stopped(hands, stop), True)
    expect(hands.account).to_contain_text("stopped")
    hands.button("reset")
    expect(hands.root.locator(".tgv-table tbody td").first).to_have_text("1")


def stopped(hands: Hands, stop: Any) -> bool:
    """Press stop; whether the explorer was answered within some seconds."""
    if stop.count():
        stop.click()
    try:
        hands.settled(timeout=10_000)
    except TimeoutError:
        return False
    return True
