"""The state that all observers of one run share: the engine, the program's text, what was seen, what runs now."""

from __future__ import annotations

import contextlib
import math
import threading
import time
import weakref
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from types import FrameType
from typing import Any, Generic, TypeVar

import numpy as np

from viz.diagnosis.observation import Moment, Observation, Standing, Through
from viz.diagnosis.places import Places
from viz.engines import Engine
from viz.interrupts import hold, release
from viz.recording.reader import Reader
from viz.recording.unseen import is_ours

SAMPLE = 64  # numbers of a leaf that are examined before and after a step
FREE = 1.5  # seconds of processor time that watching may take beside as long as the program takes itself
WINDOW = 4  # backward passes that are watched together, at least
MOST_IN_A_LIST = 4096  # tensors
MOST_OPS = 60_000  # that are noted
CERTAINLY = 20_000  # ops that are noted whatever they cost, and so those of a long first pass

Known = TypeVar("Known")


@dataclass
class Call(Standing):
    """A call of one of the engine's functions by the program."""

    watch: Watch
    frame: FrameType
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any = None

    @cached_property
    def _place(self) -> tuple[tuple[int, ...], tuple[str, int] | None]:
        return self.watch.places.stack(self.frame)

    @property
    def stack(self) -> tuple[int, ...]:  # type: ignore[override]
        """The program's lines that run, innermost first."""
        return self._place[0]

    @property
    def where(self) -> tuple[str, int] | None:
        """File and line of user code further in, where there is some."""
        return self._place[1]

    @property
    def own(self) -> bool:
        """Whether the program calls it in a line of its own, and not some library."""
        return self.watch.places.source.owns(self.frame)

    def given(self, position: int, name: str, default: Any = None) -> Any:
        """An argument, by its place or its name."""
        return self.args[position] if position < len(self.args) else self.kwargs.get(name, default)


# What stands before its `yield` is done before a call, and the rest after it.
Noting = Generator[None, None, None]
Hears = Callable[[Call], Noting]


class Enough(BaseException):
    """The program ran as far as was asked for."""


class Watch:
    """One run that is watched; the program is stopped after `most` backward passes, if that is not None."""

    def __init__(self, engine: Engine, places: Places, most: int | None = None) -> None:
        self.engine = engine
        self.module, self.tensors = engine.module, partial(engine.tensors, most=MOST_IN_A_LIST)
        self.places = places
        self.most = most
        self.seen = Observation(engine.name, places)
        self.active = False  # whether the run is under way
        self.within = 0  # our own running calls, in which nothing is observed
        self.running: list[int] = []  # modules whose forward runs, outermost first
        self.passing: Through | None = None  # the backward pass that runs now
        self.skipping = False  # whether the program runs unwatched for a while: watching it has cost too much so far
        self.aside = _Aside(self)
        self._order = 0
        self.thread = threading.get_ident()  # what runs in another one is not seen
        self._began = time.perf_counter(), time.process_time()
        self._since = 0  # passes that had been seen when watching began, or began again
        self._full = MOST_OPS
        self._quick = hasattr(engine.module, "aminmax")  # which needs one pass and no memory

    def heard(self, hears: Hears, function: Any, call: Call, hidden: bool = False) -> Any:
        """Run a function that the program calls, while `hears` notes it; its own calls are seen unless `hidden`."""
        noting = hears(call)
        with self.aside:
            next(noting)
        self.within += hidden
        try:
            call.result = function(*call.args, **call.kwargs)
        except BaseException as error:
            with self.aside, contextlib.suppress(BaseException):
                noting.throw(error)
            raise
        finally:
            self.within -= hidden
        with self.aside:
            next(noting, None)
        return call.result

    def taken(self) -> tuple[float, float]:
        """Seconds of processor time that the program took, and that watching it took."""
        wall, cpu = time.perf_counter() - self._began[0], time.process_time() - self._began[1]
        ours = cpu * min(1.0, self.aside.seconds / wall) if wall else 0.0
        return cpu - ours, ours

    def weigh(self, now: bool = False) -> None:
        """Pause or resume watching by what it has cost so far: between two steps or, amid very many ops, `now`."""
        seen = self.seen
        alone, ours = self.taken()
        full = len(seen.ops) >= self._full
        dear = full or (ours > FREE + alone and len(seen.ops) > CERTAINLY)
        if now:
            self.skipping = full or (dear and ours > 2 * FREE + alone)
        elif self.skipping:
            self.skipping, self._since = dear, len(seen.passes)
        else:
            self.skipping = full or (dear and len(seen.passes) - self._since >= WINDOW)
        seen.cut = seen.cut or self.skipping

    def begins_anew(self) -> None:
        """Watch again for a while, as where another training begins, with an optimizer of its own."""
        if self.skipping and self._full < 2 * MOST_OPS:
            self._full = len(self.seen.ops) + CERTAINLY
            self.skipping, self._since = False, len(self.seen.passes)

    def moment(self, kind: str, stack: tuple[int, ...], order: int = 0, **more: Any) -> None:
        """Note an event between the ops; `order` is its position where that is taken already."""
        seen = self.seen
        seen.moments.append(Moment(kind, stack, order or self.following(), len(seen.passes), len(seen.ops), **more))

    def following(self) -> int:
        """The position of the next event in the order of all events."""
        self._order += 1
        return self._order

    def sample(self, tensor: Any) -> np.ndarray:
        """A few of a tensor's numbers, spread over it, as a new array; none of one that cannot be read."""
        if self.engine.why_unreadable(tensor):
            return np.zeros(0)
        flat = _stored(tensor.detach()).reshape(-1)
        return np.array(self.engine.array(flat[:: max(1, flat.numel() // SAMPLE)]), dtype=np.float64)

    version = staticmethod(Reader.version)
    node = staticmethod(Reader.grad_fn)

    def is_leaf(self, tensor: Any) -> bool:
        """Whether a tensor is a leaf; a view whose history an in-place change made unreadable is none."""
        try:
            return bool(tensor.is_leaf)
        except RuntimeError:
            return False

    def recorded(self, tensor: Any) -> bool:
        """Whether an op that made a tensor was recorded."""
        return bool(tensor.requires_grad) and not self.is_leaf(tensor)

    def extremes(self, tensor: Any) -> tuple[float | None, float | None]:
        """The largest magnitude and, for small tensors, the smallest number; (None, None) if there are no numbers."""
        try:
            tensor = _stored(self.engine.plain(tensor))
            if not tensor.numel():
                return 0.0, None
            if self._quick:
                if not tensor.dtype.is_floating_point and self.engine.device(tensor) != "cpu":
                    return None, None
                low, high = map(float, self.module.aminmax(tensor))
            else:
                numbers = self.engine.array(tensor)
                if numbers.dtype.kind not in "fiub":
                    return None, None
                low, high = float(numbers.min()), float(numbers.max())
        except (RuntimeError, TypeError, NotImplementedError, ValueError, AttributeError):
            return None, None
        return (math.nan if math.isnan(low) or math.isnan(high) else max(abs(low), abs(high))), low

    def peak(self, tensor: Any) -> float | None:
        """The largest magnitude; None if there are no numbers."""
        return self.extremes(tensor)[0]


def _stored(tensor: Any) -> Any:
    """The nonzero numbers of a sparse tensor, such as an embedding's gradient; any other tensor as it is."""
    return tensor.coalesce().values() if getattr(tensor, "is_sparse", False) else tensor


class _Aside:
    """A context in which reading a tensor does not count as the program's, and whose time is counted as ours.

    Errors in it are ours: they are noted in `seen.troubles`, and the program must not notice them. There is one for a
    run: it is entered for each op, and within itself.
    """

    def __init__(self, watch: Watch) -> None:
        self.seconds = 0.0
        self._watch = watch
        self._quiet: list[Any] = []
        self._start = 0.0

    def __enter__(self) -> None:
        hold()  # an interrupt in our own work waits for its end
        self._watch.within += 1
        if not self._quiet:
            self._start = time.perf_counter()
        quiet = self._watch.engine.quietly()
        self._quiet.append(quiet)
        quiet.__enter__()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        self._quiet.pop().__exit__(kind, error, trace)
        if not self._quiet:
            self.seconds += time.perf_counter() - self._start
        self._watch.within -= 1
        ours = error is not None and is_ours(error)
        if ours:
            self._watch.seen.troubles.append(f"{kind.__name__}: {error}")
        release()
        return ours


class Register(Generic[Known]):
    """What is known of objects, by identity: a new object never inherits what was known of a freed one."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[Callable[[], Any], Known]] = {}

    def __getitem__(self, thing: Any) -> Known | None:
        reference, known = self._kept.get(id(thing), (None, None))
        return known if reference is not None and reference() is thing else None

    def __setitem__(self, thing: Any, known: Known) -> None:
        try:
            self._kept[id(thing)] = weakref.ref(thing), known
        except TypeError:
            self._kept[id(thing)] = (lambda: thing), known

    def forget(self, *things: Any) -> None:
        """Refer to none of these any more."""
        for thing in things:
            self._kept.pop(id(thing), None)

    def alive(self) -> Iterator[tuple[Any, Known]]:
        """The objects that still exist."""
        for reference, known in list(self._kept.values()):
            thing = reference()
            if thing is not None:
                yield thing, known
