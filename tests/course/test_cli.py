"""The command `tinygrad-edu`: as a real process, or within this one if only the answer matters."""

import json
import os
import random
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.command import COMMAND, call, run

from tinygrad_edu.course.lab import free_port

pytestmark = pytest.mark.outer(start=2)
ROOT = Path(__file__).resolve().parents[2]


class Lab:
    """A running `tinygrad-edu lab`, read until it says where it listens."""

    def __init__(self, directory: Path, *arguments: str) -> None:
        command = [*COMMAND, "lab", "--no-browser", "--dir", str(directory), *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.output = ""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.output += line
            if found := re.search(r"(http://localhost:(\d+)/\S*)", line):
                self.address, self.port = found[1], int(found[2])
                return
        raise AssertionError(f"JupyterLab never started:\n{self.output}")

    def page(self, url: str) -> str:
        deadline = time.monotonic() + 120
        while True:
            try:
                return urllib.request.urlopen(url, timeout=30).read().decode()
            except urllib.error.URLError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(120)
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "lessons"


@pytest.fixture
def taken_port() -> Iterator[int]:
    """A port that another program listens on, with a free one after it."""
    # Anywhere below the ports that systems hand out: another run of the tests beside this one looks elsewhere.
    for port in random.sample(range(18888, 32000), 100):
        with socket.socket() as other:
            try:
                other.bind(("127.0.0.1", port))
            except OSError:
                continue
            other.listen()
            yield port
            return


def test_lab_opens_the_lessons_on_a_free_port_and_keeps_what_was_written(directory: Path, taken_port: int) -> None:
    lab = Lab(directory, "--port", str(taken_port), "--IdentityProvider.token=secret")
    try:
        assert lab.port > taken_port
        assert f"Port {taken_port} is taken: using {lab.port}." in lab.output
        assert "JupyterLab" in lab.page(f"http://localhost:{lab.port}/lab?token=secret")  # other options pass through
        contents = lab.page(f"http://localhost:{lab.port}/api/contents?token=secret")
        assert "01_slopes_and_local_derivatives" in contents
    finally:
        lab.stop()
    name = Path("01_slopes_and_local_derivatives") / "01_slopes_and_local_derivatives.ipynb"
    (directory / name).write_text('{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}')
    second = Lab(directory, "--port", str(taken_port))
    second.stop()
    assert "1 file with your edits kept" in second.output
    assert '"cells": []' in (directory / name).read_text()


def test_a_free_port_is_taken_as_it_is_and_a_taken_one_is_passed_over(taken_port: int) -> None:
    following = free_port(taken_port)
    assert free_port(following) == following > taken_port


def test_doctor_finds_everything_the_lessons_need() -> None:
    done = run("doctor")
    assert done.returncode == 0, done.stdout
    assert "The lessons will work here." in done.stdout
    tried = ("comparison", "picture", "explorer", "magic", "check", "live answer")
    for subject in ("Python", "numpy", "jupyterlab", "pygraphviz", "torch", "browser", *tried):
        assert re.search(rf"^ok +{subject}", done.stdout, re.MULTILINE), done.stdout


def test_doctor_names_what_is_missing_and_the_command_that_fixes_it(tmp_path: Path) -> None:
    """In a real virtual environment that holds numpy and this package, and nothing else of the course."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    (bare := next((tmp_path / "bare").glob("**/site-packages"))).joinpath("clone.pth").write_text(str(ROOT))
    import numpy

    for package in Path(numpy.__file__).parent.parent.glob("numpy*"):
        (bare / package.name).symlink_to(package)
    python = next((tmp_path / "bare").glob("bin/python*"))
    done = subprocess.run([python, "-m", "tinygrad_edu.course.cli", "doctor"], capture_output=True, text=True)
    assert done.returncode == 1
    assert re.search(r"^ok +numpy", done.stdout, re.MULTILINE), done.stdout + done.stderr
    assert re.search(r"(?m)^MISS +jupyterlab +not installed: pip install 'tinygrad-edu\[course\]'", done.stdout)
    assert re.search(r"^MISS +torch +not installed: .* the core and its pictures work", done.stdout, re.MULTILINE)


BARE_METADATA = "Metadata-Version: 2.1\nName: viz\nVersion: 0.3\n"
UNLOADABLE = "raise OSError('libcgraph.so.6: cannot open shared object file')"
CANNOT = r" +\S+ cannot be loaded \(libcgraph.so.6: cannot open .*\): pip install --force-reinstall "
UNFIT = {  # what is on Python's path, and the lines that doctor says
    "what cannot be loaded": (
        {"pygraphviz.py": UNLOADABLE, "torch.py": UNLOADABLE},
        [f"pygraphviz{CANNOT}pygraphviz$", f"torch{CANNOT}torch; without it"],
    ),
    "no PyTorch": ({"torch.py": "__version__ = '2.14.1'\n"}, [r"comparison +\S+"]),
    "no magics": ({"sitecustomize.py": "import IPython.core.magic as m; del m.magics_class\n"}, [r"comparison +\S+"]),
    "no kernel": ({"ipykernel_launcher.py": "raise SystemExit('no kernel')\n"}, [r"live answer +\S+"]),
    "another package called viz": (
        {
            "viz/other.py": "",
            "viz-0.3.dist-info/METADATA": BARE_METADATA,
            "viz-0.3.dist-info/RECORD": "viz/other.py,,\n",
        },
        ["viz +viz also installs a package 'viz', over ours: pip uninstall viz"],
    ),
    "widgets of another version": (
        {"labextensions/anywidget/package.json": '{"name": "anywidget", "version": "0.1.0"}'},
        [r"widgets +JupyterLab loads anywidget 0.1.0 from \S+anywidget, but"],
    ),
}


def written(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.mark.parametrize("what", UNFIT)
def test_doctor_fails_where_a_lesson_would(what: str, tmp_path: Path) -> None:
    files, said = UNFIT[what]
    written(tmp_path, files)
    given = {**os.environ, "PYTHONPATH": str(tmp_path), "JUPYTER_PATH": str(tmp_path)}
    done = run("doctor", env=given)
    assert done.returncode == 1, done.stdout
    for line in said:
        assert re.search(f"^MISS +{line}", done.stdout, re.MULTILINE), done.stdout
    assert done.stdout.endswith("see MISS above.\n")
    if "package called viz" in what:
        told = subprocess.run([sys.executable, "-c", "import viz"], cwd=ROOT, env=given, capture_output=True, text=True)
        assert "another package called viz (0.3) is installed in the same place" in told.stderr


def test_doctor_finds_a_module_that_hides_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The notebooks' folder comes first on Python's path: `import viz` there would find the learner's file."""
    lesson = "tinygrad-edu-lessons/01_slopes"
    written(tmp_path, {f"{lesson}/viz.py": "colours = ['red']\n", f"{lesson}/torch.py": "light = True\n"})
    (tmp_path / "tinygrad_edu").mkdir()  # a folder without modules hides nothing
    monkeypatch.chdir(tmp_path)
    done = call("doctor")
    assert done.returncode == 1
    for line in (
        r"MISS +torch +\S+torch.py hides the installed package 'torch'",
        r"MISS +viz +\S+viz.py hides this course's own",
    ):
        assert re.search(f"^{line}", done.stdout, re.MULTILINE), done.stdout
    assert re.search(r"^ok +tinygrad_edu", done.stdout, re.MULTILINE), done.stdout


def test_doctor_on_a_card_writes_a_report_and_says_where_there_is_none(tmp_path: Path) -> None:
    import torch

    done = run("doctor", "--device", "cuda", cwd=tmp_path)
    report = (tmp_path / "tinygrad-edu-cuda.txt").read_text()
    assert f"PyTorch {torch.__version__}" in report
    if torch.cuda.is_available():
        assert (done.returncode, "5 passed" in report) == (0, True), report
    else:
        assert (done.returncode, "finds no CUDA card that it can use: nothing was run" in report) == (1, True), report


def test_release_writes_what_students_get_and_progress_finds_nothing_solved_in_it(tmp_path: Path) -> None:
    released = call("release", str(tmp_path / "released"))
    assert released.returncode == 0, released.stderr
    assert re.search(r"\d+ files copied", released.stdout)
    texts = [path.read_text() for path in (tmp_path / "released").rglob("*.ipynb")]
    assert any("YOUR CODE HERE" in text for text in texts)
    assert not any("BEGIN SOLUTION" in text for text in texts)
    done = call("progress", "--dir", str(tmp_path / "released"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("0 of ")


PROGRAM = """import torch

w = torch.tensor(2.0, requires_grad=True)
loss = (w * 3 - 5) ** 2
loss.backward()
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path / "program.py"


@pytest.mark.parametrize("engine", ["torch", "tinygrad_edu"])
def test_draw_saves_a_picture_beside_the_program(program: Path, engine: str) -> None:
    done = call("draw", "--engine", engine, "--view", "grad_fn", str(program))
    assert (done.returncode, done.stdout.strip()) == (0, str(program.with_suffix(".svg"))), done.stderr
    assert "PowBackward0" in program.with_suffix(".svg").read_text()


def test_play_saves_every_step_as_a_page_or_a_picture_that_moves(program: Path) -> None:
    page, picture = program.with_name("flow.html"), program.with_name("flow.svg")
    assert call("play", str(program), "-o", str(page)).returncode == 0
    assert "Backward, step 2 of 4" in page.read_text()
    for command, moves in (("play", True), ("draw", False)):
        assert call(command, str(program), "-o", str(picture)).returncode == 0
        assert ("@keyframes" in picture.read_text()) is moves


def test_compare_says_that_both_engines_agree_and_draw_what_a_program_raises(program: Path) -> None:
    done = call("compare", str(program))
    assert (done.returncode, done.stderr, "agree: 3 nodes" in done.stdout) == (0, "", True)
    program.write_text(PROGRAM + "loss.backward()\n")
    done = call("draw", str(program))
    assert done.returncode == 1
    assert "line 6: RuntimeError: Trying to backward through the graph a second time" in done.stderr
    assert program.with_suffix(".svg").exists()


REFUSED = {  # what is asked in a folder that holds `file`, `empty.py` and `program.py`, and what is said
    "lab --no-browser --dir file": (1, "Choose another folder with --dir"),
    **dict.fromkeys(
        [f"lab --no-browser --dir new --port={port}" for port in ("70000", "-5", "lab", "8888.5", "٣")],
        (2, "a port is a number from 0 to 65535"),
    ),
    "progress --dir missing": (2, "tinygrad-edu lab"),
    "release released --source missing": (2, "no lessons at missing"),
    "draw missing.py": (2, "missing.py"),
    "draw program.py -o a.bmp": (2, "bmp"),
    "compare missing.py": (2, ""),
    "doctor --nonsense": (2, "--nonsense"),
    "": (2, "the following arguments are required: COMMAND"),
    "site -o .": (2, "the site was not written"),
    "site -o file/site --only nothing": (2, "the site was not written"),
    "site -o file": (2, "is a file: name a folder"),
    "site -o new --numpy numpy.whl": (2, "add --live"),
    "diagnose missing.py": (2, "not diagnosed: missing.py does not exist: name"),
    "diagnose empty.py": (2, "not diagnosed: "),
}


@pytest.mark.parametrize("asked", REFUSED)
def test_what_cannot_be_done_is_refused_and_nothing_written(
    asked: str, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(program.parent)
    written(program.parent, {"file": "", "empty.py": ""})
    status, said = REFUSED[asked]
    done = run(*asked.split()) if "dir file" in asked or not asked else call(*asked.split())
    assert (done.returncode, "Traceback" in done.stderr) == (status, False)
    assert said in done.stderr + done.stdout
    assert "lesson" not in done.stderr or "site" not in asked  # refused before the lessons are run
    assert {path.name for path in program.parent.iterdir()} == {"file", "empty.py", "program.py"}


def test_every_command_and_option_in_the_documentation_is_there() -> None:
    text = "\n".join(path.read_text() for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")))
    written = {line.split("#")[0].strip() for line in re.findall(r"tinygrad-edu ([a-z][^`\n]*)", text)}
    assert len(written) >= 8
    options: dict[str, set[str]] = {}
    for line in written:
        command, *rest = line.split(".py ")[0].split()  # what follows a script is its own
        options.setdefault(command, set()).update(word for word in rest if word.startswith("-"))
    for command, named in options.items():
        told = call(command, "--help")
        assert told.returncode == 0, f"{command}: {told.stderr}"
        assert [option for option in named if not re.search(rf"(?<![\w-]){option}\b", told.stdout)] == [], command


BROKEN = """\
import torch
w = torch.ones(2, requires_grad=True)
loss = (w.detach() * 3).sum()
loss.backward()
"""


def test_diagnose_names_the_cause_and_fails_only_when_asked_to(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(BROKEN)
    done = call("diagnose", "-o", str(tmp_path / "report.html"), str(script))
    assert (done.returncode, done.stderr) == (1, "")  # as the script's own error
    assert "1. detach · line 3 · certain" in done.stdout
    assert "<mark>" in (tmp_path / "report.html").read_text(encoding="utf-8")
    script.write_text(
        "import torch\nw = torch.ones(2, requires_grad=True)\nfor _ in range(3):\n    (w * w).sum().backward()\n    "
        "with torch.no_grad(): w -= w.grad"
    )
    assert [call("diagnose", *given, str(script)).returncode for given in ((), ("--fail-on", "certain"))] == [0, 1]
    script.write_text(BROKEN.replace(".detach()", ""))
    done = call("diagnose", "--fail-on", "likely", str(script))
    assert (done.returncode, "Nothing was found" in done.stdout) == (0, True)


SCRIPT = """\
import pickle, sys
import torch

class Net(torch.nn.Linear):
    pass

if __name__ == "__main__":
    print("given", sys.argv[1:])
    torch.save(Net(2, 1), "net.pt")
    print(type(pickle.loads(pickle.dumps(Net(2, 1)))) is Net)
    net = Net(2, 1)
    net(torch.ones(3, 2)).sum().backward()
    {last}
"""


def test_diagnose_runs_a_script_as_a_shell_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(SCRIPT.format(last="sys.exit(3)"))
    done = call("diagnose", "train.py", "--epochs", "2", "--json")
    assert (done.returncode, done.stderr) == (3, "")
    assert done.stdout.startswith("given ['--epochs', '2', '--json']\nTrue\n")
    assert Path("net.pt").exists()
    Path("train.py").write_text(SCRIPT.format(last="raise KeyboardInterrupt"))
    done = call("diagnose", "train.py")
    assert (done.returncode, "stopped by Ctrl-C" in done.stdout, "1 backward pass" in done.stdout) == (130, True, True)


SEVERAL = """

import sys
import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, TensorDataset
from nets.model import Net
import losses

def work(rank, n):
    assert n == 2

if __name__ == "__main__":
    if "--spawn" in sys.argv:
        mp.spawn(work, args=(2,), nprocs=1)
    data = TensorDataset(torch.randn(8, 3), torch.randn(8, 1))
    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in DataLoader(data, batch_size=4, num_workers=len(sys.argv) - 1):
        opt.zero_grad()
        losses.error(net(x), y).backward()
        opt.step()
"""
MODEL = """\
from __future__ import annotations
import torch
from .parts import act

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)

    def forward(self, x):
        h = act(self.first(x))
        h = h.detach()
        return self.last(h)
"""


def test_diagnose_names_a_line_of_another_file_and_tries_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files = {"train.py": SEVERAL, "nets/model.py": MODEL, "nets/parts.py": "import torch\nact = torch.tanh\n"}
    files["losses.py"] = "def error(guess, goal):\n    return ((guess - goal) ** 2).mean()\n"
    written(tmp_path, files)
    done = call("diagnose", "-o", "report.json", "train.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert "1. detach · line 12 of nets/model.py · certain\n     12 | h = h.detach()" in done.stdout
    found = json.loads(Path("report.json").read_text())["findings"][0]
    assert (found["file"], found["file_line"]) == (str(tmp_path / "nets" / "model.py"), 12)
    assert {name: Path(name).read_text() for name in files} == files
    spawning = run("diagnose", str(tmp_path / "train.py"), "--spawn")
    assert (spawning.returncode, spawning.stderr) == (0, "")
    assert "1. detach · line 12 of nets/model.py" in spawning.stdout
    Path("losses.py").write_text("def error(guess, goal):\n    return (guess - goal)[9]\n")
    failed = run("diagnose", str(tmp_path / "train.py"))
    assert (failed.returncode, "It ended with IndexError in line 2 of losses.py" in failed.stdout) == (1, True)


def test_diagnose_gives_json_and_counts_the_lines_of_a_cell(tmp_path: Path) -> None:
    cells = [{"cell_type": "code", "source": part} for part in (BROKEN[:13], BROKEN[13:])]
    notebook = tmp_path / "train.ipynb"
    notebook.write_text(json.dumps({"cells": cells}))
    done = call("diagnose", "--engine", "tinygrad_edu", str(notebook))
    assert "1. detach · cell 2, line 2 · certain" in done.stdout
    found = json.loads(call("diagnose", "--json", str(notebook)).stdout)
    assert (found["engine"], found["findings"][0]["kind"]) == ("torch", "detach")


def test_diagnose_stops_a_program_that_never_ends(tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text("while True:\n    pass\n")
    done = call("diagnose", "--limit", "1", str(tmp_path / "loop.py"))
    assert (done.returncode, "had not ended after 0.75 seconds" in done.stdout) == (124, True)
