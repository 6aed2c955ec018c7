"""A gradient of zero: which op lets nothing through, and what made it so."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from viz.diagnosis import families as ops
from viz.diagnosis.families import source
from viz.diagnosis.finding import listed, number
from viz.diagnosis.observation import Leaf, Observation, Ran, Seen, Through
from viz.diagnosis.rules.rule import Match, Rule
from viz.diagnosis.rules.weights import outweighs

AGAIN = 3  # calls of a line that show that it is always so
LOST = 1e-20  # a gradient below this underflows to 0 in the next ops: it vanished before
FAR_OUT = 20.0  # an input where a sigmoid or tanh is flat in single precision
MOST_UNITS = 0.9  # of the results of a sigmoid or tanh: if these lie at the bound, most units learn nothing
MOST_ROWS = 0.8  # of the rows of a softmax, likewise
MANY_UNITS = 0.4  # likewise, before any step, where the program itself made the weights so large
MANY_ROWS = 0.5  # likewise, before any step, of a softmax over products as in attention
FAR_APART = 50.0  # such products, in size, where the products of normal numbers would be below 5
HARDLY = 0.02  # of a gradient: the most that a nearly saturated op lets pass
COSINE = 1.01  # the largest cosine, with room for rounding
SATURATING = 4.0  # an input from which on a sigmoid, tanh or softmax can pass nothing at all


def _blocked(seen: Observation) -> Iterator[Match]:
    """Leaves that get only zeros, by the op that lets nothing through."""
    passes = [each for each in seen.passes if each.done and each.kind == "backward" and (each.got or each.reached)]
    trained = {leaf.nr: leaf for leaf in seen.trained()} if passes else {}
    causes: dict[tuple[str, int | None], tuple[Match, list[Leaf]]] = {}
    for leaf in trained.values():
        if not leaf.gradients or any(peak != 0 for _, peak in leaf.gradients):
            continue
        found = _cause(seen, seen.passes[leaf.gradients[-1][0] - 1], leaf)
        if found is None:
            continue
        causes.setdefault((found.given["kind"], found.line), (found, []))[1].append(leaf)
    for match, leaves in causes.values():
        kind = match.given["kind"]
        match.names = seen.called(leaf.nr for leaf in leaves)
        match.given["share"] = len(leaves) / max(1, len(trained))
        everything = len(leaves) == len([leaf for leaf in trained.values() if leaf.gradients])
        times = min(len(leaf.gradients) for leaf in leaves)
        match.told["text"] += (
            f" In {'all' if times > 1 else 'the'} {times} backward pass{'es' if times > 1 else ''} the gradient of {listed(match.names)} was exactly 0."
        )
        if kind == "zero" and not everything and sum(len(leaf.shape) > 1 for leaf in leaves) < 2:
            continue  # a bias whose parts cancel is not a cause
        match.given["certain"] = match.given["certain"] or (everything and times > 1 and kind != "zero")
        if kind == "dead-relu" and not any(each.loss for each in passes):
            match.given["certain"] = False  # a hinge that is kept everywhere
            match.told["text"] += (
                " The loss is 0 as well: every margin is kept and nothing is left to learn, or the margin compares the wrong things."
            )
            match.told["cure"] = (
                "Look at what the margin compares, and at the masks in it. If they are right, choose harder pairs or a larger margin."
            )
        yield match
    yield from _flat_parts(seen)


def _flat_parts(seen: Observation) -> Iterator[Match]:
    """Steps and bounds that let nothing through in any call, although what is behind them learns in another way."""
    lines: dict[int | None, list[Ran]] = {}
    for op in seen.ops:
        if (
            op.name in ops.FLAT | {"clamp"}
            and op.recorded
            and op.inputs
            and op.outputs
            and seen.values[op.outputs[0]].grad
        ):
            lines.setdefault(op.line, []).append(op)
    for calls in lines.values():
        given = [seen.values[op.inputs[0]] for op in calls]
        shut = [
            one.grad == 0 and (op.name in ops.FLAT or len(seen.users(one.nr)) == 1)
            for op, one in zip(calls, given, strict=True)
        ]
        if len(calls) >= AGAIN and all(shut):
            found = _of_op(seen, calls[-1], seen.values[calls[-1].outputs[0]], given[-1], [calls[-1].outputs[0]])
            if found is not None and found.given["kind"] in ("flat", "clamp"):
                found.told["text"] += f" It was so in all {len(calls)} calls."
                found.given |= {"certain": False, "share": 0.3}
                yield found


def _cause(seen: Observation, each: Through, leaf: Leaf) -> Match | None:
    """The op nearest to the loss that got a gradient and let none of it through towards the leaf."""
    values = set(leaf.values)
    for root in each.roots:
        chain = seen.route(root, lambda value: value.nr in values, recorded=True)
        if not chain:
            continue
        arrived = dict(each.reached)
        before = seen.values[root]
        for nr in chain[1:]:
            got = arrived.get(before.nr)
            now = arrived.get(nr, 0.0 if nr in values else None)
            op = seen.maker(before)
            if got and now == 0 and op is not None and (got > LOST or arrived.get(root) == got):
                if op.name in ops.DISTANCES and before.peak == 0:
                    return None  # the model gives what is asked for: there is nothing left to learn
                return _of_op(seen, op, before, seen.values[nr], chain)
            before = seen.values[nr]
    return None


def _of_op(seen: Observation, op: Ran, out: Seen, given: Seen, chain: list[int]) -> Match | None:
    if "dropout" in op.name:
        return None  # another detector reports how much a dropout drops
    shut = _shut(seen, given) if op.name not in ops.CLAMPS | ops.RELUS | ops.SATURATES | ops.MULTIPLIES else None
    if shut is not None:
        op, given = shut
        out = seen.values[op.outputs[0]]
    code = f"Line {op.line}, `{seen.places.code(op.line)}`:"
    path = chain[::-1]
    lines = [op.line or 0]
    line, certain = layer_line(seen, op), False
    chooser = _chooser(seen, op, out, chain)
    if line != op.line:
        code, lines = f"Line {line}, `{seen.places.code(line)}`:", [line or 0, *lines]
    bounded = op.name in ops.CLAMPS and (op.name not in ops.RELUS or op.name == "hardtanh" or (given.low or 0.0) > 0)
    if op.name in ops.FLAT:
        kind, certain = "flat", True
        text = f"{code} `{op.name}` is flat: its slope is 0 everywhere, so no gradient passes."
        fix = (
            "Use a smooth replacement (tanh, sigmoid), or a straight-through estimator: `x + (x.round() - x).detach()`."
        )
    elif op.name in ("softmax", "log_softmax") and _one_class(op, out):
        kind, certain = "saturated", True
        text = f"{code} `{op.name}` over a dimension of length 1 is constant, so its slope is 0."
        weighs = any(user.name in ops.MULTIPLIES for user in seen.users(out.nr) if user.nr > op.nr)
        fix = (
            f"Take it over the dimension of the places to choose from: its input has the shape {given.shape}."
            if weighs
            else "For one output use sigmoid with binary_cross_entropy_with_logits; softmax needs at least two classes."
        )
    elif bounded:
        kind = "clamp"
        text = f"{code} `{op.name}` holds every number at its bound (its input reaches {number(given.peak or 0)}), and its slope is 0 there."
        fix = "Scale the input so that it lies within the bounds, or clamp only what you report."
    elif op.name in ops.RELUS:
        kind = "dead-relu"
        text = f"{code} `{op.name}` gives 0 for every input it saw, and its slope is 0 there."
        fix = "Start with a bias of 0 and a smaller learning rate, or use leaky_relu."
        writer = outweighs(seen, given)
        if writer:
            line, lines = writer, [writer, *lines]
            text += f" Its input comes from what line {writer}, `{seen.places.code(writer)}`, wrote."
    elif op.name in ops.SATURATES and (given.peak is None or given.peak > SATURATING):
        kind = "saturated"
        text = f"{code} `{op.name}` is saturated: its input reaches {number(given.peak or 0)} in size, where its slope is 0."
        fix = "Scale the inputs to about 1 (subtract the mean, divide by the deviation), or make the weights smaller."
        if (writer := outweighs(seen, given)) is not None:
            line, lines = writer, [writer, *lines]
            text += f" That comes from the weights, which line {writer}, `{seen.places.code(writer)}`, made so large."
    elif op.name in ops.MULTIPLIES and (zero := _zero_factor(seen, op, given)) is not None:
        kind = "times-zero"
        what, source, weight = zero
        text = f"{code} `{op.name}` multiplies by {what}, which is 0 everywhere."
        fix = "Find out where that 0 comes from: a weight of the loss, a mask that lets nothing through, or a layer that starts at 0."
        if source and source != line:
            text += f" It is made in line {source}, `{seen.places.code(source)}`."
            line, lines = source, [source, op.line or 0]
        if weight is not None and all(peak == 0 for _, peak in weight.gradients):
            kind = "equal-units"
            text += " Its own gradient is 0 too, so it stays as it is: layers that begin at the same constant learn nothing."
            fix = "Begin with random numbers, as layers do by themselves; a constant is for biases only."
    elif op.name == "mul" and any(seen.values[nr].low == 0 for nr in op.inputs if nr != given.nr):
        kind = "times-zero"
        text = f"{code} `{op.name}` multiplies by 0 wherever a gradient comes: what follows lets nothing through where this factor is not 0."
        fix = "Look at the masks on the way to the loss: no place is left that all of them let through."
    elif chooser is not None:
        kind = "times-zero"
        line, lines = layer_line(seen, chooser), [chooser.line or 0, op.line or 0]
        text = (
            f"Line {line}, `{seen.places.code(line)}`: `{chooser.name}` chooses nothing of {given.name or 'what line ' + str(given.line) + ' computes'}, "
            f"which `{op.name}` in line {op.line} put beside larger numbers: no gradient passes."
        )
        fix = "Look at what stands beside it: padding must never win, so fill with -inf for a maximum."
    elif op.name in ops.CHOICES:
        kind = "times-zero"
        text = f"{code} `{op.name}` selects nothing from its input: no gradient passes."
        fix = "Look at the condition: it lets nothing through."
    elif "norm" in op.name and out.peak == 0:
        kind = "norm-at-zero"
        text = f"{code} `{op.name}` of a vector of zeros has a corner, where its slope is taken as 0."
        fix = "Compare squared distances, or start where the two are not the same."
    elif op.name.endswith(".apply"):
        kind = "wrong-backward"
        text = f"{code} the backward of this Function returns zeros."
        fix = "Check it with gradcheck."
    else:
        kind = "zero"
        text = f"{code} `{op.name}` received a gradient and passed on only zeros."
        fix = "Look at its inputs: the function is flat there."
    told = {"kind": kind, "certain": certain, "words": "{text}", "fix": "{cure}"}
    return Match(line, lines, where=op.where, path=path, cut=out.nr, given=told, text=text, cure=fix)


def _shut(seen: Observation, given: Seen) -> tuple[Ran, Seen] | None:
    """The op that holds everything at one bound, and what it got: what follows it, such as a square, is flat there."""
    if given.peak == 0 and (first := _first_zero(seen, given)) is not None:
        maker = seen.maker(first)
        if maker is not None and maker.name in ops.CLAMPS | ops.RELUS:
            return maker, seen.values[maker.inputs[0]]
    return None


def _chooser(seen: Observation, op: Ran, out: Seen, chain: list[int]) -> Ran | None:
    """The op that takes some of what `op` put together, and leaves out all of the part that a gradient is missing for."""
    if op.name not in ops.JOINS:
        return None
    place = chain.index(out.nr)
    later = (seen.maker(seen.values[nr]) for nr in reversed(chain[:place]))
    return next((one for one in later if one is not None and one.name in ops.CHOICES), None)


def _one_class(op: Ran, out: Seen) -> bool:
    dim = op.options.get("dim", op.options.get("1", -1))
    return isinstance(dim, int) and bool(out.shape) and -len(out.shape) <= dim < len(out.shape) and out.shape[dim] == 1


def _zero_factor(seen: Observation, op: Ran, given: Seen) -> tuple[str, int | None, Leaf | None] | None:
    """What a product is multiplied by, the line that made it, and the weight that it is, if it is one that learns."""
    scaling = [nr for nr in op.inputs if seen.values[nr].leaf is not None][
        :1
    ]  # of a norm: not its averages, nor its bias
    for nr in scaling if "norm" in op.name else op.inputs:
        other = seen.values[nr]
        if other.nr != given.nr and other.peak == 0:
            first = _first_zero(seen, other)
            if first is None:
                return None  # another detector reports how much a dropout drops
            if first.leaf is not None:
                leaf = seen.leaves[first.leaf]
                written = [write.line for write in leaf.writes if write.kind in ("init", "write") and write.line]
                learns = leaf if leaf.requires_grad and leaf.held + leaf.gradients else None
                if learns is not None and any(peak > 0 for _, peak in leaf.gradients):
                    return (
                        None  # it is 0 at the start alone, as in an adapter: steps that move nothing are another cause
                    )
                return leaf.name or first.name or "a weight", [seen.origin(leaf), *written][-1], learns
            return other.name or f"the tensor of line {other.line}", first.line, None
    if any(item == 0 and not isinstance(item, bool) for item in op.options.values()):
        return "the number 0", None, None
    return None


def _first_zero(seen: Observation, value: Seen) -> Seen | None:
    """The first value that was 0 everywhere, of those that made `value` so; None where a dropout had a part in it."""
    while value.leaf is None and (maker := seen.maker(value)) is not None:
        if "dropout" in maker.name:
            return None
        given = [seen.values[nr] for nr in maker.inputs]
        zeros = [one for one in given if one.peak == 0 and (one.floating or maker.name in ops.TURNS)]
        if not zeros:
            break
        value = next((one for one in zeros if one.requires_grad), zeros[0])
    return value


def _twice_softmax(seen: Observation) -> Iterator[Match]:
    """softmax into cross_entropy, sigmoid into a loss that takes the logits, softmax into nll_loss."""
    wanted = {name: {"softmax"} for name in ops.SCORE_LOSSES} | {
        name: {"sigmoid", "softmax"} for name in ("binary_cross_entropy_with_logits", "nll_loss")
    }
    wanted["log_softmax"] = {"softmax"}  # as in a loss by hand
    for op in seen.ops:
        if not op.inputs or not op.recorded or op.name not in wanted:
            continue
        value, maker = source(seen, op.inputs[0], ops.TURNS | {"__getitem__"})
        if maker is None or maker.name not in wanted[op.name]:
            continue
        line = layer_line(seen, maker)
        code, given = seen.places.code(line), {}
        if op.name == "nll_loss":
            given = {"words": "{at}: nll_loss in line {loss} takes logarithms of probabilities, but receives the output of `{made}`.",
                     "fix": "Use log_softmax instead of softmax, or cross_entropy on the scores."}  # fmt: skip
            called = re.findall(
                r"(\w+)\.softmax\(", code
            )  # of the engine or a tensor, not a module or a name of the program
            if len(called) == 1 and called != ["self"]:
                given["change"] = code, code.replace(".softmax(", ".log_softmax(")  # type: ignore[assignment]
        yield Match(
            line, [op], names=[value.name], where=maker.where, path=[*maker.inputs[:1], value.nr, *op.outputs[:1]], cut=value.nr, loss=op.line,
            name_of=op.name, made=maker.name, itself="sigmoid" if "entropy_with" in op.name else "softmax", given=given,
        )  # fmt: skip


def layer_line(seen: Observation, op: Ran) -> int | None:
    """The line of an op; of a ready-made layer that a line calls without naming it, the line that made the layer."""
    name = op.name.replace("_", "")
    made = seen.parts[op.owner].line if op.library and op.owner is not None else None
    hidden = name not in seen.places.code(op.line).lower().replace("_", "") and name in seen.places.code(made).lower()
    return made if made is not None and hidden else op.line


@dataclass
class _Call:
    """One call of a sigmoid, tanh or softmax: the gradient it passed on, and the share of its results at the bound."""

    op: Ran
    passed: float  # of the largest gradient that arrived
    bound: float
    peak: float  # of its input


def _nearly_flat(seen: Observation) -> Iterator[Match]:
    """A sigmoid, tanh or softmax whose inputs are so large that hardly any gradient passes, or that most units get none."""
    lines: dict[int | None, list[_Call]] = {}
    for op in seen.ops:
        if op.name not in ops.BOUNDED | {"softmax"} or not op.recorded or not op.inputs or not op.outputs:
            continue
        given, out = seen.values[op.inputs[0]], seen.values[op.outputs[0]]
        if out.grad and given.grad is not None:
            call = _Call(op, given.grad / out.grad, out.bound or 0.0, given.peak or 0.0)
            lines.setdefault(layer_line(seen, op), []).append(call)
    for at, calls in lines.items():
        first, last = calls[0], calls[-1]  # the first call tells what a step drove there
        passed = max(median(call.passed for call in calls), first.passed)
        bound = min(median(call.bound for call in calls), first.bound)
        choosing = last.op.name == "softmax"
        little = passed <= (HARDLY / 20 if choosing else HARDLY) and last.peak > FAR_OUT
        little = little and (not choosing or bound > 0)
        early = [call for call in calls if call.op.step == 0]
        begun = median(call.bound for call in early) if early else 0.0
        flattest = max(early or calls, key=lambda call: call.bound)
        scores = _products(seen, first.op) if choosing and begun >= MANY_ROWS else None
        writer = outweighs(seen, seen.values[(first if choosing else flattest).op.inputs[0]])
        found = little or bound >= (MOST_ROWS if choosing else MOST_UNITS)
        if not found and (scores is not None or (not choosing and writer is not None and begun >= MANY_UNITS)):
            found, bound, last = True, begun, flattest
        if len(calls) < 2 or not found:
            continue
        if scores is not None:
            yield _far_apart(seen, at, scores, first, begun)
            continue
        line = writer or at
        rows = "rows give all to one place" if choosing else "results lie at the bound"
        yield Match(
            line, [at], where=last.op.where, path=[last.op.inputs[0], *last.op.outputs[:1]], cut=last.op.inputs[0], op=last.op.name, peak=last.peak,
            said=f"of the gradient {number(passed)} passes" if little else f"{bound:.0%} of its {rows}, where next to no gradient passes",
            count=len(calls), flat="here" if line == at else f"in line {at}, whose weights it made so large,",
        )  # fmt: skip


def _products(seen: Observation, softmax: Ran) -> Ran | None:
    """The op that makes the scores of an attention, where they are far larger than a softmax can weigh, whatever a mask adds."""
    value, maker = source(seen, softmax.inputs[0])
    while maker is not None and maker.name in ops.MASKS and maker.inputs:
        learnt = next((nr for nr in maker.inputs if seen.values[nr].requires_grad), None)
        if learnt is None:
            return None
        value, maker = source(seen, learnt)
    if not FAR_APART < (value.peak or 0.0) < math.inf:
        return None
    for _ in range(3):  # a factor, and a view
        if maker is None or maker.name in ops.SCORES:
            break
        learnt = next((nr for nr in maker.inputs if seen.values[nr].requires_grad), None)
        if maker.name not in ("mul", "div") or learnt is None:
            return None
        maker = source(seen, learnt)[1]
    if maker is None or maker.name not in ops.SCORES:
        return None
    if (seen.values[maker.outputs[0]].peak or 0.0) < COSINE:
        return None  # of vectors of length 1, and a temperature that is meant to choose
    computed = (source(seen, nr)[0] for nr in maker.inputs)
    return maker if len(maker.inputs) == 2 and all(one.leaf is None and one.requires_grad for one in computed) else None


def _far_apart(seen: Observation, at: int | None, scores: Ran, first: _Call, share: float) -> Match:
    width = seen.values[scores.inputs[0]].shape[-1:]
    many = f", {width[0]}" if width else ""
    given = {
        "words": "{at}: before the first step `softmax` in line {flat} gives all to one place in {said} of its rows, so they learn next to nothing. Its "
        "scores, which are made here, reach {peak} in size.",
        "fix": f"Divide the products by the root of how many numbers each adds up{many}: `q @ k.transpose(-2, -1) / math.sqrt(d)`.",
    }
    return Match(
        scores,
        [at],
        where=first.op.where,
        cut=first.op.inputs[0],
        flat=at,
        said=f"{share:.0%}",
        peak=first.peak,
        given=given,
    )


def _equal_units(seen: Observation) -> Iterator[Match]:
    """Weights whose units are equal before and after every step, so all of them compute the same."""
    for leaf in seen.trained():
        rows = _units_are_rows(seen, leaf)
        if rows is None:
            continue
        same, count = (leaf.equal_rows, leaf.shape[0]) if rows else (leaf.equal_columns, leaf.shape[1])
        moved = any(peak > 0 for _, peak in leaf.gradients) and (leaf.size != leaf.began or not leaf.held)
        if len(same) < 2 or not all(same) or not moved or count < 2:
            continue
        wrote = (one.line for one in leaf.writes if one.kind in ("init", "write") and one.line and not one.after)
        steps = f"{len(same) - 1} step{'s' if len(same) > 2 else ''}"
        yield Match(
            next(wrote, seen.origin(leaf)), names=seen.called([leaf.nr]), count=count, units="rows" if rows else "columns", steps=steps
        )  # fmt: skip


def _units_are_rows(seen: Observation, leaf: Leaf) -> bool | None:
    """Whether each row of a weight is a unit, or each column, by the first layer that uses it; None where it is no layer's weight."""
    if len(leaf.shape) < 2:
        return None
    for nr in leaf.used_by:
        op, turned = seen.ops[nr], False
        value = next(one for one in op.inputs if seen.values[one].leaf == leaf.nr)
        if op.name in ops.TRANSPOSES and op.outputs:
            value, turned = op.outputs[0], True
            op = next((user for user in seen.users(value) if user.nr > nr), op)
        if op.name in ("matmul", "mm", "addmm"):
            return (op.inputs[-1] != value) != turned
        if op.name in ops.LAYERS:
            return not turned
    return None


RULES = [
    Rule("double-softmax", _twice_softmax,
        "{at}: `{name_of}` in line {loss} takes the scores themselves and applies {itself} itself. After `{made}` all scores lie between 0 and 1, "
        "and the gradient is a fraction of what it should be.",
        "Pass the scores to `{name_of}` unchanged, and use `{made}` only to report probabilities.", certain=True),
    Rule("zero", _blocked),
    Rule("equal-units", _equal_units,
        "{at}: all {count} {units} of {names} are the same, and they still are after {steps}. Equal weights get equal gradients, so the layer works "
        "like a single unit.",
        "Start with random numbers, as layers do by default. Use a constant only for biases.", certain=True, share=0.5),
    Rule("saturated", _nearly_flat,
        "{at}: `{op}` {flat} is nearly saturated. Its input reaches {peak} in size, and {said}, in {count} calls.",
        "Scale the inputs to about 1 (subtract the mean, divide by the deviation), or make the weights smaller.", share=0.3),
]  # fmt: skip
