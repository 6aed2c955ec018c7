"""`tinygrad-edu site --live`: Python, NumPy and Graphviz in the page, in real Chromium, without a network."""

import base64
import gzip
import json
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from support.harness import complaints, eventually, new_page

import tinygrad_edu
from tinygrad_edu.course.working_copy import lessons_root

# Looked for, and not imported: that takes a second, in every process of a run.
pytestmark = [
    pytest.mark.outer(start=4),
    pytest.mark.skipif(not (find_spec("furo") and find_spec("myst_nb")), reason="needs furo and myst_nb"),
]

LESSON = "01_slopes_and_local_derivatives"
FIRST = f"{LESSON}/{LESSON}.html"
READY = "html[data-python-ready]"
DRESSED = "html[data-live]"  # editors and buttons are there; Python is on its way


@pytest.fixture(scope="module")
def address(site: Path, served: Callable[[Path], str]) -> str:
    return served(site)


class Reader:
    """One page for all tests here, so that its browser has what Python is made of in its cache after the first."""

    def __init__(self, browser: Any, address: str) -> None:
        self.address, self.page = address, new_page(browser, color_scheme="light", service_workers="block")
        self.wrong: list[str] = []
        self.page.on("console", self.said)
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        here = (address, "blob:", "data:")
        self.page.on("request", lambda asked: asked.url.startswith(here) or self.wrong.append(asked.url))

    def said(self, message: Any) -> None:
        if message.type == "error" and "favicon" not in str(message.location):
            self.wrong.append(message.text)


@pytest.fixture(scope="module")
def reader(browser: Any, address: str) -> Iterator[Reader]:
    opened = Reader(browser, address)
    yield opened
    opened.page.context.close()


@pytest.fixture
def page(reader: Reader, address: str) -> Iterator[Any]:
    """A page on which nothing was written. At the end its console must be clean, and it asked for nothing outside."""
    page = reader.page
    page.goto(address + "_static/live.css")  # of the same place, and with no Python
    page.evaluate("localStorage.clear()")
    page.set_viewport_size({"width": 1366, "height": 768})
    page.emulate_media(color_scheme="light", reduced_motion="no-preference")
    reader.wrong.clear()
    yield page
    assert reader.wrong == []


@pytest.fixture
def no_python(page: Any) -> Iterator[None]:
    """Python never loads. For tests of the page before that: loading would take most of their time."""
    page.route("**/live/pyodide*", lambda route: None)  # never answered
    yield
    page.unroute_all(behavior="ignoreErrors")


without_python = pytest.mark.usefixtures("no_python")


def cell(page: Any, id: str) -> Any:
    return page.locator(f".tag_cell-{id}")


def write(page: Any, id: str, text: str) -> None:
    cell(page, id).locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def run(page: Any, id: str) -> None:
    cell(page, id).get_by_role("button", name="Run").click()


PRINTED = """() => [...document.querySelectorAll("[class*=tag_cell-]")].map((cell) => [
    [...cell.classList].find((name) => name.startsWith("tag_cell-")),
    [...cell.querySelectorAll(".cell_output .stream, .cell_output .output.text_plain")]
        .map((part) => part.textContent.trim()).join("\\n"),
])"""
PAGES = [
    path.relative_to(lessons_root()).with_suffix(".html").as_posix() for path in sorted(lessons_root().rglob("*.ipynb"))
]

ANSWERS = {
    path.stem: {
        one["id"]: "".join(one["source"]) for one in json.loads(path.read_text())["cells"] if one["cell_type"] == "code"
    }
    for path in sorted(lessons_root().rglob("*.ipynb"))
}  # the instructors' version
FILL = """([page, answers]) => {
    for (const { id, source } of JSON.parse(document.getElementById("tgv-live-page").textContent).cells)
        if (answers[id] !== source) localStorage.setItem(`tinygrad-edu:${page}/${id}`, answers[id]);
}"""


def in_our_words() -> dict[str, str]:
    """What a cell prints of an error, by its id: the page has PyTorch's text, our engine also says what to do."""
    with pytest.raises(RuntimeError) as error:
        tinygrad_edu.ones(1).sum().backward()
    return {"tag_cell-learn-05": str(error.value)}


def run_all(page: Any) -> None:
    page.wait_for_selector(READY, state="attached")
    page.get_by_role("button", name="Run all").click()
    page.wait_for_selector("html[data-all-ran]", state="attached")
    assert page.locator(".output.traceback").all_inner_texts() == []


def its_cells_run(page: Any, address: str) -> None:
    page.goto(address)
    page.wait_for_selector(READY, state="attached")
    native = page.evaluate(PRINTED)
    run_all(page)
    assert page.evaluate(PRINTED) == [[cell, in_our_words().get(cell, text)] for cell, text in native]


def test_every_cell_runs_in_order_with_the_numbers_of_the_native_run(page: Any, address: str) -> None:
    its_cells_run(page, address + FIRST)


@pytest.mark.long
@pytest.mark.parametrize("path", PAGES)
def test_every_cell_of_every_page_runs_and_again_with_all_exercises_solved(
    browser: Any, whole_site: Path, served: Callable[[Path], str], path: str
) -> None:
    reader = Reader(browser, served(whole_site))
    page, name = reader.page, Path(path).stem
    its_cells_run(page, reader.address + path)
    page.evaluate(FILL, [name, ANSWERS[name]])
    page.reload()
    run_all(page)
    solved = page.locator("#live-progress").get_attribute("data-solved")
    if solved is not None:
        done, _, of = solved.split()[:3]
        assert done == of, solved
    page.context.close()
    assert reader.wrong == []


def test_the_front_page_plays_by_itself_until_it_is_touched(page: Any, address: str) -> None:
    page.goto(address)
    step = page.locator(".tgv-counter")
    pause, play = (page.locator(f".tgv-controls [aria-label={name}]") for name in ("Pause", "Play"))
    expect(pause).to_be_visible()
    expect(page.locator(".tgv-step-line")).to_contain_text("Backward, step 1")
    page.keyboard.press("Tab")
    expect(play).to_be_visible()
    expect(page.locator("[data-plays]")).to_have_count(0)
    stopped = step.inner_text()
    page.wait_for_timeout(2000)  # longer than it stands at a step
    assert step.inner_text() == stopped


WATCH_FOR_EMPTY_FRAMES = """() => {
    window.emptyFrames = 0;
    const look = () => {
        window.emptyFrames += !document.querySelector(".tgv-explorer .tgv-frame svg");
        requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
}"""


def test_the_first_press_of_a_switch_is_answered_and_nothing_moves_under_it(page: Any, address: str) -> None:
    fetched: list[str] = []
    page.on("request", lambda request: fetched.append(request.url))
    page.goto(address)
    page.wait_for_selector(READY, state="attached")
    explorer = page.locator(".tgv-explorer")
    before = explorer.bounding_box()
    page.evaluate(WATCH_FOR_EMPTY_FRAMES)
    explorer.get_by_role("button", name="no_grad").first.click()
    live = page.locator(".output.widget")
    expect(live).to_contain_text("Line 4 now runs under no_grad")
    expect(live).to_contain_text("PyTorch")
    expect(live).not_to_contain_text("does not run in a browser, and this change")
    assert explorer.bounding_box() == before
    assert page.evaluate("window.emptyFrames") == 0, "the live widget takes the recorded one's place in one frame"
    live.get_by_role("button", name="undo").click()
    expect(live.get_by_role("button", name="no_grad").first).to_have_attribute("aria-pressed", "false")
    page.evaluate("navigator.clipboard.writeText = (text) => { window.copied = text; }")
    live.get_by_role("button", name="copy link").click()
    eventually(lambda: str(page.evaluate("window.copied")).partition("#")[0], address + "explore.html")
    # what runs ahead comes whenever nobody asks for anything, which on a slow machine is before the last press
    later = {url.rpartition("/later/")[2] for url in fetched if "/later/" in url}
    assert later <= {"ahead.pack"}, "what a first picture needs is loaded at the start"


# Presses each switch beside a line, waits for the answer, and presses it again. Returns what the badge said, by switch.
EVERY_SWITCH = """async () => {
    const found = {};
    const pills = () => [...document.querySelectorAll(".output.widget .tgv-row .tgv-pill")];
    const answered = async (before) => {
        for (let waited = 0; waited < 10_000; waited += 10) {
            if (document.querySelector(".output.widget .tgv-account").textContent !== before) return;
            await new Promise((resolve) => setTimeout(resolve, 10));
        }
        throw new Error("no answer");
    };
    const press = async (index) => {
        const before = document.querySelector(".output.widget .tgv-account").textContent;
        pills()[index].click();
        await answered(before);
    };
    for (let index = 0; index < pills().length; index++) {
        await press(index);
        const badge = document.querySelector(".tgv-badge");
        found[`${index} ${pills()[index].textContent}`] = [badge.dataset.agree, badge.textContent.includes("PyTorch")];
        await press(index);
    }
    return found;
}"""


@pytest.mark.long
def test_every_switch_beside_a_line_is_answered_by_both_engines(page: Any, address: str) -> None:
    page.goto(address)
    page.wait_for_selector(READY, state="attached")
    page.locator(".tgv-explorer").get_by_role("button", name="no_grad").first.click()
    live = page.locator(".output.widget")
    expect(live).to_contain_text("Line 4 now runs under no_grad")
    live.get_by_role("button", name="undo").click()
    expect(live.get_by_role("button", name="no_grad").first).to_have_attribute("aria-pressed", "false")
    found = page.evaluate(EVERY_SWITCH)
    assert len(found) >= 9
    assert {switch: said for switch, said in found.items() if said != ["true", True]} == {}


@pytest.mark.long
def test_the_playground_trains_in_the_page(page: Any, address: str) -> None:
    lesson = "10_deep_networks"
    page.goto(f"{address}{lesson}/{lesson}.html")
    page.wait_for_selector(READY, state="attached")
    place = page.locator(".cell:has(.tgv-playground)").first
    place.locator(".live-bar button").first.click()
    ground = place.locator(".output.widget .tgv-playground")
    at = ground.locator(".tgv-counter")
    expect(at).to_contain_text("step")
    before = at.inner_text()
    ground.get_by_role("button", name="Play", exact=True).click()
    expect(at).not_to_have_text(before)
    ground.get_by_role("button", name="Pause", exact=True).click()


def test_a_wrong_answer_gets_its_hint_and_a_right_one_its_points(page: Any, address: str) -> None:
    page.goto(address + FIRST)
    write(page, "mul-backward", "def mul_backward(grad_output, a, b):\n    return grad_output * a, grad_output * b")
    run(page, "check-mul-backward")
    report = cell(page, "check-mul-backward").locator(".cell_output")
    expect(report).to_contain_text("The factors are swapped")
    write(page, "mul-backward", "def mul_backward(grad_output, a, b):\n    return grad_output * b, grad_output * a")
    run(page, "check-mul-backward")
    expect(report).to_contain_text("3 of 3")
    expect(page.locator("#live-progress")).to_have_attribute("data-solved", "1 of 3 solved")


LAST = "JSON.parse(document.getElementById('tgv-live-page').textContent).cells.at(-1).id"


def test_an_endless_loop_ends_with_stop_and_the_page_works_on(page: Any, address: str) -> None:
    page.goto(address + FIRST)
    page.wait_for_selector(READY, state="attached")
    first = page.locator(".cell:has(.cm-content)").first
    id = page.evaluate(LAST)
    write(page, id, "while True:\n    print('again' * 200)")
    run(page, id)
    expect(cell(page, id).locator(".cell_output")).to_contain_text("more was printed")
    page.get_by_role("button", name="Stop").click()
    expect(cell(page, id).locator(".live-state")).to_contain_text("Stopped")
    write(page, id, "print(6 * 7)")
    run(page, id)
    expect(cell(page, id).locator(".cell_output")).to_contain_text("42")
    expect(first.locator(".live-state")).not_to_contain_text("error")


# A model drawn by a loss, a plain picture, a question, and a report whose path has steps.
PIECES = """import tinygrad_edu as T
import viz
model = T.nn.Sequential(T.nn.Linear(2, 3), T.nn.Sequential(T.nn.Linear(3, 3), T.nn.Linear(3, 1)))
out = model(T.ones(4, 2)).sum()
display(viz.draw(out, module=model))
w = T.tensor(2.0, requires_grad=True)
display(viz.draw(w * w * 3))
cut = "w = T.tensor(2.0, requires_grad=True)\\nh = (w * 3).detach()\\nloss = h * h\\nloss.backward()"
viz.diagnose(cut, engine="tinygrad_edu")"""


def test_what_draws_itself_in_jupyter_is_alive_here_and_no_script_of_an_output_runs(page: Any, address: str) -> None:
    page.goto(address + FIRST)
    id = page.evaluate(LAST)
    write(page, id, PIECES)
    run(page, id)
    shown = cell(page, id).locator(".cell_output")
    opened = shown.locator(".tgv-network [aria-expanded=true]")
    expect(shown.locator(".tgv-network [aria-expanded=false]").first).to_be_visible()
    before = opened.count()
    shown.locator(".tgv-network [aria-expanded=false]").first.click()
    expect(opened).to_have_count(before + 1)
    background = "svg => getComputedStyle(svg.querySelector('text')).fill"
    plain = shown.locator(".tgv-picture svg").first
    light = plain.evaluate(background)
    page.emulate_media(color_scheme="dark")
    eventually(lambda: plain.evaluate(background) != light, True)
    expect(shown.locator(".tgv-cause button").first).to_be_visible()
    assert page.evaluate("typeof ran") == "undefined"
    write(page, id, "from IPython.display import HTML\ndisplay(HTML('<b>bold</b><script>ran = 1</script>'))")
    run(page, id)
    expect(shown.locator("b")).to_have_text(["bold"])  # of several, as the report has, one is left once the cell ran
    assert page.evaluate("typeof ran") == "undefined"


@pytest.mark.long
def test_input_asks_in_the_output_and_the_cell_goes_on(page: Any, address: str) -> None:
    page.goto(address + FIRST)
    id = page.evaluate(LAST)
    write(page, id, "name = input('Who? ')\nprint('Hello', name, input('And? '))")
    run(page, id)
    for answer in ("Ada", "more"):
        page.get_by_role("textbox", name="Who? " if answer == "Ada" else "And? ").fill(answer)
        page.keyboard.press("Enter")
    expect(cell(page, id).locator(".cell_output")).to_contain_text("Hello Ada more")


@pytest.mark.long
@without_python
def test_a_second_tab_of_a_page_is_warned_of_until_it_closes(page: Any, address: str) -> None:
    page.goto(address + FIRST)
    page.wait_for_selector(DRESSED, state="attached")
    other = page.context.new_page()
    other.route("**/live/pyodide*", lambda route: None)
    other.goto(address + FIRST)
    for each in (page, other):
        expect(each.get_by_role("alert")).to_contain_text("open in another tab")
    other.close(run_before_unload=True)
    expect(page.get_by_role("alert")).to_have_count(0)


@without_python
def test_what_is_written_before_python_is_there_is_marked_kept_by_a_reload_and_reset(page: Any, address: str) -> None:
    page.goto(address + FIRST)
    expect(page.locator("h1").first).to_contain_text("Slopes")
    page.wait_for_selector("html[data-tgv-ready]", state="attached")
    expect(page.locator(".tgv-live .tgv").first).to_be_visible()
    expect(page.locator(".live-python")).to_contain_text("…")
    place = page.locator(".cell:has(.cm-content):has(.cell_output)").first
    written = place.locator(".cm-content").inner_text()
    place.locator(".cm-content").click()
    page.keyboard.press("Control+End")
    page.keyboard.insert_text("  # mine")
    for _ in range(2):
        expect(place.locator(".live-state")).to_contain_text("what is shown below is from before")
        expect(place.locator(".cm-content")).to_contain_text("# mine")
        page.reload()
    place.get_by_role("button", name="Reset").click()
    expect(place.locator(".live-state")).not_to_contain_text("from before")
    page.reload()
    assert place.locator(".cm-content").inner_text() == written


@without_python
def test_reset_page_asks_first_and_puts_every_cell_back(page: Any, address: str) -> None:
    page.goto(address + FIRST)
    page.wait_for_selector(DRESSED, state="attached")
    codes = page.locator(".cm-content")
    ids = ["mul-backward", page.evaluate(LAST)]
    before, mine = codes.all_inner_texts(), ["mine = 1"] * 2
    as_written = [cell(page, id).locator(".cm-content").inner_text() for id in ids]
    for id, text in zip(ids, mine, strict=True):
        write(page, id, text)
    for answer, expected in (("false", mine), ("true", as_written)):
        page.evaluate(f"window.confirm = (text) => {{ window.asked = text; return {answer}; }}")
        page.get_by_role("button", name="Reset page").click()
        assert "What you have written here is lost" in page.evaluate("asked")
        assert [cell(page, id).locator(".cm-content").inner_text() for id in ids] == expected
    page.reload()
    page.wait_for_selector(DRESSED, state="attached")
    assert codes.all_inner_texts() == before


def test_the_answers_are_saved_as_a_notebook_that_grade_takes(page: Any, address: str, tmp_path: Path) -> None:
    from tinygrad_edu.course.cli import main

    page.goto(address + FIRST)
    write(page, "mul-backward", "def mul_backward(grad_output, a, b):\n    return grad_output * b, grad_output * a")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as notebook").click()
    (tmp_path / "ada").mkdir()
    notebook = tmp_path / "ada" / f"{LESSON}.ipynb"
    saved.value.save_as(notebook)
    sources = {one["id"]: "".join(one["source"]) for one in json.loads(notebook.read_text())["cells"]}
    assert "grad_output * b, grad_output * a" in sources["mul-backward"]
    assert main(["check", str(notebook)]) in (0, 1)


@pytest.mark.long
def test_what_needs_pytorch_itself_keeps_its_recorded_output_and_says_so(page: Any, address: str) -> None:
    page.goto(address + FIRST)
    place = cell(page, "relu-at-0")
    recorded = place.locator(".cell_output").inner_text()
    expect(place.locator(".live-state")).to_contain_text("PyTorch itself")
    run(page, "relu-at-0")
    expect(place.locator(".live-state")).to_contain_text("Shows what was recorded")
    assert place.locator(".cell_output").inner_text() == recorded
    write(page, "relu-at-0", "import torch")
    run(page, "relu-at-0")
    expect(place.locator(".traceback")).to_contain_text("PyTorch does not run in a browser")


@pytest.mark.long
def test_a_live_page_is_clean_for_axe_in_both_themes(page: Any, address: str) -> None:
    for path in ("", FIRST):
        page.goto(address + path)
        page.wait_for_selector(DRESSED, state="attached")
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            assert complaints(page, "article") == []


OUTSIDE_THE_STAGE = """() => {
    const { left, right } = document.querySelector(".tgv-frame").getBoundingClientRect();
    const boxes = [...document.querySelectorAll(".tgv-frame svg text")].map((one) => one.getBoundingClientRect());
    return boxes.filter((box) => box.width && (box.left < left || box.right > right)).length;
}"""


@pytest.mark.long
@without_python
def test_a_phone_shows_it_all_without_a_scrollbar_sideways(page: Any, address: str) -> None:
    page.emulate_media(reduced_motion="reduce")
    page.goto(address)
    page.wait_for_selector("html[data-tgv-ready]", state="attached")
    expect(page.locator("[data-plays]")).to_have_count(0)  # it stands still where motion is unwanted
    for width, height in ((390, 844), (360, 740)):
        page.set_viewport_size({"width": width, "height": height})
        for path in (FIRST, ""):
            page.goto(address + path)
            page.wait_for_selector(DRESSED, state="attached")
            eventually(lambda: page.evaluate("document.documentElement.scrollWidth <= innerWidth"), True)
        page.wait_for_selector("html[data-tgv-ready]", state="attached")
        eventually(lambda: page.evaluate(OUTSIDE_THE_STAGE), 0)


@without_python
def test_on_a_phone_the_graph_is_on_the_first_screen_and_stop_stays_in_reach(page: Any, address: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(address)
    page.wait_for_selector("html[data-tgv-ready]", state="attached")
    expect(page.locator(".tgv-frame svg")).to_be_in_viewport(ratio=1)
    page.goto(address + FIRST)
    page.wait_for_selector(DRESSED, state="attached")
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight / 2)")
    expect(page.get_by_role("button", name="Stop")).to_be_in_viewport(ratio=1)


def texts(path: Path) -> Iterator[bytes]:
    """What a file of the site holds, as it is and unpacked."""
    content = path.read_bytes()
    yield gzip.decompress(content) if path.suffix == ".pack" else content
    for packed in re.findall(rb"[A-Za-z0-9+/]{100,}={0,2}", content) if path.suffix in {".html", ".js"} else ():
        with suppress(zlib.error, ValueError):
            yield zlib.decompress(base64.b64decode(packed, validate=True))


def test_no_file_names_a_folder_of_the_machine_that_built_it(site: Path) -> None:
    own = {Path(one) for one in (sys.prefix, sys.base_prefix) if len(one) > 8}
    own |= {Path(tinygrad_edu.__file__).parents[1], site}
    names = [str(folder).encode() for folder in own]
    files = [path for path in site.rglob("*") if path.is_file()]
    assert any(b"Error detected in" in text for path in files if path.suffix == ".pack" for text in texts(path))
    assert [path.name for path in files for text in texts(path) if any(name in text for name in names)] == []


@pytest.mark.long
def test_in_firefox_input_asks_in_the_output_and_a_loop_ends_with_stop(address: str, tab: Any) -> None:
    tab.open(address + FIRST)
    id = tab.evaluate(
        """JSON.parse(document.getElementById("tgv-live-page").textContent).cells
            .find(({ id }) => document.querySelector(`.tag_cell-${id} .cell_input`)).id"""
    )
    code = json.dumps("print('Hello', input('Who? '))\nwhile True: pass")
    tab.evaluate(f"localStorage.setItem('tinygrad-edu:{LESSON}/{id}', {code})")
    tab.wait("document.querySelector('.cm-editor')")  # left while its modules load, a page reports that one did not
    tab.open(address + FIRST)
    tab.wait("document.querySelector('html[data-python-ready]')")
    place = f"document.querySelector('.tag_cell-{id}')"
    tab.evaluate(f"[...{place}.querySelectorAll('button')].find((one) => one.textContent.includes('Run')).click()")
    tab.wait(f"{place}.querySelector('.live-asks input') || {place}.querySelector('.traceback')")
    if tab.evaluate("'Suspending' in WebAssembly"):
        tab.evaluate(f"{place}.querySelector('.live-asks input').value = 'Ada'")
        tab.evaluate(f"{place}.querySelector('.live-asks').requestSubmit()")
        tab.wait(f"{place}.querySelector('.cell_output').textContent.includes('Hello Ada')")
        tab.evaluate("[...document.querySelectorAll('button')].find((one) => one.textContent.includes('Stop')).click()")
        tab.wait(f"{place}.querySelector('.live-state').textContent.includes('Stopped')")
    else:
        said = tab.evaluate(f"{place}.querySelector('.traceback').textContent")
        assert "write the value into the program instead" in said
    assert tab.wrong == []


@pytest.mark.long
def test_in_firefox_the_front_page_plays_and_answers(address: str, tab: Any) -> None:
    tab.open(address)
    tab.wait("document.querySelector('[data-plays] .tgv-controls [aria-label=Pause]')")
    tab.wait("document.querySelector('html[data-python-ready]')")
    pills = "[...document.querySelectorAll('.tgv-pill')]"
    tab.evaluate(f"{pills}.find((pill) => pill.textContent.includes('no_grad')).click()")
    tab.wait("document.querySelector('.output.widget')?.textContent.includes('Line 4 now runs under no_grad')")
    assert tab.evaluate("document.querySelector('.tgv-badge').dataset.agree") == "true"
    assert tab.wrong == []
    assert [url for url in tab.requested if not url.startswith((address, "blob:", "data:"))] == []


def test_from_a_disk_it_is_the_page_for_reading_and_says_so(fresh: Any, site: Path) -> None:
    page = fresh(offline=True)
    page.goto((site / FIRST).as_uri())
    page.wait_for_selector("html[data-tgv-ready]", state="attached")
    expect(page.locator(".live-page-bar")).to_contain_text("Opened from a disk")


def test_a_live_explorer_has_pytorchs_recording_before_anything_is_pressed_in_it(page: Any, address: str) -> None:
    page.goto(address)
    page.wait_for_selector(READY, state="attached")
    page.locator(".tgv-explorer").get_by_role("button", name="copy link").click()
    expect(page.locator(".output.widget .tgv-badge")).to_have_attribute("data-agree", "true")


@pytest.mark.long
def test_where_storage_is_refused_a_lesson_works(storeless: Any, address: str) -> None:
    page = storeless
    page.goto(address + FIRST)
    id = page.evaluate(LAST)
    write(page, id, "print(6 * 7)")
    run(page, id)
    expect(cell(page, id).locator(".cell_output")).to_contain_text("42")
