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

_ASKED = {
    "frames": """sys._getframe sys._current_frames sys._current_exceptions get.tb_frame get.gi_frame get.cr_frame
    get.ag_frame""",
    "tracing": "sys.settrace sys.setprofile sys.monitoring.register_callback",
    "objects": "gc.get_objects gc.get_referrers gc.get_referents",
    "code": "compile code.__new__ marshal.loads set.__code__ set.__defaults__ set.__kwdefaults__",
}
"""Kinds of trouble, each with what an answer asks for."""
_KINDS = {event: kind for kind, events in _ASKED.items() for event in events.split()}
_GO_BETWEEN = ("walk_tb", "walk_stack", "currentframe", "_getframe")
"""Functions of the standard library that hand out frames to whoever calls them."""


def refuse_to_look(report: Callable[[str, int], object]) -> None:
    """From now on, `report(kind, line)` is called when code of an answer asks for frames or objects, for good."""
    busy, frame_at = [False], sys._getframe

    def hook(event: str, arguments: tuple) -> None:
        if busy[0] or not (kind := _kind(event, arguments)):
            return
        busy[0] = True
        try:
            frame = _of_an_answer(frame_at(1))
            if frame is not None:
                report(kind, frame.f_lineno if frame.f_code.co_filename == "<answer>" else 0)
        finally:
            busy[0] = False

    sys.addaudithook(hook)


def _kind(event: str, arguments: tuple) -> str:
    if event.startswith("object.__"):
        event = f"{event[9:12]}.{arguments[1]}"
    if event == "compile" and not _is_ours(arguments[1]):  # else code of an answer would look like that file's
        return ""
    return _KINDS.get(event, "")


def _is_ours(filename: object) -> bool:
    return isinstance(filename, str) and str.startswith(filename, ("/", "<frozen"))  # by no method of an answer's


def _of_an_answer(frame: FrameType | None) -> FrameType | None:
    """The frame of the answer that asks, itself or through a go-between; None if our own code asks."""
    while frame is not None and _is_ours(frame.f_code.co_filename):
        if frame.f_code.co_name not in _GO_BETWEEN and not frame.f_code.co_filename.endswith("inspect.py"):
            return None
        frame = frame.f_back
    return frame


def intact_check(report: Callable[[], object], modules: Sequence[str]) -> Callable[[], None]:
    """A function that calls `report` if anything in `modules` or an engine's classes was replaced, not added."""
    kept: list[tuple[Mapping[str, Any], dict[str, Any]]] = [(space, dict(space)) for space in _namespaces(modules)]

    def intact() -> None:
        for place, (space, before) in enumerate(kept):
            if _alike(space, before):
                continue
            now = dict(space)
            for name, value in before.items():  # `torch.set_default_dtype` replaces Storage, and no probe uses that
                fixed = name != "Storage" and (callable(value) or hasattr(type(value), "__get__"))
                if fixed and now.get(name) is not value:
                    report()
            kept[place] = (space, now)

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
