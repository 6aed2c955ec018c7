"""A softmax that is taken twice, or over another dimension than its user's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from viz.diagnosis import families as ops
from viz.diagnosis.families import source
from viz.diagnosis.observation import Observation, Ran, Seen
from viz.diagnosis.rules.rule import Match, Rule, sentences
from viz.diagnosis.rules.zero import layer_line

# What applies a softmax, or a sigmoid, itself, and the results that it should not be given.
APPLIES = {name: {"softmax"} for name in (*ops.SCORE_LOSSES, "log_softmax")} | {
    "binary_cross_entropy_with_logits": {"softmax", "sigmoid"}
}
ROWS = ops.TURNS | {"__getitem__", "index_select", "take_along_dim", "gather"}


def _twice(seen: Observation) -> Iterator[Match]:
    """Probabilities where an op takes scores and makes probabilities of them itself."""
    for op in (op for op in seen.ops if op.name in APPLIES and op.recorded and op.inputs):
        value, maker = source(seen, op.inputs[0], ROWS)
        if maker is not None and maker.name in APPLIES[op.name]:
            itself = "sigmoid" if "entropy_with" in op.name else "softmax"
            told: dict[str, Any] = {"loss": op.line, "name_of": op.name, "made": maker.name, "itself": itself}
            told |= {"path": [*maker.inputs[:1], value.nr, *op.outputs[:1]], "cut": value.nr, "where": maker.where}
            yield Match(layer_line(seen, maker), [op], names=[value.name], **told)


def _summed_over(seen: Observation) -> Iterator[Match]:
    """A softmax over a dimension other than the one that the next op sums over, or takes a class from."""
    for op in (op for op in seen.ops if op.name in ("softmax", "log_softmax") and op.recorded and op.outputs):
        value = seen.values[op.outputs[0]]
        rank = len(value.shape)
        dim = _along(op, rank)
        expected = _expected(seen, value, op.nr) if dim is not None and -rank <= dim < rank else None
        if dim is None or expected is None or expected[0] == dim % rank or value.shape[dim] < 2:
            continue
        wanted, user = expected
        line = seen.parts[op.owner].line or op.line if op.library and op.owner is not None else op.line
        certain = user.name in ("nll_loss", "kl_div", "cross_entropy") and rank == 2
        takes = "takes the classes from" if user.name in ops.TAKES_CLASSES else "sums over"
        told: dict[str, Any] = {"op": op.name, "user": user.name, "at_use": user.line, "takes": takes, "wanted": wanted}
        told |= {"dim": dim % rank, "written": dim, "shape": str(value.shape), "given": {"certain": certain}}
        yield Match(line, [op, user], names=[value.name], where=op.where, **told)


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
            expected = _expected(seen, made, user.nr)
            order = _order(user, rank)
            return (order[expected[0]], expected[1]) if expected is not None and len(order) == rank else None
        if user.name in ops.VIEWS | {"unsqueeze"} and rank >= 2:
            return _through(seen, value, made, user.nr)
        if user.name == "gather" and (along := _along(user)) is not None and made.shape[along] == 1:  # one of each row
            return along % rank, user
        # its last dimension is summed over, or the one before
        if user.name in ("matmul", "bmm") and rank >= 2 + (not first):
            return (rank - 1 - (not first), user) if len(seen.values[user.inputs[-1]].shape) >= 2 else None
        if user.name == "mul" and rank > 2:
            total = next((user for user in seen.users(made.nr) if user.name == "sum"), None)
            along = _along(total) if total is not None and len(made.shape) == rank else None
            return (along % rank, total) if along is not None and total is not None else None
        if rank == 2 and user.name in ("__getitem__", "mul", "log"):
            return 1, user
    return None


def _order(op: Ran, rank: int) -> list[int]:
    """Which dimension of what it was given each of a transpose's is."""
    dims = list(range(rank))
    given = [option % rank for name, option in op.options.items() if type(option) is int and name not in ("0",)]
    if op.name == "permute":
        every = next((option for option in op.options.values() if isinstance(option, tuple)), given)
        return [dim % rank for dim in every]
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
    """The dimension expected after a reshape, in the shape before: the last of both, also of rows laid end to end."""
    expected = _expected(seen, after, op) if before.shape[-1:] == after.shape[-1:] else None
    return (
        (len(before.shape) - 1, expected[1]) if expected is not None and expected[0] == len(after.shape) - 1 else None
    )


WORDS = """
double-softmax: {at}: `{name_of}` in line {loss} takes the scores themselves and applies {itself} itself. After `{made}`
    all scores lie between 0 and 1, and the gradient is a fraction of what it should be.
    Fix: Pass the scores to `{name_of}` unchanged, and use `{made}` only to report probabilities.
wrong-dim: {at}: `{op}` over dimension {dim} of shape {shape} makes the numbers along that dimension sum to 1, but
    `{user}` in line {at_use} {takes} dimension {wanted}.
    Fix: Use the dimension that the next op works on: dim={wanted}.
"""
SAID = sentences(WORDS)
RULES = [
    Rule("double-softmax", _twice, *SAID["double-softmax"], certain=True),
    Rule("wrong-dim", _summed_over, *SAID["wrong-dim"], share=0.8),
]
