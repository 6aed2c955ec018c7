"""The course needs nothing of `tinygrad_edu/extra/`: its answers and mistakes run with that taken away.

So do all lessons: see `test_notebooks.py`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.without_extra import TAKEN_AWAY

pytestmark = pytest.mark.outer(start=2)

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 600

# The tests of all reference answers and mistakes of the inner ring, which run once more in such a process.
TESTS = ("tests/exercises/test_every_exercise.py", "tests/viz/test_mistake.py")


def run(code: str, folder: Path, *arguments: str, cwd: Path | None = None) -> str:
    """Run a program in a process that has no `extra/`, nor have those that it starts; it must end well."""
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


@pytest.mark.parametrize("path", TESTS)
def test_answers_and_mistakes_need_no_extra(path: str, tmp_path: Path) -> None:
    code = "import sys, pytest; sys.exit(pytest.main(sys.argv[1:]))"
    assert " passed" in run(code, tmp_path, "-q", "-m", "quick", "-p", "no:cacheprovider", path, cwd=ROOT)
