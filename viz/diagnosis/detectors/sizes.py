"""Vanishing and exploding: where the size of gradients falls or grows, from line to line and over the steps."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from viz.diagnosis.detectors.weights import sized
from viz.diagnosis.detectors.zero import layer_line
from viz.diagnosis.finding import Finding, gets, listed, number
from viz.diagnosis.observation import Leaf, Observation, Ran, Through

VANISHES = 1e-5  # of the largest gradient among the leaves, or along one path, under which it is called vanished
EXPLODES = 1e5
TINY = 0.3  # of a gradient: what a layer of weights lets pass when they are too small
SQUASHES = {"sigmoid", "tanh", "sigmoid_", "tanh_", "softmax", "logsigmoid", "hardsigmoid", "hardtanh", "softsign"}
NORMALIZES = {"batch_norm", "instance_norm"}
RECURRENT = ("rnn_", "lstm", "gru")
NEAR = 4  # ops after a layer, within which its normalization runs
PRODUCTS = {"mul", "__mul__", "__rmul__", "mul_"}
SHUT = 0.1  # of what comes, at most: a gate that is nearly shut
FEW = 16  # ops that make a gate out of the state before, or products that are looked at
DEEP = 6  # ops of one line, or of lines that repeat, before a fall is a matter of depth


@dataclass
class Fall:
    """By how much a gradient shrinks in the ops of one line, along one path."""

    factors: list[float] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    ops: list[Ran] = field(default_factory=list)
    where: tuple[str, int] | None = None

    @property
    def total(self) -> float:
        """The logarithm of the whole factor."""
        return sum(self.factors)


def find(seen: Observation) -> Iterator[Finding]:
    """A gradient that is a hundred-thousandth, or a hundred thousand times, of what it was at the other end."""
    kinds = {each.kind for each in seen.passes if each.done and each.roots}
    for each in reversed(seen.passes):
        if (
            each.done
            and (each.kind == "backward" or kinds == {"grad"})
            and each.got
            and all(math.isfinite(peak) for peak in each.got.values())
        ):
            yield from _of_pass(seen, each)
            return


def _of_pass(seen: Observation, each: Through) -> Iterator[Finding]:
    sizes = {
        nr: peak for nr, peak in each.got.items() if 0 <= peak < math.inf and not _taken_out(seen, seen.leaves[nr])
    }
    positive = {nr: peak for nr, peak in sizes.items() if peak > 0}
    if not positive:
        return
    arrived = {nr: peak for nr, peak in each.reached if 0 < peak < math.inf}
    if not arrived:
        return
    smallest, largest = min(positive, key=lambda nr: positive[nr]), max(positive, key=lambda nr: positive[nr])
    start = max((arrived.get(root, 0.0) for root in each.roots), default=1.0) or 1.0
    zeros = [nr for nr, peak in sizes.items() if peak == 0]
    leaf = seen.leaves[smallest]
    path, lines = _along(seen, each, leaf, arrived)
    ratio = positive[smallest] / positive[largest]
    fall = [peak for peak in path if peak > 0]
    along = fall[-1] / max(fall) if fall else 1.0
    within, early, late = _within(seen, each, arrived)
    if len(path) >= DEEP and (ratio < VANISHES or along < VANISHES * 10) and _deep(lines):
        yield _finding(
            seen, "vanishing", lines, leaf, positive[smallest], positive[largest], len(zeros), max(fall), fall[-1]
        )
    elif within is not None and late / early < VANISHES:
        yield _of_states(seen, "vanishing", within, early, late)
    big = seen.leaves[largest]
    path, lines = _along(seen, each, big, arrived)
    grown = [peak for peak in path if peak > 0]
    if (
        len(path) >= DEEP
        and _deep(lines)
        and ((grown and grown[-1] / start > EXPLODES) or positive[largest] > EXPLODES * max(1.0, big.size))
    ):
        yield _finding(seen, "exploding", lines, big, positive[largest], start, 0, grown[0], grown[-1])
    elif within is not None and late / early > EXPLODES:
        yield _of_states(seen, "exploding", within, early, late)
    elif positive[largest] > EXPLODES * max(1.0, big.size) and any(
        seen.ops[nr].name.startswith(RECURRENT) for nr in big.used_by
    ):
        line = sized(seen, big) or _initialized(big)
        if line is not None:
            yield _inside(seen, line, big, positive[largest])


def _taken_out(seen: Observation, leaf: Leaf) -> bool:
    """Whether what a bias adds is taken out again by the normalization after it: its gradient is 0 but for rounding."""
    if len(leaf.shape) != 1:
        return False
    for nr in leaf.used_by[-NEAR:]:
        made = set(seen.ops[nr].outputs)
        if any(made & set(op.inputs) and op.name in NORMALIZES for op in seen.ops[nr + 1 : nr + NEAR]):
            return True
    return False


def _inside(seen: Observation, line: int, leaf: Leaf, size: float) -> Finding:
    """A recurrence that is one op: what repeats in it is not seen, but what comes out."""
    name = seen.called([leaf.nr])
    user = seen.ops[leaf.used_by[-1]]
    return Finding(
        "exploding", line, False,
        f"{gets(name)} a gradient of {number(size)}, out of `{user.name}` in line {user.line}, which multiplies by it in each step of the sequence. "
        f"Line {line}, `{seen.places.code(line)}`, gave it its size.",
        "Start recurrent weights orthogonal with a gain of 1 (nn.init.orthogonal_), or clip: `T.nn.utils.clip_grad_norm_(parameters, 1.0)` before the step.",
        name, [line, user.line or 0], 4, share=0.6,
    )  # fmt: skip


def _along(
    seen: Observation, each: Through, leaf: Leaf, arrived: dict[int, float]
) -> tuple[list[float], dict[int | None, Fall]]:
    """The gradients on the longest way from the loss to a leaf, and what each line does to them."""
    values = [nr for nr in leaf.values if nr < len(seen.values)]
    order = {nr: place for place, (nr, _) in enumerate(each.reached)}
    users = [
        out
        for op in (seen.ops[nr] for nr in leaf.used_by if nr < each.ops)
        for out in op.outputs
        if out in arrived and set(op.inputs) & set(values)
    ]
    if not users:
        return [], {}
    here = max(users, key=lambda nr: order[nr])
    consumers: dict[int, list[int]] = defaultdict(list)
    for nr in order:
        value = seen.values[nr]
        if value.op is not None:
            for given in seen.ops[value.op].inputs:
                consumers[given].append(nr)
    path = [here]
    for _ in range(len(order)):
        ahead = [nr for nr in consumers[path[-1]] if order[nr] < order[path[-1]]]
        if not ahead:
            break
        path.append(max(ahead, key=lambda nr: order[nr]))
    path.reverse()
    lines: dict[int | None, Fall] = {}
    for later, sooner in itertools.pairwise(path):
        op = seen.maker(seen.values[later])
        if op is None or not arrived.get(later) or not arrived.get(sooner):
            continue
        fall = lines.setdefault(op.line, Fall())
        fall.factors.append(math.log(arrived[sooner] / arrived[later]))
        fall.names.append(op.name)
        fall.ops.append(op)
        fall.where = fall.where or op.where
    return [arrived.get(nr, 0.0) for nr in path], lines


def _to_change(seen: Observation, fall: Fall, down: bool) -> int | None:
    """The line to change: what squashes, by name; or who gave the weights their size; None where that is the line itself."""
    squashing, weighing, weights = 0.0, 0.0, []
    squashers = []
    for op, factor in zip(fall.ops, fall.factors, strict=True):
        if op.name in SQUASHES:
            squashing += factor
            squashers.append(op)
        elif own := [
            leaf for nr in op.inputs if (leaf := seen.values[nr].leaf) is not None and len(seen.values[nr].shape) > 1
        ]:
            weighing += factor
            weights += own
    if down and (shut := _held_shut(seen, fall)) is not None:
        return shut
    given = Counter(line for nr in weights if (line := sized(seen, seen.leaves[nr])) is not None)
    if given and (not down or weighing < squashing or weighing < len(weights) * math.log(TINY)):
        return given.most_common(1)[0][0]
    if squashers and down and squashing < weighing:
        return layer_line(seen, squashers[-1])
    if weights and not down:
        again, times = Counter(weights).most_common(1)[0]
        return _initialized(seen.leaves[again]) if times >= DEEP else None
    return None


def _initialized(leaf: Leaf) -> int | None:
    """The line of the initializer of a weight. One that is usually sound is not with a gain: a recurrence makes it a power."""
    return next((write.line for write in reversed(leaf.writes) if write.kind == "init" and write.line), None)


def _held_shut(seen: Observation, fall: Fall) -> int | None:
    """Where the states go through a gate that is nearly shut: the line that wrote a number of its own into what opens it."""
    here = {op.line for op in fall.ops}
    products = [op for op in seen.ops if op.line in here and op.name in PRODUCTS and op.recorded]
    for op in products[-FEW:]:
        for nr in op.inputs:
            maker = seen.maker(seen.values[nr])
            if maker is not None and maker.name in SQUASHES and (seen.values[nr].peak or 1.0) < SHUT:
                line = _wrote_by_hand(seen, nr, op.nr - FEW)
                if line is not None:
                    return line
    return None


def _wrote_by_hand(seen: Observation, nr: int, since: int) -> int | None:
    """The line that wrote a constant into a leaf that a value was computed from, by ops that ran after `since`."""
    for one in seen.above([nr], lambda value: value.leaf is not None or (value.op or 0) > since):
        leaf = seen.values[one].leaf
        for write in reversed(seen.leaves[leaf].writes if leaf is not None else []):
            constant = write.kind == "write" or (write.kind == "init" and write.name.startswith("constant"))
            if constant and write.line and write.after == 0:
                return write.line
    return None


def _deep(lines: dict[int | None, Fall]) -> bool:
    return any(len(fall.factors) >= DEEP for fall in lines.values())


def _finding(
    seen: Observation,
    kind: str,
    lines: dict[int | None, Fall],
    leaf: Leaf,
    size: float,
    other: float,
    zeros: int,
    begins: float,
    ends: float,
) -> Finding:
    deep = [line for line, fall in lines.items() if len(fall.factors) >= DEEP]
    worst = (min if kind == "vanishing" else max)(deep, key=lambda line: lines[line].total)
    fall = lines[worst]
    repeats = max(1, max(fall.names.count(name) for name in set(fall.names)))
    factor = math.exp(fall.total / repeats)
    names = seen.called([leaf.nr])
    writer = next((w.line for w in reversed(leaf.writes) if w.kind in ("init", "write") and w.line), None)
    made = leaf.line
    line = _to_change(seen, fall, kind == "vanishing") or worst
    around = [line for line in (line, worst, writer, made) if line]
    verb = "shrinks" if kind == "vanishing" else "grows"
    if kind == "vanishing":
        text = (
            f"Line {worst}, `{seen.places.code(worst)}`, runs {repeats} times on the way from the loss to {listed(names)}, and the gradient {verb} to "
            f"{number(factor)} of itself each time: from {number(begins)} to {number(ends)}. {gets(names)} {number(size)}, where another gets {number(other)}."
        )
        text += _by(seen, line, worst)
        fix = (
            "Use relu or tanh instead of sigmoid, weights of the size 1/sqrt(n) (nn.init.xavier_uniform_), a residual "
            "x + f(x), or normalization between the layers; in a recurrence an LSTM or GRU."
        )
    else:
        text = (
            f"Line {worst}, `{seen.places.code(worst)}`, runs {repeats} times on the way from the loss to {listed(names)}, and the gradient {verb} {number(factor)} "
            f"times each time: from {number(begins)} to {number(ends)}. {gets(names)} {number(size)}."
        )
        text += _by(seen, line, worst)
        fix = (
            "Make the weights smaller (nn.init.kaiming_uniform_), normalize between the layers, or clip: "
            "`T.nn.utils.clip_grad_norm_(model.parameters(), 1.0)` between backward() and step()."
        )
    return Finding(kind, line, False, text, fix, names, around, 4, where=fall.where, share=0.6)


def _by(seen: Observation, line: int | None, worst: int | None) -> str:
    return f" What makes it so is line {line}, `{seen.places.code(line)}`." if line != worst else ""


def _within(seen: Observation, each: Through, arrived: dict[int, float]) -> tuple[int | None, float, float]:
    """The line whose results, one after the other, get ever smaller or larger gradients: the states of a recurrence."""
    by_line: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for nr, peak in each.reached:
        value = seen.values[nr]
        op = seen.maker(value)
        if op is not None and op.line is not None and peak > 0 and math.isfinite(peak):
            by_line[op.line].append((nr, peak))
    best: tuple[int | None, float, float] = (None, 1.0, 1.0)
    for line, found in by_line.items():
        names = defaultdict(list)
        for nr, peak in found:
            maker = seen.maker(seen.values[nr])
            assert maker is not None
            names[maker.name, seen.values[nr].shape].append(peak)
        for peaks in names.values():
            if len(peaks) < DEEP or not _steady(peaks):
                continue
            if abs(math.log(peaks[-1] / peaks[0])) > abs(math.log(best[2] / best[1])):
                best = line, peaks[0], peaks[-1]
    return best


def _steady(peaks: list[float]) -> bool:
    """Whether a series falls or grows nearly all the way."""
    down = sum(b < a for a, b in itertools.pairwise(peaks))
    up = sum(b > a for a, b in itertools.pairwise(peaks))
    return max(down, up) >= 0.8 * (len(peaks) - 1)


def _of_states(seen: Observation, kind: str, line: int | None, early: float, late: float) -> Finding:
    verb = "falls" if kind == "vanishing" else "grows"
    fix = (
        "Use an LSTM or GRU, start the recurrent weights orthogonal, or cut the sequence into shorter pieces."
        if kind == "vanishing"
        else "Clip the gradient before the step, `T.nn.utils.clip_grad_norm_(parameters, 1.0)`, or make the weights that repeat smaller."
    )
    fall = Fall()
    for op in seen.ops:
        if op.line == line and op.recorded:
            fall.ops.append(op)
            out, into = seen.values[op.outputs[0]], [seen.values[nr] for nr in op.inputs if seen.values[nr].grad]
            fall.factors.append(math.log(max(one.grad or 1.0 for one in into) / out.grad) if into and out.grad else 0.0)
    change = _to_change(seen, fall, kind == "vanishing") or line
    return Finding(
        kind, change, False,
        f"The gradient of what line {line}, `{seen.places.code(line)}`, computes {verb} from repetition to repetition: {number(early)} "
        f"at the last one, {number(late)} at the first." + _by(seen, change, line),
        fix, [], [change or 0, line or 0], 4, share=0.6,
    )  # fmt: skip
