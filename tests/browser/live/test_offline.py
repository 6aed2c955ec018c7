"""A reader who was here once reads and runs the course without a network, in real Chromium with a service worker."""

import functools
import http.server
import threading
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.outer(start=3), pytest.mark.long]
LESSON = "10_deep_networks/10_deep_networks.html"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


def test_after_one_visit_the_course_and_explore_work_without_a_server(fresh: Any, site: Path) -> None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/"
    page = fresh()
    page.goto(address)
    page.wait_for_selector("html[data-kept]", state="attached")
    server.shutdown()
    server.server_close()
    page.goto(address + LESSON)  # another page than that which was seen
    page.wait_for_selector("html[data-python-ready]", state="attached")
    page.locator(".live-bar button", has_text="Run").first.click()
    expect(page.locator(".cell_output .output").first).to_be_visible()
    assert page.locator(".output.traceback").all_inner_texts() == []
    page.reload()
    page.wait_for_selector("html[data-live]", state="attached")
    page.goto(address + "explore.html")
    page.wait_for_selector("html[data-shown]", state="attached")
    expect(page.frame_locator("main > iframe").locator(".tgv-frame svg")).to_be_visible()
