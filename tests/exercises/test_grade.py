"""Grading many submissions: whatever is handed in, every student gets the grade earned, once."""

import functools
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import unicodedata
import zipfile

import psutil
import pytest
from support import environment
from support.grading import MUL, RELU, STUB, cell, gradebook, notebook, run, write_submissions

from tinygrad_edu.course.cli import main
from tinygrad_edu.exercises import all_exercises
from tinygrad_edu.exercises.grading import grade
from tinygrad_edu.exercises.grading import submissions as reading
from tinygrad_edu.exercises.grading.gradebook import file_names
from tinygrad_edu.exercises.grading.submissions import lesson_of, read_submissions
from tinygrad_edu.sandbox import outside
from tinygrad_edu.sandbox.outside import PROTECTIONS, Sandbox

pytestmark = pytest.mark.outer(start=2)


def test_each_student_gets_the_points_that_were_earned(submit, tmp_path, capsys):
    folder = submit(
        ada=notebook(),
        bob=notebook(mul=MUL.replace("grad_output * b, grad_output * a", "b, a"), relu=STUB),
        eve=notebook(central="import os\nos._exit(0)", mul="while True: pass"),
    )
    assert run(folder, tmp_path / "out", "--jobs", "2") == 0
    table = gradebook(tmp_path / "out")
    assert {name: int(row["points"]) for name, row in table.items()} == {"ada": 9, "bob": 4, "eve": 3}
    assert "relu_backward: Not answered yet." in table["bob"]["notes"]
    assert "3 submissions graded" in capsys.readouterr().out


WHOLE, TEXT = notebook(), json.dumps(notebook())
DAMAGED = "is not a notebook, or it is damaged"


def with_cells(change):
    return WHOLE | {"cells": [one for c in WHOLE["cells"] for one in change(c)]}


def changed(**parts):
    return with_cells(lambda c: [c | parts])


NO_PYTHON = "mul_backward <- function(g, a, b) c(g * b, g * a)"
DEEP = json.dumps(WHOLE | {"metadata": 0}).replace('"metadata": 0', f'"metadata": {"[" * 99999}')
ODD = {
    "an empty file": (b"", 0, "is empty"),
    "no notebook": (b"print('hello')", 0, DAMAGED),
    "half a notebook": (TEXT.encode()[:500], 0, DAMAGED),
    "metadata nested too deep to read": (DEEP.encode(), 0, DAMAGED),
    "more parts than any notebook has": (
        b'{"cells": [' + b"{}," * 1_100_000 + b"0]}",
        0,
        "more parts than any notebook",
    ),
    "the format of before 2015": ({"nbformat": 3, "worksheets": [{"cells": []}]}, 0, "is in a format from before 2015"),
    "another course's notebook": (WHOLE | {"cells": [cell("x = 1", "task1")]}, 0, "contains no answer"),
    "cells that are no cells": (WHOLE | {"cells": [1, None, "x", *WHOLE["cells"]]}, 9, ""),
    "half a character in a message": (notebook(mul="raise ValueError('\ud800')"), 6, "The cell "),
    "a cell copied": (notebook(extra=[cell(MUL, "mul_backward")]), 9, "2 cells carry this id; the one that counts"),
    "a stub pasted after the answer": (notebook(extra=[cell("", "relu_backward")]), 9, ""),
    "an id lost": (WHOLE | {"cells": [*notebook(mul="")["cells"], cell(MUL)]}, 9, "no cell carries this id"),
    "a cell deleted": (
        with_cells(lambda c: [c] * (c["source"] != MUL)),
        6,
        "mul_backward: No cell with an answer was found.",
    ),
    "an answer pasted into a new cell, indented": (
        notebook(mul="", extra=[cell("    " + MUL.replace("\n", "\n    "))]),
        9,
        "one that defines `mul_backward` was graded",
    ),
    "a check edited": (notebook(extra=[cell("check = lambda *a: 'all right'", "check_mul_backward")]), 9, ""),
    "a function renamed": (notebook(mul=MUL.replace("mul_b", "mulb")), 6, "The cell defines no `mul_backward`."),
    "a cell made into text": (
        with_cells(lambda c: [c | {"cell_type": "markdown"} if c["source"] == MUL else c]),
        6,
        "no longer a code cell.",
    ),
    "a hundred thousand cells": (
        lambda: notebook(extra=[cell(f"x{i} = {i}") for i in range(100_000)]),
        9,
        "more code than in any lesson",
    ),
    "a cell longer than any answer": (notebook(mul=MUL + "#" * (1 << 20)), 6, "longer than any answer"),
    "megabytes of metadata": (WHOLE | {"metadata": {"x": "y" * (8 << 20)}}, 9, ""),
    "all metadata lost": (
        changed(metadata={}),
        9,
        "no cell carries this id; one that defines `mul_backward` was graded.",
    ),
    "another system's line ends and a byte order mark": (
        b"\xef\xbb\xbf" + TEXT.replace("\\n", "\\r\\n").encode(),
        9,
        "",
    ),
    "another language": (notebook(mul=NO_PYTHON), 6, "The cell is not valid Python, in line 1"),
    "a name in letters of another width": (notebook(mul=MUL.replace("_", "\uff3f", 1)), 9, ""),
    "cells with one id": (changed(id="same"), 9, ""),
    "sources as lists of lines": (with_cells(lambda c: [c | {"source": c["source"].splitlines(True)}]), 9, ""),
}


@pytest.fixture(scope="module")
def odd_class(tmp_path_factory):
    """The gradebook of a class in which each but one handed in something odd."""
    folder, out = tmp_path_factory.mktemp("odd"), tmp_path_factory.mktemp("graded")
    odd = {what: content() if callable(content) else content for what, (content, *_) in ODD.items()}
    write_submissions(folder, ada=notebook(), **odd)
    assert run(folder, out, "--lesson", "1", "--jobs", "2") == 0
    return gradebook(out)


@pytest.mark.parametrize("what", ODD)
def test_whatever_is_handed_in_is_graded_and_told(odd_class, what):
    _, points, note = ODD[what]
    assert int(odd_class[what]["points"]) == points
    assert note in odd_class[what]["notes"]


def test_whatever_is_handed_in_stops_nobody(odd_class):
    assert int(odd_class["ada"]["points"]) == 9
    assert len(odd_class) == len(ODD) + 1


def zipped(files):
    """An archive of what is bytes, or a notebook."""
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content if isinstance(content, bytes) else json.dumps(content))
    return memory.getvalue()


def points(out):
    return {name: int(row["points"]) for name, row in gradebook(out).items()}


LONG = "\U00020000" * 70  # 280 bytes, more than the name of a folder may have
LESSON = zipped({"lesson1.ipynb": notebook()})
ARCHIVES = {  # what is in an archive, and what each student earned
    "of a learning platform, which is not unpacked": (
        {
            "Ada_1_assignsubmission_file/lesson1.ipynb": notebook(),
            "../../../outside.ipynb": notebook(relu=STUB),
            "bomb.ipynb": bytes(40 << 20),
            "__MACOSX/._x": b"",
        },
        {"Ada_1_assignsubmission_file": 9, "outside": 6, "bomb": 0},
    ),
    "of archives, with names of every system": (
        {
            "ada_1_lesson.zip": LESSON,
            "bob_2_lesson.zip": zipped(
                dict.fromkeys(("lesson1.ipynb", ".ipynb_checkpoints/lesson1-checkpoint.ipynb"), notebook())
            ),
            "cyd/handed_in.zip": LESSON,
            "dan\\lesson1.ipynb": notebook(),
            "eve/archive_of_archives.zip": LESSON[:50],
            f"{LONG}/lesson1.ipynb": notebook(),
        },
        {**dict.fromkeys(("ada_1_lesson", "bob_2_lesson", "cyd", "dan", LONG), 9), "eve": 0},
    ),
    "with a folder around all students": (
        {
            "submissions/ada/lesson1.ipynb": notebook(),
            "submissions/bob/": b"",
            "submissions/bob/slopes/lesson1.ipynb": notebook(relu=STUB),
            "submissions/cyd.zip": LESSON,
            "submissions/dan/": b"",
            "__MACOSX/submissions/ada/._lesson1.ipynb": b"",
        },
        {"ada": 9, "bob": 6, "cyd": 9, "dan": 0},
    ),
    "of one student, with folders": (
        {
            "ada/lesson1.ipynb": notebook(),
            **dict.fromkeys(("ada/pictures/a.png", "ada/data/b.csv", "ada/.ipynb_checkpoints/lesson1.ipynb"), b"1"),
        },
        {"ada": 9},
    ),
}


@pytest.mark.parametrize("what", ARCHIVES)
def test_an_archive_is_read_without_unpacking_it(what, tmp_path):
    content, earned = ARCHIVES[what]
    (tmp_path / "all.zip").write_bytes(zipped(content))
    assert run(tmp_path / "all.zip", tmp_path / "out") == 0
    assert points(tmp_path / "out") == earned
    assert "bomb" not in earned or "larger than any notebook" in gradebook(tmp_path / "out")["bomb"]["notes"]
    assert {path.name for path in tmp_path.iterdir()} == {"all.zip", "out"}


FOLDERS = {  # a folder of archives is read as one archive of them: what is in it, what was earned, what is said
    "archives": (
        {"ada.zip": LESSON, "bob/slopes/x.zip": LESSON, "cyd.zip": b"no zip"},
        {"ada": 9, "bob": 9, "cyd": 0},
        "",
    ),
    "names that are not text": (
        {
            "eve.zip": zipped({"é/lesson1.ipynb": notebook()}).replace("é".encode(), b"\xff\xfe"),
            "bob.ipynb": json.dumps(notebook()).encode(),
        },
        {"eve": 0, "bob": 9},
        "The archive is damaged",
    ),
}


@pytest.mark.parametrize("what", FOLDERS)
def test_a_folder_of_archives_is_read(what, tmp_path):
    content, earned, said = FOLDERS[what]
    for name, data in content.items():
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_bytes(data)
    assert run(tmp_path / "in", tmp_path / "out") == 0
    assert points(tmp_path / "out") == earned
    assert not said or said in gradebook(tmp_path / "out")["eve"]["notes"]


def test_an_archive_of_many_bombs_is_not_unpacked_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "MAX_ARCHIVE", 1 << 20)
    for student, bombs in {"ada": 0, "eve": 3}.items():
        (tmp_path / "in").mkdir(exist_ok=True)
        files = {f"{i}.bin": bytes(1 << 19) for i in range(bombs)} | {"lesson1.ipynb": notebook()}
        (tmp_path / "in" / f"{student}.zip").write_bytes(zipped(files))
    assert run(tmp_path / "in", tmp_path / "out") == 0
    assert points(tmp_path / "out") == {"ada": 9, "eve": 0}
    assert "was not read to its end" in gradebook(tmp_path / "out")["eve"]["notes"]


def test_one_damaged_entry_costs_no_other_student_anything(tmp_path):
    file = tmp_path / "all.zip"
    content = bytearray(zipped({f"{name}/lesson1.ipynb": notebook() for name in ("ada", "bob", "cyd")}))
    start = content.index(b"bob/lesson1.ipynb") + len("bob/lesson1.ipynb")
    content[start : start + 20] = b"\xff" * 20
    file.write_bytes(content)
    assert run(file, tmp_path / "out") == 0
    assert points(tmp_path / "out") == {"ada": 9, "bob": 0, "cyd": 9}
    assert "is damaged or locked" in gradebook(tmp_path / "out")["bob"]["notes"]


@pytest.mark.skipif(sys.platform != "linux", reason="a name of a file is any bytes on Linux alone")
def test_a_folder_whose_name_is_not_text_is_graded(tmp_path):
    folder = os.path.join(os.fsencode(tmp_path), b"in", b"\xff\xfe")
    os.makedirs(folder)
    with open(os.path.join(folder, b"x.ipynb"), "w") as file:
        json.dump(notebook(), file)
    assert run(tmp_path / "in", tmp_path / "out") == 0
    assert list(points(tmp_path / "out").values()) == [9]


def course(*answered):
    """The notebook of another lesson, with the reference as the answer to each of its exercises."""
    return {"cells": [cell(f"{all_exercises()[id].name} = 1", id) for id in answered], "metadata": {}}


def test_each_lesson_of_a_whole_course_is_graded_in_its_own_notebook(submit, tmp_path):
    folder = submit(ada=notebook(), bob=notebook())
    other = [id for id, exercise in all_exercises().items() if exercise.lesson == 8]
    (folder / "ada" / "lesson8.ipynb").write_text(json.dumps(course(*other, other[0])))
    (folder / "bob" / "older").mkdir()
    (folder / "bob" / "older" / "lesson1.ipynb").write_text(json.dumps(notebook(relu="")))
    assert run(folder, tmp_path / "out", "--lesson", "1") == 0
    assert points(tmp_path / "out") == {"ada": 9, "bob": 9}
    table = gradebook(tmp_path / "out")
    assert table["ada"]["notes"] == ""
    said = 'several notebooks of lesson 1; "bob/lesson1.ipynb" was graded: it answers 3 of 3 exercises, the most.'
    assert table["bob"]["notes"] == f"There are {said}"


def test_who_handed_in_nothing_stands_in_the_gradebook_and_so_does_what_is_no_file(submit, tmp_path):
    folder = submit(ada=notebook())
    (folder / "bob" / "slopes").mkdir(parents=True)
    (folder / "cyd").mkdir()
    if hasattr(os, "mkfifo"):
        os.mkfifo(folder / "cyd" / "lesson1.ipynb")
    (folder / "eve").mkdir()
    (folder / "eve" / "lesson1.ipynb").symlink_to(folder / "ada" / "lesson1.ipynb")
    assert run(folder, tmp_path / "out") == 0
    assert points(tmp_path / "out") == {"ada": 9, "bob": 0, "cyd": 0, "eve": 0}
    assert "Nothing was handed in" in gradebook(tmp_path / "out")["bob"]["notes"]
    assert "is a link and was not followed" in gradebook(tmp_path / "out")["eve"]["notes"]


def test_a_second_start_grades_only_what_is_new_or_changed_and_gives_the_same_grades(submit, tmp_path, monkeypatch):
    folder, out = submit(ada=notebook(), bob=notebook(relu=STUB)), tmp_path / "out"
    run(folder, out)
    first = gradebook(out)
    (folder / "cyd").mkdir()
    (folder / "cyd" / "x.ipynb").write_text(json.dumps(notebook()))
    graded, real = [], grade.grade_one
    monkeypatch.setattr(grade, "grade_one", lambda work, sandbox: graded.append(work["student"]) or real(work, sandbox))
    (folder / "bob" / "lesson1.ipynb").write_text(json.dumps(notebook()))
    run(folder, out)
    assert sorted(graded) == ["bob", "cyd"]
    second = gradebook(out)
    assert second["ada"] == first["ada"] and second["bob"]["points"] == "9"


def test_results_that_a_full_disk_or_a_lost_power_cut_off_are_graded_anew_the_others_kept(
    submit, tmp_path, monkeypatch
):
    folder, out = submit(ada=notebook(), bob=notebook(relu=STUB), cyd=notebook()), tmp_path / "out"
    run(folder, out)
    log = out / "results.jsonl"
    first, second, third = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(first + b"\0" * 40 + b"\n" + second + third[:70])

    def full(*arguments):
        raise OSError("No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(grade.Path, "write_bytes", full)  # what was graded is not written a second time
        assert run(folder, out) == 0
    assert points(out) == {"ada": 9, "bob": 6, "cyd": 9}
    assert log.read_bytes().startswith(first + b"\0" * 40 + b"\n" + second)


@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal as a terminal on Unix does")
def test_an_interrupt_at_the_start_of_a_sandbox_prints_no_traceback(submit, tmp_path):
    folder = submit(ada=notebook())
    code = (
        "import signal, sys; from tinygrad_edu.course.cli import main\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it\n"
        "print('ready', flush=True); sys.exit(main(sys.argv[1:]))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, "grade", str(folder), "--out", str(tmp_path / "out"), "--jobs", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,  # as a shell gives each command a process group of its own
        env=environment(),
    )
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    while not psutil.Process(process.pid).children() and process.poll() is None:
        time.sleep(0.001)
    os.killpg(process.pid, signal.SIGINT)
    told = process.communicate()[1].decode()
    assert (process.returncode, told) == (130, "")


def test_where_no_sandbox_can_be_started_nobody_is_given_a_grade(submit, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(outside, "_command", lambda program: [sys.executable, "-c", ""])
    assert run(submit(ada=notebook()), tmp_path / "out") == 2
    assert "grading did not finish: the inside of the sandbox did not start" in capsys.readouterr().err
    assert not (tmp_path / "out" / "results.jsonl").exists()


@pytest.mark.parametrize("moment", ["_kept_seed", "_here", "_bar", "write_all"])
def test_killed_before_the_first_result_between_two_or_over_the_gradebook_it_starts_again(submit, tmp_path, moment):
    folder, out = submit(ada=notebook(), bob=notebook(relu=STUB), cyd=notebook()), tmp_path / "out"
    code = f"""
import os, signal, sys
from support.grading import grade, run
real = grade.{moment}
def dies(*arguments):
    if "{moment}" == "_kept_seed":
        real(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)
grade.{moment} = dies
sys.stderr.isatty = lambda: True
run(*sys.argv[1:], "--jobs", "2")
"""
    command = [sys.executable, "-c", code, str(folder), str(out)]
    assert subprocess.run(command, capture_output=True, env=environment()).returncode == -signal.SIGKILL
    if (log := out / "results.jsonl").exists():
        log.write_bytes(log.read_bytes() + b'{"student": "ada", "cut o')  # a line that the kill cut off
    run(folder, out)
    assert points(out) == {"ada": 9, "bob": 6, "cyd": 9}
    students = [json.loads(line)["student"] for line in (out / "results.jsonl").read_text().splitlines()]
    assert sorted(students) == ["ada", "bob", "cyd"]


def test_missing_protection_is_reported_before_anything_and_must_be_accepted(submit, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(grade, "Sandbox", functools.partial(Sandbox, fork=False))
    folder = submit(ada=notebook())
    assert run(folder, tmp_path / "out") == 2
    said = capsys.readouterr().err
    for protection in PROTECTIONS:
        assert f"Not available on this platform: {protection}." in said
    assert "--unprotected" in said and not (tmp_path / "out").exists()
    assert run(folder, tmp_path / "out", "--unprotected") == 0
    assert int(gradebook(tmp_path / "out")["ada"]["points"]) == 9


def test_feedback_and_the_files_of_other_systems_are_written_for_each_student(submit, tmp_path, monkeypatch):
    monkeypatch.setenv("CLASSROOM", "autograd")
    hostile = "def mul_backward(grad_output, a, b):\n    raise ValueError('<script>alert(1)</script>')\n"
    out = tmp_path / "out"
    run(submit(ada=notebook(mul=hostile)), out)
    folder = out / "students" / "ada"
    page = (folder / "feedback.html").read_text()
    assert "6 of 9 points" in page and "&lt;script&gt;" in page and "<script" not in page

    gradescope = json.loads((folder / "results.json").read_text())
    assert gradescope["score"] == 6
    assert [(test["name"], test["score"], test["max_score"]) for test in gradescope["tests"]] == [
        ("central_difference", 3, 3),
        ("mul_backward", 0, 3),
        ("relu_backward", 3, 3),
    ]
    classroom = json.loads((folder / "result.json").read_text())
    assert classroom["schema"] == "classroom50/result/v1"
    assert classroom["classroom"] == "autograd"
    assert (classroom["score"], classroom["max-score"]) == (6, 9)
    assert classroom["tests"][1] == {"test-name": "mul_backward", "passed": False, "score": 0, "max-score": 3}


def test_no_name_leads_out_of_the_folder_or_becomes_a_formula(submit, tmp_path):
    names = ["../../etc", "..", "a/b", "a_b", "", "/x"]
    assert len(set(file_names(names).values())) == len(names)
    assert not any("/" in file or file.startswith("..") for file in file_names(names).values())
    run(submit(**{"=HYPERLINK(1)": notebook()}), tmp_path / "out")
    assert "'=HYPERLINK(1)" in (tmp_path / "out" / "gradebook.csv").read_text()


@pytest.mark.parametrize("left", ["", "[1, 2]", '{"seed": null}', "{"])
def test_grading_goes_on_where_a_full_disk_damaged_its_records(submit, tmp_path, capsys, left):
    folder, out = submit(ada=notebook()), tmp_path / "out"
    out.mkdir()
    (out / "run.json").write_text(left)
    (out / "results.jsonl").write_text(f"{left}\n[1, 2]\n3\n" + '{"key": "x"}\n')
    assert run(folder, out) == 0
    assert gradebook(out)["ada"]["points"] == "9"
    assert "run.json is damaged" in capsys.readouterr().err


def test_no_two_students_share_a_folder_on_a_disk_that_tells_no_case_apart():
    names = ["Anna", "anna", "jos\u00e9", "jose\u0301", "bob"]
    files = file_names(names)
    assert len({unicodedata.normalize("NFC", file).casefold() for file in files.values()}) == len(names)
    assert files["bob"] == "bob"


def test_one_students_stray_cells_do_not_choose_the_lesson(submit):
    stray = [cell("x = 1", id) for id, exercise in all_exercises().items() if exercise.lesson == 9]
    submissions = read_submissions(submit(ada=notebook(), bob=notebook(), eve=notebook(extra=stray)), all_exercises())
    assert lesson_of(submissions, all_exercises()) == 1


def test_what_cannot_be_graded_is_said_in_a_sentence(tmp_path, capsys):
    assert run(tmp_path / "nowhere", tmp_path / "out") == 2
    (tmp_path / "empty").mkdir()
    assert run(tmp_path / "empty", tmp_path / "out") == 2
    errors = capsys.readouterr().err
    assert "no submissions at" in errors and "name the lesson with --lesson" in errors


def test_where_nothing_can_be_written_it_says_so(submit, tmp_path, capsys):
    (tmp_path / "taken").write_text("a file")
    assert run(submit(ada=notebook()), tmp_path / "taken") == 2
    assert "grading did not finish" in capsys.readouterr().err


def test_the_command_checks_one_notebook_in_the_terminal_and_grades_many(submit, tmp_path, capsys):
    folder = submit(ada=notebook(), bob=notebook(relu=RELU.replace("x > 0", "grad_output > 0")))
    assert main(["check", str(folder / "ada" / "lesson1.ipynb")]) == 0
    assert main(["check", str(folder / "bob" / "lesson1.ipynb")]) == 1
    assert "You tested the sign of grad_output." in capsys.readouterr().out
    assert main(["check", str(tmp_path / "nothing.ipynb")]) == 2
    assert main(["grade", str(folder), "--out", str(tmp_path / "out"), "--jobs", "1", "--no-progress"]) == 0
    assert int(gradebook(tmp_path / "out")["bob"]["points"]) == 6


def stubs():
    """The lesson as it was released: nothing answered."""
    stub = "def {}:\n    # YOUR CODE HERE\n    raise NotImplementedError()\n".format
    names = ("central_difference(f, x, eps)", "mul_backward(grad_output, a, b)", "relu_backward(grad_output, x)")
    return notebook(*map(stub, names))


def bare():
    """A notebook that lost its metadata and its checks."""
    cells = [{**one, "metadata": {}} for one in notebook()["cells"] if not one["source"].startswith("check(")]
    return {**notebook(), "cells": cells}


SEVERAL = {
    "a stub whose name comes first": ({"a_stub.ipynb": stubs(), "b_work.ipynb": notebook()}, "b_work"),
    "the released lessons beside the work": ({"lessons/01.ipynb": stubs(), "work/mine.ipynb": notebook()}, "mine"),
    "a stub that is more recent": ({"b_work.ipynb": notebook(), "z_stub.ipynb": stubs()}, "b_work"),
    "an older version": ({"a_old.ipynb": notebook(mul=MUL.replace("* b", "* a")), "b_new.ipynb": notebook()}, "b_new"),
    "neither ids nor checks": ({"colab.ipynb": bare(), "lesson.ipynb": stubs()}, "colab"),
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("what", SEVERAL)
def test_of_several_notebooks_the_one_with_the_work_is_graded(what, packed, tmp_path):
    files, graded = SEVERAL[what]
    folder = tmp_path / "in" / "ada"
    for minute, (name, content) in enumerate(files.items()):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(content))
        os.utime(folder / name, (1.7e9 + 60 * minute,) * 2)
    if packed:
        for student in ("ada", "bob"):  # an archive that stands alone would be that of the course
            shutil.make_archive(str(tmp_path / "packed" / student), "zip", folder)
    assert run(tmp_path / ("packed" if packed else "in"), tmp_path / "out", "--lesson", "1") == 0
    row = gradebook(tmp_path / "out")["ada"]
    assert int(row["points"]) == 9
    assert f'{graded}.ipynb" was graded' in row["notes"]
    assert f"{graded}.ipynb" in (tmp_path / "out" / "students" / "ada" / "feedback.html").read_text()


def test_a_name_of_another_lesson_in_a_bare_notebook_is_no_answer(tmp_path):
    cells = [*bare()["cells"], cell("class Value:\n    pass\n\nexp = 3\n\ndef train():\n    pass")]
    (tmp_path / "x.ipynb").write_text(json.dumps({**notebook(), "cells": cells}))
    (submission,) = read_submissions(tmp_path / "x.ipynb", all_exercises())
    assert sorted(submission.answers) == ["central_difference", "mul_backward", "relu_backward"]
