"""`diagnose`: runs a program under observation, restores everything, and says why it does not learn as intended."""

from __future__ import annotations

import ast
import contextlib
import inspect
import math
import re
import sys
import time
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tinygrad_edu.sandbox.fork import Outside
from tinygrad_edu.sandbox.time_limit import Budget, TimeUp, time_limit
from viz import engines
from viz.diagnosis.change import applied
from viz.diagnosis.finding import Finding, Trial
from viz.diagnosis.kinds import TELLS
from viz.diagnosis.observation import Observation
from viz.diagnosis.places import Places
from viz.diagnosis.ranking import rank
from viz.diagnosis.report import Report
from viz.diagnosis.rewriting import written
from viz.diagnosis.rules import RULES
from viz.diagnosis.trial import Place, Question, judged
from viz.diagnosis.watching.observer import Observer
from viz.diagnosis.watching.watch import Enough
from viz.engines import Engine
from viz.interrupts import held, interruptible, put_back_first
from viz.recording import own
from viz.recording.printed import Printed
from viz.recording.project import Project
from viz.recording.reader import described
from viz.recording.record import namespace_for
from viz.recording.source import Source, codes_in
from viz.recording.state import as_before, found_in

LIMIT = 60.0  # seconds that a diagnosis may take
RUNNING = 0.75  # the part of it for the program; the rest is for judging what was seen and for trials of changes
JUDGING = 2.0  # seconds of processor time to judge what was seen, and a tenth of the program's own time on top
A_SHARE = 0.4  # the part of what is left that one rule may take, so that a slow rule does not silence the others
TRYING = 2.5  # likewise for trials, and the program's own time on top
SLOWEST = 20.0  # at most so many seconds by the clock for one of processor time: other processes run too
A_MOMENT = 0.001
BY_NUMBERS = {"wrong-backward"}  # numerical derivatives are the evidence: no trial is needed


def diagnose(
    program_or_step: Any,
    model: Any = None,
    optimizer: Any = None,
    steps: int = 3,
    *,
    engine: str | None = None,
    inputs: dict[str, Any] | None = None,
    limit: float = LIMIT,
) -> Report:
    """Say why a gradient is None, zero or nan, or why a model does not learn: each cause, its line and what was seen.

    Nothing changes: weights, gradients, optimizers, modes, hooks and random numbers are restored afterwards.

    Args:
        program_or_step: source text; a function that takes the engine's module first; or a step without arguments.
        model: the module that is trained, if the program's names do not show it.
        optimizer: its optimizer, likewise.
        steps: how often a training step runs; a program runs once.
        engine: `"torch"` or `"tinygrad_edu"` for source text; None: taken from its imports, the model or the optimizer.
        inputs: further names for source text.
        limit: seconds for all of it. A program is stopped after three quarters of them; the report covers what was seen
            by then. The rest is for judging that and trying each change: see `viz.diagnosis.trial`.

    A program that raises is diagnosed up to it; `report.error` has the error. docs/diagnosis.md explains each `kind`.

    Raises:
        TypeError: the argument is not a program.
        ValueError: less than 1 step, a limit that is not positive, an empty program, or a file's name for its text.

    >>> import viz
    >>> report = viz.diagnose("w = T.tensor(2.0, requires_grad=True)\\nloss = (w.detach() - 1) ** 2\\nloss.backward()")
    >>> report.findings[0].kind, report.findings[0].line
    ('detach', 2)
    """
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
        raise ValueError(f"steps is how often a training step runs: a whole number from 1, not {steps!r}")
    if not limit > 0:
        raise ValueError(f"limit is a number of seconds above 0, not {limit!r}")
    own.check(program_or_step, "viz.diagnose")
    if isinstance(program_or_step, str) and not program_or_step.strip():
        raise ValueError("the program is empty: give its source text, a function or a training step")
    if callable(program_or_step):
        own.wanted(program_or_step, inputs or {}, "viz.diagnose")
    chosen = engine_of(program_or_step, model, optimizer, engine, inputs or {})
    kinds = {"model": (model, chosen.is_module(model)), "optimizer": (optimizer, hasattr(optimizer, "param_groups"))}
    for name, (thing, fits) in kinds.items():
        if thing is not None and not fits:
            raise TypeError(f"{name} must be one of {chosen.name}, on which the program runs, not {type(thing)}")
    return Run(chosen, Source(program_or_step), steps, inputs or {}, model, optimizer, limit).report()


def engine_of(
    program: Any, model: Any = None, optimizer: Any = None, wanted: str | None = None, inputs: Mapping[str, Any] = {}
) -> Engine:
    """The engine that a program runs on: the one wanted, that of the model, or the one that the program uses."""
    if wanted is not None:
        return engines.load(wanted)
    for thing in (model, *(p for group in getattr(optimizer, "param_groups", ()) for p in group["params"][:1])):
        engine = engines.of(thing)
        if engine is not None:
            return engine
    return own.engine_of(program, inputs)


class _Clock:
    """The rest of the time that a program may take, by the clock."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """The seconds that are left; never 0 while work of ours runs, which has to finish."""
        return max(self._end - time.monotonic(), A_MOMENT if held() else -math.inf)

    wait = property(lambda self: max(self.left, A_MOMENT), doc="Seconds until it is worth looking again.")


@dataclass
class Run:
    """One run of a program under observation, after which everything is restored."""

    engine: Engine
    source: Source
    steps: int = 3  # how often a step without arguments is called
    inputs: dict[str, Any] = field(default_factory=dict)  # further names for source text
    model: Any = None  # the module that is trained, and its optimizer, if they were named
    optimizer: Any = None
    limit: float = LIMIT  # seconds
    namespace: dict[str, Any] | None = None  # where source text runs and leaves its names; a new one if None
    execute: Callable[[dict[str, Any]], None] | None = None  # runs source text there, where that is more than `exec`
    output: Printed = field(default_factory=Printed)  # keeps what the program prints
    as_main: bool = False  # it runs as the module `__main__`, as from a shell, and Ctrl-C ends it alone
    raised: BaseException | None = None  # by the program
    timed_out: bool = False
    _things: list[Any] = field(default_factory=list)  # that are put back
    _place: Place | None = None  # for trials
    _end: float = math.inf  # by the clock
    _alone: float = 1.0  # seconds of processor time that the program took
    _pace: float = 1.0  # how many times as long they lasted by the clock

    def __post_init__(self) -> None:
        self.places = Places(self.source)

    def report(self, tries: bool = True) -> Report:
        """Run the program, restore everything, and report; without trials no change is proposed."""
        keep = [thing for thing in (self.model, self.optimizer) if thing is not None]
        if self.source.function is not None:
            keep += found_in(self.engine, self.source.function)
        keep += [thing for thing in self.inputs.values() if engines.of(thing) is self.engine]
        # Modules first: what is put back last is what counts, and an optimizer's tensors are the module's.
        self._things = list({id(thing): thing for thing in keep}.values())
        with self.trials() if tries else contextlib.nullcontext():
            main = sys.modules["__main__"]
            with put_back_first(), as_before(self.engine, self._things), contextlib.redirect_stdout(self.output):
                seen = self.observe(self._things)
            sys.modules["__main__"] = main
            return self.conclude(seen)

    def trials(self) -> Place:
        """Where `conclude` tries changes, from the state that the program begins with; to be left afterwards."""
        early = self.source.function is not None or self.namespace is not None
        self._place = Place(self.engine, self._again, early)
        return self._place

    def observe(self, things: list[Any] | None = None, most: int | None = None) -> Observation:
        """Run the program under observation, for at most `most` backward passes; what it raises is in `raised`."""
        observer = Observer(self.engine, self.places, most)
        namespace = self._space()
        began, running = time.monotonic(), RUNNING * self.limit
        self._end = began + self.limit
        with put_back_first(), observer.watching():
            for thing in things or ():
                observer.introduce(thing, "model" if thing is self.model else "")
            try:
                with time_limit(_Clock(running)):
                    self._start(observer, namespace)
            except TimeUp:
                self.timed_out = True
                self.raised = TimeoutError(
                    f"the program had not ended after {running:.3g} seconds, so it was stopped: of {self.limit:g} "
                    "seconds the rest is for judging what was seen until then. Let it run fewer steps, or give it more "
                    "time: limit=…"
                )
            except (Exception, SystemExit, KeyboardInterrupt, Enough, Outside) as error:
                if isinstance(error, KeyboardInterrupt):
                    if not self.as_main:
                        raise
                    self._place = None  # whoever stops it does not wait for trials
                self.raised = error
                for frame, _ in self.source.frames(error):  # their variables are gone otherwise
                    observer.learn(frame.f_locals)
            observer.learn(namespace)
        self._alone, ours = observer.taken()
        self._pace = min(max(1.0, (time.monotonic() - began) / max(self._alone + ours, A_MOMENT)), SLOWEST)
        if isinstance(self.raised, SystemExit) and not self.raised.code:
            self.raised = None  # it ended itself, as a script may
        observer.seen.error = described(self.raised, self.source) if self.raised is not None else None
        return observer.seen

    def _space(self) -> dict[str, Any]:
        """The names that source text runs with."""
        if self.source.function is not None or self.namespace is not None:
            return {} if self.namespace is None else self.namespace
        things = {
            name: thing for name, thing in (("model", self.model), ("optimizer", self.optimizer)) if thing is not None
        }
        space = namespace_for(self.engine, things | self.inputs)
        if self.as_main:
            sys.modules["__main__"] = types.ModuleType("__main__")
            vars(sys.modules["__main__"]).update(space)
            space = vars(sys.modules["__main__"])
        return space

    def _start(self, observer: Observer, namespace: dict[str, Any]) -> None:
        function = self.source.function
        if function is None and self.execute is not None:
            self.execute(namespace)
        elif function is None:
            code = compile(self.source.main, self.source.filename, "exec", dont_inherit=True)
            interruptible(lambda: exec(code, namespace))
        else:
            takes = own.wanted(function, self.inputs, "viz.diagnose")
            call = own.starter(function, self.engine, self.inputs, "viz.diagnose")
            for _ in range(1 if takes else self.steps):
                interruptible(call)
            observer.learn(own.outer_names(function, self.inputs))

    def conclude(self, seen: Observation) -> Report:
        """What the rules conclude from an observation, the most likely cause first. Each change is tried."""
        findings = rank(list(self._all(seen)))
        for finding in findings:
            finding.changes = written(seen, finding)
            finding.fix = re.sub(r"(?<![\w.])T\.(?=\w)", f"{self.places.engine_name}.", finding.fix)
        if self._place is not None:
            self._tried(seen, self._place, findings)
        return Report(seen, findings, self.output.getvalue())

    def _all(self, seen: Observation) -> Iterator[Finding]:
        time_left = Budget(JUDGING + self._alone / 10, until=self._end)
        for rule in RULES:
            findings: list[Finding] = []
            name = f"{rule.pattern.__module__.rpartition('.')[2]}.{rule.pattern.__name__}"
            try:
                with time_limit(Budget(A_SHARE * time_left.left, until=self._end)):
                    findings.extend(rule.findings(seen))
            except TimeUp:
                seen.troubles.append(f"{name}: no time was left")
            except Exception as error:  # one that fails does not silence the others
                seen.troubles.append(f"{name}: {type(error).__name__}: {error}")
            yield from findings

    def _tried(self, seen: Observation, place: Place, findings: list[Finding]) -> None:
        """Try each change. One that does not cure is not shown; a finding is certain only if a trial confirms it."""
        end = min(self._end, time.monotonic() + self._pace * (self._alone + TRYING))
        learnt = frozenset(leaf.name for leaf in seen.leaves if leaf.name and leaf.gradients)
        for finding in findings:
            tells = TELLS.get(finding.kind, "")
            if finding.changes:
                text, error = applied(self.places.text, finding.changes), (seen.error or {}).get("type")
                finding.trial = place.ask(
                    Question(finding, text, error, len(seen.passes), learnt), end - time.monotonic()
                )
            trial = finding.trial or Trial(None, "")
            confirmed = trial.cured and trial.proves and (finding.explains_error or not tells)
            finding.certain = finding.certain and (confirmed or finding.kind in BY_NUMBERS)
            finding.changes = finding.changes if trial.cured else []
            if not finding.certain and tells:
                finding.fix += f" {tells}"
        for other in [finding for finding in findings if finding.explains_error and finding.certain][1:]:
            other.certain = False  # an error has one cause: this change only ends it as well

    def _again(self, asked: Question) -> Trial:
        """Run a changed program, in a fork, and judge it."""
        source, limit = self._rewritten(asked.text), asked.seconds / RUNNING
        run = replace(self, source=source, limit=limit, execute=None, output=Printed(), raised=None, timed_out=False)
        after = run.observe(self._things, most=asked.most)
        return judged(asked, after, list(run._all(after)), run.raised)

    def _rewritten(self, text: str) -> Source:
        """The program with another text; a function keeps what is around it."""
        function = self.source.function
        if isinstance(self.source, Project):
            project = self.source.changed(text)
            project.take_effect()
            return project
        if function is None:
            return Source(text)
        target: Any = inspect.unwrap(function)
        own, free = Source(text), target.__code__.co_freevars
        outer: Any = ast.parse(f"def around({', '.join(free)}): pass")
        outer.body[0].body = ast.parse(own.text).body
        whole = compile(outer, own.filename, "exec", dont_inherit=True)
        code = next(code for code in codes_in(whole) if code.co_name == target.__code__.co_name)
        cells = dict(zip(free, target.__closure__ or (), strict=True))
        closure = tuple(cells[name] for name in code.co_freevars)
        rewritten = types.FunctionType(code, target.__globals__, target.__name__, target.__defaults__, closure)
        rewritten.__kwdefaults__ = target.__kwdefaults__
        return Source(rewritten if not inspect.ismethod(target) else types.MethodType(rewritten, target.__self__))
