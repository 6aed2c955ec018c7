"""Real JupyterLab in real Chromium: a server of its own, a browser of its own, and hands to work them with.

The tests and the benchmark of the laboratory share it.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
QUIET = {
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "docmanager-extension/plugin": {"autosave": False},
}


class NoBrowser(RuntimeError):
    """There is nothing to drive; the message says what is missing."""


@contextmanager
def start_browser() -> Iterator[Any]:
    """Chromium without a window, driven by Playwright.

    Raises:
        NoBrowser: Playwright or the browser is not there.
    """
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        raise NoBrowser("playwright is not installed") from None
    path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if path is None:
        raise NoBrowser(f"no browser found (looked for {', '.join(BROWSERS)})")
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=path, args=FLAGS)
        yield started
        started.close()


@dataclass
class Lab:
    """A running JupyterLab: where it answers, and the folder it shows."""

    url: str
    root: Path


@contextmanager
def start_lab(home: Path, root: Path, application: str = "lab") -> Iterator[Lab]:
    """JupyterLab (or Jupyter `notebook`) on a free port, showing the folder `root`; what it writes is kept in `home`."""
    settings = home / "settings" / "@jupyterlab"
    for name, values in QUIET.items():
        place = settings / f"{name}.jupyterlab-settings"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(values))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    places = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "IPYTHONDIR": "ipython",
    }
    environment = {**os.environ, **{name: str(home / folder) for name, folder in places.items()}}
    command = [
        sys.executable,
        "-m",
        "jupyter",
        application,
        "--no-browser",
        f"--port={port}",
        "--ServerApp.port_retries=0",
    ]
    command += ["--ServerApp.ip=127.0.0.1", "--IdentityProvider.token=", f"--ServerApp.root_dir={root}"]
    name = "LabApp" if application == "lab" else "JupyterNotebookApp"
    command += [f"--{name}.expose_app_in_browser=True", "--ServerApp.allow_root=True"]
    log = (home / "lab.log").open("w")
    server = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_for(f"{url}/api/status", server, home / "lab.log")
        yield Lab(url, root)
    finally:
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
        log.close()


def _wait_for(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if server.poll() is not None:
            break
        try:
            urllib.request.urlopen(address, timeout=1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text()[-2000:]}")


@dataclass
class Notebook:
    """A notebook open in the browser, its kernel running."""

    page: Any
    path: Path
    errors: list[str] = field(default_factory=list)

    def command(self, name: str, arguments: dict[str, Any] | None = None) -> None:
        """Execute one of JupyterLab's own commands and wait for its end."""
        self.page.evaluate(
            "async ([name, args]) => { await window.jupyterapp.commands.execute(name, args); }", [name, arguments or {}]
        )

    def run_all(self) -> None:
        """Run every cell, as Run > Run All Cells does, and wait until the last has ended."""
        self.command("notebook:run-all-cells")

    def save(self) -> None:
        self.command("docmanager:save")

    def theme(self, name: str) -> None:
        """Switch JupyterLab's theme: "JupyterLab Light" or "JupyterLab Dark"."""
        self.command("apputils:change-theme", {"theme": name})
        light = str(name.endswith("Light")).lower()
        self.page.wait_for_selector(f'body[data-jp-theme-light="{light}"]', state="attached")

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
    """Opens notebooks in pages of its own and collects what their consoles say."""

    def __init__(self, browser: Any, lab: Lab):
        self.browser = browser
        self.lab = lab
        self.contexts: list[Any] = []
        self.notebooks: list[Notebook] = []

    def open(
        self, path: Path, *, width: int = 1366, height: int = 768, kernel: bool = True, **context: Any
    ) -> Notebook:
        """Open a notebook (a path in the lab's folder), and wait until its kernel answers."""
        opened = self.browser.new_context(viewport={"width": width, "height": height}, **context)
        opened.set_default_timeout(90_000)
        self.contexts.append(opened)
        page = opened.new_page()
        notebook = Notebook(page, path)
        self.notebooks.append(notebook)
        page.on("console", lambda message: message.type == "error" and notebook.errors.append(message.text))
        page.on("pageerror", lambda error: notebook.errors.append(str(error)))
        name = path.relative_to(self.lab.root).as_posix()
        page.goto(f"{self.lab.url}/lab/tree/{name}?reset", wait_until="domcontentloaded")
        page.wait_for_function("window.jupyterapp?.shell?.currentWidget?.content?.model?.cells", timeout=60_000)
        page.evaluate(
            """async (kernel) => {
                const panel = window.jupyterapp.shell.currentWidget;
                await panel.context.ready;
                if (!kernel) return;
                await panel.sessionContext.ready;
                await panel.sessionContext.session.kernel.info;
            }""",
            kernel,
        )
        page.locator(".jp-Notebook .jp-Cell").first.wait_for()
        return notebook

    def write(self, name: str, *cells: str) -> Path:
        """A new notebook in the lab's folder with these code cells; one that starts with `#!md` is Markdown."""
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
        for context in self.contexts:
            context.close()
