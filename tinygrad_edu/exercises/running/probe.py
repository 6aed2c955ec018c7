"""The probe: run an answer on every case and write down what came of it, as plain data.

It runs in the student's process, so it only ever *observes*: no expected value, no verdict, nothing worth stealing is
here. It must import neither the judge nor a lesson, because the sandbox loads it before it forks for a submission.
"""

from __future__ import annotations

import builtins
import ctypes
import functools
import importlib
import math
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..plain import Data, decode, encode, text_of, type_name

ANSWERS = Path(__file__).parent.parent / "answers"
OTHER_CELL = "<cell>"  # the file name of what an answer uses from the student's other cells
AGAIN = 0.05  # seconds between two attempts to end a loop that catches everything
WALL = 10.0  # seconds by the clock on the wall that an answer may take in all, for one that sleeps
STAGES = 3  # the cells that an answer needs, its own cell, the probe: each has a budget of its own


_RAISE_IN_THREAD = ctypes.pythonapi.PyThreadState_SetAsyncExc  # found here: later nothing foreign may be looked up


class TimeUp(BaseException):
    """The time budget is spent; no Exception, so `except Exception` in an answer does not swallow it."""


class Budget:
    """What is left to an answer: `seconds` of processor time, for a busy machine makes nobody's answer worse.

    One that sleeps takes no processor time; it is stopped at the moment `until` of the clock on the wall, in `WALL` seconds
    where none is named. A budget without end has no such moment.
    """

    def __init__(self, seconds: float, until: float | None = None) -> None:
        self._clock = _clock_of_this_thread()
        self._end = self._clock() + seconds
        self._until = math.inf if seconds == math.inf else until or time.monotonic() + WALL

    @property
    def left(self) -> float:
        """Seconds until it may be spent; not positive once it is."""
        return min(self._end - self._clock(), self._until - time.monotonic())


def _clock_of_this_thread() -> Callable[[], float]:
    """The processor time of the thread that asks now, for any thread; of the process, where that is all there is."""
    if hasattr(time, "pthread_getcpuclockid"):
        return functools.partial(time.clock_gettime, time.pthread_getcpuclockid(threading.get_ident()))
    return time.process_time


def probe(
    probes: Sequence[Callable],
    cases: Sequence[Sequence[Data]],
    answer: object,
    engines: Sequence[str],
    seconds: float,
    until: float | None = None,
) -> Data:
    """Run each probe on its cases with `answer`, for each engine, within one budget of `seconds` and `until` a moment.

    A case is an encoded tuple of arguments, decoded afresh for each call, so an answer that writes into its inputs
    harms none but itself. Returns `{"answer": kind, "observed": {engine: [[observation, …], …]}}`.
    """
    for engine in engines:
        importlib.import_module(engine)  # a first import of PyTorch takes seconds, which are not the answer's
    kind = kind_of_answer(answer)
    budget = Budget(seconds, until)
    observed: dict[str, list] = {}
    for engine in engines:
        observed[engine] = [
            [_observe(probe, answer, engine, case, budget) for case in inputs]
            for probe, inputs in zip(probes, cases, strict=True)
        ]
    return {"answer": kind, "observed": observed}


def kind_of_answer(answer: object) -> str:
    """What kind of thing an answer is: "a class", "a function", or the name of its type."""
    if issubclass(type(answer), type):  # an answer may lie about its class, not about its type
        return "a class"
    if callable(answer):
        return "a function"
    return "of type dict" if issubclass(type(answer), dict) else f"of type {type_name(answer)}"


def _observe(probe: Callable, answer: object, engine: str, case: Data, budget: Budget) -> Data:
    forgot = False

    def watched(*arguments: Any, **named: Any) -> Any:
        nonlocal forgot
        returned = answer(*arguments, **named)  # type: ignore[operator]
        forgot = returned is None
        return returned

    head: tuple = (watched if kind_of_answer(answer) == "a function" else answer,)
    if "T" in probe.__code__.co_varnames[: probe.__code__.co_argcount]:
        head += (importlib.import_module(engine),)
    try:
        with time_limit(budget):
            try:
                return encode(probe(*head, *decode(case)))
            except TimeUp:
                raise
            except BaseException as error:  # also SystemExit and KeyboardInterrupt: an answer may raise anything
                said = raised(error)
                # Where the probe could not go on with a None, that is what is to be told.
                return None if forgot and said["line"] is None else said
    except TimeUp:
        return {"stopped": "no end in sight"}


_OF_PYTHON = {id(kind): name for name, kind in vars(builtins).items() if isinstance(kind, type)}


def raised(error: BaseException) -> Data:
    """What is told of the exception that is being handled: its type, its message, and the last line of the answer in it.

    An answer's own kind of error counts `as` the kind of Python's that it was made from; `beneath` is whether it was raised
    in what the answer calls, and not in the answer itself.

    Its message is made by the answer's own code: call this within a time limit.
    """
    try:
        message = text_of(str, error, 500)
    except TimeUp:
        raise
    except BaseException:
        message = ""
    frames = traceback.extract_tb(sys.exc_info()[2])  # error.__traceback__ may be a property of the answer's
    own = [frame.lineno for frame in frames if _is_answer(frame.filename)]
    deepest = frames[-1].filename if frames else ""  # an answer may take the frames away
    return {
        "raised": type_name(error),
        "message": message,
        "line": own[-1] if own else None,
        "as": next(_OF_PYTHON[id(kind)] for kind in type.mro(type(error)) if id(kind) in _OF_PYTHON),
        "beneath": not (_is_answer(deepest) or deepest == OTHER_CELL or Path(deepest).parent == ANSWERS),
    }


def _is_answer(filename: str) -> bool:
    return filename.startswith(("<answer", "<ipython")) or "ipykernel_" in filename


@contextmanager
def time_limit(budget: Budget) -> Iterator[None]:
    """Raise TimeUp in this thread once `budget` is spent, and again until it gets through.

    In the main thread of a POSIX system by a timer signal, which also ends a `time.sleep`; elsewhere by an
    asynchronous exception, which waits for the next Python instruction.
    """
    if budget.left <= 0:
        raise TimeUp
    if budget.left == math.inf:
        yield
        return
    if hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread():
        start, stop = _timer_signal(budget)
    else:
        start, stop = _watchdog(budget)
    start()
    try:
        yield
    finally:
        stop()


def _timer_signal(budget: Budget) -> tuple[Callable[[], object], Callable[[], object]]:
    armed = True
    previous: Any = signal.SIG_DFL

    def ring(signum: int, frame: object) -> None:
        if armed and budget.left <= 0:
            raise TimeUp

    def start() -> None:
        nonlocal previous
        previous = signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, max(budget.left, AGAIN), AGAIN)

    def stop() -> None:
        nonlocal armed
        armed = False  # first, so that a signal on its way finds nothing to end
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)

    return start, stop


def _watchdog(budget: Budget) -> tuple[Callable[[], object], Callable[[], object]]:
    over = threading.Event()
    target = ctypes.c_ulong(threading.get_ident())

    def watch() -> None:
        while not over.wait(max(budget.left, AGAIN)):
            if budget.left <= 0:
                _RAISE_IN_THREAD(target, ctypes.py_object(TimeUp))

    def stop() -> None:
        # An exception that was set and not raised yet is raised in here, where it ends nothing. To take it back instead
        # would, once it has been raised, leave CPython's interpreter interrupted for good: code under a trace hangs then.
        stopped = False
        while not stopped:
            try:
                over.set()
                thread.join()
                for _ in range(10):
                    pass
                stopped = True
            except TimeUp:
                continue

    thread = threading.Thread(target=watch, daemon=True)
    return thread.start, stop
