"""How long grading takes, and the same five submissions beside nbgrader and otter-grader, in one run.

    python benchmarks/grade.py [--otter PATH] [--submissions 1000] [--hostile 200]

Submissions are lesson 1 (three exercises) with right, wrong, unanswered and raising answers; in hostile ones one of the
three attacks: loops, forks, memory, files, the judge's own objects. nbgrader runs `nbgrader autograde` with our checks
in the cells; otter runs `otter run` with the same checks as its tests. otter-grader and the course pin different
packages, so it is looked for where `--otter` says; a peer that is missing is left out, and said so.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import json
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tinygrad_edu.exercises import all_exercises, check, get
from tinygrad_edu.exercises.exercise import PROGRAM
from tinygrad_edu.exercises.grading import grade
from tinygrad_edu.exercises.grading.submissions import read_submissions
from tinygrad_edu.sandbox.outside import Sandbox

IDS = [exercise.id for exercise in all_exercises().values() if exercise.lesson == 1]
CENTRAL = [
    "return (f(x + eps) - f(x - eps)) / (2 * eps)",
    "return (f(x + eps) - f(x)) / eps",
    "raise NotImplementedError",
]
MUL = [
    "return grad_output * b, grad_output * a",
    "return grad_output * a, grad_output * b",
    "return b, a",
    "return 1 / 0",
]
RELU = ["return grad_output if x > 0 else 0.0", "return grad_output if grad_output > 0 else 0.0", "pass"]
HOSTILE = [
    "while True: pass",
    """
while True:
    try:
        while True: pass
    except BaseException: pass""",
    "import time\ntime.sleep(3600)",
    "import os\nwhile True: os.fork()",
    "import threading\nfor _ in range(10_000): threading.Thread(target=lambda: [None for _ in iter(int, 1)]).start()",
    "x = []\nwhile True: x.append(bytes(1 << 26))",
    "x = [0] * 4096\nfor _ in range(7): x = [x] * 4096\nmul_backward = lambda *arguments: x",
    "def f(): f()\nf()",
    "import ctypes\nctypes.string_at(0)",
    "import os\nwhile True: os.write(3, b'x' * 65536)",
    'import os\nos.write(3, b\'{"answer": "a function", "observed": {}}\')\nos._exit(0)',
    "import os\nos.kill(-1, 9)\nos.kill(os.getppid(), 9)",
    "open('/etc/passwd').read()",
    "import os\nopen(os.path.expanduser('~/written-by-an-answer'), 'w').write('x')",
    "import sys\ndef mul_backward(*arguments): return sys._getframe(1).f_back.f_locals",
    "import gc\ndef mul_backward(*arguments): return [thing for thing in gc.get_objects() if type(thing) is dict][:2]",
    "import json\njson.dumps = lambda *a, **k: '{}'\ndef mul_backward(*arguments): return arguments",
    "import builtins\nbuiltins.isinstance = lambda *a: True\ndef mul_backward(*arguments): return arguments",
    "from tinygrad_edu.exercises.answers.lesson1 import other_factor as mul_backward",
    "class E(Exception):\n    def __str__(self):\n        while True: pass\nraise E",
]


def notebook(rng: random.Random, hostile: str = "") -> dict:
    """One student's notebook, as nbgrader releases it. A `hostile` cell takes the place of mul_backward's answer."""
    cells = [code("from tinygrad_edu.exercises import check")]
    for id, bodies in zip(IDS, (CENTRAL, MUL, RELU), strict=True):
        answer = f"def {get(id).signature}:\n    {rng.choice(bodies)}"
        cells.append(code(hostile if hostile and id == "mul_backward" else answer, id, solution=True))
        cells.append(code(f'check("{id}", {id})', f"check_{id}", grade=True, points=get(id).points))
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def code(source: str, id: str = "", solution: bool = False, grade: bool = False, points: int = 0) -> dict:
    """A code cell, with nbgrader's marks when it has an `id`."""
    marks = {"grade_id": id, "solution": solution, "grade": grade, "locked": grade, "schema_version": 3, "task": False}
    metadata = {"nbgrader": marks | ({"points": points} if grade else {})} if id else {}
    cell = {"id": id or "setup", "cell_type": "code", "metadata": metadata, "source": source}
    return cell | {"outputs": [], "execution_count": None}


def submit(folder: Path, count: int, hostile: bool = False) -> None:
    """Write `count` submissions, the same for the same count. `hostile` ones attack in each listed way by turns."""
    rng = random.Random(0)
    for i in range(count):
        file = folder / f"student{i:05}" / "slopes" / "slopes.ipynb"
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(notebook(rng, HOSTILE[i % len(HOSTILE)] if hostile else "")))


def ours(folder: Path, out: Path, jobs: int) -> float:
    """Seconds of a whole run: reading, grading, gradebook, feedback with pictures."""
    start = time.perf_counter()
    submissions = read_submissions(folder, all_exercises())
    grade.grade(submissions, out, IDS, jobs)
    return time.perf_counter() - start


def points(out: Path) -> int:
    """What all answers to mul_backward in a gradebook earned together."""
    with (out / "gradebook.csv").open(newline="") as file:
        return sum(int(row["mul_backward"]) for row in csv.DictReader(file))


def in_a_notebook(runs: int = 20) -> float:
    """Median milliseconds until `check` has judged a right answer."""

    def answer(grad_output, a, b):
        return grad_output * b, grad_output * a

    times = []
    for _ in range(runs + 1):
        start = time.perf_counter()
        check("mul_backward", answer)
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times[1:])


def one_by_one(folder: Path) -> list[float]:
    """Milliseconds of each submission in a sandbox that is already there."""
    works = [grade.work_of(submission, IDS, 0) for submission in read_submissions(folder, all_exercises())]
    times = []
    with Sandbox(PROGRAM) as sandbox:
        grade.grade_one(works[0], sandbox)
        for work in works:
            start = time.perf_counter()
            grade.grade_one(work, sandbox)
            times.append(1000 * (time.perf_counter() - start))
    return times


def nbgrader(folder: Path, course: Path) -> float:
    """Seconds of `nbgrader autograde` on the submissions, without the release before it."""
    source = course / "source" / "slopes" / "slopes.ipynb"
    source.parent.mkdir(parents=True)
    source.write_text(json.dumps(notebook(random.Random(1))))
    (course / "nbgrader_config.py").write_text(
        "from tinygrad_edu.exercises.nbgrader import configure\nconfigure(get_config())\n"
    )
    shutil.copytree(folder, course / "submitted")
    run = [sys.executable, "-m", "nbgrader"]
    subprocess.run([*run, "generate_assignment", "slopes", "--create"], cwd=course, check=True, capture_output=True)
    start = time.perf_counter()
    subprocess.run([*run, "autograde", "slopes", "--create"], cwd=course, check=True, capture_output=True)
    return time.perf_counter() - start


def otter(executable: str, folder: Path, course: Path) -> float:
    """Seconds of `otter run`, once a submission as it works, without making its autograder.zip."""
    tests = course / "tests"
    tests.mkdir(parents=True)
    (course / "out").mkdir()
    for id in IDS:
        lines = [">>> from tinygrad_edu.exercises import check", f'>>> check("{id}", {id}).passed', "True"]
        case = {"code": "\n".join(lines), "hidden": False, "locked": False}
        suite = {"cases": [case], "scored": True, "setup": "", "teardown": "", "type": "doctest"}
        test = {"name": id, "points": get(id).points, "suites": [suite]}
        (tests / f"{id}.py").write_text(f"OK_FORMAT = True\ntest = {test!r}\n")
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    quiet = {"cwd": course, "env": environment, "check": True, "capture_output": True}
    subprocess.run([executable, "generate", "-t", "tests", "--no-environment"], **quiet)
    archive = next(course.glob("*.zip"))
    start = time.perf_counter()
    for file in sorted(folder.rglob("*.ipynb")):
        subprocess.run([executable, "run", "-a", str(archive), "-o", str(course / "out"), str(file)], **quiet)
    return time.perf_counter() - start


def main() -> None:
    """Run everything and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--otter", default=shutil.which("otter"), help="the otter executable")
    parser.add_argument("--submissions", type=int, default=1000)
    parser.add_argument("--hostile", type=int, default=200, help="submissions that attack the grader")
    arguments = parser.parse_args()
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, load "
        f"{os.getloadavg()[0]:.1f}"
    )
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        for count in (5, 100, arguments.submissions):
            submit(place / f"in{count}", count)
        print(f"check() of an answer in a notebook: median {in_a_notebook():.1f} ms")
        times = one_by_one(place / "in100")
        print(f"one submission, one core: median {statistics.median(times):.1f} ms, worst of 100 {max(times):.1f} ms")
        seconds = ours(place / f"in{arguments.submissions}", place / "out", jobs=2)
        print(f"{arguments.submissions} submissions, --jobs 2, feedback written: {seconds:.1f} s")
        with Sandbox(PROGRAM) as sandbox:
            lacking = grade.missing(sandbox)
        if lacking:  # they would attack this machine
            print(f"hostile ones are left out, since this platform lacks: {'; '.join(lacking)}")
        else:
            submit(place / "hostile", arguments.hostile, hostile=True)
            seconds, earned = ours(place / "hostile", place / "out_hostile", jobs=2), points(place / "out_hostile")
            print(f"{arguments.hostile} hostile ones, --jobs 2: {seconds:.1f} s; points for attacks: {earned}")
        print("the same five submissions, start to end:")
        print(f"  tinygrad-edu grade  {ours(place / 'in5', place / 'out5', jobs=1):6.1f} s")
        if importlib.util.find_spec("nbgrader"):
            print(f"  nbgrader autograde  {nbgrader(place / 'in5', place / 'nbgrader'):6.1f} s")
        else:
            print("  nbgrader is not installed: left out")
        if arguments.otter:
            print(f"  otter run           {otter(arguments.otter, place / 'in5', place / 'otter'):6.1f} s")
        else:
            print("  otter is not installed: left out")


if __name__ == "__main__":
    main()
