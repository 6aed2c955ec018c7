"""Output for other systems works there: Gradescope's zip runs as Gradescope runs it, and the class page can be read."""

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from support import environment
from support.grading import MUL, RELU, gradebook, notebook, run

from tinygrad_edu._version import VERSION
from tinygrad_edu.course.cli import main
from tinygrad_edu.course.working_copy import lesson_files, lessons_root
from tinygrad_edu.exercises.grading.own_wheel import pack

pytestmark = pytest.mark.outer(start=1)
ROOT = Path(__file__).resolve().parents[2]
WHEEL = f"tinygrad_edu-{VERSION}-py3-none-any.whl"


def test_what_is_handed_over_installs_the_code_that_wrote_it_with_its_lessons_and_its_command(tmp_path):
    wheel = pack(tmp_path)
    assert wheel.name == WHEEL
    pip = ["-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target"]
    subprocess.run([sys.executable, *pip, tmp_path / "there", wheel], check=True)
    program = (
        "import tinygrad_edu, viz, importlib.metadata as m; from tinygrad_edu.course.working_copy import *;"
        "print(tinygrad_edu.__file__, viz.__file__, lessons_root(), len(lesson_files(lessons_root())), "
        "m.version('tinygrad-edu'))"
    )
    given = {**os.environ, "PYTHONPATH": str(tmp_path / "there")}
    done = subprocess.run([sys.executable, "-P", "-c", program], env=given, capture_output=True, text=True, check=True)
    *places, lessons, version = done.stdout.split()
    assert all(place.startswith(str(tmp_path / "there")) for place in places)
    assert (int(lessons), version) == (len(lesson_files(lessons_root())), VERSION)
    assert (tmp_path / "there" / "bin" / "tinygrad-edu").exists()
    here = [path for package in ("tinygrad_edu", "viz") for path in (ROOT / package).rglob("*.[pjc]*s*")]
    there = [tmp_path / "there" / path.relative_to(ROOT) for path in here if "__pycache__" not in path.parts]
    assert all(path.exists() for path in there)


def unpacked(tmp_path):
    assert main(["grade", "--for", "gradescope", "--lesson", "1", "--out", str(tmp_path / "handed")]) == 0
    with zipfile.ZipFile(tmp_path / "handed" / "gradescope-lesson1.zip") as archive:
        assert sorted(archive.namelist()) == ["run_autograder", "setup.sh", WHEEL]
        assert all(archive.getinfo(name).external_attr >> 16 & 0o111 for name in ("run_autograder", "setup.sh"))
        archive.extractall(tmp_path / "autograder")
    return tmp_path / "autograder"


@pytest.mark.skipif(sys.platform == "win32", reason="Gradescope's machines run Linux")
def test_the_zip_for_gradescope_grades_as_gradescope_runs_it(tmp_path):
    root = unpacked(tmp_path)
    setup = (root / "setup.sh").read_text()
    assert f'"$here/{WHEEL}[viz]" "torch==2.13.*"' in setup and "download.pytorch.org/whl/cpu" in setup
    (root / "submission").mkdir()
    (root / "submission" / "lesson1.ipynb").write_text(json.dumps(notebook(relu=RELU.replace("x > 0", "x >= 0"))))
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    given = {**os.environ, **environment(), "PATH": path, "AUTOGRADER_ROOT": str(root)}
    subprocess.run(["bash", str(root / "run_autograder")], check=True, env=given)
    results = json.loads((root / "results" / "results.json").read_text())
    assert results["score"] == 8
    assert [test["score"] for test in results["tests"]] == [3, 3, 2]


@pytest.mark.skipif(sys.platform == "win32", reason="the workflow asks for Ubuntu")
def test_the_workflow_for_github_grades_what_is_in_the_repository(tmp_path):
    yaml = pytest.importorskip("yaml")
    assert main(["grade", "--for", "github", "--lesson", "1", "--out", str(tmp_path)]) == 0
    assert (tmp_path / ".github" / WHEEL).exists()
    workflow = yaml.safe_load((tmp_path / ".github" / "workflows" / "grade.yml").read_text())
    (step,) = [step for step in workflow["jobs"]["grade"]["steps"] if step.get("name") == "grade"]
    (tmp_path / "lessons").mkdir()
    (tmp_path / "lessons" / "lesson1.ipynb").write_text(json.dumps(notebook()))
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    given = {**os.environ, **environment(), "PATH": path, "GITHUB_STEP_SUMMARY": str(tmp_path / "summary")}
    subprocess.run(["bash", "-e", "-c", step["run"]], check=True, env=given, cwd=tmp_path)
    result = json.loads((tmp_path / "result.json").read_text())
    assert (result["schema"], result["score"]) == ("classroom50/result/v1", 9)
    assert (tmp_path / "summary").read_text().startswith("**9 of 9 points**\n\n| exercise | points |")


def test_what_is_handed_over_needs_a_lesson(tmp_path, capsys):
    assert main(["grade", "--for", "github", "--out", str(tmp_path)]) == 2
    assert main(["grade"]) == 2
    assert "--lesson" in capsys.readouterr().err


def test_the_page_of_a_class_counts_each_mistake_and_holds_no_word_of_a_student(submit, tmp_path):
    says = "def mul_backward(grad_output, a, b):\n    raise ValueError('<b>a word of mine</b>')\n"
    swapped = MUL.replace("grad_output * b, grad_output * a", "grad_output * a, grad_output * b")
    folder = submit(ada=notebook(), bob=notebook(mul=swapped), cyd=notebook(mul=swapped), dan=notebook(mul=says))
    assert run(folder, tmp_path / "out") == 0
    page = (tmp_path / "out" / "class.html").read_text()
    section = page[page.index("<h2>mul_backward") : page.index("<h2>relu_backward")]
    assert "4 students" in page and "a word of mine" not in page and "<script" not in page and "ada" not in page
    counts = [int(n) for n in re.findall(r"<div>(\d) of 4</div>", section)]
    assert counts == [1, 2, 1] and sum(counts) == 4  # each student once
    assert "The factors are swapped" in section and "Missed for another reason" in section
    assert "Mean 6.8 of 9 points, median 6" in page
    told = page[page.index("<h2>To teach next") : page.index("<h2>central_difference")]
    assert "2 of 4" in told and "mul_backward: lesson 1, \u201cThe gradient, one node at a time\u201d" in told
    assert len(gradebook(tmp_path / "out")) == 4
