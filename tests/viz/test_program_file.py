"""Programs from files: a script, a notebook or standard input is drawn, played and compared from a shell."""

import io
import json
from pathlib import Path

import nbformat
import pytest
from support.command import call, run

from viz.recording import program_file

pytestmark = pytest.mark.outer
CELLS = ["%load_ext viz\n!ls\nimport torch\nfrom beside import double\nx = torch.tensor(3.0, requires_grad=True)"]
CELLS += ["%%autograd\ny = (double(x)\n     % 100)\ny.backward()\ndisplay(x.grad)", "%%bash\nls /nowhere"]
CELLS += ["if y > 1:\n    %time z = y * 3\n    ?z"]
SCRIPT = """import sys
import torch
from beside import double

x = torch.tensor(3.0, requires_grad=True)
if __name__ == "__main__":
    y = double(x)
    y.backward()
    print(len(sys.argv), __file__)
"""


@pytest.fixture
def folder(tmp_path):
    """A folder with a script, a notebook, and a module that both import."""
    (tmp_path / "beside.py").write_text("def double(x):\n    return x * 2\n")
    (tmp_path / "script.py").write_text(SCRIPT)
    cells = [nbformat.v4.new_markdown_cell("# Text"), *map(nbformat.v4.new_code_cell, CELLS)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "book.ipynb")
    return tmp_path


@pytest.mark.parametrize(("name", "from_stdin"), [("script.py", True), ("book.ipynb", False), ("book.ipynb", True)])
def test_a_script_and_a_notebook_are_played_from_a_file_and_from_standard_input(folder, name, from_stdin):
    given = (folder / name).read_text() if from_stdin else None
    done = run("play", "-" if from_stdin else name, "-o", "flow.json", input=given, cwd=folder)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "flow.json", "")
    assert json.loads((folder / "flow.json").read_text(encoding="utf-8"))["tensors"]["x"]["grad"]["data"] == 2.0


def test_an_error_is_placed_where_the_notebook_has_it(folder):
    book = nbformat.read(folder / "book.ipynb", 4)
    book.cells.append(nbformat.v4.new_code_cell("# the last\ny.nonsense()"))
    nbformat.write(book, folder / "book.ipynb")
    done = run("draw", "book.ipynb", cwd=folder)
    assert done.returncode == 1
    assert done.stderr.startswith("cell 5, line 2: AttributeError: ")
    assert (folder / "book.svg").exists()


def test_compare_writes_a_page_of_both_engines(folder, monkeypatch):
    monkeypatch.chdir(folder)
    done = call("compare", "script.py", "-o", "both.html")
    assert (done.returncode, done.stderr) == (0, "")
    assert "agree: 1 node" in done.stdout
    assert "MulBackward0" in (folder / "both.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "given", "said"),
    [
        (["draw", "-"], "x = 1", "name the output file with -o"),
        (["play", "broken.ipynb"], None, "broken.ipynb is not a notebook"),
        (["draw", "-", "-o", "a.svg"], '{"cells": 3}', "- is not a notebook"),
        (["draw", "bytes.py"], None, "not text that Python can read"),
        (["compare", "script.py", "-o", "both.png"], None, "saved as .html"),
        (["compare", "."], None, "is a folder"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, list) else "",
)
def test_a_non_program_is_refused_with_a_sentence(folder, arguments, given, said, monkeypatch):
    (folder / "broken.ipynb").write_text('{"cells": [{"cell_type": "code"}]}')
    (folder / "bytes.py").write_bytes(b"\xff\xfe\x00\x01")
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO((given or "").encode()), "utf-8"))
    done = call(*arguments)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert said in done.stderr


def test_a_script_may_name_its_encoding_and_begin_with_a_byte_order_mark(tmp_path):
    path = tmp_path / "old.py"
    path.write_bytes("# -*- coding: latin-1 -*-\ngröße = 1\n".encode("latin-1"))
    assert "größe = 1" in program_file.read(Path(path)).text
    path.write_bytes(b"\xef\xbb\xbfx = 1\n")
    assert program_file.read(path).text == "x = 1\n"
