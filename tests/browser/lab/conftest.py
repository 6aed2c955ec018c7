"""Fixtures: one JupyterLab for all tests here, a desk for the tests of each file.

A parallel run gives this folder to one process: to load a server or a page of JupyterLab takes longer than most tests.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from support.hands import Hands
from support.harness import Desk, Lab, start_lab


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    from support.forked_kernels import CONFIGURATION  # Jupyter's server, which no other test needs

    home, lessons = (tmp_path_factory.mktemp(name) for name in ("home", "lessons"))
    with start_lab(home, lessons, configuration=CONFIGURATION) as running:
        yield running


@pytest.fixture(scope="session")
def free_pages() -> list[Any]:
    """Pages in which JupyterLab is loaded, and no notebook is open."""
    return []


@pytest.fixture(scope="module")
def desk(browser: Any, lab: Lab, free_pages: list[Any]) -> Iterator[Desk]:
    """A desk for the tests of one file; at its end, a notebook whose console showed an error fails."""
    working = Desk(browser, lab, free_pages)
    yield working
    working.close()
    errors = [error for notebook in working.notebooks for error in notebook.faults()]
    assert errors == [], "the browser's console shows errors"


@pytest.fixture
def hands(notebook: Any) -> Hands:
    """The first explorer of a file's notebook in its initial state."""
    notebook.cell(0)
    hands = Hands(notebook)
    hands.start_over()
    return hands


@pytest.fixture(autouse=True)
def put_away(request: pytest.FixtureRequest) -> Iterator[None]:
    """What one test has opened for itself is closed at its end: another test can have the page."""
    working = request.getfixturevalue("desk") if "desk" in request.fixturenames else None
    before = len(working.notebooks) if working else 0
    yield
    for notebook in working.notebooks[before:] if working else []:
        working.put_away(notebook)
