"""A program as people post it: what came with it is taken off, and said."""

import sys

import pytest

import viz

CODE = "w = T.tensor(2.0, requires_grad=True)\nfor i in range(2):\n    L = w * w\n    L.backward()"
LINES = CODE.split("\n")
PROMPTS = [">>> ", ">>> ", "... ", "... "]
CELLS = ["In [1]: ", "In [2]: ", "   ...: ", "   ...: "]


def led(prompts):
    return "\n".join(map("".join, zip(prompts, LINES, strict=True)))


AROUND, MARKS = "text around the code", "marks of a quotation or a patch"
LAST = "Traceback (most recent call last)"
POSTED = {
    "as it is": (CODE, ""),
    "Python's prompts": (f"{led(PROMPTS)}\n...\ntensor(4.)\n", "prompts and output"),
    "IPython's prompts": (f"{led(CELLS)}\nOut[2]: tensor(4.)", "prompts and output"),
    "cells of a notebook": (CODE.replace("\n", "\nOut[1]:\ntensor(2.)\nIn [2]:\n", 1), "prompts and output"),
    "fences": (f"Why is it None?\n```python\n{CODE}\n```\nIt prints\n```\ntensor(4.)\n```\nThanks!", AROUND),
    "line numbers": (led(["8 ", "9 ", "10 ", "11 "]), "line numbers"),
    "numbers with a bar": (led(["8 | ", "9 | ", "10 | ", "11 | "]), "line numbers"),
    "a mail": (led(["> "] * 4), MARKS),
    "a patch": (f"--- a.py\n+++ b.py\n@@ -1,4 +1,4 @@\n-w = 2\n{led([' ', '+', ' ', '+'])}", MARKS),
    "spaces that do not break": (CODE.replace(" ", "\N{NO-BREAK SPACE}"), "spaces and signs"),
    "commands": (f"!pip install torch\n%matplotlib inline\n{CODE}", "commands"),
    "a question": (f"Hi all,\nI have this:\n\n{led([' ' * 4] * 4)}\n\nThen it prints tensor(4.), not 2. Why?", AROUND),
    "a traceback": (f'{CODE}\n{LAST}:\n  File "a.py", line 3\nRuntimeError: no', AROUND),
    "a traceback of a notebook": (
        f"{CODE}\n{'-' * 20}\nRuntimeError   {LAST}\n<ipython-input-3> in <module>\nRuntimeError: no",
        AROUND,
    ),
}


@pytest.mark.parametrize("what", POSTED)
def test_a_program_runs_as_it_was_posted(what):
    text, says = POSTED[what]
    explorer = viz.explore(text)
    assert [line for line in explorer.result["code"] if line] == LINES
    assert explorer.result["account"] == (
        f"Pasted text was cleaned: {says} taken off."
        if "spaces" not in says
        else "Pasted text was cleaned: spaces and signs made plain."
    ) * bool(says)
    explorer.state = {"no_grad": [1]}
    assert "Pasted" not in explorer.result["account"]


def test_what_is_pasted_into_the_editor_is_cleaned_as_well():
    explorer = viz.explore("x = T.ones(2)")
    explorer.request = {"state": {}, "text": "x = T.ones(2)\nprint 'x', x", "seq": 1}
    assert explorer.result["code"][1] == "print('x', x)"
    assert explorer.result["account"].startswith("Pasted text was cleaned: print made a function.")


def test_what_only_shows_something_is_not_missed(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] in ("tqdm", "matplotlib")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "path", [])
    lines = ["from tqdm import tqdm", "import matplotlib.pyplot as plt", "fig, ax = plt.subplots()"]
    lines += ["w = T.ones(1, requires_grad=True)"]
    loop = ["bar = tqdm(range(3))", "for i in bar:", "    bar.set_description('x')", "    (w * i).sum().backward()"]
    lines += [*loop, "plt.show()"]
    recording = viz.record("\n".join(lines), "tinygrad_edu")
    assert (recording.error, recording.tensors["w"]["grad"]["data"]) == (None, [3.0])
