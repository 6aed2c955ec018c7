"""The linter, the formatter and the type checker have nothing to say: about the code, the tests or the notebooks."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.outer(start=1)
ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("tool", ["ruff check .", "ruff format --check .", "mypy"])
def test_the_tool_has_nothing_to_say(tool: str) -> None:
    done = subprocess.run([sys.executable, "-m", *tool.split()], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_file_that_drives_a_browser_belongs_to_the_outer_ring() -> None:
    files = sorted((ROOT / "tests" / "browser").rglob("test_*.py"))
    outer = re.compile(r"^pytestmark = (\[\s*)?pytest\.mark\.outer\b", re.MULTILINE)
    assert [path.name for path in files if not outer.search(path.read_text(encoding="utf-8"))] == []
