"""The inside of the sandbox: a parent that has everything loaded, and forks a child for every answer.

The parent sees no answer and no result: it is handed two file descriptors, gives them to the child, and afterwards ends
whatever the child left behind. So nothing of one student is in memory when the next one's code runs. This module must
not import the judge or a lesson.

    python -m tinygrad_edu.exercises.running.inside SOCKET_FD [torch]     # serve
    python -m tinygrad_edu.exercises.running.inside once [torch]          # one answer, by stdin and stdout, where there is no fork
"""

from __future__ import annotations

import ast
import contextlib
import dis
import gc
import importlib
import json
import os
import pkgutil
import re
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from types import CodeType
from typing import Any

from ..isolation import limits as isolation
from ..plain import Data
from . import helpers
from .probe import ANSWERS, STAGES, Budget, TimeUp, probe, raised, time_limit

MEMORY = 1 << 30  # bytes an answer may take beyond what the interpreter has
GRACE = 1.0  # seconds between the time budget and the end

STANDARD = """abc array bisect cmath collections collections.abc contextlib copy dataclasses datetime decimal enum
fractions functools graphlib heapq inspect io itertools json math numbers operator pprint random re statistics string
struct textwrap time traceback types typing typing_extensions warnings weakref"""
ENGINES = """numpy numpy.linalg numpy.random numpy.testing numpy.polynomial numpy.fft tinygrad_edu.overrides
tinygrad_edu.library torch.nn.functional torch.optim torch.func torch.utils.checkpoint torch.autograd.functional"""
PRELOADED = re.findall(r"\S+", f"{STANDARD} {ENGINES}")
"""What an answer may import: the file system is empty by then."""


def preload(engines: list[str]) -> None:
    """Import all that an answer may need, except where the answers to the exercises stand."""
    for name in PRELOADED:
        if not name.startswith("torch") or "torch" in engines:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
    core = importlib.import_module("tinygrad_edu")
    for package in pkgutil.iter_modules(core.__path__, "tinygrad_edu."):
        if package.ispkg and package.name not in ("tinygrad_edu.exercises", "tinygrad_edu.course"):
            path = importlib.import_module(package.name).__path__
            for module in pkgutil.walk_packages(path, f"{package.name}."):
                importlib.import_module(module.name)
    importlib.import_module("tinygrad_edu.exercises.programs")
    sys.modules["tinygrad_edu.exercises"].check = lambda id, answer: None  # type: ignore[attr-defined] # cells may call it
    if "torch" in engines:
        _use_once(importlib.import_module("torch"))


def _use_once(torch: Any) -> None:
    """Use what imports a part of PyTorch at its first use: later there is no file to import from."""
    w = torch.ones(2, requires_grad=True)
    torch.autograd.grad(w * w, w, grad_outputs=torch.ones(2))
    for kind in (torch.optim.SGD, torch.optim.Adam):
        optimizer = kind([w], lr=0.1)
        w.sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.autograd.gradcheck(torch.exp, torch.ones(1, dtype=torch.float64, requires_grad=True))
    repr(w)


def run(unit: Data) -> Data:
    """Run one answer: execute its cell, take what is defined there, and probe it. Returns what the judge reads."""
    names: dict[str, Any] = {"np": sys.modules["numpy"], "T": sys.modules["tinygrad_edu"]}
    names["check"] = sys.modules["tinygrad_edu.exercises"].check
    names |= {name: sys.modules[name] for name in ("math", "torch") if name in sys.modules}
    try:
        tree = _parsed(unit["source"], "<answer>")
        statements = [(statement, _compiled(statement, "<answer>")) for statement in tree.body]
        needed = _needed([code for _, code in statements], unit["others"])
    except SyntaxError as error:
        return {"trouble": f"The cell is no Python, in line {error.lineno}: {error.msg}."}
    except (ValueError, MemoryError, RecursionError) as error:  # a null byte, or too deep for the parser
        return {"trouble": f"The cell is no Python: {error}."}
    trouble, absent = f"The cell defines no `{unit['name']}`.", ""
    budget = Budget(unit["seconds"])
    for code in needed:
        with (
            contextlib.suppress(BaseException),
            time_limit(budget),
        ):  # what is missing is told when the answer misses it
            exec(code, names)
    try:
        with time_limit(Budget(unit["seconds"])):
            try:
                for statement, code in statements:
                    try:
                        exec(code, names)
                    except ImportError as error:
                        if not isinstance(statement, ast.Import | ast.ImportFrom):
                            raise
                        absent = f" While grading, {error.name} cannot be imported."
            except TimeUp:
                raise
            except BaseException as error:
                said = raised(error)
                where = f" in line {said['line']}" if said["line"] else ""
                trouble = f"The cell raised {said['raised']}{where}: {said['message']}"
    except TimeUp:
        trouble = "Endless loop? The cell was still running when its time was up."
    if unit["name"] not in names:  # what goes wrong after the answer is defined does no harm to it
        return {"trouble": trouble + absent}
    probes = []
    for source in unit["probes"]:
        scope = {name: getattr(helpers, name) for name in helpers.__all__}
        exec(
            compile(source, str(ANSWERS / "probe"), "exec"), scope
        )  # where it stands, though it is not read from there
        probes.append(scope["probe"])
    return probe(probes, unit["cases"], names[unit["name"]], unit["engines"], unit["seconds"])


def _parsed(source: str, filename: str) -> ast.Module:
    """A cell's syntax tree; where it is no Python, then without IPython's magics, shell lines and questions."""
    try:
        return ast.parse(source, filename)
    except SyntaxError:
        return ast.parse(re.sub(r"(?m)^([ \t]*)(?:[%!?].*|[\w.]+\?+[ \t]*)$", r"\1pass", source), filename)


def _needed(answer: list[CodeType], others: list[str]) -> list[CodeType]:
    """The functions, classes, imports and constants of the other cells that `answer` uses, directly or through another.

    Only what stands at the top of a cell and binds a name is taken; the cells are not run.
    """
    statements: list[ast.stmt] = []
    for source in others:
        with contextlib.suppress(SyntaxError, ValueError, MemoryError, RecursionError):
            statements += _parsed(source, "<cell>").body
    binding: dict[str, int] = {}
    for place, statement in enumerate(statements):
        binding |= dict.fromkeys(_bound(statement), place)
    wanted, taken = list(answer), dict[int, CodeType]()
    while wanted:
        for place in {binding[name] for name in _asked_for(wanted.pop()) if name in binding} - taken.keys():
            taken[place] = _compiled(statements[place], "<cell>")
            wanted.append(taken[place])
    return [taken[place] for place in sorted(taken)]


def _bound(statement: ast.stmt) -> list[str]:
    """The names that a statement gives a meaning to, if it is one that only does that."""
    match statement:
        case ast.FunctionDef() | ast.ClassDef():
            return [statement.name]
        case ast.Import() | ast.ImportFrom():
            return [(alias.asname or alias.name).partition(".")[0] for alias in statement.names]
        case ast.Assign(targets=targets):
            return [name.id for target in targets for name in _names_in(target)]
        case ast.AnnAssign(target=target, value=ast.expr()):
            return [name.id for name in _names_in(target)]
    return []


def _names_in(target: ast.expr) -> list[ast.Name]:
    return [node for node in ast.walk(target) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]


_LOOKS_OUTSIDE = ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS")  # the last from Python 3.12 on


def _asked_for(code: CodeType) -> set[str]:
    """The names that `code`, and the functions in it, look up outside of themselves: a parameter is none of them."""
    names, codes = set(), [code]
    while codes:
        code = codes.pop()
        names |= {step.argval for step in dis.get_instructions(code) if step.opname in _LOOKS_OUTSIDE}
        codes += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return names


def _compiled(statement: ast.stmt, filename: str) -> CodeType:
    return compile(ast.Module([statement], []), filename, "exec")


def serve(channel: socket.socket, isolated: bool, filtered: bool, nothing: int, memory: int) -> None:
    """Fork a child for each pair of descriptors that arrives: the unit to read, and where its result goes."""
    while True:
        message, descriptors, _, _ = socket.recv_fds(channel, 64, 2)
        if not message:
            return
        deadline = time.monotonic() + float(message) + GRACE
        child = os.fork()
        if child == 0:
            _child(descriptors[0], descriptors[1], nothing, memory, filtered)
        for descriptor in descriptors:
            os.close(descriptor)
        channel.send(str(_wait(child, deadline, isolated)).encode())


def _wait(child: int, deadline: float, isolated: bool) -> int:
    """Wait for `child`, then end it and all it left behind; returns its exit code, -9 if its time was up."""
    code = None
    while code is None and time.monotonic() < deadline:
        if hasattr(os, "pidfd_open"):
            ending = os.pidfd_open(child)
            select.select([ending], [], [], deadline - time.monotonic())
            os.close(ending)
        else:
            time.sleep(0.002)
        pid, status = os.waitpid(child, os.WNOHANG)
        code = os.waitstatus_to_exitcode(status) if pid else None
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(-1, signal.SIGKILL) if isolated else os.killpg(child, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, 0 if isolated or code is None else os.WNOHANG)[0]:
            pass
    return -signal.SIGKILL if code is None else code


def _child(source: int, result: int, nothing: int, memory: int, filtered: bool) -> None:
    """Be the process that runs an answer, and never return."""
    leave = os._exit  # the answer may put something else in its place
    with contextlib.suppress(BaseException):
        os.setsid()
        with os.fdopen(source, "rb", closefd=False) as file:
            unit = json.loads(file.read())
        for standard in (0, 1, 2):
            os.dup2(nothing, standard)
        os.dup2(result, 3)
        os.closerange(4, 1024)
        isolation.limit(STAGES * unit["seconds"], memory, processes=not filtered)
        isolation.drop_capabilities()
        isolation.deny_system_calls()
        text = json.dumps(run(unit)).encode()
        while text:
            text = text[os.write(3, text) :]
    leave(0)


def _holds(protection: Callable[[], bool]) -> bool:
    """Whether a protection that cannot be taken back works here: tried in a child that ends at once."""
    child = os.fork()
    if child == 0:
        os._exit(0 if protection() else 1)
    return os.waitpid(child, 0)[1] == 0


def _once(engines: list[str]) -> None:
    """Run the answer that comes by stdin, and never return."""
    leave = os._exit
    preload(engines)
    unit = json.loads(sys.stdin.buffer.read())
    with os.fdopen(os.dup(1), "w") as result:
        result.write("\n")  # what comes after this is the answer's doing
        result.flush()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        isolation.limit(STAGES * unit["seconds"], isolation.address_space() + MEMORY)
        result.write(json.dumps(run(unit)))
    leave(0)


def main(arguments: list[str]) -> None:
    """Load everything, leave the world behind, say which protections hold, and serve."""
    where, *engines = arguments
    if where == "once":
        _once(engines)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # from the keyboard it is the grader's; from an answer it is nobody's
    channel = socket.socket(fileno=int(where))
    isolated = isolation.enter_namespaces()
    preload(engines)
    nothing, memory = os.open(os.devnull, os.O_RDWR), isolation.address_space() + MEMORY
    filtered = _holds(isolation.deny_system_calls)
    limited = _holds(lambda: isolation.limit(1.0, memory))
    channel.send(json.dumps([isolated, isolated and isolation.empty_root(), filtered, limited]).encode())
    gc.freeze()  # what is loaded stays as it is, so that a child need not copy it to look at it
    serve(channel, isolated, filtered, nothing, memory)


if __name__ == "__main__":
    main(sys.argv[1:])
