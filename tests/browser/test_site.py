"""`tinygrad-edu site`: opened from a disk, with no network, in real Chromium."""

import html
import json
import re
import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import expect
from support.harness import eventually, new_page

from tinygrad_edu.course.working_copy import lessons_root

# Looked for, and not imported: that takes a second, in every process of a run.
pytestmark = [
    pytest.mark.outer(start=3),
    pytest.mark.skipif(not (find_spec("furo") and find_spec("myst_nb")), reason="needs furo and myst_nb"),
]

LESSONS = ["01_slopes_and_local_derivatives", "02_building_the_graph"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two lessons as a site: what all of them need is in them."""
    from tinygrad_edu.course.site import build

    return build(tmp_path_factory.mktemp("pages") / "site", LESSONS).parent


@pytest.fixture(scope="module")
def reader(browser: Any, site: Path) -> Iterator[Any]:
    """A page with no network; that its console stays clean and nothing is asked for in vain is checked at the end."""
    page = new_page(browser, viewport={"width": 1366, "height": 768}, offline=True, color_scheme="light")
    wrong: list[str] = []
    page.on("console", lambda message: message.type in ("error", "warning") and wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    # What is still under way when a page is left is no fault.
    page.on("requestfailed", lambda request: request.failure == "net::ERR_ABORTED" or wrong.append(request.url))
    page.on("request", lambda request: request.url.startswith(("file:", "blob:", "data:")) or wrong.append(request.url))
    yield page
    page.context.close()
    assert wrong == []


@pytest.fixture
def lesson(reader: Any, site: Path) -> Any:
    """The first lesson, freshly opened, its widgets alive."""
    reader.goto((site / LESSONS[0] / f"{LESSONS[0]}.html").as_uri())
    reader.wait_for_selector("html[data-tgv-ready]", state="attached")
    return reader


class Links(HTMLParser):
    """What a page loads by itself, where its links lead, and the places on it that a link may lead to."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.places = {""}
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        self.places.add(given.get("id") or "")
        loaded = given.get({"script": "src", "img": "src", "link": "href", "iframe": "src"}.get(tag, ""))
        self.loads += [loaded] if loaded else []
        if tag == "a" and given.get("href") and not str(given["href"]).startswith("#node="):  # it lights a node
            self.links.append(str(given["href"]))


def test_no_page_loads_anything_from_another_place(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) >= 4
    for page in pages:
        loads = Links(page).loads
        assert loads
        assert [one for one in loads if re.match(r"(https?:)?//", one)] == [], page


def test_a_lesson_says_what_it_is_where_somebody_links_to_it(site: Path) -> None:
    page = (site / LESSONS[1] / f"{LESSONS[1]}.html").read_text()
    assert re.search(r'<meta property="og:title" content="[^"]+">', page) and '<meta name="description"' in page
    assert '<link rel="icon"' in page


def dead_links(site: Path) -> list[tuple[str, str]]:
    pages = {page: Links(page) for page in site.resolve().rglob("*.html")}
    dead = []
    for page, found in pages.items():
        for link in found.links:
            parts = urlsplit(link)
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            if parts.scheme:
                continue
            if not target.exists() or (target in pages and unquote(parts.fragment) not in pages[target].places):
                dead.append((page.name, link))
    return dead


def test_every_link_leads_somewhere_also_where_a_lesson_was_not_taken(site: Path) -> None:
    assert dead_links(site) == []
    page = (site / LESSONS[1] / f"{LESSONS[1]}.html").read_text()
    assert "Next: 3. Order and accumulation" in re.sub(r"<[^>]+>", "", page)


def test_a_rebuild_takes_the_pages_of_lessons_away_that_are_gone_and_nothing_else(site: Path, tmp_path: Path) -> None:
    from tinygrad_edu.course.site import build

    again = tmp_path / "site"
    shutil.copytree(site, again)
    for own in (again / ".git" / "config", again / "CNAME"):
        own.parent.mkdir(exist_ok=True)
        own.write_text("mine")
    build(again, ["00"])
    assert {page.stem for page in again.rglob("*.html")} == {"00_start_here", "index", "search"}
    assert not list(again.rglob("*02_building*"))
    assert (again / ".git" / "config").read_text() == (again / "CNAME").read_text() == "mine"
    assert dead_links(again) == []


def test_no_solution_is_on_any_page(site: Path) -> None:
    region = re.compile(r"### BEGIN (?:SOLUTION|HIDDEN TESTS)\n(.*?)### END", re.DOTALL)
    text = "\n".join(path.read_text() for path in site.rglob("*") if path.suffix in (".html", ".js", ".ipynb"))
    plain = html.unescape(re.sub(r"<[^>]+>", "", text))
    assert "def mul_backward(grad_output, a, b):\n    # YOUR CODE HERE" in plain
    answers = 0
    for name in LESSONS:
        for cell in json.loads((lessons_root() / name / f"{name}.ipynb").read_text())["cells"]:
            for answer in region.findall("".join(cell["source"])):
                answers += 1
                assert answer.strip() not in plain
    assert answers >= 7


def test_the_player_steps_by_button_and_by_key(lesson: Any) -> None:
    player = lesson.locator(".tgv:has(.tgv-scrubber)").first
    title = player.locator(".tgv-step-title")
    expect(player).to_be_hidden()  # it answers the question above it
    lesson.locator(".tgv-predict").get_by_role("button", name="0.12", exact=True).click()
    expect(player).to_be_visible()
    opened = title.inner_text()
    assert opened != "Before the first line"  # a stage with nothing on it tells nothing
    player.get_by_role("button", name="One step", exact=True).click()
    expect(title).not_to_have_text(opened)
    player.locator(".tgv-scrubber").press("End")
    expect(player.locator(".tgv-sentence")).to_contain_text("w.grad = 12")
    player.get_by_role("button", name="grad_fn").click()
    expect(player.locator("svg .node.accumulate")).to_have_count(2)


def test_a_slider_and_a_prediction_answer_whose_code_is_not_shown(lesson: Any) -> None:
    slope = lesson.locator(".tgv-slope").first
    slope.get_by_label("x", exact=True).press("ArrowRight")
    expect(slope.locator(".of-tangent")).to_have_text("At x = 1.1 the curve is at 1.21 and its slope is 2.2.")
    prediction = lesson.locator(".tgv-predict").first
    prediction.get_by_role("button", name="x = −2", exact=True).click()
    expect(prediction.locator(".tgv-reply")).to_contain_text("Yes: the slope of x² at x is 2x")
    assert "right=" not in lesson.locator("article").inner_text()  # written by Sphinx, before any script


def test_a_switch_that_needs_python_says_so_and_stays_as_it_was(lesson: Any) -> None:
    explorer = lesson.locator(".tgv-live:has(.tgv-explorer)")
    switch = explorer.get_by_role("button", name="no_grad").first
    before = switch.get_attribute("aria-pressed")
    switch.click()
    expect(explorer.locator(".notice")).to_contain_text("This needs Python")
    expect(switch).to_have_attribute("aria-pressed", before)
    expect(explorer.locator("[aria-busy]")).to_have_count(0)
    explorer.locator(".tgv-badge").click()  # PyTorch's own graph stands beside ours
    explorer.get_by_role("button", name="grad_fn", exact=True).click()  # both views were drawn when the lesson was run
    for side in (0, 1):
        expect(explorer.locator(".tgv-side").nth(side).locator("svg .node.accumulate")).not_to_have_count(0)


def test_the_search_finds_a_word_and_a_formula_is_drawn_by_the_browser_itself(reader: Any, site: Path) -> None:
    reader.goto((site / "index.html").as_uri())
    reader.get_by_role("textbox").first.fill("AccumulateGrad")
    reader.get_by_role("textbox").first.press("Enter")
    found = reader.locator("#search-results li a")
    expect(found.first).to_contain_text("Building the graph")
    found.first.click()
    reader.wait_for_selector("html[data-tgv-ready]", state="attached")
    expect(reader.locator("h1")).to_contain_text("2. Building the graph")
    formula = reader.locator('math[display="block"]')
    expect(formula).to_have_count(1)
    eventually(lambda: formula.bounding_box()["width"] > 50, True)


def test_the_theme_button_turns_the_pictures_dark_too_and_paper_is_light(lesson: Any) -> None:
    player = lesson.locator(".tgv:has(.tgv-scrubber)").first
    paper = "element => getComputedStyle(element).backgroundColor"
    light = player.evaluate(paper)
    button = lesson.locator("button.theme-toggle:visible").first

    def theme_after_a_click() -> str:
        button.click()
        return str(lesson.evaluate("document.body.dataset.theme"))

    eventually(theme_after_a_click, "dark")  # the button goes around
    expect(player).not_to_have_css("background-color", light)
    lesson.emulate_media(media="print")
    try:
        expect(lesson.locator(".tgv-still").first).to_be_visible()
        expect(player).to_be_hidden()
        expect(lesson.locator("body")).to_have_attribute("data-jp-theme-light", "true")
    finally:
        lesson.emulate_media(media="screen")
        lesson.evaluate("localStorage.clear()")


def test_a_lesson_can_be_downloaded_as_a_notebook_without_answers(lesson: Any, site: Path) -> None:
    link = lesson.get_by_role("link", name="This page as a notebook").get_attribute("href")
    taken = (site / LESSONS[0] / link).resolve()
    cells = json.loads(taken.read_text())["cells"]
    assert any("raise NotImplementedError()" in "".join(cell["source"]) for cell in cells)


def test_an_unknown_lesson_is_reported(tmp_path: Path) -> None:
    from tinygrad_edu.course.site import SiteError, build

    with pytest.raises(SiteError, match="no lesson's name starts with 77"):
        build(tmp_path / "site", ["77"])
