"""The inside: a process loads everything once, and forks a parent for each sandbox, which forks one for each answer.

A parent sees no answer and no result: it receives two file descriptors, passes them to the child, and afterwards ends
whatever the child left behind. So nothing of one student is in memory when the next one's code runs.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from . import landlock, limits, python_only
from .instruments import intact_check, refuse_to_look
from .time_limit import LONG, WALL, WORKING

MEMORY = 1 << 30  # bytes that an answer may use in addition to the interpreter
GRACE = 1.0  # seconds between the end of the time budget and the kill
Run = Callable[[Any, Callable[[], None]], Any]  # of a unit, and of what to call whenever code of the answer has run
STAGES = 3  # what an answer consists of: each stage may use its `seconds`


class _Parent:
    """What answers one sandbox: it applies the protections, reports which hold, and forks a child for every answer."""

    def __init__(self, channel: socket.socket, run: Run, instruments: Sequence[str]) -> None:
        limits.end_with_parent()
        self._run, self._instruments = run, instruments
        self._isolated = limits.enter_namespaces()
        self._nothing, self._memory = os.open(os.devnull, os.O_RDWR), limits.address_space() + MEMORY
        self._filtered = _holds(limits.deny_system_calls)
        limited = _holds(lambda: limits.limit(1.0, self._memory))
        locked = _holds(landlock.forbid_files)
        self._empty = self._isolated and limits.empty_root()
        alone = self._isolated or self._filtered
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the grader was killed
            channel.send(json.dumps([alone, alone, self._empty or locked, limited]).encode())
            self._serve(channel)

    def _serve(self, channel: socket.socket) -> None:
        """Fork a child for each pair of descriptors that arrives: the unit to read, and where to write its result."""
        while True:
            message, descriptors, _, _ = socket.recv_fds(channel, 64, 2)
            if not message:
                return
            deadline = time.monotonic() + float(message) + GRACE
            child = os.fork()
            if child == 0:
                self._child(*descriptors)
            for descriptor in descriptors:
                os.close(descriptor)
            channel.send(str(_wait(child, deadline, self._isolated)).encode())

    def _child(self, source: int, result: int) -> None:
        """The process that runs an answer. Never returns."""
        leave = os._exit  # the answer may replace os._exit

        def sent(data: bytes, write: Callable[[int, bytes], int] = os.write) -> None:
            # The nonce says that the answer did not write this, and passes through no code that an answer may replace.
            text = b'{"nonce": "' + nonce + b'", "result": ' + data + b"}"
            while text:
                text = text[write(3, text) :]
            leave(0)

        def tampered(kind: str = "tampered", line: int = 0) -> None:
            sent(b'{"trouble": "%s", "line": %d}' % (kind.encode(), line))

        with contextlib.suppress(BaseException):
            os.setsid()
            with os.fdopen(source, "rb", closefd=False) as file:
                unit = json.loads(file.read())
            nonce = unit.pop("nonce").encode()
            for standard in (0, 1, 2):
                os.dup2(self._nothing, standard)
            os.dup2(result, 3)
            os.closerange(4, 1024)
            limits.limit(STAGES * unit["seconds"], self._memory, processes=not self._filtered)
            limits.drop_capabilities()
            locked = landlock.forbid_files()
            limits.deny_system_calls()
            if not (locked or self._empty):
                python_only.refuse_the_outside()
            intact = intact_check(tampered, self._instruments)
            refuse_to_look(tampered)
            found = self._run(unit, intact)
            intact()
            sent(json.dumps(found).encode())
        leave(0)


def _wait(child: int, deadline: float, isolated: bool) -> int:
    """Wait for `child`, then end it and everything it left behind. Returns its exit code, -9 if its time was up. A
    child that still works at the deadline may go on, up to `LONG`: the machine is busy."""
    code, used, last = None, 0.0, deadline + LONG - WALL
    while code is None:
        if time.monotonic() >= deadline:
            before, used = used, _processor_time(child)
            if used - before < WORKING or time.monotonic() >= last:
                break
            deadline = min(time.monotonic() + 1.0, last)
        if hasattr(os, "pidfd_open"):
            ending = os.pidfd_open(child)
            select.select([ending], [], [], max(0.0, deadline - time.monotonic()))
            os.close(ending)
        else:
            time.sleep(0.002)
        pid, status = os.waitpid(child, os.WNOHANG)
        code = os.waitstatus_to_exitcode(status) if pid else None
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(-1, signal.SIGKILL) if isolated else os.killpg(child, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, 0 if isolated or code is None else os.WNOHANG)[0]:
            pass
    return -signal.SIGKILL if code is None else code


def _processor_time(process: int) -> float:
    """The seconds of processor time of another process; 0 where the platform does not tell."""
    try:
        return time.clock_gettime((~process << 3) | 2)  # how Linux numbers the clock of a process
    except (OSError, AttributeError):
        return 0.0


def _holds(protection: Callable[[], bool]) -> bool:
    """Whether an irreversible protection works here. It is tried in a child that ends at once."""
    child = os.fork()
    if child == 0:
        os._exit(0 if protection() else 1)
    return os.waitpid(child, 0)[1] == 0


def _once(run: Run) -> None:
    """Run the answer from stdin. Never returns."""
    leave = os._exit
    unit = json.loads(sys.stdin.buffer.read())
    with os.fdopen(os.dup(1), "w") as result:
        result.write("\n")  # anything after this was written by the answer
        result.flush()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        limits.limit(STAGES * unit["seconds"], limits.address_space() + MEMORY)
        python_only.forget_where_modules_are()
        if not landlock.forbid_files():
            python_only.refuse_the_outside()
        nonce = unit.pop("nonce")
        result.write(json.dumps({"nonce": nonce, "result": run(unit, lambda: None)}))
    leave(0)


def main(arguments: list[str], preload: Callable[[list[str]], None], run: Run, instruments: Sequence[str]) -> None:
    """Load everything by `preload(engines)`, and fork a parent for each connection, or run one answer from stdin.

    `run` makes plain data of a unit. `instruments` are the modules that it relies on, which no answer may change.
    """
    where, *engines = arguments
    if where != "once":
        # From the keyboard it is for the grader; an answer must not send one.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        control = socket.socket(fileno=int(where))
    preload(engines)
    if where == "once":
        _once(run)
    python_only.forget_where_modules_are()
    gc.freeze()  # freeze loaded objects, so that a child need not copy memory just to inspect them
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not message:
            return
        if os.fork() == 0:  # also one thread, as namespaces require, whatever the engines have started
            control.close()
            _Parent(socket.socket(fileno=descriptors[0]), run, instruments)
            os._exit(0)
        os.close(descriptors[0])
