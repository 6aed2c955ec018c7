"""Ops along another dimension than they should go: a softmax over the rows, an LSTM over the samples, view() in place of a transpose."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from operator import mul

from viz.diagnosis import families as ops
from viz.diagnosis.observation import Observation, Ran, Seen, Through, first_and_last
from viz.diagnosis.rules.rule import Match, Rule, telling
from viz.diagnosis.rules.zero import layer_line

BATCH_FIRST = "8"  # place of that option in the call of a recurrent layer


def _other_dimension(seen: Observation) -> Iterator[Match]:
    """What works along another dimension than what comes before it, or after it, needs."""
    yield from (*_summed_over(seen), *_hides_nothing(seen))
    for each in first_and_last(seen.passes):
        yield from (*_regrouped(seen, each), *_over_samples(seen, each), *_by_sample(seen, each))
    for op in (one for one in seen.ops if one.name in ops.NORMS and one.recorded and one.inputs):
        dim, shape = op.options.get("dim"), seen.values[op.inputs[0]].shape
        if isinstance(dim, int) and len(shape) > 2 and shape[dim : dim + 1 or None] == (1,):
            yield Match(op, names=[seen.values[op.inputs[0]].name], shape=str(shape), dim=dim, given=ALONE)
            return


def _summed_over(seen: Observation) -> Iterator[Match]:
    """A softmax over a dimension other than the one that the next op sums over, or takes a class from."""
    for op in (one for one in seen.ops if one.name in ("softmax", "log_softmax") and one.recorded and one.outputs):
        value = seen.values[op.outputs[0]]
        rank = len(value.shape)
        dim = _along(op, rank)
        found = _expected(seen, value, op.nr) if dim is not None and -rank <= dim < rank else None
        if dim is None or found is None or found[0] == dim % rank or value.shape[dim] < 2:
            continue
        wanted, user = found
        line = seen.parts[op.owner].line or op.line if op.library and op.owner is not None else op.line
        code = seen.places.code(line)
        changed = re.sub(rf"\bdim ?= ?{dim}\b", f"dim={wanted - rank if dim < 0 else wanted}", code)
        certain = user.name in ("nll_loss", "kl_div", "cross_entropy") and rank == 2
        yield Match(
            line, [op, user], names=[value.name], op=op.name, dim=dim % rank, shape=str(value.shape), user=user.name, wanted=wanted, at_use=user.line,
            takes="takes the classes from" if user.name in ops.TAKES_CLASSES else "sums over", where=op.where,
            given={"certain": certain, "change": (code, changed)},
        )  # fmt: skip


def _hides_nothing(seen: Observation) -> Iterator[Match]:
    """A mask that makes scores 0 before a softmax: a 0 is a score like others, and what it stands for gets its share."""
    for op in (one for one in seen.ops if one.name in ("softmax", "log_softmax") and one.recorded):
        value, made = ops.source(seen, op.inputs[0])
        filled = made is not None and made.name == "masked_fill" and ops.constants(made)[-1:] == [0]
        sides = [seen.values[nr] for nr in made.inputs] if made is not None and made.name in ops.PRODUCTS else []
        masks = [one for one in sides if not one.requires_grad and (one.low, one.peak) == (0.0, 1.0)]
        if made is not None and made.recorded and (filled or (len(sides) == 2 and masks)):
            yield Match(made, [op], names=[value.name], op=op.name, given=HIDES_NOTHING)
            return


def _expected(seen: Observation, value: Seen, after: int) -> tuple[int, Ran] | None:
    """The dimension over which an op expects probabilities to sum to 1, and that op."""
    rank = len(value.shape)
    for user in seen.ops[after + 1 : after + 12]:
        if value.nr not in user.inputs:
            continue
        first, made = user.inputs[0] == value.nr, seen.values[user.outputs[0]] if user.outputs else value
        if user.name in ops.PASSES_ON:
            return _expected(seen, made, user.nr)
        if user.name in ops.SCORE_LOSSES | {"nll_loss"} and rank >= 2 and first:
            return 1, user
        if (user.name == "kl_div" and rank == 2) or (user.name == "ctc_loss" and first):
            return rank - 1, user
        if user.name in ops.TRANSPOSES:
            found = _expected(seen, made, user.nr)
            order = _order(user, rank)
            return (order[found[0]], found[1]) if found is not None and len(order) == rank else None
        if user.name in ops.VIEWS | {"unsqueeze"} and rank >= 2:
            return _through(seen, value, made, user.nr)
        if user.name == "gather" and (along := _along(user)) is not None and made.shape[along] == 1:  # one of each row
            return along % rank, user
        # its last dimension is summed over, or the one before
        if user.name in ("matmul", "bmm") and rank >= 2 + (not first):
            return (rank - 1 - (not first), user) if len(seen.values[user.inputs[-1]].shape) >= 2 else None
        if user.name == "mul" and rank > 2:
            total = next((one for one in seen.users(made.nr) if one.name == "sum"), None)
            along = _along(total) if total is not None and len(made.shape) == rank else None
            return (along % rank, total) if along is not None and total is not None else None
        if rank == 2 and user.name in ("__getitem__", "mul", "log"):
            return 1, user
    return None


def _order(op: Ran, rank: int) -> list[int]:
    """Which dimension of what it was given each of a transpose's is."""
    dims = list(range(rank))
    given = [one % rank for name, one in op.options.items() if type(one) is int and name not in ("0",)]
    if op.name == "permute":
        every = next((one for one in op.options.values() if isinstance(one, tuple)), given)
        return [one % rank for one in every]
    if op.name in ("t", "T", "mT") or len(given) == 2:
        a, b = given if len(given) == 2 else (rank - 2, rank - 1)
        dims[a], dims[b] = dims[b], dims[a]
        return dims
    return []


def _along(op: Ran, rank: int | None = None) -> int | None:
    """The dimension that a call was given."""
    dim = op.options.get("dim", op.options.get("1"))
    if dim is None and "softmax" in op.name and rank is not None:  # which chooses one itself
        return 0 if rank in (0, 1, 3) else 1
    return dim if isinstance(dim, int) and not isinstance(dim, bool) else None


def _through(seen: Observation, before: Seen, after: Seen, op: int) -> tuple[int, Ran] | None:
    """What is expected of a value in another shape, as a dimension of the first one: the last is the last of both, also of rows laid end to end."""
    found = _expected(seen, after, op) if before.shape[-1:] == after.shape[-1:] else None
    return (len(before.shape) - 1, found[1]) if found is not None and found[0] == len(after.shape) - 1 else None


def _regrouped(seen: Observation, each: Through) -> Iterator[Match]:
    """view() that gives dimensions another order: it only splits and joins neighbours, so numbers end up in other rows."""
    views = (one for one in ops.makers(seen, seen.behind(each)) if one.name in ops.VIEWS and not one.library)
    for op in (one for one in views if one.inputs):
        before, after = seen.values[op.inputs[0]], seen.values[op.outputs[0]]
        size = _moved(before.shape, after.shape) if before.floating else None
        if size is not None:
            shapes = [str(before.shape), str(after.shape)]
            yield Match(op, names=[before.name], shapes=shapes, size=size, given=REGROUPED)


def _moved(before: tuple[int, ...], after: tuple[int, ...]) -> int | None:
    """The size of a dimension that stands at the front of a group on one side alone; a group is what two shapes regroup as a whole."""
    ends = set(itertools.accumulate(before, mul)) & set(itertools.accumulate(after, mul))
    for one, other in zip(_groups(before, ends), _groups(after, ends), strict=False):
        # at the front of a group, or at its end
        for first, second in ((one, other), (other, one), (one[::-1], other[::-1]), (other[::-1], one[::-1])):
            splits = second[0] % first[0] == 0  # of a dimension of 8 the first 4 are neighbours
            if len(first) > 1 and first[0] in second[1:] and not splits:
                return first[0]
    return None


def _groups(shape: tuple[int, ...], ends: set[int]) -> Iterator[list[int]]:
    """The dimensions of a shape, without those of size 1, up to each of some counts of numbers."""
    group: list[int] = []
    count = 1
    for size in shape:
        group, count = [*group, size] if size > 1 else group, count * size
        if count in ends and size > 1:
            yield group
            group = []


def _over_samples(seen: Observation, each: Through) -> Iterator[Match]:
    """A recurrent layer, or an attention, that goes along the samples: the loss has one answer for each of its steps, and none for each of its rows."""
    made = ops.makers(seen, seen.behind(each))
    for op in (one for one in made if one.name in ops.SEQUENCES and len(seen.values[one.inputs[0]].shape) > 2):
        shape, batch_first = seen.values[op.inputs[0]].shape, op.options.get(BATCH_FIRST)
        along = (-2, 0) if op.name == "scaled_dot_product_attention" else (1, 0) if batch_first is True else (0, 1)
        steps, rows = (shape[dim] for dim in along)
        on = seen.below(op.outputs)
        losses = [one for one in made if one.name in ops.TARGETED and one.inputs[0] in on]
        answers = [seen.values[one.inputs[0]].shape for one in losses]
        if min(steps, rows) > 1 and answers and all(one[:1] == (steps,) and rows not in one for one in answers):
            line = layer_line(seen, op)
            code = seen.places.code(line)
            makes = batch_first is False and line != op.line
            given = SAMPLES | ({"change": (code, re.sub(r"\)$", ", batch_first=True)", code))} if makes else {})
            yield Match(line, [op], op=op.name, shape=str(shape), steps=steps, rows=rows, given=given)


def _by_sample(seen: Observation, each: Through) -> Iterator[Match]:
    """Rows of a table of positions that are added along the samples: each sample has one of them, and all of its steps the same."""
    made = ops.makers(seen, seen.behind(each))
    answers = [seen.values[one.inputs[0]].shape for one in made if one.name in ops.TARGETED]
    for op in (one for one in made if one.name in ops.SUMS and len(one.inputs) == 2):
        data, table = (seen.values[nr] for nr in op.inputs)
        rows = data.shape[0] if len(data.shape) == 3 else 0
        cut = seen.maker(table)
        if table.shape != (rows, 1, data.shape[-1:] and data.shape[-1]) or min(data.shape[:2]) < 2 or cut is None:
            continue
        taken = cut.name in ops.SPLITS | {"embedding"} and seen.values[cut.inputs[0]].shape[:1] > (rows,)
        if taken and answers and all(one[:1] == (rows,) for one in answers):
            at = cut if cut.line else op
            yield Match(at, [op], names=[table.name], rows=rows, steps=data.shape[1], given=BY_SAMPLE)
            return


ALONE = telling("{at}: `{op}` over dimension {dim} of the shape {shape}, which has length 1, is the size of each number by itself, and not that of a row.",
    "Make one row of what belongs together first: `x.flatten(1).norm(dim=1)`.", share=0.4)  # fmt: skip
REGROUPED = telling("{at}: `{op}` makes {shapes[1]} of {shapes[0]}. It keeps the numbers in their order, so the dimension of {size} has moved, and its numbers have "
        "not: each row holds parts of several.",
    "Swap dimensions with transpose() or permute(), and use view() to split one or join neighbours.", certain=True, share=0.7)  # fmt: skip
HIDES_NOTHING = telling("{at}, makes the scores of some places 0, and `{op}` takes the exponential of each: exp(0) is 1, so what is to be hidden gets its share all the same.",
    "Hide it with a very small number: `scores.masked_fill(mask == 0, -math.inf)`.", kind="mask", share=0.5)  # fmt: skip
BY_SAMPLE = telling("{at}, takes a row of a table for each of the {rows} samples, and adds it to all of its {steps} steps: the steps of a sample cannot be told apart by it.",
    "Take a row for each step: of a table of the shape (1, steps, features), `table[:, :x.size(1)]`.", share=0.4)  # fmt: skip
SAMPLES = telling("{at}: `{op}` is given {shape} and takes the {steps} as its steps, but the loss has an answer for each of these {steps}, as for samples: the samples "
        "are one sequence, each of which is told what came before it.",
    "Give the layer `batch_first=True` if its input is (samples, steps, features); or swap the first two dimensions.", share=0.7)  # fmt: skip
RULES = [
    Rule("wrong-dim", _other_dimension,
        "{at}: `{op}` over dimension {dim} of shape {shape} makes the numbers along that dimension sum to 1, but `{user}` in line {at_use} "
        "{takes} dimension {wanted}.", "Use the dimension that the next op works on: dim={wanted}.", share=0.8),
]  # fmt: skip
