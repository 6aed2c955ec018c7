"""Memory and time: graphs that grow with each step, are kept without need, are freed too early, or are overwritten."""

from __future__ import annotations

import bisect
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from viz.diagnosis.families import SUMS, makers
from viz.diagnosis.observation import Observation, Ran, Seen, Through, by_line
from viz.diagnosis.paths import without_graph
from viz.diagnosis.rules.rule import Match, Rule, sentences, telling
from viz.diagnosis.rules.zero import layer_line

SECOND = "backward through the graph a second time"
WRITTEN = "modified by an inplace operation"
STEADY = 3  # looks in which a variable kept as much as before
MOST_WRITES = 3  # that are tried: the one without which backward() comes to its end is the cause
MOST_BASES = 20  # of one value that are looked at
MOST_TURNS = 8  # of a line that are looked at for what they take from the turn before


def _graphs(seen: Observation) -> Iterator[Match]:
    """An endless history: a line uses its result from before a backward pass, or a variable keeps each step's graph."""
    for line, found in _carried(seen).items():
        op, value = found[0]
        later = [each for each in seen.passes if each.ops > op.nr]
        names = list(dict.fromkeys(op.name for _, op in found if op.name))
        called = (*names, seen.places.assigned(line) or "state")[0]
        carried = {nr for op, kept in found for nr in (kept.nr, *op.outputs)}
        state = any(carried & seen.behind(each) for each in later)  # a loss depends on it: it is no sum of losses
        if state and not any(_shares(seen, each, value, op) for each in seen.passes):
            continue  # a pass that comes later needs it, as a loss of several tasks
        raised = any(SECOND in each.raised or WRITTEN in each.raised for each in seen.passes)
        at = _handed_on(seen, op, later[0].stack) if state else line
        carries = telling(*SAID["state"], kind="state-not-detached", share=1.0, explains=raised)
        told: dict[str, Any] = {"called": called, "state": called.partition("[")[0], "given": carries if state else {}}
        path = [value.nr, *op.outputs[:1]]
        yield Match(at, [line], names=names, path=path, where=op.where, cut=value.nr, **told)
    for sums in _summed(seen).values():
        if len(sums) >= STEADY:
            yield Match(sums[-1], names=[seen.values[sums[-1].outputs[-1]].name], count=len(sums), given=SUMMED)
    for kept in seen.kept:
        # it keeps the last few, or one for each key; or a loss of all of them needs them
        steady = len(kept.counts) >= STEADY and len(set(kept.counts[-STEADY:])) == 1
        needed = any(len(seen.recorded(each) & set(kept.values)) > 1 for each in seen.passes)
        if kept.counts[-1] and not steady and not needed:
            yield Match(kept.line, names=[kept.name], count=kept.counts[-1], given=KEPT)


def _shares(seen: Observation, each: Through, value: Seen, op: Ran) -> bool:
    """Whether a pass before an op went back through what a value that the op takes was computed from."""
    if not (value.op or 0) < each.ops <= op.nr:
        return False
    own = {maker.nr for maker in makers(seen, seen.above([value.nr], lambda source: source.requires_grad))}
    return any(maker.nr in own for maker in makers(seen, seen.recorded(each)))


def _summed(seen: Observation) -> dict[int | None, list[Ran]]:
    """By line: running sums of single numbers, through which no backward pass ever goes."""
    ops = seen.ops if seen.passes else []
    sums = [op for op in ops if op.name in SUMS and op.recorded and not seen.values[op.outputs[-1]].shape]
    makers = {nr: op for op in sums for nr in op.outputs}
    on = [op for op in sums if any(nr in makers and _later(seen, makers[nr], op) for nr in op.inputs)]
    needed = seen.above(root for each in seen.passes for root in each.roots) if on else set()
    return by_line(op for op in on if needed.isdisjoint(op.outputs))


def _later(seen: Observation, one: Ran, other: Ran) -> bool:
    """Whether a line ran again, in a loop or after other lines: not the terms of one sum within a call."""
    between = seen.ops[one.nr + 1 : other.nr]
    return one.line == other.line and bool(
        seen.places.loops(other.line) or any(other.line not in op.stack for op in between)
    )


def _carried(seen: Observation) -> dict[int, list[tuple[Ran, Seen]]]:
    """By line: ops whose input is older than the last backward pass and was computed from their own earlier results."""
    ends = [each.ops for each in seen.passes if each.done and each.kind == "backward"]
    lines: dict[int, list[tuple[Ran, Seen]]] = defaultdict(list)
    for op in seen.ops if ends else ():
        began = ends[bisect.bisect_right(ends, op.nr) - 1] if op.nr >= ends[0] else 0
        line = op.line if op.recorded else None
        for value in (seen.values[nr] for nr in op.inputs):
            old = value.op is not None and value.op < began and value.leaf is None and value.requires_grad
            if line is not None and old and len(lines[line]) < MOST_TURNS:
                lines[line].append((op, value))
    again = {line: [pair for pair in every if _again(seen, *pair)] for line, every in lines.items()}
    return {line: every for line, every in again.items() if every}


def _again(seen: Observation, op: Ran, value: Seen) -> bool:
    """Whether a value was computed from what the same op of the same line, or its module there, made earlier."""
    before = (earlier for earlier in seen.at(op.line) if earlier.nr < op.nr)
    alike = [earlier for earlier in before if earlier.name == op.name or earlier.owner == op.owner is not None]
    return not seen.above([value.nr]).isdisjoint(nr for earlier in alike for nr in earlier.outputs)


def _handed_on(seen: Observation, op: Ran, stack: tuple[int, ...]) -> int | None:
    """Where a state should be detached: where the training loop hands it on, or where it is used."""
    loop = next((loops[0] for line in stack if (loops := seen.places.loops(line))), None)
    return op.line if loop is None or op.line is None else seen.places.given_again(op.line, loop)


def _both(seen: Observation, one: Through, other: Through) -> set[int]:
    """What was computed, and two passes go back through."""
    return {nr for nr in seen.recorded(one) & seen.recorded(other) if seen.values[nr].leaf is None}


def _twice(seen: Observation) -> Iterator[Match]:
    """A graph that the first of two passes freed, or that retain_graph=True keeps although no second pass comes."""
    for line, own in by_line(each for each in seen.passes if each.retain and not each.create and each.done).items():
        others = [other for other in seen.passes if other.nr not in {each.nr for each in own}]
        # Where it is create_graph that is missing.
        graphless = any(without_graph(seen, other.roots, other) in own for other in others)
        if not graphless and not any(
            _both(seen, each, other) for each in own for other in seen.passes if other is not each
        ):
            yield Match(line, count=f"{len(own)} pass{'es' if len(own) > 1 else ''}", given=IN_VAIN)
    failed = next((each for each in seen.passes if SECOND in each.raised), None)
    freed = [each for each in seen.passes if each.done and not (each.retain or each.create)]
    before = [each for each in freed if failed is not None and each.nr < failed.nr and _both(seen, each, failed)]
    shared = {nr for each in before for nr in _both(seen, each, failed)} if failed is not None else set()
    if failed is None or not shared:
        return
    first, top = before[-1], seen.values[max(shared)]
    name = [top.name]
    told: dict[str, Any] = {"path": [top.nr, *failed.roots[:1]], "cut": top.nr, "back": failed.line}
    asked = without_graph(seen, failed.roots, failed)
    if asked is not None and asked in before:
        yield Match(asked, [failed], **told | {"given": telling(*SAID["graphless"], kind="cut")})
        return
    if again := shared.intersection(failed.roots):  # the same loss
        yield Match(failed, [next(each for each in before if again & seen.behind(each))], first=first.line, given=TWICE)
    elif (attached := _attached(seen, first, failed, shared)) is not None:
        yield _left_attached(seen, *attached, shared)
    elif first.line != failed.line or all((seen.values[nr].op or 0) < first.ops for nr in failed.roots):  # two losses
        told |= {"what": top.name or f"what line {top.line} computes", "given": telling(*SAID["together"])}
        yield Match(first, [failed, top], names=name, **told)
    else:
        ran = {line for op in seen.ops[first.ops : failed.ops] for line in op.stack}
        maker = seen.maker(top)
        once = [line for line in maker.stack if line not in ran] if maker is not None else []
        yield Match(once[-1] if once else top, [failed, top], names=name, **told)


def _attached(seen: Observation, first: Through, failed: Through, shared: set[int]) -> tuple[Through, Through] | None:
    """Of two passes through a shared part: the one whose optimizer does not hold what made it, then the other."""
    between = [m for m in seen.moments if first.order < m.order < failed.order and 0 <= m.who < len(seen.optimizers)]
    stepped = {nr for m in between if m.kind == "step" for nr in seen.optimizers[m.who].leaves}
    zeroed = {nr for m in between if m.kind == "zero" for nr in seen.optimizers[m.who].leaves}
    behind = {seen.values[nr].leaf for nr in seen.above(shared)} & {leaf.nr for leaf in seen.leaves if leaf.held}
    if behind & stepped:  # the first was to change it
        return (failed, first) if zeroed and not behind & zeroed else None
    handed_out = first.kind == "grad"  # it leaves nothing in .grad that a reset could take away
    return (first, failed) if behind and (stepped or (behind & zeroed and not handed_out)) else None


def _left_attached(seen: Observation, own: Through, other: Through, shared: set[int]) -> Match:
    """A generator's picture given to the discriminator's own loss, the one of the pass `own`, with its history."""
    apart = seen.recorded(own) - shared
    use = next(op for nr in sorted(shared, reverse=True) for op in seen.users(nr) if apart.intersection(op.outputs))
    value = seen.values[max(shared.intersection(use.inputs))]
    line, name = next(iter(use.stack[-len(own.stack) :]), None), value.name or "what it is given"
    told: dict[str, Any] = {"path": [value.nr, *use.outputs[:1]], "cut": value.nr, "given": telling(*SAID["attached"])}
    told |= {"what": name, "own": own.line, "own_at": own, "other": other}
    return Match(line, [own, other, value], names=[value.name], **told)


def _written(seen: Observation) -> Iterator[Match]:
    """backward() met a saved tensor that was written to: the writes to what it needs, the likeliest first."""
    failed = next((each for each in seen.passes if WRITTEN in each.raised), None)
    if failed is None:
        return
    needed, writes = seen.behind(failed), _writes(seen, failed)
    told: dict[str, Any] = {"back": failed.line}
    leaves = [leaf for leaf in seen.leaves if _used_before(seen, needed.intersection(leaf.values), failed)]
    changes = [(write, leaf.name) for leaf in leaves for write in leaf.writes if write.order < failed.order]
    steps = [(write, name) for write, name in changes if write.kind in ("step", "update")]
    if steps and not any(named for named, *_ in writes):
        write, name = max(steps, key=lambda step: step[0].order)
        told["given"] = {"fix": SAID["step-later"][1]} if write.kind == "step" else {}
        yield Match(write, [failed], names=[name], what=name or "a value", how=write.name, **told)
        return
    lines: dict[int | None, Ran] = {}
    for *_, nr in writes:
        lines.setdefault(layer_line(seen, seen.ops[nr]), seen.ops[nr])
    for rank, (line, op) in enumerate([*lines.items()][:MOST_WRITES]):
        written = seen.values[op.inputs[0]]
        name, maker, share = written.name, seen.maker(written), 1.0 - rank / 10
        shares = maker is not None and maker.name == "detach"
        told["given"] = {"share": share} | (telling(*SAID["shared"]) if shares else {})
        others = [maker, failed] if shares else [failed]
        yield Match(
            line, others, names=[name], what=name or "a value", how=op.called, where=op.where, made=maker, **told
        )


def _used_before(seen: Observation, values: set[int], failed: Through) -> bool:
    """Whether ops that a pass goes back through took one of some values before the last step."""
    users = (op for nr in values for op in seen.users(nr) if op.recorded and op.nr < failed.ops)
    return any(op.step < failed.step and not seen.recorded(failed).isdisjoint(op.outputs) for op in users)


def _writes(seen: Observation, failed: Through) -> list[tuple[bool, bool, int]]:
    """In-place ops on what a pass needs, likeliest first: whether the error names its maker, whether in use, number."""
    needed, found = {shared.nr for nr in seen.behind(failed) for shared in sharing(seen, nr)}, []
    node = re.search(r"output \d+ of (\w+?)(?:Backward\d*)?,", failed.raised)
    for op in (op for op in seen.ops[: failed.ops] if op.in_place and op.inputs):
        bases = {shared.nr for shared in sharing(seen, op.inputs[0])}
        if needed & (bases | set(op.outputs)):
            names = (maker.name.replace("_", "") for maker in makers(seen, bases))
            named = node is not None and node[1].lower().startswith(tuple(names))
            used = any(user.nr < op.nr and needed & set(user.outputs) for nr in bases for user in seen.users(nr))
            found.append((named, used, op.nr))
    return sorted(found, reverse=True)


def sharing(seen: Observation, nr: int) -> list[Seen]:
    """A value, and those whose memory it uses, the nearest first."""
    chain = [seen.values[nr]]
    while (base := chain[-1].base) is not None and len(chain) < MOST_BASES:
        chain.append(seen.values[base])
    return chain


WORDS = """
state: {at}, carries {called} over from before the last backward pass, with its whole history: the graph of each step is
    attached to that of the step before.
    Fix: Cut the history between the steps: `{state} = {state}.detach()`, or each part of a tuple. retain_graph=True
    would only make it longer.
summed: {at}, adds up {count} numbers with their history, and no backward() goes back through it: the graph of each is
    kept.
    Fix: Add plain numbers, with item(), and evaluate under no_grad.
in-vain: {at}, keeps the graph and all that is saved in it; no later pass went through it ({count}).
    Fix: Remove retain_graph.
twice: {at}, goes back through the graph that line {first} already went through: the first pass freed what the nodes had
    saved.
    Fix: Compute the loss again before the second backward(). Use retain_graph=True in the first only if both passes
    need the same numbers.
graphless: {at}, computes gradients without create_graph=True, so the graph was freed. The loss of line {back} is made
    of these gradients, and goes back through the same graph.
    Fix: Ask for a graph of the gradient itself: `create_graph=True`.
together: {at}, and line {back}, both go back through {what}: the first freed what its nodes had saved, and the second
    needs it.
    Fix: Add the losses up and go back once through the sum, or use retain_graph=True in the first.
attached: {at}, takes {what} with its history into the loss of line {own}, which is not meant to change what made
    {what}. Of two passes through it, those of {own_at} and {other}, the first freed what the nodes had saved.
    Fix: Pass it on without its history there: `{what}.detach()`.
shared: {at}, writes into what {made}, made. That is no copy: it writes over what an earlier op had saved for
    backward(), and line {back} refused to compute with the wrong numbers.
    Fix: Write into a copy: call clone() after detach(). Or write after backward().
step-later:
    Fix: Step after both passes: move line {back} before this one. Or run the model again after the step, and compute
    the second loss from that.
graph-grows: {at}, adds to {called} with its history: the graphs of all steps are connected, and none is freed.
    Fix: Keep the number alone, with item() or detach().
second-backward: {at}, ran once, but two backward passes went through it: the one in line {back} found its saved tensors
    freed.
    Fix: Compute it again in each step, or detach() it if it should not learn.
in-place: {at}, writes over {what} (`{how}`), which an earlier op had saved for backward(): line {back} refused to
    compute with the wrong numbers.
    Fix: Compute a new value instead of writing into this one. Or write after backward().
"""
SAID = sentences(WORDS)
SUMMED = telling(*SAID["summed"], share=0.3)
KEPT = {"words": "{name} holds {count} tensors of several steps, each with its graph: no step's graph is freed."}
IN_VAIN = telling(*SAID["in-vain"], kind="retain-graph", explains=False, share=0.5)
TWICE = telling(*SAID["twice"])
RULES = [
    Rule("graph-grows", _graphs, *SAID["graph-grows"], certain=True, share=0.7),
    Rule("second-backward", _twice, *SAID["second-backward"], certain=True, explains=True),
    Rule("in-place", _written, *SAID["in-place"], certain=True, explains=True),
]
