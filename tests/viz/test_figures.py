"""docs/authors.md: its figures, twelve models drawn as the page says, and its lines, run as a newcomer would."""

import os
import re
from pathlib import Path

import pytest
import torch
from support.models import MODELS

import viz

pytestmark = pytest.mark.outer
FOLDER = Path(__file__).parents[2] / "docs" / "figures"
PAGE = FOLDER.parent / "authors.md"
LARGEST = 110_000  # bytes
# What each figure is drawn with, beside the model, its input and its loss.
OPTIONS = {"LeNet": {"title": "LeNet-5"}, "LSTM": {"depth": 2}, "MAML": {"direction": "TB"}}
OPTIONS |= {"a layer called three times": {"title": r"$h_{t+1} = W h_t$, three times", "caption": ""}}


def _figure(name: str) -> str:
    torch.manual_seed(0)
    model, arguments, loss = MODELS[name](torch)
    picture = viz.draw(model, arguments, loss=loss, **OPTIONS.get(name, {}))
    picture.identity = "figure"
    return picture.svg


def _labels(picture: str) -> set[str]:
    """The texts of a picture without numbers that depend on the processor."""
    found = set(re.findall(r">([^<>]+)</text>", picture))
    return {text for text in found if not re.search(r"grad |[Ll]oss|\d\.\d|1e", text)}


@pytest.mark.parametrize("name", MODELS)
def test_a_figure_of_the_page_is_what_its_model_gives(name):
    made = _figure(name)
    file = FOLDER / f"{re.sub(r'[^a-z0-9]+', '-', name.lower())}.svg"
    if os.environ.get("TINYGRAD_EDU_WRITE_FIGURES"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(made + "\n", encoding="utf-8")
    assert f"figures/{file.name}" in PAGE.read_text(encoding="utf-8")
    assert _labels(file.read_text(encoding="utf-8")) == _labels(made)
    assert len(made.encode()) < LARGEST


def test_the_lines_of_the_page_write_the_files_that_they_name(tmp_path, monkeypatch):
    lines = re.search(r"# For authors of pictures\n+```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert lines
    monkeypatch.chdir(tmp_path)
    program = "x = T.tensor(3.0, requires_grad=True)\nloss = x * x\nloss.backward()"
    exec(lines[1], {"program": program, "loss": torch.tensor(2.0, requires_grad=True) * 3})
    named = set(re.findall(r'save\("([^"]+)"', lines[1]))
    assert {path.name for path in tmp_path.iterdir()} == named
    assert "animation:" in (tmp_path / "flow.svg").read_text(encoding="utf-8")
