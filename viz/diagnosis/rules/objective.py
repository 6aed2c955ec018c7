"""What a loss is given: scores where it takes probabilities, classes as if they were amounts, the wrong sign, rows out of pairs."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from viz.diagnosis.families import (
    ADDITIVE,
    CASTS,
    DIFFERENCES,
    DISTANCES,
    FACTORS,
    JOINS,
    KEEPS_SIGN,
    LAYERS,
    LOGS,
    NEGATIONS,
    POSITIVE,
    PROBABILITIES,
    RISES,
    SUMS,
    SWAPS,
    TARGETED,
    TURNS,
    VIEWS,
    source,
    subtracted,
)
from viz.diagnosis.finding import Finding, number
from viz.diagnosis.observation import Observation, Ran, Seen, Through
from viz.diagnosis.rules.comparing import compared

OUTSIDE = "should be between 0 and 1"
REWARDS = {"r", "rew", "rews", "reward", "rewards", "returns"}
SOME = 16  # likelihoods of one line that are looked at
NEAR = 64  # ops before and after one, among which other runs of its line are looked for
RUNS_AWAY = 10.0  # how many times a loss below zero grows


def find(seen: Observation) -> Iterator[Finding]:
    """Losses that do not fit their inputs."""
    yield from _scores(seen)
    yield from _outside(seen)
    yield from _classes(seen)
    yield from _sign(seen)
    yield from _pairs(seen)
    yield from _outside_shuffles(seen)
    yield from _viewed(seen)


def _reaches_above(value: Seen) -> bool:
    """True if it is known to hold a number above zero."""
    return value.peak is not None and value.low is not None and value.peak > max(0.0, -value.low)


def _scores(seen: Observation) -> Iterator[Finding]:
    """nll_loss and kl_div take logarithms of probabilities, which are never above zero."""
    told = set()
    for op in seen.ops:
        if op.name not in ("nll_loss", "kl_div") or not op.inputs or op.line in told:
            continue
        value, maker = source(seen, op.inputs[0])
        named = maker.name if maker is not None else ""
        if named in PROBABILITIES and op.name == "nll_loss":
            continue  # reported as a softmax where a log_softmax belongs
        if not (_reaches_above(value) or named in LAYERS):
            continue
        told.add(op.line)
        code = seen.places.code(op.line)
        made = f"line {maker.line}, `{named}`, makes" if maker is not None else "it is given"
        change = None
        if op.name == "nll_loss" and "nll_loss(" in code:
            change = code, code.replace("nll_loss(", "cross_entropy(")
        yield Finding(
            "wrong-loss", op.line, True,
            f"Line {op.line}, `{code}`: `{op.name}` takes logarithms of probabilities, which are never above 0. What "
            f"{made} is not a logarithm: its size reaches {number(value.peak or 0.0)}, and the loss can fall forever "
            "without a better answer.",
            "Take log_softmax(scores, dim=1) first, or use cross_entropy (nn.CrossEntropyLoss) on the scores."
            if op.name == "nll_loss" else "Pass it logarithms: log_softmax(scores, dim=-1) as the first argument.",
            [value.name] if value.name else [], [op.line or 0, *([maker.line or 0] if maker else [])], 5, change, op.where,
            [value.nr, *op.outputs[:1]], op.outputs[0] if op.outputs else None, share=0.9,
        )  # fmt: skip


def _outside(seen: Observation) -> Iterator[Finding]:
    """A binary cross-entropy of numbers outside 0 to 1: the engine refuses them, or the loss has no lower bound."""
    if seen.error is not None and OUTSIDE in seen.error["message"] and seen.error["line"]:
        line = seen.error["line"]
        which = "target" if "target" in seen.error["message"] else "input"
        yield Finding(
            "wrong-loss", line, True,
            f"Line {line}, `{seen.places.code(line)}`: binary cross-entropy takes probabilities, but its {which} is "
            "outside 0 to 1.",
            "Use binary_cross_entropy_with_logits (nn.BCEWithLogitsLoss) on the scores, or put a sigmoid before it."
            if which == "input" else "Give labels of 0 and 1; for more classes use cross_entropy.",
            [], [line], 5, share=1.0, explains_error=True,
        )  # fmt: skip
        return
    told = set()
    for op in seen.ops:
        if not op.name.startswith("binary_cross_entropy") or len(op.inputs) < 2 or op.line in told or not op.recorded:
            continue
        target = seen.values[op.inputs[1]]
        if target.requires_grad or target.peak is None or target.low is None:
            continue
        if target.peak <= 1.0 + 1e-6 and target.low >= -1e-6:
            continue
        told.add(op.line)
        span = (
            f"{number(target.low)} to {number(target.peak)}"
            if _reaches_above(target)
            else f"down to {number(target.low)}"
        )
        yield Finding(
            "wrong-loss", op.line, True,
            f"Line {op.line}, `{seen.places.code(op.line)}`: the labels of `{op.name}` go from {span}. Outside 0 to 1 "
            "the loss has no lowest value: it falls forever, and the outputs grow without bound.",
            "Give labels of 0 and 1, `(y > 0).float()`; for more classes use cross_entropy.", [target.name] if target.name else [],
            [op.line or 0, target.line or 0], 5, where=op.where, share=0.9,
        )  # fmt: skip


def _classes(seen: Observation) -> Iterator[Finding]:
    """Class numbers used as amounts: class 2 is not twice class 1."""
    told: set[int | None] = set()
    # Whole numbers that were not drawn may be amounts, such as positions.
    drawn = any(op.name == "randint" for op in seen.ops)
    for op in seen.ops:
        difference = drawn and op.name in DIFFERENCES
        if not (op.name in DISTANCES or difference) or len(op.inputs) < 2 or not op.recorded or op.line in told:
            continue
        value = next((one for nr in op.inputs[::-1] if not (one := seen.values[nr]).requires_grad), None)
        if value is None:
            continue
        maker = seen.maker(value)
        for _ in range(6):
            if value.floating is False or maker is None or maker.name not in TURNS | CASTS or not maker.inputs:
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
        told.add(op.line)
        name = value.name or "the target"
        yield Finding(
            "wrong-loss", op.line, False,
            f"Line {op.line}, `{seen.places.code(op.line)}`: `{op.name}` treats {name}, integers from "
            f"{number(value.low)} to {number(value.peak or 0)} converted to floats, as amounts. If they are classes, "
            "this means that class 2 lies between 1 and 3.",
            "For classes, output one score for each, and use cross_entropy(scores, labels) with the labels unchanged.",
            [value.name] if value.name else [], [op.line or 0, value.line or 0], 5, where=op.where, share=0.7,
        )  # fmt: skip


def _makers(seen: Observation, nr: int) -> list[Ran]:
    """The ops that a value comes from, its own last."""
    return [op for one in sorted(seen.above([nr])) if (op := seen.maker(seen.values[one])) is not None]


@dataclass
class Term:
    """One part of a loss: the op that makes it, with which sign it enters, and the line that turned the sign."""

    op: Ran
    sign: int | None  # None: by a factor of either sign
    line: int | None


def _sign(seen: Observation) -> Iterator[Finding]:
    """A loss that falls below zero without end, or that is the negative of one that training makes smaller."""
    passes = [each for each in seen.passes if each.kind == "backward" and each.done and each.roots]
    if len({each.line for each in passes}) != 1 or len(passes) < 2 or not seen.steps:
        return
    losses = list(
        itertools.takewhile(lambda loss: not math.isnan(loss), (e.loss for e in passes if e.loss is not None))
    )
    if len(losses) < 2:
        return
    last = passes[-1]
    terms = list(_terms(seen, last.roots[0], 1, None))
    whole = _wholly_turned(seen, last, terms)
    turned = whole or _turned(seen, last, terms)
    runs = max(losses[1:]) < 0 and losses[-1] < -RUNS_AWAY * max(1.0, abs(losses[0])) and len(losses) >= 4
    runs = runs and all(b < a for a, b in itertools.pairwise(losses))
    if turned is None and not runs:
        return
    line = turned or _asked_for(seen, last)
    code = seen.places.code(line)
    yield Finding(
        "reversed", line, False,
        f"Line {line}, `{code}`, gets smaller in training, although it has no lower bound: {number(losses[0])} → "
        f"{number(losses[-1])} in {len(losses)} passes. Training shrinks what should grow.",
        "Minimise what should be small: an error as it is, and a likelihood or a reward with a minus sign.",
        [], [line or 0, last.line or 0], 7, path=last.roots[:1], share=0.9,
    )  # fmt: skip


def _terms(seen: Observation, nr: int, sign: int | None, line: int | None, far: int = 0) -> Iterator[Term]:
    """The errors and likelihoods that a loss adds up, as far as it is a sum."""
    op = seen.maker(seen.values[nr])
    if op is None or far > 16:
        return
    if op.name in LOGS or _is_error(seen, op) or _normalised(seen, op):
        yield Term(op, sign, line)
        return
    ahead = [one for one in op.inputs if seen.values[one].requires_grad]
    if op.name in NEGATIONS:
        sign, line = _times(sign, -1), op.line
    elif op.name in FACTORS:
        if len(ahead) != 1:
            return
        factor = _sign_of_factor(seen, op, ahead[0])
        if factor == 0:
            return
        sign, line = _times(sign, factor), op.line if factor == -1 else line
    elif op.name in DIFFERENCES:
        turned = subtracted(op)
        for one in ahead:
            minus = one in turned
            yield from _terms(seen, one, _times(sign, -1) if minus else sign, op.line if minus else line, far + 1)
        return
    elif op.name not in KEEPS_SIGN | SUMS | RISES:
        return
    for one in ahead:
        yield from _terms(seen, one, sign, line, far + 1)


def _times(sign: int | None, factor: int | None) -> int | None:
    return None if sign is None or factor is None else sign * factor


def _is_error(seen: Observation, op: Ran) -> bool:
    """Whether an op is an error, never below 0: a loss, or the square or the size of what an answer lacks to its target."""
    if op.name in POSITIVE:
        return True
    even = op.name in ("abs", "square") or (op.name == "pow" and 2 in op.options.values())
    less = seen.maker(seen.values[op.inputs[0]]) if even and op.inputs else None
    if less is None or less.name not in DIFFERENCES or len(less.inputs) != 2:
        return False
    return sum(seen.values[nr].requires_grad for nr in less.inputs) == 1


def _normalised(seen: Observation, op: Ran) -> bool:
    """True if an op subtracts the logarithm of the sum from scores, which gives logarithms of probabilities."""
    makers = [seen.maker(seen.values[nr]) for nr in op.inputs[1:]]
    return op.name in DIFFERENCES and any(maker is not None and maker.name == "logsumexp" for maker in makers)


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
        elif term.sign == -1 and (alone or (len(seen.optimizers) == 1 and _grows(seen, term.op))):
            return term.line
    return None


def _wholly_turned(seen: Observation, each: Through, terms: list[Term]) -> int | None:
    """The line that gives a loss of several parts its sign, where all are turned: a bound such as `log_px - kl`, made small."""
    nr = each.roots[0]
    for _ in range(16):
        op = seen.maker(seen.values[nr])
        learnt = [one for one in op.inputs if seen.values[one].requires_grad] if op is not None else []
        if op is None or not learnt:
            return None
        if len(learnt) == 1:
            if op.name not in KEEPS_SIGN and (op.name not in FACTORS or _sign_of_factor(seen, op, learnt[0]) != 1):
                return None
            nr = learnt[0]
            continue
        if op.name != "sub" or (seen.values[learnt[1]].low or -1.0) < 0:
            return None
        inner = seen.above(learnt[:1])
        good = [one for one in terms if set(one.op.outputs) & inner]
        turned = (one.sign == (-1 if _is_error(seen, one.op) else 1) for one in good)
        return _asked_for(seen, each) if good and all(turned) else None
    return None


def _apart(seen: Observation, each: Through, term: Term) -> int | None:
    """The line that ends the part of a loss that `term` is in, before it is joined to other parts; None for a loss of one part."""
    nr, joined = each.roots[0], False
    for _ in range(16):
        op = seen.maker(seen.values[nr])
        learnt = [one for one in op.inputs if seen.values[one].requires_grad] if op is not None else []
        if op is None or not (op.name in ADDITIVE and len(learnt) > 1):
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
        minus = op.name in NEGATIONS or (op.name in FACTORS and _sign_of_factor(seen, op, ahead[0]) == -1)
        if op.name in DIFFERENCES:
            minus = ahead[0] in subtracted(op)
        minuses += minus
        nr = ahead[0]
    return minuses % 2 == 0


def _grows(seen: Observation, op: Ran) -> bool:
    """True if an op's result grew from its first run to its last."""
    sizes = [
        seen.values[one.outputs[0]].peak
        for one in seen.ops
        if one.line == op.line and one.name == op.name and one.outputs
    ]
    known = [size for size in sizes if size is not None and math.isfinite(size)]
    return len(known) > 2 and known[-1] > 1.02 * known[0]


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
    if op.line is not None and _only_compares(seen, each, op.line):
        return op.line
    return op.stack[-len(each.stack)] if 0 < len(each.stack) <= len(op.stack) else op.line


def _only_compares(seen: Observation, each: Through, line: int) -> bool:
    """Whether a line stands in a function that makes a loss of answers: nothing that learns is used in it."""
    span = seen.places.function_around(line)
    makers = (seen.maker(seen.values[nr]) for nr in seen.behind(each))
    within = [
        op for op in makers if op is not None and span is not None and any(span[0] <= at <= span[1] for at in op.stack)
    ]
    return bool(within) and all(
        seen.values[nr].leaf is None or not seen.values[nr].requires_grad for op in within for nr in op.inputs
    )


def _compared_sides(seen: Observation) -> Iterator[tuple[Ran, int, int]]:
    """Each op that compares predictions with labels: a loss, or a difference whose square or magnitude is used."""
    for op in seen.ops:
        if len(op.inputs) < 2 or not op.recorded:
            continue
        a, b = op.inputs[:2]
        if op.name in TARGETED:
            yield op, a, b
        elif op.name in FACTORS and (sides := _soft_labels(seen, a, b)) is not None:
            yield op, *sides
        elif (
            op.name in DIFFERENCES
            and seen.values[a].requires_grad != seen.values[b].requires_grad
            and compared(seen, op.outputs[0])
        ):
            yield (op, a, b) if seen.values[a].requires_grad else (op, b, a)


def _soft_labels(seen: Observation, a: int, b: int) -> tuple[int, int] | None:
    """Of a product the logarithms of the answers, and the shares of the classes that they are weighted with."""
    for answers, labels in ((a, b), (b, a)):
        maker = seen.maker(seen.values[answers])
        given = seen.values[labels]
        if (
            maker is not None
            and maker.name in LOGS
            and not given.requires_grad
            and given.shape == seen.values[answers].shape
        ):
            return answers, labels
    return None


def _pairs(seen: Observation) -> Iterator[Finding]:
    """Inputs and their labels, taken in different random orders."""
    shuffles = {nr for op in seen.ops if op.name == "randperm" for nr in op.outputs}
    if not shuffles:
        return
    for op, *sides in _compared_sides(seen):
        answers, labels = (_orders(seen, nr, shuffles) for nr in sides)
        if answers is None and labels is None:
            # Rows mixed with rows in another order, as in mixup: the order must be one on both sides.
            answers, labels = (_orders(seen, nr, shuffles, mixed=True) for nr in sides)
            if not (answers and labels):
                continue
        if answers is None or labels is None or len(answers) > 1 or len(labels) > 1 or not (answers or labels):
            continue
        if set(answers) == set(labels):
            continue
        rows = {seen.values[nr].shape for nr in (*answers, *labels)}
        if len(rows) != 1:
            continue
        if not (answers and labels) and not _as_many(
            seen, sides[bool(answers)], next(iter((answers or labels).values()))
        ):
            continue  # no labels of these rows: numbers that the batch itself is given, as in a contrastive loss
        if answers and labels:
            _, taken = next(iter(labels.items()))
            other = next(iter(answers.values()))
            apart = (one for one, two in zip(taken.stack, other.stack, strict=False) if one != two)
            at = next(apart, taken.line)  # past a helper that both went through
            said = f"Line {at}, `{seen.places.code(at)}`, puts the labels in a different random order than the inputs"
        else:
            order, taken = next(iter((answers or labels).items()))
            at = taken.line
            what, rest = ("inputs", "labels") if answers else ("labels", "inputs")
            said = f"Line {at}, `{seen.places.code(at)}`, puts the {what} in a random order, but not the {rest}"
            sliced = _sliced(seen, sides[bool(answers)], seen.values[order].op or 0)
            if sliced is not None and sliced.line != taken.line:
                said += f", of which line {sliced.line}, `{seen.places.code(sliced.line)}`, takes a slice in the order that they have"
                taken, at = sliced, sliced.line
        yield Finding(
            "shuffled-apart", at, False,
            f"{said}: `{op.name}` in line {op.line} compares each answer with the label of another row.",
            "Draw one order and use it for both: `order = T.randperm(len(x)); x, y = x[order], y[order]`.",
            [], [at or 0, taken.line or 0, op.line or 0], 5, where=taken.where, share=0.9,
        )  # fmt: skip
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


def _outside_shuffles(seen: Observation) -> Iterator[Finding]:
    """Orders drawn by NumPy or by Python: one that came to the inputs and not to the labels, or the other way round."""
    if not seen.shuffles:
        return
    shuffles = [line for line in dict.fromkeys(seen.shuffles) if not seen.places.yields(line)]
    carried = {line: seen.places.carried(line) for line in shuffles}
    for op, *sides in _compared_sides(seen):
        answers, labels = (_data_names(seen, nr) for nr in sides)
        for line, names in carried.items():
            if not answers or not labels or bool(answers & names) == bool(labels & names):
                continue
            others = [
                one for one in carried if one != line and bool(answers & carried[one]) != bool(labels & carried[one])
            ]
            place = max(line, *others) if others else line
            what, rest = ("inputs", "labels") if answers & carried[place] else ("labels", "inputs")
            yield Finding(
                "shuffled-apart", place, False,
                f"Line {place}, `{seen.places.code(place)}`, puts the {what} in a random order that the {rest} do not have: `{op.name}` in line "
                f"{op.line} holds each answer against the label of another row.",
                "Draw one order and take both by it: `order = np.random.permutation(len(x)); x, y = x[order], y[order]`.",
                sorted(answers & names or labels & names), [place, *others, op.line or 0], 5, share=0.9,
            )  # fmt: skip
            return


def _data_names(seen: Observation, nr: int) -> set[str]:
    """The names of the data that a value comes from, without parameters."""
    above = (seen.values[one] for one in seen.above([nr]))
    return {
        re.split(r"[\[.]", value.name)[0]
        for value in above
        if value.name and value.leaf is None and not value.requires_grad
    }


def _viewed(seen: Observation) -> Iterator[Finding]:
    """A view that gives sizes in another order: unlike a transpose it mixes the places, and the rows with each other."""
    told = set()
    for op in seen.ops:
        if op.name not in VIEWS or op.library or op.line is None or op.line in told or not (op.inputs and op.outputs):
            continue
        given, made = seen.values[op.inputs[0]], seen.values[op.outputs[0]]
        sizes, wanted = ([size for size in one.shape if size != 1] for one in (given, made))
        if not made.floating or _joins(sizes, wanted):
            continue
        permuted = sorted(sizes) == sorted(wanted)
        if not permuted and not (len(sizes) > len(wanted) > 1):
            continue
        before = seen.maker(given)
        if before is not None and before.name in JOINS:
            continue  # the shift of relative positions: padded by one, and viewed on purpose
        above = seen.above([given.nr])
        swapped = None if permuted else _swapped(seen, above, given, wanted)
        if not permuted and swapped is None:
            continue
        from_data = any(one.leaf is None and not seen.inputs(one) for one in map(seen.values.__getitem__, above))
        if not from_data or not any(each.done and made.nr in seen.behind(each) for each in seen.passes):
            continue
        told.add(op.line)
        code = seen.places.code(op.line)
        turn = _turn(given.shape, made.shape) if permuted else ""
        call = re.findall(r"\.(?:view|reshape)\([^()]*\)", code)
        fix = (
            f"Swap the dimensions instead: `x{turn}`."
            if turn
            else "Swap the dimensions with transpose() or permute() instead."
        )
        if swapped is not None:
            fix = f"Swap the dimensions back first, as line {swapped.line} swapped them: `x.transpose(1, 2).reshape(…)` for heads in dimension 1."
        yield Finding(
            "wrong-dim", op.line, False,
            f"Line {op.line}, `{code}`: `{op.name}` gives {given.shape} the shape {made.shape}. That is no transpose: the numbers keep their order in memory, so "
            "each place now holds numbers of other places.",
            fix, [given.name] if given.name else [], [op.line, *([swapped.line or 0] if swapped is not None else [])], 5,
            (code, code.replace(call[0], turn)) if turn and len(call) == 1 else None, op.where, [given.nr, made.nr], made.nr, share=0.9,
        )  # fmt: skip


def _joins(sizes: list[int], wanted: list[int]) -> bool:
    """Whether each of the wanted sizes is one of the sizes, or the product of neighbours."""
    left = list(sizes)
    for size in wanted:
        whole = 1
        while whole < size and left:
            whole *= left.pop(0)
        if whole != size:
            return False
    return not left


def _swapped(seen: Observation, above: set[int], given: Seen, wanted: list[int]) -> Ran | None:
    """The swap of dimensions that was not undone: before it, neighbours joined would have given the wanted sizes."""
    for nr in sorted(above, reverse=True):
        maker = seen.maker(seen.values[nr])
        if maker is None or maker.name not in SWAPS or not maker.inputs or seen.values[nr].shape != given.shape:
            continue
        if _joins([size for size in seen.values[maker.inputs[0]].shape if size != 1], wanted):
            return maker
    return None


def _turn(before: tuple[int, ...], after: tuple[int, ...]) -> str:
    """The call that turns one shape into the other; empty where equal sizes leave a choice."""
    if len(before) != len(after) or len(set(before)) != len(before):
        return ""
    order = [before.index(size) for size in after]
    moved = [place for place, dim in enumerate(order) if place != dim]
    return f".transpose({moved[0]}, {moved[1]})" if len(moved) == 2 else f".permute({', '.join(map(str, order))})"
