"""Training and evaluation mode where they do harm."""

from __future__ import annotations

import math
from collections.abc import Iterator

from viz.diagnosis.families import LOSSES
from viz.diagnosis.finding import Finding, listed
from viz.diagnosis.observation import Moment, Observation


def find(seen: Observation) -> Iterator[Finding]:
    """Evaluation mode and dropout where they do harm, and batch norms that do not move."""
    stepped = [m for m in seen.moments if m.kind in ("step", "update")]
    if not stepped:
        return
    evaluated = [m for m in seen.moments if m.kind == "eval"]
    for moment in evaluated:
        part = seen.parts[moment.who]
        back = [m for m in seen.moments if m.kind == "train" and m.order > moment.order]
        until = back[0].order if back else math.inf
        whole = _subtree(seen, part.nr)
        changes = {seen.parts[nr].kind for nr in whole if _depends_on_mode(seen.parts[nr].kind)}
        learns = {leaf for optimizer in seen.optimizers for leaf in optimizer.leaves}
        own = {leaf for nr in whole for leaf in seen.parts[nr].parameters}
        inside = [step for step in stepped if moment.order < step.order < until and own & _moved_by(seen, step)]
        if not inside or not changes or not own & learns:
            continue
        small = len(own & learns) < len(learns) and all(kind.startswith("BatchNorm") for kind in changes)
        if small or (part.library and part.kind.startswith("BatchNorm")):
            continue
        yield Finding(
            "eval-mode", moment.line, False,
            f"Line {moment.line}, `{seen.places.code(moment.line)}`, puts the model in evaluation mode, and {len(inside)} steps were taken in it: "
            f"{listed(sorted(changes))} did not do what {'they do' if len(changes) > 1 else 'it does'} in training.",
            "Call model.train() before the training steps, after each evaluation.", [part.path] if part.path else [],
            [moment.line or 0], 5, share=0.7,
        )  # fmt: skip
        return
    yield from _unborn_statistics(seen)
    yield from _dropout(seen)


def _moved_by(seen: Observation, step: Moment) -> set[int]:
    """The leaves that a step, or an update by hand, may have moved."""
    if step.kind == "update" or step.who >= len(seen.optimizers):
        return {step.who}
    return set(seen.optimizers[step.who].leaves)


def _unborn_statistics(seen: Observation) -> Iterator[Finding]:
    """A batch norm that learns in evaluation mode, and never saw a batch to take its statistics from."""
    found = [
        part
        for part in seen.parts
        if part.untrained_statistics
        and any(seen.leaves[nr].held and seen.leaves[nr].gradients for nr in part.parameters)
    ]
    if not found:
        return
    line = found[0].eval_line or found[0].line
    names = [part.path or part.kind for part in found]
    yield Finding(
        "frozen-batch-norm", line, False,
        f"{listed(names)} ran in evaluation mode in {found[0].untrained_statistics} training passes"
        + (f", since line {line}, `{seen.places.code(line)}`" if line else "")
        + ". Its running mean is still 0 and its variance 1, as at the start: it never normalised anything.",
        "Leave it in training mode, model.train(). Freeze its statistics only if they were "
        "learnt before.", names, [line or 0], 5,
        share=0.7,
    )  # fmt: skip


def _subtree(seen: Observation, root: int) -> set[int]:
    found = {root}
    grown = True
    while grown:
        inner = {part.nr for part in seen.parts if set(part.parents) & found}
        grown = not inner <= found
        found |= inner
    return found


def _depends_on_mode(kind: str) -> bool:
    return "Dropout" in kind or "BatchNorm" in kind or "InstanceNorm" in kind


def _dropout(seen: Observation) -> Iterator[Finding]:
    """Dropout that is active during evaluation, or in a module in evaluation mode."""
    told = set()
    for op in seen.ops:
        if "dropout" not in op.name or op.line in told or not op.outputs:
            continue
        training = op.options.get("training", op.options.get("2", True))
        p = op.options.get("p", op.options.get("1", 0.5))
        if training is False or p == 0:
            continue
        last = not any(
            set(op.outputs) & set(later.inputs) and later.name not in LOSSES
            for later in seen.ops[op.nr + 1 : op.nr + 6]
        )
        to_loss = any(
            set(op.outputs) & set(later.inputs) and later.name in LOSSES for later in seen.ops[op.nr + 1 : op.nr + 6]
        )
        heavy = isinstance(p, float) and p >= 0.9 and op.recorded
        if op.evaluating and not op.library:
            text = "drops values although its module is in evaluation mode: F.dropout does not know the mode."
            fix = "Pass the mode: `F.dropout(x, p, training=self.training)`, or use the module nn.Dropout."
        elif last and to_loss and op.recorded:
            text = f"drops outputs right before the loss: {p:.0%} of what is compared with the targets is 0."
            fix = "Put dropout between hidden layers, never on the outputs."
        elif heavy:
            text = f"drops {p:.0%} of what comes in: hardly anything is left to learn from."
            fix = "Use a p between 0.1 and 0.5: p is the share that is dropped, not the share that is kept."
        elif not op.grad_on and op.owner is not None and seen.steps and not op.evaluating:
            text = "drops values in a forward pass under no_grad: this does not evaluate the whole model."
            fix = "Call model.eval() before evaluating, and model.train() after it."
        else:
            continue
        told.add(op.line)
        line = op.line
        if op.library and op.owner is not None and (heavy or (last and to_loss)):
            line = seen.parts[op.owner].line or op.line
        yield Finding(
            "dropout-active", line, False, f"Line {line}, `{seen.places.code(line)}`: `{op.name}` {text}", fix, [], [line or 0, op.line or 0], 5,
            where=op.where, share=0.4,
        )  # fmt: skip
