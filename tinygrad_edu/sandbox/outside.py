"""The outside of the sandbox: pass an answer in, and get plain data back, whatever the answer does.

with Sandbox(PROGRAM) as sandbox:
    verdict = judge(exercise, sandbox.run(unit_of(exercise, cell_source, seed=7)), seed=7)
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import os
import secrets
import select
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterable
from typing import Any

from .time_limit import LONG, WALL
from .trouble import TOLD_OUTSIDE

Data = Any  # what `json` reads

MAX_RESULT = 1 << 20  # bytes; the largest honest result is a few kB
MAX_PARTS = 200_000  # lists, objects and their items in a result
LATE = 30.0  # seconds by which the inside may be late on a busy machine

KILLED = -9  # the exit code of a process that was killed from outside

PROTECTIONS = (
    "no network",  # a separate namespace, or the filter of system calls
    "no other processes",  # likewise
    "no files",  # an empty file system, or Landlock
    "limits on time, memory and files",
)


class _Loaded:
    """A process that loads the engines once, and forks from itself whatever serves a sandbox. Threads may share it."""

    def __init__(self, program: str, engines: Iterable[str]) -> None:
        self.program = program
        self.engines = sorted({*engines} - {"tinygrad_edu"})
        self.process: subprocess.Popen[bytes] | None = None
        self._with_torch: _Loaded | None = None
        self._given: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        self._lock = threading.RLock()

    def with_torch(self) -> _Loaded:
        """The same with PyTorch, for answers that use it where their exercise does not."""
        with self._lock:
            self._with_torch = self._with_torch or _Loaded(self.program, [*self.engines, "torch"])
            return self._with_torch

    def channel(self) -> socket.socket:
        """A connection to a process of its own, which may still be loading; closed at once if none could start."""
        ours, theirs = socket.socketpair()
        with self._lock, theirs, contextlib.suppress(OSError):
            self._given.add(ours)
            if self.process is None or self.process.poll() is not None:
                self._end()
                self._start()
            socket.send_fds(self._control, [b"1"], [theirs.fileno()])
        return ours

    def _start(self) -> None:
        self._control, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [*_command(self.program), str(theirs.fileno()), *self.engines],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=_environment(),
                start_new_session=True,  # Ctrl-C is for the grader, which ends this
            )

    def _end(self) -> None:
        if self.process is not None:
            self._control.close()
            self.process.kill()
            self.process.wait()
            self.process = None

    def close(self) -> None:
        """End the process, all that it forked, and the connections to it."""
        with self._lock:
            if self._with_torch is not None:
                self._with_torch.close()
            self._end()
            for channel in self._given:
                channel.close()


class Sandbox:
    """A process that runs answers one at a time. `protections` says which of its protections this platform has.

    `program` is a module that calls `inside.main`. `engines` are loaded before the first answer: name `"torch"` if an
    exercise needs it. `fork=False` starts a process for every answer, which takes seconds; it is necessary on platforms
    without fork.
    """

    def __init__(self, program: str, engines: Iterable[str] = (), fork: bool = hasattr(os, "fork")) -> None:
        self.fork = fork
        self.protections = {} if fork else dict.fromkeys(PROTECTIONS, False)
        self._loaded = _Loaded(program, engines)
        self._channel: socket.socket | None = None
        self._with_torch: Sandbox | None = None

    def another(self) -> Sandbox:
        """A second sandbox that loads nothing again, for another thread. `close` of either ends both."""
        return self._from(self._loaded)

    def _from(self, loaded: _Loaded) -> Sandbox:
        sandbox = Sandbox(loaded.program, fork=self.fork)
        sandbox._loaded = loaded
        return sandbox

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def start(self) -> None:
        """Start now what `run` would start, so that `protections` is known. Raises OSError if that fails."""
        if self.fork and self._channel is None:
            self._start()

    def run(self, unit: Data) -> Data:
        """The result for a unit: the probe's data, or `{"trouble": kind}`. Never raises because of what an answer does.

        Raises OSError if no sandbox can be started, which is no student's fault.
        """
        nonce = secrets.token_hex(16)
        text = json.dumps(unit | {"nonce": nonce}).encode()
        for _ in range(2):  # the machine may have ended the sandbox
            try:
                data, code = self._run_forked(text, WALL) if self.fork else self._run_spawned(text, WALL)
            except _Lost:
                self._disconnect()
                continue
            if len(data) > MAX_RESULT or sum(map(data.count, (b"[", b"{", b","))) > MAX_PARTS:
                return {"trouble": "too much"}
            result = None
            with contextlib.suppress(ValueError, RecursionError):
                result = json.loads(data)
            if result is None:
                return {"trouble": "too long" if code == KILLED else "ended"}
            if not isinstance(result, dict) or result.get("nonce") != nonce:
                return {"trouble": "forged"}
            return self._believed(unit, result.get("result"))
        return {"trouble": "lost"}

    def _believed(self, unit: Data, result: Data) -> Data:
        """`result`, unless it claims what only the outside can know. If it asks for PyTorch, run again with PyTorch."""
        if not isinstance(result, dict) or result.get("trouble") in [*TOLD_OUTSIDE]:
            return {"trouble": "unreadable"}
        if result.get("again") != "torch":
            return result
        if "torch" in self._loaded.engines or not importlib.util.find_spec("torch"):
            return {"trouble": "unreadable"}
        if self._with_torch is None:
            self._with_torch = self._from(self._loaded.with_torch())
        return self._with_torch.run(unit)

    def close(self) -> None:
        """End the process, and those of the sandboxes beside it. A later `run` starts another."""
        if self._with_torch is not None:
            self._with_torch._disconnect()
        self._disconnect()
        self._loaded.close()

    def _disconnect(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def _run_forked(self, text: bytes, limit: float) -> tuple[bytes, int]:
        channel = self._channel or self._start()
        unit_read, unit_write = os.pipe()
        result_read, result_write = os.pipe()
        with os.fdopen(result_read, "rb", buffering=0) as result:
            try:
                with _closing(unit_read, result_write):
                    socket.send_fds(channel, [str(limit).encode()], [unit_read, result_write])
                with _closing(unit_write), contextlib.suppress(BrokenPipeError):
                    _write(unit_write, text)
                return self._collect(result, channel, time.monotonic() + max(limit, LONG) + LATE)
            except OSError as error:
                raise _Lost from error

    def _collect(self, result: io.FileIO, channel: socket.socket, deadline: float) -> tuple[bytes, int]:
        """Read a result while it is being written, until the inside reports that no process is left to write more."""
        data, code = bytearray(), None
        while code is None or not result.closed:
            sources = [source for source in (result, channel) if not (source is result and result.closed)]
            ready, _, _ = select.select(sources, [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError("the inside does not answer")
            if channel in ready:
                message = channel.recv(64)
                if not message:
                    raise ConnectionError("the inside has ended")
                code = int(message)
            if result in ready:
                chunk = result.read(1 << 16)
                data += chunk
                if not chunk or len(data) > MAX_RESULT:
                    result.close()  # this ends whatever still writes
        return bytes(data), code

    def _start(self) -> socket.socket:
        channel = self._loaded.channel()
        try:
            channel.settimeout(120)  # for loading PyTorch from a cold disk
            message = channel.recv(4096)
            if not message:
                raise ConnectionError("the inside of the sandbox did not start")
        except OSError:
            channel.close()
            self.close()
            raise
        channel.settimeout(None)
        self.protections = dict(zip(PROTECTIONS, json.loads(message), strict=True))
        self._channel = channel
        return channel

    def _run_spawned(self, text: bytes, limit: float) -> tuple[bytes, int]:
        process = subprocess.Popen(
            [*_command(self._loaded.program), "once", *self._loaded.engines],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(),
        )
        assert process.stdin is not None and process.stdout is not None
        watchdog = threading.Timer(limit + 60, process.kill)  # it includes loading the engines
        watchdog.start()
        with contextlib.suppress(OSError), process.stdin:  # it may end before it has read everything
            process.stdin.write(text)
        with process.stdout:
            data = process.stdout.read(MAX_RESULT + 1)
        late = watchdog.finished.is_set()
        watchdog.cancel()
        process.kill()
        code = process.wait()
        if not data:
            raise ConnectionError("the inside of the sandbox did not start")
        return data, KILLED if late else code


class _Lost(Exception):
    """The sandbox ended, or no longer answers."""


def _command(program: str) -> list[str]:
    return [sys.executable, "-P", "-m", program]


def _environment() -> dict[str, str]:
    """Only what Python needs, so that no token of the grader gets in. One thread, as namespaces require."""
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH") if name in os.environ}
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {**kept, **threads, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONDONTWRITEBYTECODE": "1"}


@contextlib.contextmanager
def _closing(*descriptors: int) -> Any:
    try:
        yield
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _write(descriptor: int, text: bytes) -> None:
    while text:
        text = text[os.write(descriptor, text) :]
