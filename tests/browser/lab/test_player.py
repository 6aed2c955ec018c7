"""The player in real JupyterLab: every control, by pointer and by key, and what remains of it without a kernel."""

import json
import re
from typing import Any

import nbformat
import pytest
from playwright.sync_api import expect
from support.harness import complaints, eventually

import viz
from tinygrad_edu.course.site import running

pytestmark = pytest.mark.outer(start=3)

PROGRAM = """\
x = T.tensor(2.0)
y = T.tensor(1.0)
w = T.tensor(0.3, requires_grad=True)
b = T.tensor(0.1, requires_grad=True)
L = ((w * x + b) - y) ** 2
L.backward()"""

CELL = f"import viz\nplayer = viz.record('''{PROGRAM}''').play()\nplayer"


@pytest.fixture(scope="module")
def notebook(desk: Any) -> Any:
    opened = desk.open(desk.write("player.ipynb", CELL, "viz.record('u = T.tensor(3.0, requires_grad=True)').play()"))
    opened.run_all()
    opened.page.locator(".tgv-player svg .node").first.wait_for()
    return opened


@pytest.fixture
def player(notebook: Any) -> Any:
    """The first player in its initial state, whatever an earlier test left behind."""
    notebook.cell(0)
    player = notebook.page.locator(".tgv-player").first
    player.get_by_role("button", name="values").click()
    player.press("0")
    player.press("Home")
    at(player, 1)
    return player


def at(player: Any, step: int) -> None:
    """Wait until the player is at a step, from 1."""
    expect(player.locator(".tgv-counter")).to_have_text(re.compile(f"^{step} /"))


def node(player: Any, name: str) -> Any:
    return player.locator(f'.tgv-node[aria-label^="name: {name};"]')


def state_of(player: Any) -> str:
    """Every class and text of the picture."""
    return str(
        player.locator("svg .node").first.evaluate(
            "e => [...e.ownerSVGElement.querySelectorAll('g, text')].map(g => "
            "g.id + ':' + [...g.classList].sort() + (g.tagName === 'text' ? g.textContent : '')).join('\\n')"
        )
    )


def last_step(player: Any) -> int:
    """The number of steps."""
    return int(player.locator(".tgv-scrubber").get_attribute("max")) + 1


def test_the_gradient_arrives_and_a_step_back_is_the_step_before_exactly(player: Any) -> None:
    expect(player.locator(".tgv-frame svg")).not_to_contain_text("−1.2")
    seen = []
    for step in range(1, last_step(player)):
        at(player, step)
        seen.append(state_of(player))
        player.press("ArrowRight")
    expect(node(player, "w")).to_contain_text("−1.2")
    expect(player.locator(".tgv-sentence")).to_contain_text("w.grad = −1.2")
    for step in range(len(seen), 0, -1):
        player.press("ArrowLeft")
        at(player, step)
        assert state_of(player) == seen[step - 1]


def test_python_is_told_the_step_and_can_set_it(notebook: Any, player: Any) -> None:
    player.press("ArrowRight")
    player.press("ArrowRight")
    eventually(lambda: notebook.python("print(player.step)").strip(), "2")
    notebook.python("player.step = 5")
    at(player, 6)


def test_a_line_and_a_node_are_buttons_that_jump_to_where_they_run(player: Any) -> None:
    player.get_by_role("button", name="Line 6: L.backward()").click()
    expect(player.locator(".tgv-step-title")).to_have_text(re.compile("^Backward starts"))
    expect(player.locator('[aria-current="step"]')).to_have_attribute("aria-label", "Line 6: L.backward()")
    player.press("Home")  # where a node has run already, a click opens its numbers
    player.locator('.tgv-node[aria-label*="node: MulBackward0"]').first.click()
    expect(player.locator(".tgv-step-title")).to_contain_text("× runs, MulBackward0")


def test_hover_and_focus_tell_all_about_an_element(player: Any) -> None:
    tip = player.locator(".tgv-tip")
    node(player, "w").hover()
    expect(tip).to_contain_text("requires_grad")
    player.page.mouse.move(0, 0)
    expect(tip).to_be_hidden()
    player.locator('.tgv-node[tabindex="0"]').focus()
    expect(tip).to_contain_text("name")
    first = tip.text_content()
    player.page.keyboard.press("ArrowDown")
    expect(tip).not_to_have_text(first)
    player.page.keyboard.press("Escape")
    expect(tip).to_be_hidden()


def test_the_two_views_are_one_click_apart(player: Any) -> None:
    player.press("End")
    player.get_by_role("button", name="grad_fn").click()
    nodes = player.locator("svg .node.accumulate")
    expect(nodes).to_have_count(2)
    player.press("v")
    expect(nodes).to_have_count(0)
    last = last_step(player)
    expect(player.locator(".tgv-counter")).to_have_text(f"{last} / {last}")


def test_zoom_and_pan_leave_the_picture_in_its_frame(player: Any) -> None:
    picture = player.locator(".tgv-frame svg")
    fitted = picture.get_attribute("viewBox")
    player.locator('.tgv-node[tabindex="0"]').press("+")
    expect(picture).not_to_have_attribute("viewBox", fitted)
    zoomed = picture.get_attribute("viewBox")
    player.locator('.tgv-node[tabindex="0"]').press("Shift+ArrowRight")
    expect(picture).not_to_have_attribute("viewBox", zoomed)
    assert picture.get_attribute("viewBox") != fitted
    player.locator('.tgv-node[tabindex="0"]').press("0")
    expect(picture).to_have_attribute("viewBox", fitted)


def test_keys_pressed_in_the_player_are_not_commands_of_the_notebook(notebook: Any, player: Any) -> None:
    cells = notebook.page.locator(".jp-Cell").count()
    for key in ("d", "d", "a", "b", "x", "m"):
        player.press(key)
    player.press("ArrowRight")  # the player has heard it, and the keys before it
    at(player, 2)
    assert notebook.page.locator(".jp-Cell").count() == cells
    assert notebook.page.locator(".jp-MarkdownCell").count() == 0


def test_two_players_on_a_page_do_not_disturb_each_other(notebook: Any, player: Any) -> None:
    other = notebook.page.locator(".tgv-player").nth(1)
    before = state_of(other)
    player.press("End")
    at(player, last_step(player))
    assert state_of(other) == before
    ids = notebook.page.evaluate("[...document.querySelectorAll('.tgv [id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_axe_finds_nothing_to_complain_of(notebook: Any, player: Any, theme: str) -> None:
    with notebook.themed(theme):
        player.press("End")
        assert complaints(notebook.page, ".tgv-player") == []


def test_a_saved_notebook_shows_a_picture_without_a_kernel(desk: Any, notebook: Any) -> None:
    def outputs() -> int:
        """The number of pictures in the file after it was saved again."""
        notebook.save()
        cells = json.loads(notebook.path.read_text())["cells"]
        return sum("text/html" in output.get("data", {}) for cell in cells for output in cell["outputs"])

    eventually(outputs, 2)
    copy = notebook.path.with_name("reopened.ipynb")
    copy.write_text(notebook.path.read_text())
    reopened = desk.open(copy)
    # JupyterLab's own word for a live view whose kernel is gone; the picture stands beside it.
    reopened.expected.append("widget model not found")
    image = reopened.page.locator(".jp-OutputArea img[alt]").first
    eventually(lambda: image.evaluate("e => e.complete && e.naturalWidth > 200"), True)


def test_twenty_players_are_saved_in_900_kilobytes_and_play_again_without_a_kernel(desk: Any) -> None:
    path = desk.write("twenty.ipynb", CELL, *[f"viz.record('''{PROGRAM}''').play()"] * 19)
    saved = nbformat.read(path, as_version=4)
    running.run(saved, path.parent)
    nbformat.write(saved, path)
    assert path.stat().st_size <= 900_000

    reopened = desk.open(path, own_page=True)
    reopened.expected.append("Could not restore the debugger state")  # JupyterLab asks a kernel that we end
    page = reopened.page
    page.evaluate("() => void window.jupyterapp.commands.execute('notebook:trust')")
    page.locator(".jp-Dialog").get_by_role("button", name="Trust").click()
    player = page.locator(".tgv-player").first
    at(player, 2)  # from what was saved: the kernel that JupyterLab has started knows of no widget
    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    player.press("End")
    expect(node(player, "w")).to_contain_text("−1.2")


def test_the_exported_page_takes_keys_at_once(fresh: Any, tmp_path: Any) -> None:
    page = fresh()
    page.goto(viz.record(PROGRAM).save(tmp_path / "flow.html").as_uri())
    at(page, 2)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    at(page, 4)
    page.locator(".tgv-player").press("ArrowLeft")
    at(page, 3)
    page.mouse.click(5, 5)  # beside the player
    page.keyboard.press("End")
    last = last_step(page)
    expect(page.locator(".tgv-counter")).to_have_text(f"{last} / {last}")


def test_no_source_line_is_cut_beside_the_picture(fresh: Any, tmp_path: Any) -> None:
    long = "u = T.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)  # " + "a comment that goes on and on " * 4
    page = fresh(viewport={"width": 960, "height": 700})
    page.goto(viz.record(long + "\nu.sum().backward()").save(tmp_path / "long.html").as_uri())
    page.locator(".tgv-bench[data-place]").wait_for()
    cut = (
        "lines => lines.filter(l => l.querySelector('code').getBoundingClientRect().right > "
        "l.closest('.tgv-code').getBoundingClientRect().right + 1 || l.scrollWidth > l.clientWidth + 1).length"
    )
    eventually(lambda: page.locator(".tgv-line").evaluate_all(cut), 0)
