"""Pictures and players outside of JupyterLab: Jupyter Notebook 7, nbconvert's HTML and PDF, notebooks reopened."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from harness import BROWSERS, start_lab

PROGRAM = "x = T.tensor(3.0, requires_grad=True)\\na = x * x\\nL = a * (a + x)\\nL.backward()"
CELLS = [
    "import viz, tinygrad_edu as T\nw = T.tensor(2.0, requires_grad=True)\nviz.draw(w * 3.0 + 1)",
    f"viz.record('{PROGRAM}').play()",
]


def write(path: Path) -> Path:
    notebook = nbformat.v4.new_notebook()
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook.cells = [nbformat.v4.new_code_cell(cell) for cell in CELLS]
    nbformat.write(notebook, path)
    return path


def nbconvert(notebook: Path, *arguments: str, **environment: str) -> None:
    command = [sys.executable, "-m", "nbconvert", *arguments, str(notebook)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})
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
        page = browser.new_page(viewport={"width": 1366, "height": 900})
        page.set_default_timeout(90_000)
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
        page.close()


def test_notebook_7_shows_a_drawn_graph_inline(notebook7: Any) -> None:
    assert "MulBackward0" in notebook7.locator(".jp-OutputArea svg[role=img]").first.text_content()


def test_notebook_7_plays_a_recording_by_key(notebook7: Any) -> None:
    player = notebook7.locator(".tgv-player")
    player.focus()
    notebook7.keyboard.press("End")
    assert "x.grad = 135" in player.locator(".tgv-sentence").text_content()
    notebook7.keyboard.press("ArrowLeft")
    assert "AccumulateGrad" in player.locator(".tgv-step-title").text_content()
    assert notebook7.locator(".tgv-fallback").is_hidden()


def seen_offline(browser: Any, page_file: Path, **context: Any) -> list[str]:
    """What a reader without a network sees of the pictures on a page: images that loaded, and inline pictures."""
    reader = browser.new_context(offline=True, **context)
    page = reader.new_page()
    page.goto(page_file.as_uri())
    images = "all => all.filter(one => one.naturalWidth > 200 && one.offsetWidth > 200).map(one => one.alt)"
    found = page.locator("img").evaluate_all(images)
    found += page.locator("svg[role=img]").evaluate_all("all => all.map(one => one.textContent)")
    reader.close()
    return list(found)


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_nbconverts_html_shows_every_picture_with_no_network(browser: Any, executed: Path, scripts: bool) -> None:
    nbconvert(executed, "--to", "html")
    seen = seen_offline(browser, executed.with_suffix(".html"), java_script_enabled=scripts)
    assert len(seen) == 2
    assert any("step by step" in one for one in seen)
    assert any("MulBackward0" in one for one in seen)


def test_nbconverts_pdf_shows_every_picture(executed: Path, tmp_path: Path) -> None:
    pypdf = pytest.importorskip("pypdf")
    from playwright.sync_api import sync_playwright  # noqa: F401  (nbconvert needs it)

    chromium = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if chromium is None:
        pytest.skip("no browser found")
    nbconvert(
        executed, "--to", "webpdf", "--WebPDFExporter.disable_sandbox=True", **beside_playwright(chromium, tmp_path)
    )
    reader = pypdf.PdfReader(io.BytesIO(executed.with_suffix(".pdf").read_bytes()))
    text = " ".join(page.extract_text() for page in reader.pages)
    assert text.count("MulBackward0") == 3
    assert "Every gradient has arrived" in text


def beside_playwright(chromium: str, folder: Path) -> dict[str, str]:
    """Let Playwright, which nbconvert starts without a word about where the browser is, find the one of this machine."""
    find = "import playwright.sync_api as p\nwith p.sync_playwright() as s: print(s.chromium.executable_path)"
    done = subprocess.run([sys.executable, "-c", find], capture_output=True, text=True, check=True)
    number = next(part for part in Path(done.stdout.strip()).parts if part.startswith("chromium-")).partition("-")[2]
    shell = folder / f"chromium_headless_shell-{number}" / "chrome-headless-shell-linux64" / "chrome-headless-shell"
    shell.parent.mkdir(parents=True)
    shell.symlink_to(chromium)
    return {"PLAYWRIGHT_BROWSERS_PATH": str(folder)}
