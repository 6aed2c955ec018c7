"""Keeps an answer away from what measures it in the same process: the probe, its lists, and what they call.

An answer that asks Python for frames, or for objects by the garbage collector, is ended by an audit hook; machine code
is not stopped by it. What a probe relies on is compared with how it was before the answer ran, whenever the answer
returns or calls the probe back.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any

_EVENTS = """
sys._getframe sys._current_frames sys._current_exceptions sys.settrace sys.setprofile gc.get_objects gc.get_referrers
gc.get_referents sys.monitoring.register_callback code.__new__"""
_ASKED = tuple(_EVENTS.split())
_READ = ("tb_frame", "gi_frame", "cr_frame", "ag_frame")
_WRITTEN = ("__code__", "__defaults__", "__kwdefaults__")
_GO_BETWEEN = ("walk_tb", "walk_stack", "currentframe", "_getframe")
"""Functions of the standard library that hand out frames to whoever calls them."""


def refuse_to_look(report: Callable[[], object]) -> None:
    """From now on, `report` is called when code of an answer asks for frames or objects. This cannot be undone."""
    busy, frame_at = [False], sys._getframe

    def hook(event: str, arguments: tuple) -> None:
        if busy[0] or not _tells(event, arguments):
            return
        busy[0] = True
        try:
            if _of_an_answer(frame_at(1)):
                report()
        finally:
            busy[0] = False

    sys.addaudithook(hook)


def _tells(event: str, arguments: tuple) -> bool:
    if event == "object.__getattr__":
        return arguments[1] in _READ
    if event == "object.__setattr__":
        return arguments[1] in _WRITTEN
    if event == "compile":  # under the name of a file, code of an answer would look like that file's
        return not str(arguments[1]).startswith("<")
    return event in _ASKED


def _of_an_answer(frame: FrameType | None) -> bool:
    while frame is not None and (
        frame.f_code.co_name in _GO_BETWEEN or frame.f_code.co_filename.endswith("inspect.py")
    ):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.startswith("<") and "frozen" not in frame.f_code.co_filename


def intact_check(report: Callable[[], object], modules: Sequence[str]) -> Callable[[], None]:
    """A function that calls `report` if anything in `modules` or an engine's classes was replaced, not added."""
    kept: list[tuple[Mapping[str, Any], dict[str, Any]]] = [(space, dict(space)) for space in _namespaces(modules)]

    def intact() -> None:
        for place, (space, before) in enumerate(kept):
            if _alike(space, before):
                continue
            for name, value in before.items():
                if space.get(name) is not value and (callable(value) or hasattr(type(value), "__get__")):
                    report()
            kept[place] = (space, dict(space) | {name: before[name] for name in before if callable(before[name])})

    return intact


def _alike(space: Mapping[str, Any], before: dict[str, Any]) -> bool:
    # Values that are not the same object are compared: an array has no single answer.
    with contextlib.suppress(Exception):
        return bool(space == before)
    return False


def _namespaces(modules: Sequence[str]) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = [vars(sys.modules[name]) for name in modules if name in sys.modules]
    kinds: dict[type, None] = {sys.modules["weakref"].WeakSet: None}
    for engine in ("tinygrad_edu", "torch"):
        if engine in sys.modules:
            module: Any = sys.modules[engine]
            for kind in (module.Tensor, module.autograd.Function):
                kinds |= dict.fromkeys(kind.__mro__[:-1])
    return found + [vars(kind) for kind in kinds]
