"""An exercise as data: the task, right answers, wrong answers with their hints, and what is checked.

    add_backward = Exercise("add_backward", "add_backward(grad_output, a, b)", lesson=1)

    @add_backward.right
    def reference(grad_output, a, b): ...

    @add_backward.wrong("You ignored the incoming gradient.")
    def ignores_grad_output(grad_output, a, b): ...

    @add_backward.criterion("Both gradients are right", points=2, cases=[(1.0, 2.0, 3.0)])
    def probe(answer, grad_output, a, b):
        return answer(grad_output, a, b)

A probe is sent to the sandbox as source text, so it may use only its parameters and the names of `running.helpers`.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import inspect
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from .plain import Data, encode

RANDOM_CASES = 4
PROGRAM = "tinygrad_edu.exercises.running.cells"  # what a sandbox runs answers with


def _zeros(array: np.ndarray) -> np.ndarray:
    return array * 0.0


def _strided(array: np.ndarray) -> np.ndarray:
    return np.repeat(array, 2, axis=-1)[..., ::2] if array.ndim else array


SPECIAL: tuple[Callable[[np.ndarray], np.ndarray], ...] = (
    _zeros,
    np.ones_like,
    lambda array: np.full_like(array, 2.0),
    lambda array: -array,
    _strided,
)
"""What the numbers of a case are replaced by: a rule must hold for these, too, and many a wrong one does not."""


def _with(change: Callable[[np.ndarray], np.ndarray], value: Any) -> Any:
    """`value`, a number, an array, or lists and dicts of numbers, with its numbers changed."""
    if isinstance(value, dict):
        return {name: _with(change, item) for name, item in value.items()}
    if isinstance(value, np.ndarray):
        return change(value)
    if isinstance(value, list | tuple):
        return type(value)(_with(change, item) for item in value)
    return change(np.array(value)).item() + 0.0  # + 0.0: no -0.0, which reads badly


Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Misconception:
    """A wrong answer that students really give, and the hint that corrects it."""

    name: str
    answer: Any
    hint: str


@dataclass(frozen=True, eq=False)
class Criterion:
    """A property of a right answer. It earns its points if every case shows it.

    If many observations are right (every topological order), `measure(observed, *case)` returns the part to compare. It
    runs in the judge's process, never with the student's code. `anything` names parameters whose numbers may be any:
    the first case is also tried with zeros, ones, equal and negative numbers in them, and with arrays that are not
    contiguous.
    """

    statement: str
    points: int
    probe: Callable
    cases: Sequence[tuple]
    random: Callable[[np.random.Generator], tuple] | None = None
    measure: Callable | None = None
    anything: Sequence[str] = ()

    @functools.lru_cache(maxsize=256)  # noqa: B019 the criteria live as long as the program
    def inputs(self, seed: int) -> list[Data]:
        """The chosen cases, their first one with special numbers, then random ones: the same for the same seed."""
        rng = np.random.default_rng(seed)
        drawn = [self.random(rng) for _ in range(RANDOM_CASES)] if self.random else []
        special = self._special(self.cases[0]) if self.anything else []
        inputs = [encode(tuple(case)) for case in [*self.cases, *special, *drawn]]
        return [case for place, case in enumerate(inputs) if case not in inputs[:place]]

    def _special(self, case: tuple) -> list[tuple]:
        """`case` with special numbers for all that may be anything, and with 0 for one of them at a time."""
        places = [self.parameters.index(name) for name in self.anything]
        ways = [(change, places) for change in SPECIAL] + [(_zeros, [place]) for place in places if len(places) > 1]
        return [
            tuple(_with(change, value) if place in at else value for place, value in enumerate(case))
            for change, at in ways
        ]

    @functools.cached_property
    def parameters(self) -> list[str]:
        """Names of the inputs, as the report writes them."""
        return [name for name in inspect.signature(self.probe).parameters if name not in ("answer", "T")]


@dataclass(eq=False)
class Exercise:
    """One question of a lesson, with everything that is needed to grade it.

    `id` is also the name that the answer must have in its cell, unless `name` says otherwise. `engines` are the modules
    that a probe's parameter `T` is set to, with one run each.
    """

    id: str
    signature: str
    lesson: int
    engines: tuple[str, ...] = ("tinygrad_edu",)
    name: str = ""
    seconds: float = 2.0  # seconds of processor time
    rtol: float = 1e-4  # float32 is the engines' default
    rights: list[Any] = field(default_factory=list)
    wrongs: list[Misconception] = field(default_factory=list)
    criteria: list[Criterion] = field(default_factory=list)
    drawing: Callable | None = None

    may_change: tuple[str, ...] = ()  # of the arguments: "w" or "w.grad"; nothing else may an answer change
    choice: str = ""  # of the exercises with the same choice one is asked: the best of them counts

    def __post_init__(self) -> None:
        self.name = self.name or self.id

    @property
    def points(self) -> int:
        """The points that a right answer earns."""
        return sum(criterion.points for criterion in self.criteria)

    @functools.cached_property
    def parameters(self) -> dict[str, list[str]]:
        """The names of the parameters, in order: those of the function under "", those of a class by method."""
        reference = self.rights[0]
        if inspect.isclass(reference):
            found = {name: getattr(owner, name) for owner in reference.__mro__[::-1] for name in vars(owner)}
            ours = {name: f for name, f in found.items() if inspect.isfunction(f) and ".answers." in f.__module__}
            return {name: [*inspect.signature(f).parameters] for name, f in ours.items()}
        return {"": [*inspect.signature(reference).parameters]} if callable(reference) else {}

    @property
    def available(self) -> tuple[str, ...]:
        """Those of its engines that are installed: without PyTorch, an exercise is graded on the core only."""
        return tuple(engine for engine in self.engines if importlib.util.find_spec(engine))

    def right(self, answer: Answer) -> Answer:
        """Add a right answer. The first one is the reference for all others."""
        self.rights.append(answer)
        return answer

    def wrong(self, hint: str, name: str = "") -> Callable[[Answer], Answer]:
        """Add a misconception: decorate a wrong function or class, or call it with a wrong value and a `name`."""

        def add(answer: Answer) -> Answer:
            self.wrongs.append(Misconception(name or getattr(answer, "__name__", ""), answer, hint))
            return answer

        return add

    def criterion(
        self, statement: str, points: int = 1, cases: Sequence[tuple] = (), **more: Any
    ) -> Callable[[Callable], Callable]:
        """Add a property by decorating its probe, `probe(answer, *case)`, for each case, and special and random ones.

        `more` are the fields `random`, `measure` and `anything` of a `Criterion`.
        """

        def add(probe: Callable) -> Callable:
            self.criteria.append(Criterion(statement, points, probe, cases, **more))
            return probe

        return add

    def picture(self, draw: Callable) -> Callable:
        """Decorate `draw(T, *case)`, which returns tensors by name. The report draws the graph behind the last one."""
        self.drawing = draw
        return draw


@functools.cache
def source_of(probe: Callable) -> str:
    """The source of a probe without its decorators. It runs where its lesson must not be loaded."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(probe)))
    function = tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    function.decorator_list = []
    function.name = "probe"
    return ast.unparse(function)


def unit_of(
    exercise: Exercise,
    source: str,
    others: Sequence[str] = (),
    seed: int = 0,
    changes: Sequence[str] = (),
    later: Sequence[str] = (),
) -> Data:
    """What the sandbox runs to probe the answer in a cell.

    It contains no expected values. `others` are the notebook's other code cells above the check, for functions and
    imports that the answer uses; `later` are those below. `changes` are cells that change the answer after its
    definition.
    """
    return {
        "source": source,
        "changes": list(changes),
        "others": list(others),
        "later": list(later),
        "name": exercise.name,
        "probes": [source_of(criterion.probe) for criterion in exercise.criteria],
        "cases": [criterion.inputs(seed) for criterion in exercise.criteria],
        "engines": list(exercise.available),
        "seconds": exercise.seconds,
        "parameters": exercise.parameters,
    }
