"""Companions: what knows of a kind of numbers that the engine does not compute with, such as complex numbers or bfloat16.

The engine names none of them. A companion joins `companions` when the first tensor of its kind is about to be made. From then
on each op, and each public function, asks those in the list, at one place each. Before that the list is empty.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

__all__ = ["GO_ON", "Companion", "as_now", "asked", "companions", "holds", "lowered", "meet", "refuse"]

# The module whose `meet` lets a companion join, by the kind of numbers.
_MODULES = {"c": "extra.complex_numbers.rules", "V": "extra.bfloat16.rules"}

# The answer of a companion to a public call that is not its own.
GO_ON: Any = object()


class Companion:
    """What is asked about a call, and about an op and its node. A kind of numbers replaces the methods that it needs."""

    # Numbers: "c" of complex ones, "V" of bfloat16, as NumPy's dtypes say it.
    kind = ""

    def call(self, call: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a call of the public function `name`, or `GO_ON`.

        Raises:
            NotImplementedError: the function is not built for such tensors.
        """
        return GO_ON

    def as_now(self) -> contextlib.AbstractContextManager[Any]:
        """A context in which calls are answered as now: a checkpoint computes again in it."""
        return contextlib.nullcontext()

    def lowered(self, tensors: tuple[Any, ...]) -> tuple[Any, ...]:
        """The operands of a product inside a function of several steps."""
        return tensors

    def holds(self, values: Iterable[Any]) -> bool:
        """True if a tensor, array or number of the kind is among `values`, or in a list among them."""
        return False

    def refuse(self, name: str) -> NoReturn:
        """Say that `name` is not built for the kind."""
        raise NotImplementedError(f"{name} is not built for tensors of this kind.")

    # --- an op ---------------------------------------------------------------------------------------------------------

    def rules_for(self, op: Any, inputs: Sequence[Any], outs: Sequence[Any]) -> Any:
        """The op with the rules for these numbers, which takes the place of `op` as a run of it is recorded."""
        return op

    def forward_of(self, op: Any, forward: Callable[..., Any]) -> Callable[..., Any]:
        """What computes the op, in place of `forward`."""
        return forward

    def recorded(
        self, op: Any, state: Any, inputs: Sequence[Any], settings: dict[str, Any], outs: Sequence[Any], node: Any
    ) -> Any:
        """The node of a run of `op`, of which `apply` has recorded `node`, or None."""
        return node

    def written(self, node: Any, inputs: Sequence[Any]) -> None:
        """`node` was recorded for an op in place."""

    def pushed(self, op: Any, inputs: Sequence[Any]) -> None:
        """The op is about to push tangents on."""

    def run(self, node: Any, grads: list[Any], wanted: Sequence[bool] | None) -> Sequence[Any]:
        """The gradients of a node's inputs as arrays, of a node whose `_companion` is this one."""
        raise NotImplementedError


companions: list[Companion] = []


def asked(call: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the first companion that has an answer says to a public call; `GO_ON` if none has."""
    for companion in companions:
        if (result := companion.call(call, name, args, kwargs)) is not GO_ON:
            return result
    return GO_ON


def meet(kind: str) -> None:
    """Called before there is a tensor of this kind: its companion joins."""
    if not any(companion.kind == kind for companion in companions):
        importlib.import_module(f"{__package__.rpartition('.')[0]}.{_MODULES[kind]}").meet()


def holds(kind: str, values: Iterable[Any]) -> bool:
    """True if a tensor, array or number of the kind is among `values`."""
    return any(companion.holds(values) for companion in companions if companion.kind == kind)


def refuse(name: str, kind: str) -> NoReturn:
    """Say that `name` is not built for numbers of the kind.

    Raises:
        NotImplementedError: always.
    """
    for companion in companions:
        if companion.kind == kind:
            companion.refuse(name)
    raise NotImplementedError(f"{name} is not built for tensors of this kind.")


def lowered(*tensors: Any) -> tuple[Any, ...]:
    """The operands of a product inside a function of several steps, as a companion wants them."""
    for companion in companions:
        tensors = companion.lowered(tensors)
    return tensors


class as_now:
    """A context in which companions answer as when it was made. It may be entered more than once."""

    def __init__(self) -> None:
        self.each = [companion.as_now() for companion in companions]
        self.entered: list[contextlib.ExitStack] = []

    def __enter__(self) -> None:
        stack = contextlib.ExitStack()
        for each in self.each:
            stack.enter_context(each)
        self.entered.append(stack)

    def __exit__(self, *exception: Any) -> None:
        self.entered.pop().__exit__(*exception)
