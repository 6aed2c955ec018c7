"""Vanishing and exploding: where the size of gradients falls or grows, from one run of a line to the next."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from viz.diagnosis.families import CHOSEN, RESHAPES, SQUASHES, source
from viz.diagnosis.observation import Leaf, Observation, Ran, Through
from viz.diagnosis.rules.rule import Match, Place, Rule, placed, sentences, telling
from viz.diagnosis.rules.weights import sized
from viz.diagnosis.rules.zero import layer_line

VANISHES = 1e5  # by how much a gradient falls, from the last run of a line to its first, before it is called vanishing
EXPLODES = 1e4  # by how much it grows, likewise
BY_HAND = 1e3  # likewise, where somebody chose the weights' size by a number of his own
DEEP = 5  # runs of a line, at least, before a fall is a matter of depth


@dataclass
class Fall:
    """How the gradient changes along the runs of one line, from the loss backwards: at one op after another."""

    line: int | None  # that runs again and again: a layer after another, or a step of a recurrence
    early: float  # the gradient at its last run, which is the first that a gradient comes to
    late: float  # the gradient at its first run
    count: int  # of runs
    # each run, with the logarithm of the factor from the gradient that it gets to the one that it passes on
    ops: list[tuple[Ran, float]]

    @property
    def whole(self) -> float:
        """The logarithm of the whole factor."""
        return math.log(self.late / self.early)


def _sizes(seen: Observation) -> Iterator[Match]:
    """A gradient that shrinks to a hundred-thousandth, or grows ten thousand times, from one end to the other."""
    kinds = {each.kind for each in seen.passes if each.done and each.roots}
    passes = [each for each in seen.passes if each.done and each.got and (each.kind == "backward" or kinds == {"grad"})]
    whole = [each for each in passes if all(map(math.isfinite, each.got.values()))]
    if not whole:
        return
    # The first pass of its line: what later ones bring may be the work of steps that were too long.
    first = next(each for each in whole if each.line == whole[-1].line)
    fall = max(_falls(seen, first), key=lambda fall: abs(fall.whole), default=None)
    line = (_to_change(seen, fall) or fall.line) if fall is not None else None
    if fall is not None and fall.whole < -math.log(VANISHES) and not _settles(seen, fall):
        yield _told(seen, fall, line, "vanishing")
    elif fall is not None and fall.whole > math.log(BY_HAND if line != fall.line else EXPLODES):
        yield _told(seen, fall, line, "exploding")


def _settles(seen: Observation, fall: Fall) -> bool:
    """Whether a line iterates to a fixed point: each run gets its last result and the same values again."""
    # neither another row of one sequence each time, nor a weight that is turned
    takes = (op for op, _ in fall.ops if op.name not in CHOSEN)
    sources = (source(seen, nr, RESHAPES)[0] for op in takes for nr in op.inputs)
    inputs = (source.nr for source in sources if source.requires_grad and source.leaf is None)
    return max(Counter(inputs).values(), default=0) >= fall.count - 1


def _told(seen: Observation, fall: Fall, line: int | None, kind: str) -> Match:
    names = seen.called(dict.fromkeys(leaf.nr for op, _ in fall.ops for leaf in _weights(seen, op)))
    by = f" What makes it so is {placed(seen, line)}." if line != fall.line else ""
    relu = "relu, " if any(op.name in SQUASHES for op, _ in fall.ops) else ""  # where another activation squashes
    told: dict[str, Any] = {"worst": Place(fall.line), "count": fall.count, "early": fall.early, "late": fall.late}
    return Match(line, [fall.line], names=names, by=by, relu=relu, given=telling(*SAID[kind], kind=kind), **told)


def _falls(seen: Observation, each: Through) -> list[Fall]:
    """Lines whose results get ever smaller or larger gradients, run by run: deep stacks and states of a recurrence."""
    arrived = {nr: peak for nr, peak in each.reached if 0 < peak < math.inf}
    runs: dict[tuple[int | None, str], list[float]] = defaultdict(list)
    lines: dict[int | None, list[tuple[Ran, float]]] = defaultdict(list)
    for nr, peak in arrived.items():
        op = seen.maker(seen.values[nr])
        if op is None or op.line is None:
            continue
        runs[op.line, op.name].append(peak)
        passed = [arrived[source] for source in op.inputs if source in arrived and seen.values[source].leaf is None]
        for line in {*op.stack} if passed else ():  # also what the line calls
            lines[line].append((op, math.log(max(passed) / peak)))
    steady = [(line, peaks) for (line, _), peaks in runs.items() if len(peaks) >= DEEP]
    return [Fall(line, peaks[0], peaks[-1], len(peaks), lines[line]) for line, peaks in steady]


def _weights(seen: Observation, op: Ran) -> list[Leaf]:
    taken = (source(seen, nr, RESHAPES)[0] for nr in op.inputs)
    return [seen.leaves[value.leaf] for value in taken if value.leaf is not None and len(value.shape) > 1]


def _to_change(seen: Observation, fall: Fall) -> int | None:
    """The line that set the size of the weights or made the activation; None if it is the line itself."""
    squashers = [(op, factor) for op, factor in fall.ops if op.name in SQUASHES]
    weighing = [(leaf, factor) for op, factor in fall.ops if op.name not in SQUASHES for leaf in _weights(seen, op)]
    squashed, weighed = sum(factor for _, factor in squashers), sum(factor for _, factor in weighing)
    lines = Counter(line for leaf, _ in weighing if (line := sized(seen, leaf)) is not None)
    if lines:
        return lines.most_common(1)[0][0]
    if squashers and squashed < weighed and fall.whole < 0:
        return layer_line(seen, squashers[-1][0])
    return None


WORDS = """
vanishing: {worst}, runs {count} times on the way from the loss, and the gradient shrinks from run to run: {early} at
    the last, {late} at the first.{by}
    Fix: Use {relu}weights of the size 1/sqrt(n) (nn.init.xavier_uniform_), residual connections, or normalization
    between the layers; in a recurrence an LSTM or GRU.
exploding: {worst}, runs {count} times on the way from the loss, and the gradient grows from run to run: {early} at the
    last, {late} at the first.{by}
    Fix: Make the weights smaller (nn.init.kaiming_uniform_; in a recurrence orthogonal, with a gain of 1), normalize
    between the layers, or clip the gradients, with clip_grad_norm_() between backward() and step().
"""
SAID = sentences(WORDS)
RULES = [Rule("vanishing", _sizes, share=0.6)]
