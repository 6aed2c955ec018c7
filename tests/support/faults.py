"""Raises an error of ours at each call of the observer in turn, while a program runs: `python -m support.faults`.

The observer's files are loaded with a question at the head of every function, also of lambdas, closures and generators.
A call counts if the program, or an engine, is what led to it. The programs and their visible state are those of
`tests/viz/test_untouched.py`.
"""

import ast
import importlib.abc
import importlib.machinery
import json
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
VIZ = str(ROOT / "viz")
OBSERVER = ("viz.recording.", "viz.engines", "viz.monitor.", "viz.diagnosis.watching.")
GUARD = "viz.recording.unseen"  # the boundary itself
GUARDS = ("Reading(", "Unseen(", "_harmless(", ".aside")
ASK = "_fault"
# What runs the program's own call has to let its errors pass. These do nothing else outside the boundary.
RUN_THE_PROGRAM = {"_called", "_through", "quietly", "is_traced", "trace", "heard", "called"}


class Fault(LookupError):
    """An error of ours."""


class Plan:
    """Counts the calls of the observer, and raises at one of them."""

    def __init__(self) -> None:
        self.count = 0
        self.at = -1  # the call that raises; none by default
        self.where = ""

    def start(self, at: int = -1) -> None:
        self.count, self.at, self.where = 0, at, ""

    def ask(self) -> None:
        frame = sys._getframe(1)
        if (
            frame.f_back is None
            or not _is_ours(frame.f_back)
            or frame.f_code.co_name in RUN_THE_PROGRAM
            or "_Aside." in frame.f_code.co_qualname
        ):
            return  # the interpreter or an engine calls it: this is where the boundary begins
        if not _is_led_to_by_the_program(frame):
            return
        if self.count == self.at:
            code, caller = frame.f_code, frame.f_back.f_code
            self.where = f"{Path(code.co_filename).name}: {code.co_qualname}, from {caller.co_qualname}"
        self.count += 1
        if self.where and self.count == self.at + 1:
            raise Fault("ours")


PLAN = Plan()


def _is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(VIZ)


def _is_led_to_by_the_program(frame: FrameType | None) -> bool:
    """Whether an engine or the program stands between this call and the one who asked for a recording."""
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if frame.f_code.co_filename.startswith("<") or name.partition(".")[0] in ("torch", "tinygrad_edu"):
            return True
        if name in ("__main__", __name__):
            return False
        frame = frame.f_back
    return False


def _is_guard(block: ast.With) -> bool:
    """Whether what a block raises goes no further."""
    return any(guard in ast.unparse(item.context_expr) for item in block.items for guard in GUARDS)


def _calls(statement: ast.AST) -> bool:
    return any(isinstance(one, ast.Call) for one in ast.walk(statement))


class _AtTheHead(ast.NodeTransformer):
    """Asks at the head of every function, or of its guarded block if nothing is called before that."""

    def _ask(self) -> ast.Call:
        return ast.Call(ast.Name(ASK, ast.Load()), [], [])

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        body, at = node.body, 1 if ast.get_docstring(node) is not None else 0
        guarded = next((one for one in body if isinstance(one, ast.With) and _is_guard(one)), None)
        if guarded is not None and not any(map(_calls, body[at : body.index(guarded)])):
            body, at = guarded.body, 0
        body.insert(at, ast.Expr(self._ask()))
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self.generic_visit(node)
        pair = ast.Tuple([self._ask(), node.body], ast.Load())
        node.body = ast.Subscript(pair, ast.Constant(1), ast.Load())
        return node


class _Loader(importlib.machinery.SourceFileLoader):
    def source_to_code(self, data, path, *, _optimization=-1) -> CodeType:
        tree = _AtTheHead().visit(ast.parse(data))
        return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)

    def exec_module(self, module: ModuleType) -> None:
        vars(module)[ASK] = PLAN.ask
        super().exec_module(module)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not f"{name}.".startswith(OBSERVER) or name == GUARD:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and spec.origin is not None and spec.origin.endswith(".py"):
            spec.loader = _Loader(name, spec.origin)
        return spec


def differing(name: str, entry: str, most: int) -> list[str]:
    """What differs when a program runs with a fault at one call each time: at every call, or at `most` of them. The
    first run imports and caches; the second is what the others are compared with."""
    import test_untouched as untouched  # which imports viz

    def run(at: int) -> tuple[Any, dict[str, Any], int]:
        world = untouched.World(untouched.PROGRAMS[name])
        PLAN.start(at)
        said = getattr(untouched, entry)(world)
        count, PLAN.at = PLAN.count, -1
        return said, world.look(entry != "diagnose"), count

    run(-1)
    said, state, count = run(-1)
    assert count
    found = []
    for at in range(0, count, max(1, count // most) if most else 1):
        try:
            now_said, now, _ = run(at)
        except Exception as error:
            found.append(f"{name}, {entry}: {error!r} is raised at {PLAN.where}")
            continue
        if now_said != said or untouched.differing(now, state):
            found.append(f"{name}, {entry}: {now_said}, {[*untouched.differing(now, state)]} at {PLAN.where}")
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.meta_path.insert(0, _Finder())
    entry, most, *names = sys.argv[1:]
    print(json.dumps([one for name in names for one in differing(name, entry, int(most))]))
