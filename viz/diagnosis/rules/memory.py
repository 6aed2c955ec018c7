"""Memory and time: graphs that grow with each step, are kept without need, are freed too early, or are overwritten."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator

from viz.diagnosis.observation import Observation, Ran, Seen, Through
from viz.diagnosis.rules.rule import Match, Rule
from viz.diagnosis.rules.zero import layer_line

SECOND = "backward through the graph a second time"
STEADY = 3  # looks in which a variable kept as much as before
WRITTEN = "modified by an inplace operation"
STATE_WORDS = (
    "{at}, {how} its whole history: the graph of each step is attached to that of the step before ({times} seen)."
)
STATE_FIX = "Cut the history between the steps: `{cure}`. retain_graph=True would only make it longer."
MOST_WRITES = 3  # that are tried: the one without which backward() comes to its end is the cause
MOST_TURNS = 8  # of a line that are looked at for what they take from the turn before


def _turn(seen: Observation, op: int) -> int:
    """How many backward passes had ended when an op ran."""
    return sum(each.ops <= op for each in seen.passes if each.done and each.kind == "backward")


def _growing(seen: Observation) -> Iterator[Match]:
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
        names = list(dict.fromkeys(one.name for _, one in found if one.name))
        called = names[0] if names else seen.places.assigned(line) or "what it makes"
        times = len({_turn(seen, one.nr) for one, _ in found})
        at: int | None = line
        if state:
            at = _in_loop(seen, op, later[0].stack, names)
            keeps = at == seen.places.where_kept(op.line, names)
            how = (
                "keeps the state for the next call, with"
                if keeps
                else f"uses {called} from before the last backward pass, with"
            )
            given = {
                "kind": "state-not-detached", "explains": raised, "share": 1.0, "fix": STATE_FIX,
                "words": STATE_WORDS + (" backward() then reached a part whose saved tensors were freed." if raised else ""),
            }  # fmt: skip
            yield Match(
                at, [line], names=names, where=op.where, path=[value.nr, *op.outputs[:1]], cut=value.nr, how=how, cure=_cut(called), given=given,
                times=f"{times} step{'s' if times > 1 else ''}",
            )  # fmt: skip
        else:
            yield Match(
                at,
                names=names,
                where=op.where,
                path=[value.nr, *op.outputs[:1]],
                cut=value.nr,
                called=called,
                times=times + 1,
            )


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


def _with_item(code: str, match: Match) -> str:
    found = re.fullmatch(r"(\w[\w.]* \+= )(\w+)", code)
    return f"{found[1]}{found[2]}.item()" if found else code


def _kept(seen: Observation) -> Iterator[Match]:
    """A variable that keeps tensors of several steps, each with its graph."""
    passes = sum(each.done and each.kind == "backward" for each in seen.passes)
    for kept in seen.kept:
        count = kept.counts[-1]
        if not count or (len(kept.counts) >= STEADY and len(set(kept.counts[-STEADY:])) == 1):
            continue  # it holds the last few values, or one for each key, so it does not grow
        if any(len(seen.recorded(each) & set(kept.values)) > 1 for each in seen.passes):
            continue  # a loss of all of them needs all of their graphs
        code = seen.places.code(kept.line)
        found = re.search(r"append\((\w+)\)", code)
        parts = found and any(
            value.name.startswith(f"{found[1]}[") for value in seen.values
        )  # a dict or list of tensors
        change = (code, code.replace(found[0], f"append({found[1]}.detach())")) if found and not parts else None
        words = (
            "{name} holds {count} tensors of several steps, each with the graph behind it: no step's graph is freed."
        )
        yield Match(
            kept.line,
            names=[kept.name],
            count=count,
            given={"certain": 2 * count >= passes, "change": change, "words": words},
        )


def _graphs(seen: Observation) -> Iterator[Match]:
    """A chain of graphs, or a variable that keeps one of each step."""
    yield from _growing(seen)
    yield from _kept(seen)


def _retained(seen: Observation) -> Iterator[Match]:
    """retain_graph=True in passes whose graph is never used again."""
    by_line: dict[int | None, list[Through]] = {}
    for each in seen.passes:
        if each.retain and not each.create and each.done:
            by_line.setdefault(each.line, []).append(each)
    for line, passes in by_line.items():
        own = [(each, {nr for nr in seen.recorded(each) if seen.values[nr].leaf is None}) for each in passes]
        if not any(part & seen.recorded(later) for each, part in own for later in seen.passes if later.nr > each.nr):
            yield Match(line, count=f"{len(passes)} pass{'es' if len(passes) > 1 else ''}")


def _unretained(code: str, match: Match) -> str:
    return re.sub(r",\s*retain_graph=True", "", re.sub(r"\(retain_graph=True\)", "()", code))


def _shared(seen: Observation) -> tuple[Through, list[Through], set[int]] | None:
    """The pass that met buffers which an earlier one had freed, the passes before it, and the values that both go through."""
    failed = next((each for each in seen.passes if SECOND in each.raised), None)
    if failed is None:
        return None
    before = [each for each in seen.passes if each.nr < failed.nr and each.done]
    values = (seen.values[nr] for each in before for nr in seen.recorded(failed) & seen.recorded(each))
    return failed, before, {one.nr for one in values if one.requires_grad and one.leaf is None and one.op is not None}


def _second(seen: Observation) -> Iterator[Match]:
    """Two passes over a part that was computed once."""
    failed, before, shared = _shared(seen) or (None, [], set())
    if failed is None or not shared:
        return
    if again := [nr for nr in failed.roots if nr in shared]:
        yield Match(
            failed, [next(each for each in before if again[0] in seen.behind(each))], first=before[-1].line, given=TWICE
        )
        return
    mine, first, top = seen.recorded(failed), before[-1], max(shared)
    attached = _attached(seen, first, failed, shared)
    if attached is not None:
        yield _left_attached(seen, *attached, shared)
        return
    together = first.line != failed.line
    if together and not any(
        m.kind in ("step", "update") and first.order < m.order < failed.order for m in seen.moments
    ):
        trunk = seen.values[top]
        how = "runs for each loss, and each goes" if first.line == failed.line else f"and line {failed.line}, both go"
        given = {"words": "{at}, {how} back through {what}: the first freed what its nodes had saved, and the second needs it.",
                 "fix": "Add the losses up and go back once, `(a + b).backward()`, or use retain_graph=True in the first."}  # fmt: skip
        yield Match(
            first, [failed, trunk], names=[trunk.name], what=trunk.name or f"what line {trunk.line} computes", how=how, path=[top, *failed.roots[:1]], cut=top, given=given
        )  # fmt: skip
        return
    onward = (seen.maker(seen.values[one]) for one in mine - shared)
    edge = {nr for op in onward if op is not None for nr in op.inputs} & shared
    nr = max(edge or shared)
    op = seen.maker(seen.values[nr])
    yield Match(
        op,
        [failed],
        names=[seen.values[nr].name],
        path=[*op.inputs[:1], nr, *failed.roots[:1]] if op else [],
        cut=nr,
        back=failed.line,
    )


def _attached(seen: Observation, first: Through, failed: Through, shared: set[int]) -> tuple[Through, Through] | None:
    """The pass of two whose optimizer holds nothing behind what they share, so that it should have gone on without its history."""
    between = [m for m in seen.moments if first.order < m.order < failed.order and 0 <= m.who < len(seen.optimizers)]
    made = {seen.values[nr].leaf for nr in seen.above(shared)} - {None}
    behind = {nr for nr in made if nr is not None and seen.leaves[nr].held}
    held = {
        kind: {nr for m in between if m.kind == kind for nr in seen.optimizers[m.who].leaves}
        for kind in ("step", "zero")
    }
    if not behind:
        return None
    if any(
        first.nr in m.thrown and behind & set(first.got) and behind <= set(seen.optimizers[m.who].leaves)
        for m in between
    ):
        return first, failed  # its gradients for all behind it were set back at once
    if held["zero"] and held["step"] and not behind & held["zero"]:
        return failed, first
    return (first, failed) if held["step"] and not behind & held["step"] else None


def _left_attached(seen: Observation, own: Through, other: Through, shared: set[int]) -> Match:
    """A generator's picture given to the discriminator's own loss, the one of the pass `own`, with its history."""
    apart = seen.recorded(own) - shared
    use = next(op for nr in sorted(shared, reverse=True) for op in seen.users(nr) if set(op.outputs) & apart)
    nr = max(shared & set(use.inputs))
    line = use.stack[-len(own.stack)] if 0 < len(own.stack) <= len(use.stack) else use.line
    code, name = seen.places.code(line), seen.values[nr].name or "what it is given"
    change = (code, code.replace(f"({name})", f"({name}.detach())")) if code.count(f"({name})") == 1 else None
    given = {"change": change, "fix": "Pass it on without its history there: `{what}.detach()`.", "words":
        "{at}, takes {what} with its history into the loss of line {own}, which is not meant to change what made {what}. Of two passes through it, "
        "those of {own_at} and {other}, the first freed what the nodes had saved."}  # fmt: skip
    return Match(
        line,
        [own, other, seen.values[nr]],
        names=[seen.values[nr].name],
        what=name,
        own=own.line,
        own_at=own,
        other=other,
        path=[nr, *use.outputs[:1]],
        cut=nr,
        given=given,
    )


def _written(seen: Observation) -> Iterator[Match]:
    """backward() met a saved tensor that was written to: the write."""
    failed = next((each for each in seen.passes if WRITTEN in each.raised), None)
    if failed is None:
        return
    mine = seen.behind(failed)
    node = re.search(r"output \d+ of (\w+?)Backward", failed.raised)
    wanted = node[1].lower() if node else ""
    found: list[tuple[bool, bool, int]] = []
    for op in seen.ops[: failed.ops]:
        chain = _bases(seen, seen.values[op.inputs[0]]) if op.in_place and op.inputs else []
        if not any(one.nr in mine for one in chain) and not (chain and mine & set(op.outputs)):
            continue
        makers = {m.name.strip("_").replace("_", "") for one in chain if (m := seen.maker(one)) is not None}
        saved = any(user.nr < op.nr and mine & set(user.outputs) for one in chain for user in seen.users(one.nr))
        match = bool(wanted) and any(wanted.startswith(name) or name.startswith(wanted) for name in makers if name)
        found.append((match, saved, op.nr))
    writes = [
        (write.order, leaf.nr, write)
        for leaf in seen.leaves
        for write in leaf.writes
        if write.order < failed.order and write.after < failed.nr and set(leaf.values) & mine and write.line
        and any(nr < failed.ops and set(seen.ops[nr].outputs) & mine for nr in leaf.used_by)
    ]  # fmt: skip
    found_at = {nr: (match, saved, nr) for match, saved, nr in found}
    if found and (max(found)[0] or not writes or wanted not in ("", "t", "asstrided", "transpose", "accumulate")):
        once = {layer_line(seen, seen.ops[nr]): seen.ops[nr] for _, _, nr in sorted(found)}  # the likeliest of a line
        for place, (line, op) in enumerate(
            sorted(once.items(), key=lambda one: found_at[one[1].nr], reverse=True)[:MOST_WRITES]
        ):
            name = seen.values[op.inputs[0]].name
            yield Match(
                line, [failed], names=[name], what=name or "a value", how=op.called, back=failed.line, where=op.where,
                given={"share": 1.0 - place / 10},
            )  # fmt: skip
    elif writes:
        _, nr, write = max(writes, key=lambda one: one[0])
        fix = f"Step after both passes: move line {failed.line} before this one. Or run the model again after the step, and compute the second loss from that."
        given = {"fix": fix} if write.kind == "step" else {}
        yield Match(
            write.line,
            [failed],
            names=[seen.leaves[nr].name],
            what=seen.leaves[nr].name or "a value",
            how=write.name,
            back=failed.line,
            given=given,
        )


def _bases(seen: Observation, value: Seen) -> list[Seen]:
    chain = [value]
    while chain[-1].base is not None and len(chain) < 20:
        chain.append(seen.values[chain[-1].base])
    return chain


def _out_of_place(code: str, match: Match) -> str:
    if "inplace=True" in code:
        return re.sub(r",? *inplace=True", "", code)
    found = re.fullmatch(r"(\w+) ([+\-*/])= (.+)", code)
    how = match.told["how"]
    if found is None and how.endswith("_") and code.count(f".{how}(") == 1 and not code.startswith(tuple(match.names)):
        return code.replace(f".{how}(", f".{how[:-1]}(")
    return f"{found[1]} = {found[1]} {found[2]} {found[3]}" if found else code


def _cut(name: str) -> str:
    """The line that detaches a state, or each tensor of a tuple of states."""
    if " " in name:
        return "state = state.detach()"
    whole, part, _ = name.partition("[")
    return f"{whole} = tuple(state.detach() for state in {whole})" if part else f"{name} = {name}.detach()"


TWICE = {
    "words": "{at}, goes back through the graph that line {first} already went through: the first pass freed what the nodes had saved.",
    "fix": "Compute the loss again before the second backward(). Use retain_graph=True in the first only if both passes need the same numbers.",
}
RULES = [
    Rule("graph-grows", _graphs,
        "{at}, adds to {called} with its history: the graphs of all steps are connected, and none is freed ({times} so far).",
        "Keep the number alone: `.item()`, or `.detach()`.", certain=True, share=0.7, change=_with_item),
    Rule("retain-graph", _retained, "{at}, keeps the graph and all that is saved in it; no later pass went through it ({count}).",
        "Remove retain_graph.", certain=True, share=0.5, change=_unretained),
    Rule("second-backward", _second,
        "{at}, ran once, but two backward passes went through it: the one in line {back} found its saved tensors freed.",
        "Compute it again in each step, or detach() it if it should not learn.", certain=True, explains=True),
    Rule("in-place", _written,
        "{at}, writes over {what} (`{how}`), which an earlier op had saved for backward(): line {back} refused to compute with the wrong numbers.",
        "Make a new value instead: `x = x + 1` for `x += 1`. Or write after backward().", certain=True, explains=True, change=_out_of_place),
]  # fmt: skip
