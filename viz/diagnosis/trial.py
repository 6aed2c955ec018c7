"""Tries a proposed change before it is shown: the changed program runs again, and the finding's own claim is asked once more.

It runs in a fork of this process, from the same state and the same random numbers, under the same observer, for as many backward
passes as the first run needed, and it ends with the time that it was given. What it would do outside does not happen: the fork has
none of our open files and connections, and when it opens a file for writing, a connection or a process, the trial ends there. On
Linux the kernel refuses these as well (Landlock), for code that is not Python's.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from viz.diagnosis.change import Change
from viz.diagnosis.finding import Finding, listed
from viz.diagnosis.observation import Leaf, Observation
from viz.diagnosis.watching.watch import Enough

MOST_PASSES = 40
GRACE = 0.5  # seconds beyond its time after which a trial is ended from outside
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
OUTSIDE = (
    "subprocess.", "socket.connect", "socket.bind", "socket.send", "socket.getaddrinfo", "shutil.", "pty.", "webbrowser.", "sqlite3.",
    "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.chown", "os.system",
    "os.fork", "os.exec", "os.posix_spawn", "os.spawn", "os.kill", "_posixsubprocess",
)  # fmt: skip


class Outside(BaseException):
    """The program was about to touch something outside its own process."""


@dataclass
class Trial:
    """What came of a change.

    Attributes:
        cured: True if the claim no longer holds, False if it still does, None if it could not be tried.
        said: what was seen, as the end of a sentence.
        proves: whether that makes the cause certain. It does not where nothing makes use of a gradient that is there now.
        further: where the same was found in another line, the lines of the changed program to change for that, as old and new.
        left: the kinds that the rules still find in the changed program; None where it did not run as far as the program did.
    """

    cured: bool | None
    said: str
    further: list[tuple[int, str, str]] = field(default_factory=list)
    proves: bool = True
    left: list[str] | None = None

    @property
    def sentence(self) -> str:
        """What a report says of it."""
        if self.cured:
            return f"Tried: the changed program ran again for {self.said}, and this was gone."
        if self.cured is None:
            return f"A change of the program could not be tried, so it is not shown: {self.said}."
        return f"A change of the program was tried in vain, so it is not shown: {self.said}."


def possible(engine: Any) -> str:
    """Why no trial can run here; empty if it can."""
    if not hasattr(os, "fork") or sys.platform == "emscripten":
        return "this system cannot run it again beside us"
    cuda = getattr(engine.module, "cuda", None)
    if cuda is not None and getattr(cuda, "is_initialized", lambda: False)():
        return "the program uses the GPU, which a second process cannot share"
    return ""


class Place:
    """Where changed programs run again: a fork of this process.

    Args:
        engine: what they run on.
        again: runs what was asked for, within the seconds that the question names; it is called in the fork alone.
        early: fork now, before the first run: for a program that changes what was there before it. Otherwise at each question,
            which costs nothing where there is none, and finds the imported libraries ready.
    """

    def __init__(self, engine: Any, again: Callable[[dict[str, Any]], Trial], early: bool) -> None:
        self._engine = engine
        self._again = again
        self._refused = possible(engine)
        self._child = 0
        self._fds: tuple[int, int] = (-1, -1)
        if early and not self._refused:
            self._begin()

    def ask(self, question: dict[str, Any], seconds: float) -> Trial:
        """What came of a change; `question` is plain data."""
        if self._refused or seconds <= 0:
            return Trial(None, self._refused or "no time was left")
        question["seconds"] = seconds
        if not self._child:
            return self._forked(question)
        os.write(self._fds[1], json.dumps(question).encode() + b"\n")
        return _heard(self._fds[0], time.monotonic() + seconds + 2 * GRACE)

    def __enter__(self) -> Place:
        return self

    def __exit__(self, *error: object) -> None:
        """End the fork."""
        if self._child:
            for number in self._fds:
                os.close(number)
            _end(self._child)
            self._child = 0

    def _begin(self) -> None:
        """Fork a process that waits for questions, and forks another one for each."""
        (hears, asks), (listens, answers) = os.pipe(), os.pipe()
        self._child = _fork()
        if self._child:
            os.close(hears)
            os.close(answers)
            self._fds = listens, asks
            return
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            os.close(asks)
            with open(hears, encoding="utf-8") as questions:
                for line in questions:
                    os.write(answers, json.dumps(asdict(self._forked(json.loads(line)))).encode() + b"\n")
        finally:
            os._exit(0)

    def _forked(self, question: dict[str, Any]) -> Trial:
        reading, writing = os.pipe()
        child = _fork()
        if not child:
            _answer(self._engine, writing, lambda: self._again(question))
        os.close(writing)
        try:
            return _heard(reading, time.monotonic() + question["seconds"] + GRACE)
        finally:
            os.close(reading)
            _end(child)


def _fork() -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python warns of threads at a fork; ours uses none of their locks
        return os.fork()


def _end(child: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def _heard(reading: int, end: float) -> Trial:
    """One answer, which is one line."""
    said = b""
    while not said.endswith(b"\n") and (left := end - time.monotonic()) > 0:
        if select.select([reading], [], [], min(left, 3600.0))[0]:
            part = os.read(reading, 65536)
            if not part:
                return Trial(None, "the process ended without an answer")
            said += part
    return Trial(**json.loads(said)) if said.endswith(b"\n") else Trial(None, "it took too long")


def _answer(engine: Any, writing: int, again: Callable[[], Trial]) -> None:
    """The fork: it never returns."""
    trial = Trial(None, "the process failed")
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _shut_in(engine, writing)
        with engine.on_one_thread():  # the other threads of this process are not in its fork
            trial = again()
    except BaseException as error:
        trial = Trial(None, f"{type(error).__name__}: {error}")
    finally:
        with contextlib.suppress(BaseException):
            os.write(writing, json.dumps(asdict(trial)).encode() + b"\n")
        os._exit(0)


def _shut_in(engine: Any, keep: int) -> None:
    """Take away what leads outside. It cannot be undone, so only a fork does this."""
    from tinygrad_edu.exercises.isolation import (
        landlock,  # a page that runs Python has no forks, and does not bring this
    )

    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nothing, number)
    os.closerange(3, keep)
    os.closerange(keep + 1, os.sysconf("SC_OPEN_MAX"))
    landlock.forbid_writes()
    sys.dont_write_bytecode = True

    def hook(event: str, arguments: tuple[Any, ...], outside: tuple[str, ...] = OUTSIDE, writes: int = WRITES) -> None:
        if event.startswith(outside):
            raise Outside(event)
        path = arguments[0] if event == "open" else None
        if (
            isinstance(path, (str, bytes))
            and path != os.devnull
            and isinstance(arguments[2], int)
            and arguments[2] & writes
        ):
            raise Outside(f"it writes {os.fsdecode(path)}")

    sys.addaudithook(hook)

    def save(*args: Any, **kwargs: Any) -> None:  # PyTorch's writes its file without Python
        raise Outside("save()")

    engine.module.save = save


def question(finding: Finding, seen: Observation, text: str) -> dict[str, Any]:
    """What a trial needs to know of a finding and of the first run, as plain data."""
    return {
        "text": text,
        "kind": finding.kind,
        "line": finding.line,
        "tensors": finding.tensors,
        "group": finding.group,
        "was_cut": finding.group == 1 and finding.cut is not None,
        "explains": finding.explains_error,
        "error": (seen.error or {}).get("type"),
        "passes": min(len(seen.passes) + 2 * (seen.error is not None) or 1, MOST_PASSES),
        "had": min(len(seen.passes), MOST_PASSES),
    }


def judged(
    asked: dict[str, Any],
    after: Observation,
    found: list[Finding],
    raised: BaseException | None,
    written: Callable[[Finding], list[Change]],
) -> Trial:
    """Whether the claim of a finding still holds in what was seen of the changed program; `written` gives the change for another one."""
    alike = [one for one in found if _concern_the_same(one.tensors, asked["tensors"])]
    same = [one for one in alike if one.kind == asked["kind"]]
    # Where the claim still holds for another reason, both have to change: two cuts of one path, two causes of one error.
    also = [one for one in alike if (one.group == asked["group"] and asked["was_cut"]) or one.explains_error]
    more = next((one for one in (*same, *also) if one.line != asked["line"]), None)
    other = [(one.line, one.old, one.new) for one in written(more)] if more is not None else []
    ended = isinstance(raised, (Outside, OSError))  # a TimeoutError is an OSError
    if ended and len(after.passes) < asked["had"]:
        why = "it took too long" if isinstance(raised, TimeoutError) else f"the program goes outside: {raised}"
        return Trial(None, why)
    fell = raised is not None and not ended and not isinstance(raised, Enough)
    if fell and (asked["explains"] or type(raised).__name__ != asked["error"]):
        told = str(raised).strip().partition("\n")[0]
        return Trial(False, f"the changed program raised {type(raised).__name__}: {told}", other)
    if asked["had"] and not any(each.done for each in after.passes):
        return Trial(False, "no backward pass came to its end")
    if same:
        return Trial(False, f"the same was still found, in line {same[0].line}", other)
    named = {leaf.name: leaf for leaf in after.leaves}
    lacking = [name for name in asked["tensors"] if name in named and asked["was_cut"]]
    lacking = [name for name in lacking if named[name].requires_grad and not named[name].gradients]
    if lacking:
        return Trial(False, f"{listed(lacking)} still got no gradient", other)
    named_so = [leaf for leaf in after.leaves if leaf.name in asked["tensors"]]
    unwanted = asked["kind"] == "requires-grad-off" and asked["explains"] and not any(map(_is_used, named_so))
    if asked["group"] == 3 and any(not _finite(one) for each in after.passes for one in each.got.values()):
        return Trial(False, "a gradient was still not finite")
    count = len([each for each in after.passes if each.done])
    left = sorted({one.kind for one in found}) if len(after.passes) >= asked["had"] else None
    return Trial(True, f"{count} backward pass{'es' if count != 1 else ''}", proves=not unwanted, left=left)


def _is_used(leaf: Leaf) -> bool:
    """Whether the program shows that it wants a gradient of a leaf: it gives it to an optimizer, reads its `.grad` or updates it."""
    return bool(leaf.held or leaf.asked or leaf.writes)


def _concern_the_same(some: list[str], others: list[str]) -> bool:
    return not some or not others or bool({*some} & {*others})


def _finite(number: float) -> bool:
    return number - number == 0
