"""What runs in the sandbox: the cells of a notebook, as far as an answer needs them, and the probes of its exercise.

It is loaded before the sandbox forks for an answer, so it must not import the judge or a lesson.

    python -m tinygrad_edu.exercises.running.cells SOCKET_FD [torch]  # serve
    python -m tinygrad_edu.exercises.running.cells once [torch]  # an answer by stdin and stdout, where there is no fork
"""

from __future__ import annotations
import __future__

import ast
import contextlib
import dis
import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import os
import pkgutil
import re
import sys
import time
from collections.abc import Callable
from types import CodeType, ModuleType
from typing import Any

from ...sandbox.inside import main
from ...sandbox.quiet import Quiet
from ...sandbox.time_limit import WALL, Budget, TimeUp, time_limit
from ..plain import Data
from . import helpers
from .probe import ANSWERS, OTHER_CELL, probe, raised, use_torch_once

INSTRUMENTS = [
    *["builtins", "weakref", "_weakrefset", "math", "json", "json.encoder", "numpy", "torch", "torch.autograd"],
    *["tinygrad_edu", "tinygrad_edu.autograd", "tinygrad_edu.sandbox.time_limit", "tinygrad_edu.sandbox.inside"],
    *(f"tinygrad_edu.exercises.{name}" for name in ("plain", "running.probe", "running.state", "running.helpers")),
    "__main__",  # this file
]
"""Modules that a probe relies on."""

STANDARD = """abc array base64 bisect calendar cmath collections collections.abc contextlib contextvars copy dataclasses
datetime decimal difflib doctest enum fractions functools gc graphlib hashlib heapq inspect io itertools json keyword
logging math numbers operator os pathlib pickle platform pprint queue random re reprlib secrets statistics string struct
sys tempfile textwrap threading time timeit traceback types typing typing_extensions unittest uuid warnings weakref
zlib"""
ENGINES = """numpy numpy.linalg numpy.random numpy.testing numpy.polynomial numpy.fft numpy.typing numpy.ma
numpy.lib.stride_tricks tinygrad_edu.overrides
tinygrad_edu.library torch.nn.functional torch.optim torch.func torch.utils.checkpoint torch.autograd.functional"""
SHOWING = ("IPython", "cProfile", "ipywidgets", "matplotlib", "pdb", "profile", "pydoc", "viz")
"""Modules that only show something: an answer that still holds what was for trying it out is graded without it."""
_RUNS_ITS_CELL = re.compile(r"\A\s*%%(?:time|capture|prun|autograd|diagnose)\b.*")  # the others take it as text
PRELOADED = re.findall(r"\S+", f"{STANDARD} {ENGINES}")
"""What an answer may import: the file system is empty by then."""


def preload(engines: list[str]) -> None:
    """Import everything that an answer may need, except the modules with the answers to the exercises."""
    for name in PRELOADED:
        if not name.startswith("torch") or "torch" in engines:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
    core = importlib.import_module("tinygrad_edu")
    for package in pkgutil.iter_modules(core.__path__, "tinygrad_edu."):
        if package.ispkg and package.name not in (
            "tinygrad_edu.exercises",
            "tinygrad_edu.course",
            "tinygrad_edu.sandbox",
        ):
            with contextlib.suppress(ImportError):  # what is not there fails the answers that use it, and no others
                path = importlib.import_module(package.name).__path__
                for module in pkgutil.walk_packages(path, f"{package.name}."):
                    importlib.import_module(module.name)
    importlib.import_module("tinygrad_edu.exercises.programs")
    _translate()
    for name in SHOWING:
        sys.modules.pop(name, None)
    vars(sys.modules["tinygrad_edu.exercises"])["check"] = lambda id, answer: None  # cells may call it
    if "torch" in engines:
        use_torch_once()


@functools.cache
def _translate() -> Callable[[str], str]:
    """IPython's translation of a cell, without the rest of IPython; nothing is translated where there is no IPython."""
    spec = importlib.util.find_spec("IPython")
    if spec is None or spec.submodule_search_locations is None:
        return str
    known = {name for name in sys.modules if name.partition(".")[0] == "IPython"}
    if not known:
        for name in ("IPython", "IPython.core", "IPython.utils"):
            sys.modules[name] = ModuleType(name)
            sys.modules[name].__path__ = [os.path.join(spec.submodule_search_locations[0], *name.split(".")[1:])]
    made = importlib.import_module("IPython.core.inputtransformer2").TransformerManager()
    for name in [name for name in sys.modules if name.partition(".")[0] == "IPython" and name not in known]:
        del sys.modules[name]  # an answer's `import IPython` finds what does nothing
    return made.transform_cell


class _LastResort(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Handles imports of missing modules: those that show do nothing, and an import of PyTorch is recorded."""

    def __init__(self) -> None:
        self.torch = False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        top = name.partition(".")[0]
        self.torch |= top == "torch" and top not in sys.modules
        if top not in SHOWING:
            raise ModuleNotFoundError(f"While grading, {name} cannot be imported.", name=name)
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: Any) -> ModuleType:
        return Quiet(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


def run(unit: Data, intact: Callable[[], None] = helpers.intact) -> Data:
    """Run one answer: execute its cell, take the definition, and probe it.

    Returns what the judge reads. `intact` is called whenever code of the answer has run. That is the probe's data, a
    kind of trouble, or `{"again": "torch"}` if PyTorch was imported and is not loaded.
    """
    asked = _LastResort()
    sys.meta_path.append(asked)
    result = _run(unit, intact)
    return {"again": "torch"} if asked.torch else result


def _run(unit: Data, intact: Callable[[], None]) -> Data:
    until = time.monotonic() + WALL
    names: dict[str, Any] = {"np": sys.modules["numpy"], "T": sys.modules["tinygrad_edu"]}
    names |= {"check": sys.modules["tinygrad_edu.exercises"].check, "display": Quiet("display")}
    names |= {"get_ipython": Quiet("get_ipython")}
    names |= {name: sys.modules[name] for name in ("math", "torch") if name in sys.modules}
    compiler = _Compiler(unit["others"])
    try:
        codes = compiler.cell(unit["source"])
    except SyntaxError as error:
        return {"trouble": "syntax", "line": error.lineno, "message": str(error.msg)}
    except (ValueError, MemoryError, RecursionError) as error:  # a null byte, or too deep for the parser
        return {"trouble": "syntax", "message": str(error)}
    for source in unit["changes"]:
        with contextlib.suppress(SyntaxError, ValueError, MemoryError, RecursionError):
            codes += compiler.cell(source)
    trouble: Data = {"trouble": "absent"}
    budget = Budget(unit["seconds"], until)
    for code in _needed(codes, unit["others"], unit["later"], compiler):
        # A missing name is reported when the answer needs it.
        with contextlib.suppress(BaseException), time_limit(budget):
            _execute(code, names)
    try:
        with time_limit(Budget(unit["seconds"], until)):
            try:
                for code in codes:
                    _execute(code, names)
            except TimeUp:
                raise
            except BaseException as error:
                said = raised(error)
                trouble = {
                    "trouble": "raised",
                    "type": said["raised"],
                    "line": said["line"],
                    "message": said["message"],
                }
    except TimeUp:
        trouble = {"trouble": "endless"}
    intact()
    if unit["name"] not in names:  # an error after the answer's definition does not affect it
        return trouble
    probes = []
    for source in unit["probes"]:
        scope = {name: getattr(helpers, name) for name in helpers.__all__} | {"intact": intact}
        # Where it stands, and is not read from.
        code = compile(source, str(ANSWERS / "probe"), "exec", dont_inherit=True)
        exec(code, scope)
        probes.append(scope["probe"])
    return probe(
        probes, unit["cases"], names[unit["name"]], unit["engines"], unit["seconds"], until, unit["parameters"], intact
    )


def _parsed(source: str, filename: str) -> ast.Module:
    """A cell's syntax tree; if it is not valid Python, as Jupyter translates it."""
    try:
        return ast.parse(source, filename)
    except SyntaxError:
        return ast.parse(_translate()(_RUNS_ITS_CELL.sub("pass", source, count=1)), filename)


def _absent(error: ImportError) -> Any:
    def use(*arguments: object, **named: object) -> None:
        raise error.with_traceback(None)

    return type("Absent", (), dict.fromkeys(("__call__", "__getattr__", "__getitem__"), use))()


def _execute(code: CodeType, names: dict[str, Any]) -> None:
    """Run a statement. One that awaits runs without an event loop, as far as it waits for nothing. What cannot be
    imported is told where it is used."""
    try:
        coroutine = eval(code, names)
    except ImportError as error:
        steps = list(dis.get_instructions(code))
        if all(step.opname != "IMPORT_NAME" for step in steps):
            raise
        bound = {step.argval for step in steps if step.opname == "STORE_NAME"}
        names.update(dict.fromkeys(bound - names.keys(), _absent(error)))
        return
    with contextlib.suppress(StopIteration):
        while code.co_flags & inspect.CO_COROUTINE:
            coroutine.send(None)


class _Compiler:
    """Compiles statements as a notebook does: a `from __future__ import` holds from then on, in later cells, too."""

    def __init__(self, above: list[str]) -> None:
        self.flags = 0
        for statement in _statements(above):
            self._future(statement)

    def cell(self, source: str) -> list[CodeType]:
        """The code of each statement of an answer's cell. Raises what Python's parser raises."""
        body = _parsed(source, "<answer>").body
        for statement in body:
            self._future(statement)
        return [self.statement(statement, "<answer>") for statement in body]

    def statement(self, statement: ast.stmt, filename: str) -> CodeType:
        """The code of one statement, without our own `__future__` imports."""
        module, flags = ast.Module([statement], []), self.flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        return compile(module, filename, "exec", flags, dont_inherit=True)

    def _future(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            features = [getattr(__future__, alias.name, None) for alias in statement.names]
            self.flags |= functools.reduce(
                lambda flags, feature: flags | feature.compiler_flag, filter(None, features), 0
            )


def _needed(answer: list[CodeType], others: list[str], later: list[str], compiler: _Compiler) -> list[CodeType]:
    """The statements of the other cells that define names `answer` uses, directly or indirectly. The cells are not run.
    For each name these are its last definition and later changes: `TABLE = {}`, then `TABLE["a"] = 1`. The cells of are
    below the check, and are used only for names that the cells above do not define."""
    above, below = _statements(others), _statements(later)
    statements = above + below
    wanted, taken = list(answer), dict[int, CodeType]()
    while wanted:
        for name in _asked_for(wanted.pop()):
            places = _places(name, above, 0) or _places(name, below, len(above))
            for place in [place for place in places if place not in taken]:
                taken[place] = compiler.statement(statements[place], OTHER_CELL)
                wanted.append(taken[place])
    return [taken[place] for place in sorted(taken)]


def _statements(sources: list[str]) -> list[ast.stmt]:
    found: list[ast.stmt] = []
    for source in sources:
        with contextlib.suppress(SyntaxError, ValueError, MemoryError, RecursionError):
            found += _parsed(source, OTHER_CELL).body
    return found


def _places(name: str, statements: list[ast.stmt], start: int) -> list[int]:
    """Where `name` is last defined, and where it is changed after that."""
    places: list[int] = []
    for place, statement in enumerate(statements, start):
        if name in _bound(statement):
            places = [place]
        elif name in _changed(statement):
            places.append(place)
    return places


@functools.lru_cache(maxsize=4096)
def _bound(statement: ast.stmt) -> frozenset[str]:
    """The names that a statement defines, if it does nothing else."""
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return frozenset([statement.name])
        case ast.Import() | ast.ImportFrom():
            return frozenset((alias.asname or alias.name).partition(".")[0] for alias in statement.names)
        case ast.Assign(targets=targets):
            return frozenset(name for target in targets for name in _names_in(target))
        case ast.AnnAssign(target=target, value=ast.expr()):
            return frozenset(_names_in(target))
    return frozenset()


@functools.lru_cache(maxsize=4096)
def _changed(statement: ast.stmt) -> frozenset[str]:
    """The names whose value a statement may change or extend: by an index, a method, or in a loop or a branch."""
    match statement:
        case ast.AugAssign(target=ast.Name(id=name)):
            return frozenset([name])
        case ast.Assign(targets=targets):
            owners = [_owner(target) for target in targets]
        case ast.AugAssign(target=target):
            owners = [_owner(target)]
        case ast.Expr(value=ast.Call(func=ast.Attribute() as method)):
            owners = [_owner(method)]
        case ast.For() | ast.If() | ast.With() | ast.Try() | ast.While():
            inner = [node for node in ast.walk(statement) if isinstance(node, ast.stmt) and node is not statement]
            within = set().union(*(_bound(node) | _changed(node) for node in inner))
            return frozenset(within | (set(_names_in(statement.target)) if isinstance(statement, ast.For) else set()))
        case _:
            return frozenset()
    return frozenset(owner for owner in owners if owner)


def _owner(target: ast.expr) -> str:
    """`x` of `x[0].y = …`; "" for a plain name."""
    inner = target
    while isinstance(inner, ast.Attribute | ast.Subscript):
        inner = inner.value
    return inner.id if isinstance(inner, ast.Name) and inner is not target else ""


def _names_in(target: ast.expr) -> list[str]:
    return [node.id for node in ast.walk(target) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]


_LOOKS_OUTSIDE = ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS")  # the last one since Python 3.12


def _asked_for(code: CodeType) -> set[str]:
    """The names that `code`, and the functions in it, look up outside themselves; parameters are not among them."""
    names, codes = set(), [code]
    while codes:
        code = codes.pop()
        names |= {step.argval for step in dis.get_instructions(code) if step.opname in _LOOKS_OUTSIDE}
        codes += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return names


if __name__ == "__main__":
    main(sys.argv[1:], preload, run, INSTRUMENTS)
