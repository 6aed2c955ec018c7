"""Tries a proposed change before it is shown: the changed program runs again, and the finding's claim is checked again.

It runs in a fork of this process, from the same state and the same random numbers, under the same observer, for as many
backward passes as the first run needed, and ends when its time is up. What it would do outside does not happen: the
fork has none of our open files and connections, and the trial ends when it opens a file for writing, a connection or a
process. On Linux the kernel refuses these as well (Landlock), for code that is not Python's.
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tinygrad_edu.sandbox.fork import Fork, Outside, shut_in
from viz.diagnosis.finding import Finding, Trial, listed
from viz.diagnosis.observation import Observation
from viz.diagnosis.watching.watch import Enough
from viz.recording.printed import Printed

MOST_PASSES = 40
GRACE = 0.5  # seconds beyond its time after which a trial is ended from outside


@dataclass
class Question:
    """Whether a change cures: what a trial needs to know of a finding and of the first run."""

    finding: Finding  # whose change it is
    text: str  # the changed program
    error: str | None = None  # the class of what the first run raised
    passes: int = 0  # backward passes that it had
    learnt: frozenset[str] = frozenset()  # names of what got a gradient in them
    seconds: float = 0.0  # that the trial may take

    def __post_init__(self) -> None:
        self.had = min(self.passes, MOST_PASSES)  # passes that the trial has to come to
        self.most = min(self.passes + 2 * (self.error is not None) or 1, MOST_PASSES)  # after which it ends


def possible(engine: Any) -> str:
    """Why no trial can run here; empty if it can."""
    if not hasattr(os, "fork") or sys.platform == "emscripten":
        return "this system cannot run it again beside us"
    cuda = getattr(engine.module, "cuda", None)
    on_gpu = getattr(cuda, "is_initialized", lambda: False)()
    return "the program uses the GPU, which a second process cannot share" if on_gpu else ""


class Place:
    """Where changed programs run again: a fork of this process, in which `again` answers a question within its seconds.

    `early`: fork now, before the first run, for a program that changes what was there before it. Otherwise at each
    question, which costs nothing where there is none, and finds the imported libraries ready.
    """

    def __init__(self, engine: Any, again: Callable[[Question], Trial], early: bool) -> None:
        self._engine = engine
        self._again = again
        self._refused = possible(engine)
        self._waiting = Fork(self._serve) if early and not self._refused else None

    def ask(self, question: Question, seconds: float) -> Trial:
        """What came of a change."""
        if self._refused or seconds <= 0:
            return Trial(None, self._refused or "no time was left")
        question.seconds = seconds
        if self._waiting is None:
            return self._forked(question)
        self._waiting.pipe.send(question)
        return _received(self._waiting.received, seconds + 2 * GRACE)

    def __enter__(self) -> Place:
        return self

    def __exit__(self, *error: object) -> None:
        if self._waiting is not None:
            self._waiting.end()
            self._waiting = None

    def _serve(self, pipe: Any) -> None:
        """The early fork: it waits for questions, and forks another one for each."""
        self._engine.import_the_rest()  # beside the first run; a trial could no longer
        while True:
            pipe.send(self._forked(pipe.recv()))

    def _forked(self, question: Question) -> Trial:
        def answer() -> Trial:
            try:
                return self._again(question)
            except BaseException as error:
                return Trial(None, f"{type(error).__name__}: {error}")

        return _received(lambda seconds: beside(self._engine, answer, seconds), question.seconds + GRACE)


def beside(engine: Any, ask: Callable[[], Any], seconds: float) -> Any:
    """What `ask` returns in a fork, of which nothing comes out: neither what it changes, nor what it prints.

    Raises:
        TimeoutError: it takes longer.
        EOFError: it raises something.
    """

    def answer(pipe: Any) -> None:
        shut_in(pipe.fileno())
        _refuse_to_save(engine)
        with contextlib.redirect_stdout(Printed()), engine.on_one_thread():  # other threads are not in the fork
            pipe.send(ask())

    fork = Fork(answer)
    try:
        return fork.received(seconds)
    finally:
        fork.end()


def _received(receive: Callable[[float], Any], seconds: float) -> Trial:
    try:
        trial: Trial = receive(seconds)
        return trial
    except TimeoutError:
        return Trial(None, "it took too long")
    except EOFError:
        return Trial(None, "the process ended without an answer")


def _refuse_to_save(engine: Any) -> None:
    """PyTorch's `save` writes its file without Python."""

    def save(*args: Any, **kwargs: Any) -> None:
        raise Outside("save()")

    engine.module.save = save


def judged(asked: Question, after: Observation, findings: list[Finding], raised: BaseException | None) -> Trial:
    """Whether the claim of a finding still holds in what was seen of the changed program."""
    finding, tensors = asked.finding, {*asked.finding.tensors}
    was_cut = finding.group == 1 and finding.cut is not None
    alike = (other for other in findings if other.kind == finding.kind)
    same = [other for other in alike if not other.tensors or not tensors or tensors & {*other.tensors}]
    done = sum(each.done for each in after.passes)
    ended = isinstance(raised, (Outside, OSError))  # a TimeoutError is an OSError
    if ended and len(after.passes) < asked.had:
        late = isinstance(raised, TimeoutError)
        return Trial(None, "it took too long" if late else f"the program goes outside: {raised}")
    fell = raised is not None and not ended and not isinstance(raised, Enough)
    if fell and (finding.explains_error or type(raised).__name__ != asked.error):
        told = str(raised).strip().partition("\n")[0]
        return Trial(False, f"the changed program raised {type(raised).__name__}: {told}")
    if asked.had and not done:
        return Trial(False, "no backward pass came to its end")
    if same:
        return Trial(False, f"the same was still found, in line {same[0].line}")
    leaves = [leaf for leaf in after.leaves if leaf.name in tensors]
    last = {leaf.name: leaf for leaf in leaves}  # a name may have stood for several
    if lacking := [name for name, leaf in last.items() if was_cut and leaf.requires_grad and not leaf.gradients]:
        return Trial(False, f"{listed(lacking)} still got no gradient")
    # A leaf that has another name now, as after a list became a ModuleList, is not lost.
    named = {leaf.name for leaf in after.leaves if leaf.name in asked.learnt}
    if lost := sorted(named - {leaf.name for leaf in after.leaves if leaf.gradients}):
        return Trial(False, f"{listed(lost)} no longer got a gradient")
    if finding.group == 3 and not all(math.isfinite(number) for each in after.passes for number in each.got.values()):
        return Trial(False, "a gradient was still not finite")
    # Where nothing makes use of a gradient that is there now, nobody may want it: no optimizer, no `.grad`, no update.
    used = any(leaf.held or leaf.asked or leaf.writes for leaf in leaves)
    unwanted = finding.kind == "requires-grad-off" and finding.explains_error and not used
    return Trial(True, f"{done} backward pass{'es' if done != 1 else ''}", proves=not unwanted)
