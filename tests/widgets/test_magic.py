"""`%%autograd` in a real IPython: the cell runs where the notebook's names are, and its graph comes out."""

import re

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

import tinygrad_edu as tg
from viz.draw import Picture
from viz.widgets.comparison import ComparisonView
from viz.widgets.player import Player


@pytest.fixture
def shell():
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "viz")
    shell.user_ns["tg"] = tg
    yield shell
    InteractiveShell.clear_instance()


@pytest.fixture
def shown(monkeypatch):
    """What the magics display, as the objects themselves."""
    things = []
    monkeypatch.setattr("viz.magic.display", things.append)
    return things


def test_names_go_both_ways_between_the_cell_and_the_notebook(shell, shown):
    shell.run_cell("k = 3.0\nw = tg.tensor(2.0, requires_grad=True)")
    shell.run_cell("%%autograd\nL = w * w * k\nL.backward()").raise_error()
    assert shell.user_ns["w"].grad.item() == 12.0
    assert shell.user_ns["L"].item() == 12.0
    assert "T" not in shell.user_ns
    (player,) = shown
    assert isinstance(player, Player)
    assert player.scene["source"] == ["L = w * w * k", "L.backward()"]
    assert player.step == len(player.scene["steps"]) - 1


def test_step_begins_at_the_first(shell, shown):
    shell.run_cell("%%autograd --step\nu = T.tensor(1.0, requires_grad=True) * 2").raise_error()
    assert shown[0].step == 0


def test_tensors_that_the_cell_does_not_name_stay_out_of_its_picture(shell, shown):
    shell.run_cell("other = tg.tensor(5.0)\nw = tg.tensor(2.0, requires_grad=True)")
    shell.run_cell("%%autograd\nL = w * 2").raise_error()
    names = {rows[0][1] for rows in shown[0].scene["details"].values()}
    assert "w" in names and "other" not in names


def test_loops_and_functions_are_recorded_as_they_run(shell, shown):
    shell.run_cell(
        "%%autograd\ndef f(v):\n    return v * 2\nz = T.tensor(1.0, requires_grad=True)\nfor i in range(3):\n    z = f(z)"
    )
    details = shown[0].scene["details"].values()
    assert sum(["node", "MulBackward0"] in rows for rows in details) == 3


def test_the_engine_is_the_one_that_the_cell_names(shell, shown):
    pytest.importorskip("torch")
    shell.run_cell("import torch\na = torch.tensor(2.0, requires_grad=True)")
    shell.run_cell("%%autograd\nb = a * a").raise_error()
    shell.run_cell("%%autograd --engine torch\nc = T.ones(2)").raise_error()
    assert [player.scene["engine"] for player in shown] == ["torch", "torch"]
    assert type(shell.user_ns["c"]).__module__ == "torch"


def test_an_exception_ends_the_cell_and_is_marked_in_the_picture(shell, shown):
    with capture_output():
        result = shell.run_cell("%%autograd\nv = T.tensor([1.0, 2.0], requires_grad=True)\ns = v * 2\ns.backward()")
    assert isinstance(result.error_in_exec, RuntimeError)
    last = shown[0].scene["steps"][-1]
    assert (last["phase"], last["line"]) == ("error", 3)


def test_an_exception_is_shown_with_the_lines_of_the_cell_and_the_mistake_by_its_name(shell, shown):
    with capture_output() as output:
        shell.run_cell(
            "%%autograd\ndef g(v):\n    v.backward()\nw = T.tensor(2.0, requires_grad=True)\nL = w * w\ng(L)\ng(L)"
        )
    said = re.sub(r"\x1b\[[\d;]*m", "", output.stdout)
    assert 'viz.mistake("second backward")' in said
    assert "----> 6 g(L)" in said and "----> 2     v.backward()" in said
    assert "viz/magic.py" not in said and "viz/recording/" not in said


def test_what_the_cell_prints_is_printed(shell, shown, capsys):
    shell.run_cell("%%autograd\nprint('here')")
    assert "here" in capsys.readouterr().out


def test_compare_runs_the_cell_on_both_engines_apart_from_the_notebook(shell, shown):
    pytest.importorskip("torch")
    shell.run_cell("k = 4.0")
    shell.run_cell("%%autograd --compare\nw = T.tensor(2.0, requires_grad=True)\n(w * k).backward()").raise_error()
    (view,) = shown
    assert isinstance(view, ComparisonView)
    assert view.result["agree"]
    assert view.result["table"][0]["grad"] == {"tinygrad_edu": "4", "torch": "4"}
    assert "w" not in shell.user_ns


def test_on_draws_the_last_tensor_of_each_cell_until_off(shell, shown):
    shell.run_cell("%autograd on")
    shell.run_cell("w = tg.tensor(2.0, requires_grad=True)\nq = w * w\nn = 3")
    shell.run_cell("n + 1")
    shell.run_cell("w + 1")
    shell.run_cell("%autograd off")
    shell.run_cell("r = w * 3")
    assert [type(thing) for thing in shown] == [Picture, Picture]
    assert "MulBackward0" in shown[0].svg and "AddBackward0" in shown[1].svg


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("%autograd", "%autograd on, %autograd off, or %%autograd above a cell"),
        ("%%autograd\na = = 2", "line 1 of the cell is not Python"),
    ],
)
def test_what_cannot_be_run_says_so(shell, shown, capsys, cell, message):
    shell.run_cell(cell)
    said = capsys.readouterr()
    assert message in said.out + said.err
    assert shown == []
