"""What a reader of the live site waits for in real Chromium, and loads: milliseconds, bytes as gzipped, memory.

    python benchmarks/site.py [FOLDER]

FOLDER is a site that `tinygrad-edu site --live` wrote; without one it is built first, and the time of that is told. All
times are from the start of the navigation. "Live" is a picture whose steps work: the front page and explore.html show a
recorded one first. "By Python" is the picture that Python computes in the page: on the front page it answers to a
switch, which is pressed as soon as it is there; in explore.html it shows the program of a link. Cold is a browser that
has never seen the site. A click is timed afterwards, from the click to the frame after its picture: one switch back and
forth, which Python remembers, and switches that never stood so before. Files come from this machine: the time that a
network takes comes on top.
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
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

sys.path.insert(0, str(Path(__file__).parents[1]))  # before this folder, whose viz.py is not the package
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.harness import new_page, start_browser

from tinygrad_edu.course.site import build

LESSON = "01_slopes_and_local_derivatives/01_slopes_and_local_derivatives.html"
ROUNDS = 20
LOADS = 5

FIRST_PICTURE = """async () => {
    const frame = () => new Promise(resolve => setTimeout(resolve, 15));
    const pills = () => [...document.querySelectorAll(".tgv-explorer .tgv-pill")];
    const pill = () => pills().find(one => one.textContent.includes("no_grad"));
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
        const pills = [...document.querySelectorAll(".tgv-explorer .tgv-pill")];
        const pill = pills.find(one => one.textContent.includes("no_grad"));
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
# Each press leads to switches that have not stood so before: a Gray code over those in sight.
FRESH = """async ([rounds, pause]) => {
    const root = document.querySelector(".tgv-explorer");
    const took = [];
    for (let round = 1; round <= rounds; round++) {
        const pills = [...root.querySelectorAll(".tgv-listing .tgv-pill")];
        if (pause) await new Promise(resolve => setTimeout(resolve, pause));
        const start = performance.now();
        pills[Math.log2(round & -round)].click();
        while (root.hasAttribute("aria-busy")) await new Promise(resolve => setTimeout(resolve, 1));
        await new Promise(requestAnimationFrame);
        took.push(performance.now() - start);
    }
    return took;
}"""
LIVE = """() => new Promise(resolve => {
    const look = () => document.documentElement.hasAttribute('data-tgv-ready')
        ? resolve(performance.now()) : setTimeout(look, 10);
    look();
})"""
SHOWN = LIVE.replace("data-tgv-ready", "data-shown")
READ = LIVE.replace(
    "document.documentElement.hasAttribute('data-tgv-ready')", "document.querySelector('main > iframe')"
)
LINKED = "x = T.tensor(3.0, requires_grad=True)\ny = x * x * 2 + x\ny.backward()"
PRESSED = """x = T.tensor([1.0, 2.0], requires_grad=True)
w = T.tensor([3.0, 1.0], requires_grad=True)
y = x * w
z = (y * y).sum()
L = z.relu() + x.sum()
L.backward()"""
THINKS = 2000  # milliseconds between two presses of a reader who looks at the answer
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
            found[f"front page: read, {name}"] = page.evaluate(LOADED)
            found[f"front page: live picture, {name}"] = page.evaluate(LIVE)
            found[f"front page: picture by Python, {name}"] = page.evaluate(FIRST_PICTURE)
            if name == "cold":
                found["front page: loaded up to that picture, MB"] = gzipped(folder, asked)
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


def explored(folder: Path) -> dict[str, float]:
    """What a reader of explore.html waits for, cold: with its first example, and with the program of a link."""
    # Here and not above: the kernels of a build import this file, and viz greets a notebook only at its first import.
    from viz.export.link import link

    found: dict[str, float] = {}
    for name, address in (("live picture", "explore.html"), ("a link's picture by Python", link(LINKED))):
        with served(folder) as home, start_browser() as browser:
            page = new_page(browser, viewport={"width": 1366, "height": 768})
            asked: set[str] = set()
            page.on("request", lambda request, asked=asked: asked.add(request.url))
            page.goto(home + address)
            found["explore.html: read"] = page.evaluate(READ)
            found[f"explore.html: {name}"] = page.evaluate(SHOWN)
            first = {one for one in asked if "/later/" not in one}  # these come afterwards
            found["explore.html: loaded up to a picture by Python, MB"] = gzipped(folder, first)
            page.context.close()
    return found


def pressed(folder: Path) -> dict[str, float]:
    """How long a switch takes that was never pressed: by a reader who looks, and right after the first picture."""
    from viz.export.link import link

    hurried: list[float] = []
    with served(folder) as home, start_browser() as browser:
        for last in range(LOADS):
            page = new_page(browser, viewport={"width": 1366, "height": 768})
            page.goto(home + link(PRESSED))
            page.wait_for_selector("html[data-shown]", state="attached")
            stage = page.frames[-1]
            hurried += stage.evaluate(FRESH, [1, 0])
            if last == LOADS - 1:
                looked = stage.evaluate(FRESH, [ROUNDS, THINKS])
            page.context.close()
    return {
        "explore.html: fresh switch, right after the picture": statistics.median(hurried),
        "explore.html: fresh switch, after a look": statistics.median(looked),
        "explore.html: fresh switch, after a look, slowest": max(looked),
    }


def written(folder: Path) -> dict[str, float]:
    """What the site takes on a disk."""
    sizes = {path: path.stat().st_size / 1e6 for path in folder.rglob("*") if path.is_file()}
    largest = max(size for path, size in sizes.items() if path.suffix == ".html")
    return {"size of the site, MB": sum(sizes.values()), "its largest page, MB": largest}


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
        start = time.perf_counter()
        folder = given(sys.argv[1:]) or build(Path(scratch) / "site", live=True).parent
        took = {} if sys.argv[1:] else {"built, s": time.perf_counter() - start}
        found = {**took, **written(folder), **measure(folder), **explored(folder), **pressed(folder)}
    print(f"{os.cpu_count()} cores, load {before:.1f} before and {os.getloadavg()[0]:.1f} after")
    for name, value in found.items():
        print(f"{name:55} {value:8.1f}")
    print(json.dumps({name: round(value, 1) for name, value in found.items()}))


if __name__ == "__main__":
    main()
