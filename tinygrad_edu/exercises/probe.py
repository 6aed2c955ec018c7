"""The probe: run an answer on every case and write down what came of it, as plain data.

It runs in the student's process, so it only ever *observes*: no expected value, no verdict, nothing worth stealing is
here. It must import neither the judge nor a lesson, because the sandbox loads it before it forks for a submission.
"""

from __future__ import annotations

import ctypes
import importlib
import math
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .plain import Data, decode, encode, type_name


class TimeUp(BaseException):
    """The time budget is spent; no Exception, so `except Exception` in an answer does not swallow it."""


def probe(
    probes: Sequence[Callable],
    cases: Sequence[Sequence[Data]],
    answer: object,
    engines: Sequence[str],
    seconds: float,
) -> Data:
    """Run each probe on its cases with `answer`, for each engine, within one budget of `seconds`.

    A case is an encoded tuple of arguments, decoded afresh for each call, so an answer that writes into its inputs
    harms none but itself. Returns `{"answer": kind, "observed": {engine: [[observation, …], …]}}`.
    """
    for engine in engines:
        importlib.import_module(engine)  # a first import of PyTorch takes seconds, which are not the answer's
    kind = kind_of_answer(answer)
    deadline = time.monotonic() + seconds
    observed: dict[str, list] = {}
    for engine in engines:
        observed[engine] = [
            [_observe(probe, answer, engine, case, deadline) for case in inputs]
            for probe, inputs in zip(probes, cases, strict=True)
        ]
    return {"answer": kind, "observed": observed}


def kind_of_answer(answer: object) -> str:
    """What kind of thing an answer is: "a class", "a function", or the name of its type."""
    if issubclass(type(answer), type):  # an answer may lie about its class, not about its type
        return "a class"
    return "a function" if callable(answer) else f"of type {type_name(answer)}"


def _observe(probe: Callable, answer: object, engine: str, case: Data, deadline: float) -> Data:
    head: tuple = (answer,)
    if "T" in probe.__code__.co_varnames[: probe.__code__.co_argcount]:
        head = (answer, importlib.import_module(engine))
    try:
        with time_limit(deadline - time.monotonic()):
            return encode(probe(*head, *decode(case)))
    except TimeUp:
        return {"stopped": "no end in sight"}
    except BaseException as error:  # also SystemExit and KeyboardInterrupt: an answer may raise anything
        return raised(error)


def raised(error: BaseException) -> Data:
    """What is told of an exception: its type, its message, and the last line of the answer that was running."""
    try:
        message = str(error)[:500]
    except Exception:
        message = ""
    own = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if _is_answer(frame.filename)]
    return {"raised": type_name(error), "message": message, "line": own[-1] if own else None}


def _is_answer(filename: str) -> bool:
    return filename.startswith(("<answer", "<ipython")) or "ipykernel_" in filename


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TimeUp in this thread once `seconds` have passed, and again until it gets through.

    In the main thread of a POSIX system by a timer signal, which also ends a `time.sleep`; elsewhere by an
    asynchronous exception, which waits for the next Python instruction.
    """
    if seconds <= 0:
        raise TimeUp
    if seconds == math.inf:
        yield
        return
    if hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread():
        start, stop = _timer_signal(seconds)
    else:
        start, stop = _watchdog(seconds)
    start()
    try:
        yield
    finally:
        stop()


AGAIN = 0.05  # seconds between two attempts to end a loop that catches everything


def _timer_signal(seconds: float) -> tuple[Callable[[], object], Callable[[], object]]:
    armed = True
    previous: Any = signal.SIG_DFL

    def ring(signum: int, frame: object) -> None:
        if armed:
            raise TimeUp

    def start() -> None:
        nonlocal previous
        previous = signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)

    def stop() -> None:
        nonlocal armed
        armed = False  # first, so that a signal on its way finds nothing to end
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)

    return start, stop


def _watchdog(seconds: float) -> tuple[Callable[[], object], Callable[[], object]]:
    over = threading.Event()
    target = ctypes.c_ulong(threading.get_ident())

    def watch() -> None:
        wait = seconds
        while not over.wait(wait):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(target, ctypes.py_object(TimeUp))
            wait = AGAIN

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
