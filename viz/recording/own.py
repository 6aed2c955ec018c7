"""The engine that a program itself uses, and how the program wants to be called."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import inspect
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from viz import engines
from viz.engines import CORE, NAMES, TORCH, Engine

HOW = (
    "a program is source text, a function that takes the engine first, as in `def program(T): …`, or a function without "
    "arguments, such as a training step"
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
    if not callable(program):
        raise TypeError(f"program must be source text or a function, not {type(program).__name__}: {HOW}")


def wanted(function: Callable[..., Any], given: dict[str, Any], call: str) -> bool:
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
        one.name for one in parameters if one.default is one.empty and one.name not in given and one.kind in positional
    ]
    if len(needed) > 1:
        names = ", ".join(needed[1:])
        raise TypeError(
            f"{getattr(function, '__name__', 'the program')} needs {names} as well: pass {call}(…, inputs={{"
            f"{', '.join(f'{name!r}: …' for name in needed[1:])}}}), or wrap it, as in {call}(lambda: step(batch))"
        )
    return bool(needed) or any(one.kind is one.VAR_POSITIONAL for one in parameters)


def engine_of(program: str | Callable[..., Any], given: dict[str, Any]) -> Engine:
    """The engine that a program uses: `T` is ours, `import torch` is PyTorch, and a closure has the one of its tensors."""
    if isinstance(program, str):
        return engines.load(_imported(program) or of_things(given.values()) or CORE)
    if wanted(program, given, "viz.record"):  # it takes whichever engine it is given
        return engines.load(of_things(given.values()) or CORE)
    return engines.load(of_things((*given.values(), *_reached(program))) or CORE)


def _imported(text: str) -> str | None:
    """The engine that source text imports, if it is installed; text that names `T` without importing it runs on ours."""
    with contextlib.suppress(SyntaxError, ValueError):
        for node in ast.walk(ast.parse(text)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in (name.partition(".")[0] for name in names):
                if name in NAMES and importlib.util.find_spec(name) is not None:
                    return name
    return None


def of_things(things: Any) -> str | None:
    """The engine of the first tensor, module, optimizer or engine's own module among some things."""
    modules = set()
    for thing in things:
        for one in (thing, *(part for group in getattr(thing, "param_groups", ())[:1] for part in group["params"][:1])):
            engine = engines.of(one)
            if engine is not None:
                return engine.name
        if isinstance(thing, ModuleType):
            modules.add(thing.__name__.partition(".")[0])
        elif getattr(type(thing), "__module__", "").partition(".")[0] in NAMES:
            modules.add(type(thing).__module__.partition(".")[0])
    return next((name for name in (TORCH, CORE) if name in modules), None)


def outer_names(function: Callable[..., Any], depth: int = 2) -> dict[str, Any]:
    """What the code of a function names without making it: its globals, what it closes over, and those of its helpers."""
    target = inspect.unwrap(getattr(function, "__func__", function))
    code = getattr(target, "__code__", None)
    if code is None:
        return {}
    held = _held(getattr(function, "__self__", None))
    found = {name: target.__globals__[name] for name in code.co_names if name in target.__globals__}
    for name, cell in zip(code.co_freevars, target.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # the cell is still empty
            found[name] = cell.cell_contents
    for thing in list(found.values()) if depth else ():
        if inspect.isfunction(thing) and thing is not target:
            found = {**outer_names(thing, depth - 1), **found}
    return {**found, **held}


def _held(owner: Any) -> dict[str, Any]:
    """The attributes of an object by their names; a module, which has its parts by itself, under the name of its class."""
    if owner is None or isinstance(owner, (ModuleType, type)) or not hasattr(owner, "__dict__"):
        return {}
    if _is_module(owner):
        return {type(owner).__name__: owner}
    return {name: one for name, one in vars(owner).items() if not name.startswith("_")}


def _is_module(thing: Any) -> bool:
    """Whether a thing is an `nn.Module` of either engine; other libraries have attributes called `_modules`, too."""
    engine = engines.of(thing)
    return engine is not None and engine.is_module(thing)


def name_of(thing: Any, *scopes: Mapping[str, Any]) -> str:
    """What a program calls a thing: its variable in one of these scopes, else the attribute of one that holds it, else nothing."""
    for scope in scopes:
        for name, one in list(scope.items()):
            if one is thing and not name.startswith("_") and name != "self":
                return name
    for owner in (one for scope in scopes for one in list(scope.values())):
        inner = owner._modules if _is_module(owner) else {}
        for name, one in {**_held(owner), **inner}.items():
            if one is thing and owner is not thing:
                return name
    return ""


def _reached(function: Callable[..., Any]) -> Iterator[Any]:
    """The things that a function uses: those that its code names, and those of the object that it belongs to."""
    owner = getattr(function, "__self__", None if inspect.isfunction(function) else function)
    yield owner
    held = [*outer_names(function).values(), *(vars(owner).values() if hasattr(owner, "__dict__") else ())]
    for thing in held:
        if isinstance(thing, (list, tuple, dict)):
            yield from list(thing.values() if isinstance(thing, dict) else thing)[:8]
        yield thing
