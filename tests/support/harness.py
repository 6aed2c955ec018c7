"""Real JupyterLab in real Chromium: its own server, its own browser, and helpers that work them.

The tests and the benchmark of the laboratory share it. A page is never read once: `expect(locator)` waits until the
page says what it should, and `eventually` does so for what no locator tells. Both wait for PATIENCE_S, and a test that
holds ends as soon as it does.

TINYGRAD_EDU_SLOW_PAGE=6 slows every page down six times, as a small laptop would: what holds then does not hang on the
speed of this machine.
"""

import functools
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from tinygrad_edu.course.doctor import browser_for_tests

from . import FOLDERS

PATIENCE_S = 120  # what a slow, loaded machine may take for anything before it is called wrong
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
FLAGS += ["--disable-background-networking", "--disable-component-update"]
QUIET = {"apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False}}
QUIET |= {"docmanager-extension/plugin": {"autosave": False}}


class NoBrowser(RuntimeError):
    """There is nothing to drive; the message says what is missing."""


@functools.cache  # Playwright, asked for the one that it brought, can be started once at a time
def browser_path() -> Path:
    """The browser that `tinygrad-edu doctor` finds.

    Raises:
        NoBrowser: there is none.
    """
    path = browser_for_tests()
    if path is None:
        raise NoBrowser("no Chromium, Chrome or Edge was found: playwright install chromium")
    return path


@contextmanager
def start_browser(*flags: str) -> Iterator[Any]:
    """Chromium without a window, driven by Playwright; with more `flags` than `FLAGS`, if any.

    Raises:
        NoBrowser: Playwright or the browser is not there.
    """
    try:
        from playwright.sync_api import expect, sync_playwright
    except ModuleNotFoundError:
        raise NoBrowser("playwright is not installed") from None
    path = browser_path()
    expect.set_options(timeout=1000 * PATIENCE_S)
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=path, args=[*FLAGS, *flags], timeout=1000 * PATIENCE_S)
        yield started
        started.close()


uninvited: list[str] = []  # dialogs that pages opened, and what they wrote to the clipboard

# A test that asks for a copy puts a function of its own in place of `navigator.clipboard.writeText`.
_TELL_OF_COPIES = """for (const name of ["write", "writeText"]) {
    const own = globalThis.Clipboard?.prototype[name];
    if (own) Clipboard.prototype[name] = function (what) { uninvitedCopy(String(what)); return own.call(this, what); };
}"""


def _opened(dialog: Any) -> None:
    if dialog.type == "beforeunload":  # JupyterLab's, of a notebook that is not saved
        dialog.accept()
        return
    uninvited.append(f"{dialog.type}: {dialog.message}")
    dialog.dismiss()


def new_page(browser: Any, **context: Any) -> Any:
    """A page with a context of its own, as patient and as slow as the whole harness; `page.context.close()` ends it."""
    opened = browser.new_context(**context)
    opened.set_default_timeout(1000 * PATIENCE_S)
    opened.on("dialog", _opened)
    opened.expose_function("uninvitedCopy", lambda text: uninvited.append(f"clipboard: {text}"))
    opened.add_init_script(_TELL_OF_COPIES)
    page = opened.new_page()
    rate = float(os.environ.get("TINYGRAD_EDU_SLOW_PAGE", "1"))
    if rate > 1:
        opened.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": rate})
    return page


def eventually(read: Callable[[], Any], wanted: Any) -> None:
    """Assert that `read()` comes to give `wanted`: where Playwright's `expect` has no form for it."""
    end = time.monotonic() + PATIENCE_S
    while (found := read()) != wanted and time.monotonic() < end:
        time.sleep(0.05)
    assert found == wanted, f"{found!r}, where {wanted!r} should have come"


def rest(page: Any, where: str) -> None:
    """Wait until nothing moves any more in the elements that match `where`."""
    page.evaluate(
        """async where => {
            // A page that is not looked at draws no frames, and would wait for one for ever.
            const frame = () => new Promise(resolve => { requestAnimationFrame(resolve); setTimeout(resolve, 1000); });
            await frame(); // what was changed begins to move with the next frame
            await frame();
            const moving = [...document.querySelectorAll(where)].flatMap(one => one.getAnimations({ subtree: true }));
            const ended = one => one.effect.getComputedTiming().endTime < Infinity;
            const ends = moving.filter(ended).map(one => one.finished);
            // Nothing of ours moves for longer; what the browser has paused, out of sight, never ends.
            await Promise.race([Promise.allSettled(ends), new Promise(resolve => setTimeout(resolve, 5000))]);
        }""",
        where,
    )


def complaints(page: Any, where: str) -> list[Any]:
    """What axe-core finds wrong in the elements that match `where`, once they are at rest."""
    from axe_playwright_python.sync_playwright import Axe

    rest(page, where)
    found = Axe().run(page, context=where).response["violations"]
    return [(each["id"], [node["html"][:200] for node in each["nodes"]]) for each in found]


@dataclass
class Lab:
    """A running JupyterLab: where it answers, and the folder it shows."""

    url: str
    root: Path


@contextmanager
def start_lab(home: Path, root: Path, application: str = "lab", configuration: str = "") -> Iterator[Lab]:
    """JupyterLab (or Jupyter `notebook`) on a free port, showing the folder `root`; `home` keeps what it writes."""
    (home / "config").mkdir(exist_ok=True)
    (home / "config" / "jupyter_server_config.py").write_text(configuration)
    settings = home / "settings" / "@jupyterlab"
    for name, values in QUIET.items():
        place = settings / f"{name}.jupyterlab-settings"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(values))
    environment = {**os.environ, **{name: str(home / folder) for name, folder in FOLDERS.items()}}
    runtime = home / "runtime"
    command = [sys.executable, "-m", "jupyter", application, "--no-browser", "--port=0", "--ServerApp.ip=127.0.0.1"]
    command += ["--IdentityProvider.token=", f"--ServerApp.root_dir={root}", "--ServerApp.allow_root=True"]
    name = "LabApp" if application == "lab" else "JupyterNotebookApp"
    command += [f"--{name}.expose_app_in_browser=True"]
    with (home / "lab.log").open("w") as log:
        for _ in range(5):  # between finding a free port and listening on it, another program may take it
            server = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
            if url := _address_of(server, runtime):
                break
        else:
            raise RuntimeError(f"JupyterLab did not start:\n{(home / 'lab.log').read_text()[-2000:]}")
        try:
            yield Lab(url, root)
        finally:
            _stop(server)


def _address_of(server: subprocess.Popen[bytes], runtime: Path) -> str:
    """Where a server answers, which it writes down when it listens; nothing if it ends before that."""
    end = time.monotonic() + PATIENCE_S
    while server.poll() is None and time.monotonic() < end:
        time.sleep(0.1)
        for info in runtime.glob("jpserver-*.json"):
            with suppress(OSError, ValueError):  # half written, or not answering yet
                url = str(json.loads(info.read_text())["url"]).rstrip("/")
                urllib.request.urlopen(f"{url}/api/status", timeout=10).close()
                return url
    _stop(server)
    return ""


def _stop(server: subprocess.Popen[bytes]) -> None:
    """End a server and its kernels, which it would ask politely one by one, for half a minute."""
    with suppress(psutil.NoSuchProcess):
        for process in [*psutil.Process(server.pid).children(recursive=True), server]:
            with suppress(psutil.NoSuchProcess):
                process.kill()
    server.wait()


# In place of the launcher, which JupyterLab opens where nothing else is.
_SHOW_ANOTHER = """async name => {
    const app = window.jupyterapp;
    const panel = await app.commands.execute("docmanager:open", { path: name, factory: "Notebook" });
    for (const other of [...app.shell.widgets("main")]) if (other !== panel) other.dispose();
    app.shell.activateById(panel.id);
}"""
# Whether the page is as it was: nothing open, no question asked.
_PUT_AWAY = """async () => {
    const { shell } = window.jupyterapp;
    if (document.querySelector(".jp-Dialog, body > .lm-Menu")) return false;
    for (const panel of [...shell.widgets("main")]) {
        if (panel.context) panel.context.model.dirty = false;
        panel.dispose();
    }
    await new Promise(resolve => setTimeout(resolve, 100)); // what its widgets say when they go is theirs
    return document.body.dataset.jpThemeLight === "true";
}"""


@dataclass
class Notebook:
    """A notebook open in the browser, its kernel running."""

    page: Any
    path: Path
    shared: bool = False  # whether its page may show other notebooks afterwards
    closed: bool = False
    errors: list[str] = field(default_factory=list)
    # Words that are no fault of ours. anywidget says these on a page so busy that a module came after two seconds.
    expected: list[str] = field(default_factory=lambda: ["[anywidget] Failed to initialize model."])

    def heard(self, message: Any) -> None:
        if message.type == "error":
            self.errors.append(message.text)

    def raised(self, error: Any) -> None:
        self.errors.append(str(error))

    def faults(self) -> list[str]:
        """What the console said that it should not have."""
        return [error for error in self.errors if not any(words in error for words in self.expected)]

    def command(self, name: str, arguments: dict[str, Any] | None = None) -> None:
        """Execute one of JupyterLab's own commands and wait for its end."""
        does = "async ([name, args]) => { await window.jupyterapp.commands.execute(name, args); }"
        self.page.evaluate(does, [name, arguments or {}])

    def run_all(self) -> None:
        """Run every cell, as Run > Run All Cells does, and wait until the last has ended."""
        self.command("notebook:run-all-cells")

    def save(self) -> None:
        self.command("docmanager:save")

    def theme(self, name: str) -> None:
        """Switch JupyterLab's theme: "JupyterLab Light" or "JupyterLab Dark"."""
        self.command("apputils:change-theme", {"theme": name})
        light = str(name.endswith("Light")).lower()
        # It hides the page for a frame, and what had the focus loses it.
        self.page.locator(f'body[data-jp-theme-light="{light}"] .jp-Notebook').first.wait_for()
        rest(self.page, "body")

    @contextmanager
    def themed(self, name: str) -> Iterator[None]:
        """JupyterLab in a theme, and afterwards in the light one."""
        self.theme(name)
        try:
            yield
        finally:
            self.theme("JupyterLab Light")

    def interrupt(self) -> None:
        self.command("notebook:interrupt-kernel")

    def python(self, source: str) -> str:
        """Run code in the notebook's kernel, out of sight, and give back what it printed."""
        return str(
            self.page.evaluate(
                """async (code) => {
                    const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
                    const future = kernel.requestExecute({ code, store_history: false });
                    let printed = "";
                    future.onIOPub = ({ header, content }) => {
                        if (header.msg_type === "stream") printed += content.text;
                        if (header.msg_type === "error") printed += content.traceback.join("\\n");
                    };
                    await future.done;
                    return printed;
                }""",
                source,
            )
        )

    def cell(self, number: int) -> Any:
        """The cell at `number`, from 0, scrolled into view."""
        cell = self.page.locator(f'.jp-Notebook .jp-Cell[data-windowed-list-index="{number}"]')
        cell.scroll_into_view_if_needed()
        return cell


class Desk:
    """Opens notebooks in pages and collects what their consoles say. JupyterLab takes longer to load than most tests
    take, so a page whose notebook was put away shows the next one. `free` holds these pages; several desks may share
    it."""

    def __init__(self, browser: Any, lab: Lab, free: list[Any] | None = None):
        self.browser = browser
        self.lab = lab
        self.free = [] if free is None else free
        self.notebooks: list[Notebook] = []

    def open(self, path: Path, *, width: int = 1366, height: int = 768, own_page: bool = False) -> Notebook:
        """Open a notebook (a path in the lab's folder), and wait until its kernel answers. `own_page` loads JupyterLab
        for this notebook alone: for a test about loading, or one that leaves traces."""
        name = path.relative_to(self.lab.root).as_posix()
        viewport, reused = {"width": width, "height": height}, bool(self.free and not own_page)
        page = self.free.pop() if reused else new_page(self.browser, viewport=viewport)
        notebook = Notebook(page, path, shared=not own_page)
        self.notebooks.append(notebook)
        page.on("console", notebook.heard)
        page.on("pageerror", notebook.raised)
        if reused:
            page.set_viewport_size(viewport)
            page.evaluate(_SHOW_ANOTHER, name)
        else:
            page.goto(f"{self.lab.url}/lab/tree/{name}?reset", wait_until="domcontentloaded")
        page.wait_for_function(
            "name => { const shown = window.jupyterapp?.shell?.currentWidget;"
            " return shown?.context?.path === name && shown.content?.model?.cells; }",
            arg=name,
        )
        page.evaluate(
            """async () => {
                const panel = window.jupyterapp.shell.currentWidget;
                await panel.context.ready;
                await panel.sessionContext.ready;
                await panel.sessionContext.session.kernel.info;
            }"""
        )
        page.locator(".jp-Notebook .jp-Cell").first.wait_for()
        return notebook

    def put_away(self, notebook: Notebook) -> None:
        """Close a notebook; its page waits for another one, where it is as it was at first."""
        page = notebook.page
        if notebook.closed:
            return
        notebook.closed = True
        page.remove_listener("console", notebook.heard)
        page.remove_listener("pageerror", notebook.raised)
        if notebook.shared and page.evaluate(_PUT_AWAY):
            self.free.append(page)
        else:
            page.context.close()

    def write(self, name: str, *cells: str) -> Path:
        """A new notebook in the lab's folder with these code cells; one that starts with `#!md` is Markdown."""
        import nbformat  # it takes a second, in every process that reads the tests

        notebook = nbformat.v4.new_notebook()
        notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
        for cell in cells:
            markdown = cell.startswith("#!md")
            make = nbformat.v4.new_markdown_cell if markdown else nbformat.v4.new_code_cell
            notebook.cells.append(make(cell.removeprefix("#!md").strip()))
        path = self.lab.root / name
        nbformat.write(notebook, path)
        return path

    def close(self) -> None:
        for notebook in self.notebooks:
            self.put_away(notebook)
