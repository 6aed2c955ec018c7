"""A network by its modules in Chromium: boxes open and close in place, by click and by key, in both themes."""

import re
from typing import Any

import pytest
import torch
from playwright.sync_api import expect
from support.harness import complaints, new_page
from support.models import MODELS
from support.networks import NETWORKS

import viz
from viz.export import files
from viz.picture.network import svg_of

pytestmark = pytest.mark.outer(start=3)


@pytest.fixture(scope="module")
def page(browser: Any, tmp_path_factory: Any) -> Any:
    page = new_page(browser, viewport={"width": 1366, "height": 768})
    page.goto(viz.record(NETWORKS["GPT"]).save(tmp_path_factory.mktemp("page") / "gpt.html").as_uri())
    expect(page.locator(".tgv-network .node").first).to_be_visible()
    yield page
    page.context.close()


def box(page: Any, name: str) -> Any:
    return page.locator(".tgv-network [data-key]").filter(has_text=name).first


def inside_and_apart(page: Any) -> bool:
    """Whether no closed box that is drawn covers another."""
    return page.evaluate(
        """() => {
        const closed = [...document.querySelectorAll(".tgv-network [data-open=false] > rect")];
        const boxes = closed.map(rect => rect.getBoundingClientRect());
        const width = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const height = (a, b) => Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        return boxes.every((a, i) => boxes.slice(i + 1).every(b => width(a, b) < 1 || height(a, b) < 1));
        }"""
    )


def test_a_player_opens_with_its_modules_a_click_opens_one_in_its_place_and_escape_closes_it(page: Any) -> None:
    expect(page.get_by_role("button", name="modules", exact=True)).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".tgv-scales")).to_contain_text("size of gradient (rms)")
    blocks = box(page, "2 × Block")
    blocks.focus()  # which brings it into sight
    blocks.click()
    expect(page.locator(".tgv-network .opened").filter(has_text="2 × Block")).to_have_attribute("aria-expanded", "true")
    page.wait_for_timeout(400)  # it glides
    assert inside_and_apart(page)
    page.keyboard.press("Escape")
    expect(page.locator(".tgv-network .opened").filter(has_text="2 × Block")).to_have_count(0)


def test_enter_opens_down_to_single_ops_and_the_gradient_reaches_them(page: Any) -> None:
    box(page, "ln_f").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".tgv-network .op").filter(has_text="layer norm")).to_be_visible()
    page.wait_for_timeout(400)
    page.locator(".tgv-player").press("End")
    norm = page.locator(".tgv-network .op").filter(has_text="layer norm")
    expect(norm).to_contain_text("grad")
    assert "lv" in norm.get_attribute("class")
    page.locator(".tgv-player").press("Home")
    assert "lv" not in norm.get_attribute("class")
    box(page, "ln_f").focus()
    page.keyboard.press("Escape")


def test_pointing_at_a_tied_weight_lights_its_other_place(page: Any) -> None:
    box(page, "= lm_head").hover()
    expect(box(page, "= wte.weight")).to_have_attribute("data-same", "")
    page.mouse.move(0, 0)
    expect(page.locator("[data-same]")).to_have_count(0)


def test_what_does_not_fit_has_a_map_and_fit_shows_the_whole(page: Any) -> None:
    small, window = page.locator(".tgv-network .tgv-map"), page.locator(".tgv-network svg")
    expect(small).to_be_hidden()
    blocks = box(page, "2 × Block")
    blocks.focus()
    blocks.click()
    page.wait_for_timeout(400)
    page.locator(".tgv-network .node").first.focus()
    for _ in range(6):
        page.keyboard.press("+")
    expect(small).to_be_visible()
    height, view = window.bounding_box()["height"], window.get_attribute("viewBox")
    small.click(position={"x": 5, "y": 5})
    assert window.get_attribute("viewBox") != view
    page.keyboard.press("0")
    expect(small).to_be_hidden()
    assert window.bounding_box()["height"] == height, "nothing below it moves"
    blocks_open = page.locator(".tgv-network .opened").filter(has_text="2 × Block")
    blocks_open.focus()
    page.keyboard.press("Escape")
    expect(blocks_open).to_have_count(0)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_in_a_network_with_its_colours(page: Any, theme: str) -> None:
    page.emulate_media(color_scheme=theme)
    page.locator(".tgv-player").press("End")
    assert complaints(page, ".tgv-player") == []


def test_a_drawn_network_lives_in_a_separate_page_with_its_title_and_its_totals(fresh: Any, tmp_path: Any) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
    picture = viz.draw(model, torch.ones(4, 2), title="Mine")
    page = fresh(viewport={"width": 1366, "height": 768})
    page.goto(picture.save(tmp_path / "net.html").as_uri())
    leaves = page.locator(".tgv-network .leaf")
    expect(leaves).to_have_count(0)  # a layer of the library is closed at first
    page.locator(".tgv-network .module").filter(has_text="Linear").first.dispatch_event("click")
    expect(leaves).to_have_count(2)
    expect(page.locator(".tgv-network-words").first).to_have_text("Mine")
    expect(page.locator(".tgv-network-words").last).to_contain_text("13 parameters")


BOX = r'<g class="node [^>]*><title>[^<]*</title><rect class="[a-z]+" x="(.*?)" y="(.*?)" width="(.*?)" height="(.*?)"'
ON_STAGE = """() => [...document.querySelectorAll(".tgv-network .network")].map((network) =>
    [...network.querySelectorAll("[data-key] > rect:first-child")].map((rect) => {
        const { e, f } = rect.parentNode.transform.baseVal[0].matrix;
        const [x, y, ...size] = ["x", "y", "width", "height"].map((name) => rect[name].baseVal.value);
        return [x + e, y + f, ...size];
    }))"""


def test_a_file_and_a_stage_have_the_same_boxes_to_the_pixel(fresh: Any, tmp_path: Any) -> None:
    pictures = []
    for make in MODELS.values():
        model, args, loss = make(torch)
        pictures += [viz.draw(model, *args), viz.draw(loss(model(*args)))]
    (tmp_path / "all.html").write_text(files.page("All", "".join(map(files.figure, pictures))), encoding="utf-8")
    at = fresh(viewport={"width": 1366, "height": 768}, reduced_motion="reduce")
    at.goto((tmp_path / "all.html").as_uri())
    networks = [picture._network[3] for picture in pictures]
    opened = [list(network.first) for network in networks]
    for _ in range(3):  # as it is at first, with one more box open, and with another one
        drawn = [svg_of(network, first, "one", {}, "") for network, first in zip(networks, opened, strict=True)]
        in_files = [[pytest.approx(list(map(float, box)), abs=0.5) for box in re.findall(BOX, text)] for text in drawn]
        for in_file, on_stage in zip(in_files, at.evaluate(ON_STAGE), strict=True):
            assert len(in_file) == len(on_stage) and all(box in in_file for box in on_stage)
        for number, keys in enumerate(opened):
            closed = at.locator(".tgv-network").nth(number).locator("[aria-expanded=false]")
            if closed.count():
                keys.append(closed.first.get_attribute("data-key"))
                closed.first.dispatch_event("click")
