"""Whose program it is: the engine that it uses, what it names, and how it wants to be called."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import dis
import functools
import importlib.util
import inspect
import itertools
import sys
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from viz import engines
from viz.engines import CORE, NAMES, TORCH, Engine
from viz.recording.flow import flow, tree_of
from viz.recording.source import codes_in, decorated

DEEPEST = 6  # levels of functions and objects in which what a program uses is searched
WIDEST = 200  # things in each of them
MOST = 2000  # things in a level
ROUNDS = 100  # of a program that is a generator
FUNCTIONS = (FunctionType, BuiltinFunctionType)
PLAIN = {int, float, bool, str, bytes, type(None), range}  # these are of no engine, and hold nothing

HOW = (
    "a program is source text, a function that takes the engine first, as in `def program(T): …`, or a function "
    "without arguments, such as a training step"
)


def check(program: Any, call: str) -> None:
    """Refuse what is no program, and say what to do with it instead; `call` is such as `viz.record`.

    Raises:
        TypeError: it is no program.
        ValueError: it is the name of a file.
    """
    if isinstance(program, str):
        if "\n" not in program and program.strip().endswith((".py", ".ipynb")):
            raise ValueError(
                f"{program!r} is the name of a file: give its text, as in {call}(open({program!r}).read())"
            )
        return
    if isinstance(program, Path):
        raise TypeError(f"a path is no program: give the file's text, as in {call}({program!r}.read_text())")
    engine = engines.of(program)
    if engine is not None and engine.is_module(program):
        raise TypeError(
            f"a model alone runs nothing: {HOW}. For this {type(program).__name__} it is {call}(lambda: "
            "loss(model(x)).backward()), and viz.draw(model, x) draws it"
        )
    if engine is not None:
        raise TypeError(f"a tensor is no program: {HOW}. viz.play(loss) plays the backward pass behind a tensor")
    if not callable(program) or isinstance(program, type):
        raise TypeError(f"program must be source text or a function, not {type(program).__name__}: {HOW}")


def wanted(function: Callable[..., Any], given: Mapping[str, Any], call: str) -> bool:
    """Whether a function takes the engine's module first; `given` are its keyword arguments.

    Raises:
        TypeError: it needs more than that; the message says how to pass it.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return True
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [
        parameter.name
        for parameter in parameters
        if parameter.default is parameter.empty and parameter.name not in given and parameter.kind in positional
    ]
    if len(needed) > 1:
        names = ", ".join(needed[1:])
        raise TypeError(
            f"{getattr(function, '__name__', 'the program')} needs {names} as well: pass {call}(…, inputs={{"
            f"{', '.join(f'{name!r}: …' for name in needed[1:])}}}), or wrap it, as in {call}(lambda: step(batch))"
        )
    passed_on = decorated(function)
    if not needed and passed_on is not None:  # its `*args` are those of the function that it calls
        return wanted(passed_on, given, call)
    return bool(needed) or any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters)


def starter(function: Callable[..., Any], engine: Engine, inputs: dict[str, Any], call: str) -> Callable[[], str]:
    """A function that calls a program, runs a generator or coroutine it returns, and tells what did not run.

    Raises:
        TypeError: as `wanted`.
    """
    first = (engine.module,) if wanted(function, inputs, call) else ()

    def start() -> str:
        result = function(*first, **inputs)
        if inspect.isgenerator(result):
            ran = sum(1 for _ in itertools.islice(result, ROUNDS))
            return f"The program is a generator; it ran to its {ROUNDS}th yield." if ran == ROUNDS else ""
        if not inspect.iscoroutine(result):
            return ""
        if asyncio._get_running_loop() is not None:  # as in a notebook
            waits = f"The program is a coroutine that waits for something: give it to {call} in a script."
            return "" if _ran_to_its_end(result) else waits
        with contextlib.closing(asyncio.new_event_loop()) as loop:
            loop.run_until_complete(result)
        return ""

    return start


def _ran_to_its_end(coroutine: Coroutine[Any, Any, Any]) -> bool:
    """Run a coroutine without an event loop, as far as it waits for nothing."""
    with contextlib.suppress(StopIteration):
        for _ in range(ROUNDS):
            if coroutine.send(None) is not None:  # it waits; what only lets others run gives None
                break
        coroutine.close()
        return False
    return True


def engine_of(program: str | Callable[..., Any], inputs: Mapping[str, Any]) -> Engine:
    """The engine that a program uses; ours if it names none, such as one that takes it as `T`."""
    return engines.load(next(iter(engines_of(program, inputs)), CORE))


def engines_of(program: str | Callable[..., Any], inputs: Mapping[str, Any]) -> list[str]:
    """The engines that a program uses, PyTorch first: those of the nearest things that it names or holds.

    `given` are the names that source text runs with, and the keyword arguments of a function. Of a function that takes
    the engine, only what it names itself counts: it runs on the engine that it is given, and a helper may use another.
    """
    takes = not isinstance(program, str) and wanted(program, inputs, "viz.record")
    used = {name for name in imported(program) if importlib.util.find_spec(name) is not None}
    return nearest(itertools.islice(reached(program, inputs), 1 if takes else None), used)


def nearest(levels: Iterable[list[tuple[str, Any]]], used: set[str] | None = None) -> list[str]:
    """The engines of the first of these levels that has things of one, PyTorch first; `used` are used before all."""
    used, functions = used or set(), set[str]()
    for level in levels:
        used |= {name for _, thing in level for name in engines_behind(thing)}
        if used:
            break
        functions |= {getattr(thing, "__module__", "") for _, thing in level if isinstance(thing, FUNCTIONS)}
    # A function of an engine alone, such as one that makes data, tells least.
    used = used or {str(function).partition(".")[0] for function in functions}
    return [name for name in (TORCH, CORE) if name in used]


def imported(program: str | Callable[..., Any]) -> set[str]:
    """The engines that source text imports."""
    modules = set()
    with contextlib.suppress(SyntaxError, ValueError):
        for node in ast.walk(tree_of(program)) if isinstance(program, str) else ():
            if isinstance(node, ast.Import):
                modules |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                modules.add((node.module or "").partition(".")[0])
    return modules.intersection(NAMES)


def engines_behind(thing: Any) -> set[str]:
    """The engine that a thing belongs to: its module, or an object of its classes, such as a tensor or an optimizer."""
    homes = [thing.__name__] if isinstance(thing, ModuleType) else []
    homes = homes or [base.__module__ for base in (thing if isinstance(thing, type) else type(thing)).__mro__]
    return {str(home).partition(".")[0] for home in homes}.intersection(NAMES)


def outer_names(program: str | Callable[..., Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    """What a program names without making it, and what that names or holds; the nearest by each name."""
    names: dict[str, Any] = {}
    for level in reached(program, inputs):
        for name, thing in level:
            if name:
                names.setdefault(name, thing)
    return names


def reached(program: Any, inputs: Mapping[str, Any]) -> Iterator[list[tuple[str, Any]]]:
    """What a program, or anything else, names or holds, by its names; then what that names or holds; and so on.

    What belongs to an engine is not searched, nor are the functions of libraries.
    """
    if isinstance(program, str):
        level = [(name, inputs[name]) for name in _read_by(program) if name in inputs]
    else:
        level = [*inputs.items(), *_parts(program)]
    met = {id(program)}
    for _ in range(DEEPEST):
        level = [(name, thing) for name, thing in level if type(thing) not in PLAIN]
        if not level:
            return
        yield level
        fresh = {id(thing): thing for _, thing in level if id(thing) not in met}
        met |= fresh.keys()
        parts = (part for thing in fresh.values() for part in itertools.islice(_parts(thing), WIDEST))
        level = list(itertools.islice(parts, MOST))


@functools.lru_cache(maxsize=64)
def _read_by(text: str) -> list[str]:
    """The names that source text reads before it has given them a value; both engines run the same text."""
    try:
        return sorted(flow(tree_of(text))[0])
    except (SyntaxError, ValueError):
        return []


def _parts(thing: Any) -> Iterable[tuple[str, Any]]:
    """What a thing names or holds, by name; the name is empty where the program has no variable for it."""
    if isinstance(thing, functools.partial):
        return [("", thing.func), *(("", argument) for argument in thing.args), *thing.keywords.items()]
    if isinstance(thing, MethodType):
        return [*_held(thing.__self__).items(), ("", thing.__self__), ("", thing.__func__)]
    if isinstance(thing, (dict, list, tuple, set)):
        return [("", part) for part in (thing.values() if isinstance(thing, dict) else thing)]
    if isinstance(thing, ModuleType) or engines_behind(thing) or _of_library(thing if callable(thing) else type(thing)):
        return []
    if isinstance(thing, FunctionType):
        return named(thing)
    if isinstance(thing, type):
        return [("", value) for value in vars(thing).values() if isinstance(value, FunctionType)]
    rest = [("", value) for name, value in getattr(thing, "__dict__", {}).items() if name.startswith("_")]
    return [*_held(thing).items(), *rest, ("", type(thing))]


def _of_library(thing: Any) -> bool:
    """Whether a function or class is of a library, not of the program."""
    home = str(getattr(thing, "__module__", ""))
    path = getattr(sys.modules.get(home), "__file__", None) or ""
    return home.partition(".")[0] in sys.stdlib_module_names - {"__main__"} or "-packages" in path


def named(function: FunctionType) -> list[tuple[str, Any]]:
    """What the code of a function names: its globals, what it closes over, and the defaults of its arguments."""
    globals_ = [
        (name, function.__globals__[name]) for name in _globals(function.__code__) if name in function.__globals__
    ]
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # the cell is still empty
            globals_.append((name, cell.cell_contents))
    return [
        *globals_,
        *(("", default) for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())),
    ]


@functools.lru_cache(maxsize=512)
def _globals(code: CodeType) -> list[str]:
    """The globals that code reads; `co_names` has the names of attributes, too."""
    read = (step for inner in codes_in(code) for step in dis.get_instructions(inner) if step.opname == "LOAD_GLOBAL")
    return list(dict.fromkeys(step.argval for step in read))


def _held(owner: Any) -> dict[str, Any]:
    """The attributes of an object by their names; a module, which has its parts itself, by the name of its class."""
    if owner is None or isinstance(owner, (ModuleType, type)) or not hasattr(owner, "__dict__"):
        return {}
    if _is_module(owner):
        return {type(owner).__name__: owner}
    return {name: value for name, value in vars(owner).items() if not name.startswith("_")}


def _is_module(thing: Any) -> bool:
    """Whether a thing is an `nn.Module` of either engine; other libraries have attributes called `_modules`, too."""
    engine = engines.of(thing)
    return engine is not None and engine.is_module(thing)


def name_of(thing: Any, *scopes: Mapping[str, Any]) -> str:
    """What a program calls a thing: its variable in one of these scopes, or a variable's attribute; else nothing."""
    for scope in scopes:
        for name, value in list(scope.items()):
            if value is thing and not name.startswith("_") and name != "self":
                return name
    for owner in (value for scope in scopes for value in list(scope.values())):
        inner: dict[str, Any] = owner._modules if _is_module(owner) else {}
        for name, value in {**_held(owner), **inner}.items():
            if value is thing and owner is not thing:
                return name
    return ""
