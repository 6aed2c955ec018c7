"""Look at this installation and say what works, what does not, and the one command that mends it."""

import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module, metadata, util
from pathlib import Path

INSTALL_COURSE = "pip install 'tinygrad-edu[course]'"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")


@dataclass
class Finding:
    """One line of the report; `needed` tells whether the lessons stop working without it."""

    subject: str
    good: bool
    detail: str
    needed: bool = True


def findings() -> Iterator[Finding]:
    """Look at each thing the course needs, the cheap ones first.

    >>> next(findings()).subject
    'Python'
    """
    yield Finding("Python", sys.version_info >= (3, 11), f"{platform.python_version()} in {sys.prefix}")
    for name in ("numpy", "jupyterlab", "ipywidgets", "anywidget", "pygraphviz"):
        yield _package(name)
    yield _lessons()
    yield _torch()
    yield _browser()


def report() -> int:
    """Print the findings; 0 when the lessons will work, 1 when something they need is missing."""
    healthy = True
    for finding in findings():
        mark = "ok  " if finding.good else "MISS" if finding.needed else "note"
        print(f"{mark}  {finding.subject:<12} {finding.detail}", flush=True)
        healthy &= finding.good or not finding.needed
    print("The lessons will work here." if healthy else "Something the lessons need is missing: see MISS above.")
    return 0 if healthy else 1


def _package(name: str) -> Finding:
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Finding(name, False, f"not installed: {INSTALL_COURSE}")
    try:
        import_module(name)
    except Exception as error:  # a library in C may also be missing what it links to, or be built for another NumPy
        return Finding(name, False, f"{version} cannot be loaded ({error}): pip install --force-reinstall {name}")
    return Finding(name, True, version)


def _lessons() -> Finding:
    from .working_copy import lesson_files, lessons_root

    try:
        root = lessons_root()
    except FileNotFoundError as error:
        return Finding("lessons", False, str(error))
    count = sum(path.suffix == ".ipynb" for path in lesson_files(root))
    return Finding("lessons", count > 0, f"{count} notebooks in {root}")


def _torch() -> Finding:
    found = _package("torch")
    found.needed = False
    if not found.good:
        found.detail += "; without it the core and its pictures work, the comparison does not"
    return found


def browser_for_tests() -> Path | None:
    """The Chromium, Chrome or Edge on this machine, or the one that Playwright downloaded; None when there is none."""
    for name in BROWSERS:
        if found := shutil.which(name):
            return Path(found)
    if util.find_spec("playwright") is None:
        return None
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        downloaded = Path(playwright.chromium.executable_path)
    return downloaded if downloaded.exists() else None


def _browser() -> Finding:
    found = browser_for_tests()
    return Finding(
        "browser",
        found is not None,
        str(found) if found else "no Chromium for this project's own tests: playwright install chromium",
        needed=False,
    )
