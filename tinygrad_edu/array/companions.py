"""Companions: what knows of a kind of numbers that the engine does not compute with, such as complex numbers or bfloat16.

The engine names none of them. A companion joins `companions` when the first tensor of its kind is about to be made. From then
on each op, and each public function, asks those in the list, at one place each. Before that the list is empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

__all__ = ["GO_ON", "Companion", "asked", "companions", "refuse_unusual"]

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


def refuse_unusual(name: str, values: Iterable[Any]) -> None:
    """Refuse, as not built in `name`, values of the kind of any companion.

    Raises:
        NotImplementedError: there are such.
    """
    for companion in companions:
        if companion.holds(values):
            companion.refuse(name)
