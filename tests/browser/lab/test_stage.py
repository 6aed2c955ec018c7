"""Every stage in real JupyterLab, on a laptop's screen and a large one: whole, readable, and no control moves.

The explorer shows all twenty programs on a laptop; a few stand for the other widgets and the large screen. `-m long`
has the rest.
"""

import functools
import random
from typing import Any

import pytest
from playwright.sync_api import expect
from support.harness import eventually, rest, uninvited
from support.stage_programs import HELD_OUT, PROGRAMS

pytestmark = pytest.mark.outer(start=3)
SIZES = {"laptop": (1366, 768), "desktop": (1920, 1080)}
WIDGETS = {"player": "viz.record({!r}).play()", "explorer": "viz.explore({!r})", "comparison": "viz.compare({!r})"}
STAND_FOR_ALL = {"attention", "inplace error"}  # a network as wide as the stage, and a program that fails
UNFOLDED = {"laptop": 18, "desktop": 19}  # of the twenty programs, in each view
HIGHEST = 620  # pixels of a widget on a laptop's screen
LEAST = 9.95  # pixels of a letter: 10, as the browser rounds it

# What is seen of the stage of a widget: labels outside of it, its smallest letters; the widget's height, what needs a
# scrollbar sideways.
SEEN = """root => {
    // A network is drawn by its modules, in a place of its own.
    const shown = [...root.querySelectorAll(".tgv-network, .tgv-frame")].find(one => one.offsetParent);
    const stage = shown.getBoundingClientRect();
    const texts = [...shown.querySelectorAll("svg text")]
        .filter(one => one.textContent.trim() && one.checkVisibility() && one.getBoundingClientRect().width);
    const outside = texts.filter(one => {
        const box = one.getBoundingClientRect();
        const over = [stage.left - box.left, box.right - stage.right, stage.top - box.top, box.bottom - stage.bottom];
        return Math.max(...over) > 0.5;
    });
    const size = one => one.getScreenCTM().a * parseFloat(getComputedStyle(one).fontSize);
    const wide = [root, root.closest(".jp-OutputArea")].filter(one => one.scrollWidth > one.clientWidth + 1);
    return {
        labels: texts.length,
        outside: outside.map(one => one.textContent),
        least: Math.min(...texts.map(size)),
        height: root.getBoundingClientRect().height,
        folds: shown.querySelectorAll("svg .fold").length,
        sideways: wide.map(one => one.className),
    };
}"""

# Where each control stands in its widget, whatever is scrolled.
PLACES = """root => Object.fromEntries([...root.querySelectorAll("button, input, select, summary")]
    .filter(one => one.offsetParent && !one.closest(".tgv-tip, .tgv-path, table"))
    .map((one, index) => {
        let [x, y] = [0, 0];
        const end = root.offsetParent;
        for (let at = one; at && at !== end; at = at.offsetParent) [x, y] = [x + at.offsetLeft, y + at.offsetTop];
        const name = one.getAttribute("aria-label") ?? one.textContent;
        const row = one.closest("li, [role=group]")?.getAttribute("aria-label") ?? one.closest("li")?.textContent;
        return [`${one.tagName} ${name} ${row}`, [x, y]];
    }))"""


class Bench:
    """One notebook whose only cell shows one widget after the other."""

    def __init__(self, desk: Any, size: str) -> None:
        width, height = SIZES[size]
        self.notebook = desk.open(desk.write(f"stage-{size}.ipynb", "import viz\nmake()"), width=width, height=height)
        self.page = self.notebook.page

    def show(self, widget: str, program: str) -> Any:
        """The widget, drawn."""
        self.page.evaluate("document.querySelectorAll('.tgv').forEach(one => { one.dataset.old = ''; })")
        make = WIDGETS[widget].format(program)
        self.notebook.python(f"import viz\nmake = lambda: {make}")
        self.notebook.run_all()
        root = self.page.locator(f".tgv-{widget}:not([data-old])").first
        root.locator(".tgv-stage svg text:visible").first.wait_for()
        self.page.wait_for_function("() => !document.querySelector('.tgv[aria-busy=true]')")
        rest(self.page, f".tgv-{widget}")
        return root


@pytest.fixture(scope="module", params=SIZES)
def bench(request: Any, desk: Any) -> Any:
    return Bench(desk, request.param), request.param


LONG = functools.partial(pytest.param, marks=pytest.mark.long)
laptop_and_long = pytest.mark.parametrize("bench", ["laptop", LONG("desktop")], indirect=True)


@laptop_and_long
@pytest.mark.parametrize("widget", ["player", "comparison"])  # of the explorer, the next test
@pytest.mark.parametrize("name", [name if name in STAND_FOR_ALL else LONG(name) for name in PROGRAMS])
def test_the_whole_graph_is_on_the_stage_and_can_be_read(bench: Any, widget: str, name: str) -> None:
    shown, size = bench
    root = shown.show(widget, PROGRAMS[name])
    for view in ("values", "grad_fn"):
        root.get_by_role("button", name=view, exact=True).click()
        rest(shown.page, f".tgv-{widget}")
        if view == "values":
            assert root.evaluate(SEEN)["labels"] > 0
        # An explorer draws once more, for the room that its stage turns out to have.
        eventually(lambda: root.evaluate(SEEN)["outside"], [])
        seen = root.evaluate(SEEN)
        if not seen["labels"]:
            continue  # a program without a graph has no nodes to show
        assert seen["least"] >= LEAST
        assert seen["sideways"] == []
        if size == "laptop":
            assert seen["height"] <= HIGHEST


@laptop_and_long
def test_the_explorer_shows_twenty_programs_whole_and_hardly_folds_one(bench: Any) -> None:
    shown, size = bench
    seen: dict[str, dict[str, Any]] = {"values": {}, "grad_fn": {}}
    for name, program in {**PROGRAMS, **HELD_OUT}.items():
        root = shown.show("explorer", program)
        for view, found in seen.items():
            root.get_by_role("button", name=view, exact=True).click()
            expect(root.locator(".tgv-network:visible")).to_have_count(0)  # a view that was hidden comes a moment later
            rest(shown.page, ".tgv-explorer")
            eventually(lambda: root.evaluate(SEEN)["outside"], [])  # noqa: B023
            found[name] = root.evaluate(SEEN)
    for found in seen.values():
        assert [name for name, one in found.items() if one["labels"] and one["least"] < LEAST] == []
        assert [name for name, one in found.items() if one["height"] > HIGHEST and size == "laptop"] == []
        folded = [name for name, one in found.items() if one["folds"]]
        assert len(found) - len(folded) >= UNFOLDED[size], folded


PRINTS = """\
x = T.randn(4, 3, requires_grad=True)
y = T.tensor([[0., 1., 0.], [1., 0., 0.], [0., 0., 1.], [0., 1., 0.]])
print(y.argmax(1).dtype, T.sort(y).indices.dtype, T.arange(2**33, 2**33 + 1))
T.nn.functional.cross_entropy(x, y.argmax(1)).backward()"""
CUT = """root => {
    const bottom = one => one.getBoundingClientRect().bottom;
    const rows = [...root.querySelectorAll(".tgv-listing li")];
    return rows.filter(row => bottom(row.querySelector(".tgv-slot")) > bottom(row) + 2).map(row => row.textContent);
}"""


@laptop_and_long
def test_neither_what_is_printed_nor_a_long_line_hides_anything(bench: Any) -> None:
    root = bench[0].show("explorer", PRINTS)
    expect(root.locator(".tgv-stdout")).to_be_visible()
    eventually(lambda: root.evaluate(SEEN)["outside"] == [] and root.evaluate(SEEN)["least"] >= LEAST, True)
    assert root.evaluate(CUT) == []


@laptop_and_long
@pytest.mark.parametrize("widget", WIDGETS)
def test_nothing_that_can_be_pressed_moves_in_thirty_presses(bench: Any, widget: str) -> None:
    shown, _ = bench
    root = shown.show(widget, PROGRAMS["fan-out"])
    chosen = random.Random(7)
    buttons = root.locator("button:visible:not(.tgv-line):not([role=menuitem])")
    before = root.evaluate(PLACES)
    for _ in range(30):
        buttons.nth(chosen.randrange(buttons.count())).evaluate("one => one.click()")
        shown.page.wait_for_function("() => !document.querySelector('.tgv[aria-busy=true]')")
        after = root.evaluate(PLACES)
        moved = {name: (place, after[name]) for name, place in before.items() if name in after and after[name] != place}
        assert moved == {}
        # The ways to fix an error go with it, and may come back with others.
        before = {**{name: place for name, place in before.items() if "Ways to fix" not in name}, **after}
    # Links were copied.
    uninvited[:] = [told for told in uninvited if not told.startswith("clipboard: explore.html#")]


@laptop_and_long
@pytest.mark.parametrize("widget", ["explorer", "comparison"])
def test_a_program_that_runs_modules_opens_with_them_and_they_open_by_a_click(bench: Any, widget: str) -> None:
    shown, _ = bench
    root = shown.show(widget, PROGRAMS["gan"])
    expect(root.get_by_role("button", name="modules", exact=True)).to_have_attribute("aria-pressed", "true")
    expect(root.locator(".tgv-network:visible")).to_contain_text("Linear")
    eventually(lambda: root.evaluate(SEEN)["outside"], [])
    opened = root.locator(".tgv-network:visible [aria-expanded=true]")
    before = opened.count()
    root.locator(".tgv-network:visible [aria-expanded=false]").first.click()
    eventually(lambda: opened.count() > before, True)
