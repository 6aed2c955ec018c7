"""The live site of some lessons, with explore.html: built once for these tests, served as any static host does."""

import functools
import http.server
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from support import firefox

Serve = Callable[[Path], str]
SOME = ("01", "10")  # what the tests here ask for; the long ring builds all


def built(out: Path, only: Sequence[str]) -> Path:
    """The folder of a live site. Where its parts cannot be fetched, the tests are skipped; with CI set, they fail."""
    from tinygrad_edu.course.site import SiteError, build

    try:
        return build(out, only, live=True).parent
    except SiteError as error:
        if "cannot be fetched" in str(error) and not os.environ.get("CI"):
            pytest.skip(str(error))
        raise


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("live") / "site", SOME)


@pytest.fixture(scope="session")
def whole_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("whole") / "site", ())


@pytest.fixture(scope="session")
def served() -> Iterator[Serve]:
    """Serve a folder, with no header of its own; each folder at another origin. Returns the origin with a slash."""
    running = []

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    def serve(folder: Path) -> str:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        running.append(server)
        return f"http://127.0.0.1:{server.server_port}/"

    yield serve
    for server in running:
        server.shutdown()
        server.server_close()


REFUSED = """for (const name of ["localStorage", "sessionStorage", "indexedDB", "caches"])
    Object.defineProperty(window, name, { get() { throw new DOMException("refused", "SecurityError"); } });"""


@pytest.fixture
def storeless(fresh: Callable[..., Any]) -> Any:
    """A page to which every kind of storage is refused."""
    page = fresh(service_workers="block", viewport={"width": 900, "height": 700})
    page.add_init_script(REFUSED)
    return page


@pytest.fixture
def tab(tmp_path: Path) -> Iterator[Any]:
    """A tab of Firefox."""
    if firefox.path() is None:
        pytest.skip("no Firefox was found: apt-get install firefox-esr, or https://www.mozilla.org/firefox")
    with firefox.started(tmp_path) as opened:
        yield opened
