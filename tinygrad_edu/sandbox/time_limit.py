"""Ends code after seconds of processor time: an endless loop, a sleep, a program that catches every exception."""

from __future__ import annotations

import ctypes
import functools
import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

AGAIN = 0.05  # seconds between two attempts to end a loop that catches everything
WALL = 10.0  # total seconds of wall-clock time for an answer that sleeps
LONG = 60.0  # the same for one that works all the time, where a busy machine makes it wait
WORKING = (
    0.005  # seconds of processor time a second, by which an answer that waits for its turn differs from one that sleeps
)

_RAISE_IN_THREAD = ctypes.pythonapi.PyThreadState_SetAsyncExc  # later foreign functions are forbidden


class TimeUp(BaseException):
    """The time budget is used up. It is not an Exception, so that `except Exception` in an answer does not catch it."""


class Limit(Protocol):
    """What may be used up: how many seconds are left, and after how many it is worth looking again."""

    @property
    def left(self) -> float: ...
    @property
    def wait(self) -> float: ...


class Budget:
    """The time left for an answer: `seconds` of processor time, so that a busy machine makes no answer worse.

    An answer that sleeps uses no processor time; it is stopped at the wall-clock time `until`, by default after `WALL`
    seconds. One that works may go on until `LONG` seconds have passed. A budget without limit has no such time.
    """

    def __init__(self, seconds: float, until: float | None = None) -> None:
        self._clock = _clock_of_this_thread()
        self._end = self._clock() + seconds
        self._looked, self._works = (time.monotonic(), self._clock()), True
        self._until = math.inf if seconds == math.inf else until or time.monotonic() + WALL

    @property
    def left(self) -> float:
        """Seconds until it may be used up; not positive once it is."""
        now, until = time.monotonic(), self._until
        if now >= until and self._working(now):
            until += LONG - WALL
        return min(self._end - self._clock(), until - now)

    @property
    def wait(self) -> float:
        """Seconds until it is worth looking again."""
        return max(min(self.left, 1.0) if time.monotonic() >= self._until else self.left, AGAIN)

    def _working(self, now: float) -> bool:
        """Whether the thread used the processor in the last second or more."""
        then, used = self._looked
        if now - then >= 1.0:
            self._works = self._clock() - used >= WORKING * (now - then)
            self._looked = (now, self._clock())
        return self._works


def _clock_of_this_thread() -> Callable[[], float]:
    """The processor time of the calling thread, readable from any thread; of the process, if nothing better exists."""
    if hasattr(time, "pthread_getcpuclockid"):
        return functools.partial(time.clock_gettime, time.pthread_getcpuclockid(threading.get_ident()))
    return time.process_time


@contextmanager
def time_limit(budget: Limit) -> Iterator[None]:
    """Raise TimeUp in this thread once `budget` is used up, and again until it succeeds.

    On the main thread of a POSIX system it uses a timer signal, which also ends a `time.sleep`. Elsewhere it uses an
    asynchronous exception, which waits for the next Python instruction.
    """
    if budget.left <= 0:
        raise TimeUp
    if budget.left == math.inf:
        with np.errstate():  # as below
            yield
        return
    if hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread():
        start, stop = _timer_signal(budget)
    else:
        start, stop = _watchdog(budget)
    with _without_word_of_time_up():
        start()
        try:
            with np.errstate():  # what an answer switches off, or is interrupted in, is as before
                yield
        finally:
            stop()


@contextmanager
def _without_word_of_time_up() -> Iterator[None]:
    """Keep Python from telling of a TimeUp that a finalizer swallowed: it comes again."""
    tell = sys.unraisablehook

    def tell_others(swallowed: Any) -> None:
        if not issubclass(swallowed.exc_type, TimeUp):
            tell(swallowed)

    sys.unraisablehook = tell_others
    try:
        yield
    finally:
        sys.unraisablehook = tell


@contextmanager
def backstop(seconds: float) -> Iterator[None]:
    """Raise TimeUp in this thread after `seconds` of its processor time, by a thread that no signal mask stops."""
    start, stop = _watchdog(Budget(seconds))
    with _without_word_of_time_up():
        start()
        try:
            yield
        finally:
            stop()


def _timer_signal(budget: Limit) -> tuple[Callable[[], object], Callable[[], object]]:
    armed = True
    previous: Any = signal.SIG_DFL

    def ring(signum: int, frame: object) -> None:
        if armed and budget.left <= 0:
            raise TimeUp

    def start() -> None:
        nonlocal previous
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})  # an answer before may have blocked it
        previous = signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, budget.wait, AGAIN)

    def stop() -> None:
        nonlocal armed
        armed = False  # first, so that a pending signal has no effect
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)

    return start, stop


def _watchdog(budget: Limit) -> tuple[Callable[[], object], Callable[[], object]]:
    over = threading.Event()
    target = ctypes.c_ulong(threading.get_ident())

    def watch() -> None:
        while not over.wait(budget.wait):
            if budget.left <= 0:
                _RAISE_IN_THREAD(target, ctypes.py_object(TimeUp))

    def stop() -> None:
        # An exception that was set but not raised yet is raised here, where it does no harm. Clearing it instead, after
        # it has been raised, would leave CPython's interpreter interrupted for good: code under a trace hangs then.
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
