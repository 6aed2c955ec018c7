"""The inside of the sandbox: a parent that has everything loaded, and forks a child for every answer.

The parent sees no answer and no result: it is handed two file descriptors, gives them to the child, and afterwards ends
whatever the child left behind. So nothing of one student is in memory when the next one's code runs. This module must
not import the judge or a lesson.

    python -m tinygrad_edu.exercises.inside SOCKET_FD [torch]     # serve
    python -m tinygrad_edu.exercises.inside once [torch]          # one answer, by stdin and stdout, where there is no fork
"""

from __future__ import annotations

import ast
import contextlib
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

from . import helpers, isolation
from .plain import Data
from .probe import TimeUp, probe, raised, time_limit

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
        if package.ispkg and package.name != __package__:
            path = importlib.import_module(package.name).__path__
            for module in pkgutil.walk_packages(path, f"{package.name}."):
                importlib.import_module(module.name)
    sys.modules[str(__package__)].check = lambda id, answer: None  # type: ignore[attr-defined] # cells may call it
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
    names["check"] = sys.modules[str(__package__)].check
    names |= {name: sys.modules[name] for name in ("math", "torch") if name in sys.modules}
    try:
        tree = _parsed(unit["source"], "<answer>")
        needed = _needed(tree, unit["others"])
        statements = [(statement, _compiled(statement, "<answer>")) for statement in tree.body]
    except SyntaxError as error:
        return {"trouble": f"The cell is no Python, in line {error.lineno}: {error.msg}."}
    except (ValueError, MemoryError, RecursionError) as error:  # a null byte, or too deep for the parser
        return {"trouble": f"The cell is no Python: {error}."}
    trouble, absent = f"The cell defines no `{unit['name']}`.", ""
    try:
        with time_limit(unit["seconds"]):
            for code in needed:
                with contextlib.suppress(Exception):  # what is missing now will be told when the answer misses it
                    exec(code, names)
            for statement, code in statements:
                try:
                    exec(code, names)
                except ImportError as error:
                    if not isinstance(statement, ast.Import | ast.ImportFrom):
                        raise
                    absent = f" While grading, {error.name} cannot be imported."
    except TimeUp:
        trouble = "Endless loop? The cell was still running when its time was up."
    except BaseException as error:
        said = raised(error)
        where = f" in line {said['line']}" if said["line"] else ""
        trouble = f"The cell raised {said['raised']}{where}: {said['message']}"
    if unit["name"] not in names:  # what goes wrong after the answer is defined does no harm to it
        return {"trouble": trouble + absent}
    probes = []
    for source in unit["probes"]:
        scope = {name: getattr(helpers, name) for name in helpers.__all__}
        exec(source, scope)
        probes.append(scope["probe"])
    return probe(probes, unit["cases"], names[unit["name"]], unit["engines"], unit["seconds"])


def _parsed(source: str, filename: str) -> ast.Module:
    """A cell's syntax tree; where it is no Python, then without IPython's magics, shell lines and questions."""
    try:
        return ast.parse(source, filename)
    except SyntaxError:
        return ast.parse(re.sub(r"(?m)^([ \t]*)(?:[%!?].*|[\w.]+\?+[ \t]*)$", r"\1pass", source), filename)


def _needed(tree: ast.AST, others: list[str]) -> list[CodeType]:
    """The functions, classes, imports and constants of the other cells that `tree` uses, directly or through another.

    Only what stands at the top of a cell and binds a name is taken; the cells are not run.
    """
    statements: list[ast.stmt] = []
    for source in others:
        with contextlib.suppress(SyntaxError, ValueError, MemoryError, RecursionError):
            statements += _parsed(source, "<cell>").body
    binding: dict[str, int] = {}
    for place, statement in enumerate(statements):
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            binding[statement.name] = place
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            binding |= {(alias.asname or alias.name).partition(".")[0]: place for alias in statement.names}
        elif isinstance(statement, ast.Assign):
            binding |= {target.id: place for target in statement.targets if isinstance(target, ast.Name)}
    wanted, used = [tree], set()
    while wanted:
        for node in ast.walk(wanted.pop()):
            if isinstance(node, ast.Name) and node.id in binding and binding[node.id] not in used:
                used.add(binding[node.id])
                wanted.append(statements[binding[node.id]])
    return [_compiled(statements[place], "<cell>") for place in sorted(used)]


def _compiled(statement: ast.stmt, filename: str) -> CodeType:
    return compile(ast.Module([statement], []), filename, "exec")


def serve(channel: socket.socket, isolated: bool, nothing: int, memory: int) -> None:
    """Fork a child for each pair of descriptors that arrives: the unit to read, and where its result goes."""
    while True:
        message, descriptors, _, _ = socket.recv_fds(channel, 64, 2)
        if not message:
            return
        deadline = time.monotonic() + float(message) + GRACE
        child = os.fork()
        if child == 0:
            _child(descriptors[0], descriptors[1], nothing, memory)
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


def _child(source: int, result: int, nothing: int, memory: int) -> None:
    """Be the process that runs an answer, and never return."""
    with contextlib.suppress(BaseException):
        os.setsid()
        with os.fdopen(source, "rb", closefd=False) as file:
            unit = json.loads(file.read())
        for standard in (0, 1, 2):
            os.dup2(nothing, standard)
        os.dup2(result, 3)
        os.closerange(4, 1024)
        isolation.limit(2 * unit["seconds"], memory)
        isolation.drop_capabilities()
        isolation.deny_system_calls()
        text = json.dumps(run(unit)).encode()
        while text:
            text = text[os.write(3, text) :]
    os._exit(0)


def _holds(protection: Callable[[], bool]) -> bool:
    """Whether a protection that cannot be taken back works here: tried in a child that ends at once."""
    child = os.fork()
    if child == 0:
        os._exit(0 if protection() else 1)
    return os.waitpid(child, 0)[1] == 0


def main(arguments: list[str]) -> None:
    """Load everything, leave the world behind, say which protections hold, and serve."""
    where, *engines = arguments
    if where == "once":
        preload(engines)
        unit = json.loads(sys.stdin.buffer.read())
        with os.fdopen(os.dup(1), "w") as result:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            isolation.limit(2 * unit["seconds"], isolation.address_space() + MEMORY)
            result.write(json.dumps(run(unit)))
        os._exit(0)
    channel = socket.socket(fileno=int(where))
    isolated = isolation.enter_namespaces()
    preload(engines)
    nothing, memory = os.open(os.devnull, os.O_RDWR), isolation.address_space() + MEMORY
    protections = [
        isolated,
        isolated and isolation.empty_root(),
        _holds(isolation.deny_system_calls),
        _holds(lambda: isolation.limit(1.0, memory)),
    ]
    channel.send(json.dumps(protections).encode())
    gc.freeze()  # what is loaded stays as it is, so that a child need not copy it to look at it
    serve(channel, isolated, nothing, memory)


if __name__ == "__main__":
    main(sys.argv[1:])
