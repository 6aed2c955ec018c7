"""What a loss is given: scores where it takes probabilities, classes as if they were amounts, the wrong sign, rows out of pairs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

from viz.diagnosis import families as ops
from viz.diagnosis.families import source, subtracted
from viz.diagnosis.finding import number
from viz.diagnosis.observation import Observation, Ran, Seen, Through
from viz.diagnosis.rules.comparing import compared
from viz.diagnosis.rules.rule import Match, Rule

SIDES = ["inputs", "labels"]
SOME = 16  # likelihoods of one line that are looked at
NEAR = 64  # ops before and after one, among which other runs of its line are looked for
EDGE = 1e-6  # of 0 or 1, by rounding
RUNS_AWAY = 10.0  # how many times a loss below zero grows


def _reaches_above(value: Seen) -> bool:
    """True if it is known to hold a number above zero."""
    return value.peak is not None and value.low is not None and value.peak > max(0.0, -value.low)


def _scores(seen: Observation) -> Iterator[Match]:
    """Some losses take logarithms of probabilities, which are never above zero, and kl_div such probabilities to compare with."""
    for op in seen.ops:
        if op.name not in ops.TAKES_LOGS or not op.inputs:
            continue
        value, maker = source(seen, op.inputs[0])
        other = seen.values[op.inputs[1]] if op.name == "kl_div" and len(op.inputs) > 1 else value
        if other is not value and (other.low or 0.0) < -EDGE and not op.options.get("log_target"):
            yield Match(op, [other], names=[other.name], low=other.low, given=NO_PROBABILITIES)
            continue
        named = maker.name if maker is not None else ""
        if named in ops.PROBABILITIES and op.name == "nll_loss":
            continue  # reported as a softmax where a log_softmax belongs
        if not (_reaches_above(value) or named in ops.LAYERS):
            continue
        code = seen.places.code(op.line)
        given = (
            {}
            if op.name == "nll_loss"
            else {"fix": "Pass it logarithms: log_softmax(scores, dim=-1) as the first argument."}
        )
        change = (code, code.replace("nll_loss(", "cross_entropy("))
        yield Match(
            op, [maker], names=[value.name], path=[value.nr, *op.outputs[:1]], size=value.peak or 0.0,
            made=f"line {maker.line}, `{named}`, makes" if maker is not None else "it is given",
            given=given | ({"change": change} if change[0] != change[1] else {}),
        )  # fmt: skip


def _outside(seen: Observation) -> Iterator[Match]:
    """Labels outside 0 to 1 in a binary cross-entropy that does not look at them."""
    for op in seen.ops:
        if not op.name.startswith("binary_cross_entropy") or len(op.inputs) < 2 or not op.recorded:
            continue
        target = seen.values[op.inputs[1]]
        if target.requires_grad or target.peak is None or target.low is None:
            continue
        if target.peak > 1.0 + 1e-6 or target.low < -1e-6:
            low, top = number(target.low), number(target.peak)
            yield Match(
                op,
                [target],
                names=[target.name],
                span=f"{low} to {top}" if _reaches_above(target) else f"down to {low}",
                given=OUTSIDE,
            )


def _classes(seen: Observation) -> Iterator[Match]:
    """Class numbers used as amounts: class 2 is not twice class 1."""
    # Whole numbers that were not drawn may be amounts, such as positions.
    drawn = any(op.name == "randint" for op in seen.ops)
    for op in seen.ops:
        difference = drawn and op.name in ops.DIFFERENCES
        if not (op.name in ops.DISTANCES or difference) or len(op.inputs) < 2 or not op.recorded:
            continue
        value = next((one for nr in op.inputs[::-1] if not (one := seen.values[nr]).requires_grad), None)
        if value is None:
            continue
        maker = seen.maker(value)
        for _ in range(6):
            if value.floating is False or maker is None or maker.name not in ops.TURNS | ops.CASTS or not maker.inputs:
                break
            value = seen.values[maker.inputs[0]]
            maker = seen.maker(value)
        if "int" not in value.dtype or value.low is None or value.low < 0 or not 2 <= (value.peak or 0) <= 1000:
            continue
        if maker is not None and maker.name == "one_hot":
            continue
        if difference and not (
            compared(seen, op.outputs[0]) and "randint" in {one.name for one in _makers(seen, value.nr)}
        ):
            continue
        yield Match(
            op,
            [value],
            names=[value.name or "the target"],
            low=value.low,
            top=value.peak or 0.0,
            path=[],
            given=CLASSES,
        )


NO_PROBABILITIES = {
    "words": "{at}: `{op}` compares with probabilities, and what it is given goes down to {low}.",
    "fix": "Give probabilities as its target: softmax(scores, dim=-1). Or give logarithms, and say log_target=True.",
}
OUTSIDE = {
    "words": "{at}: the labels of `{op}` go from {span}. Outside 0 to 1 the loss has no lowest value: it falls forever, and the outputs grow without bound.",
    "fix": "Give labels of 0 and 1, `(y > 0).float()`; for more classes use cross_entropy.",
}
CLASSES = {
    "words": "{at}: `{op}` treats {name}, integers from {low} to {top} converted to floats, as amounts. If they are classes, this means that class 2 lies "
        "between 1 and 3.",
    "fix": "For classes, output one score for each, and use cross_entropy(scores, labels) with the labels unchanged.", "certain": False, "share": 0.7,
}  # fmt: skip


def _not_its_input(seen: Observation) -> Iterator[Match]:
    """A loss that is given what it does not take: scores for logarithms, labels outside 0 to 1, classes as amounts."""
    yield from _scores(seen)
    yield from _outside(seen)
    yield from _classes(seen)


def _makers(seen: Observation, nr: int) -> list[Ran]:
    """The ops that a value comes from, its own last."""
    return [op for one in sorted(seen.above([nr])) if (op := seen.maker(seen.values[one])) is not None]


@dataclass
class Term:
    """One part of a loss: the op that makes it, with which sign it enters, and the line that turned the sign."""

    op: Ran
    sign: int | None  # None: by a factor of either sign
    line: int | None


def _sign(seen: Observation) -> Iterator[Match]:
    """A loss that falls below zero without end, or that is the negative of one that training makes smaller."""
    for _, own in seen.trainings() if seen.steps else ():
        yield from _sign_of(seen, [each for each in own if each.roots])


def _sign_of(seen: Observation, passes: list[Through]) -> Iterator[Match]:
    """One training whose loss has the wrong sign."""
    losses = list(
        itertools.takewhile(lambda loss: not math.isnan(loss), (e.loss for e in passes if e.loss is not None))
    )
    if len(losses) < 2:
        return
    last = passes[-1]
    terms = list(_terms(seen, last.roots[0], last.sign or None, None))
    turned = _turned(seen, last, terms)
    runs = max(losses[1:]) < 0 and losses[-1] < -RUNS_AWAY * max(1.0, abs(losses[0])) and len(losses) >= 4
    runs = runs and all(b < a for a, b in itertools.pairwise(losses))
    if turned is not None or runs:
        line = turned or _asked_for(seen, last)
        yield Match(line, [last], path=last.roots[:1], first=losses[0], last=losses[-1], count=len(losses))


def _terms(seen: Observation, nr: int, sign: int | None, line: int | None, far: int = 0) -> Iterator[Term]:
    """The errors and likelihoods that a loss adds up, as far as it is a sum."""
    op = seen.maker(seen.values[nr])
    if op is None or far > 16:
        return
    if op.name in ops.LOGS or _of_probabilities(seen, op) or _is_error(seen, op) or _normalised(seen, op):
        yield Term(op, sign, line)
        return
    ahead = [one for one in op.inputs if seen.values[one].requires_grad]
    if op.name in ops.NEGATIONS:
        sign, line = _times(sign, -1), op.line
    elif op.name in ops.FACTORS:
        if len(ahead) != 1:
            return
        factor = _sign_of_factor(seen, op, ahead[0])
        if factor == 0:
            return
        sign, line = _times(sign, factor), op.line if factor == -1 else line
    elif op.name in ops.DIFFERENCES:
        turned = subtracted(op)
        for one in ahead:
            minus = one in turned
            yield from _terms(seen, one, _times(sign, -1) if minus else sign, op.line if minus else line, far + 1)
        return
    elif op.name not in ops.KEEPS_SIGN | ops.SUMS | ops.RISES | {"log"}:
        return
    for one in ahead:
        yield from _terms(seen, one, sign, line, far + 1)


def _times(sign: int | None, factor: int | None) -> int | None:
    return None if sign is None or factor is None else sign * factor


def _of_probabilities(seen: Observation, op: Ran) -> bool:
    given = seen.values[op.inputs[0]] if op.name == "log" and op.inputs else None
    if given is None or (given.low or -1.0) < 0 or (given.peak or 2.0) > 1 + EDGE:
        return False
    maker = source(seen, given.nr, ops.TURNS | ops.AVERAGES)[1]
    return maker is None or not _is_error(seen, maker)  # the logarithm of an error rises with it


def _is_error(seen: Observation, op: Ran) -> bool:
    """Whether an op is an error, never below 0: a loss, or the square or the size of what an answer lacks to its target."""
    if op.name in ops.POSITIVE:
        return True
    even = op.name in ("abs", "square") or (op.name == "pow" and 2 in op.options.values())
    less = seen.maker(seen.values[op.inputs[0]]) if even and op.inputs else None
    if less is None or less.name not in ops.DIFFERENCES or len(less.inputs) != 2:
        return False
    return sum(seen.values[nr].requires_grad for nr in less.inputs) == 1


def _normalised(seen: Observation, op: Ran) -> bool:
    """True if an op subtracts the logarithm of the sum from scores, which gives logarithms of probabilities."""
    makers = [seen.maker(seen.values[nr]) for nr in op.inputs[1:]]
    return op.name in ops.DIFFERENCES and any(maker is not None and maker.name == "logsumexp" for maker in makers)


def _turned(seen: Observation, each: Through, terms: list[Term]) -> int | None:
    """The line that gives a loss the wrong sign: minus an error, or a log-likelihood without a minus."""
    errors = [term for term in terms if _is_error(seen, term.op)]
    alone = len({(term.op.line, term.op.name) for term in terms}) == 1
    for term in {(one.op.line, one.op.name, one.sign): one for one in terms[::-1]}.values():
        if not _is_error(seen, term.op):
            # A factor of either sign is an advantage or a reward: it belongs to the likelihood, not to its minus.
            alike = [one for one in terms if (one.op.line, one.op.name) == (term.op.line, term.op.name)]
            # Of likelihoods that one line makes, some with a minus: what turns the others is a reward of -1.
            if (not errors or term.sign is None) and all(_plus(seen, each, one) for one in (term, *alike[:SOME])):
                apart = _apart(seen, each, term)
                return apart or (_asked_for(seen, each) if alone else term.line or term.op.line)
        elif term.sign == -1 and (alone or (each.loss or 0.0) < 0):
            return term.line
    return None


def _apart(seen: Observation, each: Through, term: Term) -> int | None:
    """The line that ends the part of a loss that `term` is in, before it is joined to other parts; None for a loss of one part."""
    nr, joined = each.roots[0], False
    for _ in range(16):
        op = seen.maker(seen.values[nr])
        learnt = [one for one in op.inputs if seen.values[one].requires_grad] if op is not None else []
        if op is None or not (op.name in ops.ADDITIVE and len(learnt) > 1):
            return op.line if joined and op is not None else None
        own = [one for one in learnt if any(part.op is term.op for part in _terms(seen, one, 1, None))]
        if len(own) != 1:
            return None
        nr, joined = own[0], True
    return None


def _plus(seen: Observation, each: Through, term: Term) -> bool:
    if term.sign == 1:
        return True
    if term.sign == -1:
        return False
    nr, minuses = each.roots[0], 0
    below = seen.below(term.op.outputs[0])
    for _ in range(16):  # the minuses on the way to it, whatever the factors are
        op = seen.maker(seen.values[nr])
        if op is None or op is term.op:
            break
        ahead = [one for one in op.inputs if one in below]
        if not ahead:
            return False
        minus = op.name in ops.NEGATIONS or (op.name in ops.FACTORS and _sign_of_factor(seen, op, ahead[0]) == -1)
        if op.name in ops.DIFFERENCES:
            minus = ahead[0] in subtracted(op)
        minuses += minus + sum(_is_minus(seen, one) for one in op.inputs if op.name in ops.FACTORS and one != ahead[0])
        nr = ahead[0]
    return minuses % 2 == 0


def _is_minus(seen: Observation, nr: int) -> bool:
    """Whether a factor was given a minus itself, as in `-advantage * ratio`."""
    maker = source(seen, nr)[1]
    return maker is not None and (
        maker.name in ops.NEGATIONS or (maker.name in ops.FACTORS and _numbers(maker) == [-1])
    )


def _sign_of_factor(seen: Observation, op: Ran, main: int) -> int | None:
    others = [seen.values[one] for one in op.inputs if one != main]
    if others:
        low, peak = others[0].low, others[0].peak
        if low is not None and low >= 0:
            return 1
        return -1 if low == -1 == -(peak or 0.0) and math.prod(others[0].shape) == 1 else None
    numbers = _numbers(op)
    near = (
        _numbers(one)
        for one in seen.ops[max(0, op.nr - NEAR) : op.nr + NEAR]
        if one.line == op.line and one.name == op.name
    )
    if numbers and min(numbers) < 0 and any(one != numbers for one in near):
        return None  # another number each time: a reward or a return, and no sign that somebody wrote
    return int(math.copysign(1, numbers[0])) if len(numbers) == 1 and numbers[0] else 0


def _numbers(op: Ran) -> list[float]:
    return [one for one in op.options.values() if isinstance(one, (int, float)) and not isinstance(one, bool)]


def _asked_for(seen: Observation, each: Through) -> int | None:
    """The line that makes the loss, in the function that calls backward()."""
    op = seen.maker(seen.values[each.roots[0]])
    if op is None:
        return each.line
    return op.stack[-len(each.stack)] if 0 < len(each.stack) <= len(op.stack) else op.line


def _compared_sides(seen: Observation) -> Iterator[tuple[Ran, int, int]]:
    """Each op that compares predictions with labels: a loss, or a difference whose square or magnitude is used."""
    for op in seen.ops:
        if len(op.inputs) < 2 or not op.recorded:
            continue
        a, b = op.inputs[:2]
        if op.name in ops.TARGETED or (op.name == "gather" and not seen.values[b].floating):
            yield op, a, b
        elif (
            op.name in ops.DIFFERENCES
            and seen.values[a].requires_grad != seen.values[b].requires_grad
            and compared(seen, op.outputs[0])
        ):
            yield (op, a, b) if seen.values[a].requires_grad else (op, b, a)


def _pairs(seen: Observation) -> Iterator[Match]:
    """Inputs and their labels, taken in different random orders."""
    shuffles = {nr for op in seen.ops if op.name == "randperm" for nr in op.outputs}
    for op, *sides in _compared_sides(seen) if shuffles else ():
        answers, labels = (_orders(seen, nr, shuffles) for nr in sides)
        if answers is None and labels is None:
            # Rows mixed with rows in another order, as in mixup: the order must be one on both sides.
            answers, labels = (_orders(seen, nr, shuffles, mixed=True) for nr in sides)
            if not (answers and labels):
                continue
        if answers is None or labels is None or len(answers) > 1 or len(labels) > 1 or set(answers) == set(labels):
            continue
        order, taken = next(iter((answers or labels).items()))
        if len({seen.values[nr].shape for nr in (*answers, *labels)}) != 1:
            continue
        if not (answers and labels) and not _as_many(seen, sides[bool(answers)], taken):
            continue  # no labels of these rows: numbers that the batch itself is given, as in a contrastive loss
        said, at = "puts the {} in a random order, but not the {}".format(*SIDES[:: 1 if answers else -1]), taken.line
        if answers and labels:
            taken, other = next(iter(labels.values())), next(iter(answers.values()))
            apart = (one for one, two in zip(taken.stack, other.stack, strict=False) if one != two)
            at = next(apart, taken.line)  # past a helper that both went through
            said = "puts the labels in a different random order than the inputs"
        elif (cut := _sliced(seen, sides[bool(answers)], seen.values[order].op or 0)) and cut.line != taken.line:
            at, said = (
                cut.line,
                f"takes a slice of rows that line {taken.line} has put in a random order on the other side",
            )
        yield Match(at, [taken, op], where=taken.where, said=said, op=op.name, compared=op.line)
        return


def _sliced(seen: Observation, nr: int, after: int) -> Ran | None:
    """The op that took a slice of rows for a value, once an order of them had been drawn by op `after`."""
    slices = {"slice.start", "slice.stop"}
    return next((op for op in _makers(seen, nr) if op.nr > after and slices & set(op.options)), None)


def _as_many(seen: Observation, nr: int, taken: Ran) -> bool:
    """Whether a value comes from data with as many rows as those that `taken` takes rows from."""
    rows = seen.values[taken.inputs[0]].shape[:1]
    return any(seen.values[one].shape[:1] == rows for one in seen.above([nr]) if not seen.values[one].requires_grad)


def _orders(seen: Observation, nr: int, shuffles: set[int], mixed: bool = False) -> dict[int, Ran] | None:
    """The random orders that the rows of a value were taken in, with the op that took them; None where rows are mixed."""
    found: dict[int, Ran] = {}
    above = seen.above([nr])
    makers = [op for one in above if (op := seen.maker(seen.values[one])) is not None]
    for op in makers:
        if op.name not in ("__getitem__", "index_select", "take_along_dim") or len(op.inputs) < 2:
            continue
        for order in seen.above(op.inputs[1:]) & shuffles:
            if not mixed and any(op.inputs[0] in other.inputs and other is not op for other in makers):
                return None
            found.setdefault(order, op)
    return found


RULES = [
    Rule("wrong-loss", _not_its_input,
        "{at}: `{op}` takes logarithms of probabilities, which are never above 0. What {made} is not a logarithm: its size reaches {size}, and "
        "the loss can fall forever without a better answer.",
        "Take log_softmax(scores, dim=1) first, or use cross_entropy (nn.CrossEntropyLoss) on the scores.", certain=True),
    Rule("reversed", _sign,
        "{at}, gets smaller in training, although it has no lower bound: {first} → {last} in {count} passes. Training shrinks what should grow.",
        "Minimise what should be small: an error as it is, and a likelihood or a reward with a minus sign."),
    Rule("shuffled-apart", _pairs, "{at}, {said}: `{op}` in line {compared} compares each answer with the label of another row.",
        "Draw one order and use it for both: `order = T.randperm(len(x)); x, y = x[order], y[order]`."),
]  # fmt: skip
