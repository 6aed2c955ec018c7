"""What a reader of the live site waits for and loads, in real Chromium: milliseconds, bytes as a host gzips them, memory.

    python benchmarks/site.py [FOLDER]

FOLDER is a site that `tinygrad-edu site --live` wrote; without one it is built first. "First picture" is from the start of
the navigation until the picture that answers to a switch of the front page is on the screen, by Python in that page; the
switch is pressed as soon as it is there. Cold is a browser that has never seen the site. A click is timed afterwards, from
the click to the frame after its picture. Files come from this machine: the time that a network takes comes on top.
"""

from __future__ import annotations

import functools
import gzip
import http.server
import json
import os
import re
import statistics
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.harness import new_page, start_browser

from tinygrad_edu.course.site import build

LESSON = "01_slopes_and_local_derivatives/01_slopes_and_local_derivatives.html"
ROUNDS = 20

FIRST_PICTURE = """async () => {
    const frame = () => new Promise(resolve => setTimeout(resolve, 15));
    const pill = () => [...document.querySelectorAll(".tgv-explorer .tgv-pill")].find(one => one.textContent.includes("no_grad"));
    while (!pill() || !document.documentElement.hasAttribute("data-live")) await frame();
    pill().click();
    const account = () => document.querySelector(".output.widget .tgv-account")?.textContent ?? "";
    while (!account().includes("now runs under")) await frame();
    await new Promise(requestAnimationFrame);
    return performance.now();
}"""
CLICKS = """async rounds => {
    const account = document.querySelector(".output.widget .tgv-account");
    const took = [];
    for (let round = 0; round < rounds; round++) {
        const pill = [...document.querySelectorAll(".tgv-explorer .tgv-pill")].find(one => one.textContent.includes("no_grad"));
        const before = account.textContent;
        const start = performance.now();
        pill.click();
        while (account.textContent === before) await new Promise(requestAnimationFrame);
        await new Promise(requestAnimationFrame);
        took.push(performance.now() - start);
        await new Promise(resolve => setTimeout(resolve, 600)); // what is drawn afterwards is not part of the answer
    }
    return took;
}"""
LOADED = "() => performance.getEntriesByType('navigation')[0].loadEventEnd"


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """A folder on a port of this machine."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def gzipped(folder: Path, asked: set[str]) -> float:
    """Megabytes of the files at these addresses, each as a host would gzip it."""
    files = {
        folder / (unquote(urlsplit(one).path).lstrip("/") or "index.html") for one in asked if one.startswith("http")
    }
    return sum(len(gzip.compress(file.read_bytes(), 6)) for file in files if file.is_file()) / 1e6


def memory(browser: Any) -> float:
    """Megabytes that the largest page of this browser, its worker among it, has for itself; Linux alone tells."""
    processes = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    sizes = [0.0]
    for process in processes:
        if process["type"] == "renderer":
            told = Path(f"/proc/{process['id']}/smaps_rollup").read_text()
            sizes.append(sum(int(size) for size in re.findall(r"Private_\w+:\s+(\d+) kB", told)) / 1000)
    return max(sizes)


def measure(folder: Path) -> dict[str, float]:
    """Every number, by name."""
    found: dict[str, float] = {}
    with served(folder) as address, start_browser() as browser:
        page = new_page(browser, viewport={"width": 1366, "height": 768})
        asked: set[str] = set()
        page.on("request", lambda request: asked.add(request.url))
        for name in ("cold", "warm"):
            page.goto(address)
            found[f"front page read, {name}"] = page.evaluate(LOADED)
            found[f"first picture, {name}"] = page.evaluate(FIRST_PICTURE)
            if name == "cold":
                found["loaded up to the first picture, MB"] = gzipped(folder, asked)
        found["click to picture"] = statistics.median(page.evaluate(CLICKS, ROUNDS))
        found["memory of the front page, MB"] = memory(browser)
        page.context.close()
    with served(folder) as address, start_browser() as browser:
        page = new_page(browser, viewport={"width": 1366, "height": 768})
        asked = set()
        page.on("request", lambda request: asked.add(request.url))
        page.goto(address + LESSON)
        found["first lesson read, cold"] = page.evaluate(LOADED)
        page.wait_for_selector("html[data-python-ready]", state="attached")
        found["loaded for the first lesson, MB"] = gzipped(folder, asked)
        page.get_by_role("button", name="Run all").click()
        page.wait_for_selector("html[data-all-ran]", state="attached")
        found["loaded for the first lesson with all cells run, MB"] = gzipped(folder, asked)
        found["memory of the first lesson with all cells run, MB"] = memory(browser)
        page.context.close()
    return found


def given(arguments: list[str]) -> Path | None:
    """The folder that is named; a live site lies there, or nothing is measured."""
    if not arguments:
        return None
    folder = Path(arguments[0])
    if not (folder / "_static" / "live" / "pyodide.mjs").is_file() or not (folder / LESSON).is_file():
        sys.exit(f"{folder} holds no live site with all lessons: write one with `tinygrad-edu site --live -o {folder}`")
    return folder


def main() -> None:
    """Print every number, a line for each, and all of them as JSON."""
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as scratch:
        folder = given(sys.argv[1:]) or build(Path(scratch) / "site", live=True).parent
        found = measure(folder)
    print(f"{os.cpu_count()} cores, load {before:.1f} before and {os.getloadavg()[0]:.1f} after")
    for name, value in found.items():
        print(f"{name:55} {value:8.1f}")
    print(json.dumps({name: round(value, 1) for name, value in found.items()}))


if __name__ == "__main__":
    main()
