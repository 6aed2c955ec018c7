"""Vanishing and exploding: where the size of gradients falls or grows, from line to line and over the steps."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from viz.diagnosis.families import ADDITIVE, NORMALIZES, PRODUCTS, SQUASHES
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
    outgrown = _outgrown(seen)
    if outgrown is not None:
        yield outgrown
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
        exploding = match.given["kind"] == "exploding"
        if not (outgrown is not None if exploding else _even(seen) and match.line not in by_hand):
            yield match


def _even(seen: Observation) -> bool:
    """Whether the layers of modules, as the report shows them, get gradients of much the same size: then none of them vanishes."""
    sizes = [row.gradients[-1] for row in layers(seen).rows if row.gradients and row.gradients[-1]]
    known = [size for size in sizes if size is not None and 0 < size < math.inf]
    return len(known) > 2 and min(known) >= EVEN * max(known)


def _grew(first: Through, last: Through) -> bool:
    return first.loss is not None and last.loss is not None and abs(last.loss) > 2 * abs(first.loss)


def _outgrown(seen: Observation) -> Match | None:
    """Numbers that grow from repetition to repetition in the first forward pass: until they are infinite, or by weights chosen by hand."""
    each = next((one for one in seen.passes if one.roots), None)
    if each is None or each.step:
        return None
    by_line: dict[tuple[int, str], list[Ran]] = defaultdict(list)
    for nr in sorted(seen.behind(each)):
        op = seen.maker(seen.values[nr])
        if op is not None and op.line is not None and seen.values[nr].peak and seen.values[nr].finite:
            by_line[op.line, op.name].append(op)
    best: tuple[float, list[Ran], list[float]] = (math.log(BY_HAND), [], [])
    for ops in by_line.values():
        peaks = [seen.values[op.outputs[0]].peak or 1.0 for op in ops]
        growth = math.log(peaks[-1] / peaks[0])
        if len(peaks) >= DEEP and _steady(peaks) and growth > best[0]:
            best = growth, ops, peaks
    growth, ops, peaks = best
    if not ops:
        return None
    worst = ops[0].line
    fall = Fall([growth / len(ops)] * len(ops), [op.name for op in ops], ops)
    finite = all(seen.values[nr].finite for nr in each.roots)
    stepped = _stepped(seen, seen.behind(each))
    if (finite and (stepped is not None or not _chosen_by_hand(seen, ops))) or (
        not finite and growth < math.log(EXPLODES)
    ):
        return None
    line = stepped[0] if stepped is not None else _to_change(seen, fall, down=False) or worst
    words = "{worst}, runs {count} times, and its result grows from run to run: from {first} to {last}{more}." + _by(
        line, worst
    )
    return Match(
        line, [worst], worst=Place(worst), count=len(ops), first=peaks[0], last=peaks[-1],
        more="" if finite else ", before it is no finite number any more",
        given={"kind": "exploding", "words": words, "fix": _smaller(stepped), "share": 0.6 if finite else 0.9},
    )  # fmt: skip


def _larger(seen: Observation, fall: Fall, line: int | None) -> str:
    """What helps against shrinking: another activation if one saturates, larger weights if they are small."""
    way = "weights of the size 1/sqrt(n) (nn.init.xavier_uniform_)"
    if not any(write.line == line for leaf in seen.leaves for write in leaf.writes):
        squashes = {name for name in fall.names if name in SQUASHES}
        way = (
            f"relu or tanh instead of sigmoid, {way}" if "sigmoid" in squashes else f"relu, {way}" if squashes else way
        )
    return f"Use {way}, a residual x + f(x), or normalization between the layers; in a recurrence an LSTM or GRU."


def _smaller(stepped: tuple[int, float | None] | None) -> str:
    """What helps against growth: smaller steps if each repetition adds a step, otherwise smaller weights."""
    if stepped is not None:
        size = f", here {stepped[1]:g}," if stepped[1] is not None else ""
        return (
            f"Take shorter steps: make the number that multiplies what is added{size} several times smaller, with as many more steps, "
            "or use a stable method, such as an implicit one."
        )
    return (
        "Make the weights smaller (nn.init.kaiming_uniform_), normalize between the layers, or clip: "
        "`T.nn.utils.clip_grad_norm_(model.parameters(), 1.0)` between backward() and step()."
    )


def _stepped(seen: Observation, among: set[int]) -> tuple[int, float | None] | None:
    """The line that adds a step, a number times something, to a state again and again, and that number."""
    found: Counter[tuple[int, float | None]] = Counter()
    for nr in among:
        op = seen.maker(seen.values[nr])
        if op is None or op.name not in ADDITIVE or op.line is None or len(op.inputs) != 2:
            continue
        for state, added in (op.inputs, op.inputs[::-1]):
            times = seen.maker(seen.values[added])
            before = seen.maker(seen.values[state])
            if times is None or times.name not in PRODUCTS or before is None or before.line != op.line:
                continue
            numbers = [one for one in times.options.values() if isinstance(one, (int, float))]
            scalar = any(not seen.values[one].requires_grad and not seen.values[one].shape for one in times.inputs)
            if before.name == op.name and (numbers or scalar):
                found[op.line, float(numbers[0]) if numbers else None] += 1
    most = found.most_common(1)
    return most[0][0] if most and most[0][1] >= DEEP - 1 else None


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
            _stepped(seen, seen.behind(each)),
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
    stepped: tuple[int, float | None] | None = None,
) -> Match:
    worst = (min if kind == "vanishing" else max)(_deep(lines, kind), key=lambda line: lines[line].total)
    fall = lines[worst]
    repeats = fall.repeats
    factor = math.exp(fall.total / repeats)
    writer = next((w.line for w in reversed(leaf.writes) if w.kind in ("init", "write") and w.line), None)
    line = stepped[0] if stepped is not None else _to_change(seen, fall, kind == "vanishing") or worst
    words = "{worst}, runs {count} times on the way from the loss to {names}, and the gradient {verb} each time: from {begins} to {ends}. {names} {get} {size}"
    words += (", where another gets {other}." if kind == "vanishing" else ".") + _by(line, worst)
    return Match(
        line, [worst, writer, leaf.line], names=seen.called([leaf.nr]), where=fall.where, worst=Place(worst), count=repeats, begins=begins,
        ends=ends, size=size, other=other, verb=f"shrinks to {number(factor)} of itself" if kind == "vanishing" else f"grows {number(factor)} times",
        given={"kind": kind, "words": words, "fix": _larger(seen, fall, line) if kind == "vanishing" else _smaller(stepped)},
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
