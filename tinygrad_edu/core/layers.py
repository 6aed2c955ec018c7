"""What a layer around the core replaces, all in one place: here these methods do nothing. And `no_grad`, the core's own mode.

A layer subclasses `State`, `View`, `Op` and `Pass`. So views, hooks, modes and dtypes come in, and the core names none of them.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:  # what layers bind, declared for the type checker alone
    from ..declared import Declared, DeclaredOfNode, DeclaredOfPass, DeclaredOfView
else:
    Declared = DeclaredOfNode = DeclaredOfPass = DeclaredOfView = object

__all__ = ["AroundOp", "AroundPass", "State", "Thread", "View", "no_grad", "thread"]


class State:
    """The modes of a thread. `unusual`: some mode of a layer is on; `task`: the pass that runs; `is_quiet`: warnings are off."""

    def __init__(self) -> None:
        self.recording, self.unusual, self.is_quiet = True, False, False
        self.task: AroundPass | None = None
        # NaN and infinity flow silently. To enter a context in which NumPy's warnings are off is much quicker than `np.errstate`.
        context = contextvars.Context()
        context.run(np.seterr, all="ignore")
        self.running = context.run


class Thread(threading.local):
    """The thread that runs. Each starts with a `state` of this `kind`, whatever the one that started it had set."""

    kind: type[State] = State

    def __init__(self) -> None:
        self.state = self.kind()


thread = Thread()


class no_grad:
    """`with no_grad():` ops inside are computed and not recorded."""

    def __enter__(self) -> None:
        self.before, thread.state.recording = thread.state.recording, False

    def __exit__(self, *exception: object) -> None:
        thread.state.recording = self.before


class View(DeclaredOfView):
    """What a view knows of the tensor whose storage it shows."""

    base: Any

    def follow(self, view: Any) -> None:
        """The history of `view` is about to be read: bring it up to date if the storage was written to."""


class AroundOp:
    """What an op asks."""

    _kept: tuple[Any, ...] = ()
    _versions: tuple[int | None, ...] | None = None

    @classmethod
    def _adapted(cls, arrays: Any, settings: Any, are_alike: bool) -> tuple[Callable[..., Any], Any, Any]:
        """`forward`, the operands as it gets them if they are not floats of one dtype, and the settings as it gets them."""
        return cls.forward, arrays, settings  # type: ignore[attr-defined]

    @classmethod
    def _refuse(cls, arrays: Sequence[Any]) -> None:
        """NumPy refuses these operands: say why."""

    @classmethod
    def _beside(cls, now: State, inputs: tuple, settings: Any, result: Any, out: Any, wanted: bool) -> Any:
        """`out` as the user gets it, where anything is unusual: a mode, an operand, the result, an op with several results."""
        return out

    @classmethod
    def _kept_as(cls, name: str, inputs: Any, settings: Any, outs: Any, mask: Any) -> Any:
        """What a node keeps for a rule that asks for `name`, which is no input, no setting and not the result."""
        raise TypeError(f"{cls.__name__}: a rule asks for {name!r}, which is not an input, result or setting of the op")

    def _release(self) -> None:
        """Free the tensors among what a node keeps: it has run, and will not run again."""
        self._kept, self._versions = (), None

    def _in_its_own_way(self, grads: list[Any], frees: bool) -> Sequence[Any]:
        """What `_step` gives where what was kept is not as it was, or where the plan is not plain."""
        how = "was freed: no second backward" if self._versions is None else "was modified by an inplace operation"
        raise RuntimeError(f"Trying to backward through the graph, and what {type(self).__name__} needs {how}")


class AroundPass(DeclaredOfPass):
    """What a pass asks."""

    visits_all = False  # every node is left to `visit`
    unshared: Any = ()  # the leaves that may keep the array they are sent
    callbacks: Sequence[Callable[[], Any]] = ()  # called when the pass is done; they may add to it

    def visit(self, node: Any, grads: list[Any]) -> None:
        """Run a node that has something `_around`."""
