"""Pictures and players outside of JupyterLab: Jupyter Notebook 7, nbconvert's HTML and PDF, notebooks reopened."""

import io
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.sync_api import expect
from support.harness import PATIENCE_S, browser_path, eventually, new_page, start_lab

pytestmark = pytest.mark.outer(start=3)
PROGRAM = "x = T.tensor(3.0, requires_grad=True)\\na = x * x\\nL = a * (a + x)\\nL.backward()"
CELLS = ["import viz, tinygrad_edu as T\nw = T.tensor(2.0, requires_grad=True)\nviz.draw(w * 3.0 + 1)"]
CELLS += [f"viz.record('{PROGRAM}').play()"]


def write(path: Path) -> Path:
    notebook = nbformat.v4.new_notebook()
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook.cells = [nbformat.v4.new_code_cell(cell) for cell in CELLS]
    nbformat.write(notebook, path)
    return path


def nbconvert(notebook: Path, *arguments: str, **environment: str) -> None:
    patience = [f"--ExecutePreprocessor.{name}_timeout={PATIENCE_S}" for name in ("startup", "iopub")]
    command = [sys.executable, "-m", "nbconvert", *patience, *arguments, str(notebook)]
    for _ in range(3):
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})
        # So long does nbconvert wait for a browser: too short on a busy machine.
        if "Timeout 30000ms" not in done.stderr:
            break
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A notebook that ran from top to bottom, and was saved."""
    notebook = write(tmp_path_factory.mktemp("saved") / "every.ipynb")
    nbconvert(notebook, "--to", "notebook", "--execute", "--inplace")
    return notebook


@pytest.fixture(scope="module")
def notebook7(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A page of Jupyter Notebook 7 in which every cell has run."""
    pytest.importorskip("notebook")
    root = tmp_path_factory.mktemp("root")
    write(root / "every.ipynb")
    with start_lab(tmp_path_factory.mktemp("home"), root, "notebook") as server:
        page = new_page(browser, viewport={"width": 1366, "height": 900})
        page.goto(f"{server.url}/notebooks/every.ipynb")
        page.locator(".jp-Notebook .jp-CodeCell").nth(1).wait_for()
        page.evaluate(
            """async () => {
                const { sessionContext } = window.jupyterapp.shell.currentWidget;
                await sessionContext.ready;
                await sessionContext.session.kernel.info;
                await window.jupyterapp.commands.execute("notebook:run-all-cells");
            }"""
        )
        page.locator(".tgv-player svg .node").first.wait_for()
        yield page
        page.context.close()


def test_notebook_7_shows_a_drawn_graph_inline(notebook7: Any) -> None:
    expect(notebook7.locator(".jp-OutputArea svg[role=img]").first).to_contain_text("MulBackward0")


def test_notebook_7_plays_a_recording_by_key(notebook7: Any) -> None:
    player = notebook7.locator(".tgv-player")
    player.press("End")
    expect(player.locator(".tgv-sentence")).to_contain_text("x.grad = 135")
    player.press("ArrowLeft")
    expect(player.locator(".tgv-step-title")).to_contain_text("AccumulateGrad")
    expect(notebook7.locator(".tgv-fallback")).to_be_hidden()


@pytest.fixture(scope="module")
def page_file(executed: Path) -> Path:
    nbconvert(executed, "--to", "html")
    return executed.with_suffix(".html")


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_nbconverts_html_shows_every_picture_with_no_network(fresh: Any, page_file: Path, scripts: bool) -> None:
    page = fresh(offline=True, java_script_enabled=scripts)
    page.goto(page_file.as_uri())
    drawn = "all => all.map(one => one.textContent)"
    loaded = "all => all.filter(one => one.naturalWidth > 200 && one.offsetWidth > 200).map(one => one.alt)"

    def seen() -> list[int]:
        """How many pictures there are, images that loaded or inline, and how many of them tell either thing."""
        found = page.locator("img").evaluate_all(loaded) + page.locator("svg[role=img]").evaluate_all(drawn)
        return [len(found), *(any(words in one for one in found) for words in ("step by step", "MulBackward0"))]

    eventually(seen, [2, True, True])


def test_nbconverts_pdf_shows_every_picture(browser: Any, executed: Path, tmp_path: Path) -> None:
    pypdf = pytest.importorskip("pypdf")
    # The page asks for scripts from elsewhere, and would wait for them.
    offline = "--host-resolver-rules=MAP * ~NOTFOUND"
    options = ["--WebPDFExporter.disable_sandbox=True", f"--WebPDFExporter.browser_args={[offline]}"]
    nbconvert(executed, "--to", "webpdf", *options, **beside_playwright(tmp_path))
    reader = pypdf.PdfReader(io.BytesIO(executed.with_suffix(".pdf").read_bytes()))
    text = " ".join(page.extract_text() for page in reader.pages)
    assert text.count("MulBackward0") == 3
    assert "Every gradient has arrived" in text


def beside_playwright(folder: Path) -> dict[str, str]:
    """Let Playwright, which nbconvert starts, find the browser of this machine."""
    find = "import playwright.sync_api as p\nwith p.sync_playwright() as s: print(s.chromium.executable_path)"
    done = subprocess.run([sys.executable, "-c", find], capture_output=True, text=True, check=True)
    number = next(part for part in Path(done.stdout.strip()).parts if part.startswith("chromium-")).partition("-")[2]
    shell = folder / f"chromium_headless_shell-{number}" / "chrome-headless-shell-linux64" / "chrome-headless-shell"
    shell.parent.mkdir(parents=True)
    shell.symlink_to(browser_path())
    return {"PLAYWRIGHT_BROWSERS_PATH": str(folder)}
