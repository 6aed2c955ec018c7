"""Vanishing and exploding: where the size of gradients falls or grows, from one run of a line to the next."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from viz.diagnosis.families import CHOSEN, RESHAPES, SQUASHES, source
from viz.diagnosis.observation import Leaf, Observation, Ran, Through
from viz.diagnosis.rules.rule import Match, Place, Rule, placed, telling
from viz.diagnosis.rules.weights import sized, written
from viz.diagnosis.rules.zero import layer_line

VANISHES = 1e5  # by how much a gradient falls, from the last run of a line to its first, before it is called vanishing
EXPLODES = 1e4  # by how much it grows, likewise
BY_HAND = 1e3  # likewise, where somebody chose the weights' size by a number of his own
RECURRENT = ("rnn", "lstm", "gru")  # classes of layers, in lower case
EVEN = 0.01  # of the largest gradient of a layer: a layer with that much learns
STEADY = 0.8  # of a series: the share that goes one way
DEEP = 5  # runs of a line, at least, before a fall is a matter of depth


@dataclass
class Fall:
    """How the gradient changes along the runs of one line, from the loss backwards: at one op after another."""

    line: int | None  # that runs again and again: a layer after another, or a step of a recurrence
    early: float  # the gradient at its last run, which is the first that a gradient comes to
    late: float  # the gradient at its first run
    count: int  # of runs
    # what runs there, with the logarithm of the factor between the gradient that comes to it and the one that it passes on
    ops: list[tuple[Ran, float]]

    @property
    def whole(self) -> float:
        """The logarithm of the whole factor."""
        return math.log(self.late / self.early)


def _sizes(seen: Observation) -> Iterator[Match]:
    """A gradient that shrinks to a hundred-thousandth, or grows ten thousand times, from one end to the other."""
    kinds = {each.kind for each in seen.passes if each.done and each.roots}
    whole = [
        each for each in seen.passes
        if each.done and each.got and (each.kind == "backward" or kinds == {"grad"}) and all(map(math.isfinite, each.got.values()))
    ]  # fmt: skip
    if not whole:
        return
    # The first pass of its line: what later ones bring may be the work of steps that were too long.
    first = next(each for each in whole if each.line == whole[-1].line)
    fall = max(_falls(seen, first), key=lambda one: abs(one.whole), default=None)
    line = (_to_change(seen, fall) or fall.line) if fall is not None else None
    if (
        fall is not None
        and fall.whole < -math.log(VANISHES)
        and _uneven(seen, first, line)
        and not _settles(seen, fall)
    ):
        yield _told(seen, fall, line, SHRINKS)
    elif fall is not None and fall.whole > math.log(BY_HAND if line != fall.line else EXPLODES):
        yield _told(seen, fall, line, GROWS)
    yield from _inside(seen, first)


def _settles(seen: Observation, fall: Fall) -> bool:
    """Whether a line goes on from its own result and the same values each time, until it changes no more: later runs bring their gradient."""
    # neither another row of one sequence each time, nor a weight that is turned
    takes = (op for op, _ in fall.ops if op.name not in CHOSEN)
    sources = (source(seen, nr, RESHAPES)[0] for op in takes for nr in op.inputs)
    given = (one.nr for one in sources if one.requires_grad and one.leaf is None)
    return max(Counter(given).values(), default=0) >= fall.count - 1


def _told(seen: Observation, fall: Fall, line: int | None, given: dict[str, Any]) -> Match:
    names = seen.called(dict.fromkeys(leaf.nr for op, _ in fall.ops for leaf in _weights(seen, op)))
    by = f" What makes it so is {placed(seen, line)}." if line != fall.line else ""
    relu = "relu, " if any(op.name in SQUASHES for op, _ in fall.ops) else ""  # where another activation squashes
    return Match(
        line, [fall.line], names=names, worst=Place(fall.line), count=fall.count, early=fall.early, late=fall.late,
        verb="shrinks" if fall.whole < 0 else "grows", by=by, relu=relu, given=given,
    )  # fmt: skip


def _uneven(seen: Observation, each: Through, line: int | None) -> bool:
    """Whether a line gave weights their size by hand, or the layers get gradients of very different sizes."""
    by_hand: set[int | None] = {one for leaf in seen.leaves for one in written(leaf)}
    by_hand |= {seen.origin(leaf) for leaf in seen.leaves if leaf.holder is None or leaf.by_hand}
    layers: dict[int | None, float] = {}  # by module, the largest gradient
    for leaf in (seen.leaves[nr] for nr in each.got):
        key = leaf.holder if leaf.holder is not None else ~leaf.nr
        layers[key] = max(layers.get(key, 0.0), each.got[leaf.nr])
    known = [size for size in layers.values() if 0 < size < math.inf]
    return line in by_hand or len(known) < 3 or min(known) < EVEN * max(known)


def _falls(seen: Observation, each: Through) -> list[Fall]:
    """The lines whose results, one after the other, get ever smaller or larger gradients: deep stacks, and states of a recurrence."""
    arrived = {nr: peak for nr, peak in each.reached if 0 < peak < math.inf}
    runs: dict[tuple[int | None, str], list[float]] = defaultdict(list)
    lines: dict[int | None, list[tuple[Ran, float]]] = defaultdict(list)
    for nr, peak in arrived.items():
        op = seen.maker(seen.values[nr])
        if op is None or op.line is None:
            continue
        runs[op.line, op.name].append(peak)
        passed = [arrived[one] for one in op.inputs if one in arrived and seen.values[one].leaf is None]
        for line in {*op.stack} if passed else ():  # also what the line calls
            lines[line].append((op, math.log(max(passed) / peak)))
    steady = [(line, peaks) for (line, _), peaks in runs.items() if len(peaks) >= DEEP and _steady(peaks)]
    return [Fall(line, peaks[0], peaks[-1], len(peaks), lines[line]) for line, peaks in steady]


def _steady(peaks: list[float]) -> bool:
    """Whether a series falls or grows nearly all the way."""
    steps = [later - sooner for sooner, later in itertools.pairwise(peaks)]
    return max(sum(step < 0 for step in steps), sum(step > 0 for step in steps)) >= STEADY * len(steps)


def _weights(seen: Observation, op: Ran) -> list[Leaf]:
    """The matrices of weights that an op takes."""
    taken = (source(seen, nr, RESHAPES)[0] for nr in op.inputs)
    return [seen.leaves[value.leaf] for value in taken if value.leaf is not None and len(value.shape) > 1]


def _to_change(seen: Observation, fall: Fall) -> int | None:
    """Who gave the weights their size, or made what squashes; None where it is the line itself."""
    squashers = [(op, factor) for op, factor in fall.ops if op.name in SQUASHES]
    weighing = [(leaf, factor) for op, factor in fall.ops if op.name not in SQUASHES for leaf in _weights(seen, op)]
    squashed, weighed = sum(factor for _, factor in squashers), sum(factor for _, factor in weighing)
    given = Counter(line for leaf, _ in weighing if (line := sized(seen, leaf)) is not None)
    if given:
        return given.most_common(1)[0][0]
    if squashers and squashed < weighed and fall.whole < 0:
        return layer_line(seen, squashers[-1][0])
    if weighing and fall.whole > 0:
        again, times = Counter(leaf.nr for leaf, _ in weighing).most_common(1)[0]
        return _initialized(seen.leaves[again]) if times >= DEEP else None
    return None


def _initialized(leaf: Leaf) -> int | None:
    """The line of the initializer of a weight. One that is usually sound is not with a gain: a recurrence makes it a power."""
    return next((write.line for write in reversed(leaf.writes) if write.kind == "init" and write.line), None)


def _inside(seen: Observation, each: Through) -> Iterator[Match]:
    """A recurrence that is one op: its repetitions are not visible, only its results."""
    for nr in each.got:
        leaf = seen.leaves[nr]
        size = max(peak for _, peak in leaf.gradients if math.isfinite(peak))
        kind = seen.parts[leaf.holder].kind if leaf.holder is not None and len(leaf.shape) > 1 else ""
        line = sized(seen, leaf) or _initialized(leaf)
        if kind.lower().startswith(RECURRENT) and line is not None and size > VANISHES * max(1.0, leaf.size):
            user = seen.ops[leaf.used_by[-1]]
            yield Match(line, [user], names=seen.called([nr]), size=size, kind=kind, user=user, given=INSIDE)


WORDS = "{worst}, runs {count} times on the way from the loss, and the gradient {verb} from run to run: {early} at the last, {late} at the first.{by}"
SMALLER = "Make the weights smaller (nn.init.kaiming_uniform_; in a recurrence orthogonal, with a gain of 1), normalize between the layers, or clip " \
    "the gradients, with clip_grad_norm_() between backward() and step()."  # fmt: skip
SHRINKS = telling(WORDS, "Use {relu}weights of the size 1/sqrt(n) (nn.init.xavier_uniform_), residual connections, or "
    "normalization between the layers; in a recurrence an LSTM or GRU.", kind="vanishing")  # fmt: skip
GROWS = telling(WORDS, SMALLER, kind="exploding")
INSIDE = telling("{names} {get} a gradient of {size}, out of the {kind} that {user} calls, which multiplies by it in each step of the sequence. {at}, "
        "gave it its size.", SMALLER, kind="exploding")  # fmt: skip
RULES = [Rule("vanishing", _sizes, share=0.6)]
