"""What an answer did to its arguments: their state before a call, and what of it is different afterwards.

It is observed in the student's process; which changes an exercise allows, only the judge knows.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from ..plain import is_tensor
from .helpers import intact

NEAR = 1e-9  # x + eps - eps is not always x
MOST = 4096  # parts of an argument that are looked at
ASPECTS = ("", "._version", ".requires_grad", ".grad")
"""What may have changed of an argument, as its name is continued: its numbers, the count of writes, and so on."""


def state(value: Any, left: int = MOST) -> Any:
    """A copy of what can be compared of `value`; None for objects of unknown types."""
    kind = type(value)
    if kind in (bool, int, float, str):
        return value
    if kind in (list, tuple):
        return [state(item, left // (len(value) or 1)) for item in value[:left]]
    if kind is dict:
        return {key: state(item, left // (len(value) or 1)) for key, item in list(value.items())[:left]}
    if kind is np.ndarray:
        return value.copy()
    if not is_tensor(value):
        return None
    grad = value.grad if value.is_leaf else None
    return _Tensor(_numbers(value), value._version, value.requires_grad, None if grad is None else _numbers(grad))


class _Tensor:
    def __init__(self, numbers: np.ndarray, version: int, requires_grad: bool, grad: np.ndarray | None) -> None:
        self.numbers, self.version, self.requires_grad, self.grad = numbers, version, requires_grad, grad


def _numbers(tensor: Any) -> np.ndarray:
    return np.array(tensor.detach().numpy())


def changed(before: Any, after: Any) -> set[str]:
    """The aspects in which two states of one argument differ; those of tensors in a list are the list's."""
    if before is None or type(before) is not type(after):
        return set() if before is None and after is None else {""}
    if isinstance(before, _Tensor):
        found = set()
        if not _same(before.numbers, after.numbers):
            found.add("")
        elif before.version != after.version:
            found.add("._version")
        if before.requires_grad != after.requires_grad:
            found.add(".requires_grad")
        if (before.grad is None) != (after.grad is None) or not (before.grad is None or _same(before.grad, after.grad)):
            found.add(".grad")
        return found
    if isinstance(before, np.ndarray):
        return set() if _same(before, after) else {""}
    if isinstance(before, dict):
        if list(before) != list(after):
            return {""}
        return set().union(*(changed(item, after[key]) for key, item in before.items()))
    if isinstance(before, list):
        if len(before) != len(after):
            return {""}
        return set().union(*map(changed, before, after))
    return set() if before == after or before != before else {""}


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind != "f":
        return bool((a == b).all())
    return bool(np.allclose(a, b, rtol=NEAR, atol=NEAR, equal_nan=True))


def watching(
    function: Callable, names: Sequence[str], note: Callable[[str], object], intact: Callable[[], None] = intact
) -> Callable:
    """`function`, but each call notes the arguments that it changed, such as "x" or "x.grad", then calls `intact`."""

    def watched(*arguments: Any, **named: Any) -> Any:
        given = [*zip(names, arguments, strict=False), *((name, named[name]) for name in names if name in named)]
        before = [(name, value, state(value)) for name, value in given]
        try:
            return function(*arguments, **named)
        finally:
            intact()
            for name, value, was in before:
                if was is not None:
                    for aspect in changed(was, state(value)):
                        note(name + aspect)

    return watched


@contextlib.contextmanager
def watched_class(
    answer: type, methods: Mapping[str, Sequence[str]], note: Callable[[str], Any], intact: Callable[[], None] = intact
) -> Iterator[None]:
    """While this holds, the methods of the class `answer` are watched: its own, and those of a class like it."""
    own = type.__dict__["__dict__"].__get__(answer)
    replaced = []
    for method, names in methods.items():
        raw = next((found for found in _defined(answer, method)), None)
        function = raw.__func__ if type(raw) is staticmethod else raw
        if type(function) is not FunctionType:
            continue
        watched = watching(function, names, note, intact)
        with contextlib.suppress(AttributeError, TypeError):
            replaced.append((method, method in own, own.get(method)))
            type.__setattr__(answer, method, staticmethod(watched) if type(raw) is staticmethod else watched)
    try:
        yield
    finally:
        for method, was_own, before in replaced:
            if was_own:
                type.__setattr__(answer, method, before)
            else:
                type.__delattr__(answer, method)


def _defined(answer: type, method: str) -> Iterator[Any]:
    for owner in type.mro(answer):
        inside = type.__dict__["__dict__"].__get__(owner)
        module = inside.get("__module__")
        engine = (
            isinstance(module, str) and module.split(".")[0] in ("tinygrad_edu", "torch") and ".answers." not in module
        )
        if method in inside and not engine and owner is not object:
            yield inside[method]


def is_name(text: object, parameters: Mapping[str, Sequence[str]]) -> bool:
    """Whether `text` is something that `note` may be called with, where the parameters are these."""
    known = {name + aspect for names in parameters.values() for name in names for aspect in ASPECTS}
    return isinstance(text, str) and text in known
