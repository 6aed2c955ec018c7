"""Memory and time: graphs that grow with each step, are kept without need, are freed too early, or are overwritten."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator

from viz.diagnosis.finding import Finding
from viz.diagnosis.observation import Observation, Ran, Seen, Through
from viz.diagnosis.rules.zero import layer_line

SECOND = "backward through the graph a second time"
LEAF_WRITTEN = "used in an in-place operation"
STEADY = 3  # looks in which a variable kept as much as before
WRITTEN = "modified by an inplace operation"
MOST_TURNS = 8  # of a line that are looked at for what they take from the turn before


def find(seen: Observation) -> Iterator[Finding]:
    """What keeps graphs alive, and what damaged a graph that is still needed."""
    yield from _growing(seen)
    yield from _kept(seen)
    yield from _retained(seen)
    yield from _second(seen)
    yield from _written(seen)


def _turn(seen: Observation, op: int) -> int:
    """How many backward passes had ended when an op ran."""
    return sum(each.ops <= op for each in seen.passes if each.done and each.kind == "backward")


def _growing(seen: Observation) -> Iterator[Finding]:
    """An op that takes a result of the same line from before the last backward pass: its history never ends."""
    ends = [each.ops for each in seen.passes if each.done and each.kind == "backward"]
    if not ends:
        return
    lines: dict[int, list[tuple[Ran, Seen]]] = {}
    last = {(op.line, op.name): op.nr for op in seen.ops}
    for op in seen.ops:
        if op.line is None or not op.recorded or op.nr < ends[0]:
            continue
        for nr in op.inputs:
            value = seen.values[nr]
            if value.op is None or value.leaf is not None or not value.requires_grad:
                continue
            maker = seen.ops[value.op]
            if maker.line is not None and _between(ends, maker.nr, op.nr) and _same(maker, op):
                if maker.line != op.line and last[maker.line, maker.name] < op.nr:
                    continue  # nothing takes its place: it is kept for good, as in a cache
                lines.setdefault(op.line, []).append((op, value))
    for line, found in lines.items():
        op, value = found[0]
        later = [each for each in seen.passes if each.ops > op.nr]
        state = any(
            ({kept.nr, *one.outputs} if _made_in(seen, kept, line) else set(one.outputs)) & seen.behind(each)
            for one, kept in found
            for each in later
            if each.ops > one.nr
        )
        if not state and not any(_again(seen, *one) for one in found[:MOST_TURNS]):
            continue
        raised = seen.error is not None and (SECOND in seen.error["message"] or WRITTEN in seen.error["message"])
        code = seen.places.code(line)
        names = list(dict.fromkeys(one.name for _, one in found if one.name))
        called = names[0] if names else seen.places.assigned(line) or "what it makes"
        times = len({_turn(seen, one.nr) for one, _ in found})
        if state:
            place = _in_loop(seen, op, later[0].stack, names)
            keeps = place == seen.places.where_kept(op.line, names)
            yield Finding(
                "state-not-detached", place, True,
                f"Line {place}, `{seen.places.code(place)}`, "
                + ("keeps the state for the next call, with " if keeps else f"uses {called} from before the last backward pass, with ")
                + f"its whole history: the graph of each step is attached to that of the step before ({times} "
                f"step{'s' if times > 1 else ''} seen)."
                + (" backward() then reached a part whose saved tensors were freed." if raised else ""),
                f"Cut the history between the steps: `{_cut(called)}`. retain_graph=True would only make it longer.",
                names, [line], 6, where=op.where, path=[value.nr, *op.outputs[:1]], cut=value.nr, share=1.0, explains_error=raised,
            )  # fmt: skip
        else:
            yield Finding(
                "graph-grows", line, True,
                f"Line {line}, `{code}`, adds to {called} with its history: the graphs of all steps are connected, "
                f"and none is freed ({times + 1} so far).",
                "Keep the number alone: `.item()`, or `.detach()`.", names, [line], 6, _with_item(code), op.where,
                [value.nr, *op.outputs[:1]], value.nr, 0.7,
            )  # fmt: skip


def _made_in(seen: Observation, value: Seen, line: int) -> bool:
    maker = seen.maker(value)
    return maker is not None and maker.line == line


def _between(ends: list[int], before: int, after: int) -> bool:
    """True if a backward pass ended after op `before` and no later than op `after`; `ends` is sorted."""
    place = bisect.bisect_right(ends, before)
    return place < len(ends) and ends[place] <= after


def _in_loop(seen: Observation, op: Ran, stack: tuple[int, ...], names: list[str]) -> int | None:
    """The line where a state should be detached: the line of the training loop that passes it on by name, or the op's own."""
    kept = seen.places.where_kept(op.line, names)
    if kept is not None:
        return kept
    loop = next((loops[0] for line in stack if (loops := seen.places.loops(line))), None)
    if loop is None or (op.line is not None and loop[0] <= op.line <= loop[1]):
        return op.line
    inside = [line for line in op.stack if loop[0] <= line <= loop[1]]
    named = [
        line for line in inside if any(re.search(rf"\b{re.escape(name)}\b", seen.places.code(line)) for name in names)
    ]
    handed_on = [line for line in inside if seen.places.hands_on(line)]
    return next(iter((*named, *handed_on)), op.line)


def _same(maker: Ran, op: Ran) -> bool:
    """True if the line of `op` made this value, by `maker`, in an earlier iteration."""
    if maker.line == op.line:
        return True
    return bool(set(maker.stack) & {op.line}) or bool(maker.stack and op.stack and maker.line == op.stack[0])


def _again(seen: Observation, op: Ran, value: Seen) -> bool:
    """Whether an op takes what it made itself in an earlier turn: else it only reads once more what its line has computed."""
    alike = {nr for one in seen.at(op.line) if one.nr < op.nr and one.name == op.name for nr in one.outputs}
    return bool(alike & seen.above([value.nr]))


def _with_item(code: str) -> tuple[str, str] | None:
    found = re.fullmatch(r"(\w[\w.]* \+= )(\w+)", code)
    return (code, f"{found[1]}{found[2]}.item()") if found else None


def _kept(seen: Observation) -> Iterator[Finding]:
    passes = sum(each.done and each.kind == "backward" for each in seen.passes)
    for kept in seen.kept:
        name, line, count = kept.name, kept.line, kept.counts[-1]
        if not count or (len(kept.counts) >= STEADY and len(set(kept.counts[-STEADY:])) == 1):
            continue  # it holds the last few values, or one for each key, so it does not grow
        if any(len(seen.recorded(each) & set(kept.values)) > 1 for each in seen.passes):
            continue  # a loss of all of them needs all of their graphs
        code = seen.places.code(line)
        found = re.search(r"append\((\w+)\)", code)
        parts = found and any(
            value.name.startswith(f"{found[1]}[") for value in seen.values
        )  # a dict or list of tensors
        change = (code, code.replace(found[0], f"append({found[1]}.detach())")) if found and not parts else None
        yield Finding(
            "graph-grows", line, 2 * count >= passes,
            f"{name} holds {count} tensors of several steps, each with the graph behind it"
            + (f" (line {line}, `{code}`)" if line else "")
            + ": no step's graph is freed.",
            "Keep the number alone: `.item()`, or `.detach()`.", [name], [line or 0], 6, change, share=0.7,
        )  # fmt: skip


def _retained(seen: Observation) -> Iterator[Finding]:
    """retain_graph=True in passes whose graph is never used again."""
    by_line: dict[int | None, list[Through]] = {}
    for each in seen.passes:
        if each.retain and not each.create and each.done:
            by_line.setdefault(each.line, []).append(each)
    for line, passes in by_line.items():
        needed = False
        for each in passes:
            own = {nr for nr in seen.recorded(each) if seen.values[nr].leaf is None}
            needed = needed or any(own & seen.recorded(later) for later in seen.passes if later.nr > each.nr)
        if needed:
            continue
        code = seen.places.code(line)
        bare = re.sub(r"\(retain_graph=True\)", "()", code)
        bare = re.sub(r",\s*retain_graph=True", "", bare)
        yield Finding(
            "retain-graph", line, True,
            f"Line {line}, `{code}`, keeps the graph and all that is saved in it; no later pass went through it ({len(passes)} "
            f"pass{'es' if len(passes) > 1 else ''}).",
            "Remove retain_graph.", [], [line or 0], 6, (code, bare) if bare != code else None, share=0.5,
        )  # fmt: skip


def _second(seen: Observation) -> Iterator[Finding]:
    """backward() met buffers that an earlier pass had freed: what the two graphs share."""
    failed = next((each for each in seen.passes if SECOND in each.raised), None)
    if failed is None:
        return
    mine = seen.recorded(failed)
    before = [each for each in seen.passes if each.nr < failed.nr and each.done]
    shared = {nr for each in before for nr in mine & seen.recorded(each)}
    shared = {
        nr
        for nr in shared
        if seen.values[nr].requires_grad and seen.values[nr].leaf is None and seen.values[nr].op is not None
    }
    again = [nr for nr in failed.roots if nr in shared]
    if again:
        first = next(each for each in before if again[0] in seen.behind(each))
        yield Finding(
            "second-backward", failed.line, True,
            f"Line {failed.line}, `{seen.places.code(failed.line)}`, goes back through the graph that line "
            f"{first.line} already went through: the first pass freed what the nodes had saved.",
            "Compute the loss again "
            "before the second "
            "backward(). Use "
            "retain_graph=True in the "
            "first only if both passes "
            "need the same numbers.", [], [failed.line or 0, first.line or 0], 6, share=1.0, explains_error=True,
        )  # fmt: skip
        return
    if not shared:
        return
    edge = [
        nr
        for nr in shared
        if any(
            nr in seen.ops[seen.values[one].op or 0].inputs for one in mine - shared if seen.values[one].op is not None
        )
    ]
    first = before[-1]
    if (use := _thrown_away(seen, first, failed, shared)) is not None:
        yield _left_attached(seen, use, max(shared), first, failed)
        return
    if (use := _of_another(seen, first, failed, shared, mine)) is not None:
        yield _left_attached(seen, use, max(shared & set(use.inputs)), failed, first)
        return
    together = first.line != failed.line or _over_losses(seen, failed, seen.values[max(shared)])
    if together and not any(
        m.kind in ("step", "update") and first.order < m.order < failed.order for m in seen.moments
    ):
        yield _in_one_step(seen, first, failed, shared)
        return
    nr = max(edge or shared)
    op = seen.maker(seen.values[nr])
    assert op is not None
    line = op.line
    name = seen.values[nr].name
    if (use := _not_to_learn(seen, nr, first, failed, shared)) is not None:
        yield _left_attached(seen, use, nr, first, failed)
        return
    yield Finding(
        "second-backward", line, True,
        f"Line {line}, `{seen.places.code(line)}`, ran once, but two backward passes went through it: the one in line "
        f"{failed.line} found its saved tensors freed.",
        "Compute it again in each step, or detach() it if "
        "it should not learn.", [name] if name else [], [line or 0, failed.line or 0], 6,
        where=op.where, path=[*op.inputs[:1], nr, *failed.roots[:1]], cut=nr, share=1.0, explains_error=True,
    )  # fmt: skip


def _over_losses(seen: Observation, failed: Through, trunk: Seen) -> bool:
    """Whether the innermost loop around a backward() goes over losses of one step: what they share is made outside of it, in the outer loop."""
    maker, loops = seen.maker(trunk), seen.places.loops(failed.line)
    if maker is None or len(loops) < 2 or not len(maker.stack) >= len(failed.stack) > 0:
        return False
    line = maker.stack[-len(failed.stack)]
    (first, last), (begin, end) = loops[:2]
    return begin <= line <= end and not first <= line <= last


def _not_to_learn(seen: Observation, nr: int, first: Through, failed: Through, shared: set[int]) -> Ran | None:
    """The op that took a shared value into the first pass, where the step after that pass changes nothing behind the value."""
    step = next((m for m in seen.moments if m.kind == "step" and first.order < m.order < failed.order), None)
    if step is None or step.who >= len(seen.optimizers):
        return None
    held = set(seen.optimizers[step.who].leaves)
    behind = {seen.values[one].leaf for one in seen.above([nr])} - {None}
    other = {leaf for one in seen.optimizers if one.nr != step.who for leaf in one.leaves}
    if not behind or behind & held or not behind & other:
        return None
    own = seen.behind(first) - shared
    return next((op for op in seen.users(nr) if set(op.outputs) & own), None)


def _thrown_away(seen: Observation, first: Through, failed: Through, shared: set[int]) -> Ran | None:
    """The op that took a shared value into the first pass, whose gradients for all behind it were set back at once."""
    zero = next(
        (m for m in seen.moments if m.kind == "zero" and first.order < m.order < failed.order and m.who >= 0), None
    )
    if zero is None or first.nr not in zero.thrown:
        return None
    top = max(shared)
    behind = {
        leaf for one in seen.above([top]) if (leaf := seen.values[one].leaf) is not None and seen.leaves[leaf].held
    }
    if not behind or not behind <= set(seen.optimizers[zero.who].leaves) or not behind & set(first.got):
        return None
    own = seen.behind(first) - shared
    return next((op for op in seen.users(top) if set(op.outputs) & own), None)


def _of_another(seen: Observation, first: Through, failed: Through, shared: set[int], mine: set[int]) -> Ran | None:
    """The op that took a shared value into the failed pass, where the optimizer set back for that pass holds nothing behind it."""
    zero = [m for m in seen.moments if m.kind == "zero" and first.order < m.order < failed.order and m.who >= 0]
    if not zero or not any(m.kind == "step" and first.order < m.order < failed.order for m in seen.moments):
        return None
    held = {leaf for m in zero for leaf in seen.optimizers[m.who].leaves}
    behind = {
        leaf for one in seen.above(shared) if (leaf := seen.values[one].leaf) is not None and seen.leaves[leaf].held
    }
    if not behind or behind & held:
        return None
    own = mine - shared
    return next((op for op in seen.ops if shared & set(op.inputs) and set(op.outputs) & own), None)


def _left_attached(seen: Observation, use: Ran, nr: int, first: Through, failed: Through) -> Finding:
    """A generator's picture given to the discriminator's own loss with its history: in the loss of the pass `first`."""
    line = use.stack[-len(first.stack)] if 0 < len(first.stack) <= len(use.stack) else use.line
    code, name = seen.places.code(line), seen.values[nr].name or "what it is given"
    freed = (
        f"That pass freed what the nodes had saved, and line {failed.line} needs it."
        if first.order < failed.order
        else f"The pass in line {failed.line} had freed what the nodes had saved."
    )
    change = (code, code.replace(f"({name})", f"({name}.detach())")) if code.count(f"({name})") == 1 else None
    return Finding(
        "second-backward", line, True,
        f"Line {line}, `{code}`, takes {name} with its history into the loss of line {first.line}, which is not meant to "
        f"change what made {name}. {freed}",
        f"Pass it on without its history there: `{name}.detach()`.", [name] if seen.values[nr].name else [],
        [line or 0, first.line or 0, failed.line or 0, seen.values[nr].line or 0], 6, change,
        path=[nr, *use.outputs[:1]], cut=nr, share=1.0, explains_error=True,
    )  # fmt: skip


def _in_one_step(seen: Observation, first: Through, failed: Through, shared: set[int]) -> Finding:
    """Two losses of one step, each with its own backward(), over a part that both share."""
    trunk = seen.values[max(shared)]
    name = trunk.name or f"what line {trunk.line} computes"
    which = f"Line {first.line}, `{seen.places.code(first.line)}`, "
    if first.line == failed.line:
        which += f"runs for each loss, and each goes back through {name}: the first pass freed what its nodes had saved, and the second needs it."
    else:
        which += (
            f"and line {failed.line}, `{seen.places.code(failed.line)}`, both go back through {name}: the first freed what its nodes had saved, "
            "and the second needs it."
        )
    return Finding(
        "second-backward", first.line, True, which,
        "Add the losses up and go back once, `(a + b).backward()`, or use retain_graph=True in the first.",
        [trunk.name] if trunk.name else [], [first.line or 0, failed.line or 0, trunk.line or 0], 6,
        path=[trunk.nr, *failed.roots[:1]], cut=trunk.nr, share=1.0, explains_error=True,
    )  # fmt: skip


def _written(seen: Observation) -> Iterator[Finding]:
    """backward() met a saved tensor that was written to: the write."""
    if seen.error is not None and LEAF_WRITTEN in seen.error["message"] and seen.error["line"]:
        line = seen.error["line"]
        code = seen.places.code(line)
        yield Finding(
            "in-place", line, True,
            f"Line {line}, `{code}`, writes into a leaf that requires grad, and autograd records: the value before would be lost.",
            "Write under no_grad, as an optimizer does: `with T.no_grad(): …`; or into a clone() of it.", [], [line], 6, share=1.0, explains_error=True,
        )  # fmt: skip
        return
    failed = next((each for each in seen.passes if WRITTEN in each.raised), None)
    if failed is None:
        return
    mine = seen.behind(failed)
    node = re.search(r"output \d+ of (\w+?)Backward", failed.raised)
    wanted = node[1].lower() if node else ""
    found: list[tuple[bool, bool, int, Ran, Seen]] = []
    for op in seen.ops[: failed.ops]:
        if not op.in_place or not op.inputs:
            continue
        target = seen.values[op.inputs[0]]
        chain = _bases(seen, target)
        involved = any(one.nr in mine for one in chain) or any(nr in mine for nr in op.outputs)
        if not involved:
            continue
        makers = {m.name.strip("_").replace("_", "") for one in chain if (m := seen.maker(one)) is not None}
        saved = any(
            nr in other.inputs
            for one in chain
            for other in seen.ops[: op.nr]
            for nr in (one.nr,)
            if set(other.outputs) & mine
        )
        match = bool(wanted) and any(wanted.startswith(name) or name.startswith(wanted) for name in makers if name)
        found.append((match, saved, op.nr, op, target))
    writes = [
        (write, leaf)
        for leaf in seen.leaves
        for write in leaf.writes
        if write.order < failed.order and write.after < failed.nr and set(leaf.values) & mine and write.line
    ]
    writes = [
        (write, leaf)
        for write, leaf in writes
        if any(seen.ops[user].nr < failed.ops and set(seen.ops[user].outputs) & mine for user in leaf.used_by)
    ]
    stepped = False
    if found and (max(found)[0] or not writes or wanted not in ("", "t", "asstrided", "transpose", "accumulate")):
        _, _, _, op, target = max(found, key=lambda one: one[:3])
        line, name = layer_line(seen, op), target.name
        where, how = op.where, f"`{op.called}`"
    elif writes:
        write, leaf = max(writes, key=lambda one: one[0].order)
        line, name, where, how = write.line, leaf.name, None, f"`{write.name}`"
        stepped = write.kind == "step"
    else:
        return
    yield Finding(
        "in-place", line, True,
        f"Line {line}, `{seen.places.code(line)}`, writes over {name or 'a value'} ({how}), which an earlier op had "
        f"saved for backward(): line {failed.line} refused to compute with the wrong numbers.",
        f"Step after both passes: move line {failed.line} before this one. Or run the model again after the step, and compute the second loss from that."
        if stepped else "Make a new value instead: `x = x + 1` for `x += 1`. Or write after backward().", [name] if name else [],
        [line or 0, failed.line or 0], 6, _out_of_place(seen.places.code(line)), where, share=1.0, explains_error=True,
    )  # fmt: skip


def _bases(seen: Observation, value: Seen) -> list[Seen]:
    chain = [value]
    while chain[-1].base is not None and len(chain) < 20:
        chain.append(seen.values[chain[-1].base])
    return chain


def _out_of_place(code: str) -> tuple[str, str] | None:
    if "inplace=True" in code:
        return code, re.sub(r",? *inplace=True", "", code)
    found = re.fullmatch(r"(\w+) ([+\-*/])= (.+)", code)
    return (code, f"{found[1]} = {found[1]} {found[2]} {found[3]}") if found else None


def _cut(name: str) -> str:
    """The line that detaches a state, or each tensor of a tuple of states."""
    if " " in name:
        return "state = state.detach()"
    whole, part, _ = name.partition("[")
    return f"{whole} = tuple(state.detach() for state in {whole})" if part else f"{name} = {name}.detach()"
