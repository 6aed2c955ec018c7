"""Draws the README's moving picture and, in Chromium, its screenshot: `python docs/pictures/draw.py`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import viz

HERE = Path(__file__).parent
PROGRAM = """\
w = T.tensor(2.0, requires_grad=True)
x = T.tensor(3.0)
L = (w * x - 5) ** 2
L.backward()
"""


def gradient() -> None:
    """The gradient travels from the loss to the weight."""
    viz.record(PROGRAM, engine="torch").save(HERE / "gradient.gif", seconds=1.0)


def laboratory() -> None:
    """The explorer in JupyterLab, on a laptop's screen."""
    sys.path.insert(0, str(HERE.parents[1] / "tests"))
    from support.harness import Desk, start_browser, start_lab

    home, lessons = Path(tempfile.mkdtemp()), Path(tempfile.mkdtemp())
    with start_browser() as browser, start_lab(home, lessons) as lab:
        desk = Desk(browser, lab)
        cell = f'import viz\n\nviz.explore("""\n{PROGRAM}""")'
        notebook = desk.open(desk.write("autograd.ipynb", cell), width=1366, height=768)
        notebook.run_all()
        notebook.command("application:toggle-left-area")
        explorer = notebook.page.locator(".tgv-explorer").first
        explorer.scroll_into_view_if_needed()
        notebook.page.wait_for_timeout(3000)  # the first picture has been drawn and has come to rest
        notebook.page.screenshot(path=HERE / "laboratory.png")
        desk.close()


if __name__ == "__main__":
    for draw in (gradient, laboratory):
        draw()
