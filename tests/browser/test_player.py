"""The player in real JupyterLab: every control, by pointer and by key, and what remains of it without a kernel."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

import viz

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
    notebook.cell(0)
    player = notebook.page.locator(".tgv-player").first
    player.focus()
    notebook.page.keyboard.press("Home")
    return player


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


def test_the_gradient_arrives_step_by_step(player: Any) -> None:
    page = player.page
    assert "−1.2" not in player.locator("svg").first.text_content()
    for _ in range(40):
        page.keyboard.press("ArrowRight")
    assert "−1.2" in node(player, "w").text_content()
    assert "w.grad = −1.2" in player.locator(".tgv-sentence").text_content()


def test_a_step_back_is_the_step_before_exactly(player: Any) -> None:
    page = player.page
    seen = []
    for _ in range(int(player.locator(".tgv-scrubber").get_attribute("max"))):
        seen.append(state_of(player))
        page.keyboard.press("ArrowRight")
    for before in reversed(seen):
        page.keyboard.press("ArrowLeft")
        assert state_of(player) == before


def test_python_is_told_the_step_and_can_set_it(notebook: Any, player: Any) -> None:
    player.page.keyboard.press("ArrowRight")
    player.page.keyboard.press("ArrowRight")
    player.page.wait_for_timeout(200)
    assert notebook.python("print(player.step)").strip() == "2"
    notebook.python("player.step = 5")
    player.locator(".tgv-counter", has_text="6 /").wait_for()


def test_a_line_is_a_button_that_jumps_to_it(player: Any) -> None:
    player.get_by_role("button", name="Line 6: L.backward()").click()
    assert player.locator(".tgv-step-title").text_content().startswith("Backward starts")
    assert player.locator('[aria-current="step"]').get_attribute("aria-label") == "Line 6: L.backward()"


def test_a_node_is_a_button_that_jumps_to_where_it_runs(player: Any) -> None:
    player.locator('.tgv-node[aria-label*="node: MulBackward0"]').first.click()
    assert "× runs, MulBackward0" in player.locator(".tgv-step-title").text_content()


def test_hover_and_focus_tell_all_about_an_element(player: Any) -> None:
    tip = player.locator(".tgv-tip")
    node(player, "w").hover()
    assert "requires_grad" in tip.inner_text()
    player.page.mouse.move(0, 0)
    assert tip.is_hidden()
    player.locator('.tgv-node[tabindex="0"]').focus()
    assert "name" in tip.inner_text()
    first = tip.inner_text()
    player.page.keyboard.press("ArrowDown")
    assert tip.inner_text() != first
    player.page.keyboard.press("Escape")
    assert tip.is_hidden()


def test_the_two_views_are_one_click_apart(player: Any) -> None:
    player.page.keyboard.press("End")
    player.get_by_role("button", name="grad_fn").click()
    nodes = player.locator("svg .node.accumulate")
    assert nodes.count() == 2
    player.page.keyboard.press("v")
    assert nodes.count() == 0
    assert (
        player.locator(".tgv-counter").text_content().split(" / ")[0]
        == player.locator(".tgv-counter").text_content().split(" / ")[1]
    )


def test_it_plays_and_stops_at_the_end(player: Any) -> None:
    player.get_by_label("Speed").select_option("4")
    player.focus()
    player.page.keyboard.press("End")
    player.page.keyboard.press("ArrowLeft")
    player.get_by_role("button", name="Play").click()
    player.get_by_role("button", name="Pause").wait_for()
    player.get_by_role("button", name="Play").wait_for(timeout=5000)
    assert player.get_by_role("button", name="One step", exact=True).get_attribute("aria-disabled") == "true"


def test_zoom_and_pan_leave_the_picture_in_its_frame(player: Any) -> None:
    box = lambda: player.locator(".tgv-frame svg").get_attribute("viewBox")  # noqa: E731
    fitted = box()
    player.locator('.tgv-node[tabindex="0"]').focus()
    player.page.keyboard.press("+")
    zoomed = box()
    player.page.keyboard.press("Shift+ArrowRight")
    assert len({fitted, zoomed, box()}) == 3
    player.page.keyboard.press("0")
    assert box() == fitted


def test_keys_pressed_in_the_player_are_not_commands_of_the_notebook(notebook: Any, player: Any) -> None:
    cells = notebook.page.locator(".jp-Cell").count()
    for key in ("d", "d", "a", "b", "x", "m"):
        player.page.keyboard.press(key)
    assert notebook.page.locator(".jp-Cell").count() == cells
    assert notebook.page.locator(".jp-MarkdownCell").count() == 0


def test_two_players_on_a_page_do_not_disturb_each_other(notebook: Any, player: Any) -> None:
    other = notebook.page.locator(".tgv-player").nth(1)
    before = state_of(other)
    player.page.keyboard.press("End")
    assert state_of(other) == before
    ids = notebook.page.evaluate("[...document.querySelectorAll('.tgv [id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_axe_finds_nothing_to_complain_of(notebook: Any, player: Any, theme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    notebook.theme(theme)
    player.page.keyboard.press("End")
    player.page.wait_for_timeout(400)
    violations = axe.run(notebook.page, context=".tgv-player").response["violations"]
    notebook.theme("JupyterLab Light")
    assert [(v["id"], [n["html"][:200] for n in v["nodes"]]) for v in violations] == []


def test_nothing_moves_by_itself_where_motion_is_unwanted(desk: Any, player: Any) -> None:
    player.page.emulate_media(reduced_motion="reduce")
    duration = player.locator("svg .frame").first.evaluate("e => getComputedStyle(e).transitionDuration")
    player.page.emulate_media(reduced_motion="no-preference")
    assert duration == "0s"


def test_a_saved_notebook_shows_a_picture_without_a_kernel(desk: Any, notebook: Any) -> None:
    notebook.save()
    saved = json.loads(notebook.path.read_text())
    copy = notebook.path.with_name("reopened.ipynb")
    copy.write_text(json.dumps(saved))
    reopened = desk.open(copy)
    image = reopened.page.locator(".jp-OutputArea img[alt]").first
    image.wait_for()
    assert image.evaluate("e => e.complete && e.naturalWidth > 200")
    page = subprocess.run(
        [sys.executable, "-m", "nbconvert", "--to", "html", "--stdout", str(copy)],
        capture_output=True,
        check=True,
        text=True,
    )
    assert page.stdout.count("data:image/svg+xml;base64") >= 2
    reopened.page.close()
    # JupyterLab's own word for a live view whose kernel is gone; the picture stands beside it.
    reopened.errors = [error for error in reopened.errors if "widget model not found" not in error]


def test_the_exported_page_takes_keys_at_once(browser: Any, tmp_path: Any) -> None:
    page = browser.new_page()
    page.goto(viz.record(PROGRAM).save(tmp_path / "flow.html").as_uri())
    counter = page.locator(".tgv-counter")
    assert counter.inner_text().startswith("1 /")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert counter.inner_text().startswith("3 /")
    page.locator(".tgv-player").focus()
    page.keyboard.press("ArrowLeft")
    assert counter.inner_text().startswith("2 /")
    page.mouse.click(5, 5)  # beside the player
    page.keyboard.press("End")
    at, count = counter.inner_text().split(" / ")
    assert at == count
    page.close()


def test_no_source_line_is_cut_beside_the_picture(browser: Any, tmp_path: Any) -> None:
    long = "u = T.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)  # " + "a comment that goes on and on " * 4
    page = browser.new_page(viewport={"width": 960, "height": 700})
    page.goto(viz.record(long + "\nu.sum().backward()").save(tmp_path / "long.html").as_uri())
    page.locator(".tgv-beside").wait_for()
    cut = page.locator(".tgv-line").evaluate_all(
        "lines => lines.filter(l => l.querySelector('code').getBoundingClientRect().right > "
        "l.closest('.tgv-code').getBoundingClientRect().right + 1 || l.scrollWidth > l.clientWidth + 1).length"
    )
    assert cut == 0
    page.close()
