"""Lessons, compare, explore, diagnose, draw and watch on other versions of PyTorch than the one that tests compare with.

`TINYGRAD_EDU_TORCHES` names the Pythons of the environments, as PATH names folders: each has this clone's course and a PyTorch.

    TINYGRAD_EDU_TORCHES=oldest/bin/python:newest/bin/python python -m pytest -m long tests/versions
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTHONS = [one for one in os.environ.get("TINYGRAD_EDU_TORCHES", "").split(os.pathsep) if one]
PARTS = ("installation", "lessons", "compare", "explore", "diagnose", "draw", "watch")

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not PYTHONS, reason="TINYGRAD_EDU_TORCHES names no environment with another PyTorch"),
]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("python", PYTHONS or [""])
def test_it_works_on_this_pytorch(python: str, part: str) -> None:
    command = [python, str(ROOT / "tests" / "versions" / "parts.py"), part]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
