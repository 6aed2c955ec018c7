"""A fork of this process that runs a function and sends back what it found, and what it may no longer touch outside."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import warnings
from collections.abc import Callable
from typing import Any

LONGEST = 3600.0  # seconds
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_OUTSIDE = """
subprocess. socket.connect socket.bind socket.send socket.getaddrinfo shutil. pty. webbrowser. sqlite3. os.remove
os.rename os.mkdir os.rmdir os.link os.symlink os.truncate os.chmod os.chown os.system os.fork os.exec os.posix_spawn
os.spawn os.kill _posixsubprocess"""
_REFUSED = tuple(_OUTSIDE.split())


class Outside(BaseException):
    """The program was about to touch something outside its own process."""


class Fork:
    """A fork of this process, and a pipe to it. It runs a function with the other end, and nothing else."""

    def __init__(self, run: Callable[[Any], None]) -> None:
        from multiprocessing.connection import Pipe  # a page that runs Python has neither this nor forks

        self.pipe, other = Pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python warns of threads at a fork; ours uses none of their locks
            self._child = os.fork()
        if self._child:
            other.close()
            return
        try:
            self.pipe.close()
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            run(other)
        finally:
            os._exit(0)

    def received(self, seconds: float) -> Any:
        """What it sends. Raises `TimeoutError` if that takes longer, and `EOFError` if it ends without."""
        if not self.pipe.poll(min(seconds, LONGEST)):
            raise TimeoutError
        return self.pipe.recv()

    def end(self) -> None:
        """Kill it."""
        self.pipe.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._child, signal.SIGKILL)
        os.waitpid(self._child, 0)


def shut_in(keep: int) -> None:
    """Take away what leads outside, but for the descriptor `keep`.

    It cannot be undone, so only a fork does this. Opening a file for writing, a connection or a process raises
    `Outside`; on Linux the kernel refuses them as well.
    """
    from . import landlock  # a page that runs Python does not bring this

    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nothing, number)
    os.closerange(3, keep)
    os.closerange(keep + 1, os.sysconf("SC_OPEN_MAX"))
    landlock.forbid_writes()
    sys.dont_write_bytecode = True

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event.startswith(_REFUSED):
            raise Outside(event)
        path, flags = (arguments[0], arguments[2]) if event == "open" else (None, None)
        if isinstance(path, (str, bytes)) and path != os.devnull and isinstance(flags, int) and flags & _WRITES:
            raise Outside(f"it writes {os.fsdecode(path)}")

    sys.addaudithook(hook)
