"""The parts of a live site: the statements that need a computer, the files that it takes, and how they are packed."""

import gzip
import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from tinygrad_edu.course.cli import main
from tinygrad_edu.course.site.live import archive, pages, parts
from tinygrad_edu.course.site.live.needs import NEEDED
from tinygrad_edu.course.site.live.needs import parts as parts_of
from viz.experiments.program import parse
from viz.experiments.switches import offers, presses

_spec = importlib.util.spec_from_file_location("tape", pages.HERE / "python" / "tape.py")
assert _spec is not None
assert _spec.loader is not None
tape = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(tape)

CASES = {
    "an import alone costs no output": (["import torch\nprint(1)"], [("print(1)", False)]),
    "what uses PyTorch is left out": (["import torch\ny = torch.ones(2)\nz = 1"], [("z = 1", True)]),
    "so is what uses that": (["import torch", "y = torch.ones(2)", "print(y)"], [("", False), ("", True), ("", True)]),
    "a local name is another": (
        ["import torch", "for T in (torch,):\n    x = T.ones(2)", "def f(T, x):\n    return T, x"],
        [("", False), ("", True), ("def f(T, x):\n    return T, x", False)],
    ),
    "a function that would use it waits": (
        ["import torch", "def f():\n    return torch.ones(1)"],
        [("", False), ("", True)],
    ),
    "a name that is given anew is there": (
        ["import torch", "x = torch.ones(1)", "x = 2", "print(x)"],
        [("", False), ("", True), ("x = 2", False), ("print(x)", False)],
    ),
    "a list that PyTorch's loop fills is not there": (
        ["import torch\nfound = []", "for i in range(2):\n    found.append(torch.ones(i))", "print(found)"],
        [("found = []", False), ("", True), ("", True)],
    ),
    "a module is not changed by a call": (
        ["import torch\nimport viz", "viz.draw(torch.ones(1))", "viz.draw(1)"],
        [("import viz", False), ("", True), ("viz.draw(1)", False)],
    ),
    "a run of training on PyTorch is on no tape": (
        ["import viz", "viz.train(line, engine='torch')", "viz.record(program, engine='torch')"],
        [("import viz", False), ("", True), ("viz.record(program, engine='torch')", False)],
    ),
    "a decorator stays with its function": (
        ["import torch", "class C:\n    @staticmethod\n    def f(x):\n        return x"],
        [("", False), ("class C:\n    @staticmethod\n    def f(x):\n        return x", False)],
    ),
    "a magic command waits for Jupyter, and so do the names below it": (
        ["%%timeit\nx = 1", "print(x)", "%time y = 2"],
        [("", True), ("", True), ("", True)],
    ),
    "our own magics run, except for what they need from PyTorch": (
        ["%load_ext viz", "%%autograd\nx = 1", "%%diagnose --engine torch\ny = x", "print(x)", "print(y)"],
        [("", False), ("%%autograd\nx = 1", False), ("", True), ("print(x)", False), ("", True)],
    ),
    "a program of PyTorch's that is diagnosed runs on our engine": (
        ["%%diagnose\nimport torch\nx = torch.ones(1)", "%%autograd\nimport torch\ntorch.ones(1)", "print(x)"],
        [("%%diagnose\nimport torch\nx = torch.ones(1)", False), ("", True), ("print(x)", False)],
    ),
    "an exercise that is no Python yet is handed on": (["def f(:"], [("def f(:", False)]),
}


def test_what_a_cell_needs_is_what_it_uses_first():
    names = [f"y{i}" for i in range(9)]
    lines = [f"{name} = torch.ones(1)" for name in names]
    made = "\n".join(["import torch", "import threading", *lines, "x = threading.Lock()"])
    below = "%%diagnose --engine torch\nimport torch\nx = torch.ones(1)"
    shown = parts_of([made, f"print(x, {', '.join(names)})", f"print({', '.join(names)}, x)", below])
    assert [part.needs for part in shown[1:]] == [NEEDED["threading"], NEEDED["torch"], NEEDED["torch"]]


@pytest.mark.parametrize("cells, expected", CASES.values(), ids=CASES)
def test_a_page_runs_what_needs_no_computer(cells: list[str], expected: list[tuple[str, bool]]) -> None:
    assert [(part.runs, bool(part.needs)) for part in parts_of(cells)] == expected


PROGRAM = """\
w = T.tensor(2.0, requires_grad=True)
b = T.tensor(1.0, requires_grad=True)
x = T.tensor(3.0)
y = w * x + b
L = y * y
L.backward()"""
TEXTS = {
    "Switch `requires_grad` of `w` *and* of `b` off.": [{"requires_grad": {"w": False, "b": False}}],
    "`requires_grad` of `x` on; leave that on, and `detach` the value `y`.": [
        {"requires_grad": {"x": True}, "detach": ["y"]}
    ],
    "`call it twice`, then switch `retain_graph` on.": [{"retain_graph": True, "backwards": 2}],
    "Put `no_grad` around the line of `L`, and `retain_grad` on `y`.": [
        {"no_grad": [4], "retain_grad": ["y"]},
        {"no_grad": [5], "retain_grad": ["L"]},
    ],
    "Nothing in code.": [],
}


@pytest.mark.parametrize("text, expected", TEXTS.items())
def test_the_switches_that_a_text_names_together_are_recorded_together(text: str, expected: list[Any]) -> None:
    program = parse(PROGRAM)
    switches = presses(offers(program, program.values, ()))
    found = list(tape.states(switches, [text]))
    assert [state for state in expected if state not in found] == []
    assert expected or found == list(tape.states(switches, []))


def test_a_packed_tree_can_be_read_back_and_is_the_same_each_time() -> None:
    files = {"b/c.py": b"x = 1\n", "a.so": bytes(range(256))}
    packed = archive.packed(files)
    assert packed == archive.packed(dict(reversed(files.items())))
    head, _, body = gzip.decompress(packed).partition(b"\n")
    found, at = {}, 0
    for name, size in json.loads(head):
        found[name] = body[at : at + size]
        at += size
    assert found == files


def test_the_editor_imports_files_and_no_packages() -> None:
    text = b'import { a } from "@codemirror/view";\nimport "style-mod";\nimport b from "./own.js";'
    names = {"@codemirror/view": "codemirror__view.js", "style-mod": "style-mod.js"}
    expected = b'import { a } from "./codemirror__view.js";\nimport "./style-mod.js";\nimport b from "./own.js";'
    assert pages._with_addresses(text, names, "./") == expected


def test_a_wheel_with_another_hash_is_refused(tmp_path: Path) -> None:
    lock = json.dumps({"packages": {"numpy": {"file_name": "numpy.whl", "sha256": "0" * 64}}}).encode()
    wheel = tmp_path / "numpy.whl"
    wheel.write_bytes(b"another")
    with pytest.raises(parts.PartError, match=r"is not numpy\.whl"):
        parts.numpy_wheel(lock, wheel)
    with pytest.raises(parts.PartError, match="no NumPy wheel at"):
        parts.numpy_wheel(lock, tmp_path / "absent.whl")


def test_a_package_whose_kept_file_was_changed_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(parts, "REGISTRY", (tmp_path / "nowhere").as_uri())
    kept = parts.cache_folder() / "crelt-1.0.7.tgz"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"changed")
    with pytest.raises(parts.PartError, match="cannot be fetched"):
        parts.files_of(next(package for package in parts.EDITOR if package.name == "crelt"))


def test_another_registry_is_asked_where_npm_would_ask_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert parts.GRAPHVIZ.url.startswith("https://registry.npmjs.org/@viz-js/viz/-/viz-")
    monkeypatch.setenv("NPM_CONFIG_REGISTRY", "https://mirror.example/npm/")
    assert parts.GRAPHVIZ.url.startswith("https://mirror.example/npm/@viz-js/viz/-/viz-")


def test_the_worker_gets_our_packages_and_the_stand_ins_and_no_notebook() -> None:
    names = archive.ours()
    assert {"kernel.py", "anywidget.py", "viz/__init__.py", "traitlets/__init__.py"} <= names.keys()
    assert not [name for name in names if name.endswith(".ipynb")]


def test_what_a_first_picture_needs_is_loaded_at_the_start_and_the_rest_with_its_neighbours() -> None:
    trees = {"library": {"json/__init__.pyc": b"1", "csv.pyc": b"2", "pyodide/http.pyc": b"3"}}
    trees["ours"] = {f"viz/widgets/{name}": code for name, code in (("explorer.pyc", b"4"), ("player.pyc", b"5"))}
    trees["ours"] |= {"viz/widgets/player.js": b"6", "viz/x.txt": b"7"}
    packs = archive.parted(trees, {"json", "viz.widgets.explorer"}, ["/lib/ours/viz/widgets/explorer.js"])
    assert packs.start.keys() == {"library", "ours"}
    assert packs.start["library"] == {"json/__init__.pyc": b"1", "pyodide/http.pyc": b"3"}
    assert packs.start["ours"] == {"viz/widgets/explorer.pyc": b"4", "viz/widgets/player.js": b"6"}
    later = {"csv": {"csv.pyc": b"2"}, "viz.widgets": {"viz/widgets/player.pyc": b"5"}}
    later |= {"viz.x.txt": {"viz/x.txt": b"7"}}
    assert packs.later == later
    assert json.loads(packs.index()) == {"csv": "csv", "viz.widgets.player": "viz.widgets"}


def test_without_node_a_live_site_is_refused_and_nothing_is_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["site", "--live", str(tmp_path / "site")]) == 2
    assert "needs Node.js" in capsys.readouterr().err
    assert list((tmp_path / "site").iterdir()) == []


def test_a_tape_has_what_pytorch_warned_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from viz.recording.record import Recorder, record
    from viz.recording.source import Source

    monkeypatch.setattr(Recorder, "run", Recorder.run)
    tape.start()
    program = "w = T.tensor(2.0, requires_grad=True)\ny = w * 2\ny.backward()\ny.grad"
    with pytest.warns(UserWarning, match="not a leaf"):
        made = record(program, "torch")
    tape.save(tmp_path / "it.pack")
    tape._recordings.clear()
    tape.insert(gzip.decompress((tmp_path / "it.pack").read_bytes()).decode())
    with pytest.warns(UserWarning, match="not a leaf"):
        played = tape.Player(Source(program)).run({})
    assert played.to_json() == made.to_json()
    with pytest.raises(ModuleNotFoundError, match="was not recorded"):
        tape.Player(Source("x = 1")).run({})
