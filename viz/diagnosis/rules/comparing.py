"""What a loss compares: shapes that broadcast, a softmax over the wrong dimension, labels that it never sees."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

import numpy as np

from viz.diagnosis.families import (
    ADDS,
    BY_ELEMENT,
    COMPARISONS,
    DIFFERENCES,
    LOSSES,
    PASSES_ON,
    PRODUCTS,
    TAKES_CLASSES,
)
from viz.diagnosis.finding import Finding
from viz.diagnosis.observation import Observation, Ran, Seen, Through

FAR = 6  # ops that are looked at after a product


def find(seen: Observation) -> Iterator[Finding]:
    """Losses that compare the wrong things."""
    yield from _shapes(seen)
    yield from _dimension(seen)
    yield from _labels(seen)


def _shapes(seen: Observation) -> Iterator[Finding]:
    told = set()
    for each in seen.passes:
        made = {seen.values[nr].op for nr in seen.above(each.roots)}
        for op in (seen.ops[nr] for nr in sorted(nr for nr in made if nr is not None)):
            if op.line in told or len(op.inputs) < 2:
                continue
            a, b = seen.values[op.inputs[0]], seen.values[op.inputs[1]]
            whole = _outgrown(a.shape, b.shape)
            if whole is None and op.name in BY_ELEMENT and _stretched(a, b):
                told.add(op.line)
                yield _several(seen, op, a, b)
                continue
            if whole is None or not (a.requires_grad or b.requires_grad):
                continue
            sure = op.name in BY_ELEMENT
            held = (op.name in DIFFERENCES and compared(seen, op.outputs[0])) or _weighed(seen, op, a, b)
            if not (sure or (held and not _pairwise(seen, a, b))):
                continue
            told.add(op.line)
            rows = max(a.shape[0], b.shape[0])
            code = seen.places.code(op.line)
            names = [one.name for one in (a, b) if one.name]
            yield Finding(
                "broadcast-loss", op.line, sure,
                f"Line {op.line}, `{code}`: shapes {a.shape} and {b.shape} are broadcast to {whole}: each guess is compared "
                f"with all {rows} targets, and the best guess is their mean.",
                "Give both the same shape: `y.unsqueeze(1)`, or `guess.squeeze(1)`.", names, [op.line or 0], 5, where=op.where,
                path=[a.nr, *op.outputs[:1]], cut=op.outputs[0], share=0.9,
            )  # fmt: skip
        if told:
            return


def _weighed(seen: Observation, op: Ran, a: Seen, b: Seen) -> bool:
    """Whether a product weighs an answer by its label, as in a loss by hand: what follows only adds up, to one number."""
    if op.name not in PRODUCTS or a.requires_grad == b.requires_grad or not op.outputs:
        return False
    nr = op.outputs[0]
    for _ in range(FAR):
        user = next(iter(seen.users(nr)), None)
        if user is None or user.name not in ADDS or not user.outputs:
            return False
        nr = user.outputs[0]
        if seen.values[nr].shape == ():
            return True
    return False


def _stretched(a: Seen, b: Seen) -> bool:
    """Whether a loss repeats one side to fit the other: answers for several targets, or one row of targets for all answers."""
    if len(a.shape) != len(b.shape) or len(a.shape) < 2 or a.shape == b.shape or not a.requires_grad:
        return False
    fits = all(x == y or x == 1 for x, y in zip(a.shape, b.shape, strict=True))
    alone = math.prod(b.shape) == 1 and a.shape[-1] == 1  # of as many features, one row of targets for all
    return fits or alone


def _several(seen: Observation, op: Ran, a: Seen, b: Seen) -> Finding:
    code = seen.places.code(op.line)
    repeats = math.prod(a.shape) < math.prod(b.shape)
    text = (
        f"each answer is compared with {math.prod(b.shape) // math.prod(a.shape)} targets, and the best answer is their mean"
        if repeats
        else f"all {math.prod(a.shape)} answers are compared with one target"
    )
    maker = seen.maker(b if repeats else a)
    return Finding(
        "broadcast-loss", op.line, False,
        f"Line {op.line}, `{code}`: the answers have the shape {a.shape} and the targets {b.shape}, so {text}.",
        "Give answers and targets one shape. A dimension that is too many, as that of log_prob() of several actions, is summed over: "
        "`.sum(dim=-1, keepdim=True)`.", [one.name for one in (a, b) if one.name],
        [op.line or 0, maker.line or 0 if maker is not None else 0], 5, where=op.where, path=[a.nr, *op.outputs[:1]], cut=op.outputs[0],
        share=0.7,
    )  # fmt: skip


def _outgrown(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape that two tensors of equal size broadcast to, if it is larger than both: (N, 1) and (N,) to (N, N)."""
    if a == b or math.prod(a) != math.prod(b) or min(len(a), len(b)) == 0:
        return None
    try:
        whole = np.broadcast_shapes(a, b)
    except ValueError:
        return None
    return whole if math.prod(whole) > math.prod(a) else None


def _pairwise(seen: Observation, a: Seen, b: Seen) -> bool:
    """True if both sides come from one value: then all pairs of its rows are probably intended."""
    shared = seen.above([a.nr]) & seen.above([b.nr])
    return any(seen.values[nr].leaf is None and seen.values[nr].requires_grad for nr in shared)


def compared(seen: Observation, nr: int) -> bool:
    """True if a difference is squared, or its magnitude is taken, and then averaged into the loss."""
    users = seen.users(nr)
    shrinks = {
        "pow",
        "square",
        "abs",
        "mean",
        "sum",
        "mul",
        "norm",
        "huber_loss",
        "sub",
        "float",
    }
    return bool(users) and all(op.name in shrinks for op in users)


def _dimension(seen: Observation) -> Iterator[Finding]:
    """A softmax over a dimension other than the one that the next op sums over, or takes a class from."""
    told = set()
    for op in seen.ops:
        if op.name not in ("softmax", "log_softmax") or not op.recorded or op.line in told or not op.outputs:
            continue
        value = seen.values[op.outputs[0]]
        rank = len(value.shape)
        dim = op.options.get("dim", op.options.get("1"))
        if not isinstance(dim, int) or isinstance(dim, bool) or not -rank <= dim < rank:
            continue
        dim %= rank
        found = _expected(seen, value, op.nr)
        if found is None or found[0] == dim or value.shape[dim] < 2:
            continue
        wanted, user = found
        told.add(op.line)
        line = seen.parts[op.owner].line or op.line if op.library and op.owner is not None else op.line
        code = seen.places.code(line)
        takes = user.name in TAKES_CLASSES
        negative = any(name in code for name in (f"dim={dim - rank}", f"dim = {dim - rank}"))
        old, new = (f"dim={dim - rank}", f"dim={wanted - rank}") if negative else (f"dim={dim}", f"dim={wanted}")
        yield Finding(
            "wrong-dim", line, user.name in ("nll_loss", "kl_div", "cross_entropy") and rank == 2,
            f"Line {line}, `{code}`: `{op.name}` over dimension {dim} of shape {value.shape} makes the numbers along that dimension sum to 1, but "
            f"`{user.name}` in line {user.line} {'takes the classes from' if takes else 'sums over'} dimension {wanted}.",
            f"Use the dimension that is {'the classes' if takes else 'summed over'}: dim={wanted}.", [value.name] if value.name else [],
            [line or 0, op.line or 0, user.line or 0], 5, (code, code.replace(old, new)) if code.count(old) == 1 else None, op.where, share=0.8,
        )  # fmt: skip


def _expected(seen: Observation, value: Seen, after: int) -> tuple[int, Ran] | None:
    """The dimension over which an op expects probabilities to sum to 1, and that op."""
    rank = len(value.shape)
    for user in seen.ops[after + 1 : after + 12]:
        if value.nr not in user.inputs:
            continue
        if user.name in PASSES_ON and user.outputs:
            return _expected(seen, seen.values[user.outputs[0]], user.nr)
        if user.name in ("nll_loss", "cross_entropy") and rank >= 2 and user.inputs[0] == value.nr:
            return 1, user
        if user.name == "kl_div" and rank == 2:
            return 1, user
        if user.name in ("view", "reshape", "flatten") and user.outputs and rank > 2:
            flat = seen.values[user.outputs[0]].shape  # rows of one dimension, and the last one as it was
            if len(flat) == 2 and flat[-1] == value.shape[-1] and _to_classes(seen, user):
                return rank - 1, user
        if user.name in ("view", "reshape", "unsqueeze") and user.outputs and rank >= 2:
            return _through(seen, value, seen.values[user.outputs[0]], user.nr)
        if user.name == "gather" and isinstance(along := user.options.get("dim", user.options.get("1")), int):
            return along % rank, user
        if user.name in ("matmul", "bmm") and user.inputs[0] == value.nr and rank >= 2:
            return (rank - 1, user) if len(seen.values[user.inputs[-1]].shape) >= 2 else None
        if user.name == "mul" and user.outputs and rank > 2:
            product = seen.values[user.outputs[0]]
            total = next((one for one in seen.users(product.nr) if one.nr < user.nr + 4), None)
            along = (
                total.options.get("dim", total.options.get("1")) if total is not None and total.name == "sum" else None
            )
            if (
                total is not None
                and isinstance(along, int)
                and not isinstance(along, bool)
                and len(product.shape) == rank
            ):
                return along % rank, total
            return None
        if rank == 2 and user.name in ("__getitem__", "mul", "log"):
            return 1, user
    return None


def _through(seen: Observation, before: Seen, after: Seen, op: int) -> tuple[int, Ran] | None:
    """What is expected of a value in another shape, as a dimension of the first one: the last is the last of both."""
    found = _expected(seen, after, op) if before.shape[-1] == after.shape[-1] else None
    return (len(before.shape) - 1, found[1]) if found is not None and found[0] == len(after.shape) - 1 else None


def _to_classes(seen: Observation, view: Ran) -> bool:
    """True if a loss takes a class from each row of a flattened tensor."""
    return any(
        user.name in ("nll_loss", "cross_entropy") and view.outputs[0] == user.inputs[0]
        for user in seen.ops[view.nr + 1 : view.nr + 6]
        if user.inputs
    )


def _labels(seen: Observation) -> Iterator[Finding]:
    """Data with as many rows as what the answers are computed from, which no loss ever saw."""
    passes = [each for each in seen.passes if each.kind == "backward" and each.done]
    if not passes or not seen.steps:
        return
    above = seen.above([root for each in passes for root in each.roots], past_leaves=True)
    if _compared_with_data(seen, above):
        return
    data = [value for nr in above if _is_data(value := seen.values[nr]) and any(op.recorded for op in seen.users(nr))]
    rows, lines = {value.shape[:1] for value in data}, Counter((value.line, value.shape) for value in data)
    last, loss = passes[-1], _loss_line(seen, passes[-1])
    for value in seen.values:
        if not (
            _is_data(value) and value.name and value.nr not in above and value.shape[:1] in rows and value.shape[0] > 1
        ):
            continue
        alike = sum(
            (one.line, one.shape) == (value.line, value.shape) and not seen.users(one.nr) for one in seen.values
        )
        if lines[value.line, value.shape] > alike:
            continue  # as the last of several states, which nothing asked for any more
        made_of = seen.above([value.nr]) & above
        if any(set(op.outputs) & above or op.recorded for op in seen.users(value.nr)) or any(
            seen.values[nr].requires_grad for nr in made_of
        ):
            continue
        yield Finding(
            "unused-labels", loss or last.line, False,
            f"{value.name}, made in line {value.line}, is not used in the loss: the model is trained without it. The "
            f"loss comes from line {loss or last.line}, `{seen.places.code(loss or last.line)}`.",
            f"Compare the outputs with {value.name}.", [value.name], [loss or last.line or 0, value.line or 0], 5, share=0.5,
        )  # fmt: skip
        return


def _is_data(value: Seen) -> bool:
    return not value.requires_grad and value.leaf is None and value.of_grad is None and len(value.shape) > 0


def _compared_with_data(seen: Observation, above: set[int]) -> bool:
    """True if something on the way to the loss is compared with labels, under any name, or with another prediction."""
    learnt: dict[int, bool] = {}
    looked: set[int | None] = set()  # lines
    for nr in sorted(above):
        value = seen.values[nr]
        given = [one.nr for one in seen.inputs(value)]
        learnt[nr] = value.requires_grad or any(learnt.get(one, False) for one in given)
        maker = seen.maker(value)
        if maker is not None and maker.name in COMPARISONS:
            sides = [one for one in given if math.prod(seen.values[one].shape) > 1]
            own = [learnt.get(one, False) for one in sides]
            if any(own) and not all(own):
                return True
            # Two predictions may be compared with each other. A prediction compared with its own result teaches nothing.
            answers = [one for one in given if learnt.get(one, False)]
            if len(answers) == 2 and maker.line not in looked:
                looked.add(maker.line)
                if not any(b in seen.below(a) for a, b in (answers, answers[::-1])):
                    return True
    return False


def _loss_line(seen: Observation, each: Through) -> int | None:
    for nr in sorted(seen.above(each.roots), reverse=True):
        op = seen.maker(seen.values[nr])
        if op is not None and op.name in LOSSES:
            return op.line
    roots = [seen.maker(seen.values[nr]) for nr in each.roots]
    return next((op.line for op in roots if op is not None), None)
