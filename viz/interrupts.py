"""An interrupt never stops us half way: all that watches a program is taken away before KeyboardInterrupt goes on.

A student presses Stop at any moment. If it fell between two of our own steps, such as putting back a patched method
and taking off a function mode, every later cell would be watched by a run that is over.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn, TypeVar

Result = TypeVar("Result")


class Left(SystemExit):
    """The program called `os._exit`."""

    def __str__(self) -> str:
        return (
            f"os._exit({self.code}) ends Python at once, and with it the notebook's kernel: only this program was ended"
        )


class _Shield:
    """Whether an interrupt waits, and what it waits for."""

    def __init__(self) -> None:
        self.thread: int | None = None  # that runs a program for us
        self.waiting = False
        self.busy = 0  # work of ours under way while the program runs
        self.handler: Any = None  # of the one who called us

    def may_pass(self, frame: FrameType | None) -> bool:
        """Whether the program runs, and no work of ours in it."""
        while frame is not None and not self.busy:
            if frame.f_code is interruptible.__code__:
                return True
            frame = frame.f_back
        return False

    def let_go(self) -> None:
        """Let an interrupt go on that has waited."""
        if self.waiting:
            self.waiting = False
            self.handler(signal.SIGINT, sys._getframe())


_shield = _Shield()


@contextmanager
def put_back_first() -> Iterator[None]:
    """A context in which an interrupt waits until its end, unless the program itself runs: see `interruptible`."""
    before = signal.getsignal(signal.SIGINT)
    on_main_thread = threading.current_thread() is threading.main_thread()
    if _shield.thread is not None or not callable(before) or not on_main_thread:
        yield
        return

    def interrupted(number: int, frame: FrameType | None) -> None:
        if _shield.may_pass(frame):
            before(number, frame)
        else:
            _shield.waiting = True

    _shield.waiting, _shield.busy, _shield.handler = False, 0, before
    _shield.thread = threading.get_ident()
    signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        _shield.thread = None
        if signal.getsignal(signal.SIGINT) is interrupted:
            signal.signal(signal.SIGINT, before)
        _shield.let_go()


def interruptible(call: Callable[[], Result]) -> Result:
    """Run the program, which an interrupt stops at once; one that came before it lets it not begin.

    `os._exit` ends the program alone, and not the kernel that it runs in.
    """
    _shield.let_go()
    leave, process = os._exit, os.getpid()

    def leave_the_program(status: int) -> NoReturn:
        if os.getpid() != process:  # a worker that the program has forked
            leave(status)
        raise Left(status)

    os._exit = leave_the_program
    try:
        return call()
    finally:
        os._exit = leave


def hold() -> None:
    """Let interrupts wait while work of ours runs in the midst of the program, until `release`."""
    if threading.get_ident() == _shield.thread:
        _shield.busy += 1


def release() -> None:
    """End what `hold` began: an interrupt that came meanwhile goes on."""
    if threading.get_ident() == _shield.thread and _shield.busy:
        _shield.busy -= 1
        if _shield.waiting and not _shield.busy:
            _shield.let_go()


def held() -> bool:
    """Whether work of ours runs, in which nothing may raise."""
    return _shield.busy > 0
