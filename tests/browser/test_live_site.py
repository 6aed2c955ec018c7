"""`tinygrad-edu site --live`: Python, NumPy and Graphviz in the page, in real Chromium, with nothing from outside."""

from __future__ import annotations

import functools
import http.server
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from support.harness import complaints, eventually, new_page

from tinygrad_edu.course.working_copy import lessons_root

pytest.importorskip("furo")
pytest.importorskip("myst_nb")

LESSON = "01_slopes_and_local_derivatives"
FIRST = f"{LESSON}/{LESSON}.html"
READY = "html[data-python-ready]"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tinygrad_edu.course.site import SiteError, build

    try:
        return build(tmp_path_factory.mktemp("live") / "site", live=True).parent
    except SiteError as error:
        if "cannot be fetched" in str(error) and not os.environ.get("CI"):
            pytest.skip(str(error))
        raise


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    """A page of its own browser context; that it asks for nothing outside, and its console is clean, is checked at the end."""
    opened = new_page(browser, viewport={"width": 1366, "height": 768}, color_scheme="light")
    wrong: list[str] = []
    opened.on(
        "console",
        lambda message: (
            message.type == "error" and "favicon" not in str(message.location) and wrong.append(message.text)
        ),
    )
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on(
        "request", lambda request: request.url.startswith((address, "blob:", "data:")) or wrong.append(request.url)
    )
    yield opened
    opened.context.close()
    assert wrong == []


def cell(page: Any, id: str) -> Any:
    return page.locator(f".tag_cell-{id}")


def write(page: Any, id: str, text: str) -> None:
    editor = cell(page, id).locator(".cm-content")
    editor.click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def run(page: Any, id: str) -> None:
    cell(page, id).get_by_role("button", name="Run").click()


def test_the_page_is_read_before_python_is_there(page: Any, address: str) -> None:
    page.route("**/live/pyodide*", lambda route: None)  # never answered
    page.goto(address + FIRST)
    expect(page.locator("h1").first).to_contain_text("Slopes")
    page.wait_for_selector("html[data-tgv-ready]", state="attached")
    expect(page.locator(".tgv-live .tgv").first).to_be_visible()
    expect(page.locator(".live-python")).to_contain_text("…")
    page.unroute_all(behavior="ignoreErrors")


PRINTED = """() => [...document.querySelectorAll("[class*=tag_cell-]")].map((cell) => [
    [...cell.classList].find((name) => name.startsWith("tag_cell-")),
    [...cell.querySelectorAll(".cell_output .stream, .cell_output .output.text_plain")]
        .map((part) => part.textContent.trim()).join("\\n"),
])"""
PAGES = [
    path.relative_to(lessons_root()).with_suffix(".html").as_posix() for path in sorted(lessons_root().rglob("*.ipynb"))
]


@pytest.mark.parametrize("path", PAGES)
def test_every_cell_runs_in_order_with_the_numbers_of_the_native_run(page: Any, address: str, path: str) -> None:
    page.goto(address + path)
    page.wait_for_selector(READY, state="attached")
    native = page.evaluate(PRINTED)
    page.get_by_role("button", name="Run all").click()
    page.wait_for_selector("html[data-all-ran]", state="attached")
    assert page.locator(".output.traceback").all_inner_texts() == []
    assert page.evaluate(PRINTED) == native


def test_a_switch_answers_with_pytorch_from_the_tape(page: Any, address: str) -> None:
    page.goto(address)
    page.wait_for_selector(READY, state="attached")
    page.locator(".tgv-live").get_by_role("button", name="no_grad").first.click()
    live = page.locator(".output.widget")
    expect(live.locator(".tgv").first).to_be_visible()
    live.get_by_role("button", name="no_grad").first.click()
    expect(live).to_contain_text("Line 4 now runs under no_grad")
    expect(live).to_contain_text("PyTorch")
    expect(live).not_to_contain_text("does not run in a browser, and this change")


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


def test_an_endless_loop_ends_with_stop_and_the_page_works_on(page: Any, address: str) -> None:
    page.goto(address + FIRST)
    page.wait_for_selector(READY, state="attached")
    first = page.locator(".cell:has(.cm-content)").first
    id = page.evaluate("JSON.parse(document.getElementById('tgv-live-page').textContent).cells.at(-1).id")
    write(page, id, "while True:\n    pass")
    run(page, id)
    expect(cell(page, id).locator(".live-state")).to_have_text("Runs …")
    page.get_by_role("button", name="Stop").click()
    expect(cell(page, id).locator(".live-state")).to_contain_text("Stopped")
    write(page, id, "print(6 * 7)")
    run(page, id)
    expect(cell(page, id).locator(".cell_output")).to_contain_text("42")
    expect(first.locator(".live-state")).not_to_contain_text("error")


def test_a_reload_keeps_what_was_written_and_reset_brings_the_lesson_back(page: Any, address: str) -> None:
    page.goto(address + FIRST)
    written = cell(page, "mul-backward").locator(".cm-content").inner_text()
    write(page, "mul-backward", "mine = 1")
    page.reload()
    expect(cell(page, "mul-backward").locator(".cm-content")).to_have_text("mine = 1")
    cell(page, "mul-backward").get_by_role("button", name="Reset").click()
    assert cell(page, "mul-backward").locator(".cm-content").inner_text() == written
    page.reload()
    assert cell(page, "mul-backward").locator(".cm-content").inner_text() == written


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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_live_page_is_clean_for_axe(page: Any, address: str, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    page.goto(address + FIRST)
    page.wait_for_selector(READY, state="attached")
    assert complaints(page, "article") == []


def test_a_phone_shows_it_all_without_a_scrollbar_sideways(page: Any, address: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    for path in ("", FIRST):
        page.goto(address + path)
        page.wait_for_selector(READY, state="attached")
        eventually(lambda: page.evaluate("document.documentElement.scrollWidth <= innerWidth"), True)


def test_from_a_disk_it_is_the_page_for_reading_and_says_so(browser: Any, site: Path) -> None:
    page = new_page(browser, offline=True)
    page.goto((site / FIRST).as_uri())
    page.wait_for_selector("html[data-tgv-ready]", state="attached")
    expect(page.locator(".live-page-bar")).to_contain_text("Opened from a disk")
    page.context.close()
