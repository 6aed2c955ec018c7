"""Every lesson runs top to bottom in a kernel of its own, offline, with its exercises answered and unanswered."""

import json
import os
from pathlib import Path

import nbformat
import pytest

from tinygrad_edu.course.site import running
from tinygrad_edu.course.working_copy import students_version

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted(path for path in (ROOT / "notebooks").rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts)
# Of its own and its children's processor time, which other programs do not lengthen; 5 to 14 are taken.
LIMIT_CPU_S = 60
LIMIT_KB = 1_000_000  # the most memory that the kernel ever had; 280 to 430 thousand are taken
# A process started here inherits the peak that `resource` gives, so Linux is asked, and other systems are not.
TAKEN = """
import os, pathlib
status = pathlib.Path("/proc/self/status")
lines = status.read_text().splitlines() if status.exists() else []
print(sum(os.times()[:4]), *[line.split()[1] for line in lines if line.startswith("VmHWM")])
"""

pytestmark = [pytest.mark.outer(start=2), pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)]


def run(cells: list[nbformat.NotebookNode], folder: Path) -> None:
    """Run these cells in a kernel started in `folder`: as for the site, a fork of a process that has imported PyTorch.
    A cell that raises fails the test, and so does a kernel that takes too much."""
    folder = folder / "working copy" / "lesson"  # a lesson looks for the others beside it
    folder.mkdir(parents=True)
    notebook = nbformat.v4.new_notebook()
    notebook.cells = cells
    running.run(notebook, folder)


def told(cells: list[nbformat.NotebookNode]) -> list[str]:
    """The replies of the checks in a lesson that ran. Output on stderr fails the test."""
    for cell in cells:
        for output in cell.get("outputs", ()):
            assert output.get("name") != "stderr", f"{cell.source}\nwrites to stderr:\n{output.text}"
    return [cell.outputs[0].data["text/plain"] for cell in cells if cell.metadata.get("nbgrader", {}).get("grade")]


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lesson needs no network: requests go to a proxy that does not exist."""
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("PYTHONPATH", raising=False)
    assert "HTTP_PROXY" in os.environ


def test_it_runs_with_the_reference_answers_and_with_the_exercises_unanswered(path: Path, tmp_path: Path) -> None:
    """Run the second time in the first kernel, with all names removed: most of a run is the start and the imports."""
    lesson = json.loads(path.read_bytes())
    versions = map(json.dumps, (lesson, students_version(lesson)))
    answered, unanswered = (nbformat.reads(version, as_version=4).cells for version in versions)
    if [cell.source for cell in answered] == [cell.source for cell in unanswered]:
        unanswered = []  # it has no exercise
    forget, taken = nbformat.v4.new_code_cell("%reset -f"), nbformat.v4.new_code_cell(TAKEN)
    run([*answered, forget, *unanswered, taken], tmp_path)
    assert [text for text in told(answered) if "all right" not in text] == []
    assert [text for text in told(unanswered) if "Not answered yet." not in text] == []
    seconds, *peaks = map(float, taken.outputs[0].text.split())
    assert seconds < LIMIT_CPU_S, f"the kernel took {seconds:.0f} s of processor time"
    assert all(peak < LIMIT_KB for peak in peaks), f"the kernel took {peaks[0] / 1000:.0f} MB"


def test_it_is_a_valid_notebook_and_a_lesson_is_committed_without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert len({cell.id for cell in notebook.cells}) == len(notebook.cells)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    if path.stem == "gallery":
        # It is looked at where nothing runs, on a repository's page, so it keeps its twelve pictures.
        assert sum(bool(cell.outputs) for cell in code) >= 12
        return
    assert [cell.outputs for cell in code if cell.outputs] == []
    assert [cell.execution_count for cell in code if cell.execution_count] == []
    assert "widgets" not in notebook.metadata


def test_its_file_is_written_as_jupyter_writes_it(path: Path) -> None:
    """A diff then shows only what an author changed."""
    assert path.read_text() == nbformat.writes(nbformat.read(path, as_version=4)) + "\n"
