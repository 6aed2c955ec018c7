"""The widgets' JavaScript is linted, and its types, written as JSDoc, are checked: by tools of a pinned version."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.outer(start=1)
HERE = Path(__file__).parent
WIDGETS = HERE.parents[1] / "viz" / "widgets"


@pytest.fixture(scope="module")
def tools() -> Path:
    """Where the tools are: brought by npm once, into a folder that git does not see."""
    npm = shutil.which("npm")
    reason = "" if npm else "no npm was found: install Node.js"
    modules = HERE / "node_modules"
    if npm and not (modules / ".package-lock.json").exists():
        brought = subprocess.run([npm, "ci", "--no-audit", "--no-fund"], cwd=HERE, capture_output=True, text=True)
        reason = f"npm could not bring the tools: {brought.stderr[-400:]}" if brought.returncode else ""
    if reason and os.environ.get("CI"):
        pytest.fail(reason)
    if reason:
        pytest.skip(reason)
    return modules / ".bin"


def said(*command: object) -> str:
    """A tool's complaints; empty if it has none."""
    ran = subprocess.run([str(part) for part in command], cwd=HERE, capture_output=True, text=True)
    return "" if ran.returncode == 0 else ran.stdout + ran.stderr


def test_the_types_hold(tools: Path) -> None:
    assert said(tools / "tsc", "-p", "jsconfig.json") == ""


def test_the_linter_has_nothing_to_say(tools: Path) -> None:
    assert said(tools / "biome", "lint", f"--config-path={HERE}", "--error-on-warnings", WIDGETS) == ""


def test_the_tools_find_what_is_wrong(tools: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.js"
    wrong.write_text("// @ts-check\nlet unused = 1;\nexport const two = document.body.nothing;\n")
    assert "noUnusedVariables" in said(tools / "biome", "lint", f"--config-path={HERE}", wrong)
    assert "TS2339" in said(tools / "tsc", "--noEmit", "--allowJs", "--checkJs", "--lib", "ES2023,DOM", wrong)
