"""What a live site is made of: which statements wait for a computer, which files are taken, how they are packed."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tinygrad_edu.course.site.live import archive, parts
from tinygrad_edu.course.site.live.needs import parts as parts_of

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
    "threads are as missing": (["import threading", "threading.Thread()"], [("", False), ("", True)]),
    "a decorator stays with its function": (
        ["import torch", "class C:\n    @staticmethod\n    def f(x):\n        return x"],
        [("", False), ("class C:\n    @staticmethod\n    def f(x):\n        return x", False)],
    ),
    "a magic command waits for Jupyter": (["%load_ext viz", "%%diagnose\nx = 1"], [("", True), ("", True)]),
    "an exercise that is no Python yet is handed on": (["def f(:"], [("def f(:", False)]),
}


@pytest.mark.parametrize("cells, expected", CASES.values(), ids=CASES)
def test_a_page_runs_what_needs_no_computer(cells: list[str], expected: list[tuple[str, bool]]) -> None:
    assert [(part.runs, bool(part.needs)) for part in parts_of(cells)] == expected


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


def test_the_worker_gets_our_packages_and_the_stand_ins_and_no_notebook() -> None:
    names = archive.ours()
    assert {"kernel.py", "anywidget.py", "viz/__init__.py", "traitlets/__init__.py"} <= names.keys()
    assert not [name for name in names if name.endswith(".ipynb")]


def test_what_a_first_picture_needs_is_loaded_at_the_start_and_the_rest_with_its_neighbours() -> None:
    trees = {
        "library": {"json/__init__.pyc": b"1", "csv.pyc": b"2", "pyodide/http.pyc": b"3"},
        "ours": {"viz/widgets/explorer.pyc": b"4", "viz/widgets/player.pyc": b"5", "viz/widgets/player.js": b"6"},
    }
    packs = archive.parted(trees, {"json", "viz.widgets.explorer"}, ["/lib/ours/viz/widgets/explorer.js"])
    assert packs.start == {
        "library": {"json/__init__.pyc": b"1", "pyodide/http.pyc": b"3"},
        "ours": {"viz/widgets/explorer.pyc": b"4"},
    }
    assert packs.later == {
        "csv": {"csv.pyc": b"2"},
        "viz.widgets": {"viz/widgets/player.pyc": b"5", "viz/widgets/player.js": b"6"},
    }
    assert json.loads(packs.index()) == {"csv": "csv", "viz.widgets.player": "viz.widgets"}


def test_without_node_nothing_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive.shutil, "which", lambda name: None)
    trees = {"library": {"csv.py": b""}, "numpy": {}, "ours": {}}
    packs = archive.prepared({}, b"", trees, "", [])
    assert packs.start == trees
    assert not packs.later
    assert not packs.is_compiled
