"""Imports point one way: tensor -> layers -> ops -> autograd -> core; viz -> tinygrad_edu. torch has one door."""

import ast
import json
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from support import printed

import tinygrad_edu

ROOT = Path(__file__).resolve().parent.parent
# Goes to a reader's browser, and is no package here.
WORKER = ROOT / "tinygrad_edu" / "course" / "site" / "live" / "python"
CORE = sorted(path for path in (ROOT / "tinygrad_edu").rglob("*.py") if WORKER not in path.parents)
PICTURES = sorted((ROOT / "viz").rglob("*.py"))
MODULES = CORE + PICTURES


class Import(NamedTuple):
    module: str
    line: int
    when: str  # "import": as its module is imported; "call": inside a function; "typing": for the type checker alone


@cache
def imports_of(path: Path) -> list[Import]:
    """Every import in a file, relative ones resolved; of `from a import b`, both `a` and `a.b`."""
    return list(_imports_in(ast.parse(path.read_bytes()), path, "import"))


def _imports_in(tree: ast.AST, path: Path, when: str) -> Iterator[Import]:
    waiting = [(tree, when)]
    while waiting:
        outer, when = waiting.pop()
        for node in ast.iter_child_nodes(outer):
            inner = when
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                inner = "call"
            elif isinstance(node, ast.If) and _is_for_typing(node.test):
                inner = "typing"
            if isinstance(node, ast.Import):
                yield from (Import(alias.name, node.lineno, when) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                package = ".".join(_package_of(path)[: len(_package_of(path)) - node.level + 1]) if node.level else ""
                origin = ".".join(filter(None, [package, node.module]))
                yield Import(origin, node.lineno, when)
                yield from (Import(f"{origin}.{alias.name}", node.lineno, when) for alias in node.names)
            elif isinstance(node, ast.Call) and _is_import(node.func):
                name = node.args[0]
                yield Import(name.value if isinstance(name, ast.Constant) else "?", node.lineno, when)
            elif isinstance(node, ast.Name | ast.Constant | ast.expr_context | ast.operator):
                continue  # most nodes, and no import is in them
            waiting.append((node, inner))


def _is_for_typing(test: ast.expr) -> bool:
    return any("TYPE_CHECKING" in (getattr(node, "id", ""), getattr(node, "attr", "")) for node in ast.walk(test))


def _is_import(called: ast.expr) -> bool:
    """Whether a call is one of `__import__` or `importlib.import_module`."""
    return not {"__import__", "import_module"}.isdisjoint((getattr(called, "id", ""), getattr(called, "attr", "")))


def _package_of(path: Path) -> list[str]:
    return list(path.relative_to(ROOT).parent.parts)


def _module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def _is_in(package: str, found: Import) -> bool:
    """Whether it is imported from `package`, for more than the type checker."""
    return found.module.split(".")[0] == package and found.when != "typing"


def _found(paths: list[Path], wrong: Callable[[str, Import], bool]) -> dict[str, list[Import]]:
    """What is wrong in each module: its imports for which `wrong(its name, the import)` holds."""
    named = {_module_name(path): path for path in paths}
    found = {own: [one for one in imports_of(path) if wrong(own, one)] for own, path in named.items()}
    return {own: imports for own, imports in found.items() if imports}


def test_the_core_never_imports_the_pictures_but_the_course_and_the_report_may_when_called() -> None:
    may = {f"tinygrad_edu.course.{name}" for name in ("cli", "doctor", "progress", "review")}
    may |= {"tinygrad_edu.course.site.live.pages", "tinygrad_edu.exercises.look"}
    assert _found(CORE, lambda own, one: _is_in("viz", one) and not (own in may and one.when == "call")) == {}


def test_torch_is_imported_only_by_the_engines_of_viz_by_exercises_and_by_the_ladder_and_only_when_called() -> None:
    def wrong(own: str, one: Import) -> bool:
        may = own in ("viz.engines", "tinygrad_edu.course.own_engine.ladder") or own.startswith(
            "tinygrad_edu.exercises"
        )
        return _is_in("torch", one) and not (may and one.when == "call")

    assert _found(MODULES, wrong) == {}


def test_an_op_does_not_know_the_engine() -> None:
    ops = [path for path in MODULES if "ops" in path.relative_to(ROOT).parts]
    assert _found(ops, lambda own, one: one.module.startswith("tinygrad_edu.autograd.engine")) == {}


def test_no_two_modules_need_each_other_to_be_imported() -> None:
    names = {_module_name(path) for path in MODULES}
    needs = {
        _module_name(path): {
            found.module
            for found in imports_of(path)
            if found.when == "import" and found.module in names and found.module != _module_name(path)
        }
        for path in MODULES
        if path.name != "__init__.py"  # a package gathers what its modules give: there the arrow may point both ways
    }
    try:
        tuple(TopologicalSorter(needs).static_order())
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


# Of `tinygrad_edu`: each may use those before it, also inside functions. What is not named stands above them all.
STOREYS = ["array.absent array.dtypes array.memory array.promotion array.return_types", "core refusals", "modes"]
STOREYS += ["array.tensor array.generator overrides", "autograd printing", "ops", "layers", "tensor"]


def _storey(module: str) -> int | None:
    """On which storey a module stands; None for what is no module of `tinygrad_edu`, or a package that gathers."""
    if module in ("tinygrad_edu", "tinygrad_edu.array") or not module.startswith("tinygrad_edu."):
        return None
    for place, names in enumerate(STOREYS):
        if any(f"{module}.".startswith(f"tinygrad_edu.{name}.") for name in names.split()):
            return place
    return len(STOREYS)


def test_arrows_of_the_core_point_down_also_those_inside_functions() -> None:
    names = {_module_name(module) for module in CORE}

    def up(own: str, one: Import) -> bool:
        storey = _storey(own)
        return (
            storey is not None and one.when != "typing" and one.module in names and (_storey(one.module) or 0) > storey
        )

    assert _found(CORE, up) == {}


def test_the_sandbox_stands_below_the_exercises_and_the_pictures_and_these_do_not_import_each_other() -> None:
    """Also not inside functions: it imports nothing of this project, and the pictures nothing of the exercises."""
    inside = [path for path in CORE if (ROOT / "tinygrad_edu" / "sandbox") in path.parents]
    ours = ("tinygrad_edu", "viz")
    own = "tinygrad_edu.sandbox."
    assert _found(inside, lambda _, one: one.module.startswith(ours) and not f"{one.module}.".startswith(own)) == {}
    assert _found(PICTURES, lambda _, one: f"{one.module}.".startswith("tinygrad_edu.exercises.")) == {}


def test_the_engine_is_imported_in_few_modules() -> None:
    code = "import sys, tinygrad_edu; names = [n for n, m in sys.modules.items() if hasattr(m, '__file__')]; "
    code += "print(sum(name.startswith('tinygrad_edu') for name in names))"
    assert int(printed(code)) < 90


def test_nothing_is_assigned_to_tensor_by_name() -> None:
    """Its methods are written in classes, where grep and a type checker find them."""
    named = re.compile(r"setattr\(Tensor|^Tensor\.\w+ = ", re.MULTILINE)
    found = [_module_name(path) for path in CORE if named.search(path.read_text(encoding="utf-8"))]
    assert found == []


HEART = sorted((ROOT / "tinygrad_edu" / "core").glob("*.py"))


def _is_set(node: ast.AST) -> bool:
    """Whether it is a name that its line gives a value or a type."""
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def test_the_heart_calls_nothing_that_a_layer_around_it_binds() -> None:
    """The core reads no name that is bound to Tensor and Node from outside, except names that arrays have too."""
    nodes = [node for tree in [ast.parse(path.read_bytes()) for path in HEART] for node in ast.walk(tree)]
    read = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    lines = [line for node in nodes if isinstance(node, ast.ClassDef) for line in node.body]
    defined = {line.name for line in lines if isinstance(line, ast.FunctionDef)}
    for line in lines:
        targets = line.targets if isinstance(line, ast.Assign) else [getattr(line, "target", line)]
        defined |= {name.id for target in targets for name in ast.walk(target) if _is_set(name)}
    bound = vars(tinygrad_edu.Tensor).keys() | vars(tinygrad_edu.autograd.graph.Node).keys()
    own = {name for kind in (np.ndarray, np.dtype, np.ufunc, dict, list, tuple, type) for name in dir(kind)}
    assert (read & bound) - defined - own - vars(np).keys() == set()


# Of `viz`, in the order of the data: each may use those before it. `show` binds what is made of the data to it.
LAYERS = ["engines", "recording", "picture", "frames", "draw static", "telling", "experiments", "diagnosis", "monitor"]
LAYERS += ["export", "widgets", "magic", "show"]


def _layer(module: str) -> int | None:
    names = module.split(".")
    found = [
        place for place, layer in enumerate(LAYERS) if names[0] == "viz" and names[1:2] and names[1] in layer.split()
    ]
    return found[0] if found else None


def test_a_folder_of_the_pictures_stands_in_the_order_of_the_data() -> None:
    rooms = [_module_name(path) for path in PICTURES if path.parent != ROOT / "viz"]
    assert [name for name in rooms if _layer(name) is None] == []


def test_the_pictures_are_made_of_the_data_and_the_data_know_nothing_of_it() -> None:
    """Inside functions and for the type checker too; the package itself is the face of them all."""

    def up(own: str, one: Import) -> bool:
        layer = _layer(own)
        return layer is not None and (_layer(one.module) or 0) > layer

    assert _found(PICTURES, up) == {}


def _modules_after(statement: str) -> set[str]:
    """The top-level modules that a fresh process has loaded after `statement`."""
    code = f"import sys, json\n{statement}\nprint(json.dumps(sorted({{name.split('.')[0] for name in sys.modules}})))"
    return set(json.loads(printed(code)))


def test_importing_the_core_loads_numpy_and_the_standard_library_alone() -> None:
    loaded = _modules_after("import tinygrad_edu") - _modules_after("import numpy")
    assert loaded - sys.stdlib_module_names - {"tinygrad_edu"} == set()


def test_importing_the_pictures_does_not_load_torch() -> None:
    assert "torch" not in _modules_after("import viz")


def test_the_test_of_imports_sees_each_way_to_import(tmp_path: Path) -> None:
    """The rules above are only as good as the reader that they use."""
    path = ROOT / "tinygrad_edu" / "ops" / "example.py"
    source = """
import torch
from viz import draw
from ..autograd import engine
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    import torch.nn
def f():
    import importlib
    return importlib.import_module("torch")
"""
    found = list(_imports_in(ast.parse(source), path, "import"))
    assert Import("torch", 2, "import") in found
    assert Import("viz", 3, "import") in found
    assert Import("tinygrad_edu.autograd.engine", 4, "import") in found
    assert Import("torch.nn", 7, "typing") in found
    assert Import("torch", 10, "call") in found


def _architecture() -> str:
    return "".join((ROOT / "docs" / page).read_text(encoding="utf-8") for page in ("architecture.md", "inside.md"))


def _named(name: str) -> list[Path]:
    """Where a file or folder is that the page names, from the room that the page speaks of."""
    rooms = ("", "tinygrad_edu", "tinygrad_edu/ops", "tinygrad_edu/course", "tinygrad_edu/exercises", "viz")
    return [ROOT / room / name for room in (*rooms, "viz/diagnosis") if (ROOT / room / name).exists()]


def test_the_page_of_the_architecture_shows_the_storeys_of_the_core_in_their_order() -> None:
    """The page draws them from above; `array/` stands below the core, and partly above it."""
    drawn = _architecture().partition("## The engine")[2].split("```")[1].strip().splitlines()
    told = [set(re.findall(r"[a-z_0-9]+", line.partition("  ")[0])) for line in drawn]
    held = [{name for name in names.split() if "." not in name} for names in STOREYS]
    assert told[1:] == [*held[:0:-1], {"array"}]


def test_the_page_of_the_architecture_lists_the_folders_of_the_pictures_in_their_order() -> None:
    told = re.findall(r"^\| `(\w+)(?:/|\.py)` \|", _architecture().partition("## The pictures")[2], re.MULTILINE)
    held = [name for names in LAYERS for name in names.split() if (ROOT / "viz" / name).is_dir() or name == "show"]
    assert told == held


def test_each_file_that_the_page_of_the_architecture_names_is_there() -> None:
    named = set(re.findall(r"`((?:\w+/)+\w*(?:\.py)?|\w+/\w+\.py)`", _architecture()))
    assert len(named) > 20
    assert [name for name in sorted(named) if not _named(name)] == []


def test_what_the_page_of_the_architecture_looks_up_stands_in_the_file_that_it_names() -> None:
    rows = re.findall(r"^\| .* \| (.*`.*/.*) \|$", _architecture().partition("## The engine")[0], re.MULTILINE)
    assert len(rows) >= 15
    for row in rows:
        named = re.findall(r"`([^`]+)`", row)
        paths = [name for name in named if re.fullmatch(r"(\w+/)+\w*(\.\w+)?|\w+\.py", name)]
        text = "".join(path.read_text(encoding="utf-8") for name in paths for path in _named(name) if path.is_file())
        assert [name for name in named if name not in paths and name.split(".")[-1] not in text] == [], row


@pytest.mark.parametrize("folder", ["core", "autograd", "ops", "../viz/frames"])
def test_functions_are_short(folder: str) -> None:
    """At most 60 lines, docstrings included. (20 branches at most are held in all folders: ruff's PLR0912.)"""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "tinygrad_edu" / folder).rglob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    assert nodes
    assert {n.name for n in nodes if n.end_lineno is not None and n.end_lineno - n.lineno >= 60} == set()
