"""Fixtures: one JupyterLab and one browser for all tests here, a desk for the tests of each file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from harness import Desk, Lab, NoBrowser, start_browser, start_lab


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    try:
        with start_browser() as started:
            yield started
    except NoBrowser as reason:
        # A laptop without a browser skips these tests; where CI is set, that would hide a fault.
        if os.environ.get("CI"):
            pytest.fail(f"the browser tests cannot run: {reason}")
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with start_lab(tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("lessons")) as running:
        yield running


@pytest.fixture(scope="module")
def desk(browser: Any, lab: Lab) -> Iterator[Desk]:
    """A desk for the tests of one file; at its end, a notebook whose console showed an error fails."""
    working = Desk(browser, lab)
    yield working
    working.close()
    errors = [error for notebook in working.notebooks for error in notebook.faults()]
    assert errors == [], "the browser's console shows errors"
