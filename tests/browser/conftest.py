"""One browser for all tests here, which run once more if they fail."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.harness import NoBrowser, new_page, start_browser, uninvited

HERE = "tests/browser/"
# WebAssembly is compiled once, quickly: each page of the live site starts a Python anew, and a better code would take
# longer to compile than it saves.
QUICKLY_COMPILED = "--js-flags=--liftoff-only"
HANGS_S = 900  # the site that runs Python is built within one test, in minutes


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test here that fails runs once more. The summary shows this as "1 rerun".

    It drives a browser, a server and a kernel, three programs that are not ours. It may run again: each
    fixture first puts its page into the state that the test starts from.
    """
    for item in items:
        if item.nodeid.startswith(HERE):
            item.add_marker(pytest.mark.flaky(reruns=1))
            # Some of Playwright's calls, such as `evaluate`, have no time limit, and a signal that raises inside its
            # loop breaks it for good. So a test that hangs ends its process; a parallel run starts another.
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


@pytest.fixture
def fresh(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens pages in contexts of their own, which are closed at the end of the test."""
    contexts = []

    def opened(**context: Any) -> Any:
        page = new_page(browser, **context)
        contexts.append(page.context)
        return page

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture(autouse=True)
def nothing_uninvited() -> Iterator[None]:
    """No page opens a dialog, or writes to the clipboard, unless the test asks for it."""
    uninvited.clear()
    yield
    assert uninvited == []
