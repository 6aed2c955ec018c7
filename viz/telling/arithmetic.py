"""Why a number is what it is: the products that made an entry of a value or gradient, found from a recording alone.

The op is done again on the recording's own numbers, and its local derivatives are asked for one by one. So there is one
mechanism for a product, a mean, a broadcast, a convolution or a softmax. Only what comes out as recorded is told.
"""

from __future__ import annotations

import ast
import functools
import itertools
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from viz import engines
from viz.engines import CORE
from viz.recording import notation
from viz.recording.graph import Array, Op, Value
from viz.recording.notation import number
from viz.recording.recording import Event, Recording

SAME = 2e-3  # how far a sum may be from what was recorded, relative to its largest term: float16 has three digits
_POWERS = str.maketrans("0123456789−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
Index = tuple[int, ...]
Forward = Callable[..., Any]


@dataclass(frozen=True)
class Term:
    """One product of a sum: its factors, and what each of them is."""

    factors: tuple[float, ...]
    labels: tuple[str, ...]

    @property
    def product(self) -> float:
        """The product of the factors."""
        return math.prod(self.factors)


@dataclass(frozen=True)
class Part:
    """What one op gave to an entry: the sum of `terms`, or `formula` where it is no sum of products."""

    source: str  # the op, as a person says it
    terms: tuple[Term, ...]
    result: float
    formula: str = ""

    def written(self, most: int = 4) -> str:
        """The sum in numbers: `2 × 3 + 4 × 0.5`, with at most `most` of its terms."""
        if self.formula:
            return self.formula
        shared = {term.factors[1] for term in self.terms if len(term.factors) == 2 and not term.labels[1]}
        if len(self.terms) > 1 and len(shared) == 1 and all(len(term.factors) == 2 for term in self.terms):
            (one,) = shared  # a mean: the sum, and what all of it is divided by
            whole = Part(self.source, tuple(Term(term.factors[:1], term.labels[:1]) for term in self.terms), 0.0)
            below = (
                f"÷ {number(1 / one)}" if math.isclose(1 / one, round(1 / one), rel_tol=1e-6) else f"× {signed(one)}"
            )
            return f"({whole.written(most)}) {below}"
        # The largest terms say most of it.
        ordered = (
            sorted(self.terms, key=lambda term: -abs(term.product))[:most] if len(self.terms) > most else self.terms
        )
        text = " + ".join(_product(term, not position) for position, term in enumerate(ordered))
        left = len(self.terms) - len(ordered)
        return f"{text} + {left} more" if left else text or "0"


def _product(term: Term, first: bool) -> str:
    """A product; only the first number of a sum needs no brackets if it is negative."""
    return " × ".join(
        number(factor) if first and not position else signed(factor) for position, factor in enumerate(term.factors)
    )


def signed(value: float) -> str:
    """A number, in brackets if it is negative.

    >>> signed(-2.0), signed(2.0)
    ('(−2)', '2')
    """
    text = number(value)
    return f"({text})" if text.startswith("−") else text


def place(title: str, index: Index) -> str:
    """An entry of a tensor as Python writes it: `W[0, 1]`; a scalar has no index."""
    return f"{title}[{', '.join(map(str, index))}]" if index else title


def numbers_of(array: Array | None) -> np.ndarray | None:
    """All the numbers of a recorded array, or None if it is a summary, or complex."""
    if array is None or array.data is None or array.dtype.startswith("complex"):
        return None
    try:
        return np.array(array.data, dtype=float).reshape(array.shape)
    except (TypeError, ValueError):
        return None


class Arithmetic:
    """Answers for one recording."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.graph = recording.graph
        self._done: dict[str, tuple[Forward, list[Any]] | None] = {}

    @cached_property
    def _runs(self) -> dict[tuple[int, str], Event]:
        return {(event.pass_nr, event.node or ""): event for event in self.recording.events if event.kind == "run"}

    @cached_property
    def passes(self) -> list[int]:
        """The numbers of the backward passes, in order."""
        return list(dict.fromkeys(event.pass_nr for event in self.recording.events if event.kind == "backward"))

    def numbers(self, key: str) -> np.ndarray | None:
        """All the numbers of a value; if nothing has read a layer's transposed weight, they come from its weight."""
        value = self.graph.values[key]
        op = self.graph.ops.get(value.op or "")
        if value.array is not None or op is None or notation.base_name(op) not in _SHAPES:
            return numbers_of(value.array)
        T, whole = engines.load(CORE).module, self.numbers(op.inputs[0] or "") if op.inputs else None
        if whole is None:
            return None
        for forward in _forwards(T, op, value):
            result = forward(T.tensor(whole.tolist(), dtype=T.float64).reshape(whole.shape)).numpy()
            if result.shape == tuple(value.shape or ()):
                return np.asarray(result)
        return None

    # --- a value ---

    def value(self, key: str, index: Index) -> Part | None:
        """How entry `index` of a value was computed from its op's operands; None if it is a leaf, or cannot be told."""
        value = self.graph.values[key]
        op = self.graph.ops.get(value.op or "")
        recorded = self.numbers(key)
        again = None if op is None else self._again(op)
        if op is None or again is None or recorded is None or index not in np.ndindex(recorded.shape):
            return None
        result = float(recorded[index])
        forward, operands = again
        keys = [key for key in op.inputs if key is not None]
        rows = _row(forward, operands, value.output_nr, index)
        used = {place_: np.argwhere(row) for place_, row in enumerate(rows) if row is not None}
        formula = self._formula(op, keys, operands, used, index)
        if formula:
            return Part(notation.symbol(op), (), result, formula)

        def by(slot: int) -> Callable[[list[Any]], np.ndarray | None]:
            return lambda coded: _row(forward, coded, value.output_nr, index)[slot]

        names = {code: self._names(operands, keys, code, by(code)) for code in used}
        for chosen in _subsets(list(used)):
            terms = []
            for code in chosen:
                row, whole = rows[code], operands[code].detach().numpy()
                for at in map(tuple, used[code].tolist()):
                    local = 0.0 if row is None else float(row[at])
                    label = names[code](at, local)
                    alone = local == 1 and not label
                    factors, labels = (float(whole[at]), local), (place(self._title(keys[code]), at), label)
                    terms.append(Term(factors[:1], labels[:1]) if alone else Term(factors, labels))
            if terms and _close(sum(term.product for term in terms), result, terms):
                return Part(notation.symbol(op), tuple(terms), result)
        return None

    def _formula(self, op: Op, keys: list[str], operands: list[Any], used: dict[int, Any], index: Index) -> str:
        """The entry as mathematics on the numbers of its operands; empty if it is a sum over several entries."""
        name = notation.base_name(op)
        if name in ("softmax", "log_softmax") and len(used) >= 1:
            whole = operands[0].detach().numpy()
            entries = [number(whole[tuple(at)]) for at in self._group(whole.shape, op, index)]
            parts = [f"e^{entry}" for entry in entries]
            below = " + ".join(parts[:6]) + (f" + {len(parts) - 6} more" if len(parts) > 6 else "")
            own = number(whole[index])
            return f"e^{own} ÷ ({below})" if name == "softmax" else f"{own} − ln({below})"
        single = all(len(at) <= 1 for at in used.values())
        shape = tuple(self.graph.values[op.outputs[0]].shape or ())
        if not single or name in _SHAPES:
            return ""
        if any(operand.numel() > 1 and not operand.is_floating_point() for operand in operands):
            return ""  # an index chooses entries
        texts = {}
        for key, operand in zip(keys, operands, strict=True):
            try:
                whole = np.broadcast_to(operand.detach().numpy(), shape)
            except ValueError:  # it is no op of entry by entry
                return ""
            texts[key] = number(float(whole[index]))
        told = notation.applied(op, lambda key: texts.get(key, "?"))
        return re.sub(r" to the power (−?\d{1,2})$", lambda match: match[1].translate(_POWERS), told)

    def _group(self, shape: tuple[int, ...], op: Op, index: Index) -> Iterator[Index]:
        """The entries that a softmax divides among itself."""
        again = self._again(op)
        assert again is not None
        row = _row(*again, 0, index)[0]
        assert row is not None
        yield from map(tuple, np.argwhere(row).tolist()) if row.any() else iter([index])

    # --- a gradient ---

    def gradient(self, key: str, index: Index, pass_nr: int | None = None) -> list[Part]:
        """What each use of a value gave to entry `index` of its gradient in a pass, by default the last to reach it."""
        parts = []
        for event, slot in self._sent(key, self._pass_of(key) if pass_nr is None else pass_nr):
            part = self._given(event, slot, index)
            if part is not None:
                parts.append(part)
        return parts

    def arrived(self, key: str, pass_nr: int | None = None) -> np.ndarray | None:
        """The complete gradient of a value in a pass."""
        value = self.graph.values[key]
        event = self._runs.get((self._pass_of(key) if pass_nr is None else pass_nr, value.op or value.accumulate or ""))
        for gradient in event.gradients if event is not None else ():
            if gradient.value == key or (value.accumulate and event is not None and event.node == value.accumulate):
                return numbers_of(gradient.array)
        return None

    def _pass_of(self, key: str) -> int:
        value = self.graph.values[key]
        node = value.op or value.accumulate or ""
        return next((nr for nr in reversed(self.passes) if (nr, node) in self._runs), -1)

    def _sent(self, key: str, pass_nr: int) -> list[tuple[Event, int]]:
        return [
            (event, slot)
            for event in self.recording.events
            if event.kind == "send" and event.pass_nr == pass_nr
            for slot, gradient in enumerate(event.gradients)
            if gradient.value == key and gradient.array is not None
        ]

    def _given(self, event: Event, slot: int, index: Index) -> Part | None:
        op = self.graph.ops.get(event.node or "")
        sent = numbers_of(event.gradients[slot].array)
        if op is None or sent is None or index not in np.ndindex(sent.shape):
            return None
        result = float(sent[index])
        source = f"{notation.symbol(op)}, line {op.line}" if op.line else notation.symbol(op)
        again = self._again(op)
        coming = self._runs.get((event.pass_nr, event.node or ""))
        if again is None or coming is None:
            return Part(source, (), result)
        key = event.gradients[slot].value
        operands = [key for key in op.inputs if key is not None]
        # The same tensor may be used twice: its first use is sent first.
        nth = sum(gradient.value == key for gradient in event.gradients[:slot])
        slots = [at for at, operand in enumerate(operands) if operand == key]
        if nth >= len(slots):
            return Part(source, (), result)
        terms = self._terms(again, op, coming, operands, slots[nth], index)
        fits = terms is not None and _close(sum(term.product for term in terms), result, terms)
        return Part(source, tuple(terms or ()) if fits else (), result)

    def _terms(
        self, again: tuple[Forward, list[Any]], op: Op, coming: Event, keys: list[str], slot: int, index: Index
    ) -> list[Term] | None:
        terms = []
        for gradient in coming.gradients:
            upstream = numbers_of(gradient.array)
            if gradient.array is None:
                continue
            if upstream is None:
                return None
            title = self._title(gradient.value)
            ask = functools.partial(_column, again[0], output=gradient.output_nr, slot=slot, index=index)
            column = ask(again[1])
            if column is None:
                continue
            name = self._names(again[1], keys, slot, ask)
            for at in map(tuple, np.argwhere(column).tolist()):
                local = float(column[at])
                slope = f"∂{place(title, at)}/∂{place(self._title(keys[slot]), index)}"
                labels = f"∂/∂{place(title, at)}", name(at, local) or slope
                terms.append(Term((float(upstream[at]), local), labels))
        return terms

    # --- doing an op again ---

    def _title(self, key: str | None) -> str:
        return self.graph.values[key].title if key is not None else ""

    def _names(
        self, operands: list[Any], keys: list[str], slot: int, ask: Callable[[list[Any]], np.ndarray | None]
    ) -> Callable[[Index, float], str]:
        """Names a local derivative by the entry of another operand that it is, such as `W[0, 1]`; empty if it is none.

        `ask` returns the derivatives by operand `slot` for other operands; if these count from 1, they are the places.
        """
        coded: list[tuple[int, np.ndarray]] = []
        arange = engines.load(CORE).module.arange
        for other, operand in enumerate(operands):
            if other == slot or not operand.is_floating_point():
                continue
            codes = arange(1.0, operand.numel() + 1.0, dtype=operand.dtype).reshape(operand.shape)
            numbers = ask([codes if position == other else operand for position, operand in enumerate(operands)])
            if numbers is not None:
                coded.append((other, numbers))

        def name(entry: Index, local: float) -> str:
            for other, codes in coded:
                code, operand = float(codes[entry]), operands[other]
                if not (code.is_integer() and 1 <= code <= operand.numel()):
                    continue
                index = tuple(int(i) for i in np.unravel_index(int(code) - 1, tuple(operand.shape)))
                if math.isclose(float(operand.detach().numpy()[index]), local, rel_tol=1e-9, abs_tol=1e-12):
                    return place(self._title(keys[other]), index)
            return ""

        return name

    def _again(self, op: Op) -> tuple[Forward, list[Any]] | None:
        """The op as a function of its operands, and these, in float64; None if a rerun fails or comes out otherwise."""
        if op.key not in self._done:
            self._done[op.key] = self._find(op)
        return self._done[op.key]

    def _find(self, op: Op) -> tuple[Forward, list[Any]] | None:
        T = engines.load(CORE).module
        operands = [_tensor(T, self.graph.values[key], self.numbers(key)) for key in op.inputs if key is not None]
        if op.custom or not operands or any(operand is None for operand in operands):
            return None
        for forward in _forwards(T, op, self.graph.values[op.outputs[0]]) if op.outputs else ():
            try:
                outputs = _outputs(forward(*operands))
            except Exception:  # these arguments do not fit these operands: the next
                continue
            results = [self.graph.values[key] for key in op.outputs]
            if all(
                result.output_nr < len(outputs) and _equal(outputs[result.output_nr], self.numbers(result.key))
                for result in results
            ):
                return forward, operands
        return None


_RESHAPES = {"view", "reshape", "unsafe_view", "reshape_alias", "squeeze", "unsqueeze"}
_SHAPES = _RESHAPES | {"expand", "t", "transpose", "permute", "clone"}


def _forwards(T: Any, op: Op, out: Value) -> Iterator[Forward]:
    """Functions that may be the op, likeliest first: with the call's arguments, or by its name and result's shape."""
    F, name, shape = T.nn.functional, notation.base_name(op), tuple(out.shape or ())
    called = _called(T, op)
    if called is not None:
        yield called
    if name in ("mm", "bmm", "mv", "dot", "matmul"):
        yield lambda a, b: a @ b
    elif name == "addmm":
        yield lambda c, a, b: c + a @ b
    elif name in ("t", "numpy_t", "transpose", "permute"):
        yield lambda a: a.permute(*reversed(range(a.dim())))
        for order in itertools.permutations(range(len(shape))):
            yield lambda a, order=order: a.permute(*order)
    elif name in _RESHAPES:
        yield lambda a: a.reshape(shape)
    elif name == "expand":
        yield lambda a: a.expand(shape)
    elif name in ("softmax", "log_softmax"):
        yield lambda a: getattr(T, name)(a, -1 if a.dim() != 1 else 0)
        yield lambda a: getattr(T, name)(a, 1)
    elif name == "nll_loss":
        for how in ("mean", "sum", "none"):
            yield lambda a, target, how=how: F.nll_loss(a, target, reduction=how)
    elif name == "index":
        yield lambda a, *chosen: a[chosen]
    elif name == "embedding":
        yield lambda a, chosen: a[chosen]
    elif name in ("convolution", "conv2d", "conv1d"):
        for stride, padding in itertools.product((1, 2, 3), (0, 1, 2)):
            yield lambda *operands, s=stride, p=padding: _convolved(F, operands, s, p)
    elif name in ("add", "sub", "mul", "div") and len(op.inputs) == 2 and None not in op.inputs:
        yield lambda a, b: getattr(T, name)(a, b)
    elif name in ("mse_loss", "l1_loss", "binary_cross_entropy_with_logits", "binary_cross_entropy"):
        yield getattr(F, name)
    elif name in ("sum", "mean"):
        yield lambda a: getattr(T, name)(a)
        for dim, keep in itertools.product(range(3), (False, True)):
            yield lambda a, dim=dim, keep=keep: getattr(T, name)(a, dim=dim, keepdim=keep)
    elif name in ("relu", "tanh", "sigmoid", "exp", "log"):
        yield lambda a: getattr(T, name)(a)


def _convolved(F: Any, operands: tuple[Any, ...], stride: int, padding: int) -> Any:
    return (F.conv1d if operands[0].dim() == 3 else F.conv2d)(*operands, stride=stride, padding=padding)


def _called(T: Any, op: Op) -> Forward | None:
    """The call that the program made, on other operands; None if an argument is not known."""
    if not op.arguments:
        return None
    name = op.function.strip("_")
    homes = [home for home in (T, T.nn.functional, T.Tensor) if name in dir(home)]
    function = next(filter(None, (getattr(home, name, None) for home in homes)), None)  # an absent name is listed, too
    if function is None or op.function.startswith("__r"):
        return None
    fixed: list[tuple[str, bool, Any]] = []
    for argument in op.arguments:
        try:
            text = None if argument.value is not None else ast.literal_eval(argument.text)
        except (ValueError, SyntaxError):
            return None
        fixed.append((argument.keyword, argument.value is not None, text))
    order = [argument.value for argument in op.arguments if argument.value is not None]
    if order != [key for key in op.inputs if key is not None]:
        return None

    def forward(*operands: Any) -> Any:
        left = iter(operands)
        filled = [(keyword, next(left) if missing else fixed_) for keyword, missing, fixed_ in fixed]
        return function(
            *(v for keyword, v in filled if not keyword), **{keyword: v for keyword, v in filled if keyword}
        )

    return forward


def _tensor(T: Any, value: Value, recorded: np.ndarray | None) -> Any:
    """A recorded value as a tensor of float64, or of integers; None if it is not recorded in full."""
    if recorded is None:
        return None
    kind = value.dtype
    if kind.startswith(("float", "bfloat")):
        return T.tensor(recorded.tolist(), dtype=T.float64).reshape(recorded.shape)
    return T.tensor(recorded.astype(bool if kind == "bool" else int).tolist()).reshape(recorded.shape)


def _outputs(outputs: Any) -> list[Any]:
    return list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]


def _equal(computed: Any, recorded: np.ndarray | None) -> bool:
    if recorded is None or tuple(computed.shape) != recorded.shape:
        return False
    numbers = computed.detach().numpy().astype(float)
    return bool(np.allclose(numbers, recorded, rtol=SAME, atol=1e-6, equal_nan=True))


def _row(forward: Forward, operands: list[Any], output: int, index: Index) -> list[np.ndarray | None]:
    """The derivatives of one entry of a result by every entry of each operand; None for an operand without any."""
    outputs, asked = _asked(forward, operands, output)
    wanted = [tensor for tensor in asked if tensor.requires_grad]
    if not outputs.requires_grad:
        return [None] * len(operands)
    grad = engines.load(CORE).module.autograd.grad
    gradients = iter(grad(outputs[index] if index else outputs, wanted, allow_unused=True))
    rows = []
    for tensor in asked:
        row = next(gradients) if tensor.requires_grad else None
        rows.append(None if row is None else row.numpy())
    return rows


def _column(forward: Forward, operands: list[Any], output: int, slot: int, index: Index) -> np.ndarray | None:
    """The derivatives of every entry of a result by one entry of an operand; None if there are none.

    What goes back is linear in what comes: two passes find them all.
    """
    T = engines.load(CORE).module
    outputs, asked = _asked(forward, operands, output)
    if not outputs.requires_grad or not asked[slot].requires_grad:
        return None
    coming = T.zeros(outputs.shape, dtype=outputs.dtype, requires_grad=True)
    (sent,) = T.autograd.grad(outputs, [asked[slot]], coming, create_graph=True, allow_unused=True)
    if sent is None or not sent.requires_grad:
        return None
    (column,) = T.autograd.grad(sent[index] if index else sent, [coming], allow_unused=True)
    return None if column is None else column.numpy()


def _asked(forward: Forward, operands: list[Any], output: int) -> tuple[Any, list[Any]]:
    """A result of the op on new leaves, and these."""
    asked = [operand.detach().requires_grad_() if operand.is_floating_point() else operand for operand in operands]
    return _outputs(forward(*asked))[output], asked


def _subsets(places: list[int]) -> Iterator[list[int]]:
    """One operand, or all: what the terms of a sum of products run over."""
    yield from ([place_] for place_ in places)
    if len(places) > 1:
        yield places
        yield from (list(pair) for pair in itertools.combinations(places, 2) if len(places) > 2)


def _close(computed: float, recorded: float, terms: list[Term]) -> bool:
    largest = max((abs(term.product) for term in terms), default=0.0)
    return math.isclose(computed, recorded, rel_tol=SAME, abs_tol=SAME * max(largest, 1e-12))
