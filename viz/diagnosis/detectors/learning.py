"""Does not learn although gradients are there: the optimiser, the order of its calls, modes, and what the loss compares."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from viz.diagnosis.finding import Finding, listed, number
from viz.diagnosis.observation import Held, Leaf, Moment, Observation, Seen, Through

LOSSES = {
    "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits",
    "gaussian_nll_loss", "poisson_nll_loss", "soft_margin_loss",
}  # fmt: skip
ALL_LOSSES = LOSSES | {
    "cross_entropy",
    "nll_loss",
    "kl_div",
    "ctc_loss",
    "hinge_embedding_loss",
    "cosine_embedding_loss",
    "margin_ranking_loss",
}
DIFFERENCES = {"sub", "__sub__", "__rsub__", "rsub"}
COMPARISONS = ALL_LOSSES | DIFFERENCES | {"gather", "__getitem__", "cosine_similarity", "pairwise_distance", "cdist"}
LABELS = (
    "y",
    "target",
    "targets",
    "label",
    "labels",
    "ys",
    "yb",
    "truth",
    "gold",
    "goal",
    "goals",
    "answer",
    "answers",
)
SMALL = 1e-6  # a step, against the size of what it changes
STILL = 1e-5  # a change of the loss over all steps, against the loss
LARGE = 3.0  # times that a loss grows over five passes or more; batches differ, so over fewer it takes
AT_ONCE = 100.0
THROWN = 0.5  # a step, against the size of the weights, that throws them about
DECAYED = 1e-4  # of the first learning rate


def find(seen: Observation) -> Iterator[Finding]:
    """The usual reasons, each by what was seen."""
    yield from _order(seen)
    yield from _held(seen)
    yield from _shapes(seen)
    yield from _dimension(seen)
    yield from _rate(seen)
    yield from _modes(seen)
    yield from _labels(seen)


# zero_grad, backward, step


def _order(seen: Observation) -> Iterator[Finding]:
    steps = [moment for moment in seen.moments if moment.kind in ("step", "update")]
    yield from _adding(seen, [step for step in steps if step.stale])
    yield from _emptied(seen)
    yield from _thrown_away(seen)
    passes = [each for each in seen.passes if each.done and each.kind == "backward"]
    yield from _never_back(seen)
    if seen.optimizers and not any(step.kind == "step" for step in steps) and len(passes) > 2 and seen.error is None:
        held = seen.optimizers[0]
        if not any(write.kind == "update" for leaf in seen.leaves for write in leaf.writes) and held.made_here:
            yield Finding(
                "never-steps", passes[-1].line, False,
                f"{len(passes)} backward passes ran, and the {held.kind} of line {held.line} never took a step.",
                "Call optimizer.step() after backward().", [], [passes[-1].line or 0, held.line or 0], 5, share=1.0,
            )  # fmt: skip


def _never_back(seen: Observation) -> Iterator[Finding]:
    """Steps without a single backward pass."""
    steps = [moment for moment in seen.moments if moment.kind == "step"]
    if seen.passes or len(steps) < 2 or not all(step.empty for step in steps):
        return
    line = seen.places.where_not_called("backward")
    code = seen.places.code(line)
    how = f" Line {line}, `{code}`, names backward and does not call it." if line else ""
    yield Finding(
        "never-backward", line or steps[0].line, True,
        f"{len(steps)} steps were taken in line {steps[0].line}, and no backward pass ran: no step found a gradient.{how}",
        "Call backward() before each step: `loss.backward()`.", [], [line or 0, steps[0].line or 0], 5,
        (code, f"{code}()") if line and code.endswith(".backward") else None, share=1.0,
    )  # fmt: skip


def _adding(seen: Observation, stale: list[Moment]) -> Iterator[Finding]:
    if not stale:
        return
    leaves = sorted({nr for step in stale for nr in step.stale})
    adding = next((each for each in seen.passes if each.stale & set(leaves)), None)
    line = adding.line if adding is not None else stale[0].line
    names = seen.called(leaves)
    code = seen.places.code(line)
    target = "optimizer" if seen.optimizers else "each parameter"
    zero = f"{target}.zero_grad()" if seen.optimizers else "w.grad = None"
    yield Finding(
        "no-zero-grad", line, True,
        f"Line {line}, `{code}`, adds to gradients that a step had used already: nothing set them back. The step in line "
        f"{stale[0].line} then used the sum, {len(stale)} time{'s' if len(stale) > 1 else ''}.",
        f"Set the gradients back in each step, before backward(): `{zero}`.", names, [line or 0, stale[0].line or 0], 5,
        (code, f"{zero}; {code}") if code.endswith("backward()") and seen.optimizers else None, share=0.9,
    )  # fmt: skip


def _emptied(seen: Observation) -> Iterator[Finding]:
    """Steps that found no gradient: zeroed just before, or taken before backward()."""
    told = set()
    for optimizer in seen.optimizers:
        steps = [m for m in seen.moments if m.kind == "step" and m.who == optimizer.nr]
        if not steps or not all(step.empty for step in steps) or optimizer.nr in told:
            continue
        told.add(optimizer.nr)
        if not any(each.got.get(leaf) for each in seen.passes for leaf in optimizer.leaves):
            continue  # none of them ever got one: that is for others to tell
        step = steps[-1]
        before = [m for m in seen.moments if m.order < step.order and m.kind == "zero"]
        last_zero = before[-1] if before else None
        last_pass = max((e.order for e in seen.passes if e.order < step.order), default=0)
        first_pass = min((e.order for e in seen.passes), default=0)
        if steps[0].order < first_pass or last_zero is None or last_pass < (steps[-2].order if len(steps) > 1 else 0):
            yield Finding(
                "step-before-backward", step.line, True,
                f"Line {step.line}, `{seen.places.code(step.line)}`, steps before backward() of its turn: none of {len(steps)} steps found a gradient.",
                "Call zero_grad(), backward() and step() in this order.", seen.called(optimizer.leaves), [step.line or 0], 5, share=1.0,
            )  # fmt: skip
        elif last_zero.order > last_pass:
            yield Finding(
                "zero-before-step", last_zero.line, True,
                f"Line {last_zero.line}, `{seen.places.code(last_zero.line)}`, sets the gradients back between backward() and step(): none of "
                f"{len(steps)} steps in line {step.line} found one.",
                "Zero the gradients before backward(), or after step().", seen.called(optimizer.leaves),
                [last_zero.line or 0, step.line or 0], 5, share=1.0,
            )  # fmt: skip


def _thrown_away(seen: Observation) -> Iterator[Finding]:
    """Gradients set back before any step used them, while others of the same backward() were used."""
    lost = {nr for moment in seen.moments for nr in moment.thrown if not seen.passes[nr - 1].used}
    for line in dict.fromkeys(each.line for each in seen.passes if each.nr in lost):
        passes = [each.nr for each in seen.passes if each.line == line and each.done]
        thrown = [nr for nr in passes if nr in lost]
        zero = next(moment for moment in seen.moments if set(moment.thrown) & set(thrown))
        if len(thrown) < 2 or not any(seen.passes[nr - 1].used for nr in passes) or len(thrown) < len(passes) / 2:
            continue
        yield Finding(
            "zero-before-step", zero.line, False,
            f"Line {zero.line}, `{seen.places.code(zero.line)}`, sets back what no step has used: of {len(passes)} passes of line {line}, "
            f"the gradients of {len(thrown)} were thrown away, and only the last ones before a step count.",
            "Where gradients are to add up over several batches, set them back after the step alone.", [], [zero.line or 0, line or 0], 5,
            share=0.9,
        )  # fmt: skip


# what the optimiser holds


def _held(seen: Observation) -> Iterator[Finding]:
    if not seen.optimizers or not seen.steps:
        return
    held = {nr for optimizer in seen.optimizers for nr in optimizer.leaves}
    lost = [
        leaf
        for leaf in seen.leaves
        if (leaf.parameter or (leaf.name and not leaf.asked and _learns_again(seen, leaf)))
        and leaf.requires_grad
        and leaf.nr not in held
        and leaf.gradients
        and not any(write.kind == "update" for write in leaf.writes)
    ]
    idle = [leaf for leaf in seen.leaves if leaf.held and not leaf.used and leaf.requires_grad]
    stale = [leaf for leaf in lost if _replaced(seen, leaf, idle)]
    if stale:
        part = seen.parts[stale[0].holder] if stale[0].holder is not None else None
        line = part.line if part is not None else stale[0].line
        made = seen.optimizers[0].line
        names = seen.called(leaf.nr for leaf in stale)
        yield Finding(
            "stale-optimizer", line, True,
            f"Line {line}, `{seen.places.code(line)}`, puts new parameters in place after the optimiser was made in line {made}. It still holds the old "
            f"ones, which no op uses; {listed(names)} gets gradients and never changes.",
            "Make the optimiser after the model is complete.", names, [line or 0, made or 0], 5, share=1.0,
        )  # fmt: skip
        return
    if not lost:
        return
    names = seen.called(leaf.nr for leaf in lost)
    untouched = [leaf for leaf in lost if not leaf.writes or all(write.kind == "init" for write in leaf.writes)]
    optimizer = _nearest(seen, lost)
    line = seen.optimizers[optimizer].line
    whole = _by_all(seen, lost, optimizer)
    yield Finding(
        "not-in-optimizer", line, False,
        f"{listed(names)} got gradients in {len(lost[0].gradients)} backward passes and never changed: no optimiser holds it. "
        + (f"The {seen.optimizers[optimizer].kind} of line {line}, `{seen.places.code(line)}`, holds others." if line else "")
        + whole,
        "Give it to the optimiser, `model.parameters()`; if it is frozen on purpose, say so: `p.requires_grad_(False)`."
        + ("" if lost[0].parameter else " A module knows of Parameters alone: `self.w = T.nn.Parameter(…)`."),
        names, [line or 0], 5, share=len(untouched) / max(1, len(untouched) + len(held)),
    )  # fmt: skip


def _learns_again(seen: Observation, leaf: Leaf) -> bool:
    """Whether more than one backward() brought it a gradient: an input that is only looked at is made anew each time."""
    return sum(seen.passes[nr - 1].kind == "backward" for nr, _ in leaf.gradients) > 1


def _replaced(seen: Observation, leaf: Leaf, idle: list[Leaf]) -> bool:
    """Whether an optimiser holds an unused parameter of the same shape, made before it held this one's place."""
    if not any(old.shape == leaf.shape or old.parameter for old in idle):
        return False
    part = seen.parts[leaf.holder] if leaf.holder is not None else None
    made = max((held.line or 0) for held in seen.optimizers)
    return (
        any(old.shape == leaf.shape for old in idle)
        and part is not None
        and (part.line or 0) != 0
        and made != 0
        and bool(idle)
        and part.registered
    )


def _nearest(seen: Observation, lost: list[Leaf]) -> int:
    """The optimiser that should have held them: of two that hold the same leaves, the later one."""
    seen_sets: list[frozenset[int]] = []
    for held in seen.optimizers:
        if frozenset(held.leaves) in seen_sets:
            return held.nr
        seen_sets.append(frozenset(held.leaves))
    return seen.optimizers[-1].nr if len(seen.optimizers) == 1 else seen.optimizers[0].nr


def _by_all(seen: Observation, lost: list[Leaf], optimizer: int) -> str:
    twice = [
        held
        for held in seen.optimizers
        if held.nr != optimizer and set(held.leaves) == set(seen.optimizers[optimizer].leaves)
    ]
    return f" The {twice[0].kind} of line {twice[0].line} holds the same ones." if twice else ""


# what the loss compares


def _shapes(seen: Observation) -> Iterator[Finding]:
    told = set()
    for each in seen.passes:
        above = seen.above(each.roots)
        for op in seen.ops:
            if op.line in told or len(op.inputs) < 2 or not set(op.outputs) & above:
                continue
            a, b = seen.values[op.inputs[0]], seen.values[op.inputs[1]]
            if not (_column_and_row(a.shape, b.shape) and (a.requires_grad != b.requires_grad)):
                continue
            sure = op.name in LOSSES
            if not (
                sure or (op.name in DIFFERENCES and _compared(seen, op.outputs[0], each, b if a.requires_grad else a))
            ):
                continue
            told.add(op.line)
            rows = max(a.shape[0], b.shape[0])
            code = seen.places.code(op.line)
            names = [one.name for one in (a, b) if one.name]
            yield Finding(
                "broadcast-loss", op.line, sure,
                f"Line {op.line}, `{code}`: shapes {a.shape} and {b.shape} are broadcast to ({rows}, {rows}): each guess is compared "
                f"with all {rows} targets, and the best guess is their mean.",
                "Give both the same shape: `y.unsqueeze(1)`, or `guess.squeeze(1)`.", names, [op.line or 0], 5, where=op.where,
                path=[a.nr, *op.outputs[:1]], cut=op.outputs[0], share=0.9,
            )  # fmt: skip
        if told:
            return


def _column_and_row(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    long, short = (a, b) if len(a) > len(b) else (b, a)
    return len(long) == 2 and len(short) == 1 and long[1] == 1 and long[0] == short[0] > 1


def _compared(seen: Observation, nr: int, each: Through, target: Seen) -> bool:
    """Whether a difference is squared or taken as a magnitude, and averaged into the loss, against what is data."""
    if any(seen.values[one].requires_grad for one in seen.above([target.nr])):
        return False
    users = [op for op in seen.ops if nr in op.inputs]
    shrinks = {
        "pow",
        "__pow__",
        "square",
        "abs",
        "mean",
        "sum",
        "mul",
        "__mul__",
        "__abs__",
        "norm",
        "huber_loss",
        "sub",
        "float",
    }
    return bool(users) and all(op.name in shrinks for op in users)


def _dimension(seen: Observation) -> Iterator[Finding]:
    told = set()
    for op in seen.ops:
        if op.name not in ("softmax", "log_softmax") or not op.recorded or op.line in told or not op.outputs:
            continue
        value = seen.values[op.outputs[0]]
        dim = op.options.get("dim", op.options.get("1"))
        if (
            not isinstance(dim, int)
            or isinstance(dim, bool)
            or len(value.shape) != 2
            or dim % 2 != 0
            or value.shape[0] < 2
        ):
            continue
        users = [user for user in seen.ops[op.nr + 1 : op.nr + 12] if value.nr in user.inputs]
        loss = next(
            (user for user in users if user.name in ("nll_loss", "kl_div", "cross_entropy", "nll_loss_nd")), None
        )
        gathers = next(
            (user for user in users if user.name in ("gather", "__getitem__", "mul", "__mul__", "log")), None
        )
        if loss is None and gathers is None:
            continue
        told.add(op.line)
        code = seen.places.code(op.line)
        yield Finding(
            "wrong-dim", op.line, loss is not None,
            f"Line {op.line}, `{code}`: `{op.name}` over dimension 0 of shape {value.shape} makes each class sum to 1 over the batch, not each row over "
            "the classes." + (f" `{loss.name}` in line {loss.line} takes rows." if loss else ""),
            "Take the dimension of the classes: dim=1, or dim=-1.", [value.name] if value.name else [], [op.line or 0], 5,
            (code, code.replace("dim=0", "dim=1")) if "dim=0" in code else None, op.where, share=0.8,
        )  # fmt: skip


# rates


def _rate(seen: Observation) -> Iterator[Finding]:
    steps = [moment for moment in seen.moments if moment.kind == "step" and not moment.empty]
    losses = [each.loss for each in seen.passes if each.loss is not None and each.kind == "backward"]
    lines = {each.line for each in seen.passes if each.kind == "backward"}
    rated = [held for held in seen.optimizers if held.rate is not None and any(step.who == held.nr for step in steps)]
    for held in rated:
        own = [step for step in steps if step.who == held.nr]
        moved = [step.moved for step in own if step.moved is not None]
        if not moved or len(own) < 2 or held.rate is None:
            continue
        near = max(moved)
        rates = [step.rate for step in own if step.rate is not None]
        still = len(losses) > 1 and abs(losses[-1] - losses[0]) <= STILL * abs(losses[0])
        if near < SMALL and (still or (rates and rates[-1] <= rates[0])):  # a warm-up begins small, and rises
            yield Finding(
                "rate-too-small", held.line, False,
                f"{len(own)} steps of the {held.kind} moved the weights by {number(near)} of their size at most, and the loss from {losses[0]:.6g} to "
                f"{losses[-1]:.6g}. Its learning rate is {held.rate:g}.",
                "Try a rate a thousand times larger: 0.1 to 0.01 for SGD, 0.001 for Adam are usual.", seen.called(held.leaves),
                [held.line or 0], 5, share=0.8,
            )  # fmt: skip
        yield from _decayed(seen, held, own)
    if len(losses) >= 3 and len(lines) == 1 and all(math.isfinite(loss) for loss in losses):
        grows = sum(b > a for a, b in itertools.pairwise(losses))
        grown = LARGE if len(losses) >= 5 else AT_ONCE
        far = max((step.moved or 0.0 for step in steps), default=0.0)
        steadily = grows >= 0.7 * (len(losses) - 1) or (far > THROWN and abs(losses[-1]) > AT_ONCE * abs(losses[0]))
        if abs(losses[-1]) > grown * abs(losses[0]) > 0 and steadily and not _ascends(seen):
            held_by = rated[0] if rated else None
            update = next((m.line for m in seen.moments if m.kind == "update"), None)
            line = held_by.line if held_by else update
            if line is not None or rated:
                yield Finding(
                    "rate-too-large", line, False,
                    f"The loss grows: {number(losses[0])} → {number(losses[1])} → … → {number(losses[-1])}."
                    + (f" The {held_by.kind} takes steps of {number(max((s.moved or 0) for s in steps))} times the weights' size, at a rate of {held_by.rate:g}." if held_by else ""),
                    "Make the learning rate ten times smaller, until the loss falls.", [], [line or 0], 5, share=0.8,
                )  # fmt: skip


def _decayed(seen: Observation, held: Held, steps: list[Moment]) -> Iterator[Finding]:
    """A scheduler that took the rate away in a few steps."""
    rates = [step.rate for step in steps if step.rate is not None]
    if not rates or not seen.schedules or rates[0] < max(rates):
        return
    tiny = [rate for rate in rates if rate < DECAYED * rates[0]]
    if 2 * len(tiny) < len(rates) or (steps[-1].moved or 0.0) >= SMALL:
        return
    kind, line = seen.schedules[-1]
    yield Finding(
        "rate-too-small", line, False,
        f"The learning rate fell from {rates[0]:g} to {rates[-1]:g} in {len(rates)} steps, by the {kind} of line {line}: "
        f"the last step moved the weights by {number(steps[-1].moved or 0.0)} of their size.",
        "Let it decay over the whole training: call its step() once an epoch, or choose a factor nearer to 1.",
        seen.called(held.leaves), [line or 0, held.line or 0], 5, share=0.8,
    )  # fmt: skip


def _ascends(seen: Observation) -> bool:
    return any(write.ascent for leaf in seen.leaves for write in leaf.writes)


# modes


def _modes(seen: Observation) -> Iterator[Finding]:
    stepped = [m for m in seen.moments if m.kind in ("step", "update")]
    if not stepped:
        return
    evaluated = [m for m in seen.moments if m.kind == "eval"]
    for moment in evaluated:
        part = seen.parts[moment.who]
        back = [m for m in seen.moments if m.kind == "train" and m.order > moment.order]
        until = back[0].order if back else math.inf
        inside = [step for step in stepped if moment.order < step.order < until]
        whole = _subtree(seen, part.nr)
        changes = {seen.parts[nr].kind for nr in whole if _depends_on_mode(seen.parts[nr].kind)}
        learns = {leaf for optimizer in seen.optimizers for leaf in optimizer.leaves}
        own = {leaf for nr in whole for leaf in seen.parts[nr].parameters}
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


def _unborn_statistics(seen: Observation) -> Iterator[Finding]:
    """A batch norm that learns in evaluation mode, and has never seen a batch to take its statistics from."""
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
        + ". Its running mean is still 0 and its variance 1, as at birth: it never normalised anything.",
        "Leave it in training mode, model.train(); freeze its statistics only where they were learnt before.", names, [line or 0], 5,
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
    """Dropout at work where nobody learns, or in a module that is in evaluation mode."""
    told = set()
    for op in seen.ops:
        if "dropout" not in op.name or op.line in told or not op.outputs:
            continue
        training = op.options.get("training", op.options.get("2", True))
        p = op.options.get("p", op.options.get("1", 0.5))
        if training is False or p == 0:
            continue
        evaluating = op.owner is not None and any(
            not seen.parts[nr].training for nr in (op.owner, *seen.parts[op.owner].parents)
        )
        last = not any(
            set(op.outputs) & set(later.inputs) and later.name not in ALL_LOSSES
            for later in seen.ops[op.nr + 1 : op.nr + 6]
        )
        to_loss = any(
            set(op.outputs) & set(later.inputs) and later.name in ALL_LOSSES
            for later in seen.ops[op.nr + 1 : op.nr + 6]
        )
        heavy = isinstance(p, float) and p >= 0.9 and op.recorded
        if evaluating and not op.library:
            text = "drops values although its module is in evaluation mode: F.dropout does not know of it."
            fix = "Say so: `F.dropout(x, p, training=self.training)`, or use the module nn.Dropout."
        elif last and to_loss and op.recorded:
            text = f"drops outputs right before the loss: {p:.0%} of what is compared with the targets is 0."
            fix = "Put dropout between hidden layers, never on the outputs."
        elif heavy:
            text = f"drops {p:.0%} of what comes in: hardly anything is left to learn from."
            fix = "Use a p between 0.1 and 0.5: it is the share that is dropped, not what is kept."
        elif not op.grad_on and op.owner is not None and seen.steps and not evaluating:
            text = "drops values in a forward pass under no_grad: what is evaluated is not the whole model."
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


# labels


def _labels(seen: Observation) -> Iterator[Finding]:
    """A tensor that is called like labels and that no loss ever saw."""
    passes = [each for each in seen.passes if each.kind == "backward" and each.done]
    if not passes or not seen.steps:
        return
    above = seen.above([root for each in passes for root in each.roots])
    if _compared_with_data(seen, above):
        return
    named = [
        value
        for value in seen.values
        if value.name in LABELS and value.leaf is None and value.of_grad is None and value.nr not in above
    ]
    reaching = [value.nr for value in seen.values if value.name in LABELS and value.nr in above]
    if any(not any(seen.values[nr].requires_grad for nr in seen.above([one])) for one in reaching):
        return  # labels do reach it, under this name or another
    for value in named:
        below = [op for op in seen.ops if value.nr in op.inputs]
        if any(set(op.outputs) & above for op in below):
            continue
        last = passes[-1]
        loss = _loss_line(seen, last)
        yield Finding(
            "unused-labels", loss or last.line, False,
            f"{value.name}, made in line {value.line}, reaches no loss: the model is trained without it. The loss comes from line {loss or last.line}, "
            f"`{seen.places.code(loss or last.line)}`.",
            f"Compare the outputs with {value.name}.", [value.name], [loss or last.line or 0, value.line or 0], 5, share=0.5,
        )  # fmt: skip
        return


def _compared_with_data(seen: Observation, above: set[int]) -> bool:
    """Whether something on the way to the loss is held against labels, by any name, or against another answer."""
    learnt: dict[int, bool] = {}
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
            # Two answers may be held against each other; an answer against what was made of it teaches nothing.
            answers = [one for one in given if learnt.get(one, False)]
            if len(answers) == 2 and not any(b in seen.above([a]) for a, b in (answers, answers[::-1])):
                return True
    return False


def _loss_line(seen: Observation, each: Through) -> int | None:
    for nr in sorted(seen.above(each.roots), reverse=True):
        op = seen.maker(seen.values[nr])
        if op is not None and op.name in ALL_LOSSES:
            return op.line
    roots = [seen.maker(seen.values[nr]) for nr in each.roots]
    return next((op.line for op in roots if op is not None), None)
