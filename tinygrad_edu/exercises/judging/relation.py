"""What a wrong answer has to do with the right one: the simplest relation that holds on *all* inputs of a criterion.

It is for answers that behave like none of the known mistakes. It claims nothing about how they were made, only what the
numbers show: a factor, a sign, a swapped pair, a missing axis, a term too much, or which inputs go wrong.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import plain
from ..plain import Data

NEAR = 1e-3  # relations are of float32 numbers, some of them differences
ENOUGH = 2  # inputs that a relation must be seen on
ENOUGH_FOR_A_RULE = 3  # inputs on either side, before a property is said to tell them apart
CHANCE = 0.05  # that some property would tell them apart if right and wrong were dealt out at random


@dataclass(frozen=True)
class Row:
    """One input of a criterion, by parameter, with what was expected and what came."""

    inputs: dict[str, Any]
    expected: Data
    got: Data
    right: bool


def relation(rows: Sequence[Row]) -> str:
    """A sentence that is true of all `rows`, or "" where none was found."""
    shown = [row for row in rows if plain.kind_of(row.got) not in ("an error", "no end", "None")]
    if len(shown) < len(rows) or not shown:
        return ""
    return _by_parts(shown) or _where(rows)


def _by_parts(rows: Sequence[Row]) -> str:
    """What is wrong with each part of a result: the values of a tuple, the entries of a dict, or the result itself."""
    parts = [(_parts(row.expected), _parts(row.got)) for row in rows]
    names = list(parts[0][0])
    if any(list(e) != names or list(g) != names for e, g in parts):
        return ""
    said: list[str] = []
    right = []
    for name in names:
        pairs = [(_array(e[name]), _array(g[name])) for e, g in parts]
        if all(plain.same(e[name], g[name], NEAR) for e, g in parts):
            right.append(name)
        elif any(x is None or y is None for x, y in pairs):
            return ""
        else:
            others = {other: [_array(e[other]) for e, _ in parts] for other in names if other != name}
            truths = all(isinstance(g[name], bool) for _, g in parts)
            sentence = _of_truths(pairs) if truths else _of_part(pairs, rows, others)  # type: ignore[arg-type]
            if not sentence:
                return ""
            said.append(f"{name} {sentence}" if name else f"The result {sentence}")
    told = "; ".join(said)
    if right and said:
        fine = f"{_listed(right)} {'is' if len(right) == 1 else 'are'} right"
        told += f". {fine[:1].upper()}{fine[1:]}"
    return told[:1].upper() + told[1:] + "." if told else ""


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _parts(data: Data) -> dict[str, Data]:
    if isinstance(data, dict) and "dict" in data:
        return {f"`{key}`": value for key, value in data["dict"]}
    sequence = plain.sequence(data)
    if sequence is not None and any(plain.numbers(item) is not None for item in sequence):
        return {f"value {place}": item for place, item in enumerate(sequence, start=1)}
    return {"": data}


def _array(data: Data) -> np.ndarray | None:
    """The numbers of a part, also of True and False, and of lists of numbers."""
    if isinstance(data, bool):
        return np.array(float(data))
    numbers = plain.numbers(data)
    if numbers is not None:
        return np.array(numbers, dtype=float).reshape(plain.shape_of(data))
    items = plain.sequence(data)
    if not items:
        return None
    arrays = [_array(item) for item in items]
    known = [array for array in arrays if array is not None]
    if len(known) < len(arrays) or any(array.shape != known[0].shape for array in known):
        return None
    return np.array(known)


Pairs = list[tuple[np.ndarray, np.ndarray]]


def _of_part(pairs: Pairs, rows: Sequence[Row], others: dict[str, list[np.ndarray | None]]) -> str:
    if any(x.shape != y.shape for x, y in pairs):
        return _rearranged(pairs)  # a wrong shape is told elsewhere
    return (
        _constant(pairs)
        or _scaled(pairs)
        or _swapped(pairs, others)
        or _rearranged(pairs)
        or _in_terms_of(pairs, rows)
        or _in_places(pairs)
        or _of_size(pairs)
    )


def _of_truths(pairs: Pairs) -> str:
    """What is wrong with answers that are True or False."""
    if len(pairs) >= ENOUGH and len({float(y) for _, y in pairs}) == 1:
        return f"is {bool(pairs[0][1])} on every input"
    if len(pairs) >= ENOUGH and _holds(pairs, lambda x: 1 - x):
        return "is the opposite: True where False is right, and False where True is"
    return ""


def _near(x: np.ndarray, y: np.ndarray) -> bool:
    with np.errstate(all="ignore"):
        return x.shape == y.shape and bool(np.allclose(x, y, rtol=NEAR, atol=1e-5, equal_nan=True))


def _holds(pairs: Pairs, change: Callable[[np.ndarray], np.ndarray]) -> bool:
    """Whether `change` makes what came of what was expected, everywhere."""
    try:
        with np.errstate(all="ignore"):
            return all(_near(np.asarray(change(x)), y) for x, y in pairs)
    except (ValueError, IndexError, np.exceptions.AxisError):
        return False


def _constant(pairs: Pairs) -> str:
    first = pairs[0][1]
    if not first.size or len(pairs) < ENOUGH or all(_near(x, pairs[0][0]) for x, _ in pairs):
        return ""
    value = first.flat[0]
    if all(_near(np.full(y.shape, value), y) for _, y in pairs):
        return f"is {_number(value)} on every input"
    return ""


def _swapped(pairs: Pairs, others: dict[str, list[np.ndarray | None]]) -> str:
    for other, expected in others.items():
        if all(x is not None and _near(x, y) for x, (_, y) in zip(expected, pairs, strict=True)):
            return f"is what belongs in {other}"
        if all(x is not None and _near(-x, y) for x, (_, y) in zip(expected, pairs, strict=True)):
            return f"is what belongs in {other}, with the other sign"
    return ""


_REARRANGED: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "has no sign: it is the absolute value of what is expected": np.abs,
    "is the transpose of what is expected": lambda x: x.T,
    "is in reverse order": lambda x: x[::-1],
    "is in reverse order along the last axis": lambda x: x[..., ::-1],
    "is shifted by one place": lambda x: np.roll(x, 1),
    "is shifted by one place, the other way": lambda x: np.roll(x, -1),
    "is sorted": np.sort,
    "is 0 where a negative number is expected": lambda x: np.maximum(x, 0),
    "is 0 where a positive number is expected": lambda x: np.minimum(x, 0),
    "is the square of what is expected": np.square,
    "is the square root of what is expected": np.sqrt,
    "is one divided by what is expected": lambda x: 1 / x,
    "is the exponential of what is expected": np.exp,
    "is the logarithm of what is expected": np.log,
    "is minus the logarithm of what is expected": lambda x: -np.log(x),
    "is the exponential of minus what is expected": lambda x: np.exp(-x),
    "is rounded": np.round,
    "is rounded down": np.floor,
    "is the sign of what is expected": np.sign,
    "is the sum of what is expected, in every place": lambda x: np.full(x.shape, x.sum()),
    "is the mean of what is expected, in every place": lambda x: np.full(x.shape, x.mean()),
}


def _rearranged(pairs: Pairs) -> str:
    seen = [(x, y) for x, y in pairs if x.size]
    if len({tuple(x.ravel()) for x, _ in seen}) < ENOUGH and not any(x.size > 1 for x, _ in seen):
        return ""
    return next((sentence for sentence, change in _REARRANGED.items() if _holds(pairs, change)), "")


def _scaled(pairs: Pairs) -> str:
    """A sign or a factor that is the same number everywhere."""
    ratio = _ratio(pairs)
    if not _various(pairs) or ratio is None or abs(ratio - 1) < NEAR or not _holds(pairs, lambda x: ratio * x):
        return ""
    if abs(ratio) < NEAR:
        return "is nearly 0 on every input"
    said = "has the wrong sign" if abs(ratio + 1) < NEAR else f"is {_number(ratio)} times what is expected"
    return f"{said} on every input"


def _various(pairs: Pairs, enough: int = ENOUGH) -> bool:
    """Whether enough different numbers are expected."""
    return len({float(number) for x, _ in pairs for number in x.flat}) >= enough


def _in_terms_of(pairs: Pairs, rows: Sequence[Row]) -> str:
    """A term, or a factor that is made of the inputs."""
    if not _various(pairs):
        return ""
    term = _term(pairs)
    if term is not None and _various(pairs, ENOUGH_FOR_A_RULE) and _holds(pairs, lambda x: x + term):
        return f"is {_number(abs(term))} too {'large' if term > 0 else 'small'} on every input"
    if len({repr(row.inputs) for row in rows}) <= ENOUGH:
        return ""
    told = {
        "is `{}`, whatever is expected": lambda x, e: e,
        "is `{}` times what is expected": lambda x, e: x * e,
        "is what is expected, divided by `{}`": lambda x, e: x / e,
        "has `{}` too much: subtract it": lambda x, e: x + e,
        "lacks `{}`: add it": lambda x, e: x - e,
        "is `{}` minus what is expected": lambda x, e: e - x,
        "is minus `{}`, whatever is expected": lambda x, e: -e,
    }
    for sentence, change in told.items():
        for name, values in _expressions(rows):
            with np.errstate(all="ignore"):
                if all(_fits(change, x, e, y) for (x, y), e in zip(pairs, values, strict=True)):
                    return sentence.format(name)
    return ""


def _fits(change: Callable, x: np.ndarray, e: np.ndarray, y: np.ndarray) -> bool:
    try:
        made = np.asarray(change(x, e))
    except ValueError:
        return False
    return made.shape == y.shape and _near(made, y)


def _ratio(pairs: Pairs) -> float | None:
    for x, y in pairs:
        for a, b in zip(x.flat, y.flat, strict=True):
            if abs(a) > 1e-6 and math.isfinite(b):
                return float(b / a)
    return None


def _term(pairs: Pairs) -> float | None:
    return next((float(y.flat[0] - x.flat[0]) for x, y in pairs if x.size and math.isfinite(y.flat[0])), None)


def _expressions(rows: Sequence[Row]) -> Iterator[tuple[str, list[np.ndarray]]]:
    """What can be made of the inputs, simplest first: an input, its size, products, sums, differences, quotients. A
    size that is the same on all inputs tells no more than a number."""
    single: dict[str, list[np.ndarray]] = {}
    for name in rows[0].inputs:
        values = [_input(row.inputs.get(name)) for row in rows]
        known = [value for value in values if value is not None]
        if len(known) == len(values):
            single[name] = known
            if any(v.ndim for v in known):
                single[f"{name}.sum()"] = [np.array(v.sum()) for v in known]
                sizes = {f"len({name})": [len(v) if v.ndim else 1 for v in known]}
                if any(v.ndim > 1 for v in known):
                    sizes[f"{name}.size"] = [v.size for v in known]
                single |= {text: [*map(np.array, map(float, all))] for text, all in sizes.items() if len({*all}) > 1}
    yield from single.items()
    yield from ((f"2 * {name}", [2 * value for value in values]) for name, values in single.items())
    made: dict[str, Callable] = {
        "{} * {}": np.multiply,
        "{} + {}": np.add,
        "{} - {}": np.subtract,
        "{} / {}": np.divide,
        "{} @ {}": np.matmul,
    }
    for form, compute in made.items():
        for (a, xs), (b, ys) in itertools.product(single.items(), repeat=2):
            if form in ("{} * {}", "{} + {}") and a > b:
                continue
            try:
                with np.errstate(all="ignore"):
                    yield form.format(a, b), [np.asarray(compute(x, y)) for x, y in zip(xs, ys, strict=True)]
            except ValueError:
                continue


def _input(value: Any) -> np.ndarray | None:
    if isinstance(value, bool | str | tuple) or value is None:  # a tuple is a shape
        return None
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        return None
    return array if array.size <= 64 else None


def _in_places(pairs: Pairs) -> str:
    """Right but for some places: the first, the last, or where it is 0."""
    large = [(x, y) for x, y in pairs if x.ndim and x.size > 1]
    if not large or any(not _near(x, y) for x, y in pairs if x.size <= 1):
        return ""
    for name, places in (("first", slice(0, 1)), ("last", slice(-1, None))):
        if all(_near(np.delete(x.ravel(), places), np.delete(y.ravel(), places)) for x, y in large):
            return f"is right but for its {name} number"
        if all(_near(x.ravel()[places], y.ravel()[places]) for x, y in large):
            return f"is right in its {name} number only"
    if all(_near(np.where(np.isclose(y, 0), 0, x), y) for x, y in large):
        return "is 0 in some places where a number is expected, and right in the others"
    return ""


def _of_size(pairs: Pairs) -> str:
    """Too large or too small, on every input where it is wrong."""
    off = [(x, y) for x, y in pairs if not _near(x, y) and x.size]
    if len(off) < ENOUGH or any(not (np.isfinite(x).all() and np.isfinite(y).all()) for x, y in off):
        return ""
    if len(off) < len(pairs):
        return ""
    for name, larger in (("large", np.greater), ("small", np.less)):
        if all((larger(y, x) | np.isclose(x, y)).all() for x, y in off):
            by = [float(np.abs(y - x).max()) for x, y in off]
            least, most = _number(min(by)), _number(max(by))
            return f"is too {name} on every input, by {least}" + (f" to {most}" if most != least else "")
    return ""


def _where(rows: Sequence[Row]) -> str:
    """Which inputs go wrong: the few that do, or do not, or what tells one input, or a pair of them, apart."""
    named = {_shown(row): row.right for row in rows}
    right, wrong = ([name for name, held in named.items() if held is which] for which in (True, False))
    if not right or not wrong:
        return ""
    if len(right) < ENOUGH_FOR_A_RULE or len(wrong) < ENOUGH_FOR_A_RULE:
        few, which = (right, "right") if len(right) <= len(wrong) else (wrong, "wrong")
        return f"It is {which} on {len(few)} of {len(named)} inputs only: where {'; and where '.join(few)}."
    found, bad = dict(_properties(rows)), [not row.right for row in rows]
    fitting = [name for name, holds in found.items() if holds == bad]
    alike = {tuple(holds) for holds in found.values() if sum(holds) == sum(bad)}
    # Where the same is true of another input, nothing tells which of them matters.
    one_cause = all(_inputs_in(fitting[0]) <= _inputs_in(name) for name in fitting)
    if fitting and one_cause and len(alike) <= CHANCE * math.comb(len(bad), sum(bad)):
        head = f"Of the {len(named)} inputs that were tried, it is right on {len(right)}, and wrong exactly where"
        return f"{head} {fitting[0]}."
    return ""


def _inputs_in(text: str) -> set[str]:
    return set(text.split("`")[1::2])


def _shown(row: Row) -> str:
    return ", ".join(f"{name} = {plain.show(plain.encode(value))}" for name, value in row.inputs.items())


def _properties(rows: Sequence[Row]) -> Iterator[tuple[str, list[bool]]]:
    for a, b in itertools.combinations(rows[0].inputs, 2):  # who takes one for the other is right where they are equal
        yield f"`{a}` differs from `{b}`", [repr(row.inputs[a]) != repr(row.inputs[b]) for row in rows]
    for name in rows[0].inputs:
        values = [row.inputs.get(name) for row in rows]
        if all(isinstance(value, bool | str) or value is None for value in values):
            for value in {repr(value): value for value in values}.values():
                yield f"`{name}` is {value!r}", [other == value for other in values]
                if len({repr(value) for value in values}) > 2:
                    yield f"`{name}` is not {value!r}", [other != value for other in values]
            continue
        arrays = [_input(value) for value in values]
        if any(array is None for array in arrays):
            continue
        numbers = [array for array in arrays if array is not None]
        tests: dict[str, Callable[[np.ndarray], bool]] = {
            "is 0": lambda a: bool((a == 0).all()),
            "is not 0": lambda a: not (a == 0).all(),
            "holds a 0": lambda a: bool((a == 0).any()),
            "is negative": lambda a: bool((a < 0).all()),
            "is positive": lambda a: bool((a > 0).all()),
            "is at most 0": lambda a: bool((a <= 0).all()),
            "holds a negative number": lambda a: bool((a < 0).any()),
            "is 1": lambda a: bool((a == 1).all()),
            "is not 1": lambda a: not (a == 1).all(),
            "is at most 1": lambda a: bool((np.abs(a) <= 1).all()),
            "has one element": lambda a: a.size == 1,
            "has more than one element": lambda a: a.size > 1,
            "has more than two elements": lambda a: a.size > 2,
            "has more than one row": lambda a: a.ndim > 0 and len(a) > 1,
            "has several axes": lambda a: a.ndim > 1,
            "holds different numbers": lambda a: len(set(a.ravel().tolist())) > 1,
            "is empty": lambda a: a.size == 0,
        }
        for text, test in tests.items():
            held = [test(array) for array in numbers]
            if any(held):
                yield f"`{name}` {text}", held
    pairs = itertools.combinations(rows[0].inputs, 2)
    for a, b in pairs:
        xs, ys = ([_input(row.inputs.get(name)) for row in rows] for name in (a, b))
        if any(x is None or y is None for x, y in zip(xs, ys, strict=True)):
            continue
        both = [(x, y) for x, y in zip(xs, ys, strict=True) if x is not None and y is not None]
        if all(x.ndim == y.ndim == 0 for x, y in both):
            yield f"`{a}` is less than `{b}`", [bool(x < y) for x, y in both]
            yield f"`{a}` is greater than `{b}`", [bool(x > y) for x, y in both]
            yield f"`{a}` and `{b}` have different signs", [bool(x * y < 0) for x, y in both]
            yield f"`{a} * {b}` is negative or 0", [bool(x * y <= 0) for x, y in both]


def _number(value: float) -> str:
    """A number as a reader writes it.

    >>> [_number(value) for value in (0.33333, 0.3, 2.0, 1e-7)]
    ['1/3', '0.3', '2', 'nearly 0']
    """
    value = float(value)
    if abs(value) < 1e6 and abs(value - round(value)) < NEAR * max(1.0, abs(value)):
        return f"{round(value)}" if round(value) or not value else "nearly 0"
    for below in (2, 3, 4, 5, 6, 8, 9, 12, 16):
        if math.isfinite(value) and abs(value * below - round(value * below)) < 1e-4 and abs(value) < 10:
            return f"{value:g}" if below in (2, 4, 5, 8) else f"{round(value * below)}/{below}"
    return f"{value:.4g}"


def measured_fault(expected: Data, got: Data) -> str:
    """What a measure found: the entries of a dict that are not as they should be, or what the answer shows instead."""
    if isinstance(expected, str) and isinstance(got, str):
        return f"It shows this: {got}."
    if not all(isinstance(data, dict) and "dict" in data for data in (expected, got)):
        return ""
    right, said = dict((repr(name), value) for name, value in expected["dict"]), []
    for name, value in got["dict"]:
        if not plain.same(right.get(repr(name)), value):
            items = plain.sequence(value)
            said.append(f"{name}: {', '.join(map(plain.show, items))}" if items else f"{name}: {plain.show(value)}")
    return f"{'; '.join(said)}." if said else ""
