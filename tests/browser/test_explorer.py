"""The explorer in real JupyterLab: each toggle is clicked, and the graph, the table and the sentence answer."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from playwright.sync_api import expect

PROGRAM = """\
x = T.tensor(2.0)
y = T.tensor(1.0)
w = T.tensor(0.3, requires_grad=True)
b = T.tensor(0.1, requires_grad=True)
d = w * x + b
L = (d - y) ** 2
L.backward()"""

CELL = f"import viz\nexplorer = viz.explore('''{PROGRAM}''')\nexplorer"


@pytest.fixture(scope="module")
def notebook(desk: Any) -> Any:
    opened = desk.open(
        desk.write("explorer.ipynb", CELL, "other = viz.explore('u = T.tensor(3.0)\\nv = u * u')\nother")
    )
    opened.run_all()
    opened.page.locator(".tgv-explorer svg .node").first.wait_for()
    return opened


class Hands:
    """What a student does with an explorer, and sees."""

    def __init__(self, notebook: Any):
        self.notebook = notebook
        self.page = notebook.page
        self.root = notebook.page.locator(".tgv-explorer").first

    def settled(self) -> None:
        """Wait until the answer to the last change is drawn."""
        self.page.wait_for_function(
            """() => {
                const explorer = document.querySelector(".tgv-explorer");
                return explorer && explorer.getAttribute("aria-busy") !== "true";
            }"""
        )

    def press(self, line: int, toggle: str) -> None:
        row = self.root.locator(".tgv-program li").nth(line - 1)
        row.get_by_role("button", name=toggle).click()
        self.settled()

    def button(self, name: str) -> None:
        self.root.get_by_role("button", name=name, exact=True).click()
        self.settled()

    def recorded(self, side: int) -> int:
        """How many ops the picture of a side shows as recorded."""
        return int(self.root.locator(".tgv-side").nth(side).locator("svg .node.op").count())

    def unrecorded(self, side: int) -> int:
        return int(self.root.locator(".tgv-side").nth(side).locator("svg .node.unrecorded").count())

    def grads(self, name: str) -> list[str]:
        """The cells of a tensor's row, behind its value."""
        row = self.root.locator(".tgv-table tbody tr", has=self.page.locator(f'th:text-is("{name}")'))
        return list(row.locator("td").all_inner_texts())[1:]

    def account(self) -> str:
        return str(self.root.locator(".tgv-account").inner_text())


@pytest.fixture
def hands(notebook: Any) -> Any:
    notebook.cell(0)
    hands = Hands(notebook)
    yield hands
    if hands.root.get_by_role("button", name="reset").get_attribute("aria-disabled") == "false":
        hands.button("reset")


def test_both_engines_start_in_agreement(hands: Hands) -> None:
    assert hands.recorded(0) == hands.recorded(1) == 4
    assert hands.grads("w") == ["−1.2", "−1.2", "✓"]
    assert hands.grads("d") == ["None: not a leaf, not kept", "✓"]


def test_no_grad_takes_the_nodes_out_of_both_graphs(hands: Hands) -> None:
    hands.press(5, "no_grad")
    assert [hands.recorded(0), hands.recorded(1)] == [0, 0]
    assert [hands.unrecorded(0), hands.unrecorded(1)] == [4, 4]
    assert "line 5 now runs under no_grad" in hands.account().lower()
    errors = hands.root.locator(".tgv-error")
    assert errors.count() == 2
    assert "RuntimeError" in errors.first.inner_text()
    assert "No graph hangs on this tensor" in errors.first.inner_text()
    hands.press(5, "no_grad")
    assert [hands.recorded(0), hands.recorded(1)] == [4, 4]
    assert errors.count() == 0


def test_requires_grad_off_leaves_a_leaf_without_a_gradient(hands: Hands) -> None:
    hands.press(3, "requires_grad")
    assert hands.grads("w") == ["None: requires no grad", "✓"]
    assert hands.grads("b") == ["−0.6", "−0.6", "✓"]
    assert "requires_grad=False" in hands.root.locator(".tgv-program li").nth(2).inner_text()


def test_requires_grad_on_gives_an_input_its_gradient(hands: Hands) -> None:
    hands.press(1, "requires_grad")
    assert hands.grads("x") == ["−0.18", "−0.18", "✓"]


def test_retain_grad_keeps_what_flowed_through(hands: Hands) -> None:
    hands.press(5, "retain_grad")
    assert hands.grads("d") == ["−0.6", "−0.6", "✓"]
    assert "d.grad is now kept" in hands.account()


def test_a_second_backward_raises_unless_the_graph_is_kept(hands: Hands) -> None:
    hands.press(7, "call it twice")
    error = hands.root.locator(".tgv-error").first
    assert "retain_graph=True" in error.inner_text()
    hands.button("keep the graph: retain_graph=True")
    assert hands.root.locator(".tgv-error").count() == 0
    assert hands.grads("w") == ["−2.4", "−2.4", "✓"]
    pressed = hands.root.locator(".tgv-program li").nth(6).get_by_role("button", name="retain_graph")
    assert pressed.get_attribute("aria-pressed") == "true"
    assert "the error is gone" in hands.account()


def test_a_device_that_is_not_there_is_greyed_out_with_the_reason(hands: Hands) -> None:
    choice = hands.root.get_by_role("group", name="Device of PyTorch").get_by_role("button").nth(1)
    devices = hands.notebook.python("print(explorer.program['devices']['cuda'])").strip()
    if not devices:
        choice.click()
        hands.settled()
        assert "GPU" in hands.root.locator(".tgv-side-title").nth(1).inner_text()
        return
    assert choice.get_attribute("aria-disabled") == "true"
    assert devices in hands.root.locator(".tgv-side-title").nth(1).inner_text()
    choice.click(force=True)
    assert hands.notebook.python("print(explorer.state.get('device', 'cpu'))").strip() == "cpu"


def test_a_slider_sets_a_value_and_the_code_shows_it(hands: Hands) -> None:
    slider = hands.root.get_by_role("slider", name="Value of w", exact=True)
    slider.fill("1")
    slider.dispatch_event("change")
    hands.settled()
    assert "T.tensor(1.0" in hands.root.locator(".tgv-program li").nth(2).inner_text()
    assert hands.grads("w") == ["4.4", "4.4", "✓"]


def test_rare_toggles_wait_behind_one_button(hands: Hands) -> None:
    row = hands.root.locator(".tgv-program li").nth(4)
    assert row.get_by_role("button", name="detach").count() == 0
    hands.root.get_by_role("button", name="more toggles").click()
    hands.press(5, "hook ×2")
    assert hands.grads("w") == ["−2.4", "−2.4", "✓"]
    hands.press(5, "hook ×2")
    hands.press(5, "detach")
    assert hands.grads("w")[0] == "None: no gradient has come"
    hands.root.get_by_role("button", name="more toggles").click()
    assert row.get_by_role("button", name="detach").count() == 1, "a toggle that is on stays in sight"


def test_undo_goes_back_one_change_at_a_time(hands: Hands) -> None:
    hands.press(5, "retain_grad")
    hands.press(6, "retain_grad")
    hands.button("undo")
    assert hands.grads("L")[0] == "None: not a leaf, not kept"
    assert hands.grads("d")[0] == "−0.6"
    hands.button("undo")
    assert hands.grads("d")[0] == "None: not a leaf, not kept"


def test_the_code_behind_the_toggles_is_there_to_copy(hands: Hands) -> None:
    hands.press(5, "no_grad")
    hands.root.locator("summary", has_text="The code these toggles stand for").click()
    code = hands.root.locator(".tgv-result-code")
    expect(code).to_contain_text("with T.no_grad():")  # it is written when the part is opened, a moment later
    assert "with T.no_grad():\n    d = w * x + b\n" in code.inner_text()
    hands.root.get_by_label("Engine of the code").select_option("torch")
    expect(code).to_contain_text("import torch")
    text = code.inner_text().replace("\u200b", "")
    assert text.startswith("import torch\n\nx = torch.tensor(2.0)\n")
    error = hands.notebook.python(f"try:\n    exec({text!r})\nexcept RuntimeError as e:\n    print(e)")
    assert "does not require grad" in error
    hands.root.get_by_label("Engine of the code").select_option("T")
    hands.root.locator("summary", has_text="The code these toggles stand for").click()


def test_a_saved_notebook_keeps_the_picture_of_the_last_change(hands: Hands) -> None:
    hands.press(5, "no_grad")
    hands.page.wait_for_timeout(1500)
    hands.notebook.save()
    stills = [
        "".join(output["data"]["text/html"])
        for output in json.loads(hands.notebook.path.read_text())["cells"][0]["outputs"]
        if "text/html" in output["data"]
    ]
    assert len(stills) == 1
    assert "Line 5 now runs under no_grad" in stills[0]
    picture = base64.b64decode(stills[0].partition("base64,")[2].partition('"')[0]).decode()
    assert "not recorded" in picture


def test_both_pictures_step_together(hands: Hands) -> None:
    hands.root.focus()
    hands.page.keyboard.press("Home")
    texts = [hands.root.locator(".tgv-frame svg").nth(side).text_content() for side in (0, 1)]
    assert all("−1.2" not in text for text in texts)
    hands.page.keyboard.press("End")
    texts = [hands.root.locator(".tgv-frame svg").nth(side).text_content() for side in (0, 1)]
    assert all("−1.2" in text for text in texts)


def test_what_did_not_change_stays_where_it_was(hands: Hands) -> None:
    places = """explorer => [...explorer.querySelectorAll(".tgv-side svg .node")].map(
        e => { const r = e.getBoundingClientRect(); return [Math.round(r.x), Math.round(r.width)]; })"""
    hands.root.focus()
    before = hands.root.evaluate(places)
    hands.press(7, "retain_graph")
    assert hands.root.evaluate(places) == before


def test_two_explorers_do_not_disturb_each_other(hands: Hands) -> None:
    other = hands.page.locator(".tgv-explorer").nth(1)
    before = other.inner_text()
    hands.press(5, "no_grad")
    assert other.inner_text() == before


def test_the_state_is_a_trait_that_python_reads_and_sets(hands: Hands) -> None:
    hands.press(5, "retain_grad")
    assert hands.notebook.python("print(explorer.state['retain_grad'])").strip() == "['d']"
    hands.notebook.python("explorer.state = {'no_grad': [6]}")
    hands.page.wait_for_function("document.querySelector('.tgv-explorer .tgv-error')")
    pressed = hands.root.locator(".tgv-program li").nth(5).get_by_role("button", name="no_grad")
    assert pressed.get_attribute("aria-pressed") == "true"


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_axe_finds_nothing_to_complain_of(hands: Hands, theme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    hands.notebook.theme(theme)
    hands.press(7, "call it twice")
    hands.page.wait_for_timeout(400)
    violations = axe.run(hands.page, context=".tgv-explorer").response["violations"]
    hands.notebook.theme("JupyterLab Light")
    assert [(v["id"], [n["html"][:200] for n in v["nodes"]]) for v in violations] == []


@pytest.mark.parametrize("body", ["pass", 'print("x" * 1_000_000)'], ids=["loops for ever", "prints without end"])
def test_a_program_that_never_ends_is_interrupted_and_the_toggles_go_on(desk: Any, body: str) -> None:
    cell = f"import viz\nviz.explore('a = T.tensor(1.0)\\nwhile a.item() > 1.5: {body}\\nc = a * a')"
    notebook = desk.open(desk.write("loop.ipynb", cell))
    notebook.run_all()
    hands = Hands(notebook)
    hands.root.locator("svg .node").first.wait_for()
    slider = hands.root.get_by_role("slider", name="Value of a", exact=True)
    slider.fill("2")
    slider.dispatch_event("change")
    hands.page.wait_for_function("document.querySelector('.tgv-account').textContent.includes('Kernel > Interrupt')")
    notebook.interrupt()
    hands.settled()
    assert "stopped" in hands.account()
    slider.fill("1.2")
    slider.dispatch_event("change")
    hands.settled()
    hands.page.wait_for_function("document.querySelector('.tgv-table tbody td').textContent === '1.2'")


def test_a_restarted_kernel_leaves_a_picture_and_a_sentence(desk: Any) -> None:
    notebook = desk.open(desk.write("restart.ipynb", "import viz\nviz.explore('a = T.tensor(1.0)\\nc = a * a')"))
    notebook.run_all()
    notebook.page.locator(".tgv-explorer svg .node").first.wait_for()
    still = notebook.page.locator(".tgv-fallback")
    assert still.is_hidden()
    notebook.page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    notebook.page.wait_for_timeout(3000)
    alive = notebook.page.locator(".tgv-explorer").count() and notebook.page.locator(".tgv-explorer").is_visible()
    assert alive or (still.is_visible() and "Run the cell" in still.inner_text())
    if alive:
        notebook.page.locator(".tgv-pill").first.click()
        account = notebook.page.locator(".tgv-account")
        notebook.page.wait_for_function("document.querySelector('.tgv-account').textContent.includes('run this cell')")
        assert "If no kernel runs" in account.inner_text()
