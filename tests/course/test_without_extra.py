"""The course needs nothing of `tinygrad_edu/extra/`: its code cells, answers, mistakes and live pages run with that taken away."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.outer(start=2)

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted(path for path in (ROOT / "notebooks").rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts)
LIMIT_S = 600

# Python imports this first in each process, also in those that a lesson starts.
TAKEN_AWAY = """
import sys

class TakenAway:
    def find_spec(self, name, path=None, target=None):
        if name == "tinygrad_edu.extra" or name.startswith("tinygrad_edu.extra."):
            raise ModuleNotFoundError(f"{name} was taken away")

sys.meta_path.insert(0, TakenAway())
"""
CELLS = """
import json, sys, warnings
from IPython.core.interactiveshell import InteractiveShell
warnings.simplefilter("ignore")
shell = InteractiveShell.instance()
for source in json.load(open(sys.argv[1])):
    result = shell.run_cell(source, silent=False)
    if not result.success:
        print(source, file=sys.stderr)
        raise result.error_before_exec or result.error_in_exec
"""
# The tests of all reference answers and mistakes of the inner ring, which run once more in such a process.
TESTS = ("tests/exercises/test_every_exercise.py", "tests/viz/test_mistake.py")


def run(code: str, folder: Path, *arguments: str, cwd: Path | None = None) -> str:
    """Run a program in a process that has no `extra/`; it must not write a traceback, and must end well."""
    (folder / "sitecustomize.py").write_text(TAKEN_AWAY, encoding="utf-8")
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=cwd or folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_extra_is_really_taken_away(tmp_path: Path) -> None:
    told = run("import tinygrad_edu as T\ntry:\n    T.quantile\nexcept ImportError as e:\n    print(e)", tmp_path)
    assert told.strip() == "tinygrad_edu.extra was taken away"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_lesson_runs_without_extra(path: Path, tmp_path: Path) -> None:
    cells = json.loads(path.read_bytes())["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    # `progress()` reads the notebooks of the folder around this one, and judges answers in a sandbox.
    for folder in ("lesson", "answered"):
        (tmp_path / folder).mkdir()
    shutil.copy(next(one for one in NOTEBOOKS if one.stem.startswith("01_")), tmp_path / "answered")
    (tmp_path / "cells.json").write_text(json.dumps(sources), encoding="utf-8")
    told = run(CELLS, tmp_path, str(tmp_path / "cells.json"), cwd=tmp_path / "lesson")
    if any("progress()" in source for source in sources):
        assert "9 of" in told
    # A check of the reference answer, in the process that judges, says so.
    assert "Traceback" not in told
    assert "taken away" not in told


@pytest.mark.parametrize("path", TESTS)
def test_answers_and_mistakes_need_no_extra(path: str, tmp_path: Path) -> None:
    code = "import sys, pytest; sys.exit(pytest.main(sys.argv[1:]))"
    assert " passed" in run(code, tmp_path, "-q", "-m", "quick", "-p", "no:cacheprovider", path, cwd=ROOT)
