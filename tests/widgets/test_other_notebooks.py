"""Widgets in other notebooks than Jupyter's: marimo, and the rules of Colab, imitated: it cannot be had here."""

import importlib.util
import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.outer
PROGRAM = "w = T.tensor(3.0, requires_grad=True)\nL = w * w\nL.backward()"

MARIMO = f"""
import json
import marimo

app = marimo.App()

@app.cell
def _():
    import marimo as mo
    import viz
    explorer = mo.ui.anywidget(viz.explore({PROGRAM!r}))
    player = mo.ui.anywidget(viz.record({PROGRAM!r}, engine="tinygrad_edu").play())
    return explorer, player

@app.cell
def _(explorer):
    explorer
    return

_, found = app.run()
found["explorer"]._update({{"request": {{"state": {{"requires_grad": {{"w": False}}}}, "seq": 1}}}})
found["player"]._update({{"step": 2}})
result = found["explorer"].widget.result
print(json.dumps([result["seq"], len(result["sides"]), found["player"].value["step"], found["player"].text[:19]]))
"""

COLAB = f"""
import json, sys, types
asked = []
colab = types.ModuleType("google.colab")
colab.output = types.ModuleType("google.colab.output")
colab.output._widgets = types.SimpleNamespace(_installed_url=None)
colab.output.enable_custom_widget_manager = lambda *given, **named: asked.append("a manager for widgets of others")
sys.modules.update({{"google": types.ModuleType("google"), "google.colab": colab, "google.colab.output": colab.output}})
sys.modules["google"].colab = colab

from IPython.core.interactiveshell import InteractiveShell
InteractiveShell.instance()
import viz
data, _ = viz.explore({PROGRAM!r})._repr_mimebundle_()
print(json.dumps([asked, sorted(data)]))
"""


def told(program, folder):
    (folder / "notebook.py").write_text(program)
    done = subprocess.run([sys.executable, folder / "notebook.py"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.skipif(importlib.util.find_spec("marimo") is None, reason="needs marimo: pip install marimo")
def test_marimo_shows_a_widget_and_a_change_of_its_page_is_answered(tmp_path):
    assert told(MARIMO, tmp_path) == [1, 2, 2, "<marimo-ui-element "]


def test_colab_is_asked_for_the_manager_that_shows_widgets_of_others(tmp_path):
    asked, kinds = told(COLAB, tmp_path)
    assert asked == ["a manager for widgets of others"]
    assert "application/vnd.jupyter.widget-view+json" in kinds
