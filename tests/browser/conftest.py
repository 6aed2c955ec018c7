"""Fixtures: one JupyterLab and one browser for all tests here, a desk for the tests of each file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from support.harness import Desk, Lab, NoBrowser, start_browser, start_lab

HERE = "tests/browser/"
# WebAssembly is compiled once, quickly: each page of the live site starts a Python anew, and to compile it better as well takes
# longer than it then saves.
QUICKLY_COMPILED = "--js-flags=--liftoff-only"
HANGS_S = 900  # the site that runs Python is built within one test, in minutes


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test here that fails runs once more, which the summary tells as "1 rerun".

    It drives a browser, a server and a kernel, three programs that are not ours. Each fixture of a test begins with putting
    its page into the state that the test starts from, so that it may.
    """
    for item in items:
        if item.nodeid.startswith(HERE):
            item.add_marker(pytest.mark.flaky(reruns=1))
            # Some of Playwright's calls, `evaluate` among them, have no limit of their own, and a signal that raises inside its
            # loop breaks it for good. So what hangs ends its process; of a parallel run, another one goes on (tests/conftest.py).
            item.add_marker(pytest.mark.timeout(HANGS_S, method="thread"))


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    try:
        with start_browser(QUICKLY_COMPILED) as started:
            yield started
    except NoBrowser as reason:
        # A laptop without a browser skips these tests; where CI is set, that would hide a fault.
        if os.environ.get("CI"):
            pytest.fail(f"the browser tests cannot run: {reason}")
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    from support.forked_kernels import CONFIGURATION  # Jupyter's server, which no other test needs

    with start_lab(
        tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("lessons"), configuration=CONFIGURATION
    ) as running:
        yield running


@pytest.fixture(scope="session")
def free_pages() -> dict[tuple[int, int], list[Any]]:
    """Pages in which JupyterLab is loaded, and no notebook is open."""
    return {}


@pytest.fixture(scope="module")
def desk(browser: Any, lab: Lab, free_pages: dict[tuple[int, int], list[Any]]) -> Iterator[Desk]:
    """A desk for the tests of one file; at its end, a notebook whose console showed an error fails."""
    working = Desk(browser, lab, free_pages)
    yield working
    working.close()
    errors = [error for notebook in working.notebooks for error in notebook.faults()]
    assert errors == [], "the browser's console shows errors"


@pytest.fixture(autouse=True)
def put_away(request: pytest.FixtureRequest) -> Iterator[None]:
    """What one test has opened for itself is closed at its end: another test can have the page."""
    working = request.getfixturevalue("desk") if "desk" in request.fixturenames else None
    before = len(working.notebooks) if working else 0
    yield
    for notebook in working.notebooks[before:] if working else []:
        working.put_away(notebook)
