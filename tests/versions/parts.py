"""What a lesson uses of its environment, part by part: run `python tests/versions/parts.py PART` in one.

A part that fails ends with an `AssertionError` that says what differs there.
"""

import contextlib
import json
import os
import sys
import tempfile
import warnings
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import torch  # noqa: E402
from packaging.requirements import Requirement  # noqa: E402
from support import diagnosis  # noqa: E402
from support.functions import text_of  # noqa: E402
from support.stage_programs import HELD_OUT, PROGRAMS  # noqa: E402
from support.training_loops import LOOPS  # noqa: E402

import viz  # noqa: E402

OWN_FUNCTION = text_of("Double", "inside = x * 2\nreturn inside", "return g * 2")
OWN_FUNCTION += "x = T.tensor([1.0, 2.0], requires_grad=True)\ny = Double.apply(x)\ny.sum().backward()"


def installation() -> None:
    """The course accepts this PyTorch as it is, so pip leaves it."""
    asked = [Requirement(one) for one in metadata.requires("tinygrad-edu") or ()]
    wanted = [one for one in asked if one.name == "torch" and 'extra == "test"' not in str(one)]
    assert wanted
    assert all(one.specifier.contains(torch.__version__, prereleases=True) for one in wanted), wanted


def lessons() -> None:
    """Every code cell of every notebook, in IPython, with the reference answers: none raises, each check is content."""
    from IPython.core.displayhook import DisplayHook
    from IPython.core.interactiveshell import InteractiveShell

    from tinygrad_edu.course.working_copy import lesson_files, lessons_root

    shown: list[str] = []
    DisplayHook.write_format_data = lambda self, data, metadata=None: shown.append(data.get("text/plain", ""))
    shell = InteractiveShell.instance()
    viz.load_ipython_extension(shell)  # as where a cell imports it first
    for path in lesson_files(lessons_root()):
        if path.suffix != ".ipynb":
            continue
        shell.reset()
        with tempfile.TemporaryDirectory() as root:
            folder = Path(root, "lesson")  # `progress` reads what lies in the folder around it
            folder.mkdir()
            os.chdir(folder)
            for cell in json.loads(path.read_bytes())["cells"]:
                if cell["cell_type"] != "code":
                    continue
                shown.clear()
                done = shell.run_cell("".join(cell["source"]), store_history=True)
                assert done.success, f"{path.name}: {done.error_before_exec or done.error_in_exec}\n{cell['source']}"
                if cell["metadata"].get("nbgrader", {}).get("grade"):
                    assert "all right" in "".join(shown), f"{path.name}: {shown}\n{cell['source']}"
            os.chdir(ROOT)


def compare() -> None:
    """Both engines agree on programs as people write them."""
    for name, program in {**PROGRAMS, **HELD_OUT}.items():
        compared = viz.compare(program)
        assert compared.agree, f"{name}: {compared!r}"


def explore() -> None:
    """An explorer draws both sides, and answers a change."""
    for name, program in PROGRAMS.items():
        explorer = viz.explore(program)
        for state in ({}, {"retain_graph": True}):
            explorer.state = state
            assert "scene" in explorer.result["sides"][0], (name, explorer.result)
            assert not any("missing" in side for side in explorer.result["sides"]), (name, explorer.result)
            assert explorer.result["verdict"]["agree"], (name, explorer.result["verdict"])
        explorer.close()


def diagnose() -> None:
    """The cause and its line come first, for every program that the rules are held to."""
    wrong = []
    for case in diagnosis.BROKEN:
        report = viz.diagnose(case.program, engine="torch")
        first = report.findings[0] if report.findings else None
        if first is None or first.kind not in case.kinds or first.line not in case.lines:
            wrong.append(f"{case.name}: {first and (first.kind, first.line)}")
    assert not wrong, wrong


def draw() -> None:
    """A picture of a graph and of a model, and a recording that plays; the op inside a Function keeps its label."""
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    x = torch.randn(5, 3)
    for picture in (viz.draw(model, x), viz.draw(model(x).sum()), viz.draw(model(x).sum(), view="grad_fn")):
        assert "<path" in (picture.svg if isinstance(picture, viz.Picture) else picture.drawn("light"))
    recording = viz.record(OWN_FUNCTION, engine="torch")
    assert recording.error is None, recording.error
    assert recording.tensors["x"]["grad"]["data"] == [2.0, 2.0]
    scopes = [op.scope for op in recording.graph.ops.values() if op.scope]
    assert scopes == ["Double.forward"], scopes
    assert recording.play().scene["steps"]
    report = viz.diagnose(OWN_FUNCTION.replace("return g * 2", "return g * 3"), engine="torch")
    assert report.findings and "Double" in repr(report), report


def watch() -> None:
    """A training that is watched computes the same numbers, and has a history for each layer."""
    for name, loop in LOOPS.items():
        seen: list[Any] = []

        def around(model: Any, seen: list[Any] = seen) -> Any:
            seen.append(viz.watch(model, every=2, progress=False))
            return seen[-1]

        alone = loop(torch, lambda model: contextlib.nullcontext())
        assert loop(torch, around) == alone, name
        assert seen and all(one.steps for one in seen), name


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parts = (installation, lessons, compare, explore, diagnose, draw, watch)
    {part.__name__: part for part in parts}[sys.argv[1]]()
    import IPython
    import numpy

    print(f"Python {sys.version.split()[0]}, torch {torch.__version__}, IPython {IPython.__version__},", end=" ")
    print(f"NumPy {numpy.__version__}")
