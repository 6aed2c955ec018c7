"""The lines that the page for authors shows are run, one after the other, as a newcomer would."""

import re
from pathlib import Path

import viz
import viz.engines

PAGE = Path(__file__).resolve().parents[2] / "docs" / "authors.md"
PROGRAM = "x = T.tensor(3.0, requires_grad=True)\nloss = x * x\nloss.backward()"


def test_the_lines_of_the_authors_page_write_the_files_that_they_name(tmp_path, monkeypatch):
    lines = re.search(r"# For authors of pictures\n+```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[
        1
    ]
    monkeypatch.chdir(tmp_path)
    torch = viz.engines.load("torch").module
    exec(lines, {"program": PROGRAM, "loss": torch.tensor(2.0, requires_grad=True) * 3})
    named = set(re.findall(r'save\("([^"]+)"', lines))
    assert {path.name for path in tmp_path.iterdir()} == named
    assert "animation:" in (tmp_path / "flow.svg").read_text(encoding="utf-8")
