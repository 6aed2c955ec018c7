"""What `pip install` puts on a machine is complete: the lessons travel inside the wheel."""

import doctest
import email
import importlib.util
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from support import printed

from tinygrad_edu._version import VERSION

pytestmark = pytest.mark.outer
ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, ROOT]
    environment = {**os.environ, "TINYGRAD_EDU_REPOSITORY": "https://example.org/course"}
    subprocess.run(command, check=True, capture_output=True, env=environment)
    return next(folder.glob("*.whl"))


def test_the_lessons_are_found_in_an_installed_wheel(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)  # a pure wheel is installed by unpacking it
    program = (
        "import pathlib; from tinygrad_edu.course.working_copy import lesson_files, lessons_root;"
        "print(lessons_root()); print(*lesson_files(lessons_root()), sep='\\n')"
    )
    root, *files = printed(program, cwd=tmp_path).splitlines()
    assert Path(root) == tmp_path / "tinygrad_edu" / "notebooks"
    in_clone = {path.relative_to(ROOT / "notebooks") for path in (ROOT / "notebooks").rglob("*.ipynb")}
    wanted = {path for path in in_clone if ".ipynb_checkpoints" not in path.parts}
    assert {Path(file).relative_to(root) for file in files} >= wanted


def test_the_wheel_carries_every_module_and_every_file_of_the_widgets(wheel: Path) -> None:
    own = [path for package in ("tinygrad_edu", "viz") for path in (ROOT / package).rglob("*")]
    in_clone = {path.relative_to(ROOT).as_posix() for path in own if path.suffix in (".py", ".js", ".css", ".typed")}
    assert in_clone <= set(zipfile.ZipFile(wheel).namelist())


def test_the_wheel_has_the_version_of_the_package_its_addresses_and_a_readme_whose_links_hold(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    metadata = email.message_from_bytes(archive.read(name))
    assert metadata["Version"] == VERSION
    assert "Homepage, https://example.org/course" in metadata.get_all("Project-URL")
    links = re.findall(r"\]\(([^)]+)\)", metadata.get_payload())
    assert len(links) == (ROOT / "README.md").read_text(encoding="utf-8").count("](") > 10
    assert [link for link in links if not link.startswith(("https://", "#"))] == []


def test_what_the_build_says_in_its_examples_is_so() -> None:
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    outcome = doctest.testmod(module)
    assert outcome.attempted >= 4
    assert outcome.failed == 0
