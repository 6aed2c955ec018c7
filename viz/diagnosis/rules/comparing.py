"""What a loss compares: shapes that broadcast, a softmax over the wrong dimension."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import numpy as np

from viz.diagnosis import families as ops
from viz.diagnosis.observation import Observation, Ran, Seen
from viz.diagnosis.rules.rule import Match, Rule

FAR = 6  # ops that are looked at after a product


def _shapes(seen: Observation) -> Iterator[Match]:
    """A comparison that pairs each answer with all targets."""
    for each in seen.passes:
        made = {seen.values[nr].op for nr in seen.above(each.roots)}
        found = False
        for op in (seen.ops[nr] for nr in sorted(nr for nr in made if nr is not None)):
            if len(op.inputs) < 2:
                continue
            a, b = seen.values[op.inputs[0]], seen.values[op.inputs[1]]
            sure = op.name in ops.BY_ELEMENT
            whole, grew = _outgrown(a.shape, b.shape), None
            if whole is None and sure and min(math.prod(a.shape), math.prod(b.shape)) > 1:
                whole, grew = _outgrown(a.shape, b.shape, any_size=True), _grew(seen, b)
            if whole is None or not (a.requires_grad or b.requires_grad):
                continue
            held = (op.name in ops.DIFFERENCES and compared(seen, op.outputs[0])) or _weighed(seen, op, a, b)
            if sure or (held and not _pairwise(seen, a, b)):
                found, rows = True, max(a.shape[0], b.shape[0])
                names = [a.name, b.name]
                yield Match(
                    grew or op,
                    [op],
                    names=names,
                    a=str(a.shape),
                    b=str(b.shape),
                    whole=str(whole),
                    rows=rows,
                    given={"certain": sure},
                )
        if found:
            return


def _weighed(seen: Observation, op: Ran, a: Seen, b: Seen) -> bool:
    """Whether a product weighs an answer by its label, as in a loss by hand: what follows only adds up, to one number."""
    if op.name not in ops.PRODUCTS or a.requires_grad == b.requires_grad or not op.outputs:
        return False
    nr = op.outputs[0]
    for _ in range(FAR):
        user = next(iter(seen.users(nr)), None)
        if user is None or user.name not in ops.ADDS or not user.outputs:
            return False
        nr = user.outputs[0]
        if seen.values[nr].shape == ():
            return True
    return False


def _grew(seen: Observation, value: Seen) -> Ran | None:
    """The op that made a target larger than what it was computed from, by the same mistake: of the first line that did."""
    for nr in sorted(seen.above([value.nr], lambda one: one.shape == value.shape)):
        op = seen.maker(seen.values[nr])
        shapes = [seen.values[one].shape for one in op.inputs] if op is not None else []
        if len(shapes) == 2 and _outgrown(shapes[0], shapes[1]) == value.shape:
            return op
    return None


def _outgrown(a: tuple[int, ...], b: tuple[int, ...], any_size: bool = False) -> tuple[int, ...] | None:
    """The shape that two tensors of equal size broadcast to, if it is larger than both: (N, 1) and (N,) to (N, N)."""
    if a == b or (math.prod(a) != math.prod(b) and not any_size) or min(len(a), len(b)) == 0:
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
    shrinks = {"pow", "square", "abs", "mean", "sum", "mul", "norm", "huber_loss", "sub", "float"}
    return bool(users) and all(op.name in shrinks for op in users)


def _dimension(seen: Observation) -> Iterator[Match]:
    """A softmax over a dimension other than the one that the next op sums over, or takes a class from."""
    for op in seen.ops:
        if op.name not in ("softmax", "log_softmax") or not op.recorded or not op.outputs:
            continue
        value = seen.values[op.outputs[0]]
        rank = len(value.shape)
        dim = op.options.get("dim", op.options.get("1"))
        if not isinstance(dim, int) or isinstance(dim, bool) or not -rank <= dim < rank:
            continue
        found = _expected(seen, value, op.nr)
        if found is None or found[0] == dim % rank or value.shape[dim] < 2:
            continue
        wanted, user = found
        line = seen.parts[op.owner].line or op.line if op.library and op.owner is not None else op.line
        new = wanted - rank if dim < 0 else wanted
        code = re.sub(rf"\bdim ?= ?{dim}\b", f"dim={new}", seen.places.code(line))
        yield Match(
            line, [op, user], names=[value.name], op=op.name, dim=dim % rank, shape=str(value.shape), user=user.name, wanted=wanted, at_use=user.line,
            takes="takes the classes from" if user.name in ops.TAKES_CLASSES else "sums over", where=op.where,
            given={"certain": user.name in ("nll_loss", "kl_div", "cross_entropy") and rank == 2, "change": (seen.places.code(line), code)},
        )  # fmt: skip


def _expected(seen: Observation, value: Seen, after: int) -> tuple[int, Ran] | None:
    """The dimension over which an op expects probabilities to sum to 1, and that op."""
    rank = len(value.shape)
    for user in seen.ops[after + 1 : after + 12]:
        if value.nr not in user.inputs:
            continue
        if user.name in ops.PASSES_ON and user.outputs:
            return _expected(seen, seen.values[user.outputs[0]], user.nr)
        if user.name in ("nll_loss", "cross_entropy") and rank >= 2 and user.inputs[0] == value.nr:
            return 1, user
        if (user.name == "kl_div" and rank == 2) or (user.name == "ctc_loss" and user.inputs[0] == value.nr):
            return rank - 1, user
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


RULES = [
    Rule("broadcast-loss", _shapes,
        "{at}: shapes {a} and {b} are broadcast to {whole}: each guess is compared with all {rows} targets, and the best guess is their mean.",
        "Give both the same shape: `y.unsqueeze(1)`, or `guess.squeeze(1)`."),
    Rule("wrong-dim", _dimension,
        "{at}: `{op}` over dimension {dim} of shape {shape} makes the numbers along that dimension sum to 1, but `{user}` in line {at_use} "
        "{takes} dimension {wanted}.",
        "Use the dimension that the next op works on: dim={wanted}.", share=0.8),
]  # fmt: skip
