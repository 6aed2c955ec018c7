"""Lessons, compare, explore, diagnose, draw and watch in other environments than the one of the tests.

`TINYGRAD_EDU_PYTHONS` names their Pythons, as PATH names folders. Each has this clone's course, and another Python,
PyTorch, NumPy or IPython: Colab's is 7.34.

    TINYGRAD_EDU_PYTHONS=oldest/bin/python:newest/bin/python python -m pytest -m long tests/versions
"""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTHONS = [one for one in os.environ.get("TINYGRAD_EDU_PYTHONS", "").split(os.pathsep) if one]
PARTS = ("installation", "lessons", "compare", "explore", "diagnose", "draw", "watch")
pytestmark = [pytest.mark.long, pytest.mark.skipif(not PYTHONS, reason="TINYGRAD_EDU_PYTHONS names no environment")]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("python", PYTHONS or [""])
def test_it_works_in_this_environment(python: str, part: str) -> None:
    command = [python, str(ROOT / "tests" / "versions" / "parts.py"), part]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
