"""Which layers are in trouble, in words: what a row of a map says to somebody who has seen many."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from viz.monitor.history import MEASURES, Column, Number, table
from viz.picture.chart import short

if TYPE_CHECKING:
    from viz.monitor.watch import Watch

LATE = 5  # columns at the end that count: what was at the start may be over
# A gradient that moves nothing; the first layer's share of the last one's, below which it vanishes.
TINY, APART = 1e-9, 1e-3
SLOW, FAST = 1e-6, 0.1  # updates relative to the weights outside of which little is learned
MANY = 0.5  # share of units that are dead, or of outputs that are saturated
NAMED = 4  # layers that are named one by one


@dataclass(frozen=True)
class Trouble:
    """One kind of trouble, the layers that have it, and a sentence about it."""

    kind: str
    layers: tuple[str, ...]
    sentence: str


class Health:
    """The result of `Watch.report`: `troubles`, the worst first. It prints as text; `diagnose(step)` finds the line."""

    def __init__(self, watch: Watch, troubles: list[Trouble]) -> None:
        self.troubles = troubles
        self._watch = watch

    def diagnose(self, step: Any, **options: Any) -> Any:
        """As `Watch.diagnose`: run this training step under `viz.diagnose`, with the model and its optimizer."""
        return self._watch.diagnose(step, **options)

    @property
    def sentences(self) -> list[str]:
        """What there is to say, one sentence or two for each kind of trouble."""
        watch = self._watch
        told = [trouble.sentence for trouble in self.troubles]
        if not watch.columns:
            told.append(_why_nothing(watch))
        elif not told:
            told.append(f"No layer is in trouble in the last {_late(watch)} watched steps.")
        return [*([f"The training ended with {watch.ended}."] if watch.ended else []), *told, *watch.notes]

    def __repr__(self) -> str:
        hint = ["Which line causes it: .diagnose(step), where step is a function that makes one training step."]
        return "\n".join([self._watch.sentence(), *self.sentences, *(hint if self.troubles else [])])


def _why_nothing(watch: Watch) -> str:
    if watch.steps:
        return f"{watch.steps} steps were made, and none was measured."
    names = ", ".join(watch.models)
    return (
        f"No step moved a parameter of {names}: either the loop made none, or it trains another model than this one "
        "(a copy on another device, for example)."
    )


def _late(watch: Watch) -> int:
    return min(LATE, len(watch.columns))


def health(watch: Watch) -> Health:
    """Look at the last columns, and at each for numbers that are not finite."""
    return Health(watch, list(_troubles(watch)) if watch.columns else [])


def _troubles(watch: Watch) -> Iterator[Trouble]:
    late = watch.columns[-LATE:]
    layers = watch._layers.all
    names = watch.layers
    tables = {measure: table(late, measure, len(names)) for measure in MEASURES}
    least = {measure: np.fmin.reduce(numbers, axis=1) for measure, numbers in tables.items()}
    most = {measure: np.fmax.reduce(numbers, axis=1) for measure, numbers in tables.items()}
    yield from _astray(watch.columns, names)

    def low(row: int, measure: str) -> Number:
        """The largest number of the last columns: if that is too small, all are."""
        return _known(most[measure][row])

    def high(row: int, measure: str) -> Number:
        """The smallest of them: if that is too large, all are."""
        return _known(least[measure][row])

    trained = [row for row, layer in enumerate(layers) if not layer.frozen]
    without = [row for row in trained if low(row, "gradient") is None and _moves(watch, row)]
    if without:
        words = "no gradient at all. The loss does not depend on it, or a detach() cuts it off."
        yield _about("no-gradient", without, names, words)
    nothing = [row for row in trained if low(row, "gradient") == 0]
    if nothing:
        yield _about("zero-gradient", nothing, names, "the gradient is 0 everywhere, so nothing is learned here.")
    yield from _along(trained, low, names)
    for kind, measure, test, words in _KINDS:
        ends = {row: (high(row, measure), low(row, measure)) for row in trained}
        troubles = [
            row for row, (least, most) in ends.items() if least is not None and most is not None and test(least, most)
        ]
        if troubles:
            largest = max(ends[row][1] or 0.0 for row in troubles)
            yield _about(kind, troubles, names, words.format(f"{largest:.0%}" if measure == "dead" else short(largest)))


# The kind, the measure, a test of the smallest and the largest of its last numbers, and the words.
_KINDS: list[tuple[str, str, Callable[[float, float], bool], str]] = [
    ("fast-updates", "update", lambda low, _: FAST < low < math.inf,
     "each step moves the weights by up to {} of their size. The rate is too large here."),
    ("slow-updates", "update", lambda _, high: high < SLOW,
     "a step moves the weights by {} of their size or less. The rate is too small here, or the gradient is."),
    ("dead-units", "dead", lambda low, _: low > MANY,
     "up to {} of the units are 0 for every sample, or at the end of their range. No gradient goes through those."),
]  # fmt: skip


def _known(number: float) -> Number:
    return None if math.isnan(number) else float(number)


def _moves(watch: Watch, row: int) -> bool:
    """Whether the layer belongs to an optimizer that made one of the last steps."""
    return any(
        row < len(column.values["update"]) and column.values["update"][row] is not None
        for column in watch.columns[-LATE:]
    )


def _along(trained: list[int], size: Callable[[int, str], Number], names: list[str]) -> Iterator[Trouble]:
    """How the gradient changes from the last layer to the first."""
    known = [(row, norm) for row in trained if (norm := size(row, "gradient")) is not None and 0 < norm < math.inf]
    if len(known) < 3:
        return
    (first, small), (last, large) = known[0], known[-1]
    if small < APART * large:
        yield Trouble(
            "vanishing-gradient",
            (names[first],),
            f"The gradient vanishes on its way back: {short(large)} in {names[last]}, "
            f"{short(small)} in {names[first]}, {large / small:,.0f} times smaller.",
        )
    elif large < APART * small:
        yield Trouble(
            "exploding-gradient",
            (names[first],),
            f"The gradient explodes on its way back: {short(large)} in {names[last]}, "
            f"{short(small)} in {names[first]}, {small / large:,.0f} times larger.",
        )
    elif max(norm for _, norm in known) < TINY:
        yield Trouble(
            "tiny-gradient",
            (),
            f"The largest gradient of all layers is {short(large)}: nothing is left to learn, or nothing can be.",
        )


def _astray(columns: Sequence[Column], names: list[str]) -> Iterator[Trouble]:
    inside = np.isinf(table(columns, "gradient", len(names))) | np.isinf(table(columns, "activation", len(names)))
    outside = [not all(map(math.isfinite, column.losses.values())) for column in columns]
    first = next((at for at, column in enumerate(columns) if outside[at] or inside[:, at].any()), None)
    if first is None:
        return
    rows = [int(row) for row in np.nonzero(inside[:, first])[0]]
    where = f"in {_listed(rows, names)}" if rows else "in the loss"
    yield Trouble(
        "not-finite",
        tuple(names[row] for row in rows),
        f"Numbers are no longer finite from the watched step {columns[first].step:,} on, {where}.",
    )


def _about(kind: str, rows: list[int], names: list[str], words: str) -> Trouble:
    return Trouble(kind, tuple(names[row] for row in rows), f"{_listed(rows, names)}: {words}")


def _listed(rows: list[int], names: list[str]) -> str:
    """The names of layers, or of the first and last of many."""
    if len(rows) <= NAMED:
        return ", ".join(names[row] for row in rows)
    return f"{len(rows)} layers, {names[rows[0]]} to {names[rows[-1]]}"
