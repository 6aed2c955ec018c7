"""Vanishing and exploding: where the size of gradients falls or grows, from line to line and over the steps."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from viz.diagnosis.families import NORMALIZES, SQUASHES
from viz.diagnosis.finding import number
from viz.diagnosis.layers import layers
from viz.diagnosis.observation import Leaf, Observation, Ran, Through
from viz.diagnosis.rules.rule import Match, Place, Rule
from viz.diagnosis.rules.weights import sized
from viz.diagnosis.rules.zero import layer_line

EXPLODES = 1e5  # the factor, among leaves or along one path, that is called an explosion; by as much it vanishes
AT_FIRST = 1e3  # that a factor must have been before the steps, where the loss grew since: else the steps made it so
BY_HAND = 1e3  # growth along one path that is called an explosion where somebody chose the weights' size by a number of his own
TINY = 0.3  # of a gradient: what a layer of weights lets pass when they are too small
RECURRENT = ("rnn", "lstm", "gru")  # classes of layers, in lower case
CANCELS = 1e-3  # of what arrives at the places where a bias was added: gradients that add up to less cancel
NEAR = 4  # ops after a layer, within which its normalization runs
SHUT = 0.1  # of the incoming gradient, at most: a gate that is nearly closed
FEW = 16  # ops that make a gate out of the state before, or products that are looked at
EVEN = 0.01  # of the largest gradient of a layer: a layer with that much learns
AGAIN = 3  # times that one op of a line runs, at least, where the line is a layer after another
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

    @property
    def repeats(self) -> int:
        """How often the op runs that runs most often in it."""
        return max(Counter(self.names).values(), default=0)


def _sizes(seen: Observation) -> Iterator[Match]:
    """A gradient that shrinks to a hundred-thousandth, or grows a hundred thousand times, from one end to the other."""
    kinds = {each.kind for each in seen.passes if each.done and each.roots}
    whole = [
        each
        for each in seen.passes
        if each.done
        and (each.kind == "backward" or kinds == {"grad"})
        and each.got
        and all(math.isfinite(peak) for peak in each.got.values())
    ]
    if not whole:
        return
    last = whole[-1]
    first = next(each for each in whole if each.line == last.line)
    found = list(_of_pass(seen, last))
    if found and first is not last and _grew(first, last):  # the loss grows: is that due to the steps alone?
        before = {match.given["kind"] for match in _of_pass(seen, first, AT_FIRST)}
        found = [match for match in found if match.given["kind"] in before]
    by_hand = {write.line for leaf in seen.leaves for write in leaf.writes if write.kind in ("init", "write")}
    by_hand |= {
        seen.origin(leaf) for leaf in seen.leaves if leaf.holder is None or leaf.by_hand
    }  # the size of a weight
    for match in found:
        if match.given["kind"] == "exploding" or not _even(seen) or match.line in by_hand:
            yield match


def _even(seen: Observation) -> bool:
    """Whether the layers of modules, as the report shows them, get gradients of much the same size: then none of them vanishes."""
    sizes = [row.gradients[-1] for row in layers(seen).rows if row.gradients and row.gradients[-1]]
    known = [size for size in sizes if size is not None and 0 < size < math.inf]
    return len(known) > 2 and min(known) >= EVEN * max(known)


def _grew(first: Through, last: Through) -> bool:
    return first.loss is not None and last.loss is not None and abs(last.loss) > 2 * abs(first.loss)


def _larger(seen: Observation, fall: Fall, line: int | None) -> str:
    """What helps against shrinking: another activation if one saturates, larger weights if they are small."""
    way = "weights of the size 1/sqrt(n) (nn.init.xavier_uniform_)"
    if not any(write.line == line for leaf in seen.leaves for write in leaf.writes):
        squashes = {name for name in fall.names if name in SQUASHES}
        way = (
            f"relu or tanh instead of sigmoid, {way}" if "sigmoid" in squashes else f"relu, {way}" if squashes else way
        )
    return f"Use {way}, a residual x + f(x), or normalization between the layers; in a recurrence an LSTM or GRU."


SMALLER = (
    "Make the weights smaller (nn.init.kaiming_uniform_), normalize between the layers, or clip: "
    "`T.nn.utils.clip_grad_norm_(model.parameters(), 1.0)` between backward() and step()."
)


def _of_pass(seen: Observation, each: Through, least: float = EXPLODES) -> Iterator[Match]:
    """The gradients that fall or grow by a factor of `least` in one pass."""
    arrived = {nr: peak for nr, peak in each.reached if 0 < peak < math.inf}
    learns = {leaf.nr for leaf in seen.trained()}  # a gradient of an input is nobody's to learn from
    sizes = {
        nr: peak
        for nr, peak in each.got.items()
        if 0 <= peak < math.inf
        and (nr in learns or not learns & set(each.got))
        and not _taken_out(seen, seen.leaves[nr], peak, arrived)
    }
    positive = {nr: peak for nr, peak in sizes.items() if peak > 0}
    if not positive or not arrived:
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
    if len(path) >= DEEP and (ratio < 1 / least or along < 10 / least) and _deep(lines, "vanishing"):
        yield _finding(
            seen, "vanishing", lines, leaf, positive[smallest], positive[largest], len(zeros), max(fall), fall[-1]
        )
    elif within is not None and late / early < 1 / least:
        yield _of_states(seen, "vanishing", within, early, late)
    big = seen.leaves[largest]
    path, lines = _along(seen, each, big, arrived)
    grown = [peak for peak in path if peak > 0]
    top = max((peak for _, peak in big.gradients if math.isfinite(peak)), default=0.0)  # of all passes
    enough = min(least, BY_HAND) if _chosen_by_hand(seen, [op for fall in lines.values() for op in fall.ops]) else least
    if (
        len(path) >= DEEP
        and _deep(lines, "exploding")
        and ((grown and grown[-1] / start > enough) or top > least * max(1.0, big.size))
    ):
        yield _finding(
            seen, "exploding", lines, big, positive[largest], start, 0, grown[0], grown[-1],
        )  # fmt: skip
    elif within is not None and late / early > least:
        yield _of_states(seen, "exploding", within, early, late)
    elif (
        within is not None
        and late / early > BY_HAND
        and (states := _of_states(seen, "exploding", within, early, late)).line != within
    ):
        yield states  # the program set the size of the weights that repeat
    elif big.holder is not None and seen.parts[big.holder].kind.lower().startswith(RECURRENT):
        line = sized(seen, big) or _initialized(big)
        if line is not None and top > least * max(1.0, big.size):
            yield _inside(seen, line, big, top)


def _taken_out(seen: Observation, leaf: Leaf, size: float, arrived: dict[int, float]) -> bool:
    """Whether what a bias adds is taken out again, by a normalization or softmax after it: its gradient is 0 but for rounding.

    The gradients that arrive at what it was added to are not small, and add up to nothing.
    """
    if len(leaf.shape) != 1:
        return False
    for nr in leaf.used_by[-NEAR:]:
        made = set(seen.ops[nr].outputs)
        if size < CANCELS * max((arrived.get(one, 0.0) for one in made), default=0.0):
            return True
        if any(made & set(op.inputs) and op.name in NORMALIZES for op in seen.ops[nr + 1 : nr + NEAR]):
            return True
    return False


def _inside(seen: Observation, line: int, leaf: Leaf, size: float) -> Match:
    """A recurrence that is one op: its repetitions are not visible, only its results."""
    user = seen.ops[leaf.used_by[-1]]
    words = "{names} {get} a gradient of {size}, out of the {kind} that {user} calls, which multiplies by it in each step of the sequence. {at}, gave it its size."
    fix = "Start recurrent weights orthogonal with a gain of 1 (nn.init.orthogonal_), or clip: `T.nn.utils.clip_grad_norm_(parameters, 1.0)` before the step."
    given = {"kind": "exploding", "words": words, "fix": fix}
    return Match(
        line,
        [user],
        names=seen.called([leaf.nr]),
        size=size,
        kind=seen.parts[leaf.holder or 0].kind,
        user=user,
        given=given,
    )


def _along(
    seen: Observation, each: Through, leaf: Leaf, arrived: dict[int, float]
) -> tuple[list[float], dict[int | None, Fall]]:
    """The gradients on the longest path from the loss to a leaf, and what each line does to them."""
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
    return [arrived.get(nr, 0.0) for nr in path if math.prod(seen.values[nr].shape) > 1], lines  # a mean shares it out


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


def _chosen_by_hand(seen: Observation, ops: list[Ran]) -> bool:
    """True if a number in the program set the size of most of the weights of some ops."""
    weights = [
        seen.leaves[leaf]
        for op in ops
        for nr in op.inputs
        if (leaf := seen.values[nr].leaf) is not None and len(seen.values[nr].shape) > 1
    ]
    return len(weights) >= DEEP and 2 * sum(sized(seen, leaf) is not None for leaf in weights) > len(weights)


def _deep(lines: dict[int | None, Fall], kind: str) -> list[int | None]:
    """The lines where it shrinks or grows whose ops stand one behind the other often: a long formula that runs once is not deep."""
    way = -1 if kind == "vanishing" else 1
    return [
        line
        for line, fall in lines.items()
        if len(fall.factors) >= DEEP and fall.repeats >= AGAIN and way * fall.total > 0
    ]


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
) -> Match:
    worst = (min if kind == "vanishing" else max)(_deep(lines, kind), key=lambda line: lines[line].total)
    fall = lines[worst]
    repeats = fall.repeats
    factor = math.exp(fall.total / repeats)
    writer = next((w.line for w in reversed(leaf.writes) if w.kind in ("init", "write") and w.line), None)
    line = _to_change(seen, fall, kind == "vanishing") or worst
    words = "{worst}, runs {count} times on the way from the loss to {names}, and the gradient {verb} each time: from {begins} to {ends}. {names} {get} {size}"
    words += (", where another gets {other}." if kind == "vanishing" else ".") + _by(line, worst)
    return Match(
        line, [worst, writer, leaf.line], names=seen.called([leaf.nr]), where=fall.where, worst=Place(worst), count=repeats, begins=begins,
        ends=ends, size=size, other=other, verb=f"shrinks to {number(factor)} of itself" if kind == "vanishing" else f"grows {number(factor)} times",
        given={"kind": kind, "words": words, "fix": _larger(seen, fall, line) if kind == "vanishing" else SMALLER},
    )  # fmt: skip


def _by(line: int | None, worst: int | None) -> str:
    return " What makes it so is {at}." if line != worst else ""


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
    """True if a series falls or grows nearly all the way."""
    down = sum(b < a for a, b in itertools.pairwise(peaks))
    up = sum(b > a for a, b in itertools.pairwise(peaks))
    return max(down, up) >= 0.8 * (len(peaks) - 1)


def _of_states(seen: Observation, kind: str, line: int | None, early: float, late: float) -> Match:
    verb = "falls" if kind == "vanishing" else "grows"
    fix = (
        "Use an LSTM or GRU, start the recurrent weights orthogonal, or cut the sequence into shorter pieces."
        if kind == "vanishing"
        else "Clip the gradient before the step, `T.nn.utils.clip_grad_norm_(parameters, 1.0)`, or make the weights that repeat smaller."
    )
    fall, carried = Fall(), _carried(seen, line)
    for op in seen.ops:
        if op.line == line and op.recorded and carried & set(op.inputs):
            fall.ops.append(op)
            out, into = seen.values[op.outputs[0]], [seen.values[nr] for nr in op.inputs if seen.values[nr].grad]
            fall.factors.append(math.log(max(one.grad or 1.0 for one in into) / out.grad) if into and out.grad else 0.0)
    change = _to_change(seen, fall, kind == "vanishing") or line
    words = (
        "The gradient of what {worst}, computes {verb} from repetition to repetition: {early} at the last one, {late} at the first."
        + _by(change, line)
    )
    given = {"kind": kind, "words": words, "fix": fix}
    return Match(change, [line], worst=Place(line), verb=verb, early=early, late=late, given=given)


def _carried(seen: Observation, line: int | None) -> set[int]:
    """The values that an earlier repetition of a line is in: what it multiplies by is what the gradient meets again and again."""
    found: set[int] = set()
    for op in seen.ops:
        if op.recorded and (op.line == line or not found.isdisjoint(op.inputs)):
            found.update(nr for nr in op.outputs if seen.values[nr].leaf is None)
    return found


RULES = [Rule("vanishing", _sizes, share=0.6)]
