"""`.grad` is None: where the record ends on the way from a parameter to the loss."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from viz.diagnosis import families as ops
from viz.diagnosis.observation import Leaf, Observation, Ran, Seen, Through, first_and_last
from viz.diagnosis.paths import Step, exits, first_on_path, without_graph
from viz.diagnosis.places import indexed, once
from viz.diagnosis.rules.rule import Match, Place, Rule, sentences, telling

NEEDS_GRAD = "does not require grad"
OFF = "requires-grad-off"
MEANT = {"no-grad", "inference-mode", "detach"}  # as on the way to a target that is not to learn
ARRAYS = {"numpy", "__array__"}

# How a way can end: what happened, and what to do.
ENDS = """
detach: {at}, calls detach(): the numbers go on, but the way back to {names} ends here.
    Fix: Remove .detach() where the gradient should pass.
data: {at}, reads .data: the numbers go on, but the way back to {names} ends here, and nothing is checked.
    Fix: Compute with the tensor itself instead of .data.
item: {at}, turns a tensor into a Python number. A number has no history, so no gradient comes back to {names}.
    Fix: Compute the loss from the tensor itself; call item() only to print.
numpy: {at}, goes to NumPy, which records nothing: no gradient comes back to {names}.
    Fix: Use the engine's function of the same name. Go to NumPy only to print or plot.
new-tensor: {at}, makes a new tensor out of numbers. It is a leaf with no history, so no gradient comes back to {names}.
    Fix: Join tensors with stack() or cat(), which are recorded, and not with tensor().
copied: {at}, makes a new tensor out of the numbers of one. It is a leaf with no history, so no gradient comes back to
    {names}.
    Fix: Leave the call out: what it is given is a tensor already. For a copy with its history use clone().
no-grad: {at}, switches recording off: {ran}, ran under it, and no gradient comes back to {names}.
    Fix: Move the part that should learn out of the block.
integer-op: {at}, returns integers or booleans (`{op}`), which have no slope: no gradient comes back to {names}.
    Fix: Use a loss with a slope, such as cross_entropy on the scores; count hits only to report them.
requires-grad-off: {at}, switches requires_grad off for {names}: autograd records nothing there.
    Fix: Keep requires_grad on for everything that should learn: `p.requires_grad_(True)`.
rebound: {at}, makes a new tensor and gives it the parameter's name. The new tensor is not a leaf that requires grad:
    {names} gets no further gradient.
    Fix: Write into the parameter under no_grad, or use an optimizer: `with T.no_grad(): {name} -= lr * {name}.grad`.
    Reset the gradient after the update, or the next one is added to it: `{name}.grad = None`. Change other updates like
    it in the same way.
unread: {at}, ran unrecorded, since no input requires grad. Its forward reads {names}, and what it reads without being
    given it gets no gradient.
    Fix: Give it as an input what should learn. A checkpoint works with `use_reentrant=False`.
not-given: {at}: the forward of `{op}` reads {names} without being given {them}, and its backward answers only for what
    it is given.
    Fix: Give it as an input what should learn, and return a gradient for it.
wrong-backward: {at}: the result of this Function has no gradient, so none comes back to {names}.
    Fix: Return a differentiable output, with a gradient for each input that needs one.
cut: {at}: `{op}` was not recorded, so no gradient comes back to {names}.
    Fix: Keep every op between the parameter and the loss recorded.
"""
CUTS = sentences(ENDS)
CUTS["inference-mode"] = CUTS["no-grad"]
OTHERWISE = {"unread": "cut", "not-given": "cut", "copied": "new-tensor"}  # the kind, where it is not the same word


def _gradients(seen: Observation, op: Ran) -> set[int | None]:
    """The leaves whose `.grad` an op was given, as it is or after one op more, as in `lr * w.grad`."""
    inputs = [seen.values[nr] for nr in op.inputs]
    return {source.of_grad for value in inputs for source in (value, *seen.inputs(value))} - {None}


def _left(seen: Observation, op: Ran, step: Step, names: set[str] | None = None) -> bool:
    """Whether what a detach() made left the engine in its line, as in `.detach().numpy()`."""
    exit_ = exits(seen).get(step.made.nr)
    return exit_ is not None and exit_.line == op.line and (names is None or exit_.name in names)


# Why an op was not recorded: the first that fits.
WHY: tuple[tuple[str, Callable[[Observation, Ran, Step], object]], ...] = (
    ("not-given", lambda seen, op, step: step.given.nr in op.read and op.recorded),
    ("unread", lambda seen, op, step: step.given.nr in op.read),
    ("numpy", lambda seen, op, step: op.name == "detach" and _left(seen, op, step, ARRAYS)),
    ("item", lambda seen, op, step: op.name == "detach" and _left(seen, op, step)),
    ("detach", lambda seen, op, step: op.name == "detach"),
    ("data", lambda seen, op, step: op.name == "data"),
    ("rebound", lambda seen, op, step: not op.in_place and step.given.leaf in _gradients(seen, op)),
    ("inference-mode", lambda seen, op, step: op.inference),
    ("no-grad", lambda seen, op, step: not op.grad_on),
    ("copied", lambda seen, op, step: op.name in ops.COPIES and step.made.shape == step.given.shape),
    ("new-tensor", lambda seen, op, step: op.name in ops.COPIES),
    ("integer-op", lambda seen, op, step: not step.made.floating),
    (OFF, lambda seen, op, step: not step.given.requires_grad),
    ("wrong-backward", lambda seen, op, step: op.name.endswith(".apply")),
    ("cut", lambda seen, op, step: True),
)


@dataclass
class Cut:
    """Where and why the way from a leaf to the loss ends."""

    kind: str
    line: int | None
    step: Step


def _ends(seen: Observation) -> Callable[[Step], object]:
    """The predicate of a step that autograd did not record."""

    def ends(step: Step) -> bool:
        if step.op is None:
            return step.given.nr in exits(seen)
        unrecorded = not step.made.requires_grad or (step.made.leaf is not None and not step.op.recorded)
        return unrecorded or step.given.nr in step.op.read

    return ends


def cut(seen: Observation, values: set[int], root: int) -> Cut | None:
    """The first unrecorded step from some values to a root, and why; by way of Python where no other way exists."""
    step = first_on_path(seen, values, root, _ends(seen))
    step = step or first_on_path(seen, values, root, _ends(seen), by_python=True)
    if step is None:
        return None
    op = step.op
    if op is None:
        left = exits(seen)[step.given.nr]
        rebuilt = left.name == "__float__" and seen.maker(step.made) is None  # as by torch.Tensor([w[0], w[1]])
        return Cut("new-tensor" if rebuilt else "numpy" if left.name in ARRAYS else "item", left.line, step)
    kind, line = next(kind for kind, fits in WHY if fits(seen, op, step)), op.line
    if kind in ("no-grad", "inference-mode"):
        line = seen.places.switched_off(op.stack) or line
    elif kind == OFF and step.given.leaf is not None:
        leaf = seen.leaves[step.given.leaf]
        line = leaf.frozen_at or seen.origin(leaf)
    return Cut(kind, line, step)


def _told(found: Cut, words: str, **more: object) -> dict[str, object]:
    return {"kind": OTHERWISE.get(found.kind, found.kind), "words": words, "fix": CUTS[found.kind][1], **more}


def _without_gradient(seen: Observation) -> Iterator[Match]:
    """Leaves that got no gradient, by the step that cuts them off."""
    failed = [each for each in seen.passes if NEEDS_GRAD in each.raised]
    if failed and (handed := without_graph(seen, failed[0].roots, failed[0])) is not None:
        yield Match(handed, failed[:1], given=telling(*SAID["no-graph"], explains=True, certain=True))
        return
    cuts, _ = _lacking(seen)
    for (_, line), found in cuts.items():
        first, leaves = found[0][0], [leaf for _, leaf in found]
        if first.kind == OFF and not failed and all(_deliberate(seen, leaf) for leaf in leaves):
            continue
        words = CUTS[first.kind][0] + " None of {count} backward passes gave {them} a gradient."
        if failed:
            words += " backward() itself raised an error, because nothing that led to the loss requires grad."
        certain = bool(failed) or (first.kind != OFF and not any(leaf.gradients for leaf in leaves))
        op, names = first.step.op, seen.called(leaf.nr for leaf in leaves)
        share = len(leaves) / max(1, len(list(seen.trained())))
        given = _told(first, words, certain=certain, explains=bool(failed), share=share)
        told = {"ran": op, "op": op.name if op else "", "count": len(seen.passes), "cut": first.step.made.nr}
        told["copied"] = first.kind == "copied"
        where = op.where if op else None
        yield Match(line, [op], names=names, path=first.step.way, where=where, given=given, **told)
    if failed and not cuts:
        yield from _never_asked(seen, failed[0])


def _deliberate(seen: Observation, leaf: Leaf) -> bool:
    """Whether a leaf was trained or loaded before, as a trunk is, no optimizer holds it, or it was made frozen."""
    loaded = leaf.holder is not None and leaf.frozen_at in (None, seen.parts[leaf.holder].line)
    return leaf.known or not leaf.held or loaded


@once
def _lacking(seen: Observation) -> tuple[dict[tuple[str, int | None], list[tuple[Cut, Leaf]]], list[Leaf]]:
    """The leaves that got no gradient: those that are cut off, by kind and line, and those that lead to no loss."""
    passes = first_and_last(each for each in seen.passes if each.done or NEEDS_GRAD in each.raised)
    failed = [each for each in passes if each.raised]
    stopped = {nr for each in seen.passes if each.raised for nr in seen.behind(each)}  # these do lead to a loss
    found, idle = [], []
    for leaf in (seen.leaves if failed else [*seen.trained()]) if passes else ():
        may_learn = leaf.held or leaf.requires_grad or leaf.frozen_at is not None
        if not may_learn if failed else _reached(seen, leaf):
            continue
        own = [each for each in passes if seen.stepped_by(each) in leaf.held]
        likeliest = _likeliest(seen, leaf, failed or own) or _likeliest(seen, leaf, passes)
        if likeliest is not None and not (_follows(leaf) and likeliest.kind in MEANT):
            found.append(((likeliest.kind, likeliest.line), (likeliest, leaf)))
        elif likeliest is None and leaf.requires_grad and leaf.held and stopped.isdisjoint(leaf.values):
            idle.append(leaf)
    return indexed(found), [] if failed else idle


def _reached(seen: Observation, leaf: Leaf) -> bool:
    """Whether a leaf got a gradient that its optimizer can find: autograd.grad() alone only returns gradients."""
    kinds = {seen.passes[nr - 1].kind for nr, _ in leaf.gradients}
    handed_out = bool(leaf.held) and kinds == {"grad"} and not any(write.kind == "step" for write in leaf.writes)
    return bool(leaf.gradients or leaf.reached_unwatched) and not handed_out


def _follows(leaf: Leaf) -> bool:
    """Whether a leaf follows others by writes, as a target network does."""
    return sum(write.kind == "write" and write.after > 0 for write in leaf.writes) > 1


def _likeliest(seen: Observation, leaf: Leaf, passes: list[Through]) -> Cut | None:
    """The cut of a leaf: the likeliest mistake first, what may be meant last."""
    cuts = [found for each in passes for root in each.roots if (found := cut(seen, {*leaf.values}, root)) is not None]
    return min(cuts, key=lambda found: (found.kind in MEANT, len(found.step.way)), default=None)


def _never_asked(seen: Observation, failed: Through) -> Iterator[Match]:
    """backward() was refused because nothing that led to the loss requires grad, and nothing was cut off."""
    sources = [t for nr in seen.above(failed.roots) if (t := seen.values[nr]).floating and not seen.inputs(t)]
    weights = sorted([t for t in sources if _weighs(seen, t)] or sources, key=lambda t: t.line or 0)
    for first in weights[:1]:
        names = dict.fromkeys(value.name or f"the tensor made in line {value.line}" for value in weights)
        yield Match(first, weights, names=names, first=first.line, given=UNASKED)


def _weighs(seen: Observation, value: Seen) -> bool:
    """Whether others are multiplied by a value or looked up in it, as in weights; data come first in a matmul."""
    for op in seen.users(value.nr):
        if op.name in ops.LAYERS | {"mv", "embedding"}:
            if value.nr in op.inputs[op.name != "embedding" :]:
                return True
        elif op.name in ops.FACTORS and any(len(value.shape) < len(seen.values[nr].shape) for nr in op.inputs):
            return True
    return False


def _unused(seen: Observation) -> Iterator[Match]:
    """Parameters that lead to no loss: the line that reads their part, and whether it ran, or that makes it."""
    _, idle = _lacking(seen)
    ran = {line for op in seen.ops for line in op.stack}
    for holder, leaves in indexed((_whole(seen, leaf, idle), leaf) for leaf in idle).items():
        part = seen.parts[holder] if holder is not None else None
        names = seen.called(leaf.nr for leaf in leaves)
        path = (part.path if part else names[0]).split(".")
        attribute = next((part for part in reversed(path) if part and not part.isdigit()), "")
        reads, made = seen.places.where_read(attribute), (part or leaves[0]).line
        if leaves[0].used_by:
            left = _as_number(seen, leaves[0])
            line = next((line for line in reads if line in ran), made) if left is None else left
            told = telling(*SAID["thrown-away"]) if left is None else telling(*CUTS["item"], kind="item")
            yield Match(line, names=names, given=told)
            continue
        asleep = [Place(line) for line in reads if line not in ran][:3]
        how = "{asleep}, never ran" if asleep else "no op ever received {them}"
        told = telling(
            "{names} took part in no op of this run: " + how + ". So no gradient came.",
            "Use it in forward, or leave it out.",
        )
        yield Match((*asleep, Place(made))[0], asleep, names=names, asleep=next(iter(asleep), None), given=told)


def _as_number(seen: Observation, leaf: Leaf) -> int | None:
    """The last line in which a recorded result of a leaf became a Python number or a NumPy array."""
    below = seen.below(leaf.values[-1:], lambda value: value.requires_grad)
    return next((out.line for out in reversed(seen.exits) if out.value in below and out.name != "__bool__"), None)


def _whole(seen: Observation, leaf: Leaf, idle: list[Leaf]) -> int | None:
    """The outermost module around a leaf of which no parameter is used."""
    holder, unused = leaf.holder, {weight.nr for weight in idle}
    while holder is not None:
        around = [nr for nr in seen.parts[holder].parents if nr != holder and seen.parts[nr].path]
        whole = [nr for nr in around if unused.issuperset(seen.weights(seen.parts[nr]))]
        if not whole:
            break
        holder = whole[0]
    return holder


def _lost_in_part(seen: Observation) -> Iterator[Match]:
    """A number that the loss adds, and that depends on what learns, is a constant."""
    for each in first_and_last(seen.backwards):
        values = {nr for leaf in seen.trained() if leaf.nr in each.got for nr in leaf.values}
        for op in (op for op in ops.makers(seen, seen.recorded(each)) if op.name in ops.ADDITIVE):
            for value in (seen.values[nr] for nr in op.inputs if not seen.values[nr].requires_grad):
                single = value.floating and value.leaf is None and not value.shape and value.of_grad is None
                found = cut(seen, values, value.nr) if single else None
                if found is not None and without_graph(seen, [value.nr], each) is None:
                    step, told = found.step, _told(found, SAID["in-part"][0], certain=False, share=0.6)
                    yield Match(found.line, [op, step.op], user=op, path=step.way, cut=step.made.nr, given=told)
                    return


def _drawn(seen: Observation) -> Iterator[Match]:
    """A layer uses an unrecorded result, such as a draw, but the loss reaches what it was made of in another way."""
    for each in first_and_last(seen.backwards):
        back = seen.recorded(each)
        values = {nr for leaf in seen.trained() if leaf.nr in each.got for nr in leaf.values}
        takes = (
            (user, seen.values[nr]) for user in ops.makers(seen, back) if user.name in ops.LAYERS for nr in user.inputs
        )
        loose = {
            (user.line, value.line): (user, value)
            for user, value in takes
            if value.op is not None and not value.requires_grad
        }
        for user, value in loose.values():  # once for each line: a loop repeats itself
            found = cut(seen, values, value.nr) if value.floating and value.leaf is None else None
            op = found.step.op if found is not None else None
            if found is None or op is None or found.kind != "no-grad" or not _goes_on(seen, found, back, value.nr):
                continue
            yield Match(op, [found.line, user], made=op, user=user, path=found.step.way, cut=found.step.made.nr)
            return


def _goes_on(seen: Observation, found: Cut, back: set[int], taken: int) -> bool:
    """Whether ops alone lead from a cut to `taken`, and the loss uses no probability of what was drawn."""
    needed = any(nr in back and seen.values[nr].leaf is None for nr in found.step.way)
    on = seen.below([found.step.made.nr], lambda value: not value.requires_grad)
    asked = any(user.recorded and user.name in ops.DIFFERENCES for nr in on for user in seen.users(nr))
    return needed and not asked and taken in on


def _no_second_order(seen: Observation) -> Iterator[Match]:
    """A later loss uses a gradient that has no graph: a constant there, though it depends on what learns."""
    learning = {leaf.nr for leaf in seen.trained()}
    for each in first_and_last(seen.backwards):
        asked = without_graph(seen, each.roots, each)
        if asked is not None and {seen.values[nr].leaf for nr in seen.behind(asked)} & learning:
            handed = (value.nr for value in seen.values if value.of_grad in asked.got)
            path = [*handed][:1] + each.roots[:1]
            yield Match(asked, [each], path=path, cut=path[0])
            return


def _asked_in_vain(seen: Observation) -> Iterator[Match]:
    """The program read `.grad` of a tensor that was computed, or that an update made anew."""
    error = seen.error["message"] if seen.error is not None else ""
    explains = "NoneType" in error or "can't optimize a non-leaf Tensor" in error
    for nr, read in (*seen.asked_in_vain, *seen.asked_unrequired.items()):
        value = seen.values[nr]
        op = seen.maker(value)
        rebound = (
            op is not None and not op.in_place and _gradients(seen, op) & {seen.values[nr].leaf for nr in op.inputs}
        )
        if op is not None and (value.requires_grad or rebound):
            here = seen.places.function_around(read)  # of a helper, its call
            at = next((line for line in op.stack if seen.places.function_around(line) == here), op.line)
            given = telling(*CUTS["rebound"], kind="rebound") if rebound else {}
            behind = {seen.values[source].leaf for source in seen.above([nr])}
            learn = {leaf.name for leaf in seen.leaves if leaf.gradients and leaf.nr in behind} - {"", value.name}
            if learn and not rebound and "can't optimize" not in error:
                given = {"fix": LOOK}
            told: dict[str, Any] = {"op": op.name, "read": read, "keeps": given.get("fix") == LOOK, "where": op.where}
            given["explains"], path = explains, [*op.inputs[:1], nr]
            yield Match(at, [op, read], names=[value.name], path=path, cut=nr, given=given, **told)


def _asked_unrequired(seen: Observation) -> Iterator[Match]:
    """The program read `.grad` of a tensor that the loss depends on, and that was made without requires_grad."""
    above = seen.above([root for each in seen.passes if each.done for root in each.roots])
    for nr, read in seen.asked_unrequired.items():
        value = seen.values[nr]
        if nr in above and value.floating and not any(seen.values[source].requires_grad for source in seen.above([nr])):
            line = seen.places.where_given(f"self.{value.name.rpartition('.')[2]}") or value.line
            yield Match(line, [read], names=[value.name], what=value.name or "the tensor", read=read)
            return


WORDS = """
unasked: Nothing that led to the loss requires grad, so nothing was recorded and backward() raised an error. {names}
    {are} made without requires_grad, first in line {first}.
    Fix: Mark the tensors that should learn when you make them: requires_grad=True.
thrown-away: {at}: nothing goes on from here to the loss, so {names} {get} no gradient: what was computed with {them} is
    not used.
    Fix: Use the result: give it a name, and hand it on to what comes next.
no-graph: {at}, computes gradients without create_graph=True, so they have no history, and what is computed from them is
    a constant.
    Fix: Ask for a graph of the gradient itself: `create_graph=True`.
later: {at}, computes gradients without create_graph=True, so they have no history, and what is computed from them is a
    constant. The loss of a later pass uses them, and no weight learns from that.
    Fix: Ask for a graph of the gradient itself: `create_graph=True`.
in-part: {at}, cuts a term of the loss off, which {user} adds: it is a constant there, and nothing learns from it.
no-grad: {at}: {made}, ran without being recorded, and {user}, goes on from its numbers: nothing in front of it learns
    from that.
    Fix: Compute it outside of no_grad, and draw so that a slope is left, with rsample(), or from noise: `mean + std *
    T.randn_like(std)`.
non-leaf: {at}, computes {name} from another tensor (`{op}`), so {name} is not a leaf. backward() keeps gradients only
    for leaves: {name}.grad, read in line {read}, is None.
    Fix: Make {name} first and switch its gradient on afterwards, with `{name}.requires_grad_()`.
off: {at}, makes {what} without requires_grad. The loss depends on it, but no gradient is computed for it: its .grad,
    read in line {read}, is None.
    Fix: If it should learn, make it with requires_grad=True, and in a module as a Parameter: `self.w =
    T.nn.Parameter(…)`.
"""
SAID = sentences(WORDS)
UNASKED = telling(*SAID["unasked"], kind=OFF, certain=True, explains=True)
LOOK = "Call {name}.retain_grad() before backward(): then {name} keeps its gradient, too."
RULES = [
    Rule("no-grad", _drawn, *SAID["no-grad"], share=0.5),
    Rule("non-leaf", _asked_in_vain, *SAID["non-leaf"], certain=True, share=1.0),
    Rule(OFF, _asked_unrequired, *SAID["off"], share=0.5),
    Rule("cut", _without_gradient),
    Rule("unused", _unused),
    Rule("cut", _no_second_order, *SAID["later"], certain=True, share=0.6),
    Rule("cut", _lost_in_part),
]
